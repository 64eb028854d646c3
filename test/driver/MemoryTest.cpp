// Device and host memory through the driver API.
#include "Cuda.h"
#include <cstring>
#include <numeric>

using MemoryTest = DriverTest;

// What is copied to the device comes back.
TEST_F(MemoryTest, RoundTrip) {
  std::vector<unsigned> in(1000);
  std::iota(in.begin(), in.end(), 3);
  CUdeviceptr p = upload(in);
  EXPECT_EQ(p % 256, 0u);
  EXPECT_EQ(read(p, 1000), in);
  EXPECT_EQ(read(p + 40, 10), std::vector<unsigned>(in.begin() + 10, in.begin() + 20));
  EXPECT_OK(cu().cuMemFree(p));
}

// Zero bytes, unknown pointers and double frees are refused.
TEST_F(MemoryTest, BadCalls) {
  CUdeviceptr p = 0;
  EXPECT_EQ(cu().cuMemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().cuMemAlloc(nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  p = alloc(64);
  EXPECT_EQ(cu().cuMemFree(p + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cu().cuMemFree(p));
  EXPECT_EQ(cu().cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cu().cuMemFree(0));
}

// More than the device has is CUDA_ERROR_OUT_OF_MEMORY, and what is free is told.
TEST_F(MemoryTest, OutOfMemory) {
  size_t free = 0, total = 0, after = 0;
  ASSERT_OK(cu().cuMemGetInfo(&free, &total));
  EXPECT_LE(free, total);
  CUdeviceptr p = 0;
  EXPECT_EQ(cu().cuMemAlloc(&p, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  p = alloc(64 << 20);
  ASSERT_OK(cu().cuMemGetInfo(&after, &total));
  EXPECT_LE(after + (64 << 20), free);
  EXPECT_OK(cu().cuMemFree(p));
}

// A copy that does not fit its allocation is refused, on either side.
TEST_F(MemoryTest, CopiesAreChecked) {
  if (!isEmulator())
    GTEST_SKIP() << "hardware maps 2 MiB at a time and lets some overruns pass";
  CUdeviceptr p = alloc(64);
  char buffer[128] = {};
  EXPECT_EQ(cu().cuMemcpyHtoD(p, buffer, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().cuMemcpyDtoH(buffer, p + 60, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().cuMemcpyHtoD(p, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cu().cuMemFree(p));
  EXPECT_EQ(cu().cuMemcpyHtoD(p, buffer, 4), CUDA_ERROR_INVALID_VALUE);
}

// Device addresses are no host addresses, never used twice, and apart.
TEST_F(MemoryTest, AddressesAreNotHostPointers) {
  if (!isEmulator())
    GTEST_SKIP() << "a property of the emulator";
  CUdeviceptr p = alloc(100), q = alloc(100);
  EXPECT_GE(p, CUdeviceptr(1) << 47);
  EXPECT_GE(q, p + 100 + 4096);
  EXPECT_OK(cu().cuMemFree(p));
  EXPECT_NE(alloc(100), p);
}

// Sets write elements of one, two and four bytes.
TEST_F(MemoryTest, Sets) {
  CUdeviceptr p = upload({1, 2, 3, 4});
  EXPECT_OK(cu().cuMemsetD8Async(p, 0xab, 4, nullptr));
  EXPECT_OK(cu().cuMemsetD16(p + 4, 0x1234, 2));
  EXPECT_OK(cu().cuMemsetD32Async(p + 8, 77, 1, nullptr));
  EXPECT_EQ(read(p, 4), (std::vector<unsigned>{0xabababab, 0x12341234, 77, 4}));
}

// A 2D copy moves a rectangle, a 3D copy a box.
TEST_F(MemoryTest, Pitched) {
  std::vector<unsigned> in(24);
  std::iota(in.begin(), in.end(), 0);
  CUdeviceptr p = upload(in), q = upload(std::vector<unsigned>(24, 99));
  CUDA_MEMCPY2D flat{};
  flat.srcMemoryType = flat.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  flat.srcDevice = p, flat.srcPitch = 24, flat.srcXInBytes = 4, flat.srcY = 1; // rows of six
  flat.dstDevice = q, flat.dstPitch = 8;
  flat.WidthInBytes = 8, flat.Height = 2;
  EXPECT_OK(cu().cuMemcpy2D(&flat));
  EXPECT_EQ(read(q, 5), (std::vector<unsigned>{7, 8, 13, 14, 99}));
  std::vector<unsigned> out(4);
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE, box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.srcDevice = p, box.srcPitch = 8, box.srcHeight = 3, box.srcXInBytes = 4, box.srcY = 1, box.srcZ = 1; // 4 x 3 x 2
  box.dstHost = out.data(), box.dstPitch = 4, box.dstHeight = 2;
  box.WidthInBytes = 4, box.Height = 2, box.Depth = 2;
  EXPECT_OK(cu().cuMemcpy3D(&box));
  EXPECT_EQ(out, (std::vector<unsigned>{9, 11, 15, 17}));
}

// What the driver knows of a pointer.
TEST_F(MemoryTest, Pointers) {
  CUdeviceptr p = alloc(1000), base = 0;
  size_t size = 0;
  EXPECT_OK(cu().cuMemGetAddressRange(&base, &size, p + 500));
  EXPECT_EQ(base, p);
  EXPECT_GE(size, 1000u);
  int type = 0, host = 0;
  EXPECT_OK(cu().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(cu().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(uintptr_t(&host))), CUDA_ERROR_INVALID_VALUE);
  void *pinned = nullptr;
  ASSERT_OK(cu().cuMemAllocHost(&pinned, 64));
  EXPECT_OK(cu().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(uintptr_t(pinned))));
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  EXPECT_OK(cu().cuMemFreeHost(pinned));
  EXPECT_EQ(cu().cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
}

// Kernels reach pinned and registered host memory under its own address.
TEST_F(MemoryTest, PinnedFromKernels) {
  void *pinned = nullptr;
  ASSERT_OK(cu().cuMemAllocHost(&pinned, 16));
  std::vector<unsigned> own(4096, 5);
  ASSERT_OK(cu().cuMemHostRegister(own.data(), 4096 * 4, 0));
  EXPECT_EQ(cu().cuMemHostRegister(own.data() + 4, 16, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_OK(launch(CUdeviceptr(uintptr_t(pinned)), CUdeviceptr(uintptr_t(own.data())), 2, 4));
  EXPECT_OK(cu().cuCtxSynchronize());
  EXPECT_EQ(static_cast<unsigned *>(pinned)[3], 7u);
  EXPECT_OK(cu().cuMemHostUnregister(own.data()));
  EXPECT_EQ(cu().cuMemHostUnregister(own.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_OK(cu().cuMemFreeHost(pinned));
}

// An asynchronous copy from pageable memory takes the bytes at once, one from pinned memory when it runs.
TEST_F(MemoryTest, WhenCopiesRead) {
  CUstream stream;
  ASSERT_OK(cu().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr p = alloc(4);
  unsigned pageable = 1;
  EXPECT_OK(cu().cuMemcpyHtoDAsync(p, &pageable, 4, stream));
  pageable = 2;
  EXPECT_OK(cu().cuStreamSynchronize(stream));
  EXPECT_EQ(read(p, 1)[0], 1u);
  if (!isEmulator())
    GTEST_SKIP() << "hardware may read pinned memory at any time before the synchronisation";
  void *pinned = nullptr;
  ASSERT_OK(cu().cuMemAllocHost(&pinned, 4));
  std::memset(pinned, 0, 4);
  EXPECT_OK(cu().cuMemcpyHtoDAsync(p, pinned, 4, stream));
  *static_cast<unsigned *>(pinned) = 3;
  EXPECT_OK(cu().cuStreamSynchronize(stream));
  EXPECT_EQ(read(p, 1)[0], 3u);
  EXPECT_OK(cu().cuMemFreeHost(pinned));
}

// Stream-ordered allocation: the memory goes when the stream gets there.
TEST_F(MemoryTest, StreamOrdered) {
  CUstream stream;
  ASSERT_OK(cu().cuStreamCreate(&stream, 0));
  CUdeviceptr p = 0;
  ASSERT_OK(cu().cuMemAllocAsync(&p, 64, stream));
  EXPECT_OK(cu().cuMemsetD32Async(p, 9, 16, stream));
  unsigned out = 0;
  EXPECT_OK(cu().cuMemcpyDtoHAsync(&out, p, 4, stream));
  EXPECT_OK(cu().cuMemFreeAsync(p, stream));
  EXPECT_EQ(cu().cuMemFreeAsync(p, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cu().cuStreamSynchronize(stream));
  EXPECT_EQ(out, 9u);
  if (isEmulator())
    EXPECT_EQ(cu().cuMemcpyDtoH(&out, p, 4), CUDA_ERROR_INVALID_VALUE);
}
