// Runs a plan's instructions on one stream, given where inputs and outputs lie.
#ifndef WEFT_RUNTIME_EXECUTOR_H
#define WEFT_RUNTIME_EXECUTOR_H

#include "runtime/Commands.h"
#include "runtime/Memory.h"
#include "runtime/Model.h"
#include "runtime/artifact/Expr.h"
#include "runtime/artifact/Packer.h"
#include <functional>
#include <vector>

namespace weft {

/// The plan under one tuple of input shapes.
///
/// Memory: the tensors of block 0 whose sizes the inputs' shapes decide lie in the arena, packed by their lifetimes. Every
/// other arena tensor (of a branch or a loop body, or of a size that the run finds out) lies in a segment from the pool: when
/// one is first written, all tensors of its block whose sizes are known by then are packed together. A block's segments go
/// back when the block ends. Under --check every tensor has a block of its own.
class Executor {
public:
  Executor(Model &model, Exprs &exprs, Pool &pool);
  ~Executor();

  /// Packs the arena under the symbols' present values.
  Status layout();
  uint64_t arenaBytes() const { return arenaPacking.peak; }
  uint64_t liveBytes() const { return arenaPacking.lowerBound; }
  void setArena(CUdeviceptr address) { arena = address; }
  void setInput(uint32_t number, CUdeviceptr address, uint64_t bytes) { inputs[number] = {address, bytes}; }
  /// Address 0: the executor finds memory when the output is written, and its size known.
  void setOutput(uint32_t number, CUdeviceptr address, uint64_t bytes) { outputs[number] = {address, bytes}; }

  /// True where the plan is a straight line over shapes that are known beforehand: it may become a graph.
  bool isStraight() const { return straight; }
  /// Executes everything; commands go to `sink` in order. The sink may only keep them where the plan is straight.
  using Sink = std::function<Status(Command &&)>;
  Status run(CUstream stream, const Sink &sink);
  /// Forgets what the last run found out, and gives its memory back.
  void begin();

  /// Where a tensor lies. Outputs: valid after `run` until `begin`.
  Status address(uint32_t tensor, CUdeviceptr &out);
  Status bytesOf(uint32_t tensor, uint64_t &bytes);

private:
  struct Memory {
    CUdeviceptr address = 0;
    uint64_t bytes = 0; // capacity
  };
  Status block(uint32_t number);
  Status instruction(const plan::Instruction &instruction);
  Status launch(const plan::Launch &launch);
  Status tryVariant(const plan::Launch &launch, uint32_t number, const std::vector<CUdeviceptr> &pointers, bool &used);
  Status scalarArg(const plan::Arg &arg, bool index32, uint64_t &bits, bool &fits);
  Status copy(uint32_t source, uint32_t target);
  Status copyOutputs();
  Status readBack(const plan::ReadBack &op);
  Status loop(const plan::Loop &op);
  /// Memory for a tensor that is about to be written.
  Status prepare(uint32_t tensor);
  Status placeSegment(uint32_t block);
  Status own(Memory &memory, uint64_t bytes, std::vector<CUdeviceptr> &owner);
  void release(uint32_t block);

  Model &model;
  const plan::Plan &plan;
  Device &device;
  Exprs &exprs;
  Pool &pool;
  bool straight = false;
  CUstream stream = nullptr;
  const Sink *sink = nullptr;

  CUdeviceptr arena = 0;
  Packing arenaPacking;
  std::vector<uint32_t> arenaTensors;             // what arenaPacking holds, in its order
  std::vector<Memory> inputs, outputs;            // per input, per output
  std::vector<Memory> places;                     // per tensor: arena tensors outside the arena (address 0: not placed)
  std::vector<int64_t> inArena;                   // per tensor: its offset, or -1
  std::vector<uint64_t> arenaCapacity;            // per tensor: bytes it has in the arena
  std::vector<std::vector<uint32_t>> blockTensors; // per block: its arena tensors
  std::vector<std::vector<CUdeviceptr>> blockMemory; // per block: pool blocks held by its tensors
  std::vector<CUdeviceptr> outputMemory;          // pool blocks held by outputs
};

} // namespace weft
#endif
