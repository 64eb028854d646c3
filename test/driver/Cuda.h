// The driver under test, loaded by name: WEFT_CUDA_LIBRARY, else the emulator that this build made. Runs unchanged on a GPU with
// WEFT_CUDA_LIBRARY=libcuda.so.1.
#ifndef WEFT_TEST_DRIVER_CUDA_H
#define WEFT_TEST_DRIVER_CUDA_H

#include "runtime/driver/CudaApi.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

/// The library; null where there is none.
inline void *cudaLibrary() {
  static void *handle = [] {
    const char *path = std::getenv("WEFT_CUDA_LIBRARY");
    return dlopen(path ? path : WEFT_BINARY_DIR "/lib/emulator/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  }();
  return handle;
}
inline void *symbol(const char *name) {
  void *found = cudaLibrary() ? dlsym(cudaLibrary(), name) : nullptr;
  if (!found)
    ADD_FAILURE() << "the driver does not export " << name;
  return found;
}
inline bool isEmulator() { return cudaLibrary() && dlsym(cudaLibrary(), "weftEmuConfigure"); }

#define WEFT_PTR(name, ...) reinterpret_cast<CUresult (*)(__VA_ARGS__)>(symbol(name))

// The functions of the tests, as members of one table: cu().cuMemAlloc(&p, n).
struct Cuda {
#define WEFT_CUDA_SYMBOL(name, exported, ...) CUresult (*name)(__VA_ARGS__) = WEFT_PTR(exported, __VA_ARGS__);
#include "runtime/driver/CudaSymbols.def"
#define X(name, exported, ...) CUresult (*name)(__VA_ARGS__) = WEFT_PTR(exported, __VA_ARGS__);
  X(cuGetProcAddress, "cuGetProcAddress_v2", const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *)
  X(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", int *, CUdevice, CUdevice)
  X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset_v2", CUdevice)
  X(cuCtxCreate, "cuCtxCreate_v2", CUcontext *, unsigned, CUdevice)
  X(cuCtxDestroy, "cuCtxDestroy_v2", CUcontext)
  X(cuCtxGetDevice, "cuCtxGetDevice", CUdevice *)
  X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", CUcontext, unsigned)
  X(cuModuleLoadData, "cuModuleLoadData", CUmodule *, const void *)
  X(cuLibraryLoadData, "cuLibraryLoadData", CUlibrary *, const void *, CUjit_option *, void **, unsigned, CUlibraryOption *, void **, unsigned)
  X(cuLibraryGetKernel, "cuLibraryGetKernel", CUkernel *, CUlibrary, const char *)
  X(cuLibraryUnload, "cuLibraryUnload", CUlibrary)
  X(cuOccupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", int *, CUfunction, int, size_t)
  X(cuLaunchKernelEx, "cuLaunchKernelEx", const CUlaunchConfig *, CUfunction, void **, void **)
  X(cuLaunchHostFunc, "cuLaunchHostFunc", CUstream, CUhostFn, void *)
  X(cuMemAllocAsync, "cuMemAllocAsync", CUdeviceptr *, size_t, CUstream)
  X(cuMemFreeAsync, "cuMemFreeAsync", CUdeviceptr, CUstream)
  X(cuMemHostRegister, "cuMemHostRegister_v2", void *, size_t, unsigned)
  X(cuMemHostUnregister, "cuMemHostUnregister", void *)
  X(cuMemcpyDtoD, "cuMemcpyDtoD_v2", CUdeviceptr, CUdeviceptr, size_t)
  X(cuMemcpyPeer, "cuMemcpyPeer", CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t)
  X(cuMemcpy2D, "cuMemcpy2D_v2", const CUDA_MEMCPY2D *)
  X(cuMemcpy3D, "cuMemcpy3D_v2", const CUDA_MEMCPY3D *)
  X(cuMemsetD32Async, "cuMemsetD32Async", CUdeviceptr, unsigned, size_t, CUstream)
  X(cuMemsetD16, "cuMemsetD16_v2", CUdeviceptr, unsigned short, size_t)
  X(cuMemGetAddressRange, "cuMemGetAddressRange_v2", CUdeviceptr *, size_t *, CUdeviceptr)
  X(cuPointerGetAttribute, "cuPointerGetAttribute", void *, CUpointer_attribute, CUdeviceptr)
  X(cuStreamQuery, "cuStreamQuery", CUstream)
  X(cuStreamIsCapturing, "cuStreamIsCapturing", CUstream, CUstreamCaptureStatus *)
  X(cuEventQuery, "cuEventQuery", CUevent)
  X(cuGraphAddEmptyNode, "cuGraphAddEmptyNode", CUgraphNode *, CUgraph, const CUgraphNode *, size_t)
  X(cuGraphAddHostNode, "cuGraphAddHostNode", CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_HOST_NODE_PARAMS *)
  X(cuGraphAddChildGraphNode, "cuGraphAddChildGraphNode", CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph)
  X(cuGraphAddEventRecordNode, "cuGraphAddEventRecordNode", CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent)
  X(cuGraphGetNodes, "cuGraphGetNodes", CUgraph, CUgraphNode *, size_t *)
  X(cuGraphNodeGetType, "cuGraphNodeGetType", CUgraphNode, CUgraphNodeType *)
  X(cuGraphKernelNodeGetParams, "cuGraphKernelNodeGetParams_v2", CUgraphNode, CUDA_KERNEL_NODE_PARAMS *)
  X(cuGraphClone, "cuGraphClone", CUgraph *, CUgraph)
  X(cuGraphExecUpdate, "cuGraphExecUpdate_v2", CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *)
#undef X
};
inline Cuda &cu() {
  static Cuda table;
  return table;
}

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

/// y[i] = x[i] + a for i < n; fails with an illegal address where x or y is too short.
inline const char *addPtx() {
  return R"(
.version 7.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 7;
.visible .entry add(.param .u64 y, .param .u64 x, .param .u32 a, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %d<6>;
  ld.param.u64 %d0, [y];
  ld.param.u64 %d1, [x];
  ld.param.u32 %r0, [a];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r2, %r2, %r3, %r4;
  setp.ge.u32 %p, %r2, %r1;
  @%p bra done;
  cvta.to.global.u64 %d0, %d0;
  cvta.to.global.u64 %d1, %d1;
  mul.wide.u32 %d2, %r2, 4;
  add.s64 %d0, %d0, %d2;
  add.s64 %d1, %d1, %d2;
  ld.global.u32 %r5, [%d1];
  add.s32 %r5, %r5, %r0;
  st.global.u32 [%d0], %r5;
done:
  ret;
}
.extern .shared .align 16 .b8 scratch[];
.visible .entry shared_user(.param .u64 y)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [y];
  mov.u32 %r0, 5;
  st.shared.u32 [scratch], %r0;
  ld.shared.u32 %r1, [scratch];
  st.global.u32 [%d0], %r1;
  ret;
}
)";
}

/// A test with a primary context of device 0 and the module above.
class DriverTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(cudaLibrary()) << dlerror();
    if (cu().cuInit(0) != CUDA_SUCCESS)
      GTEST_SKIP() << "no CUDA device";
    ASSERT_OK(cu().cuDevicePrimaryCtxRetain(&context, 0));
    ASSERT_OK(cu().cuCtxSetCurrent(context));
    ASSERT_OK(cu().cuModuleLoadData(&module, addPtx()));
    ASSERT_OK(cu().cuModuleGetFunction(&add, module, "add"));
  }
  void TearDown() override {
    if (context)
      cu().cuDevicePrimaryCtxRelease(0);
  }
  CUdeviceptr alloc(size_t bytes) {
    CUdeviceptr p = 0;
    EXPECT_OK(cu().cuMemAlloc(&p, bytes));
    return p;
  }
  CUresult launch(CUdeviceptr y, CUdeviceptr x, unsigned a, unsigned n, CUstream stream = nullptr) {
    void *params[] = {&y, &x, &a, &n};
    return cu().cuLaunchKernel(add, (n + 63) / 64, 1, 1, 64, 1, 1, 0, stream, params, nullptr);
  }
  std::vector<unsigned> read(CUdeviceptr p, size_t n) {
    std::vector<unsigned> v(n);
    EXPECT_OK(cu().cuMemcpyDtoH(v.data(), p, n * 4));
    return v;
  }
  CUdeviceptr upload(const std::vector<unsigned> &v) {
    CUdeviceptr p = alloc(v.size() * 4);
    EXPECT_OK(cu().cuMemcpyHtoD(p, v.data(), v.size() * 4));
    return p;
  }
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
};

#endif
