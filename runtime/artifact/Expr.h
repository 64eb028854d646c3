// Evaluation of the plan's host expressions.
#ifndef WEFT_RUNTIME_ARTIFACT_EXPR_H
#define WEFT_RUNTIME_ARTIFACT_EXPR_H

#include "runtime/Status.h"
#include "runtime/artifact/Plan_generated.h"
#include <cstdint>
#include <vector>

namespace weft {

struct ExprValue {
  int64_t i = 0;
  double f = 0; // float symbols
};

/// Values of a validated plan's expressions under some values of its symbols. Lazy: an expression is computed when asked
/// for, once per setting of the symbols it needs.
class Exprs {
public:
  explicit Exprs(const plan::Plan &plan);

  /// Forgets everything.
  void reset();
  /// Gives a symbol a value; expressions computed with an earlier value of it are computed anew.
  void setSymbol(uint32_t symbol, ExprValue value);
  void clearSymbol(uint32_t symbol);
  bool isSet(uint32_t symbol) const { return symbols[symbol].set; }
  ExprValue symbol(uint32_t number) const { return symbols[number].value; }
  /// True where the value does not depend on a symbol that has no value yet.
  bool isKnown(uint32_t expr);
  /// Errors: overflow, division by zero, a symbol without a value (named).
  Status get(uint32_t expr, int64_t &value);
  Status getFloat(uint32_t expr, double &value);

private:
  enum class State : uint8_t { unknown, done, failed };
  struct SymbolValue {
    ExprValue value;
    bool set = false;
  };
  struct Node {
    ExprValue value;
    uint32_t epoch = 0; // the symbols' epoch it was computed in
    State state = State::unknown;
  };
  Status evaluate(uint32_t expr);
  Status compute(const plan::ExprNode &node, ExprValue &out);

  const plan::Plan &plan;
  std::vector<SymbolValue> symbols;
  std::vector<Node> nodes;
  uint32_t epoch = 1;
};

} // namespace weft
#endif
