// Exported functions: launches, streams, events, graphs.
#include "emulator/driver/Api.h"
#include <algorithm>

using namespace weft::emu;

WEFT_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                    unsigned shared, CUstream stream, void **params, void **extra) {
  WEFT_ENTER_CONTEXT;
  Work work;
  if (CUresult bad = makeKernelWork(function, {gx, gy, gz}, {bx, by, bz}, shared, params, extra, work))
    return bad;
  return enqueue(stream, std::move(work));
}

WEFT_EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(function);
  Work work;
  work.kind = Work::Host;
  work.host = function;
  work.hostData = data;
  return enqueue(stream, std::move(work));
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

static StreamState *findStream(State &state, CUstream handle) {
  auto it = state.streams.find(handle);
  return it == state.streams.end() ? nullptr : it->second.get();
}
/// Stream handles 0, 1 and 2 name the default streams.
static bool isStream(State &state, CUstream handle) { return reinterpret_cast<uintptr_t>(handle) <= 2 || findStream(state, handle); }

WEFT_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(stream);
  auto made = std::make_unique<StreamState>(StreamState{device});
  *stream = reinterpret_cast<CUstream>(made.get());
  state.streams[made.get()] = std::move(made);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
WEFT_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  WEFT_ENTER;
  return state.streams.erase(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
WEFT_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  WEFT_ENTER_CONTEXT;
  return isStream(state, stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
WEFT_EXPORT CUresult cuStreamQuery(CUstream stream) { return cuStreamSynchronize(stream); }

static EventState *findEvent(State &state, CUevent handle) {
  auto it = state.events.find(handle);
  return it == state.events.end() ? nullptr : it->second.get();
}

WEFT_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  WEFT_ENTER_CONTEXT;
  return isStream(state, stream) && findEvent(state, event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
WEFT_EXPORT CUresult cuEventCreate(CUevent *event, unsigned) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(event);
  auto made = std::make_unique<EventState>(EventState{device, {}, false});
  *event = reinterpret_cast<CUevent>(made.get());
  state.events[made.get()] = std::move(made);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  WEFT_ENTER;
  return state.events.erase(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
WEFT_EXPORT CUresult cuEventRecord(CUevent handle, CUstream stream) {
  WEFT_ENTER_CONTEXT;
  EventState *event = findEvent(state, handle);
  if (!event || !isStream(state, stream))
    return CUDA_ERROR_INVALID_HANDLE;
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuEventSynchronize(CUevent event) {
  WEFT_ENTER_CONTEXT;
  return findEvent(state, event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
WEFT_EXPORT CUresult cuEventQuery(CUevent event) { return cuEventSynchronize(event); }
WEFT_EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(milliseconds);
  EventState *first = findEvent(state, start), *second = findEvent(state, end);
  if (!first || !second || !first->recorded || !second->recorded)
    return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = std::chrono::duration<float, std::milli>(second->time - first->time).count();
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) { return cuEventElapsedTime(milliseconds, start, end); }

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

WEFT_EXPORT CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(graph && !flags);
  auto made = std::make_unique<GraphState>();
  *graph = reinterpret_cast<CUgraph>(made.get());
  state.graphs[made.get()] = std::move(made);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  WEFT_ENTER;
  auto it = state.graphs.find(graph);
  if (it == state.graphs.end())
    return CUDA_ERROR_INVALID_HANDLE;
  // Nodes stay valid names for executables that were made from them; they are only compared.
  it->second->work.clear();
  static std::vector<std::unique_ptr<GraphState>> graveyard; // keeps node addresses unique
  for (auto &node : it->second->nodes)
    state.nodes.erase(node.get());
  graveyard.push_back(std::move(it->second));
  state.graphs.erase(it);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  WEFT_ENTER_CONTEXT;
  StreamState *found = findStream(state, stream);
  if (!found)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (found->capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  CUgraph graph;
  if (CUresult bad = cuGraphCreate(&graph, 0))
    return bad;
  found->capture = state.graphs[graph].get();
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(graph);
  StreamState *found = findStream(state, stream);
  if (!found || !found->capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  *graph = reinterpret_cast<CUgraph>(found->capture);
  found->capture = nullptr;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(status);
  StreamState *found = findStream(state, stream);
  *status = found && found->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

static CUresult addNode(State &state, CUgraphNode *node, CUgraph handle, const CUgraphNode *dependencies, size_t count, Work work) {
  auto it = state.graphs.find(handle);
  if (!node || (count && !dependencies))
    return CUDA_ERROR_INVALID_VALUE;
  if (it == state.graphs.end())
    return CUDA_ERROR_INVALID_HANDLE;
  GraphState &graph = *it->second;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    auto *before = reinterpret_cast<NodeState *>(dependencies[i]);
    if (!state.nodes.count(before) || before->graph != &graph)
      return CUDA_ERROR_INVALID_VALUE;
    numbers.push_back(before->number);
  }
  graph.nodes.push_back(std::make_unique<NodeState>(NodeState{&graph, graph.work.size()}));
  graph.work.push_back(std::move(work));
  graph.dependencies.push_back(std::move(numbers));
  state.nodes.insert(graph.nodes.back().get());
  *node = reinterpret_cast<CUgraphNode>(graph.nodes.back().get());
  return CUDA_SUCCESS;
}

static CUresult kernelWork(const CUDA_KERNEL_NODE_PARAMS *p, Work &work) {
  WEFT_NOT_NULL(p);
  return makeKernelWork(p->func, {p->gridDimX, p->gridDimY, p->gridDimZ}, {p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes,
                        p->kernelParams, p->extra, work);
}
static Work plainWork(const CUDA_MEMCPY3D &copy) {
  Work work;
  work.kind = Work::Copy;
  work.copy = copy;
  return work;
}
static Work plainWork(const CUDA_MEMSET_NODE_PARAMS &set) {
  Work work;
  work.kind = Work::Set;
  work.set = set;
  return work;
}

WEFT_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                             const CUDA_KERNEL_NODE_PARAMS *params) {
  WEFT_ENTER_CONTEXT;
  Work work;
  if (CUresult bad = kernelWork(params, work))
    return bad;
  return addNode(state, node, graph, dependencies, count, std::move(work));
}
WEFT_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                          const CUDA_MEMCPY3D *params, CUcontext) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(params);
  return addNode(state, node, graph, dependencies, count, plainWork(*params));
}
WEFT_EXPORT CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                          const CUDA_MEMSET_NODE_PARAMS *params, CUcontext) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(params);
  return addNode(state, node, graph, dependencies, count, plainWork(*params));
}
WEFT_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count) {
  WEFT_ENTER_CONTEXT;
  return addNode(state, node, graph, dependencies, count, Work());
}
WEFT_EXPORT CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  WEFT_ENTER;
  WEFT_NOT_NULL(count);
  auto it = state.graphs.find(handle);
  if (it == state.graphs.end())
    return CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0; nodes && i < std::min(*count, it->second->nodes.size()); ++i)
    nodes[i] = reinterpret_cast<CUgraphNode>(it->second->nodes[i].get());
  *count = it->second->work.size();
  return CUDA_SUCCESS;
}

/// Nodes are made after what they depend on, so their order of making is a legal order of running.
WEFT_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph handle, unsigned long long) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(exec);
  auto it = state.graphs.find(handle);
  if (it == state.graphs.end())
    return CUDA_ERROR_INVALID_HANDLE;
  auto made = std::make_unique<GraphExecState>();
  made->work = it->second->work;
  for (auto &node : it->second->nodes)
    made->nodes.insert(node.get());
  *exec = reinterpret_cast<CUgraphExec>(made.get());
  state.execs[made.get()] = std::move(made);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  WEFT_ENTER;
  return state.execs.erase(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
WEFT_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  WEFT_ENTER_CONTEXT;
  auto it = state.execs.find(exec);
  if (it == state.execs.end())
    return CUDA_ERROR_INVALID_HANDLE;
  for (const Work &work : it->second->work)
    if (CUresult bad = enqueue(stream, work))
      return bad;
  return CUDA_SUCCESS;
}

static CUresult replace(State &state, CUgraphExec exec, CUgraphNode handle, Work work) {
  auto it = state.execs.find(exec);
  auto *node = reinterpret_cast<NodeState *>(handle);
  if (it == state.execs.end() || !it->second->nodes.count(node))
    return CUDA_ERROR_INVALID_HANDLE;
  Work &old = it->second->work[node->number];
  if (old.kind != work.kind)
    return CUDA_ERROR_INVALID_VALUE;
  old = std::move(work);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
  WEFT_ENTER_CONTEXT;
  Work work;
  if (CUresult bad = kernelWork(params, work))
    return bad;
  return replace(state, exec, node, std::move(work));
}
WEFT_EXPORT CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params, CUcontext) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(params);
  return replace(state, exec, node, plainWork(*params));
}
WEFT_EXPORT CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(params);
  return replace(state, exec, node, plainWork(*params));
}

WEFT_EXPORT CUresult cuProfilerStart(void) { return CUDA_SUCCESS; }
WEFT_EXPORT CUresult cuProfilerStop(void) { return CUDA_SUCCESS; }
