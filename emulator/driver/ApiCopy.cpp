// Exported functions: copies and sets.
//
// As in CUDA's "API synchronization behavior": an asynchronous copy from pageable memory takes the bytes before it returns, one to
// pageable memory returns when it is done; pinned memory is read and written when the copy runs. The functions without Async
// use the legacy stream and wait, but for device to device and for sets, which only take their place in it.
#include "emulator/driver/Api.h"

using namespace weft::emu;

static CUDA_MEMCPY3D plain(CUmemorytype dstType, void *dstHost, CUdeviceptr dst, CUmemorytype srcType, const void *srcHost, CUdeviceptr src,
                           size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.dstMemoryType = dstType;
  copy.dstHost = dstHost;
  copy.dstDevice = dst;
  copy.srcMemoryType = srcType;
  copy.srcHost = srcHost;
  copy.srcDevice = src;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}
static constexpr CUmemorytype onHost = CU_MEMORYTYPE_HOST, onDevice = CU_MEMORYTYPE_DEVICE, unified = CU_MEMORYTYPE_UNIFIED;

static CUDA_MEMCPY3D toThree(const CUDA_MEMCPY2D &c) {
  CUDA_MEMCPY3D copy = plain(c.dstMemoryType, c.dstHost, c.dstDevice, c.srcMemoryType, c.srcHost, c.srcDevice, c.WidthInBytes);
  copy.srcXInBytes = c.srcXInBytes;
  copy.srcY = c.srcY;
  copy.srcPitch = c.srcPitch;
  copy.dstXInBytes = c.dstXInBytes;
  copy.dstY = c.dstY;
  copy.dstPitch = c.dstPitch;
  copy.Height = c.Height;
  return copy;
}

static CUresult queueCopy(const CUDA_MEMCPY3D &copy, CUstream handle, bool async) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Stream> stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  WEFT_TRY(checkCopy(state, *context, copy));
  bool fromPageable = isPageable(state, copy.srcHost, copy.srcMemoryType, copy.srcDevice);
  bool toPageable = isPageable(state, copy.dstHost, copy.dstMemoryType, copy.dstDevice);
  Work work;
  work.kind = Work::Kind::Copy;
  work.copy = copy;
  if (!async)
    WEFT_TRY(checkUncaptured(state));
  bool wait = !stream->capture && (async ? toPageable : true);
  if (async && fromPageable && !stream->capture && !wait)
    stageSource(work);
  Moment moment;
  WEFT_TRY(enqueue(state, stream, std::move(work), {}, &moment));
  if (!wait)
    return CUDA_SUCCESS;
  runUntil(state, lock, moment);
  return context->sticky;
}

WEFT_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream) {
  return queueCopy(plain(onDevice, nullptr, dst, onHost, src, 0, bytes), stream, true);
}
WEFT_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return queueCopy(plain(onHost, dst, 0, onDevice, nullptr, src, bytes), stream, true);
}
WEFT_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return queueCopy(plain(onDevice, nullptr, dst, onDevice, nullptr, src, bytes), stream, true);
}
WEFT_EXPORT CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return queueCopy(plain(unified, nullptr, dst, unified, nullptr, src, bytes), stream, true);
}
WEFT_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes) {
  return queueCopy(plain(onDevice, nullptr, dst, onHost, src, 0, bytes), nullptr, false);
}
WEFT_EXPORT CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes) {
  return queueCopy(plain(onHost, dst, 0, onDevice, nullptr, src, bytes), nullptr, false);
}
WEFT_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes) { return cuMemcpyDtoDAsync_v2(dst, src, bytes, nullptr); }
WEFT_EXPORT CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return queueCopy(plain(unified, nullptr, dst, unified, nullptr, src, bytes), nullptr, false);
}

/// The contexts only say which device an address belongs to; addresses say it themselves.
static CUresult checkPeers(CUcontext dst, CUcontext src) {
  WEFT_ENTER_CONTEXT;
  return state.contexts.find(dst) && state.contexts.find(src) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
WEFT_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src, CUcontext srcContext, size_t bytes, CUstream stream) {
  WEFT_TRY(checkPeers(dstContext, srcContext));
  return cuMemcpyDtoDAsync_v2(dst, src, bytes, stream);
}
WEFT_EXPORT CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src, CUcontext srcContext, size_t bytes) {
  WEFT_TRY(checkPeers(dstContext, srcContext));
  return cuMemcpyDtoD_v2(dst, src, bytes);
}

WEFT_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy) {
  WEFT_NOT_NULL(copy);
  return queueCopy(toThree(*copy), nullptr, false);
}
WEFT_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy) { return cuMemcpy2D_v2(copy); }
WEFT_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
  WEFT_NOT_NULL(copy);
  return queueCopy(toThree(*copy), stream, true);
}
WEFT_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy) {
  WEFT_NOT_NULL(copy);
  return queueCopy(*copy, nullptr, false);
}
WEFT_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
  WEFT_NOT_NULL(copy);
  return queueCopy(*copy, stream, true);
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

static CUresult queueSet(CUdeviceptr dst, size_t pitch, unsigned value, unsigned elementSize, size_t width, size_t height, CUstream handle) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Stream> stream = findStream(state, context, handle);
  WEFT_NEED(stream, CUDA_ERROR_INVALID_HANDLE);
  Work work;
  work.kind = Work::Kind::Set;
  work.set = {dst, pitch, value, elementSize, width, height};
  WEFT_TRY(checkSet(state, *context, work.set));
  return enqueue(state, stream, std::move(work));
}
WEFT_EXPORT CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream) {
  return queueSet(dst, 0, value, 1, count, 1, stream);
}
WEFT_EXPORT CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream) {
  return queueSet(dst, 0, value, 2, count, 1, stream);
}
WEFT_EXPORT CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream) {
  return queueSet(dst, 0, value, 4, count, 1, stream);
}
WEFT_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count) { return queueSet(dst, 0, value, 1, count, 1, nullptr); }
WEFT_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count) { return queueSet(dst, 0, value, 2, count, 1, nullptr); }
WEFT_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count) { return queueSet(dst, 0, value, 4, count, 1, nullptr); }
WEFT_EXPORT CUresult cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height) {
  return queueSet(dst, pitch, value, 1, width, height, nullptr);
}
WEFT_EXPORT CUresult cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height) {
  return queueSet(dst, pitch, value, 2, width, height, nullptr);
}
WEFT_EXPORT CUresult cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height) {
  return queueSet(dst, pitch, value, 4, width, height, nullptr);
}
WEFT_EXPORT CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream) {
  return queueSet(dst, pitch, value, 1, width, height, stream);
}
WEFT_EXPORT CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream) {
  return queueSet(dst, pitch, value, 2, width, height, stream);
}
WEFT_EXPORT CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream) {
  return queueSet(dst, pitch, value, 4, width, height, stream);
}
