// Exported functions: executable graphs. One launch is one piece of work in its stream; its nodes run in an order that their
// dependencies allow, chosen by WEFT_EMULATOR_ORDER.
#include "emulator/driver/Api.h"

namespace weft::emu { // ApiGraph.cpp
CUresult kernelWork(State &state, const std::shared_ptr<Context> &context, const CUDA_KERNEL_NODE_PARAMS *params, Work &work);
CUresult copyWork(State &state, const std::shared_ptr<Context> &context, const CUDA_MEMCPY3D *copy, CUcontext owner, Work &work);
CUresult setWork(State &state, const std::shared_ptr<Context> &context, const CUDA_MEMSET_NODE_PARAMS *set, CUcontext owner, Work &work);
CUresult hostWork(const std::shared_ptr<Context> &context, const CUDA_HOST_NODE_PARAMS *params, Work &work);
} // namespace weft::emu

using namespace weft::emu;

WEFT_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *result, CUgraph handle, unsigned long long) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(result);
  std::shared_ptr<Graph> graph = state.graphs.find(handle);
  WEFT_NEED(graph, CUDA_ERROR_INVALID_HANDLE);
  FlatGraph flat = flatten(*graph);
  std::vector<size_t> schedule = scheduleOf(state, flat);
  WEFT_NEED(schedule.size() == flat.work.size(), CUDA_ERROR_INVALID_VALUE); // a cycle
  auto exec = state.execs.add(std::make_shared<GraphExec>());
  exec->work = std::make_shared<std::vector<Work>>();
  exec->order.resize(schedule.size());
  for (size_t i = 0; i < schedule.size(); ++i) {
    exec->order[schedule[i]] = i;
    exec->place[flat.handles[schedule[i]]] = i;
    exec->work->push_back(flat.work[schedule[i]]);
  }
  flat.work.clear();
  exec->shape = std::move(flat);
  *result = toHandle<CUgraphExec>(exec->handle);
  return CUDA_SUCCESS;
}
#undef cuGraphInstantiate
#ifndef WEFT_USE_CUDA_H
WEFT_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *errorNode, char *log, size_t size) {
  if (errorNode)
    *errorNode = nullptr;
  if (log && size)
    *log = 0;
  return cuGraphInstantiateWithFlags(exec, graph, 0);
}
WEFT_EXPORT CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *errorNode, char *log, size_t size) {
  return cuGraphInstantiate_v2(exec, graph, errorNode, log, size);
}
#endif
WEFT_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
  WEFT_NOT_NULL(params);
  CUresult result = cuGraphInstantiateWithFlags(exec, graph, params->flags);
  params->hErrNode_out = nullptr;
  params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}
WEFT_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  WEFT_ENTER;
  return state.execs.erase(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
WEFT_EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream) {
  WEFT_ENTER_CONTEXT;
  return state.execs.find(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

WEFT_EXPORT CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  WEFT_ENTER_CONTEXT;
  std::shared_ptr<GraphExec> exec = state.execs.find(handle);
  std::shared_ptr<Stream> stream = findStream(state, context, streamHandle);
  WEFT_NEED(exec && stream, CUDA_ERROR_INVALID_HANDLE);
  Work work;
  work.kind = Work::Kind::Graph;
  std::vector<Moment> after;
  if (!exec->last.reached())
    after.push_back(exec->last);
  std::vector<std::shared_ptr<Event>> recorded;
  bool hasRecords = false;
  for (const Work &part : *exec->work) {
    if (part.kind == Work::Kind::Wait && part.event && !part.event->moment.reached())
      after.push_back(part.event->moment);
    hasRecords |= part.kind == Work::Kind::Record && part.event;
  }
  std::shared_ptr<std::vector<Work>> parts = exec->work;
  if (hasRecords) { // every launch stamps its own record
    parts = std::make_shared<std::vector<Work>>(*exec->work);
    for (Work &part : *parts)
      if (part.kind == Work::Kind::Record && part.event) {
        part.stamp = std::make_shared<Stamp>();
        recorded.push_back(part.event);
        part.event->stamp = part.stamp;
      }
  }
  work.graph = parts;
  Moment moment;
  WEFT_TRY(enqueue(state, stream, std::move(work), std::move(after), &moment));
  if (moment.stream)
    exec->last = moment;
  for (const std::shared_ptr<Event> &event : recorded)
    event->moment = moment;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Changes; launches that are queued keep what they were launched with
//===----------------------------------------------------------------------===//

static bool isSameKind(const Work &old, const Work &work) {
  return old.kind == work.kind && (work.kind != Work::Kind::Copy || (old.copy.srcMemoryType == work.copy.srcMemoryType &&
                                                                      old.copy.dstMemoryType == work.copy.dstMemoryType));
}

static Work &workToChange(GraphExec &exec, size_t place) {
  if (exec.work.use_count() > 1)
    exec.work = std::make_shared<std::vector<Work>>(*exec.work);
  return (*exec.work)[place];
}

static CUresult replace(State &state, CUgraphExec handle, CUgraphNode node, Work work) {
  std::shared_ptr<GraphExec> exec = state.execs.find(handle);
  WEFT_NEED(exec, CUDA_ERROR_INVALID_HANDLE);
  auto it = exec->place.find(node);
  WEFT_NEED(it != exec->place.end(), CUDA_ERROR_INVALID_VALUE);
  WEFT_NEED(isSameKind((*exec->work)[it->second], work), CUDA_ERROR_INVALID_VALUE);
  workToChange(*exec, it->second) = std::move(work);
  return CUDA_SUCCESS;
}
WEFT_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(kernelWork(state, context, params, work));
  return replace(state, exec, node, std::move(work));
}
WEFT_EXPORT CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params, CUcontext owner) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(copyWork(state, context, params, owner, work));
  return replace(state, exec, node, std::move(work));
}
WEFT_EXPORT CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext owner) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(setWork(state, context, params, owner, work));
  return replace(state, exec, node, std::move(work));
}
WEFT_EXPORT CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params) {
  WEFT_ENTER_CONTEXT;
  Work work;
  WEFT_TRY(hostWork(context, params, work));
  return replace(state, exec, node, std::move(work));
}

static CUgraphExecUpdateResult compare(const GraphExec &exec, const FlatGraph &flat, size_t &node) {
  if (flat.after != exec.shape.after)
    return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (node = 0; node < flat.work.size(); ++node)
    if (!isSameKind((*exec.work)[exec.order[node]], flat.work[node]))
      return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

WEFT_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graphHandle, CUgraphExecUpdateResultInfo *info) {
  WEFT_ENTER_CONTEXT;
  WEFT_NOT_NULL(info);
  std::shared_ptr<GraphExec> exec = state.execs.find(handle);
  std::shared_ptr<Graph> graph = state.graphs.find(graphHandle);
  WEFT_NEED(exec && graph, CUDA_ERROR_INVALID_HANDLE);
  FlatGraph flat = flatten(*graph);
  size_t node = flat.work.size();
  *info = {};
  info->result = compare(*exec, flat, node);
  if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    info->errorNode = node < flat.work.size() ? toHandle<CUgraphNode>(flat.handles[node]) : nullptr;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (size_t i = 0; i < flat.work.size(); ++i)
    workToChange(*exec, exec->order[i]) = std::move(flat.work[i]);
  return CUDA_SUCCESS;
}
#undef cuGraphExecUpdate
#ifndef WEFT_USE_CUDA_H
WEFT_EXPORT CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *errorNode, CUgraphExecUpdateResult *result) {
  CUgraphExecUpdateResultInfo info{};
  CUresult code = cuGraphExecUpdate_v2(exec, graph, &info);
  if (errorNode)
    *errorNode = info.errorNode;
  if (result)
    *result = info.result;
  return code;
}
#endif
