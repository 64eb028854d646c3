// What only the emulator has: several devices of different kinds, memory limits, counters, findings. Its own executable, because
// settings hold for the process.
#include "Cuda.h"
#include "emulator/Emulator.h"
#include <thread>

template <class F> static F emulator(const char *name) { return reinterpret_cast<F>(symbol(name)); }
static std::string text(const char *name) {
  auto ask = emulator<int (*)(char *, size_t *)>(name);
  size_t size = 0;
  EXPECT_EQ(ask(nullptr, &size), 1);
  std::string result(size, 0);
  EXPECT_EQ(ask(result.data(), &size), 0);
  result.resize(size - 1);
  return result;
}
static int configure(const char *key, const char *value) { return emulator<int (*)(const char *, const char *)>("weftEmuConfigure")(key, value); }

class EmulatorTest : public DriverTest {
protected:
  static void SetUpTestSuite() {
    if (!isEmulator())
      return;
    EXPECT_EQ(configure("devices", "2"), 0);
    EXPECT_EQ(configure("sm", "sm_80,sm_90a"), 0);
    EXPECT_EQ(configure("memory", "1048576"), 0);
    EXPECT_EQ(configure("check", "1"), 0);
    EXPECT_EQ(configure("counters", "1"), 0);
    EXPECT_EQ(configure("devices", "0"), 1);
    EXPECT_EQ(configure("sm", "sm_1"), 1);
    EXPECT_EQ(configure("colour", "red"), 1);
  }
  void SetUp() override {
    if (!isEmulator())
      GTEST_SKIP() << "a property of the emulator";
    DriverTest::SetUp();
    emulator<void (*)()>("weftEmuResetCounters")();
    emulator<void (*)()>("weftEmuResetFindings")();
  }
};

// Devices differ as configured, and settings are closed after cuInit.
TEST_F(EmulatorTest, Devices) {
  int count = 0, major = 0;
  EXPECT_OK(cu().cuDeviceGetCount(&count));
  ASSERT_EQ(count, 2);
  EXPECT_OK(cu().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  EXPECT_EQ(major, 8);
  EXPECT_OK(cu().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1));
  EXPECT_EQ(major, 9);
  CUdevice device;
  EXPECT_EQ(cu().cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(configure("devices", "3"), 1);
}

// The memory limit holds and covers all allocations.
TEST_F(EmulatorTest, MemoryLimit) {
  CUdeviceptr p = 0;
  EXPECT_EQ(cu().cuMemAlloc(&p, (1 << 20) + 1), CUDA_ERROR_OUT_OF_MEMORY);
  p = alloc(1 << 19);
  EXPECT_EQ(cu().cuMemAlloc(&p, 1 << 19), CUDA_ERROR_OUT_OF_MEMORY) << "the module's variable takes a little";
}

// Peer memory is reached after it was enabled; copies between devices always work.
TEST_F(EmulatorTest, Peers) {
  CUcontext other;
  CUdeviceptr x = upload({5}), y = 0;
  ASSERT_OK(cu().cuDevicePrimaryCtxRetain(&other, 1));
  ASSERT_OK(cu().cuCtxPushCurrent(other));
  y = upload({0});
  EXPECT_OK(cu().cuMemcpyPeer(y, other, x, context, 4));
  EXPECT_EQ(read(y, 1)[0], 5u);
  ASSERT_OK(cu().cuCtxPopCurrent(nullptr));
  EXPECT_OK(cu().cuCtxEnablePeerAccess(other, 0));
  EXPECT_EQ(cu().cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_OK(launch(y, x, 1, 1));
  EXPECT_EQ(read(y, 1)[0], 6u);
  EXPECT_OK(cu().cuDevicePrimaryCtxRelease(0));
  ASSERT_OK(cu().cuDevicePrimaryCtxRetain(&context, 0));
  ASSERT_OK(cu().cuCtxSetCurrent(context));
  ASSERT_OK(cu().cuModuleLoadData(&module, addPtx()));
  ASSERT_OK(cu().cuModuleGetFunction(&add, module, "add"));
  x = upload({5});
  EXPECT_OK(launch(y, x, 1, 1));
  EXPECT_EQ(cu().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_OK(cu().cuDevicePrimaryCtxRelease(1));
}

// Two threads run kernels of two devices at the same time.
TEST_F(EmulatorTest, DevicesInParallel) {
  std::vector<std::thread> threads;
  bool good[2] = {};
  for (int d = 0; d < 2; ++d)
    threads.emplace_back([&, d] {
      CUcontext c;
      CUmodule m;
      CUfunction f;
      CUdeviceptr p;
      unsigned amount = 1, n = 1024, out = 0;
      void *params[] = {&p, &p, &amount, &n};
      bool fine = !cu().cuDevicePrimaryCtxRetain(&c, d) && !cu().cuCtxSetCurrent(c) && !cu().cuModuleLoadData(&m, addPtx()) &&
                  !cu().cuModuleGetFunction(&f, m, "add") && !cu().cuMemAlloc(&p, 4096) && !cu().cuMemsetD32Async(p, 0, 1024, nullptr);
      for (int i = 0; i < 20; ++i)
        fine = fine && !cu().cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, nullptr, params, nullptr);
      good[d] = fine && !cu().cuMemcpyDtoH(&out, p, 4) && out == 20 && !cu().cuDevicePrimaryCtxRelease(d);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(good[0] && good[1]);
}

// Launches are counted one by one, those of graphs too; copies are not.
TEST_F(EmulatorTest, Counters) {
  CUdeviceptr x = upload(std::vector<unsigned>(64, 1));
  EXPECT_OK(launch(x, x, 1, 64));
  EXPECT_OK(launch(x, x, 1, 64));
  EXPECT_OK(cu().cuCtxSynchronize());
  std::string json = text("weftEmuCountersJson");
  EXPECT_NE(json.find("\"launches\": 2"), json.npos) << json;
  EXPECT_NE(json.find("\"kernel\": \"add\", \"device\": 0, \"grid\": [1, 1, 1], \"block\": [64, 1, 1]"), json.npos) << json;
  EXPECT_NE(json.find("\"global_bytes\": 512"), json.npos) << json;
}

// Reading what nobody wrote is found, in kernels and in copies to the host; the run goes on.
TEST_F(EmulatorTest, Findings) {
  CUdeviceptr x = alloc(64), y = alloc(64), z = alloc(64);
  EXPECT_OK(launch(y, x, 1, 4));
  EXPECT_OK(cu().cuCtxSynchronize());
  std::string found = text("weftEmuFindings");
  EXPECT_NE(found.find("add"), found.npos) << found;
  read(z, 16);
  found = text("weftEmuFindings");
  EXPECT_NE(found.find("copy to the host: 64 of 64 bytes were never written"), found.npos) << found;
}

// The last failure says where it was.
TEST_F(EmulatorTest, LastError) {
  EXPECT_OK(launch(0x10, alloc(4), 1, 1));
  EXPECT_EQ(cu().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(text("weftEmuLastError").find("add"), std::string::npos);
}
