// Graphs: nodes, flattening, order of execution; captures that build them.
#include "emulator/driver/State.h"
#include <algorithm>

namespace weft::emu {

std::shared_ptr<Graph> makeGraph(State &state) { return state.graphs.add(std::make_shared<Graph>()); }

Node *addNode(State &state, Graph &graph, std::vector<Node *> after, Work work) {
  std::shared_ptr<Node> node = state.nodes.add(std::make_shared<Node>());
  node->graph = &graph;
  node->after = std::move(after);
  node->work = std::move(work);
  graph.nodes.push_back(node);
  return node.get();
}

/// Forgets a graph's handles, those of its children included.
void dropGraph(State &state, Graph &graph) {
  for (const std::shared_ptr<Node> &node : graph.nodes) {
    if (node->child)
      dropGraph(state, *node->child);
    state.nodes.erase(node->handle);
  }
  state.graphs.erase(graph.handle);
}

/// Adds `graph`, whose roots come after `before`; gives back the indices of its own nodes.
static std::vector<size_t> flattenInto(const Graph &graph, const std::vector<size_t> &before, FlatGraph &flat) {
  std::unordered_map<const Node *, size_t> index;
  std::vector<size_t> own;
  std::vector<std::pair<size_t, const Node *>> pending;
  for (const std::shared_ptr<Node> &node : graph.nodes) {
    std::vector<size_t> inner;
    if (node->child) { // the child's nodes come first, then the node itself, as a join
      std::vector<size_t> enter = before;
      for (Node *previous : node->after)
        if (auto it = index.find(previous); it != index.end())
          enter.push_back(it->second);
      inner = flattenInto(*node->child, enter, flat);
    }
    index[node.get()] = flat.work.size();
    own.push_back(flat.work.size());
    pending.push_back({flat.work.size(), node.get()});
    flat.handles.push_back(node->handle);
    flat.work.push_back(node->work);
    flat.after.push_back(std::move(inner));
  }
  for (auto &[number, node] : pending) {
    std::vector<size_t> &after = flat.after[number];
    if (node->after.empty())
      after.insert(after.end(), before.begin(), before.end());
    for (Node *previous : node->after)
      after.push_back(index.at(previous));
  }
  return own;
}

FlatGraph flatten(const Graph &graph) {
  FlatGraph flat;
  flattenInto(graph, {}, flat);
  return flat;
}

std::vector<size_t> scheduleOf(const State &state, const FlatGraph &flat) {
  size_t count = flat.work.size();
  std::vector<size_t> preference = permuted(state, count, count), rank(count), order;
  for (size_t i = 0; i < count; ++i)
    rank[preference[i]] = i;
  std::vector<size_t> missing(count);
  std::vector<std::vector<size_t>> next(count);
  for (size_t i = 0; i < count; ++i) {
    missing[i] = flat.after[i].size();
    for (size_t previous : flat.after[i])
      next[previous].push_back(i);
  }
  std::map<size_t, size_t> ready; // rank -> node
  for (size_t i = 0; i < count; ++i)
    if (!missing[i])
      ready[rank[i]] = i;
  while (!ready.empty()) {
    size_t node = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(node);
    for (size_t follower : next[node])
      if (--missing[follower] == 0)
        ready[rank[follower]] = follower;
  }
  return order.size() == count ? order : std::vector<size_t>();
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

void invalidateCapture(Capture &capture) { capture.invalid = true; }

CUresult checkUncaptured(State &state) {
  for (const std::shared_ptr<Capture> &capture : state.captures) {
    bool forbidden = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
                     (capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && capture->thread == std::this_thread::get_id());
    if (!forbidden)
      continue;
    invalidateCapture(*capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

} // namespace weft::emu
