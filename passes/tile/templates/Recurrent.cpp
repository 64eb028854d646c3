// The template of graph.recurrent: one launch per layer, one CTA per direction and batch entry that loops over time.
//
// Guarantees: any sequence length, batch, hidden size and sequence_lens. The state stays in shared memory between the steps
// where the hidden size is known and fits, else in a workspace. Each step: warps compute the products with R, one row each,
// lanes along the row; then each thread finishes the units it owns.
#include "passes/tile/templates/RootResults.h"
#include "passes/tile/templates/Roots.h"
#include "passes/tile/templates/View.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {
namespace {

constexpr int64_t sharedBytes = 44 * 1024;

unsigned gateCount(CellKind kind) {
  switch (kind) {
  case CellKind::lstm: return 4;
  case CellKind::gru: return 3;
  case CellKind::rnn: return 1;
  }
}

/// The state of one CTA: arrays of `hidden` elements each, in shared memory or in a workspace.
class State {
public:
  State(Kit &kit, Type type, AffineExpr hidden, AffineExpr ctas, unsigned arrays) : kit(kit), size(kit.e.host(hidden)) {
    auto known = getConstant(hidden);
    int64_t bytes = known ? *known * arrays * (type.getIntOrFloatBitWidth() / 8) : sharedBytes + 1;
    if (bytes <= sharedBytes) {
      memory = kit.shared(type, std::max<int64_t>(*known * arrays, 1));
      base = kit.index(0);
      return;
    }
    Symbols &symbols = kit.e.symbols;
    AffineExpr all = symbols.mul(hidden, symbols.constant(arrays));
    memory = {kit.e.workspace(getTensorType({ctas, all}, type)), type};
    base = kit.mul(kit.block(), kit.e.host(all));
  }
  Value at(unsigned array, Value unit) { return kit.add(kit.add(base, kit.mul(size, array)), unit); }
  Value load(unsigned array, Value unit) { return kit.load(memory, at(array, unit)); }
  Value loadVector(unsigned array, Value unit, unsigned width) { return kit.loadVector(memory, at(array, unit), width); }
  void store(unsigned array, Value unit, Value value) { kit.store(memory, at(array, unit), value); }

private:
  Kit &kit;
  Value size, base;
  SharedArray memory;
};

class Layer {
public:
  Layer(Kit &kit, RecurrentOp op);
  void run();

private:
  enum Array : unsigned { hiddenState, cellState, reset, firstProduct };
  static constexpr unsigned threads = 512, warps = threads / 32;

  void initialize();
  void step(Value t);
  void products(unsigned first, unsigned count, Array operand);
  Value dot(Value row, Array operand);
  void finishLstm(Value unit, Value time);
  void finishGruReset(Value unit, Value time);
  void finishGru(Value unit, Value time);
  void finishRnn(Value unit, Value time);
  void emitState(Value unit, Value time, Value h);
  Value gate(unsigned number, Value unit, Value time);
  Value product(unsigned number, Value unit) { return state.load(firstProduct + number, unit); }
  Value activate(unsigned number, Value x);
  Value activation(StringRef name, double alpha, double beta, Value x);
  Value clip(Value x);
  Value peephole(unsigned number, Value unit, Value cell);
  Value read(Value operand, ArrayRef<Value> at);
  void forEachUnit(llvm::function_ref<void(Value)> body);

  Value constant(double value) { return kit.scalar(wide, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(kit.b, kit.loc(), x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(kit.b, kit.loc(), x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(kit.b, kit.loc(), x, y); }
  Value fma(Value x, Value y, Value z) { return scalar::multiplyAdd(kit.b, kit.loc(), x, y, z); }
  Value unary(UnaryKind kind, Value x) { return scalar::unary(kit.b, kit.loc(), kind, x, wide); }
  Value binary(BinaryKind kind, Value x, Value y) { return scalar::binary(kit.b, kit.loc(), kind, x, y, wide); }
  Value less(Value x, Value y) { return scalar::compare(kit.b, kit.loc(), CompareKind::lt, x, y, wide); }

  Kit &kit;
  RecurrentOp op;
  RootResults results;
  View r;
  Type type, wide;
  Dims gateDims; // [directions, seq, batch, G * hidden]
  AffineExpr hiddenExpr;
  Value hidden, direction, entry, steps, length; // index values
  State state;
};

Layer::Layer(Kit &kit, RecurrentOp op)
    : kit(kit), op(op), results(kit, op), r(op.getR()), type(op.getGates().getType().getElementType()),
      wide(scalar::accumulatorType(type)), gateDims(getDims(op.getGates())), hiddenExpr(getDims(op.getR())[2]),
      hidden(kit.e.host(hiddenExpr)),
      state(kit, wide, hiddenExpr, kit.e.symbols.mul(gateDims[0], gateDims[2]), firstProduct + gateCount(op.getKind())) {
  kit.e.launch.block = {threads, 1, 1};
  kit.e.launch.grid = {kit.e.symbols.mul(gateDims[0], gateDims[2])};
  Value batch = kit.e.host(gateDims[2]);
  direction = op.getReverse().size() == 1 ? kit.index(0) : kit.div(kit.block(), batch);
  entry = op.getReverse().size() == 1 ? kit.block() : kit.rem(kit.block(), batch);
  steps = length = kit.e.host(gateDims[1]);
  if (Value lens = op.getSequenceLens()) {
    Type lensType = cast<RankedTensorType>(lens.getType()).getElementType();
    Value own = kit.e.element(lens, ElementEmitter::at({entry}));
    own = kit.e.toIndex(own, scalar::isUnsigned(lensType));
    length = kit.max(kit.min(own, steps), kit.index(0));
  }
}

/// An element of a float operand, in the wide type.
Value Layer::read(Value operand, ArrayRef<Value> at) {
  return scalar::cast(kit.b, kit.loc(), kit.e.element(operand, ElementEmitter::at(at)), type, wide);
}

void Layer::forEachUnit(llvm::function_ref<void(Value)> body) {
  kit.loop(kit.toIndex(kit.thread()), hidden, kit.index(threads), body);
}

void Layer::initialize() {
  forEachUnit([&](Value unit) {
    auto initial = [&](Value operand) { return operand ? read(operand, {direction, entry, unit}) : constant(0); };
    state.store(hiddenState, unit, initial(op.getInitialH()));
    if (op.getKind() == CellKind::lstm)
      state.store(cellState, unit, initial(op.getInitialC()));
  });
  kit.barrier();
}

//===----------------------------------------------------------------------===//
// Products with R
//===----------------------------------------------------------------------===//

/// This lane's part of the product of row `row` of R with a state array.
Value Layer::dot(Value row, Array operand) {
  auto known = getConstant(hiddenExpr);
  unsigned width = std::min(16u / (wide.getIntOrFloatBitWidth() / 8), 4u), run = r.runLength(width);
  run = r.fastest() == 2 && run == width ? width : 1;
  Value last = kit.sub(hidden, kit.index(run));
  auto term = [&](Value k, Value sum) {
    Value inside = known && *known % (32 * run) == 0 ? Value() : kit.le(k, last);
    Value at = inside ? kit.min(k, last) : k;
    kit.e.assumeMultiple(at, run);
    Values weights = r.read(kit, {direction, row, at}, run);
    Values values = run == 1 ? Values{state.load(operand, at)} : kit.flatten(state.loadVector(operand, at, run));
    for (unsigned i = 0; i < run; ++i) {
      Value weight = scalar::cast(kit.b, kit.loc(), weights[i], type, wide);
      sum = fma(inside ? kit.select(inside, weight, constant(0)) : weight, inside ? kit.select(inside, values[i], constant(0)) : values[i], sum);
    }
    return sum;
  };
  Value first = kit.toIndex(kit.mul(kit.lane(), run)), sum = constant(0);
  if (known && *known <= 32 * 8 * run) {
    for (int64_t k = 0; k < *known; k += 32 * run)
      sum = term(kit.add(first, k), sum);
    return sum;
  }
  // All lanes take part in every iteration: the loop counts whole warps' worth.
  return kit.loop(kit.index(0), hidden, kit.index(32 * run), sum,
                  [&](Value k, ValueRange carried) { return Values{term(kit.add(first, k), carried[0])}; })[0];
}

/// Rows [first * hidden, (first + count) * hidden) of R times a state array, into the product arrays.
void Layer::products(unsigned first, unsigned count, Array operand) {
  Value from = kit.mul(hidden, first);
  kit.loop(kit.toIndex(kit.warp()), hidden, kit.index(warps), [&](Value unit) {
    Values sums;
    for (unsigned g = 0; g < count; ++g)
      sums.push_back(dot(kit.add(kit.add(from, kit.mul(hidden, g)), unit), operand));
    sums = warpReduce(kit.b, kit.loc(), sums, [&](ValueRange a, ValueRange b) {
      Values result;
      for (auto [x, y] : llvm::zip(a, b))
        result.push_back(add(x, y));
      return result;
    });
    kit.ifThen(kit.eq(kit.lane(), kit.i32(0)), [&] {
      for (unsigned g = 0; g < count; ++g)
        state.store(firstProduct + first + g, unit, sums[g]);
    });
  });
  kit.barrier();
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

Value Layer::clip(Value x) {
  if (!op.getClip())
    return x;
  double bound = op.getClip()->convertToDouble();
  return binary(BinaryKind::max, binary(BinaryKind::min, x, constant(bound)), constant(-bound));
}

Value Layer::activation(StringRef name, double alpha, double beta, Value x) {
  Value zero = constant(0), a = constant(alpha), b = constant(beta);
  if (name == "Sigmoid")
    return unary(UnaryKind::sigmoid, x);
  if (name == "Tanh")
    return unary(UnaryKind::tanh, x);
  if (name == "Relu")
    return unary(UnaryKind::relu, x);
  if (name == "Affine")
    return add(mul(a, x), b);
  if (name == "LeakyRelu")
    return kit.select(less(x, zero), mul(a, x), x);
  if (name == "ThresholdedRelu")
    return kit.select(less(x, a), zero, x);
  if (name == "ScaledTanh")
    return mul(a, unary(UnaryKind::tanh, mul(b, x)));
  if (name == "HardSigmoid")
    return binary(BinaryKind::max, binary(BinaryKind::min, add(mul(a, x), b), constant(1)), zero);
  if (name == "Elu")
    return kit.select(less(x, zero), mul(a, unary(UnaryKind::expm1, x)), x);
  if (name == "Softsign")
    return binary(BinaryKind::div, x, add(constant(1), unary(UnaryKind::abs, x)));
  return unary(UnaryKind::softplus, x); // the verifier knows the names
}

/// Activation `number` of this CTA's direction, on the clipped input.
Value Layer::activate(unsigned number, Value x) {
  x = clip(x);
  unsigned directions = op.getReverse().size(), perDirection = op.getActivations().size() / directions;
  auto apply = [&](unsigned i) {
    return activation(cast<StringAttr>(op.getActivations()[i]).getValue(), op.getAlphas()[i], op.getBetas()[i], x);
  };
  auto same = [&](unsigned i, unsigned j) {
    return op.getActivations()[i] == op.getActivations()[j] && op.getAlphas()[i] == op.getAlphas()[j] && op.getBetas()[i] == op.getBetas()[j];
  };
  if (directions == 1 || same(number, perDirection + number))
    return apply(number);
  return kit.select(kit.eq(direction, kit.index(0)), apply(number), apply(perDirection + number));
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

/// The input's part of gate `number`.
Value Layer::gate(unsigned number, Value unit, Value time) {
  return read(op.getGates(), {direction, time, entry, kit.add(kit.mul(hidden, number), unit)});
}

Value Layer::peephole(unsigned number, Value unit, Value cell) {
  if (!op.getPeepholes())
    return constant(0);
  return mul(read(op.getPeepholes(), {direction, kit.add(kit.mul(hidden, number), unit)}), cell);
}

/// Gates i, o, f, c; peepholes i, o, f.
void Layer::finishLstm(Value unit, Value time) {
  Value cell = state.load(cellState, unit);
  auto input = [&](unsigned g) { return add(gate(g, unit, time), product(g, unit)); };
  auto withPeephole = [&](Value x, unsigned p, Value c) { return op.getPeepholes() ? add(x, peephole(p, unit, c)) : x; };
  Value i = activate(0, withPeephole(input(0), 0, cell));
  Value f = op.getInputForget() ? sub(constant(1), i) : activate(0, withPeephole(input(2), 2, cell));
  Value candidate = activate(1, input(3));
  Value next = add(mul(f, cell), mul(i, candidate));
  Value o = activate(0, withPeephole(input(1), 1, next));
  state.store(cellState, unit, next);
  emitState(unit, time, mul(o, activate(2, next)));
}

/// Gates z, r, h. First z and r, where the candidate needs the products of the reset state.
void Layer::finishGruReset(Value unit, Value time) {
  Value resetGate = activate(0, add(gate(1, unit, time), product(1, unit)));
  state.store(reset, unit, mul(resetGate, state.load(hiddenState, unit)));
}

/// The recurrent bias stands apart only with linear_before_reset: then none of it is in the gates.
void Layer::finishGru(Value unit, Value time) {
  auto recurrent = [&](unsigned g) {
    Value sum = product(g, unit);
    return op.getRecurrentBias() ? add(sum, read(op.getRecurrentBias(), {direction, kit.add(kit.mul(hidden, g), unit)})) : sum;
  };
  Value z = activate(0, add(gate(0, unit, time), recurrent(0))), h = state.load(hiddenState, unit), candidate;
  if (op.getLinearBeforeReset()) {
    Value resetGate = activate(0, add(gate(1, unit, time), recurrent(1)));
    candidate = activate(1, add(gate(2, unit, time), mul(resetGate, recurrent(2))));
  } else {
    candidate = activate(1, add(gate(2, unit, time), recurrent(2)));
  }
  emitState(unit, time, add(mul(sub(constant(1), z), candidate), mul(z, h)));
}

void Layer::finishRnn(Value unit, Value time) {
  emitState(unit, time, activate(0, add(gate(0, unit, time), product(0, unit))));
}

/// The new hidden state of a unit: kept, and given to y.
void Layer::emitState(Value unit, Value time, Value h) {
  state.store(hiddenState, unit, h);
  if (results.isUsed(0))
    results.store(0, ElementEmitter::at({time, direction, entry, unit}), scalar::cast(kit.b, kit.loc(), h, wide, type));
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void Layer::step(Value t) {
  Value backwards = kit.sub(kit.sub(length, kit.index(1)), t), time = op.getReverse()[0] ? backwards : t;
  if (op.getReverse().size() == 2 && op.getReverse()[0] != op.getReverse()[1])
    time = kit.select(kit.eq(direction, kit.index(0)), time, op.getReverse()[1] ? backwards : t);
  switch (op.getKind()) {
  case CellKind::lstm:
    products(0, 4, hiddenState);
    forEachUnit([&](Value unit) { finishLstm(unit, time); });
    break;
  case CellKind::gru:
    products(0, op.getLinearBeforeReset() ? 3 : 2, hiddenState);
    if (!op.getLinearBeforeReset()) {
      forEachUnit([&](Value unit) { finishGruReset(unit, time); });
      kit.barrier();
      products(2, 1, reset);
    }
    forEachUnit([&](Value unit) { finishGru(unit, time); });
    break;
  case CellKind::rnn:
    products(0, 1, hiddenState);
    forEachUnit([&](Value unit) { finishRnn(unit, time); });
    break;
  }
  kit.barrier();
}

void Layer::run() {
  initialize();
  kit.loop(kit.index(0), length, kit.index(1), [&](Value t) { step(t); });
  auto narrow = [&](Value x) { return scalar::cast(kit.b, kit.loc(), x, wide, type); };
  forEachUnit([&](Value unit) {
    if (results.isUsed(1))
      results.store(1, ElementEmitter::at({direction, entry, unit}), narrow(state.load(hiddenState, unit)));
    if (op.getYC() && results.isUsed(2))
      results.store(2, ElementEmitter::at({direction, entry, unit}), narrow(state.load(cellState, unit)));
    if (results.isUsed(0) && op.getSequenceLens())
      kit.loop(length, steps, kit.index(1), [&](Value t) {
        results.store(0, ElementEmitter::at({t, direction, entry, unit}), narrow(constant(0)));
      });
  });
}

} // namespace

LogicalResult emitRecurrent(KernelContext &context) {
  return context.emit([&](KernelEmitter &e) {
    Kit kit(e);
    Layer(kit, cast<RecurrentOp>(context.root)).run();
    return success();
  });
}

} // namespace weft::tile
