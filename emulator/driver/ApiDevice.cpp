// Exported functions: initialisation, devices, contexts, modules, functions, and Weft's own additions.
#include "emulator/driver/Api.h"
#include "emulator/Emulator.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace weft::emu;

WEFT_EXPORT CUresult cuInit(unsigned flags) {
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  State &state = State::get();
  std::lock_guard<std::recursive_mutex> lock(state.mutex);
  state.configure();
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDriverGetVersion(int *version) {
  WEFT_NOT_NULL(version);
  *version = 13000;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuGetErrorName(CUresult error, const char **text) {
  WEFT_NOT_NULL(text);
  switch (error) {
#define WEFT_X(name, value) case name: *text = #name; return CUDA_SUCCESS;
    WEFT_CUDA_RESULTS(WEFT_X)
#undef WEFT_X
  }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

WEFT_EXPORT CUresult cuGetErrorString(CUresult error, const char **text) { return cuGetErrorName(error, text); }

/// Newest versions are what the plain name stands for.
WEFT_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int, uint64_t, int *status) {
  WEFT_NOT_NULL(name && function);
  *function = nullptr;
  for (const char *suffix : {"_v4", "_v3", "_v2", ""})
    if ((*function = dlsym(RTLD_DEFAULT, (std::string(name) + suffix).c_str())))
      break;
  if (!*function) {
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(&cuInit), &info))
      if (void *self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)) {
        for (const char *suffix : {"_v4", "_v3", "_v2", ""})
          if ((*function = dlsym(self, (std::string(name) + suffix).c_str())))
            break;
        dlclose(self);
      }
  }
  if (status)
    *status = *function ? 0 : 1;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

WEFT_EXPORT CUresult cuDeviceGetCount(int *count) {
  WEFT_ENTER;
  WEFT_NOT_NULL(count);
  *count = int(state.devices.size());
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  WEFT_ENTER;
  WEFT_NOT_NULL(device);
  if (ordinal < 0 || size_t(ordinal) >= state.devices.size())
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

#define WEFT_DEVICE(number)                                                                                            \
  if (number < 0 || size_t(number) >= state.devices.size())                                                            \
  return CUDA_ERROR_INVALID_DEVICE

WEFT_EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  WEFT_ENTER;
  WEFT_DEVICE(device);
  if (!name || length <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, length, "Weft emulator (%s, %s)", state.settings.gpu->name, state.settings.gpu->target);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  WEFT_ENTER;
  WEFT_DEVICE(device);
  WEFT_NOT_NULL(uuid);
  std::memcpy(uuid->bytes, "weft-emulator-\0\0", 16);
  uuid->bytes[15] = char(device);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

WEFT_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  WEFT_ENTER;
  WEFT_DEVICE(device);
  WEFT_NOT_NULL(bytes);
  *bytes = state.devices[device]->memory->total();
  return CUDA_SUCCESS;
}

static int64_t attributeOf(const GpuInfo &gpu, CUdevice_attribute attribute, int device) {
  switch (int(attribute)) { // attributes that are not listed: below
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return 2147483647;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return 48 << 10;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: return 64 << 10;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH: return 2147483647;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return gpu.registersPerSm;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return gpu.clock;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: return 512;
  case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP: case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY: case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED: return 1;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return gpu.sms;
  case CU_DEVICE_ATTRIBUTE_INTEGRATED: case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: return 0;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return device + 1;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return gpu.memoryClock;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return gpu.busBits;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return gpu.l2;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return gpu.threadsPerSm;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 3;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return gpu.major;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return gpu.minor;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return gpu.sharedPerSm;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return gpu.sharedPerBlockOptin;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return gpu.blocksPerSm;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return 1024;
  }
  return -1;
}

WEFT_EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  WEFT_ENTER;
  WEFT_DEVICE(device);
  WEFT_NOT_NULL(value);
  if (int(attribute) < 1 || int(attribute) > 200)
    return CUDA_ERROR_INVALID_VALUE;
  *value = int(std::max<int64_t>(attributeOf(*state.settings.gpu, attribute, device), 0)); // unlisted features: absent
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  WEFT_ENTER;
  WEFT_DEVICE(device);
  WEFT_DEVICE(peer);
  WEFT_NOT_NULL(can);
  *can = device != peer;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Contexts: one per device, the primary one; cuCtxCreate gives it too
//===----------------------------------------------------------------------===//

static CUcontext handleOf(Device *device) { return reinterpret_cast<CUcontext>(device); }

WEFT_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice number) {
  WEFT_ENTER;
  WEFT_DEVICE(number);
  WEFT_NOT_NULL(context);
  Device *device = state.devices[number].get();
  ++device->retained;
  state.contexts.insert(device);
  *context = handleOf(device);
  return CUDA_SUCCESS;
}

static CUresult releaseContext(State &state, Device *device) {
  if (device->retained == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->retained)
    return CUDA_SUCCESS;
  // The context goes, and with it its memory, modules and streams.
  state.contexts.erase(device);
  std::erase_if(state.streams, [&](auto &entry) { return entry.second->device == device; });
  std::erase_if(state.events, [&](auto &entry) { return entry.second->device == device; });
  for (auto it = state.modules.begin(); it != state.modules.end();) {
    if (it->second->device == device) {
      for (auto &function : it->second->functions)
        state.functions.erase(function.get());
      it = state.modules.erase(it);
    } else {
      ++it;
    }
  }
  device->memory = std::make_unique<DeviceMemory>(device->ordinal, device->memory->total(), state.settings.check);
  device->sticky = CUDA_SUCCESS;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice number) {
  WEFT_ENTER;
  WEFT_DEVICE(number);
  return releaseContext(state, state.devices[number].get());
}
WEFT_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice number) { return cuDevicePrimaryCtxRelease_v2(number); }
WEFT_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice, unsigned) { return CUDA_SUCCESS; }
WEFT_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice number, unsigned *flags, int *active) {
  WEFT_ENTER;
  WEFT_DEVICE(number);
  WEFT_NOT_NULL(flags && active);
  *flags = 0;
  *active = state.devices[number]->retained > 0;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned, CUdevice number) {
  if (CUresult result = cuDevicePrimaryCtxRetain(context, number))
    return result;
  setCurrentDevice(reinterpret_cast<Device *>(*context), true, false);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
  WEFT_ENTER;
  if (!state.contexts.count(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  return releaseContext(state, reinterpret_cast<Device *>(context));
}
WEFT_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  WEFT_ENTER;
  if (context && !state.contexts.count(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  setCurrentDevice(reinterpret_cast<Device *>(context), false, false);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
  WEFT_ENTER;
  WEFT_NOT_NULL(context);
  *context = handleOf(currentDevice());
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  WEFT_ENTER;
  if (!state.contexts.count(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  setCurrentDevice(reinterpret_cast<Device *>(context), true, false);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  WEFT_ENTER;
  if (!currentDevice())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (context)
    *context = handleOf(currentDevice());
  setCurrentDevice(nullptr, false, true);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxGetDevice(CUdevice *number) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(number);
  *number = int(device->ordinal);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxSynchronize(void) {
  WEFT_ENTER_CONTEXT;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_SUCCESS; }
WEFT_EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (least)
    *least = 0;
  if (greatest)
    *greatest = 0;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// The text's `.target`, e.g. "sm_90a"; empty where there is none.
static std::string targetOf(std::string_view ptx) {
  size_t at = ptx.find(".target");
  if (at == std::string_view::npos)
    return "";
  at = ptx.find_first_not_of(" \t", at + 7);
  size_t end = ptx.find_first_of(", \t\r\n", at);
  return at == std::string_view::npos ? "" : std::string(ptx.substr(at, end - at));
}

static CUresult checkTarget(const GpuInfo &gpu, const std::string &target) {
  if (target.empty())
    return CUDA_ERROR_INVALID_PTX;
  bool specific = target.back() == 'a';
  if (specific && target != gpu.target)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  int number = std::atoi(target.c_str() + 3);
  return number > gpu.major * 10 + gpu.minor ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_SUCCESS;
}

static void report(unsigned count, CUjit_option *options, void **values, const std::string &message) {
  char *buffer = nullptr;
  size_t size = 0;
  void **sizeSlot = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      size = size_t(uintptr_t(values[i])) & 0xffffffff;
      sizeSlot = &values[i];
    }
  }
  if (buffer && size) {
    std::snprintf(buffer, size, "%s", message.c_str());
    *sizeSlot = reinterpret_cast<void *>(uintptr_t(std::min(size, message.size() + 1)));
  }
}

static CUresult placeGlobals(Device &device, ModuleState &module) {
  const auto &globals = module.module->globals();
  for (const GlobalInfo &global : globals) {
    CUdeviceptr address = 0;
    if (global.size) {
      if (CUresult result = device.memory->allocate(global.size, address))
        return result;
      uint8_t *bytes = device.memory->host(address, global.size, true);
      std::memcpy(bytes, global.init.data(), std::min<size_t>(global.init.size(), global.size));
    }
    module.globals.push_back(address);
  }
  for (size_t i = 0; i < globals.size(); ++i)
    for (const Relocation &relocation : globals[i].relocations) {
      uint64_t value = module.globals[relocation.target] + relocation.addend;
      if (uint8_t *bytes = device.memory->host(module.globals[i] + relocation.offset, relocation.size, true))
        std::memcpy(bytes, &value, std::min<size_t>(relocation.size, 8));
    }
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuModuleLoadDataEx(CUmodule *result, const void *image, unsigned count, CUjit_option *options, void **values) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(result && image);
  const char *text = static_cast<const char *>(image);
  if (!std::memcmp(text, "\x7f" "ELF", 4) || !std::memcmp(text, "\x50\xed\x55\xba", 4)) {
    report(count, options, values, "the emulator runs PTX only, not cubins or fat binaries");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  std::string_view ptx(text);
  const GpuInfo &gpu = *state.settings.gpu;
  if (CUresult bad = checkTarget(gpu, targetOf(ptx))) {
    report(count, options, values, "PTX for " + targetOf(ptx) + " does not run on " + gpu.target);
    return bad;
  }
  Diagnostic diagnostic;
  auto module = std::make_unique<ModuleState>();
  module->device = device;
  module->module = parseModule(ptx, gpu.major * 10 + gpu.minor, diagnostic);
  if (!module->module) {
    report(count, options, values, "line " + std::to_string(diagnostic.line) + ": " + diagnostic.message);
    return CUDA_ERROR_INVALID_PTX;
  }
  if (CUresult bad = placeGlobals(*device, *module))
    return bad;
  *result = reinterpret_cast<CUmodule>(module.get());
  state.modules[module.get()] = std::move(module);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) { return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr); }

WEFT_EXPORT CUresult cuModuleUnload(CUmodule handle) {
  WEFT_ENTER_CONTEXT;
  auto it = state.modules.find(handle);
  if (it == state.modules.end())
    return CUDA_ERROR_INVALID_HANDLE;
  for (auto &function : it->second->functions)
    state.functions.erase(function.get());
  for (uint64_t address : it->second->globals)
    it->second->device->memory->free(address);
  state.modules.erase(it);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuModuleGetFunction(CUfunction *result, CUmodule handle, const char *name) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(result && name);
  auto it = state.modules.find(handle);
  if (it == state.modules.end())
    return CUDA_ERROR_INVALID_HANDLE;
  int kernel = it->second->module->findKernel(name);
  if (kernel < 0)
    return CUDA_ERROR_NOT_FOUND;
  auto function = std::make_unique<FunctionState>(FunctionState{it->second.get(), unsigned(kernel)});
  *result = reinterpret_cast<CUfunction>(function.get());
  state.functions.insert(function.get());
  it->second->functions.push_back(std::move(function));
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes, CUmodule handle, const char *name) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(name);
  auto it = state.modules.find(handle);
  if (it == state.modules.end())
    return CUDA_ERROR_INVALID_HANDLE;
  int global = it->second->module->findGlobal(name);
  if (global < 0)
    return CUDA_ERROR_NOT_FOUND;
  if (pointer)
    *pointer = it->second->globals[global];
  if (bytes)
    *bytes = it->second->module->globals()[global].size;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(value);
  if (!state.functions.count(handle))
    return CUDA_ERROR_INVALID_HANDLE;
  auto *function = reinterpret_cast<FunctionState *>(handle);
  const Module &module = *function->module->module;
  const KernelInfo &info = module.kernels()[function->kernel];
  switch (int(attribute)) { // attributes that are not listed: below
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = int(info.maxThreads); return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = int(info.staticSharedBytes); return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = 0; return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = int(info.localBytes); return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = int(info.numRegs); return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION: case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = int(module.target()); return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->maxDynamicShared; return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

WEFT_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  WEFT_ENTER_CONTEXT;
  if (!state.functions.count(handle))
    return CUDA_ERROR_INVALID_HANDLE;
  auto *function = reinterpret_cast<FunctionState *>(handle);
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return CUDA_SUCCESS; // carve-out preferences have no effect here
  if (value < 0 || uint64_t(value) > state.settings.gpu->sharedPerBlockOptin)
    return CUDA_ERROR_INVALID_VALUE;
  function->maxDynamicShared = value;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuFuncSetCacheConfig(CUfunction, int) { return CUDA_SUCCESS; }

WEFT_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int blockSize, size_t shared) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(blocks && blockSize > 0);
  if (!state.functions.count(handle))
    return CUDA_ERROR_INVALID_HANDLE;
  auto *function = reinterpret_cast<FunctionState *>(handle);
  const KernelInfo &info = function->module->module->kernels()[function->kernel];
  const GpuInfo &gpu = *state.settings.gpu;
  uint64_t threads = (uint64_t(blockSize) + 31) / 32 * 32, bytes = shared + info.staticSharedBytes + 1024;
  uint64_t registers = std::max<uint64_t>(info.numRegs, 16) * threads;
  uint64_t limit = std::min<uint64_t>({uint64_t(gpu.blocksPerSm), gpu.threadsPerSm / threads, gpu.sharedPerSm / bytes, gpu.registersPerSm / registers});
  *blocks = int(limit);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Weft's own additions
//===----------------------------------------------------------------------===//

static int giveText(const std::string &text, char *buffer, size_t *size) {
  size_t room = *size;
  *size = text.size() + 1;
  if (room < *size)
    return 1;
  std::memcpy(buffer, text.c_str(), *size);
  return 0;
}

WEFT_EXPORT int weftEmuConfigure(const char *key, const char *value) {
  State &state = State::get();
  std::lock_guard<std::recursive_mutex> lock(state.mutex);
  return state.initialized || !state.settings.set(key, value);
}
WEFT_EXPORT int weftEmuCountersJson(char *buffer, size_t *size) {
  State &state = State::get();
  std::lock_guard<std::recursive_mutex> lock(state.mutex);
  return giveText(state.countersJson(), buffer, size);
}
WEFT_EXPORT void weftEmuResetCounters(void) {
  State &state = State::get();
  std::lock_guard<std::recursive_mutex> lock(state.mutex);
  state.launches = 0;
  state.records.clear();
}
WEFT_EXPORT int weftEmuFindings(char *buffer, size_t *size) {
  State &state = State::get();
  std::lock_guard<std::recursive_mutex> lock(state.mutex);
  std::string text;
  for (const std::string &finding : state.findings)
    text += finding + "\n";
  return giveText(text, buffer, size);
}
WEFT_EXPORT int weftEmuLastError(char *buffer, size_t *size) {
  State &state = State::get();
  std::lock_guard<std::recursive_mutex> lock(state.mutex);
  return giveText(state.lastMessage, buffer, size);
}
