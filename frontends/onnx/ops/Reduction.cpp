// Reductions, softmax and running sums.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

/// Axes from the attribute or input 1; all axes where none are given, none with noop_with_empty_axes.
std::optional<SmallVector<int64_t>> reduceAxes(Node &n) {
  auto given = n.axesFrom("axes", 1);
  if (n.bad())
    return std::nullopt;
  int64_t rank = n.rank(0);
  SmallVector<int64_t> axes = given ? n.axes(*given, rank) : SmallVector<int64_t>();
  if (axes.empty() && !n.i("noop_with_empty_axes"))
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(i);
  return n.bad() ? std::nullopt : std::optional(axes);
}

/// The rule of a reduction: `body` for the axes, which may be known at run time only.
LogicalResult over(Node &n, llvm::function_ref<Value(ArrayRef<int64_t>)> body) {
  if (!n.hasAttr("axes") && n.isRuntime(1))
    return overRuntimeAxes(n, 1, n.rank(0), body);
  auto axes = reduceAxes(n);
  return axes ? n.result(body(*axes)) : failure();
}

/// before(x), the reduction, after(y): in f32 for narrow floats.
template <ReduceKind kind> LogicalResult reduce(Node &n, Value (*before)(Node &, Value), Value (*after)(Node &, Value)) {
  return over(n, [&](ArrayRef<int64_t> axes) {
    Value x = n.in(0);
    Type type = n.typeOf(x);
    if (before || after)
      x = n.widen(x);
    x = before ? before(n, x) : x;
    Value y = n.reduce(kind, x, axes, n.i("keepdims", 1));
    return n.cast(after ? after(n, y) : y, type);
  });
}
Value absolute(Node &n, Value x) { return n.unary(UnaryKind::abs, x); }
Value square(Node &n, Value x) { return n.mul(x, x); }
Value root(Node &n, Value x) { return n.unary(UnaryKind::sqrt, x); }
Value logarithm(Node &n, Value x) { return n.unary(UnaryKind::log, x); }

LogicalResult reduceMean(Node &n) {
  return over(n, [&](ArrayRef<int64_t> axes) { return n.cast(n.mean(n.widen(n.in(0)), axes, n.i("keepdims", 1)), n.type(0)); });
}

/// log(sum(exp(x - m))) + m with m the maximum, or 0 where that is infinite.
LogicalResult reduceLogSumExp(Node &n) {
  if (!n.isFloat(n.in(0)))
    return n.error("integers are not supported");
  return over(n, [&](ArrayRef<int64_t> axes) {
    Value x = n.widen(n.in(0)), m = n.reduce(ReduceKind::max, x, axes, true);
    m = n.select(n.unary(UnaryKind::isinf, m), n.scalarLike(0, m), m);
    Value sum = n.reduce(ReduceKind::sum, n.unary(UnaryKind::exp, n.sub(x, m)), axes, true);
    Value y = n.add(n.unary(UnaryKind::log, sum), m);
    return n.cast(n.i("keepdims", 1) ? y : n.squeeze(y, axes), n.type(0));
  });
}

/// max and min of bool are or and and.
template <ReduceKind kind, ReduceKind ofBool> LogicalResult reduceExtreme(Node &n) {
  return n.type(0).isInteger(1) ? reduce<ofBool>(n, nullptr, nullptr) : reduce<kind>(n, nullptr, nullptr);
}

Value argReduce(Node &n, Value x, int64_t axis, bool isMax, bool last) {
  Dims dims = n.dimsOf(x);
  dims.erase(dims.begin() + axis);
  return ReduceOp::create(n.b, n.loc, n.tensor(dims, n.i64()), isMax ? ReduceKind::argmax : ReduceKind::argmin, x, {axis}, last);
}

template <bool isMax> LogicalResult arg(Node &n) {
  int64_t axis = n.axisAttr("axis", 0, n.rank(0));
  if (n.bad())
    return failure();
  Value y = argReduce(n, n.in(0), axis, isMax, n.i("select_last_index"));
  return n.result(n.i("keepdims", 1) ? n.unsqueeze(y, {axis}) : y);
}

Value hardmax(Node &n, Value x, int64_t axis) {
  Value best = n.unsqueeze(argReduce(n, x, axis, true, false), {axis});
  return n.cast(n.compare(CompareKind::eq, n.iota(n.dimsOf(x), axis, n.i64()), best), n.typeOf(x));
}

/// From opset 13 along one axis; before, over all dimensions from `axis` on together.
template <Value (*along)(Node &, Value, int64_t)> LogicalResult softmaxLike(Node &n) {
  bool isOld = n.version() < 13;
  int64_t rank = n.rank(0), axis = n.axisAttr("axis", isOld ? 1 : -1, rank);
  if (n.bad())
    return failure();
  Value x = n.in(0);
  if (!isOld || axis == rank - 1)
    return n.result(along(n, x, axis));
  return n.result(n.reshape(along(n, n.flatten(x, axis), 1), n.dims(0)));
}
Value softmax(Node &n, Value x, int64_t axis) { return n.softmax(x, axis); }
Value logSoftmax(Node &n, Value x, int64_t axis) { return n.softmax(x, axis, true); }

template <ReduceKind kind> LogicalResult scan(Node &n) {
  auto along = [&](ArrayRef<int64_t> axes) -> Value {
    Value x = n.in(0);
    return ScanOp::create(n.b, n.loc, x.getType(), kind, x, axes[0], bool(n.i("exclusive")), bool(n.i("reverse")));
  };
  if (n.isRuntime(1))
    return overRuntimeAxes(n, 1, n.rank(0), along);
  auto given = n.hostInts(1);
  if (!given || given->size() != 1)
    return n.bad() ? failure() : n.error("axis must be one number");
  int64_t axis = n.axis((*given)[0], n.rank(0));
  return n.bad() ? failure() : n.result(along({axis}));
}

LogicalResult lpNormalization(Node &n) {
  int64_t axis = n.axisAttr("axis", -1, n.rank(0)), p = n.i("p", 2);
  if (n.bad() || (p != 1 && p != 2))
    return n.error("p must be 1 or 2, found " + Twine(p));
  Value x = n.widen(n.in(0));
  Value norm = n.reduce(ReduceKind::sum, p == 1 ? absolute(n, x) : square(n, x), {axis}, true);
  norm = p == 1 ? norm : root(n, norm);
  Value zero = n.scalarLike(0, x);
  Value y = n.select(n.compare(CompareKind::eq, norm, zero), zero, n.div(x, norm));
  return n.result(n.cast(y, n.type(0)));
}

} // namespace

void weft::onnx::addReductionRules(Rules &r) {
  r.add("ReduceSum", 1, [](Node &n) { return reduce<ReduceKind::sum>(n, nullptr, nullptr); });
  r.add("ReduceProd", 1, [](Node &n) { return reduce<ReduceKind::prod>(n, nullptr, nullptr); });
  r.add("ReduceMax", 1, reduceExtreme<ReduceKind::max, ReduceKind::logical_or>);
  r.add("ReduceMin", 1, reduceExtreme<ReduceKind::min, ReduceKind::logical_and>);
  r.add("ReduceMean", 1, reduceMean);
  r.add("ReduceL1", 1, [](Node &n) { return reduce<ReduceKind::sum>(n, absolute, nullptr); });
  r.add("ReduceL2", 1, [](Node &n) { return reduce<ReduceKind::sum>(n, square, root); });
  r.add("ReduceSumSquare", 1, [](Node &n) { return reduce<ReduceKind::sum>(n, square, nullptr); });
  r.add("ReduceLogSum", 1, [](Node &n) { return reduce<ReduceKind::sum>(n, nullptr, logarithm); });
  r.add("ReduceLogSumExp", 1, reduceLogSumExp);
  r.add("ArgMax", 1, arg<true>);
  r.add("ArgMin", 1, arg<false>);
  r.add("Softmax", 1, softmaxLike<softmax>);
  r.add("LogSoftmax", 1, softmaxLike<logSoftmax>);
  r.add("Hardmax", 1, softmaxLike<hardmax>);
  r.add("CumSum", 11, scan<ReduceKind::sum>);
  r.add("CumProd", 26, scan<ReduceKind::prod>);
  r.add("LpNormalization", 1, lpNormalization);
}
