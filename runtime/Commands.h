// What a plan's instructions become once shapes and addresses are known: kernels, copies and fills, issued to a stream one
// by one or kept as a CUDA graph.
#ifndef WEFT_RUNTIME_COMMANDS_H
#define WEFT_RUNTIME_COMMANDS_H

#include "runtime/Device.h"
#include <array>
#include <vector>

namespace weft {

struct Command {
  enum Kind : uint8_t { kernel, copy, fill } kind = kernel;
  uint8_t byte = 0;                                    // fill
  CUdeviceptr source = 0, target = 0;                  // copy: source; copy and fill: target
  uint64_t bytes = 0;                                  // copy and fill
  CUfunction function = nullptr;                       // kernel
  std::array<unsigned, 3> grid = {}, block = {};       // kernel
  unsigned shared = 0;                                 // kernel: dynamic shared memory, bytes
  std::vector<uint64_t> params;                        // kernel: one slot each; a narrower parameter uses the low bytes
  std::string name;                                    // for messages and profiles
  bool operator==(const Command &) const = default;
};

Status issue(Device &device, CUstream stream, Command &command);

/// An instantiated graph of commands, each after the one before it.
class Graph {
public:
  explicit Graph(Device &device) : device(device) {}
  ~Graph() { clear(); }
  Graph(const Graph &) = delete;
  /// Makes the graph hold `commands`: nodes whose parameters differ are updated in place where the kinds of the nodes are the
  /// same, else the graph is built anew. Must not be called while the graph runs under other parameters that still matter.
  Status set(std::vector<Command> commands);
  Status launch(CUstream stream);
  bool isSet() const { return ready; }
  void clear();

private:
  Status build();
  Status update(size_t number, Command &command);
  Device &device;
  std::vector<Command> commands;
  std::vector<CUgraphNode> nodes;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  bool ready = false;
};

} // namespace weft
#endif
