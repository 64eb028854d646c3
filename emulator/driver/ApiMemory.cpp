// Exported functions: device and host allocations, and what is known of a pointer.
//
// As in CUDA, frees wait for the work that is queued; cuMemFreeAsync takes its place in the stream.
#include "emulator/driver/Api.h"
#include <algorithm>
#include <cstring>

using namespace weft::emu;

//===----------------------------------------------------------------------===//
// Device memory
//===----------------------------------------------------------------------===//

WEFT_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(out && bytes);
  WEFT_TRY(checkUncaptured(state));
  return state.memories[context->device->ordinal]->allocate(bytes, context.get(), false, *out);
}
WEFT_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned elementSize) {
  WEFT_NOT_NULL(pitch && width && height && (elementSize == 4 || elementSize == 8 || elementSize == 16));
  *pitch = (width + 511) / 512 * 512;
  WEFT_NEED(*pitch <= SIZE_MAX / height, CUDA_ERROR_OUT_OF_MEMORY);
  return cuMemAlloc_v2(out, *pitch * height);
}
WEFT_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(out && bytes);
  void *pointer = nullptr;
  WEFT_TRY(state.hostMemory.allocate(bytes, HostMemory::Managed, 0, context.get(), &pointer));
  *out = reinterpret_cast<CUdeviceptr>(pointer);
  return CUDA_SUCCESS;
}

/// The live allocation that begins at `address`.
static bool findBegin(State &state, CUdeviceptr address, AllocationInfo &info) {
  return isDeviceAddress(address) && deviceOf(address) < state.memories.size() && state.memories[deviceOf(address)]->find(address, info) &&
         info.begin == address && !info.leaving;
}

WEFT_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  WEFT_ENTER_CONTEXT;
  if (!address)
    return CUDA_SUCCESS;
  WEFT_TRY(checkUncaptured(state));
  runAll(state, lock);
  WEFT_TRY(context->sticky);
  if (state.hostMemory.remove(reinterpret_cast<void *>(address), HostMemory::Managed))
    return CUDA_SUCCESS;
  AllocationInfo info;
  WEFT_NEED(findBegin(state, address, info), CUDA_ERROR_INVALID_VALUE);
  DeviceMemory &memory = *state.memories[deviceOf(address)];
  memory.free(address);
  if (state.running == 0)
    memory.collect();
  return CUDA_SUCCESS;
}

static CUresult allocateFrom(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream handle) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(out && bytes);
  std::shared_ptr<Stream> stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  WEFT_NEED(!stream->capture, CUDA_ERROR_NOT_SUPPORTED); // allocation nodes of graphs
  unsigned device = stream->context->device->ordinal;
  if (pool) {
    std::shared_ptr<Pool> found = state.pools.find(pool);
    WEFT_NEED(found, CUDA_ERROR_INVALID_VALUE);
    device = found->device;
  }
  CUresult result = state.memories[device]->allocate(bytes, stream->context.get(), true, *out);
  if (result != CUDA_ERROR_OUT_OF_MEMORY)
    return result;
  runStream(state, lock, stream); // frees that are queued before this allocation
  WEFT_TRY(context->sticky);
  return state.memories[device]->allocate(bytes, stream->context.get(), true, *out);
}
WEFT_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream) { return allocateFrom(out, bytes, nullptr, stream); }
WEFT_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  WEFT_NOT_NULL(pool);
  return allocateFrom(out, bytes, pool, stream);
}
WEFT_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Stream> stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  AllocationInfo info;
  WEFT_NEED(findBegin(state, address, info), CUDA_ERROR_INVALID_VALUE);
  Work work;
  work.kind = Work::Kind::Free;
  work.address = address;
  WEFT_TRY(enqueue(state, stream, std::move(work)));
  state.memories[deviceOf(address)]->leave(address);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(free && total);
  const DeviceMemory &memory = *state.memories[context->device->ordinal];
  *total = memory.total();
  *free = memory.total() - memory.used();
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
  WEFT_ENTER_CONTEXT;
  AllocationInfo info;
  HostMemory::Range range;
  if (state.hostMemory.find(address, range))
    info = {range.begin, range.size};
  else
    WEFT_NEED(isDeviceAddress(address) && deviceOf(address) < state.memories.size() && state.memories[deviceOf(address)]->find(address, info),
              CUDA_ERROR_NOT_FOUND);
  if (base)
    *base = info.begin;
  if (size)
    *size = info.size;
  return CUDA_SUCCESS;
}

#undef cuMemPrefetchAsync
WEFT_EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr, size_t, CUdevice, CUstream) {
  WEFT_ENTER_CONTEXT;
  return CUDA_SUCCESS;
}
#ifndef WEFT_USE_CUDA_H // takes a CUmemLocation by value; only its name matters here
WEFT_EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr, size_t, CUmemLocation, unsigned, CUstream) {
  WEFT_ENTER_CONTEXT;
  return CUDA_SUCCESS;
}
#endif

//===----------------------------------------------------------------------===//
// Host memory
//===----------------------------------------------------------------------===//

WEFT_EXPORT CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(out && bytes);
  return state.hostMemory.allocate(bytes, HostMemory::Pinned, flags, context.get(), out);
}
WEFT_EXPORT CUresult cuMemAllocHost_v2(void **out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }

static CUresult forget(void *pointer, HostMemory::Kind kind, CUresult unknown) {
  WEFT_ENTER_CONTEXT;
  runAll(state, lock); // queued copies may still use it
  WEFT_TRY(context->sticky);
  return state.hostMemory.remove(pointer, kind) ? CUDA_SUCCESS : unknown;
}
WEFT_EXPORT CUresult cuMemFreeHost(void *pointer) { return forget(pointer, HostMemory::Pinned, CUDA_ERROR_INVALID_VALUE); }
WEFT_EXPORT CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(pointer && bytes && !isDeviceAddress(reinterpret_cast<uint64_t>(pointer)));
  return state.hostMemory.add(pointer, bytes, flags, context.get());
}
WEFT_EXPORT CUresult cuMemHostUnregister(void *pointer) { return forget(pointer, HostMemory::Registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED); }
WEFT_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *pointer, unsigned flags) {
  WEFT_ENTER_CONTEXT;
  HostMemory::Range range;
  WEFT_NOT_NULL(device && !flags && state.hostMemory.find(reinterpret_cast<uint64_t>(pointer), range));
  *device = reinterpret_cast<CUdeviceptr>(pointer); // unified addressing
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuMemHostGetFlags(unsigned *flags, void *pointer) {
  WEFT_ENTER_CONTEXT;
  HostMemory::Range range;
  WEFT_NOT_NULL(flags && state.hostMemory.find(reinterpret_cast<uint64_t>(pointer), range));
  *flags = range.flags;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

namespace {
struct PointerInfo {
  CUmemorytype type = CU_MEMORYTYPE_DEVICE;
  bool managed = false;
  AllocationInfo allocation;
  void *context = nullptr;
  int device = -1;
};
} // namespace

static void *handleOfOwner(State &state, const void *owner) {
  void *handle = nullptr;
  state.contexts.forEach([&](auto &context) {
    if (context.get() == owner)
      handle = context->handle;
  });
  return handle;
}

static bool describe(State &state, CUdeviceptr address, PointerInfo &info) {
  HostMemory::Range range;
  if (state.hostMemory.find(address, range)) {
    info.managed = range.kind == HostMemory::Managed;
    info.type = info.managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    info.allocation = {range.begin, range.size, range.begin, range.owner};
    info.device = 0;
  } else {
    if (!isDeviceAddress(address) || deviceOf(address) >= state.memories.size() || !state.memories[deviceOf(address)]->find(address, info.allocation))
      return false;
    info.device = int(deviceOf(address));
  }
  info.context = handleOfOwner(state, info.allocation.owner);
  if (auto context = state.contexts.find(info.context))
    info.device = int(context->device->ordinal);
  return true;
}

template <class T> static CUresult put(void *data, T value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

static CUresult attributeOf(State &state, const PointerInfo &info, CUpointer_attribute attribute, CUdeviceptr address, void *data) {
  bool host = info.type == CU_MEMORYTYPE_HOST || info.managed;
  switch (int(attribute)) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: return put(data, info.context);
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return put(data, int(info.type));
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return put(data, address);
  case CU_POINTER_ATTRIBUTE_HOST_POINTER: return host ? put(data, address) : CUDA_ERROR_INVALID_VALUE;
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return put(data, 0);
  case CU_POINTER_ATTRIBUTE_BUFFER_ID: return put(data, info.allocation.id);
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: return put(data, int(info.managed));
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return put(data, info.device);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return put(data, info.allocation.begin);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return put(data, size_t(info.allocation.size));
  case CU_POINTER_ATTRIBUTE_MAPPED: return put(data, 1);
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return put(data, 0);
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    return put(data, info.allocation.pooled ? state.devices[info.device]->defaultPool->handle : nullptr);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

WEFT_EXPORT CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
  WEFT_ENTER_CONTEXT;
  PointerInfo info;
  WEFT_NOT_NULL(data && describe(state, address, info));
  return attributeOf(state, info, attribute, address, data);
}

/// Unlike the above, leaves what it does not know: type and numbers become 0.
WEFT_EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(count && attributes && data);
  PointerInfo info;
  bool known = describe(state, address, info);
  for (unsigned i = 0; i < count; ++i) {
    bool wide = attributes[i] == CU_POINTER_ATTRIBUTE_CONTEXT || attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
                attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER || attributes[i] == CU_POINTER_ATTRIBUTE_BUFFER_ID ||
                attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE ||
                attributes[i] == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
    if (!known || attributeOf(state, info, attributes[i], address, data[i]) != CUDA_SUCCESS)
      std::memset(data[i], 0, wide ? 8 : 4);
  }
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuPointerSetAttribute(const void *, CUpointer_attribute attribute, CUdeviceptr address) {
  WEFT_ENTER_CONTEXT;
  PointerInfo info;
  return attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && describe(state, address, info) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
