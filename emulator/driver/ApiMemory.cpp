// Exported functions: memory and copies.
#include "emulator/driver/Api.h"
#include <cstring>

using namespace weft::emu;

WEFT_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(pointer);
  return device->memory->allocate(bytes, *pointer);
}
WEFT_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
  WEFT_ENTER_CONTEXT;
  for (auto &other : state.devices)
    if (other->memory->free(pointer) == CUDA_SUCCESS)
      return CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_VALUE;
}
WEFT_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream) { return cuMemAlloc_v2(pointer, bytes); }
WEFT_EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream) { return cuMemFree_v2(pointer); }

WEFT_EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(free && total);
  *total = device->memory->total();
  *free = *total - device->memory->used();
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr pointer) {
  WEFT_ENTER_CONTEXT;
  for (auto &other : state.devices) {
    CUdeviceptr start;
    uint64_t bytes;
    if (!other->memory->find(pointer, start, bytes))
      continue;
    if (base)
      *base = start;
    if (size)
      *size = bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

WEFT_EXPORT CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(pointer && bytes);
  std::unique_ptr<uint8_t[]> block(new (std::nothrow) uint8_t[bytes]);
  if (!block)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = block.get();
  state.pinned[*pointer] = std::move(block);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }
WEFT_EXPORT CUresult cuMemFreeHost(void *pointer) {
  WEFT_ENTER;
  return state.pinned.erase(pointer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
WEFT_EXPORT CUresult cuMemHostRegister_v2(void *, size_t, unsigned) { return CUDA_SUCCESS; }
WEFT_EXPORT CUresult cuMemHostUnregister(void *) { return CUDA_SUCCESS; }

/// `attribute`: 1 context, 2 memory type, 3 device pointer, 9 device ordinal.
WEFT_EXPORT CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr pointer) {
  WEFT_ENTER;
  WEFT_NOT_NULL(data);
  for (auto &other : state.devices) {
    CUdeviceptr base;
    uint64_t size;
    if (!other->memory->find(pointer, base, size))
      continue;
    switch (attribute) {
    case 1: *static_cast<void **>(data) = other.get(); return CUDA_SUCCESS;
    case 2: *static_cast<unsigned *>(data) = CU_MEMORYTYPE_DEVICE; return CUDA_SUCCESS;
    case 3: *static_cast<CUdeviceptr *>(data) = pointer; return CUDA_SUCCESS;
    case 9: *static_cast<int *>(data) = int(other->ordinal); return CUDA_SUCCESS;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static Work copyWork(CUmemorytype to, void *dstHost, CUdeviceptr dst, CUmemorytype from, const void *srcHost, CUdeviceptr src, size_t bytes) {
  Work work;
  work.kind = Work::Copy;
  CUDA_MEMCPY3D &c = work.copy;
  c.srcMemoryType = from;
  c.srcHost = srcHost;
  c.srcDevice = src;
  c.dstMemoryType = to;
  c.dstHost = dstHost;
  c.dstDevice = dst;
  c.WidthInBytes = bytes;
  c.Height = c.Depth = 1;
  return work;
}

static constexpr auto onHost = CU_MEMORYTYPE_HOST, onDevice = CU_MEMORYTYPE_DEVICE, unified = CU_MEMORYTYPE_UNIFIED;

WEFT_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(src || !bytes);
  return enqueue(stream, copyWork(onDevice, nullptr, dst, onHost, src, 0, bytes));
}
WEFT_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(dst || !bytes);
  return enqueue(stream, copyWork(onHost, dst, 0, onDevice, nullptr, src, bytes));
}
WEFT_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  WEFT_ENTER_CONTEXT;
  return enqueue(stream, copyWork(onDevice, nullptr, dst, onDevice, nullptr, src, bytes));
}
WEFT_EXPORT CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  WEFT_ENTER_CONTEXT;
  return enqueue(stream, copyWork(unified, nullptr, dst, unified, nullptr, src, bytes));
}
WEFT_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes) { return cuMemcpyHtoDAsync_v2(dst, src, bytes, nullptr); }
WEFT_EXPORT CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes) { return cuMemcpyDtoHAsync_v2(dst, src, bytes, nullptr); }
WEFT_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes) { return cuMemcpyDtoDAsync_v2(dst, src, bytes, nullptr); }
WEFT_EXPORT CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) { return cuMemcpyAsync(dst, src, bytes, nullptr); }
WEFT_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext, CUdeviceptr src, CUcontext, size_t bytes, CUstream stream) {
  return cuMemcpyDtoDAsync_v2(dst, src, bytes, stream);
}
WEFT_EXPORT CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext, CUdeviceptr src, CUcontext, size_t bytes) { return cuMemcpyDtoD_v2(dst, src, bytes); }
WEFT_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(copy);
  Work work;
  work.kind = Work::Copy;
  work.copy = *copy;
  return enqueue(stream, std::move(work));
}
WEFT_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy) { return cuMemcpy3DAsync_v2(copy, nullptr); }

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

static CUresult setMemory(CUdeviceptr dst, unsigned value, unsigned elementSize, size_t count, CUstream stream) {
  WEFT_ENTER_CONTEXT;
  Work work;
  work.kind = Work::Set;
  work.set = {dst, 0, value, elementSize, count, 1};
  return enqueue(stream, std::move(work));
}
WEFT_EXPORT CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream) { return setMemory(dst, value, 1, count, stream); }
WEFT_EXPORT CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream) { return setMemory(dst, value, 2, count, stream); }
WEFT_EXPORT CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream) { return setMemory(dst, value, 4, count, stream); }
WEFT_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count) { return setMemory(dst, value, 1, count, nullptr); }
WEFT_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count) { return setMemory(dst, value, 2, count, nullptr); }
WEFT_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count) { return setMemory(dst, value, 4, count, nullptr); }
