// runtime/driver/CudaApi.h against NVIDIA's cuda.h: values, sizes and offsets, all at compile time. Empty where cuda.h is missing.
#include <gtest/gtest.h>
#ifdef WEFT_HAS_CUDA_H
#include <cstddef>
#include <cstdint>
namespace ours {
#include "runtime/driver/CudaApi.h"
}
#undef CU_LAUNCH_PARAM_END
#undef CU_LAUNCH_PARAM_BUFFER_POINTER
#undef CU_LAUNCH_PARAM_BUFFER_SIZE
#undef CU_STREAM_LEGACY
#undef CU_STREAM_PER_THREAD
#undef CU_MEMHOSTALLOC_PORTABLE
#undef CU_MEMHOSTALLOC_DEVICEMAP
#undef CU_MEMHOSTALLOC_WRITECOMBINED
#include <cuda.h>

#define WEFT_X(name, value) static_assert(int(::name) == int(ours::name));
// Results that only newer headers know are left out.
#if CUDA_VERSION >= 13000
WEFT_CUDA_RESULTS(WEFT_X)
#endif
#undef WEFT_X

#define SAME(name) static_assert(int(::name) == int(ours::name))
SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
SAME(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
SAME(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
SAME(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
SAME(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(CU_JIT_CACHE_MODE);
SAME(CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
SAME(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
SAME(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);
SAME(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(CU_MEMPOOL_ATTR_USED_MEM_HIGH);
SAME(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
SAME(CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
SAME(CU_STREAM_NON_BLOCKING);
SAME(CU_EVENT_DISABLE_TIMING);
SAME(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

#define LAYOUT(type, last) static_assert(sizeof(::type) == sizeof(ours::type) && offsetof(::type, last) == offsetof(ours::type, last))
#define FIELD(type, field) static_assert(offsetof(::type, field) == offsetof(ours::type, field) && sizeof(::type::field) == sizeof(ours::type::field))
LAYOUT(CUDA_KERNEL_NODE_PARAMS, ctx);
FIELD(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
FIELD(CUDA_KERNEL_NODE_PARAMS, kernelParams);
LAYOUT(CUDA_MEMSET_NODE_PARAMS, height);
FIELD(CUDA_MEMSET_NODE_PARAMS, elementSize);
LAYOUT(CUDA_MEMCPY3D, Depth);
FIELD(CUDA_MEMCPY3D, srcDevice);
FIELD(CUDA_MEMCPY3D, srcHeight);
FIELD(CUDA_MEMCPY3D, dstMemoryType);
FIELD(CUDA_MEMCPY3D, dstPitch);
FIELD(CUDA_MEMCPY3D, WidthInBytes);
LAYOUT(CUDA_MEMCPY2D, Height);
FIELD(CUDA_MEMCPY2D, dstXInBytes);
FIELD(CUDA_MEMCPY2D, dstPitch);
LAYOUT(CUDA_HOST_NODE_PARAMS, userData);
LAYOUT(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
LAYOUT(CUgraphExecUpdateResultInfo, errorFromNode);
LAYOUT(CUlaunchConfig, numAttrs);
FIELD(CUlaunchConfig, hStream);
LAYOUT(CUlaunchAttribute, value);
LAYOUT(CUmemPoolProps, reserved);
FIELD(CUmemPoolProps, location);
LAYOUT(CUmemAccessDesc, flags);
static_assert(sizeof(::CUuuid) == sizeof(ours::CUuuid));
static_assert(sizeof(::CUlaunchAttributeValue) == sizeof(ours::CUlaunchAttributeValue));

TEST(AbiTest, SameAsCudaH) { SUCCEED(); }
#else
TEST(AbiTest, SameAsCudaH) { GTEST_SKIP() << "cuda.h is not installed"; }
#endif
