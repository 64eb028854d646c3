// Runs a plan's instructions on one stream, given where inputs and outputs lie.
#ifndef WEFT_RUNTIME_EXECUTOR_H
#define WEFT_RUNTIME_EXECUTOR_H

#include "runtime/Model.h"
#include "runtime/artifact/Expr.h"
#include <vector>

namespace weft {

/// Device memory of one session. Grows only; a growth changes addresses, so graphs made before it are stale.
class DeviceBuffer {
public:
  explicit DeviceBuffer(Device &device) : device(device) {}
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer &) = delete;
  /// At least `bytes`; `grown` says whether the address changed.
  Status reserve(uint64_t bytes, bool &grown);
  CUdeviceptr address() const { return base; }

private:
  Device &device;
  CUdeviceptr base = 0;
  uint64_t capacity = 0;
};

/// One run. Tensors of block 0 whose sizes are known beforehand are packed; others (sizes that the run finds out, tensors of
/// branches and loop bodies, every tensor under --check) get memory of their own when they are first written.
class Executor {
public:
  Executor(Model &model, CUstream stream, Exprs &exprs);
  ~Executor();

  /// Block 0's layout under the symbols' present values; the arena's size.
  Status layout(uint64_t &arenaBytes);
  void setArena(CUdeviceptr base) { arena = base; }
  void setInput(uint32_t number, CUdeviceptr address) { inputs[number] = address; }
  /// Enqueues everything. Waits only where the plan reads something back.
  Status run();
  /// Valid after `run`, until the executor goes.
  Status address(uint32_t tensor, CUdeviceptr &out);
  /// True where the plan is a straight line of launches, copies, fills and checks: it can be captured as a graph.
  static bool isStraight(const plan::Plan &plan);
  /// True where every output and every arena tensor has memory from `layout` (nothing is allocated while running).
  bool isStatic() const { return allStatic; }

private:
  Status block(uint32_t number);
  Status instruction(const plan::Instruction &instruction);
  Status launch(const plan::Launch &launch);
  Status tryVariant(const plan::Launch &launch, uint32_t number, const std::vector<CUdeviceptr> &pointers, bool &used);
  Status copy(uint32_t source, uint32_t target);
  Status readBack(const plan::ReadBack &op);
  Status loop(const plan::Loop &op);
  /// Memory for a tensor that is about to be written.
  Status prepare(uint32_t tensor);
  Status bytesOf(uint32_t tensor, uint64_t &bytes);
  Status own(uint32_t tensor, uint64_t bytes);

  Model &model;
  const plan::Plan &plan;
  Device &device;
  CUstream stream;
  Exprs &exprs;
  CUdeviceptr arena = 0;
  bool allStatic = true;
  struct Place {
    enum Kind : uint8_t { none, packed, owned } kind = none;
    uint64_t offset = 0; // packed
    CUdeviceptr address = 0;
    uint64_t capacity = 0; // owned
  };
  std::vector<Place> places;       // per tensor
  std::vector<CUdeviceptr> inputs; // per input
  std::vector<CUdeviceptr> retired; // outgrown blocks, kept until the run's end
};

} // namespace weft
#endif
