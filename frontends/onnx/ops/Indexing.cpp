// Operators that read or write elements at positions held by tensors.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

/// Indices as i64, whatever type the model gives.
Value indices(Node &n, Value x) { return n.typeOf(x).isInteger(32) ? x : n.cast(x, n.i64()); }

LogicalResult gather(Node &n) {
  int64_t axis = n.axisAttr("axis", 0, n.rank(0));
  return n.bad() ? failure() : n.result(n.gather(n.in(0), indices(n, n.in(1)), axis));
}

LogicalResult gatherElements(Node &n) {
  int64_t axis = n.axisAttr("axis", 0, n.rank(0));
  if (n.rank(0) != n.rank(1))
    return n.error("data and indices must have one rank, found " + Twine(n.rank(0)) + " and " + Twine(n.rank(1)));
  if (n.bad())
    return failure();
  auto type = n.tensor(n.dims(1), n.type(0));
  return n.result(GatherElementsOp::create(n.b, n.loc, type, n.in(0), indices(n, n.in(1)), n.b.getI64IntegerAttr(axis)));
}

LogicalResult gatherND(Node &n) {
  Dims x = n.dims(0), at = n.dims(1);
  int64_t batch = n.i("batch_dims");
  if (x.empty() || at.empty() || batch < 0 || batch >= int64_t(std::min(x.size(), at.size())))
    return n.error("batch_dims must be below the ranks of data and indices, which must not be 0");
  auto depth = getConstant(at.back());
  if (!depth || *depth < 1 || batch + *depth > int64_t(x.size()))
    return n.error("the last dimension of the indices must be known, between 1 and " + Twine(int64_t(x.size()) - batch));
  for (int64_t i = 0; i < batch; ++i)
    n.requireEqual(x[i], at[i], "batch dimension " + Twine(i) + " of data and indices must be equal");
  Dims dims(ArrayRef(at).drop_back());
  llvm::append_range(dims, ArrayRef(x).drop_front(batch + *depth));
  auto type = n.tensor(dims, n.type(0));
  return n.result(GatherNDOp::create(n.b, n.loc, type, n.in(0), indices(n, n.in(1)), n.b.getI64IntegerAttr(batch)));
}

std::optional<ScatterReduction> reductionOf(Node &n) {
  std::string name = n.s("reduction", "none");
  auto kind = symbolizeScatterReduction(name);
  if (!kind)
    (void)n.error("reduction must be none, add, mul, min or max, found '" + name + "'");
  return kind;
}

LogicalResult scatterElements(Node &n) {
  int64_t axis = n.axisAttr("axis", 0, n.rank(0));
  auto kind = reductionOf(n);
  if (n.rank(0) != n.rank(1) || n.rank(1) != n.rank(2))
    return n.error("data, indices and updates must have one rank");
  if (!kind || n.bad())
    return failure();
  Value x = n.in(0);
  return n.result(ScatterElementsOp::create(n.b, n.loc, x.getType(), x, indices(n, n.in(1)), n.in(2), axis, *kind));
}

LogicalResult scatterND(Node &n) {
  auto kind = reductionOf(n);
  Dims at = n.dims(1);
  auto depth = at.empty() ? std::nullopt : getConstant(at.back());
  if (!depth || *depth > n.rank(0))
    return n.error("the last dimension of the indices must be known and at most the rank of the data");
  if (!kind)
    return failure();
  Value x = n.in(0);
  return n.result(ScatterNDOp::create(n.b, n.loc, x.getType(), x, indices(n, n.in(1)), n.in(2), *kind));
}

/// Positions of non-zero elements: counted on the device, the count read by the host.
std::pair<Value, AffineExpr> nonZero(Node &n, Value x) {
  int64_t rank = n.rankOf(x);
  Dims all{n.c(rank), n.product(n.dimsOf(x))};
  auto op = NonZeroOp::create(n.b, n.loc, n.tensor({}, n.i64()), n.tensor(all, n.i64()), x);
  AffineExpr count = n.syms.defined("nonzero");
  ReadBackOp::create(n.b, n.loc, op.getCount(), n.b.getDenseI64ArrayAttr({int64_t(cast<AffineSymbolExpr>(count).getPosition())}));
  return {n.slice(op.getPositions(), 1, n.c(0), count), count};
}

LogicalResult nonZeroRule(Node &n) {
  Value x = n.in(0);
  return n.result(nonZero(n, n.rankOf(x) ? x : n.reshape(x, {n.c(1)})).first);
}

LogicalResult compress(Node &n) {
  Value x = n.in(0);
  if (!n.hasAttr("axis"))
    x = n.reshape(x, {n.product(n.dims(0))});
  int64_t axis = n.hasAttr("axis") ? n.axisAttr("axis", 0, n.rank(0)) : 0;
  if (n.bad() || n.rank(1) != 1)
    return n.error("the condition must have rank 1");
  auto [positions, count] = nonZero(n, n.in(1));
  return n.result(n.gather(x, n.reshape(positions, {count}), axis));
}

/// off + (index == position ? on - off): values = [off, on].
LogicalResult oneHot(Node &n) {
  const HostTensor *depth = n.host(1);
  if (!depth)
    return failure();
  AffineExpr size = castScalar(depth->values[0], n.i64(), n.syms)->toExpr(n.syms);
  int64_t rank = n.rank(0) + 1, axis = n.axisAttr("axis", -1, rank);
  if (n.bad())
    return failure();
  Dims dims = n.dims(0);
  dims.insert(dims.begin() + axis, size);
  Value at = n.cast(n.in(0), n.i64()), count = n.host({size}, {}, n.i64());
  at = n.select(n.compare(CompareKind::lt, at, n.scalar(0, n.i64())), n.add(at, count), at);
  Value isOn = n.compare(CompareKind::eq, n.iota(dims, axis, n.i64()), n.unsqueeze(at, {axis}));
  Value off = n.reshape(n.slice(n.in(2), 0, n.c(0), n.c(1)), {}), on = n.reshape(n.slice(n.in(2), 0, n.c(1), n.c(1)), {});
  return n.result(n.select(isOn, on, off));
}

/// Reverses the first sequence_lens[b] elements along the time axis.
LogicalResult reverseSequence(Node &n) {
  int64_t time = n.i("time_axis", 0), batch = n.i("batch_axis", 1);
  if (n.rank(0) < 2 || time + batch != 1 || time * batch != 0 || time < 0 || batch < 0)
    return n.error("time_axis and batch_axis must be 0 and 1, or 1 and 0");
  Dims dims = n.dims(0);
  Value t = n.iota(dims, time, n.i64());
  Value length = n.broadcast(n.in(1), dims, {batch});
  Value mirrored = n.sub(n.sub(length, n.scalar(1, n.i64())), t);
  Value at = n.select(n.compare(CompareKind::lt, t, length), mirrored, t);
  return n.result(GatherElementsOp::create(n.b, n.loc, n.in(0).getType(), n.in(0), at, n.b.getI64IntegerAttr(time)));
}

LogicalResult topK(Node &n) {
  int64_t axis = n.axisAttr("axis", -1, n.rank(0));
  if (n.bad())
    return failure();
  AffineExpr k = n.c(n.i("k"));
  if (n.version() >= 10) {
    auto given = n.hostExprs(1);
    if (!given)
      return failure();
    k = (*given)[0];
  }
  Dims dims = n.dims(0);
  auto size = getConstant(dims[axis]), wanted = getConstant(k);
  if (size && wanted && (*wanted > *size || *wanted < 0))
    return n.error("k is " + Twine(*wanted) + ", but the axis has " + Twine(*size) + " elements");
  dims[axis] = k;
  auto op = TopKOp::create(n.b, n.loc, n.tensor(dims, n.type(0)), n.tensor(dims, n.i64()), n.in(0), axis, bool(n.i("largest", 1)));
  n.set(0, op.getValues());
  n.set(1, op.getIndices());
  return success();
}

} // namespace

void weft::onnx::addIndexingRules(Rules &r) {
  r.add("Gather", 1, gather);
  r.add("GatherElements", 11, gatherElements);
  r.add("GatherND", 11, gatherND);
  r.add("Scatter", 9, scatterElements);
  r.add("ScatterElements", 11, scatterElements);
  r.add("ScatterND", 11, scatterND);
  r.add("NonZero", 9, nonZeroRule);
  r.add("Compress", 9, compress);
  r.add("OneHot", 9, oneHot);
  r.add("ReverseSequence", 10, reverseSequence);
  r.add("TopK", 1, topK);
}
