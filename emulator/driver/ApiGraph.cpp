// Exported functions: graphs and their nodes. Parameters of kernels are copied when a node is made or changed.
#include "emulator/driver/Api.h"
#include <algorithm>
#include <cstring>

using namespace weft::emu;

WEFT_EXPORT CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  WEFT_ENTER;
  WEFT_NOT_NULL(graph && !flags);
  *graph = toHandle<CUgraph>(makeGraph(state)->handle);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuGraphDestroy(CUgraph handle) {
  WEFT_ENTER;
  std::shared_ptr<Graph> graph = state.graphs.find(handle);
  WEFT_NEED(graph, CUDA_ERROR_INVALID_HANDLE);
  dropGraph(state, *graph);
  return CUDA_SUCCESS;
}

/// A copy with nodes of its own, in the same order.
static std::shared_ptr<Graph> clone(State &state, const Graph &graph) {
  std::shared_ptr<Graph> copy = makeGraph(state);
  std::unordered_map<const Node *, Node *> twin;
  for (const std::shared_ptr<Node> &node : graph.nodes) {
    Node *made = twin[node.get()] = addNode(state, *copy, {}, node->work);
    if (node->child)
      made->child = clone(state, *node->child);
  }
  for (const std::shared_ptr<Node> &node : graph.nodes)
    for (Node *previous : node->after)
      twin[node.get()]->after.push_back(twin[previous]);
  return copy;
}
WEFT_EXPORT CUresult cuGraphClone(CUgraph *result, CUgraph original) {
  WEFT_ENTER;
  WEFT_NOT_NULL(result);
  std::shared_ptr<Graph> graph = state.graphs.find(original);
  WEFT_NEED(graph, CUDA_ERROR_INVALID_HANDLE);
  *result = toHandle<CUgraph>(clone(state, *graph)->handle);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Adding nodes
//===----------------------------------------------------------------------===//

static CUresult add(State &state, CUgraphNode *result, CUgraph handle, const CUgraphNode *dependencies, size_t count, Work work,
                    Node **made = nullptr) {
  WEFT_NOT_NULL(result && (dependencies || !count));
  std::shared_ptr<Graph> graph = state.graphs.find(handle);
  WEFT_NEED(graph, CUDA_ERROR_INVALID_HANDLE);
  std::vector<Node *> after;
  for (size_t i = 0; i < count; ++i) {
    std::shared_ptr<Node> node = state.nodes.find(dependencies[i]);
    bool fits = node && node->graph == graph.get() && std::find(after.begin(), after.end(), node.get()) == after.end();
    WEFT_NEED(fits, CUDA_ERROR_INVALID_VALUE);
    after.push_back(node.get());
  }
  Node *node = addNode(state, *graph, std::move(after), std::move(work));
  if (made)
    *made = node;
  *result = toHandle<CUgraphNode>(node->handle);
  return CUDA_SUCCESS;
}

namespace weft::emu {
CUresult kernelWork(State &state, const std::shared_ptr<Context> &context, const CUDA_KERNEL_NODE_PARAMS *p, Work &work) {
  WEFT_NOT_NULL(p);
  const void *function = p->func ? static_cast<const void *>(p->func) : p->kern;
  return makeKernelWork(state, context, function, {p->gridDimX, p->gridDimY, p->gridDimZ}, {p->blockDimX, p->blockDimY, p->blockDimZ},
                        p->sharedMemBytes, p->kernelParams, p->extra, work);
}
CUresult copyWork(State &state, const std::shared_ptr<Context> &context, const CUDA_MEMCPY3D *copy, CUcontext owner, Work &work) {
  WEFT_NOT_NULL(copy);
  work.kind = Work::Kind::Copy;
  work.copy = *copy;
  work.context = owner ? state.contexts.find(owner) : context;
  WEFT_NEED(work.context, CUDA_ERROR_INVALID_CONTEXT);
  return checkCopy(state, *work.context, *copy);
}
CUresult setWork(State &state, const std::shared_ptr<Context> &context, const CUDA_MEMSET_NODE_PARAMS *set, CUcontext owner, Work &work) {
  WEFT_NOT_NULL(set);
  work.kind = Work::Kind::Set;
  work.set = *set;
  work.context = owner ? state.contexts.find(owner) : context;
  WEFT_NEED(work.context, CUDA_ERROR_INVALID_CONTEXT);
  return checkSet(state, *work.context, *set);
}
CUresult hostWork(const std::shared_ptr<Context> &context, const CUDA_HOST_NODE_PARAMS *params, Work &work) {
  WEFT_NOT_NULL(params && params->fn);
  work.kind = Work::Kind::Host;
  work.context = context;
  work.hostParams = *params;
  work.host = [fn = params->fn, data = params->userData](CUresult status) {
    if (status == CUDA_SUCCESS)
      fn(data);
  };
  return CUDA_SUCCESS;
}
} // namespace weft::emu

WEFT_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                             const CUDA_KERNEL_NODE_PARAMS *params) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(kernelWork(state, context, params, work));
  return add(state, node, graph, dependencies, count, std::move(work));
}
#undef cuGraphAddKernelNode
/// The structure of CUDA 11: without `kern` and `ctx`.
#ifndef WEFT_USE_CUDA_H
WEFT_EXPORT CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                          const void *params) {
  WEFT_NOT_NULL(params);
  CUDA_KERNEL_NODE_PARAMS full{};
  std::memcpy(&full, params, offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
  return cuGraphAddKernelNode_v2(node, graph, dependencies, count, &full);
}
#endif
WEFT_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                          const CUDA_MEMCPY3D *params, CUcontext owner) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(copyWork(state, context, params, owner, work));
  return add(state, node, graph, dependencies, count, std::move(work));
}
WEFT_EXPORT CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                          const CUDA_MEMSET_NODE_PARAMS *params, CUcontext owner) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(setWork(state, context, params, owner, work));
  return add(state, node, graph, dependencies, count, std::move(work));
}
WEFT_EXPORT CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                        const CUDA_HOST_NODE_PARAMS *params) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(hostWork(context, params, work));
  return add(state, node, graph, dependencies, count, std::move(work));
}
WEFT_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count) {
  WEFT_ENTER_CONTEXT;
  Work work;
  work.context = context;
  return add(state, node, graph, dependencies, count, std::move(work));
}

static CUresult addEvent(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUevent event, Work::Kind kind) {
  WEFT_ENTER_CONTEXT;
  Work work;
  work.kind = kind;
  work.context = context;
  work.event = state.events.find(event);
  WEFT_NEED(work.event, CUDA_ERROR_INVALID_HANDLE);
  return add(state, node, graph, dependencies, count, std::move(work));
}
WEFT_EXPORT CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUevent event) {
  return addEvent(node, graph, dependencies, count, event, Work::Kind::Record);
}
WEFT_EXPORT CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUevent event) {
  return addEvent(node, graph, dependencies, count, event, Work::Kind::Wait);
}

WEFT_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUgraph child) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<Graph> found = state.graphs.find(child);
  WEFT_NEED(found, CUDA_ERROR_INVALID_HANDLE);
  WEFT_NEED(child != graph, CUDA_ERROR_INVALID_VALUE);
  Work work;
  work.context = context;
  Node *made = nullptr;
  WEFT_TRY(add(state, node, graph, dependencies, count, std::move(work), &made));
  made->child = clone(state, *found);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *graph) {
  WEFT_ENTER;
  std::shared_ptr<Node> node = state.nodes.find(handle);
  WEFT_NOT_NULL(graph && node && node->child);
  *graph = toHandle<CUgraph>(node->child->handle);
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuGraphDestroyNode(CUgraphNode handle) {
  WEFT_ENTER;
  std::shared_ptr<Node> node = state.nodes.find(handle);
  WEFT_NEED(node, CUDA_ERROR_INVALID_HANDLE);
  for (const std::shared_ptr<Node> &other : node->graph->nodes)
    std::erase(other->after, node.get());
  if (node->child)
    dropGraph(state, *node->child);
  state.nodes.erase(handle);
  std::erase(node->graph->nodes, node);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Asking and changing
//===----------------------------------------------------------------------===//

/// The driver's protocol for lists: the count alone where `out` is null, else as many as fit, padded with null.
template <class T> static CUresult giveHandles(const std::vector<Node *> &nodes, T *out, size_t *count) {
  WEFT_NOT_NULL(count);
  if (!out) {
    *count = nodes.size();
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < *count; ++i)
    out[i] = i < nodes.size() ? toHandle<T>(nodes[i]->handle) : nullptr;
  *count = std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

static CUresult listNodes(CUgraph handle, CUgraphNode *out, size_t *count, bool rootsOnly) {
  WEFT_ENTER;
  std::shared_ptr<Graph> graph = state.graphs.find(handle);
  WEFT_NEED(graph, CUDA_ERROR_INVALID_HANDLE);
  std::vector<Node *> nodes;
  for (const std::shared_ptr<Node> &node : graph->nodes)
    if (!rootsOnly || node->after.empty())
      nodes.push_back(node.get());
  return giveHandles(nodes, out, count);
}
WEFT_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) { return listNodes(graph, nodes, count, false); }
WEFT_EXPORT CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) { return listNodes(graph, nodes, count, true); }

#undef cuGraphNodeGetDependencies
WEFT_EXPORT CUresult cuGraphNodeGetDependencies(CUgraphNode handle, CUgraphNode *out, size_t *count) {
  WEFT_ENTER;
  std::shared_ptr<Node> node = state.nodes.find(handle);
  WEFT_NEED(node, CUDA_ERROR_INVALID_HANDLE);
  return giveHandles(node->after, out, count);
}

#undef cuGraphAddDependencies
WEFT_EXPORT CUresult cuGraphAddDependencies(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
  WEFT_ENTER;
  std::shared_ptr<Graph> graph = state.graphs.find(handle);
  WEFT_NEED(graph, CUDA_ERROR_INVALID_HANDLE);
  for (size_t i = 0; i < count; ++i) {
    std::shared_ptr<Node> first = state.nodes.find(from[i]), second = state.nodes.find(to[i]);
    WEFT_NOT_NULL(first && second && first != second && first->graph == graph.get() && second->graph == graph.get());
    WEFT_NOT_NULL(std::find(second->after.begin(), second->after.end(), first.get()) == second->after.end());
    second->after.push_back(first.get());
  }
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type) {
  WEFT_ENTER;
  std::shared_ptr<Node> node = state.nodes.find(handle);
  WEFT_NEED(node, CUDA_ERROR_INVALID_HANDLE);
  WEFT_NOT_NULL(type);
  switch (node->work.kind) {
  case Work::Kind::Kernel: *type = CU_GRAPH_NODE_TYPE_KERNEL; break;
  case Work::Kind::Copy: *type = CU_GRAPH_NODE_TYPE_MEMCPY; break;
  case Work::Kind::Set: *type = CU_GRAPH_NODE_TYPE_MEMSET; break;
  case Work::Kind::Host: *type = CU_GRAPH_NODE_TYPE_HOST; break;
  case Work::Kind::Record: *type = CU_GRAPH_NODE_TYPE_EVENT_RECORD; break;
  case Work::Kind::Wait: *type = CU_GRAPH_NODE_TYPE_WAIT_EVENT; break;
  case Work::Kind::Graph: *type = CU_GRAPH_NODE_TYPE_GRAPH; break;
  case Work::Kind::Empty:
  case Work::Kind::Free: *type = node->child ? CU_GRAPH_NODE_TYPE_GRAPH : CU_GRAPH_NODE_TYPE_EMPTY; break;
  }
  return CUDA_SUCCESS;
}

WEFT_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *params) {
  WEFT_ENTER;
  std::shared_ptr<Node> node = state.nodes.find(handle);
  WEFT_NOT_NULL(params && node && node->work.kind == Work::Kind::Kernel);
  const Work &work = node->work;
  node->paramPointers.clear();
  for (const ParamInfo &param : work.function->info().params)
    node->paramPointers.push_back(node->work.params.data() + param.offset);
  *params = {};
  params->func = toHandle<CUfunction>(work.function->handle);
  params->gridDimX = work.grid.x, params->gridDimY = work.grid.y, params->gridDimZ = work.grid.z;
  params->blockDimX = work.block.x, params->blockDimY = work.block.y, params->blockDimZ = work.block.z;
  params->sharedMemBytes = work.dynamicShared;
  params->kernelParams = node->paramPointers.data();
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *params) {
  WEFT_ENTER;
  std::shared_ptr<Node> node = state.nodes.find(handle);
  WEFT_NOT_NULL(params && node && node->work.kind == Work::Kind::Copy);
  *params = node->work.copy;
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS *params) {
  WEFT_ENTER;
  std::shared_ptr<Node> node = state.nodes.find(handle);
  WEFT_NOT_NULL(params && node && node->work.kind == Work::Kind::Set);
  *params = node->work.set;
  return CUDA_SUCCESS;
}

static CUresult change(State &state, CUgraphNode handle, Work work) {
  std::shared_ptr<Node> node = state.nodes.find(handle);
  WEFT_NOT_NULL(node && node->work.kind == work.kind);
  node->work = std::move(work);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(kernelWork(state, context, params, work));
  return change(state, node, std::move(work));
}
WEFT_EXPORT CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(copyWork(state, context, params, nullptr, work));
  return change(state, node, std::move(work));
}
WEFT_EXPORT CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(setWork(state, context, params, nullptr, work));
  return change(state, node, std::move(work));
}
