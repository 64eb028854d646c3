// Graphs through the driver API: building, launching, changing.
#include "Cuda.h"
#include <atomic>

class GraphTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    ASSERT_OK(cu().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cu().cuGraphCreate(&graph, 0));
    x = upload({1});
    y = upload({0});
  }
  CUDA_KERNEL_NODE_PARAMS kernel(CUdeviceptr to, CUdeviceptr from, unsigned plus) {
    dst = to, src = from, amount = plus;
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = add;
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
    p.blockDimX = 32;
    p.kernelParams = args;
    return p;
  }
  CUgraphNode addKernel(CUdeviceptr to, CUdeviceptr from, unsigned plus, std::vector<CUgraphNode> after = {}) {
    CUgraphNode node = nullptr;
    CUDA_KERNEL_NODE_PARAMS p = kernel(to, from, plus);
    EXPECT_OK(cu().cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &p));
    return node;
  }
  void run(CUgraphExec exec) {
    EXPECT_OK(cu().cuGraphLaunch(exec, stream));
    EXPECT_OK(cu().cuStreamSynchronize(stream));
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_OK(cu().cuGraphInstantiate(&exec, graph, 0));
    return exec;
  }
  static CUDA_MEMCPY3D copy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    CUDA_MEMCPY3D c{};
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = from, c.dstDevice = to, c.WidthInBytes = bytes, c.Height = c.Depth = 1;
    return c;
  }
  CUdeviceptr dst = 0, src = 0;
  unsigned amount = 0, one = 1;
  void *args[4] = {&dst, &src, &amount, &one};
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUdeviceptr x = 0, y = 0;
};

// Kernels, copies, sets and joins run as their edges say; parameters are those of when the node was made.
TEST_F(GraphTest, Launch) {
  CUdeviceptr z = upload({0});
  CUgraphNode set = nullptr, copied = nullptr, join = nullptr;
  CUDA_MEMSET_NODE_PARAMS s{y, 0, 5, 4, 1, 1};
  ASSERT_OK(cu().cuGraphAddMemsetNode(&set, graph, nullptr, 0, &s, context));
  CUgraphNode first = addKernel(x, x, 10);
  CUgraphNode both[] = {set, first};
  ASSERT_OK(cu().cuGraphAddEmptyNode(&join, graph, both, 2));
  CUDA_MEMCPY3D c = copy(z, y, 4);
  ASSERT_OK(cu().cuGraphAddMemcpyNode(&copied, graph, &join, 1, &c, context));
  addKernel(y, x, 100, {copied});
  CUgraphNodeType type;
  EXPECT_OK(cu().cuGraphNodeGetType(copied, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMCPY);
  CUgraphExec exec = instantiate();
  EXPECT_OK(cu().cuGraphDestroy(graph)); // executables live on
  run(exec);
  EXPECT_EQ(read(z, 1)[0], 5u);
  EXPECT_EQ(read(y, 1)[0], 111u);
  run(exec);
  EXPECT_EQ(read(y, 1)[0], 121u);
  EXPECT_OK(cu().cuGraphExecDestroy(exec));
}

// Changed nodes hold for later launches, not for those that are queued.
TEST_F(GraphTest, SetParams) {
  CUgraphNode node = addKernel(x, x, 1), set = nullptr, copied = nullptr;
  CUDA_MEMSET_NODE_PARAMS s{y, 0, 5, 4, 1, 1};
  CUdeviceptr z = upload({0}), w = upload({0});
  CUDA_MEMCPY3D c = copy(z, y, 4);
  ASSERT_OK(cu().cuGraphAddMemsetNode(&set, graph, nullptr, 0, &s, context));
  ASSERT_OK(cu().cuGraphAddMemcpyNode(&copied, graph, &set, 1, &c, context));
  CUgraphExec exec = instantiate();
  EXPECT_OK(cu().cuGraphLaunch(exec, stream));
  CUDA_KERNEL_NODE_PARAMS p = kernel(x, x, 1000);
  EXPECT_OK(cu().cuGraphExecKernelNodeSetParams(exec, node, &p));
  s.value = 6;
  EXPECT_OK(cu().cuGraphExecMemsetNodeSetParams(exec, set, &s, context));
  c = copy(w, y, 4);
  EXPECT_OK(cu().cuGraphExecMemcpyNodeSetParams(exec, copied, &c, context));
  EXPECT_OK(cu().cuStreamSynchronize(stream));
  EXPECT_EQ(read(x, 1)[0], 2u);
  EXPECT_EQ(read(w, 1)[0], 0u);
  run(exec);
  EXPECT_EQ(read(x, 1)[0], 1002u);
  EXPECT_EQ(read(z, 1)[0], 5u);
  EXPECT_EQ(read(w, 1)[0], 6u);
}

// A whole graph replaces another of the same shape, and no other.
TEST_F(GraphTest, Update) {
  CUgraphNode first = addKernel(x, x, 1);
  addKernel(y, x, 1, {first});
  CUgraphExec exec = instantiate();
  CUgraph other;
  CUgraphExecUpdateResultInfo info{};
  ASSERT_OK(cu().cuGraphCreate(&other, 0));
  graph = other;
  first = addKernel(x, x, 10);
  CUgraphNode second = addKernel(y, x, 100, {first});
  EXPECT_OK(cu().cuGraphExecUpdate(exec, graph, &info));
  run(exec);
  EXPECT_EQ(read(y, 1)[0], 111u);
  addKernel(y, y, 1, {second});
  EXPECT_EQ(cu().cuGraphExecUpdate(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

static void bump(void *data) { ++*static_cast<std::atomic<int> *>(data); }

// Child graphs are copied in; host nodes and event nodes run in their place.
TEST_F(GraphTest, ChildrenHostAndEvents) {
  CUgraph child = graph;
  CUgraphNode inner = addKernel(x, x, 10), node = nullptr, host = nullptr, record = nullptr;
  addKernel(x, x, 100, {inner});
  ASSERT_OK(cu().cuGraphCreate(&graph, 0));
  CUgraphNode before = addKernel(x, x, 1);
  ASSERT_OK(cu().cuGraphAddChildGraphNode(&node, graph, &before, 1, child));
  EXPECT_OK(cu().cuGraphDestroy(child));
  CUgraphNode last = addKernel(y, x, 1000, {node});
  std::atomic<int> count{0};
  CUDA_HOST_NODE_PARAMS h{bump, &count};
  ASSERT_OK(cu().cuGraphAddHostNode(&host, graph, &last, 1, &h));
  CUevent event;
  ASSERT_OK(cu().cuEventCreate(&event, 0));
  ASSERT_OK(cu().cuGraphAddEventRecordNode(&record, graph, &host, 1, event));
  CUgraph twin;
  ASSERT_OK(cu().cuGraphClone(&twin, graph));
  CUgraphExec exec = instantiate();
  EXPECT_OK(cu().cuGraphLaunch(exec, stream));
  EXPECT_OK(cu().cuEventSynchronize(event));
  EXPECT_EQ(read(y, 1)[0], 1112u);
  EXPECT_EQ(count, 1);
}

// Parameters of a kernel node can be read back.
TEST_F(GraphTest, GetParams) {
  CUgraphNode node = addKernel(y, x, 77);
  CUDA_KERNEL_NODE_PARAMS p{};
  EXPECT_OK(cu().cuGraphKernelNodeGetParams(node, &p));
  EXPECT_EQ(p.func, add);
  EXPECT_EQ(p.blockDimX, 32u);
  EXPECT_EQ(*static_cast<unsigned *>(p.kernelParams[2]), 77u);
}

// Copies outside of allocations, other kinds of node, nodes of other graphs.
TEST_F(GraphTest, BadCalls) {
  CUgraphNode node = addKernel(x, x, 1), bad = nullptr;
  CUDA_MEMSET_NODE_PARAMS s{y, 0, 5, 3, 1, 1};
  EXPECT_EQ(cu().cuGraphAddMemsetNode(&bad, graph, nullptr, 0, &s, context), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = instantiate();
  s.elementSize = 4;
  EXPECT_EQ(cu().cuGraphExecMemsetNodeSetParams(exec, node, &s, context), CUDA_ERROR_INVALID_VALUE);
  CUgraph other;
  ASSERT_OK(cu().cuGraphCreate(&other, 0));
  EXPECT_EQ(cu().cuGraphAddEmptyNode(&bad, other, &node, 1), CUDA_ERROR_INVALID_VALUE);
}
