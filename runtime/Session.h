// Running a model: one session for one thread at a time; several sessions may share a model.
#ifndef WEFT_RUNTIME_SESSION_H
#define WEFT_RUNTIME_SESSION_H

#include "runtime/Array.h"
#include "runtime/Model.h"
#include "runtime/artifact/Expr.h"
#include <map>
#include <memory>

namespace weft {

struct RunStats {
  double milliseconds = 0; // from the first copy to the last, device finished
  uint64_t arenaBytes = 0;
};

class Session {
public:
  explicit Session(Model &model);
  ~Session();
  /// Checks the inputs, runs, and gives the outputs in the model's order. An input error names the input, what was expected
  /// and what was found.
  Status run(const std::map<std::string, Array> &inputs, std::vector<std::pair<std::string, Array>> &outputs, RunStats *stats = nullptr);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Sets the symbols that stand for dimensions of inputs; `shapes` holds one shape per input, in the model's order. Checks rank,
/// fixed dimensions and that equal names have equal values.
Status bindShapes(const plan::Plan &plan, const std::vector<std::vector<int64_t>> &shapes, Exprs &exprs);

/// The arena's peak and the outputs' shapes for given input shapes (an output dimension that only a run can tell is -1).
Status describeShapes(const plan::Plan &plan, const std::map<std::string, std::vector<int64_t>> &shapes, uint64_t &arenaBytes,
                      uint64_t &liveBytes, std::vector<std::vector<int64_t>> &outputShapes);

/// An expression for people: "batch", "(h + 1) floordiv 2".
std::string exprToString(const plan::Plan &plan, uint32_t expr);

} // namespace weft
#endif
