// Exported functions: initialisation, errors, entry points by name, devices and their attributes.
#include "emulator/driver/Api.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

using namespace weft::emu;

WEFT_EXPORT CUresult cuInit(unsigned flags) {
  WEFT_NEED(!flags, CUDA_ERROR_INVALID_VALUE);
  State &state = State::get();
  Lock lock(state.mutex);
  return state.initialize();
}

static constexpr int kDriverVersion = 13000;

WEFT_EXPORT CUresult cuDriverGetVersion(int *version) {
  WEFT_NOT_NULL(version);
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuGetErrorName(CUresult error, const char **text) {
  WEFT_NOT_NULL(text);
  *text = nullptr;
  switch (int(error)) {
#define WEFT_X(name, value) case value: *text = #name; return CUDA_SUCCESS;
    WEFT_CUDA_RESULTS(WEFT_X)
#undef WEFT_X
  }
  return CUDA_ERROR_INVALID_VALUE;
}

/// The name in words: "illegal address".
WEFT_EXPORT CUresult cuGetErrorString(CUresult error, const char **text) {
  static const std::unordered_map<int, std::string> texts = [] {
    std::unordered_map<int, std::string> result;
#define WEFT_X(name, value) result[value] = #name;
    WEFT_CUDA_RESULTS(WEFT_X)
#undef WEFT_X
    for (auto &[code, name] : result) {
      name = code ? name.substr(sizeof "CUDA_ERROR_" - 1) : "no error";
      for (char &c : name)
        c = c == '_' ? ' ' : char(std::tolower(c));
    }
    return result;
  }();
  WEFT_NOT_NULL(text);
  auto it = texts.find(int(error));
  *text = it == texts.end() ? nullptr : it->second.c_str();
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

//===----------------------------------------------------------------------===//
// Entry points by name
//===----------------------------------------------------------------------===//

namespace {
/// Functions whose plain name stands for different signatures, by the CUDA version that asks.
struct Renamed {
  const char *name;
  int since;
  const char *exported;
};
} // namespace
static const Renamed renamed[] = { // newest first
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"}, {"cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"},
    {"cuCtxCreate", 13000, "cuCtxCreate_v4"},                     {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2"},   {"cuGraphAddKernelNode", 10000, "cuGraphAddKernelNode"},
    {"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},         {"cuGraphExecUpdate", 10020, "cuGraphExecUpdate"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},           {"cuGetProcAddress", 11030, "cuGetProcAddress"},
    {"cuMemPrefetchAsync", 13000, "cuMemPrefetchAsync_v2"},       {"cuMemPrefetchAsync", 8000, "cuMemPrefetchAsync"},
};

static void *findExport(const char *name, int version) {
  static void *self = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void *>(&cuInit), &info) ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  }();
  if (!self)
    return nullptr;
  for (const Renamed &entry : renamed)
    if (!std::strcmp(entry.name, name) && version >= entry.since)
      return dlsym(self, entry.exported);
  for (const char *suffix : {"_v2", ""})
    if (void *found = dlsym(self, (std::string(name) + suffix).c_str()))
      return found;
  return nullptr;
}

WEFT_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t, CUdriverProcAddressQueryResult *status) {
  WEFT_NOT_NULL(name && function);
  *function = std::strncmp(name, "cu", 2) ? nullptr : findExport(name, version);
  if (status)
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#undef cuGetProcAddress
WEFT_EXPORT CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

#define WEFT_DEVICE(number) WEFT_NEED(number >= 0 && size_t(number) < state.devices.size(), CUDA_ERROR_INVALID_DEVICE)

WEFT_EXPORT CUresult cuDeviceGetCount(int *count) {
  WEFT_ENTER;
  WEFT_NOT_NULL(count);
  *count = int(state.devices.size());
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  WEFT_ENTER;
  WEFT_NOT_NULL(device);
  WEFT_DEVICE(ordinal);
  *device = ordinal;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  WEFT_ENTER;
  WEFT_DEVICE(device);
  WEFT_NOT_NULL(name && length > 0);
  const GpuInfo &gpu = *state.devices[device]->gpu;
  std::snprintf(name, length, "Weft emulator (%s, %s)", gpu.name, gpu.target);
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
#undef cuDeviceGetUuid
WEFT_EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

WEFT_EXPORT CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device) {
  WEFT_ENTER;
  WEFT_DEVICE(device);
  WEFT_NOT_NULL(text && length > 0);
  std::snprintf(text, length, "0000:%02X:00.0", unsigned(device + 1));
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  WEFT_ENTER;
  WEFT_DEVICE(device);
  WEFT_NOT_NULL(bytes);
  *bytes = state.memories[device]->total();
  return CUDA_SUCCESS;
}

static int attributeOf(const GpuInfo &gpu, CUdevice_attribute attribute, int device) {
  switch (int(attribute)) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH: return 2147483647;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return 48 << 10;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: return 64 << 10;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
  case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: return 32;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return gpu.registersPerSm;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return gpu.clock;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: return 512;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return gpu.sms;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return device + 1;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return gpu.memoryClock;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return gpu.busBits;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return int(gpu.l2);
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return gpu.threadsPerSm;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 3;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return gpu.major;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return gpu.minor;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return int(gpu.sharedPerSm);
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return int(gpu.sharedPerBlockOptin);
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return gpu.blocksPerSm;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return 1024;
  case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: return gpu.capability() == 80 || gpu.major == 9 || gpu.major == 10 ? 2 : 64;
  case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
  case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: return 1;
  case CU_DEVICE_ATTRIBUTE_NUMA_ID:
  case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID: return -1;
  }
  return 0; // features that are absent: textures, virtual memory, clusters, cooperative launches, ...
}

WEFT_EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  WEFT_ENTER;
  WEFT_NOT_NULL(value);
  WEFT_DEVICE(device);
  WEFT_NEED(int(attribute) >= 1 && int(attribute) <= 200, CUDA_ERROR_INVALID_VALUE);
  *value = attributeOf(*state.devices[device]->gpu, attribute, device);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
  WEFT_ENTER;
  WEFT_NOT_NULL(major && minor);
  WEFT_DEVICE(device);
  *major = state.devices[device]->gpu->major;
  *minor = state.devices[device]->gpu->minor;
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  WEFT_ENTER;
  WEFT_NOT_NULL(can);
  WEFT_DEVICE(device);
  WEFT_DEVICE(peer);
  *can = device != peer;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory pools: accounting is the device's; pools only carry their attributes
//===----------------------------------------------------------------------===//

static CUresult poolOfDevice(CUmemoryPool *pool, CUdevice device, bool current) {
  WEFT_ENTER;
  WEFT_NOT_NULL(pool);
  WEFT_DEVICE(device);
  Device &d = *state.devices[device];
  *pool = toHandle<CUmemoryPool>((current ? d.currentPool : d.defaultPool)->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) { return poolOfDevice(pool, device, false); }
WEFT_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) { return poolOfDevice(pool, device, true); }
WEFT_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  WEFT_ENTER;
  WEFT_DEVICE(device);
  std::shared_ptr<Pool> found = state.pools.find(pool);
  WEFT_NEED(found && found->device == unsigned(device), CUDA_ERROR_INVALID_VALUE);
  state.devices[device]->currentPool = found;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
  WEFT_ENTER;
  WEFT_NOT_NULL(pool && props && props->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  WEFT_DEVICE(props->location.id);
  *pool = toHandle<CUmemoryPool>(state.pools.add(std::make_shared<Pool>(Pool{nullptr, unsigned(props->location.id)}))->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  WEFT_ENTER;
  std::shared_ptr<Pool> pool = state.pools.find(handle);
  WEFT_NEED(pool && state.devices[pool->device]->defaultPool != pool, CUDA_ERROR_INVALID_VALUE);
  Device &device = *state.devices[pool->device];
  if (device.currentPool == pool)
    device.currentPool = device.defaultPool;
  state.pools.erase(handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  WEFT_ENTER;
  return state.pools.find(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
WEFT_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *, size_t) { return cuMemPoolTrimTo(pool, 0); }

/// Attributes 1 to 3 are int, 4 to 8 are 64-bit; 5 to 8 count bytes.
static CUresult poolAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value, bool set) {
  WEFT_ENTER;
  std::shared_ptr<Pool> pool = state.pools.find(handle);
  int number = int(attribute);
  WEFT_NEED(pool && value && number >= 1 && number <= 8, CUDA_ERROR_INVALID_VALUE);
  size_t size = number <= 3 ? sizeof(int) : sizeof(uint64_t);
  if (!set && number >= 5)
    pool->attributes[number] = state.memories[pool->device]->used();
  if (set)
    std::memcpy(&pool->attributes[number], value, size);
  else
    std::memcpy(value, &pool->attributes[number], size);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  return poolAttribute(pool, attribute, value, true);
}
WEFT_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  return poolAttribute(pool, attribute, value, false);
}

WEFT_EXPORT CUresult cuProfilerStart(void) { return CUDA_SUCCESS; }
WEFT_EXPORT CUresult cuProfilerStop(void) { return CUDA_SUCCESS; }
