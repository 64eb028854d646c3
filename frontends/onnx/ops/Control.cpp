// If, Loop and Scan.
#include "frontends/onnx/Importer.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

/// Slots as tensors at the builder's point; an error where one is no tensor.
bool toValues(Node &n, MutableArrayRef<Slot> slots, SmallVector<Value> &values) {
  for (Slot &slot : slots) {
    if (slot.kind != Slot::tensor)
      return (void)n.error("only tensors may pass through control flow that is decided at run time"), false;
    values.push_back(n.importer.materialize(slot, n.loc));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// The type of a result whose branches give `x` and `y`; dimensions that differ become fresh symbols, noted in `set`.
Type joinTypes(Node &n, Value x, Value y, SmallVectorImpl<AffineExpr> &set) {
  if (n.rankOf(x) != n.rankOf(y) || n.typeOf(x) != n.typeOf(y))
    return (void)n.error("both branches must give the same element type and rank"), Type();
  Dims dims;
  for (auto [a, b] : llvm::zip(n.dimsOf(x), n.dimsOf(y))) {
    AffineExpr dim = a == b ? a : n.syms.defined("");
    if (a != b)
      set.push_back(dim);
    dims.push_back(dim);
  }
  n.noteSizes(set);
  return n.tensor(dims, n.typeOf(x));
}

/// Lists the symbols that the branch taken sets, in the order of the results' dimensions.
void noteSet(Node &n, IfOp op, ArrayRef<AffineExpr> set) {
  SmallVector<int64_t> numbers;
  for (AffineExpr e : set)
    numbers.push_back(cast<AffineSymbolExpr>(e).getPosition());
  if (!numbers.empty())
    op->setAttr("set", n.b.getDenseI64ArrayAttr(numbers));
}

/// Where both branches give host values of one shape, made outside of them, the result is one too.
std::optional<HostTensor> joinHosts(Node &n, AffineExpr condition, Slot &x, Slot &y) {
  const HostTensor *a = n.importer.peekHost(x), *b = n.importer.peekHost(y);
  if (!a || !b || a->shape != b->shape || a->elementType != b->elementType)
    return std::nullopt;
  HostTensor out{a->elementType, a->shape, {}};
  for (auto [v, w] : llvm::zip(a->values, b->values))
    out.values.push_back(selectScalar(Scalar{condition, 0, 0, false}, v, w, n.syms));
  return out;
}

} // namespace

Value weft::onnx::branch(Node &n, AffineExpr condition, llvm::function_ref<Value()> yes, llvm::function_ref<Value()> no) {
  if (auto known = getConstant(condition))
    return *known ? yes() : no();
  auto draft = IfOp::create(n.b, n.loc, TypeRange(), n.dimsAttr({condition}));
  n.importer.discarded.push_back(draft);
  Value values[2];
  for (int k = 0; k < 2; ++k) {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&draft->getRegion(k).emplaceBlock());
    values[k] = k ? no() : yes();
    YieldOp::create(n.b, n.loc, values[k]);
  }
  SmallVector<AffineExpr> set;
  Type type = joinTypes(n, values[0], values[1], set);
  if (!type)
    return values[0];
  auto op = IfOp::create(n.b, n.loc, type, n.dimsAttr({condition}));
  op.getThenRegion().takeBody(draft.getThenRegion());
  op.getElseRegion().takeBody(draft.getElseRegion());
  noteSet(n, op, set);
  return op->getResult(0);
}

LogicalResult weft::onnx::overRuntimeAxes(Node &n, unsigned input, int64_t rank, llvm::function_ref<Value(ArrayRef<int64_t>)> body) {
  auto axes = n.hostExprs(input);
  if (!axes)
    return failure();
  size_t count = axes->size();
  SmallVector<SmallVector<int64_t>> choices; // all sets of `count` axes
  for (int64_t bits = 0; bits < (int64_t(1) << std::min<int64_t>(rank, 6)) && rank <= 6; ++bits)
    if (size_t(llvm::popcount(uint64_t(bits))) == count) {
      choices.emplace_back();
      for (int64_t a = 0; a < rank; ++a)
        if (bits >> a & 1)
          choices.back().push_back(a);
    }
  if (choices.empty())
    return n.error("axes that are decided at run time must be at most the rank, which must be 6 or less");
  auto isChosen = [&](ArrayRef<int64_t> choice) {
    AffineExpr all = n.c(1);
    for (int64_t a : choice) {
      AffineExpr any = n.c(0);
      for (AffineExpr e : *axes)
        for (int64_t v : {a, a - rank})
          any = n.fn(SymbolFn::logical_or, {any, n.fn(SymbolFn::eq, {e, n.c(v)})});
      all = n.fn(SymbolFn::logical_and, {all, any});
    }
    return all;
  };
  for (unsigned i = 0; i < n.numInputs(); ++i)
    (void)n.opt(i); // made outside of the branches
  std::function<Value(size_t)> from = [&](size_t k) -> Value {
    if (k + 1 == choices.size())
      return body(choices[k]);
    return branch(n, isChosen(choices[k]), [&] { return body(choices[k]); }, [&] { return from(k + 1); });
  };
  return n.result(from(0));
}

namespace {

LogicalResult ifRule(Node &n) {
  const Graph *branches[] = {n.graph("then_branch"), n.graph("else_branch")};
  auto condition = n.hostExprs(0);
  if (!condition || condition->size() != 1 || !branches[0] || !branches[1])
    return n.bad() ? failure() : n.error("the condition must be one bool");
  std::vector<Slot> results[2];
  if (auto known = getConstant((*condition)[0])) {
    if (failed(n.importer.importBody(*branches[*known ? 0 : 1], {}, results[0], n.loc)))
      return failure();
    for (auto [i, slot] : llvm::enumerate(results[0]))
      n.setSlot(i, slot);
    return success();
  }
  auto draft = IfOp::create(n.b, n.loc, TypeRange(), n.dimsAttr(*condition));
  n.importer.discarded.push_back(draft);
  SmallVector<Value> values[2];
  for (int k = 0; k < 2; ++k) {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&draft->getRegion(k).emplaceBlock());
    if (failed(n.importer.importBody(*branches[k], {}, results[k], n.loc)) || !toValues(n, results[k], values[k]))
      return failure();
    YieldOp::create(n.b, n.loc, values[k]);
  }
  if (values[0].size() != values[1].size() || values[0].size() != n.numOutputs())
    return n.error("both branches must have as many outputs as the node");
  SmallVector<Type> types;
  SmallVector<AffineExpr> set;
  for (auto [x, y] : llvm::zip(values[0], values[1]))
    types.push_back(joinTypes(n, x, y, set));
  if (n.bad())
    return failure();
  auto op = IfOp::create(n.b, n.loc, types, n.dimsAttr(*condition));
  op.getThenRegion().takeBody(draft.getThenRegion());
  op.getElseRegion().takeBody(draft.getElseRegion());
  noteSet(n, op, set);
  for (unsigned i = 0; i < types.size(); ++i) {
    Slot slot = Slot::of(op->getResult(i));
    if (auto host = joinHosts(n, (*condition)[0], results[0][i], results[1][i]))
      slot.host = std::make_shared<HostTensor>(std::move(*host));
    n.setSlot(i, slot);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

using LoopBody = std::optional<std::vector<Slot>>;
struct LoopForm {
  SmallVector<Value> inits;
  Dims trip, condition;      // one expression or none each
  bool hasCondition = false; // the body's first output says whether to go on
  /// Builds the body for an iteration number and the carried arguments: gives its outputs.
  llvm::function_ref<LoopBody(AffineExpr, ArrayRef<Value>)> body;
  std::optional<size_t> outputs; // carried values and scan outputs; by default as many as the node has
};

struct Draft {
  LoopOp op;
  SmallVector<Value> yields;
  Dims goOn;
};

/// Imports the body once, for carried arguments of these types.
std::optional<Draft> importLoop(Node &n, const LoopForm &form, ArrayRef<Type> types, AffineExpr iteration, AffineExpr trips) {
  auto number = [](AffineExpr e) { return int64_t(cast<AffineSymbolExpr>(e).getPosition()); };
  Draft draft;
  draft.op = LoopOp::create(n.b, n.loc, TypeRange(), form.inits, n.dimsAttr(form.trip), n.dimsAttr(form.condition), n.dimsAttr({}),
                            n.b.getI64IntegerAttr(number(iteration)), n.b.getI64IntegerAttr(number(trips)));
  n.importer.discarded.push_back(draft.op);
  OpBuilder::InsertionGuard guard(n.b);
  Block &block = draft.op.getBody().emplaceBlock();
  n.b.setInsertionPointToEnd(&block);
  SmallVector<Value> arguments;
  for (Type type : types)
    arguments.push_back(block.addArgument(type, n.loc));
  LoopBody built = form.body(iteration, arguments);
  if (!built || n.bad())
    return std::nullopt;
  std::vector<Slot> &outputs = *built;
  MutableArrayRef<Slot> carried(outputs);
  if (form.hasCondition) {
    if (outputs.empty())
      return (void)n.error("the body must give a condition first"), std::nullopt;
    const HostTensor *goOn = n.hostOf(outputs[0], "the body's condition");
    if (!goOn || goOn->values.size() != 1)
      return std::nullopt;
    if (!goOn->values[0].isConstant() || !goOn->values[0].integer)
      draft.goOn = goOn->exprs(n.syms);
    carried = carried.drop_front();
  }
  if (carried.size() < types.size() || carried.size() != form.outputs.value_or(n.numOutputs()))
    return (void)n.error("the body has " + Twine(outputs.size()) + " outputs, which do not fit the node's inputs and outputs"), std::nullopt;
  if (!toValues(n, carried, draft.yields))
    return std::nullopt;
  YieldOp::create(n.b, n.loc, draft.yields);
  return draft;
}

/// Gives argument dimensions that an iteration changes symbols of their own. True where there were some.
bool loosen(Node &n, SmallVectorImpl<Type> &types, ArrayRef<Value> yields) {
  bool changed = false;
  for (auto [type, yield] : llvm::zip(types, yields)) {
    auto old = cast<RankedTensorType>(type);
    Dims dims = getDims(old);
    if (n.rankOf(yield) != old.getRank() || n.typeOf(yield) != old.getElementType())
      return (void)n.error("a carried value must keep its element type and rank"), false;
    for (auto [dim, next] : llvm::zip(dims, n.dimsOf(yield))) {
      auto symbol = dyn_cast<AffineSymbolExpr>(dim);
      bool isOwn = symbol && n.syms[symbol.getPosition()].getName() == "carried";
      if (dim == next || isOwn)
        continue;
      dim = n.syms.defined("carried");
      n.noteSizes({dim});
      changed = true;
    }
    type = n.tensor(dims, old.getElementType());
  }
  return changed;
}

/// The loop's results: carried values, then stacked scan outputs.
std::optional<SmallVector<Value>> runLoop(Node &n, const LoopForm &form) {
  AffineExpr iteration = n.syms.defined("iteration"), trips = n.syms.defined("trips");
  n.noteSizes({iteration, trips});
  SmallVector<Type> types(llvm::map_range(form.inits, [](Value v) { return v.getType(); }));
  std::optional<Draft> draft;
  for (int attempt = 0; attempt < 8; ++attempt) {
    draft = importLoop(n, form, types, iteration, trips);
    if (!draft)
      return std::nullopt;
    bool changed = loosen(n, types, draft->yields);
    if (n.bad())
      return std::nullopt;
    if (!changed)
      break;
  }
  // Without a condition the number of iterations is known beforehand.
  bool isCounted = !form.trip.empty() && draft->goOn.empty() && form.condition.empty();
  AffineExpr length = isCounted ? n.syms.max(form.trip[0], n.c(0)) : trips;
  SmallVector<Type> results(types);
  for (Value scan : ArrayRef(draft->yields).drop_front(types.size())) {
    Dims dims = n.dimsOf(scan);
    dims.insert(dims.begin(), length);
    results.push_back(n.tensor(dims, n.typeOf(scan)));
  }
  auto op = LoopOp::create(n.b, n.loc, results, form.inits, draft->op.getTripCountAttr(), draft->op.getConditionAttr(),
                           n.dimsAttr(draft->goOn), draft->op.getIterationAttr(), draft->op.getTripsAttr());
  op.getBody().takeBody(draft->op.getBody());
  return SmallVector<Value>(op->getResults());
}

LoopBody bodyOf(Node &n, const Graph &graph, ArrayRef<Slot> inputs) {
  std::vector<Slot> outputs;
  if (failed(n.importer.importBody(graph, inputs, outputs, n.loc)))
    return std::nullopt;
  return outputs;
}

/// A loop of few iterations known beforehand, written out: for values that are no tensors.
LogicalResult unroll(Node &n, const Graph &body, int64_t trip) {
  std::vector<Slot> carried;
  for (unsigned i = 2; i < n.numInputs(); ++i)
    carried.push_back(n.slot(i));
  size_t count = carried.size();
  std::vector<SmallVector<Value>> scans(n.numOutputs() - std::min<size_t>(n.numOutputs(), count));
  for (int64_t k = 0; k < trip; ++k) {
    std::vector<Slot> inputs{Slot::of(HostTensor{n.i64(), {}, {Scalar::of(k)}}), Slot::of(HostTensor{n.i1(), {}, {Scalar::of(int64_t(1))}})};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    std::vector<Slot> outputs;
    if (failed(n.importer.importBody(body, inputs, outputs, n.loc)))
      return failure();
    if (outputs.size() != 1 + n.numOutputs())
      return n.error("the body has " + Twine(outputs.size()) + " outputs, which do not fit the node's");
    const HostTensor *goOn = n.importer.deriveHost(outputs[0]);
    if (!goOn || !goOn->allConstant())
      return n.error("a loop that carries sequences must have a known number of iterations");
    carried.assign(outputs.begin() + 1, outputs.begin() + 1 + count);
    for (size_t i = 0; i < scans.size(); ++i)
      scans[i].push_back(n.unsqueeze(n.importer.materialize(outputs[1 + count + i], n.loc), {0}));
    if (!goOn->values[0].integer)
      break;
  }
  for (size_t i = 0; i < count; ++i)
    n.setSlot(i, carried[i]);
  for (size_t i = 0; i < scans.size(); ++i) {
    if (scans[i].empty())
      return n.error("a scan output of a loop without iterations is not supported");
    n.set(count + i, n.concat(scans[i], 0));
  }
  return success(!n.bad());
}

LogicalResult loop(Node &n) {
  LoopForm form;
  const Graph *body = n.graph("body");
  if (n.has(0)) {
    auto trip = n.hostExprs(0);
    if (!trip || trip->size() != 1)
      return n.bad() ? failure() : n.error("the trip count must be one number");
    form.trip = *trip;
  }
  if (n.has(1)) {
    auto condition = n.hostExprs(1);
    if (!condition || condition->size() != 1)
      return n.bad() ? failure() : n.error("the condition must be one bool");
    if (!isConstant((*condition)[0], 1))
      form.condition = *condition;
  }
  form.hasCondition = true;
  if (body->inputs.size() != n.numInputs() - std::min(n.numInputs(), 2u) + 2)
    return n.error("the body must have " + Twine(std::max(n.numInputs(), 2u)) + " inputs, found " + Twine(body->inputs.size()));
  bool hasOthers = false;
  for (unsigned i = 2; i < n.numInputs(); ++i)
    hasOthers |= n.slot(i).kind != Slot::tensor;
  if (hasOthers) {
    auto trip = form.trip.empty() ? std::nullopt : getConstant(form.trip[0]);
    if (!trip || *trip > 256 || !form.condition.empty())
      return n.error("a loop that carries sequences must have a known number of iterations, at most 256");
    return unroll(n, *body, *trip);
  }
  for (unsigned i = 2; i < n.numInputs(); ++i)
    form.inits.push_back(n.in(i));
  auto build = [&](AffineExpr iteration, ArrayRef<Value> arguments) -> LoopBody {
    std::vector<Slot> slots{Slot::of(HostTensor{n.i64(), {}, {Scalar::of(iteration, n.syms)}}),
                            Slot::of(HostTensor{n.i1(), {}, {Scalar::of(int64_t(1))}})};
    for (Value argument : arguments)
      slots.push_back(Slot::of(argument));
    return bodyOf(n, *body, slots);
  };
  form.body = build;
  auto results = runLoop(n, form);
  if (!results)
    return failure();
  for (auto [i, value] : llvm::enumerate(*results))
    n.set(i, value);
  return success();
}

/// Scan as a counted loop that slices its inputs. Versions 9 and later (8 has a batch dimension).
LogicalResult scan(Node &n) {
  LoopForm form;
  const Graph *body = n.graph("body");
  int64_t scans = n.i("num_scan_inputs"), states = int64_t(n.numInputs()) - scans;
  if (scans < 1 || states < 0)
    return n.error("num_scan_inputs must be between 1 and " + Twine(n.numInputs()) + ", found " + Twine(scans));
  auto axes = n.ints("scan_input_axes", SmallVector<int64_t>(scans, 0)), backwards = n.ints("scan_input_directions", SmallVector<int64_t>(scans, 0));
  if (int64_t(axes.size()) != scans || int64_t(backwards.size()) != scans)
    return n.error("scan_input_axes and scan_input_directions must have one entry per scan input");
  AffineExpr length;
  for (int64_t k = 0; k < scans; ++k) {
    axes[k] = n.axis(axes[k], n.rank(states + k), "scan_input_axes");
    if (n.bad())
      return failure();
    AffineExpr size = n.dims(states + k)[axes[k]];
    length = length ? length : size;
    n.requireEqual(length, size, "scan inputs must have one length");
    (void)n.in(states + k); // made outside of the loop
  }
  for (int64_t i = 0; i < states; ++i)
    form.inits.push_back(n.in(i));
  form.trip = {length};
  auto build = [&](AffineExpr iteration, ArrayRef<Value> arguments) -> LoopBody {
    std::vector<Slot> slots;
    for (Value argument : arguments)
      slots.push_back(Slot::of(argument));
    for (int64_t k = 0; k < scans; ++k) {
      AffineExpr at = backwards[k] ? n.syms.sub(n.syms.sub(length, n.c(1)), iteration) : iteration;
      slots.push_back(Slot::of(n.squeeze(n.slice(n.in(states + k), axes[k], at, n.c(1)), {axes[k]})));
    }
    return bodyOf(n, *body, slots);
  };
  form.body = build;
  auto results = runLoop(n, form);
  if (!results)
    return failure();
  int64_t outs = int64_t(results->size()) - states;
  auto outAxes = n.ints("scan_output_axes", SmallVector<int64_t>(outs, 0)), reversed = n.ints("scan_output_directions", SmallVector<int64_t>(outs, 0));
  if (int64_t(outAxes.size()) != outs || int64_t(reversed.size()) != outs)
    return n.error("scan_output_axes and scan_output_directions must have one entry per scan output");
  for (auto [i, value] : llvm::enumerate(*results)) {
    int64_t k = int64_t(i) - states;
    Value y = value;
    if (k >= 0) {
      int64_t rank = n.rankOf(y), axis = n.axis(outAxes[k], rank, "scan_output_axes");
      Dims dims = n.dimsOf(y), from(rank, n.c(0));
      SmallVector<int64_t> steps(rank, 1), perm;
      if (reversed[k]) {
        from[0] = n.syms.sub(dims[0], n.c(1));
        steps[0] = -1;
        y = n.slice(y, from, steps, dims);
      }
      for (int64_t d = 1; d < rank; ++d)
        perm.push_back(d);
      perm.insert(perm.begin() + axis, 0);
      y = n.transpose(y, perm);
    }
    n.set(i, y);
  }
  return success(!n.bad());
}

} // namespace

std::optional<SmallVector<Value>>
weft::onnx::countedLoop(Node &n, AffineExpr trip, ArrayRef<Value> inits,
                        llvm::function_ref<SmallVector<Value>(AffineExpr, ArrayRef<Value>)> body) {
  LoopForm form;
  form.inits.assign(inits.begin(), inits.end());
  form.trip = {trip};
  auto build = [&](AffineExpr iteration, ArrayRef<Value> arguments) -> LoopBody {
    std::vector<Slot> slots;
    for (Value v : body(iteration, arguments))
      slots.push_back(Slot::of(v));
    form.outputs = slots.size();
    return slots;
  };
  form.body = build;
  return runLoop(n, form);
}

void weft::onnx::addControlRules(Rules &r) {
  r.add("If", 1, ifRule);
  r.add("Loop", 1, loop);
  r.add("Scan", 9, scan);
}
