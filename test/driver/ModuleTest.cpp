// Modules, launches and their errors through the driver API.
#include "Cuda.h"
#include <cstring>

using ModuleTest = DriverTest;

// A kernel computes; its module's variable has its initial value.
TEST_F(ModuleTest, Launch) {
  CUdeviceptr x = upload(std::vector<unsigned>(100, 40)), y = alloc(400), counter = 0;
  EXPECT_OK(launch(y, x, 2, 100));
  EXPECT_EQ(read(y, 100), std::vector<unsigned>(100, 42));
  size_t size = 0;
  ASSERT_OK(cu().cuModuleGetGlobal(&counter, &size, module, "counter"));
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(read(counter, 1)[0], 7u);
}

// Names and handles that are not there.
TEST_F(ModuleTest, NotFound) {
  CUfunction f;
  CUdeviceptr p;
  EXPECT_EQ(cu().cuModuleGetFunction(&f, module, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cu().cuModuleGetGlobal(&p, nullptr, module, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_OK(cu().cuModuleUnload(module));
  if (!isEmulator())
    GTEST_SKIP() << "stale handles are undefined on hardware";
  EXPECT_EQ(cu().cuModuleGetFunction(&f, module, "add"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(0, 0, 0, 1), CUDA_ERROR_INVALID_HANDLE);
}

// Broken PTX is refused, with the line in the log.
TEST_F(ModuleTest, JitLog) {
  char log[256] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(uintptr_t(sizeof log))};
  CUmodule m;
  const char *text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n  frobnicate.u32 %r1, 3;\n}\n";
  EXPECT_EQ(cu().cuModuleLoadDataEx(&m, text, 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::strstr(log, "line 5"), nullptr) << log;
  EXPECT_GT(uintptr_t(values[1]), 0u);
}

static std::string empty(const std::string &version, const std::string &target) {
  return "// .target sm_10\n.version " + version + "\n.target " + target + "\n.address_size 64\n.visible .entry k() { ret; }\n";
}

// Which texts a device takes: older targets, never newer ones, `a` targets only on their own device.
TEST_F(ModuleTest, Targets) {
  int major = 0;
  ASSERT_OK(cu().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  CUmodule m;
  EXPECT_OK(cu().cuModuleLoadData(&m, empty("7.0", "sm_70").c_str()));
  if (major != 8)
    GTEST_SKIP() << "expectations are for compute capability 8.x";
  EXPECT_EQ(cu().cuModuleLoadData(&m, empty("8.0", "sm_90").c_str()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cu().cuModuleLoadData(&m, empty("8.0", "sm_90a").c_str()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cu().cuModuleLoadData(&m, empty("42.0", "sm_80").c_str()), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(cu().cuModuleLoadData(&m, "this is no image"), CUDA_ERROR_INVALID_IMAGE);
}

// The emulator runs no machine code: the loader is told to try PTX.
TEST_F(ModuleTest, Cubin) {
  if (!isEmulator())
    GTEST_SKIP() << "hardware runs cubins";
  CUmodule m;
  EXPECT_EQ(cu().cuModuleLoadData(&m, "\x7f" "ELF\x02\x01\x01"), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

// Blocks, grids and parameters outside of the limits are refused when launching.
TEST_F(ModuleTest, LaunchLimits) {
  CUdeviceptr y = alloc(4);
  unsigned a = 0, n = 0;
  void *params[] = {&y, &y, &a, &n};
  auto shape = [&](unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned bz, unsigned shared = 0) {
    return cu().cuLaunchKernel(add, gx, gy, 1, bx, by, bz, shared, nullptr, params, nullptr);
  };
  EXPECT_OK(shape(1, 65535, 32, 1, 1));
  EXPECT_OK(shape(1, 1, 16, 1, 64));
  EXPECT_EQ(shape(0, 1, 32, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 65536, 32, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 1, 1025, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 1, 32, 33, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shape(1, 1, 1, 1, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cu().cuCtxSynchronize());
}

// More than 48 KiB of shared memory needs the attribute, and there is a limit to that too.
TEST_F(ModuleTest, SharedMemoryOptIn) {
  CUfunction f;
  ASSERT_OK(cu().cuModuleGetFunction(&f, module, "shared_user"));
  CUdeviceptr y = alloc(4);
  void *params[] = {&y};
  int most = 0, now = 0;
  ASSERT_OK(cu().cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
  auto run = [&](unsigned shared) { return cu().cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, shared, nullptr, params, nullptr); };
  EXPECT_OK(run(48 << 10));
  EXPECT_EQ(run((48 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cu().cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most));
  EXPECT_OK(cu().cuFuncGetAttribute(&now, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
  EXPECT_EQ(now, most);
  EXPECT_OK(run(most));
  EXPECT_EQ(run(most + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(read(y, 1)[0], 5u);
}

// Parameters may come as one buffer, and a launch by structure.
TEST_F(ModuleTest, OtherWaysToLaunch) {
  struct { CUdeviceptr y, x; unsigned a, n; } packed{alloc(16), upload({1, 2, 3, 4}), 10, 4};
  size_t size = sizeof packed;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 32;
  EXPECT_OK(cu().cuLaunchKernelEx(&config, add, nullptr, extra));
  EXPECT_EQ(read(packed.y, 4), (std::vector<unsigned>{11, 12, 13, 14}));
}

// A kernel of a library launches in the current context.
TEST_F(ModuleTest, Library) {
  CUlibrary library;
  CUkernel kernel;
  ASSERT_OK(cu().cuLibraryLoadData(&library, addPtx(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(cu().cuLibraryGetKernel(&kernel, library, "add"));
  add = reinterpret_cast<CUfunction>(kernel);
  CUdeviceptr x = upload({5}), y = alloc(4);
  EXPECT_OK(launch(y, x, 1, 1));
  EXPECT_EQ(read(y, 1)[0], 6u);
  EXPECT_OK(cu().cuLibraryUnload(library));
}

// Occupancy follows from threads and shared memory.
TEST_F(ModuleTest, Occupancy) {
  int blocks = 0, perSm = 0;
  ASSERT_OK(cu().cuDeviceGetAttribute(&perSm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
  EXPECT_OK(cu().cuOccupancy(&blocks, add, 256, 0));
  EXPECT_EQ(blocks, perSm / 256);
  EXPECT_OK(cu().cuOccupancy(&blocks, add, 256, 40 << 10));
  EXPECT_LT(blocks, perSm / 256);
}

// An illegal address shows at the next synchronisation, stays, and goes with the context.
TEST_F(ModuleTest, IllegalAddressIsSticky) {
  CUdeviceptr x = alloc(4);
  EXPECT_OK(launch(0x10, x, 1, 1));
  EXPECT_EQ(cu().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr p = 0;
  EXPECT_EQ(cu().cuMemAlloc(&p, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu().cuMemFree(x), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_OK(cu().cuDevicePrimaryCtxReset(0));
  ASSERT_OK(cu().cuDevicePrimaryCtxRetain(&context, 0));
  ASSERT_OK(cu().cuCtxSetCurrent(context));
  EXPECT_OK(cu().cuMemAlloc(&p, 4));
}

// Kernels do not reach freed memory.
TEST_F(ModuleTest, UseAfterFree) {
  if (!isEmulator())
    GTEST_SKIP() << "hardware keeps freed pages mapped";
  CUdeviceptr x = upload({1}), y = alloc(4);
  EXPECT_OK(cu().cuMemFree(x));
  EXPECT_OK(launch(y, x, 1, 1));
  EXPECT_EQ(cu().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Functions are found by name and version.
TEST_F(ModuleTest, ProcAddress) {
  void *f = nullptr;
  CUdriverProcAddressQueryResult status;
  EXPECT_OK(cu().cuGetProcAddress("cuMemAlloc", &f, 12000, 0, &status));
  EXPECT_EQ(f, symbol("cuMemAlloc_v2"));
  EXPECT_OK(cu().cuGetProcAddress("cuGraphInstantiate", &f, 12000, 0, &status));
  EXPECT_EQ(f, symbol("cuGraphInstantiateWithFlags"));
  EXPECT_EQ(cu().cuGetProcAddress("cuNoSuchThing", &f, 12000, 0, &status), isEmulator() ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

// Errors have names; unknown ones do not.
TEST_F(ModuleTest, ErrorNames) {
  const char *name = nullptr;
  EXPECT_OK(cu().cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name));
  EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_OK(cu().cuGetErrorString(CUDA_SUCCESS, &name));
  EXPECT_STREQ(name, "no error");
  EXPECT_EQ(cu().cuGetErrorName(CUresult(12345), &name), CUDA_ERROR_INVALID_VALUE);
}
