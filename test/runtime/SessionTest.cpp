// Runs of straight plans: values, shapes, messages, graphs, device memory, threads.
#include "test/runtime/Fixture.h"
#include <thread>

using namespace weft;
using namespace weft::test;

using SessionTest = SessionFixture;

TEST_F(SessionTest, addsAnyLength) {
  PlanBuilder b;
  buildAdd(b);
  load(b);
  for (size_t n : {1, 3, 31, 128, 129, 1000, 3}) {
    std::vector<float> x(n), y(n), z(n);
    for (size_t i = 0; i < n; ++i)
      x[i] = float(i), y[i] = 0.5f * float(i), z[i] = x[i] + y[i];
    EXPECT_EQ(run({{"x", vectorOf(x)}, {"y", vectorOf(y)}}), z) << n << " " << error;
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].second.shape, std::vector<int64_t>{int64_t(n)});
  }
}

TEST_F(SessionTest, runsOverNoElements) {
  PlanBuilder b;
  buildAdd(b);
  load(b);
  EXPECT_TRUE(run({{"x", vectorOf({})}, {"y", vectorOf({})}}).empty());
  EXPECT_EQ(error, "");
  EXPECT_EQ(outputs[0].second.shape, std::vector<int64_t>{0});
}

TEST_F(SessionTest, saysWhatIsWrongWithAnInput) {
  PlanBuilder b;
  buildAdd(b);
  load(b);
  run({{"x", vectorOf({1, 2})}, {"y", vectorOf({1, 2, 3})}});
  EXPECT_EQ(error, "input y: dimension 0 ('n') should be 2, found 3 (shape [3])");
  run({{"x", vectorOf({1})}});
  EXPECT_EQ(error, "input 'y' is missing");
  run({{"x", vectorOf({1})}, {"y", vectorOf({1})}, {"w", vectorOf({1})}});
  EXPECT_EQ(error, "the model has no input named 'w'; its inputs are: x, y");
  run({{"x", floats({1}, {1, 1})}, {"y", vectorOf({1})}});
  EXPECT_EQ(error, "input x: expected rank 1, found shape [1, 1]");
  Array wrong = vectorOf({1});
  wrong.type = fp::ElementType::int32;
  run({{"x", wrong}, {"y", vectorOf({1})}});
  EXPECT_EQ(error, "input 'x': expected tensor(float), found tensor(int32)");
  run({{"x", floats({1, 2}, {int64_t(1) << 62})}, {"y", vectorOf({1})}});
  EXPECT_EQ(error, "shape [4611686018427387904] has more elements than fit any memory");
  run({{"x", floats({1, 2}, {3})}, {"y", vectorOf({1})}});
  EXPECT_EQ(error, "input 'x': shape [3] needs 12 bytes, found 8");
}

TEST_F(SessionTest, usesConstantsAndTheArena) {
  PlanBuilder b;
  buildChain(b);
  load(b);
  EXPECT_EQ(run({{"x", vectorOf({1, 2, 3, 4})}}), (std::vector<float>{16, 32, 48, 64})) << error;
  EXPECT_EQ(stats.arenaBytes, 512u);
}

TEST_F(SessionTest, isCleanUnderCheck) {
  PlanBuilder b;
  buildChain(b);
  load(b, /*check=*/true);
  EXPECT_EQ(run({{"x", vectorOf({1, 2, 3, 4})}}), (std::vector<float>{16, 32, 48, 64})) << error;
  std::string findings;
  ASSERT_TRUE(device->findings(findings).ok());
  EXPECT_EQ(findings, "");
}

TEST_F(SessionTest, profilesEveryCommand) {
  PlanBuilder b;
  buildChain(b);
  load(b);
  session->setProfiling(true);
  run({{"x", vectorOf({1, 2, 3, 4})}});
  ASSERT_EQ(stats.events.size(), 3u) << error;
  EXPECT_EQ(stats.events[1].name, "kernel scale (node node_of_scale)");
  EXPECT_GE(stats.events[2].begin, stats.events[1].begin + stats.events[1].duration);
}

TEST_F(SessionTest, runsOnTheCallersMemory) {
  PlanBuilder b;
  buildAdd(b);
  load(b);
  ASSERT_TRUE(device->enter().ok());
  Driver &driver = device->driver();
  CUdeviceptr x, y, z[2];
  std::vector<float> values{1, 2, 3, 4}, back(4);
  for (CUdeviceptr *p : {&x, &y, &z[0], &z[1]})
    ASSERT_EQ(driver.cuMemAlloc(p, 16), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemcpyHtoD(x, values.data(), 16), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemcpyHtoD(y, values.data(), 16), CUDA_SUCCESS);
  CUstream stream;
  ASSERT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  std::vector<DeviceArray> inputs{{x, {4}}, {y, {4}}};
  // Changed pointers go into the graph's nodes; the second round replays.
  for (int round = 0; round < 4; ++round) {
    std::vector<DeviceMemory> outputs{{z[round % 2], 16}};
    ASSERT_EQ(session->enqueue(inputs, outputs, {stream, {}}).message, "");
    ASSERT_EQ(session->synchronize().message, "");
    ASSERT_EQ(driver.cuMemcpyDtoH(back.data(), z[round % 2], 16), CUDA_SUCCESS);
    EXPECT_EQ(back, (std::vector<float>{2, 4, 6, 8}));
    std::vector<float> poison(4, -1);
    ASSERT_EQ(driver.cuMemcpyHtoD(z[round % 2], poison.data(), 16), CUDA_SUCCESS);
  }
  // An output may lie where an input lies: this kernel reads each element before it writes it.
  std::vector<DeviceMemory> alias{{x, 16}};
  ASSERT_EQ(session->enqueue(inputs, alias).message, "");
  ASSERT_EQ(session->synchronize().message, "");
  ASSERT_EQ(driver.cuMemcpyDtoH(back.data(), x, 16), CUDA_SUCCESS);
  EXPECT_EQ(back, (std::vector<float>{2, 4, 6, 8}));
  std::vector<DeviceMemory> tooSmall{{z[0], 12}};
  EXPECT_EQ(session->enqueue(inputs, tooSmall).message, "output 'z' has 16 bytes, more than the memory given for it (12)");
  for (CUdeviceptr p : {x, y, z[0], z[1]})
    driver.cuMemFree(p);
  driver.cuStreamDestroy(stream);
}

TEST_F(SessionTest, choosesTheVariantByGuardAndAlignment) {
  // Variant 0 (adds): n a multiple of 4 and x aligned. Variant 1 (scales by 5): else.
  PlanBuilder b;
  uint32_t n = b.dim("n", 0, 0), bytes = b.node(fp::ExprOp::mul, n, b.number(4)), zero = b.number(0);
  uint32_t guard = b.node(fp::ExprOp::eq, b.node(fp::ExprOp::mod, n, b.number(4)), zero), one = b.number(1);
  uint32_t x = b.input("x", {n}, bytes), z = b.output("z", {n}, bytes);
  uint32_t kernel = b.kernel("both", {{"scale", one, int32_t(guard), {0}}, {"scale", zero}});
  uint32_t main = b.block();
  b.fill(main, z, 0);
  b.launch(main, kernel, {b.in(x), b.out(z), b.scalar(n), b.scalar(b.real(2), fp::ScalarType::f32)});
  b.module(kernelsPtx);
  load(b);
  EXPECT_EQ(run({{"x", vectorOf({1, 2, 3, 4})}}), (std::vector<float>{2, 4, 6, 8})) << error;
  EXPECT_EQ(run({{"x", vectorOf({1, 2, 3})}}), (std::vector<float>{0, 0, 0})) << error; // an empty grid: skipped
  ASSERT_TRUE(device->enter().ok());
  CUdeviceptr memory;
  std::vector<float> values{0, 1, 2, 3, 4};
  ASSERT_EQ(device->driver().cuMemAlloc(&memory, 20), CUDA_SUCCESS);
  device->driver().cuMemcpyHtoD(memory, values.data(), 20);
  std::vector<DeviceArray> unaligned{{memory + 4, {4}}};
  ASSERT_EQ(session->enqueue(unaligned, {}).message, "");
  ASSERT_EQ(session->synchronize().message, "");
  DeviceMemory out;
  std::vector<int64_t> shape;
  ASSERT_EQ(session->output(0, out, shape).message, "");
  std::vector<float> back(4);
  ASSERT_EQ(device->driver().cuMemcpyDtoH(back.data(), out.address, 16), CUDA_SUCCESS);
  EXPECT_EQ(back, (std::vector<float>{0, 0, 0, 0}));
  device->driver().cuMemFree(memory);
}

TEST_F(SessionTest, returnsInputsAndConstants) {
  PlanBuilder b;
  uint32_t n = b.number(2), bytes = b.number(8);
  uint32_t x = b.input("x", {n}, bytes);
  float values[] = {5, 6};
  std::vector<uint8_t> data(8);
  __builtin_memcpy(data.data(), values, 8);
  uint32_t c = b.constant(data, {n}, bytes);
  b.outputOf("same", {n}, x);
  b.outputOf("fixed", {n}, c);
  b.block();
  load(b);
  EXPECT_EQ(run({{"x", vectorOf({1, 2})}}), (std::vector<float>{1, 2})) << error;
  EXPECT_EQ(valuesOf(outputs[1].second), (std::vector<float>{5, 6}));
}

TEST_F(SessionTest, refusesToRunOutOfMemory) {
  PlanBuilder b;
  uint32_t n = b.dim("n", 0, 0), huge = b.node(fp::ExprOp::mul, n, b.number(int64_t(1) << 45)), bytes = b.node(fp::ExprOp::mul, n, b.number(4));
  uint32_t x = b.input("x", {n}, bytes), t = b.arena({n}, huge, 0, 0);
  b.outputOf("z", {n}, x);
  b.fill(b.block(), t, 1);
  load(b);
  Status status = session->run({{"x", vectorOf({1})}}, outputs);
  EXPECT_EQ(status.code, Code::machine);
  EXPECT_NE(status.message.find("no room on the device for 35184372088832 bytes"), std::string::npos) << status.message;
  EXPECT_NE(status.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << status.message;
  status = session->run({{"x", floats(std::vector<float>(300000), {300000})}}, outputs);
  EXPECT_NE(status.message.find("overflows"), std::string::npos) << status.message;
}

TEST_F(SessionTest, survivesHostileOutputs) {
  // An output whose dimensions promise more than its tensor holds.
  PlanBuilder b;
  uint32_t n = b.number(2), bytes = b.number(8), many = b.number(int64_t(1) << 40);
  uint32_t x = b.input("x", {n}, bytes);
  b.outputOf("z", {many}, x);
  b.block();
  load(b);
  run({{"x", vectorOf({1, 2})}});
  EXPECT_EQ(error, "output 'z' of shape [1099511627776] has more bytes than its tensor (8)");
}

TEST_F(SessionTest, sharesAModelBetweenThreads) {
  PlanBuilder b;
  buildChain(b);
  load(b);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      Session own(*model);
      for (int i = 0; i < 20; ++i) {
        std::vector<std::pair<std::string, Array>> results;
        float v = float(t * 100 + i);
        Status status = own.run({{"x", vectorOf({v, v, v, v})}}, results);
        wrong += !status.ok() || valuesOf(results[0].second) != std::vector<float>{6 * v + 10, 6 * v + 20, 6 * v + 30, 6 * v + 40};
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(DeviceTest, saysThatThereIsNoDriver) {
  ::setenv("WEFT_CUDA_LIBRARY", "/nonexistent/libcuda.so.1", 1);
  DeviceOptions options;
  options.spec.kind = DeviceSpec::cuda;
  std::unique_ptr<Device> device;
  Status status = Device::open(options, device);
  ::unsetenv("WEFT_CUDA_LIBRARY");
  EXPECT_EQ(status.code, Code::machine);
  EXPECT_EQ(status.message.find("cannot load the CUDA driver: /nonexistent/libcuda.so.1"), 0u) << status.message;
}

TEST(DeviceTest, parsesSpecs) {
  DeviceSpec spec;
  EXPECT_TRUE(parseDeviceSpec("emulator:4@sm_90a", spec).ok());
  EXPECT_EQ(spec.count, 4);
  EXPECT_EQ(spec.sm, "sm_90a");
  EXPECT_TRUE(parseDeviceSpec("cuda:1,3", spec).ok());
  EXPECT_EQ(spec.ordinals, (std::vector<int>{1, 3}));
  for (const char *bad : {"", "gpu", "emulator:", "emulator:0", "emulator:65", "emulator@80", "emulatorx", "cuda:", "cuda:x", "cuda:1,", "cuda:-1"})
    EXPECT_FALSE(parseDeviceSpec(bad, spec).ok()) << bad;
}

TEST_F(SessionTest, refusesCopiesOfUnequalSize) {
  PlanBuilder b;
  uint32_t n = b.number(2), bytes = b.number(8), less = b.number(4);
  uint32_t x = b.input("x", {n}, bytes), t = b.arena({n}, less, 0, 0);
  b.outputOf("z", {n}, x);
  b.copy(b.block(), x, t);
  load(b);
  run({{"x", vectorOf({1, 2})}});
  EXPECT_EQ(error, "the plan copies 8 bytes into a tensor of 4");
}

TEST_F(SessionTest, refusesViewsOutsideTheirTensor) {
  PlanBuilder b;
  uint32_t n = b.number(2), bytes = b.number(8), four = b.number(4);
  uint32_t x = b.input("x", {n}, bytes), view = b.tensor(fp::Storage::view, {n}, bytes, x, fp::ElementType::float32, 0, 0, 0, four);
  b.outputOf("z", {n}, view);
  b.block();
  load(b);
  run({{"x", vectorOf({1, 2})}});
  EXPECT_EQ(error, "a view of 8 bytes at 4 lies outside its tensor of 8 bytes");
}

TEST_F(SessionTest, namesTheNodeOfAKernelThatFails) {
  // The plan says 8 elements where the input has one: the kernel reads past it, far enough to leave its memory.
  PlanBuilder b;
  uint32_t n = b.number(1), bytes = b.number(4), far = b.number(1 << 30), farBytes = b.number(4), grid = b.number(1 << 20);
  uint32_t x = b.input("x", {n}, bytes), z = b.output("z", {n}, farBytes);
  uint32_t scale = b.kernel("scale", {{"scale", grid}});
  b.launch(b.block(), scale, {b.in(x), b.out(z), b.scalar(far), b.scalar(b.real(2), fp::ScalarType::f32)});
  b.module(kernelsPtx);
  load(b);
  Status status = session->run({{"x", vectorOf({1})}}, outputs);
  EXPECT_EQ(status.code, Code::machine);
  EXPECT_NE(status.message.find("scale"), std::string::npos) << status.message;
  EXPECT_NE(status.message.find("node_of_scale"), std::string::npos) << status.message;
}
