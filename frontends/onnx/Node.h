// What a rule sees of an ONNX node: inputs, attributes with defaults, host values, and a builder for graph operations.
//
// Before a rule runs, the node has been checked against its operator's schema: required inputs are there, attributes have
// the right type, input element types are allowed and agree. A rule checks what the schema cannot say.
#ifndef WEFT_FRONTENDS_ONNX_NODE_H
#define WEFT_FRONTENDS_ONNX_NODE_H

#include "frontends/onnx/Builder.h"
#include "frontends/onnx/HostValue.h"
#include "frontends/onnx/Model.h"

namespace weft::onnx {

class Importer;

/// What a name of the ONNX graph stands for. A tensor may be known as a device value, as host values, or both.
struct Slot {
  enum Kind { absent, tensor, sequence, none /* an empty optional */, strings } kind = absent;
  Value value;                          // the device value, where it has been made
  const Tensor *constant = nullptr;     // the model's tensor, where it is one
  std::shared_ptr<HostTensor> host;     // its elements on the host, where they are known
  int argument = -1;                    // number of the function argument, where it is one
  std::vector<Slot> elements;           // of a sequence
  Type elementType;                     // of a tensor; of a sequence's elements where known
  std::shared_ptr<struct Recipe> recipe; // how the host could compute it, where only the device does so far
  static Slot of(Value value);
  static Slot of(HostTensor host);
};

/// A node that has a host form, and its inputs.
struct Recipe {
  const NodeDef *def;
  std::vector<Slot> inputs;
  unsigned output;
  struct Frame *frame; // the function call around it, whose attributes it may use
};

class Node : public GraphBuilder {
public:
  Node(Importer &importer, BuildState &state, const NodeDef &def, std::vector<Slot *> inputs, mlir::Location loc)
      : GraphBuilder(state, loc), def(def), importer(importer), slots(std::move(inputs)), outputs(def.outputs.size()) {}
  /// Reports with the node's name and operator in front.
  LogicalResult error(const Twine &message) override;

  const NodeDef &def;
  Importer &importer;
  StringRef op() const { return def.op; }
  int version() const { return def.version; }

  // Inputs.
  unsigned numInputs() const { return slots.size(); }
  bool has(unsigned i) const { return i < slots.size() && slots[i] && slots[i]->kind != Slot::absent; }
  Slot &slot(unsigned i) { return *slots[i]; }
  /// Input i as a device tensor. Where there is none, reports that and gives a number, so that the rule can go on.
  Value in(unsigned i);
  /// Input i, or null where absent.
  Value opt(unsigned i) { return has(i) ? in(i) : Value(); }
  /// Dimensions and element type of tensor input i without making a device value of it.
  Dims dims(unsigned i);
  Type type(unsigned i);
  int64_t rank(unsigned i) { return dims(i).size(); }

  // Host values of inputs: known ones, elements of small graph inputs, else read back from the device.
  using GraphBuilder::host;
  const HostTensor *host(unsigned i);
  /// The same for a slot that is no input; `what` names it in messages.
  const HostTensor *hostOf(Slot &slot, const Twine &what);
  /// The elements as expressions, or an error and nothing.
  std::optional<Dims> hostExprs(unsigned i);
  /// The elements where all are constants, or an error and nothing.
  std::optional<SmallVector<int64_t>> hostInts(unsigned i);
  std::optional<SmallVector<double>> hostReals(unsigned i);
  /// Host values only where they are known already.
  const HostTensor *peekHost(unsigned i);

  // Attributes; the defaults are ONNX's.
  bool hasAttr(StringRef name) const { return attr(name) != nullptr; }
  const Attribute *attr(StringRef name) const;
  int64_t i(StringRef name, int64_t otherwise = 0) const;
  double f(StringRef name, double otherwise = 0) const;
  std::string s(StringRef name, StringRef otherwise = "") const;
  SmallVector<int64_t> ints(StringRef name, ArrayRef<int64_t> otherwise = {}) const;
  SmallVector<float> reals(StringRef name, ArrayRef<float> otherwise = {}) const;
  std::vector<std::string> strings(StringRef name) const;
  const Graph *graph(StringRef name) const;
  using GraphBuilder::ints;
  using GraphBuilder::axis;
  using GraphBuilder::axes;
  /// Attribute `name`, an axis of `rank`.
  int64_t axisAttr(StringRef name, int64_t otherwise, int64_t rank) { return axis(i(name, otherwise), rank, name); }
  /// Axes from attribute `name` or, in later versions, from constant input `input`; nothing where neither is given.
  std::optional<SmallVector<int64_t>> axesFrom(StringRef name, unsigned input);
  /// Whether input `input` is there and only the run knows its elements.
  bool isRuntime(unsigned input);
  /// The element type that an attribute names (ONNX's number).
  Type elementType(StringRef attribute, DataType otherwise);
  Type elementType(DataType type);

  // Results.
  bool wants(unsigned i) const { return i < def.outputs.size() && !def.outputs[i].empty(); }
  unsigned numOutputs() const { return def.outputs.size(); }
  void set(unsigned i, Value value) { setSlot(i, Slot::of(value)); }
  void set(unsigned i, HostTensor host) { setSlot(i, Slot::of(std::move(host))); }
  void setSlot(unsigned i, Slot slot) {
    if (i < outputs.size())
      outputs[i] = std::move(slot);
  }
  /// Sets output 0 and ends the rule.
  LogicalResult result(Value value) { return set(0, value), success(!failed); }
  LogicalResult result(HostTensor host) { return set(0, std::move(host)), success(!failed); }
  std::vector<Slot> &results() { return outputs; }

  // Whole-node forms of the commonest operators.
  LogicalResult unaryRule(UnaryKind kind) { return result(unary(kind, in(0))); }
  LogicalResult binaryRule(BinaryKind kind);
  LogicalResult compareRule(CompareKind kind) { return result(compare(kind, in(0), in(1))); }

private:
  std::vector<Slot *> slots; // null where absent
  std::vector<Slot> outputs;
  std::vector<std::shared_ptr<HostTensor>> readBacks; // keeps what host() gave alive
};

using Rule = LogicalResult (*)(Node &);

/// Conv's attributes applied to any operands (Convolution.cpp); sets output 0. `bias` may be null.
LogicalResult convolve(Node &n, Value x, Value w, Value bias);

/// A value chosen by a host condition (graph.if; one side only where it is known). Dimensions that differ become symbols.
Value branch(Node &n, AffineExpr condition, llvm::function_ref<Value()> yes, llvm::function_ref<Value()> no);
/// body(axes) for axes that only the run knows: input `input` names some of `rank`, and each choice becomes a branch.
LogicalResult overRuntimeAxes(Node &n, unsigned input, int64_t rank, llvm::function_ref<Value(ArrayRef<int64_t>)> body);
/// A loop built by code: `body` gets the iteration and the carried values and gives the next ones, then scan outputs.
/// Results: final carried values, then scan outputs stacked along a new first dimension of length `trip`.
std::optional<SmallVector<Value>> countedLoop(Node &n, AffineExpr trip, ArrayRef<Value> inits,
                                              llvm::function_ref<SmallVector<Value>(AffineExpr, ArrayRef<Value>)> body);

/// The table of rules: for each operator, the first since_version that the rule is for.
class Rules {
public:
  /// `version`: the oldest since_version that the rule understands; a newer rule of the same name takes over from its own.
  void add(StringRef op, int version, Rule rule) { table[op.str()][version] = rule; }
  Rule find(StringRef op, int version) const;
  const std::map<std::string, std::map<int, Rule>> &all() const { return table; }

private:
  std::map<std::string, std::map<int, Rule>> table;
};

/// Every family's rules; families are listed in Ops.def.
const Rules &allRules();
#define WEFT_FAMILY(NAME) void add##NAME##Rules(Rules &rules);
#include "frontends/onnx/Ops.def"
#undef WEFT_FAMILY

/// Evaluates the node on the host where its operator has a host form and all inputs are host values.
bool evaluateOnHost(Node &node);
bool hasHostForm(StringRef op);

} // namespace weft::onnx
#endif
