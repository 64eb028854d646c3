// Settings, memory and the execution of work: see State.h.
#include "emulator/driver/State.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace weft::emu {

static const GpuInfo gpuTable[] = {
#define WEFT_GPU(target, major, minor, name, sms, threads, blocks, registers, sharedSm, sharedBlock, l2, memory, clock, memoryClock, bus, ptx) \
  {#target, name, major, minor, sms, threads, blocks, registers, sharedSm, sharedBlock, l2, memory, clock, memoryClock, bus, ptx},
#include "hardware/Gpus.def"
};

const GpuInfo *findGpu(std::string_view target) {
  for (const GpuInfo &gpu : gpuTable)
    if (target == gpu.target)
      return &gpu;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

static bool parseNumber(const std::string &text, uint64_t &value) {
  char *end = nullptr;
  value = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && *end == 0 && text[0] != '-';
}

static bool parseOrder(const std::string &text, LaunchOptions &options) {
  if (text == "forward" || text == "reverse") {
    options.order = text == "forward" ? BlockOrder::Forward : BlockOrder::Reverse;
    return true;
  }
  options.order = BlockOrder::Random;
  return text.rfind("random:", 0) == 0 && parseNumber(text.substr(7), options.seed);
}

bool Settings::set(std::string_view key, const std::string &value) {
  uint64_t number = 0;
  bool isNumber = parseNumber(value, number);
  if (key == "sm")
    return (gpu = findGpu(value)) != nullptr;
  if (key == "order")
    return parseOrder(value, launch);
  if (key == "counters") {
    counters = value != "0";
    countersFile = value == "1" || value == "0" ? "" : value;
    return true;
  }
  if (!isNumber)
    return false;
  if (key == "devices")
    return (devices = int(number)) >= 1 && number <= 64;
  if (key == "memory")
    memory = number;
  else if (key == "check")
    check = number != 0;
  else if (key == "step_limit")
    launch.stepLimit = number;
  else if (key == "threads")
    launch.hostThreads = unsigned(number);
  else if (key == "eager")
    launch.eager = number != 0;
  else
    return false;
  return true;
}

State &State::get() {
  static State *state = [] {
    auto *s = new State; // never destroyed: threads may still call at exit
    s->settings.gpu = findGpu("sm_80");
    for (const char *key : {"devices", "sm", "memory", "check", "counters", "order", "step_limit", "threads", "eager"}) {
      std::string name = "WEFT_EMULATOR_";
      for (const char *c = key; *c; ++c)
        name += char(std::toupper(*c));
      const char *value = std::getenv(name.c_str());
      if (value && !s->settings.set(key, value))
        std::fprintf(stderr, "emulator: %s=%s is not a valid setting\n", name.c_str(), value);
    }
    if (!s->settings.gpu)
      s->settings.gpu = findGpu("sm_80");
    return s;
  }();
  return *state;
}

void State::configure() {
  if (initialized)
    return;
  initialized = true;
  settings.launch.check = settings.check;
  settings.launch.counters = settings.counters;
  settings.launch.smCount = settings.gpu->sms;
  uint64_t capacity = settings.memory ? settings.memory : settings.gpu->memory;
  for (int i = 0; i < settings.devices; ++i) {
    auto device = std::make_unique<Device>();
    device->ordinal = i;
    device->memory = std::make_unique<DeviceMemory>(i, capacity, settings.check);
    devices.push_back(std::move(device));
  }
  if (!settings.countersFile.empty())
    std::atexit([] {
      State &s = State::get();
      if (std::FILE *file = std::fopen(s.settings.countersFile.c_str(), "w")) {
        std::string json = s.countersJson();
        std::fwrite(json.data(), 1, json.size(), file);
        std::fclose(file);
      }
    });
}

static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string State::countersJson() const {
  std::string json = "{\"launches\": " + std::to_string(launches) + ", \"kernels\": [";
  bool first = true;
  for (const KernelRecord &record : records) {
    const LaunchCounters &c = record.counters;
    auto field = [&](const char *name, uint64_t value) { json += std::string(", \"") + name + "\": " + std::to_string(value); };
    auto dim = [](const Dim3 &d) { return "[" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + "]"; };
    json += std::string(first ? "" : ",") + "\n  {\"kernel\": " + quoted(record.name) + ", \"grid\": " + dim(record.grid) + ", \"block\": " + dim(record.block);
    field("instructions", c.instructions);
    field("thread_instructions", c.threadInstructions);
    field("global_bytes", c.globalLoadBytes + c.globalStoreBytes);
    field("global_load_bytes", c.globalLoadBytes);
    field("global_store_bytes", c.globalStoreBytes);
    field("sectors", c.globalSectors);
    field("shared_bytes", c.sharedBytes);
    field("bank_conflicts", c.bankConflicts);
    field("barriers", c.barriers);
    json += ", \"mix\": {";
    bool firstMix = true;
    for (auto &[opcode, count] : c.mix) {
      json += std::string(firstMix ? "" : ", ") + quoted(opcode) + ": " + std::to_string(count);
      firstMix = false;
    }
    json += "}}";
    first = false;
  }
  return json + "]}\n";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr uint64_t alignment = 512, guard = 4096;

bool DeviceMemory::lookup(uint64_t addr, Range &out) {
  auto it = blocks.upper_bound(addr);
  if (it == blocks.begin())
    return false;
  --it;
  if (addr - it->first >= it->second.size)
    return false;
  out = {it->first, it->first + it->second.size, it->second.bytes, it->second.initialized.get()};
  return true;
}

CUresult DeviceMemory::allocate(uint64_t size, CUdeviceptr &out) {
  if (size == 0)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t padded = (size + alignment - 1) / alignment * alignment;
  if (padded < size || padded > capacity - usedBytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // Pages come zeroed and only when touched; the end is rounded up so that wide host accesses stay inside.
  void *bytes = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  Block block{size, static_cast<uint8_t *>(bytes), nullptr};
  if (shadow)
    block.initialized = std::make_unique<uint8_t[]>(size);
  out = next;
  next += padded + guard;
  usedBytes += padded;
  blocks.emplace(out, std::move(block));
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::free(CUdeviceptr ptr) {
  if (ptr == 0)
    return CUDA_SUCCESS;
  auto it = blocks.find(ptr);
  if (it == blocks.end())
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t padded = (it->second.size + alignment - 1) / alignment * alignment;
  munmap(it->second.bytes, padded);
  usedBytes -= padded;
  blocks.erase(it);
  return CUDA_SUCCESS;
}

DeviceMemory::~DeviceMemory() {
  while (!blocks.empty())
    free(blocks.begin()->first);
}

uint8_t *DeviceMemory::host(CUdeviceptr ptr, uint64_t size, bool written) {
  Range range;
  if (!lookup(ptr, range) || size > range.end - ptr)
    return nullptr;
  if (written && range.initialized)
    std::memset(range.initialized + (ptr - range.begin), 1, size);
  return range.host + (ptr - range.begin);
}

bool DeviceMemory::find(CUdeviceptr ptr, CUdeviceptr &base, uint64_t &size) const {
  Range range;
  if (!const_cast<DeviceMemory *>(this)->lookup(ptr, range))
    return false;
  base = range.begin;
  size = range.end - range.begin;
  return true;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

static thread_local std::vector<Device *> contextStack;

Device *currentDevice() { return contextStack.empty() ? nullptr : contextStack.back(); }

void setCurrentDevice(Device *device, bool push, bool pop) {
  if (pop) {
    contextStack.pop_back();
    return;
  }
  if (!push && !contextStack.empty())
    contextStack.pop_back();
  if (device || push)
    contextStack.push_back(device);
}

CUresult makeKernelWork(CUfunction handle, Dim3 grid, Dim3 block, uint32_t shared, void **params, void **extra, Work &work) {
  State &state = State::get();
  if (!state.functions.count(handle))
    return CUDA_ERROR_INVALID_HANDLE;
  auto *function = reinterpret_cast<FunctionState *>(handle);
  const KernelInfo &info = function->module->module->kernels()[function->kernel];
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  bool empty = !grid.x || !grid.y || !grid.z || !threads;
  if (empty || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024 ||
      threads > info.maxThreads)
    return CUDA_ERROR_INVALID_VALUE;
  if (info.reqntid[0] && (info.reqntid[0] != block.x || std::max(info.reqntid[1], 1u) != block.y || std::max(info.reqntid[2], 1u) != block.z))
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t limit = uint64_t(std::max(function->maxDynamicShared, 48 << 10));
  if (uint64_t(shared) + info.staticSharedBytes > std::min<uint64_t>(limit, state.settings.gpu->sharedPerBlockOptin))
    return CUDA_ERROR_INVALID_VALUE;
  if (extra)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (!params && !info.params.empty())
    return CUDA_ERROR_INVALID_VALUE;
  work.kind = Work::Kernel;
  work.function = function;
  work.grid = grid;
  work.block = block;
  work.dynamicShared = shared;
  work.params.assign(info.paramBytes, 0);
  for (size_t i = 0; i < info.params.size(); ++i)
    std::memcpy(work.params.data() + info.params[i].offset, params[i], info.params[i].size);
  return CUDA_SUCCESS;
}

static CUresult fail(Device &device, CUresult code) {
  device.sticky = code;
  return code;
}

static CUresult toResult(Trap trap) {
  switch (trap) {
  case Trap::None: return CUDA_SUCCESS;
  case Trap::IllegalAddress: return CUDA_ERROR_ILLEGAL_ADDRESS;
  case Trap::MisalignedAddress: return CUDA_ERROR_MISALIGNED_ADDRESS;
  case Trap::IllegalInstruction: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  case Trap::StepLimit: case Trap::Deadlock: return CUDA_ERROR_LAUNCH_TIMEOUT;
  case Trap::TrapInstruction: return CUDA_ERROR_LAUNCH_FAILED;
  case Trap::Assert: return CUDA_ERROR_ASSERT;
  case Trap::InvalidLaunch: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_UNKNOWN;
}

static CUresult runKernel(Device &device, const Work &work) {
  State &state = State::get();
  const ModuleState &module = *work.function->module;
  LaunchResult result = launch(*module.module, work.function->kernel, work.grid, work.block, work.dynamicShared, work.params.data(),
                               *device.memory, module.globals, state.settings.launch);
  ++state.launches;
  if (state.settings.counters)
    state.records.push_back({module.module->kernels()[work.function->kernel].name, work.grid, work.block, std::move(result.counters)});
  for (std::string &finding : result.findings)
    state.findings.push_back(std::move(finding));
  if (!result.printed.empty())
    std::fputs(result.printed.c_str(), stdout);
  if (result.trap == Trap::None)
    return CUDA_SUCCESS;
  state.lastMessage = result.message;
  return fail(device, toResult(result.trap));
}

/// The host address of a pointer given as host, device or unified; null where a device pointer is not live over `size` bytes.
static uint8_t *resolve(Device &device, CUmemorytype type, const void *host, CUdeviceptr ptr, uint64_t size, bool written) {
  if (type == CU_MEMORYTYPE_HOST)
    return static_cast<uint8_t *>(const_cast<void *>(host));
  for (auto &other : State::get().devices)
    if (uint8_t *bytes = other->memory->host(ptr, size, written))
      return bytes;
  // Unified addressing: a pointer that is no device's is the host's.
  bool isDeviceAddress = ptr >= (uint64_t(1) << 40) && ptr < (uint64_t(65) << 40);
  return type == CU_MEMORYTYPE_UNIFIED && !isDeviceAddress ? reinterpret_cast<uint8_t *>(ptr) : nullptr;
}

static CUresult runCopy(Device &device, const CUDA_MEMCPY3D &c) {
  for (size_t z = 0; z < c.Depth; ++z)
    for (size_t y = 0; y < c.Height; ++y) {
      if (c.WidthInBytes == 0)
        continue;
      uint64_t from = c.srcXInBytes + (c.srcY + y) * c.srcPitch + (c.srcZ + z) * c.srcPitch * c.srcHeight;
      uint64_t to = c.dstXInBytes + (c.dstY + y) * c.dstPitch + (c.dstZ + z) * c.dstPitch * c.dstHeight;
      const uint8_t *source = resolve(device, c.srcMemoryType, static_cast<const char *>(c.srcHost) + from, c.srcDevice + from, c.WidthInBytes, false);
      uint8_t *target = resolve(device, c.dstMemoryType, static_cast<char *>(c.dstHost) + to, c.dstDevice + to, c.WidthInBytes, true);
      if (!source || !target)
        return CUDA_ERROR_INVALID_VALUE;
      std::memmove(target, source, c.WidthInBytes);
    }
  return CUDA_SUCCESS;
}

static CUresult runSet(Device &device, const CUDA_MEMSET_NODE_PARAMS &s) {
  if (s.elementSize != 1 && s.elementSize != 2 && s.elementSize != 4)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t y = 0; y < s.height; ++y) {
    if (s.width == 0)
      continue;
    uint8_t *target = resolve(device, CU_MEMORYTYPE_DEVICE, nullptr, s.dst + y * s.pitch, s.width * s.elementSize, true);
    if (!target)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t x = 0; x < s.width; ++x)
      std::memcpy(target + x * s.elementSize, &s.value, s.elementSize);
  }
  return CUDA_SUCCESS;
}

CUresult execute(Device &device, const Work &work) {
  if (device.sticky != CUDA_SUCCESS)
    return device.sticky;
  switch (work.kind) {
  case Work::Kernel: return runKernel(device, work);
  case Work::Copy: return runCopy(device, work.copy);
  case Work::Set: return runSet(device, work.set);
  case Work::Host: work.host(work.hostData); return CUDA_SUCCESS;
  case Work::Empty: return CUDA_SUCCESS;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult enqueue(CUstream handle, Work work) {
  State &state = State::get();
  Device *device = currentDevice();
  // 0, 1 and 2 are the default streams.
  if (reinterpret_cast<uintptr_t>(handle) > 2) {
    auto it = state.streams.find(handle);
    if (it == state.streams.end())
      return CUDA_ERROR_INVALID_HANDLE;
    device = it->second->device;
    if (GraphState *graph = it->second->capture) {
      size_t number = graph->work.size();
      graph->work.push_back(std::move(work));
      graph->dependencies.push_back(number ? std::vector<size_t>{number - 1} : std::vector<size_t>{});
      return CUDA_SUCCESS;
    }
  }
  if (!device)
    return CUDA_ERROR_INVALID_CONTEXT;
  return execute(*device, work);
}

} // namespace weft::emu
