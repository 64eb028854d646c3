// Normalizations: graph.normalize, or constants folded into a scale and a shift.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

NormalizeOp normalize(Node &n, Value x, ArrayRef<int64_t> axes, double epsilon, bool rms = false) {
  Dims kept = n.dimsOf(x);
  for (int64_t a : axes)
    kept[a] = n.c(1);
  Type statistics = n.typeOf(x).isF64() ? n.typeOf(x) : n.f32();
  auto type = n.tensor(kept, statistics);
  return NormalizeOp::create(n.b, n.loc, x.getType(), type, type, x, axes, APFloat(epsilon), rms);
}

SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  SmallVector<int64_t> axes;
  for (int64_t i = first; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

/// Training (from version 14): the batch's own mean and population variance, and new running ones out of them.
LogicalResult trainBatchNormalization(Node &n, Value x) {
  Type type = n.typeOf(x);
  auto vector = [&](unsigned i) { return n.cast(n.in(i), type); };
  SmallVector<int64_t> axes{0};
  llvm::append_range(axes, axesFrom(2, n.rank(0)));
  Dims dims = n.dimsOf(x);
  auto broadcast = [&](Value v) { return n.broadcast(v, dims, {1}); };
  Value mean = n.mean(x, axes, /*keepDims=*/false), centred = n.sub(x, broadcast(mean));
  Value variance = n.mean(n.mul(centred, centred), axes, /*keepDims=*/false);
  Value scale = n.div(vector(1), n.unary(UnaryKind::sqrt, n.add(variance, n.f("epsilon", 1e-5f))));
  n.set(0, n.cast(n.add(n.mul(centred, broadcast(scale)), broadcast(vector(2))), n.type(0)));
  double momentum = n.f("momentum", 0.9f);
  auto running = [&](unsigned input, Value current) {
    return n.cast(n.add(n.mul(vector(input), momentum), n.mul(current, 1 - momentum)), n.type(input));
  };
  if (n.wants(1))
    n.set(1, running(3, mean));
  if (n.wants(2))
    n.set(2, running(4, variance));
  return success(!n.bad());
}

/// Inference: x * a + b with a = scale / sqrt(var + epsilon), b = bias - mean * a, which fold where they are constants.
LogicalResult batchNormalization(Node &n) {
  bool training = n.version() >= 14 && n.i("training_mode");
  if ((n.version() < 7 && !n.i("is_test")) || (n.wants(1) && !training) || !n.i("spatial", 1))
    return n.error("training before version 14, statistics without training_mode, and spatial 0 are not supported");
  if (n.rank(0) < 2)
    return n.error("the input must have rank 2 or more, found " + Twine(n.rank(0)));
  for (unsigned i = 1; i <= 4; ++i) {
    if (n.rank(i) != 1)
      return n.error("input " + Twine(i) + " must have rank 1, found " + Twine(n.rank(i)));
    n.requireEqual(n.dims(0)[1], n.dims(i)[0], "input " + Twine(i) + " must have one element per channel");
  }
  if (n.bad())
    return failure();
  Value x = n.widen(n.in(0));
  if (training)
    return trainBatchNormalization(n, x);
  Type type = n.typeOf(x);
  auto vector = [&](unsigned i) { return n.cast(n.in(i), type); };
  Value deviation = n.unary(UnaryKind::sqrt, n.add(vector(4), n.f("epsilon", 1e-5f)));
  Value scale = n.div(vector(1), deviation), shift = n.sub(vector(2), n.mul(vector(3), scale));
  Dims dims = n.dimsOf(x);
  Value y = n.add(n.mul(x, n.broadcast(scale, dims, {1})), n.broadcast(shift, dims, {1}));
  return n.result(n.cast(y, n.type(0)));
}

LogicalResult instanceNormalization(Node &n) {
  int64_t rank = n.rank(0);
  if (rank < 3)
    return n.error("the input must have rank 3 or more, found " + Twine(rank));
  Dims dims = n.dims(0);
  Value y = normalize(n, n.in(0), axesFrom(2, rank), n.f("epsilon", 1e-5f)).getY();
  return n.result(n.add(n.mul(y, n.broadcast(n.in(1), dims, {1})), n.broadcast(n.in(2), dims, {1})));
}

/// Scale and bias per group (version 18) or per channel (21).
LogicalResult groupNormalization(Node &n) {
  int64_t groups = n.i("num_groups"), rank = n.rank(0);
  Dims dims = n.dims(0);
  if (rank < 2 || groups < 1)
    return n.error("the input must have rank 2 or more and num_groups be positive");
  AffineExpr size = n.syms.floorDiv(dims[1], n.c(groups));
  n.requireEqual(n.syms.mul(size, n.c(groups)), dims[1], "num_groups must divide the channels");
  Dims grouped{dims[0], n.c(groups), size};
  llvm::append_range(grouped, ArrayRef(dims).drop_front(2));
  Value x = n.reshape(n.in(0), grouped);
  Value y = normalize(n, n.i("stash_type", 1) == 1 ? n.widen(x) : x, axesFrom(2, rank + 1), n.f("epsilon", 1e-5f)).getY();
  y = n.cast(y, n.type(0));
  bool perGroup = n.version() < 21;
  if (!perGroup)
    y = n.reshape(y, dims);
  Dims full = n.dimsOf(y);
  y = n.add(n.mul(y, n.broadcast(n.in(1), full, {1})), n.broadcast(n.in(2), full, {1}));
  return n.result(n.reshape(y, dims));
}

template <bool rms> LogicalResult layerNormalization(Node &n) {
  int64_t rank = n.rank(0), axis = n.axisAttr("axis", -1, rank);
  if (n.bad())
    return failure();
  Value x = n.in(0);
  Value wide = n.i("stash_type", 1) == 1 ? n.widen(x) : x;
  auto op = normalize(n, wide, axesFrom(axis, rank), n.f("epsilon", 1e-5f), rms);
  Value y = n.cast(op.getY(), n.typeOf(x));
  y = n.mul(y, n.cast(n.in(1), n.typeOf(x)));
  if (!rms && n.has(2))
    y = n.add(y, n.in(2));
  n.set(1, rms ? op.getInvStd() : op.getMean());
  n.set(2, op.getInvStd());
  return n.result(n.cast(y, n.type(1) == n.typeOf(x) ? n.typeOf(x) : n.type(1)));
}

/// com.microsoft::SkipLayerNormalization: the sum of input, skip and bias, normalized; output 3 is the sum.
template <bool rms> LogicalResult skipLayerNormalization(Node &n) {
  Value sum = n.add(n.in(0), n.in(1));
  unsigned bias = rms ? 3 : 4;
  sum = n.has(bias) ? n.add(sum, n.in(bias)) : sum;
  int64_t last = n.rankOf(sum) - 1;
  if (n.bad() || last < 0)
    return n.bad() ? failure() : n.error("the input must have rank 1 or more, found 0");
  Value y = n.mul(n.cast(normalize(n, n.widen(sum), {last}, n.f("epsilon", 1e-5f), rms).getY(), n.typeOf(sum)), n.in(2));
  if (!rms && n.has(3))
    y = n.add(y, n.in(3));
  n.set(3, sum);
  return n.result(y);
}

} // namespace

void weft::onnx::addNormalizationRules(Rules &r) {
  r.add("BatchNormalization", 6, batchNormalization);
  r.add("InstanceNormalization", 6, instanceNormalization);
  r.add("GroupNormalization", 18, groupNormalization);
  r.add("LayerNormalization", 17, layerNormalization<false>);
  r.add("RMSNormalization", 23, layerNormalization<true>);
  r.add("SimplifiedLayerNormalization", 0, layerNormalization<true>);
  r.add("com.microsoft::SkipLayerNormalization", 0, skipLayerNormalization<false>);
  r.add("com.microsoft::SkipSimplifiedLayerNormalization", 0, skipLayerNormalization<true>);
}
