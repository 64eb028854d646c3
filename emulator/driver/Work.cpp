// Running work: kernels, copies, sets. Called without the lock; takes it only to report.
#include "emulator/driver/State.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

namespace weft::emu {

static CUresult toResult(Trap trap) {
  switch (trap) {
  case Trap::None: return CUDA_SUCCESS;
  case Trap::IllegalAddress: return CUDA_ERROR_ILLEGAL_ADDRESS;
  case Trap::MisalignedAddress: return CUDA_ERROR_MISALIGNED_ADDRESS;
  case Trap::IllegalInstruction: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  case Trap::StepLimit:
  case Trap::Deadlock: return CUDA_ERROR_LAUNCH_TIMEOUT;
  case Trap::TrapInstruction:
  case Trap::InvalidLaunch: return CUDA_ERROR_LAUNCH_FAILED;
  case Trap::Assert: return CUDA_ERROR_ASSERT;
  }
  return CUDA_ERROR_UNKNOWN;
}

static void report(State &state, const Work &work, LaunchResult result) {
  Lock lock(state.mutex);
  ++state.launches;
  if (state.settings.counters)
    state.records.push_back({work.function->info().name, work.context->device->ordinal, work.grid, work.block, std::move(result.counters)});
  for (std::string &finding : result.findings)
    state.addFinding(std::move(finding));
  if (result.trap == Trap::None)
    return;
  state.lastMessage = result.message;
  if (state.settings.check)
    state.addFinding(std::string(toString(result.trap)) + ": " + result.message);
}

static CUresult runKernel(State &state, const Work &work) {
  LaunchOptions options = state.settings.launch;
  options.smCount = work.context->device->gpu->sms;
  LaunchResult result = launch(*work.function->code, work.function->kernel, work.grid, work.block, work.dynamicShared, work.params.data(),
                               *work.context->memory, work.function->globals, options);
  if (!result.printed.empty())
    std::fputs(result.printed.c_str(), stdout);
  CUresult code = toResult(result.trap);
  report(state, work, std::move(result));
  return code;
}

//===----------------------------------------------------------------------===//
// Copies and sets
//===----------------------------------------------------------------------===//

namespace {
/// One side of a copy: rows of the same length, `pitch` apart, in slices `slice` apart.
struct Side {
  CUmemorytype type;
  uint64_t address, pitch, slice, extent; // extent: bytes from the first to the last
};
} // namespace

static bool makeSide(Side &side, const CUDA_MEMCPY3D &c, CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y, size_t z,
                     size_t pitch, size_t height) {
  side.type = type;
  side.pitch = pitch ? pitch : c.WidthInBytes + x;
  side.slice = side.pitch * (height ? height : c.Height + y);
  side.address = (type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device) + x + y * side.pitch + z * side.slice;
  side.extent = (c.Depth - 1) * side.slice + (c.Height - 1) * side.pitch + c.WidthInBytes;
  bool rowsFit = c.Height * c.Depth == 1 || side.pitch >= c.WidthInBytes;
  return rowsFit && type != CU_MEMORYTYPE_ARRAY && side.address + side.extent >= side.address;
}

static bool makeSides(const CUDA_MEMCPY3D &c, Side &from, Side &to) {
  return makeSide(from, c, c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, c.srcZ, c.srcPitch, c.srcHeight) &&
         makeSide(to, c, c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, c.dstZ, c.dstPitch, c.dstHeight);
}

/// Host bytes of `side`; `written` gets the flags of device memory under --check. Null for memory that is not there.
static uint8_t *locate(State &state, Context &context, const Side &side, uint8_t *&written) {
  written = nullptr;
  if (isDeviceAddress(side.address)) {
    unsigned device = deviceOf(side.address);
    if (device >= state.memories.size())
      return nullptr;
    written = state.memories[device]->written(side.address, side.extent);
    return state.memories[device]->host(side.address, side.extent);
  }
  HostMemory::Range range;
  bool known = state.hostMemory.find(side.address, range);
  if (side.type == CU_MEMORYTYPE_DEVICE && !known)
    return nullptr;
  if (known && side.extent > range.begin + range.size - side.address)
    return nullptr;
  return reinterpret_cast<uint8_t *>(side.address);
}

static bool isEmpty(const CUDA_MEMCPY3D &c) { return !c.WidthInBytes || !c.Height || !c.Depth; }

CUresult checkCopy(State &state, Context &context, const CUDA_MEMCPY3D &copy) {
  if (isEmpty(copy))
    return CUDA_SUCCESS;
  Side from, to;
  uint8_t *written;
  bool good = makeSides(copy, from, to) && locate(state, context, from, written) && locate(state, context, to, written);
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Reading back what nobody wrote is almost always a mistake.
static void findUnwritten(State &state, const Side &from, const uint8_t *written) {
  const uint8_t *hole = std::find(written, written + from.extent, 0);
  if (hole == written + from.extent)
    return;
  size_t holes = std::count(hole, written + from.extent, 0);
  Lock lock(state.mutex);
  state.addFinding("copy to the host: " + std::to_string(holes) + " of " + std::to_string(from.extent) +
                   " bytes were never written, the first at byte " + std::to_string(hole - written));
}

static CUresult runCopy(State &state, const Work &work) {
  const CUDA_MEMCPY3D &c = work.copy;
  if (isEmpty(c))
    return CUDA_SUCCESS;
  Side from, to;
  uint8_t *readFlags, *writeFlags;
  if (!makeSides(c, from, to))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  uint8_t *source = locate(state, *work.context, from, readFlags), *target = locate(state, *work.context, to, writeFlags);
  if (!source || !target)
    return CUDA_ERROR_ILLEGAL_ADDRESS; // freed since it was queued
  if (readFlags && !isDeviceAddress(to.address) && c.Height * c.Depth == 1)
    findUnwritten(state, from, readFlags);
  for (size_t z = 0; z < c.Depth; ++z)
    for (size_t y = 0; y < c.Height; ++y) {
      uint64_t at = y * from.pitch + z * from.slice, where = y * to.pitch + z * to.slice;
      std::memmove(target + where, source + at, c.WidthInBytes);
      if (writeFlags && readFlags)
        std::memmove(writeFlags + where, readFlags + at, c.WidthInBytes);
      else if (writeFlags)
        std::memset(writeFlags + where, 1, c.WidthInBytes);
    }
  return CUDA_SUCCESS;
}

bool isPageable(State &state, const void *host, CUmemorytype type, CUdeviceptr address) {
  uint64_t at = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : address;
  HostMemory::Range range;
  return !isDeviceAddress(at) && !state.hostMemory.find(at, range);
}

void stageSource(Work &work) {
  CUDA_MEMCPY3D &c = work.copy;
  Side from, to;
  if (isEmpty(c) || !makeSides(c, from, to))
    return;
  work.staged = std::make_shared<std::vector<uint8_t>>(c.WidthInBytes * c.Height * c.Depth);
  uint8_t *out = work.staged->data();
  for (size_t z = 0; z < c.Depth; ++z)
    for (size_t y = 0; y < c.Height; ++y, out += c.WidthInBytes)
      std::memcpy(out, reinterpret_cast<const uint8_t *>(from.address) + y * from.pitch + z * from.slice, c.WidthInBytes);
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = work.staged->data();
  c.srcXInBytes = c.srcY = c.srcZ = 0;
  c.srcPitch = c.WidthInBytes;
  c.srcHeight = c.Height;
}

static bool makeSide(Side &side, const CUDA_MEMSET_NODE_PARAMS &s) {
  uint64_t row = s.width * s.elementSize;
  side = {CU_MEMORYTYPE_DEVICE, s.dst, s.pitch ? s.pitch : row, 0, 0};
  side.extent = (s.height - 1) * side.pitch + row;
  bool sizeKnown = s.elementSize == 1 || s.elementSize == 2 || s.elementSize == 4;
  return sizeKnown && s.dst % s.elementSize == 0 && (s.height == 1 || side.pitch >= row) && row / s.elementSize == s.width;
}

CUresult checkSet(State &state, Context &context, const CUDA_MEMSET_NODE_PARAMS &set) {
  if (!set.width || !set.height)
    return CUDA_SUCCESS;
  Side side;
  uint8_t *written;
  return makeSide(side, set) && locate(state, context, side, written) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult runSet(State &state, const Work &work) {
  const CUDA_MEMSET_NODE_PARAMS &s = work.set;
  if (!s.width || !s.height)
    return CUDA_SUCCESS;
  Side side;
  uint8_t *written, *target = makeSide(side, s) ? locate(state, *work.context, side, written) : nullptr;
  if (!target)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (size_t y = 0; y < s.height; ++y) {
    uint8_t *row = target + y * side.pitch;
    if (s.elementSize == 1)
      std::memset(row, int(s.value), s.width);
    else
      for (size_t x = 0; x < s.width; ++x)
        std::memcpy(row + x * s.elementSize, &s.value, s.elementSize);
    if (written)
      std::memset(written + y * side.pitch, 1, s.width * s.elementSize);
  }
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// All work
//===----------------------------------------------------------------------===//

static thread_local bool hostFunctionRuns = false;
bool insideHostFunction() { return hostFunctionRuns; }

static void runHost(const Work &work, CUresult status) {
  hostFunctionRuns = true;
  work.host(status);
  hostFunctionRuns = false;
}

static CUresult poisoned(State &state, Context &context) {
  Lock lock(state.mutex);
  return context.sticky;
}

static CUresult runOne(State &state, const Work &work) {
  switch (work.kind) {
  case Work::Kind::Kernel: return runKernel(state, work);
  case Work::Kind::Copy: return runCopy(state, work);
  case Work::Kind::Set: return runSet(state, work);
  case Work::Kind::Host: runHost(work, CUDA_SUCCESS); return CUDA_SUCCESS;
  case Work::Kind::Free:
    state.memories[deviceOf(work.address)]->free(work.address);
    return CUDA_SUCCESS;
  case Work::Kind::Graph:
    for (const Work &part : *work.graph)
      execute(state, part);
    return CUDA_SUCCESS;
  case Work::Kind::Empty:
  case Work::Kind::Record:
  case Work::Kind::Wait: return CUDA_SUCCESS;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult execute(State &state, const Work &work) {
  CUresult result = poisoned(state, *work.context);
  if (result == CUDA_SUCCESS)
    result = runOne(state, work);
  else if (work.kind == Work::Kind::Host)
    runHost(work, result);
  Lock lock(state.mutex);
  if (work.stamp) {
    work.stamp->time = std::chrono::steady_clock::now();
    work.stamp->done = true;
  }
  if (result != CUDA_SUCCESS && work.context->sticky == CUDA_SUCCESS)
    work.context->sticky = result;
  return result;
}

} // namespace weft::emu
