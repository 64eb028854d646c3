// Running a model: one session for one thread at a time; several sessions may share a model.
#ifndef WEFT_RUNTIME_SESSION_H
#define WEFT_RUNTIME_SESSION_H

#include "runtime/Array.h"
#include "runtime/Model.h"
#include "runtime/artifact/Expr.h"
#include <map>
#include <memory>
#include <span>

namespace weft {

/// One command of a profiled run, in milliseconds from the run's start on the device.
struct ProfileEvent {
  std::string name;
  double begin = 0, duration = 0;
};

struct RunStats {
  double milliseconds = 0; // from the first copy to the last, device finished
  uint64_t arenaBytes = 0;
  std::vector<ProfileEvent> events; // where profiling is on
};

/// An input in device memory.
struct DeviceArray {
  CUdeviceptr address = 0;
  std::vector<int64_t> shape;
  const uint8_t *host = nullptr; // the same bytes on the host, where the caller has them: saves reading back what the host needs
};

/// Memory for an output; address 0: the session finds memory.
struct DeviceMemory {
  CUdeviceptr address = 0;
  uint64_t bytes = 0;
};

struct EnqueueOptions {
  CUstream stream = nullptr; // null: the session's own
  DeviceMemory arena;        // null address: the session's own
};

class Session {
public:
  explicit Session(Model &model);
  ~Session();
  /// Checks the inputs, runs, and gives the outputs in the model's order. An input error names the input, what was expected
  /// and what was found.
  Status run(const std::map<std::string, Array> &inputs, std::vector<std::pair<std::string, Array>> &outputs, RunStats *stats = nullptr);

  /// Enqueues a run over device memory, one entry per input and output in the model's order (`outputs` may be empty). Does not
  /// wait, except where the plan reads something back from the device or the host needs elements of an input that
  /// has no host copy. Runs of one session follow one another, on whatever streams.
  Status enqueue(std::span<const DeviceArray> inputs, std::span<const DeviceMemory> outputs, const EnqueueOptions &options = {});
  /// Where an output of the last run lies (until the next one) and its shape.
  Status output(uint32_t number, DeviceMemory &memory, std::vector<int64_t> &shape);
  Status synchronize();
  /// Bytes of arena that a run over these shapes (one per input, in the model's order) needs, tensors that only a run can
  /// measure left out.
  Status arenaBytes(const std::vector<std::vector<int64_t>> &shapes, uint64_t &bytes);

  /// Measures every command of later runs; they do not use graphs.
  void setProfiling(bool on);
  Model &model() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Sets the symbols that stand for dimensions of inputs; `shapes` holds one shape per input, in the model's order. Checks rank,
/// fixed dimensions and that equal names have equal values.
Status bindShapes(const plan::Plan &plan, const std::vector<std::vector<int64_t>> &shapes, Exprs &exprs);

/// Sets the symbols that the plan's SetSymbol instructions decide from what is known already: those that no read-back and no loop
/// defines too, outside and inside branches whose condition is known.
void foldSymbols(const plan::Plan &plan, Exprs &exprs);

/// The arena's peak and the outputs' shapes for given input shapes (an output dimension that only a run can tell is -1).
Status describeShapes(const plan::Plan &plan, const std::map<std::string, std::vector<int64_t>> &shapes, uint64_t &arenaBytes,
                      uint64_t &liveBytes, std::vector<std::vector<int64_t>> &outputShapes);

/// An expression for people: "batch", "((h + 1) floordiv 2)"; "..." where it is very long.
std::string exprToString(const plan::Plan &plan, uint32_t expr);

} // namespace weft
#endif
