// Streams, events, captures and host functions through the driver API.
#include "Cuda.h"
#include <atomic>
#include <thread>

class StreamTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    ASSERT_OK(cu().cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cu().cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cu().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    x = upload({1});
    y = upload({0});
  }
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  CUdeviceptr x = 0, y = 0;
};

// Work of one stream runs in order.
TEST_F(StreamTest, InOrder) {
  for (int i = 0; i < 100; ++i)
    EXPECT_OK(launch(x, x, 1, 1, a));
  EXPECT_OK(cu().cuStreamSynchronize(a));
  EXPECT_EQ(read(x, 1)[0], 101u);
}

// An event orders two streams; waiting for the second runs the first as far as needed.
TEST_F(StreamTest, EventsOrderStreams) {
  EXPECT_OK(launch(x, x, 10, 1, a));
  EXPECT_OK(cu().cuEventRecord(event, a));
  EXPECT_OK(cu().cuStreamWaitEvent(b, event, 0));
  EXPECT_OK(launch(y, x, 100, 1, b));
  EXPECT_OK(cu().cuStreamSynchronize(b));
  EXPECT_EQ(read(y, 1)[0], 111u);
}

// Nothing runs that nobody waits for: a missing synchronisation shows in every run.
TEST_F(StreamTest, MissingSynchronisationShows) {
  if (!isEmulator())
    GTEST_SKIP() << "a race on hardware";
  EXPECT_OK(launch(x, x, 10, 1, a));
  EXPECT_OK(launch(y, x, 100, 1, b));
  EXPECT_OK(cu().cuStreamSynchronize(b));
  EXPECT_EQ(read(y, 1)[0], 101u);
  EXPECT_EQ(read(x, 1)[0], 1u) << "stream a does not wait for the legacy stream";
  EXPECT_OK(cu().cuStreamSynchronize(a));
  EXPECT_EQ(read(x, 1)[0], 11u);
}

// Blocking streams are ordered with the legacy stream, both ways.
TEST_F(StreamTest, LegacyStream) {
  CUstream c, d;
  ASSERT_OK(cu().cuStreamCreate(&c, CU_STREAM_DEFAULT));
  ASSERT_OK(cu().cuStreamCreate(&d, CU_STREAM_DEFAULT));
  EXPECT_OK(launch(x, x, 10, 1, c));
  EXPECT_OK(launch(x, x, 100, 1, nullptr));
  EXPECT_OK(launch(y, x, 1000, 1, d));
  EXPECT_OK(cu().cuStreamSynchronize(d));
  EXPECT_EQ(read(y, 1)[0], 1111u);
}

// Queries answer NOT_READY until the work is done, and it gets done.
TEST_F(StreamTest, Queries) {
  EXPECT_OK(cu().cuEventQuery(event));
  EXPECT_OK(launch(x, x, 1, 1, a));
  EXPECT_OK(cu().cuEventRecord(event, a));
  while (CUresult result = cu().cuEventQuery(event))
    ASSERT_EQ(result, CUDA_ERROR_NOT_READY);
  while (CUresult result = cu().cuStreamQuery(a))
    ASSERT_EQ(result, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(read(x, 1)[0], 2u);
}

// Elapsed time needs two events with timing that were both reached.
TEST_F(StreamTest, ElapsedTime) {
  CUevent start, end;
  float ms = -1;
  ASSERT_OK(cu().cuEventCreate(&start, 0));
  ASSERT_OK(cu().cuEventCreate(&end, 0));
  EXPECT_EQ(cu().cuEventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cu().cuEventRecord(start, a));
  EXPECT_OK(launch(x, x, 1, 1, a));
  EXPECT_OK(cu().cuEventRecord(end, a));
  EXPECT_OK(cu().cuEventSynchronize(end));
  EXPECT_OK(cu().cuEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 0);
  EXPECT_OK(cu().cuEventRecord(event, a));
  EXPECT_EQ(cu().cuEventElapsedTime(&ms, start, event), CUDA_ERROR_INVALID_HANDLE);
}

static void bump(void *data) { ++*static_cast<std::atomic<int> *>(data); }
static CUresult inside;
static void callsTheApi(void *) { inside = cu().cuCtxSynchronize(); }

// Host functions run in their place; they may not call the API.
TEST_F(StreamTest, HostFunctions) {
  std::atomic<int> count{0};
  EXPECT_OK(cu().cuLaunchHostFunc(a, bump, &count));
  EXPECT_OK(cu().cuLaunchHostFunc(a, bump, &count));
  EXPECT_OK(cu().cuStreamSynchronize(a));
  EXPECT_EQ(count, 2);
  if (!isEmulator())
    GTEST_SKIP() << "undefined on hardware";
  EXPECT_OK(cu().cuLaunchHostFunc(a, callsTheApi, nullptr));
  EXPECT_OK(cu().cuStreamSynchronize(a));
  EXPECT_EQ(inside, CUDA_ERROR_NOT_PERMITTED);
}

// Stale handles.
TEST_F(StreamTest, StaleHandles) {
  EXPECT_OK(launch(x, x, 1, 1, a));
  EXPECT_OK(cu().cuStreamDestroy(a)); // what is queued still runs
  EXPECT_OK(cu().cuCtxSynchronize());
  EXPECT_EQ(read(x, 1)[0], 2u);
  if (!isEmulator())
    GTEST_SKIP() << "undefined on hardware";
  EXPECT_EQ(cu().cuStreamSynchronize(a), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cu().cuEventDestroy(event));
  EXPECT_EQ(cu().cuEventRecord(event, b), CUDA_ERROR_INVALID_HANDLE);
}

// A capture records work, with a second stream that forks and joins, and runs nothing.
TEST_F(StreamTest, Capture) {
  CUevent joined;
  CUgraph graph = nullptr;
  CUgraphExec exec;
  ASSERT_OK(cu().cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(cu().cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_OK(launch(x, x, 10, 1, a));
  EXPECT_OK(cu().cuEventRecord(event, a));
  EXPECT_OK(cu().cuStreamWaitEvent(b, event, 0));
  EXPECT_OK(launch(y, x, 100, 1, b));
  EXPECT_OK(cu().cuEventRecord(joined, b));
  EXPECT_OK(cu().cuStreamWaitEvent(a, joined, 0));
  EXPECT_OK(launch(x, y, 1000, 1, a));
  CUstreamCaptureStatus status;
  EXPECT_OK(cu().cuStreamIsCapturing(b, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_OK(cu().cuStreamEndCapture(a, &graph));
  EXPECT_EQ(read(x, 1)[0], 1u);
  size_t count = 0;
  EXPECT_OK(cu().cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 3u);
  ASSERT_OK(cu().cuGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cu().cuGraphLaunch(exec, b));
  EXPECT_OK(cu().cuStreamSynchronize(b));
  EXPECT_EQ(read(x, 1)[0], 1111u);
}

// What spoils a capture: a synchronisation, a stream that does not join, the legacy stream, allocations.
TEST_F(StreamTest, SpoiltCaptures) {
  CUgraph graph;
  auto begin = [&](CUstream s) { ASSERT_OK(cu().cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL)); };
  EXPECT_EQ(cu().cuStreamEndCapture(a, &graph), CUDA_ERROR_ILLEGAL_STATE);
  begin(a);
  EXPECT_EQ(cu().cuStreamSynchronize(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cu().cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  begin(a);
  EXPECT_OK(launch(x, x, 1, 1, a));
  EXPECT_OK(cu().cuEventRecord(event, a));
  EXPECT_OK(cu().cuStreamWaitEvent(b, event, 0));
  EXPECT_OK(launch(x, x, 1, 1, b));
  EXPECT_EQ(cu().cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cu().cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  begin(a);
  CUdeviceptr p;
  EXPECT_EQ(cu().cuMemAlloc(&p, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cu().cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUstream blocking;
  ASSERT_OK(cu().cuStreamCreate(&blocking, 0));
  begin(blocking);
  EXPECT_EQ(launch(x, x, 1, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cu().cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(read(x, 1)[0], 1u);
}

// The API may be called from many threads.
TEST_F(StreamTest, Threads) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      CUstream stream;
      if (cu().cuCtxSetCurrent(context) || cu().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
        return;
      for (int i = 0; i < 50; ++i) {
        CUdeviceptr p = 0;
        unsigned out = 0, in = i;
        bool fine = !cu().cuMemAlloc(&p, 4) && !cu().cuMemcpyHtoDAsync(p, &in, 4, stream) && !launch(p, p, 7, 1, stream) &&
                    !cu().cuMemcpyDtoHAsync(&out, p, 4, stream) && !cu().cuStreamSynchronize(stream) && out == in + 7 && !cu().cuMemFree(p);
        good += fine;
      }
      cu().cuStreamDestroy(stream);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 200);
}
