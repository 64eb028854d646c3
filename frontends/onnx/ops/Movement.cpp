// Operators that move elements by rules that do not depend on other tensors' elements.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

LogicalResult transpose(Node &n) {
  int64_t rank = n.rank(0);
  SmallVector<int64_t> reversed;
  for (int64_t i = rank - 1; i >= 0; --i)
    reversed.push_back(i);
  auto perm = n.ints("perm", reversed);
  SmallVector<int64_t> sorted(perm);
  llvm::sort(sorted);
  if (int64_t(perm.size()) != rank || !llvm::equal(sorted, llvm::reverse(reversed)))
    return n.error("perm must name each of the " + Twine(rank) + " axes once");
  return n.result(n.transpose(n.in(0), perm));
}

LogicalResult concat(Node &n) {
  int64_t axis = n.axisAttr("axis", 1, n.rank(0));
  SmallVector<Value> xs;
  for (unsigned i = 0; i < n.numInputs(); ++i) {
    if (n.rank(i) != n.rank(0))
      return n.error("inputs must have one rank, found " + Twine(n.rank(0)) + " and " + Twine(n.rank(i)));
    xs.push_back(n.in(i));
  }
  return n.bad() ? failure() : n.result(n.concat(xs, axis));
}

constexpr int64_t farAway = 2147483647; // exporters write INT32_MAX or INT64_MAX for "to the end"

/// Index e of a dimension, negative from the end, clamped to [low, high].
AffineExpr clampIndex(Node &n, AffineExpr e, AffineExpr dim, AffineExpr low, AffineExpr high) {
  auto value = getConstant(e);
  if (value && *value >= farAway)
    return high;
  if (value && *value <= -farAway)
    return low;
  if (value ? *value < 0 : false)
    e = n.syms.add(e, dim);
  else if (!value && !n.isNonNegative(e)) {
    AffineExpr far = n.c(int64_t(1) << 40); // so that no sum overflows
    e = n.syms.max(n.syms.min(e, far), n.syms.sub(n.c(0), far));
    e = n.syms.select(n.fn(SymbolFn::lt, {e, n.c(0)}), n.syms.add(e, dim), e);
  }
  return n.syms.min(n.syms.max(e, low), high);
}

/// Slice with axes or steps that only the run knows: bounds of each dimension by choice, elements by gathering.
LogicalResult sliceAtRunTime(Node &n) {
  auto starts = n.hostExprs(1), ends = n.hostExprs(2), axes = n.has(3) ? n.hostExprs(3) : std::optional<Dims>(Dims());
  auto steps = n.has(4) ? n.hostExprs(4) : std::optional<Dims>(Dims());
  if (!starts || !ends || !axes || !steps)
    return failure();
  int64_t rank = n.rank(0);
  Value x = n.in(0);
  Symbols &s = n.syms;
  AffineExpr zero = n.c(0), one = n.c(1);
  if (ends->size() != starts->size() || (n.has(3) && axes->size() != starts->size()) || (n.has(4) && steps->size() != starts->size()))
    return n.error("starts, ends, axes and steps must have one length");
  for (int64_t d = 0; d < rank; ++d) {
    AffineExpr dim = n.dims(0)[d], start = zero, end = dim, step = one;
    for (size_t k = 0; k < starts->size(); ++k) {
      AffineExpr axis = n.has(3) ? (*axes)[k] : n.c(k);
      AffineExpr isHere = n.fn(SymbolFn::logical_or, {n.fn(SymbolFn::eq, {axis, n.c(d)}), n.fn(SymbolFn::eq, {axis, n.c(d - rank)})});
      AffineExpr by = n.has(4) ? (*steps)[k] : one, last = s.sub(dim, one);
      AffineExpr forward = n.fn(SymbolFn::lt, {zero, by});
      AffineExpr from = s.select(forward, clampIndex(n, (*starts)[k], dim, zero, dim), clampIndex(n, (*starts)[k], dim, zero, last));
      AffineExpr to = s.select(forward, clampIndex(n, (*ends)[k], dim, zero, dim), clampIndex(n, (*ends)[k], dim, n.c(-1), last));
      start = s.select(isHere, from, start);
      end = s.select(isHere, to, end);
      step = s.select(isHere, by, step);
    }
    if (start == zero && end == dim && step == one)
      continue;
    AffineExpr size = s.max(s.ceilDiv(s.sub(end, start), step), zero);
    n.noteSizes({size});
    if (auto by = getConstant(step); by && *by == 1) {
      x = n.slice(x, d, start, size);
      continue;
    }
    Value at = n.mul(n.iota({size}, 0, n.i64()), n.host({step}, {}, n.i64()));
    x = n.gather(x, n.add(at, n.host({start}, {}, n.i64())), d);
  }
  return n.result(x);
}

LogicalResult slice(Node &n) {
  int64_t rank = n.rank(0);
  if (n.version() >= 10 && ((n.has(3) && n.isRuntime(3)) || (n.has(4) && n.isRuntime(4))))
    return sliceAtRunTime(n);
  std::optional<Dims> starts, ends;
  std::optional<SmallVector<int64_t>> axes, steps;
  if (n.version() < 10) {
    starts = n.constantDims(n.ints("starts"));
    ends = n.constantDims(n.ints("ends"));
    if (n.hasAttr("axes"))
      axes = n.ints("axes");
  } else {
    starts = n.hostExprs(1);
    ends = n.hostExprs(2);
    if (n.has(3))
      axes = n.hostInts(3);
    if (n.has(4))
      steps = n.hostInts(4);
  }
  if (n.bad() || !starts || !ends)
    return failure();
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i)
      axes->push_back(i);
  }
  if (!steps)
    steps.emplace(starts->size(), 1);
  if (starts->size() != ends->size() || axes->size() != starts->size() || steps->size() != starts->size())
    return n.error("starts, ends, axes and steps must have one length");
  Dims dims = n.dims(0), from(rank, n.c(0));
  SmallVector<int64_t> by(rank, 1);
  AffineExpr zero = n.c(0), one = n.c(1);
  for (size_t k = 0; k < axes->size(); ++k) {
    int64_t a = n.axis((*axes)[k], rank, "axes"), step = (*steps)[k];
    if (step == 0)
      return n.error("a step must not be 0");
    if (n.bad())
      return failure();
    AffineExpr dim = n.dims(0)[a], last = n.syms.sub(dim, one), start, size;
    if (step > 0) {
      start = clampIndex(n, (*starts)[k], dim, zero, dim);
      size = n.syms.sub(clampIndex(n, (*ends)[k], dim, zero, dim), start);
    } else {
      start = clampIndex(n, (*starts)[k], dim, zero, last);
      size = n.syms.sub(start, clampIndex(n, (*ends)[k], dim, n.c(-1), last));
    }
    dims[a] = n.syms.max(n.syms.ceilDiv(size, n.c(std::abs(step))), zero);
    from[a] = start;
    by[a] = step;
  }
  return n.result(n.slice(n.in(0), from, by, dims));
}

LogicalResult split(Node &n) {
  int64_t axis = n.axisAttr("axis", 0, n.rank(0));
  if (n.bad())
    return failure();
  AffineExpr dim = n.dims(0)[axis], start = n.c(0);
  Dims sizes;
  int64_t count = n.numOutputs();
  if (n.hasAttr("split")) {
    sizes = n.constantDims(n.ints("split"));
  } else if (n.has(1)) {
    auto given = n.hostExprs(1);
    if (!given)
      return failure();
    sizes = *given;
  } else {
    if (n.hasAttr("num_outputs") && n.i("num_outputs") != count)
      return n.error("num_outputs is " + Twine(n.i("num_outputs")) + ", but the node has " + Twine(count) + " outputs");
    AffineExpr part = n.syms.ceilDiv(dim, n.c(count));
    sizes.assign(count, part);
    sizes.back() = n.syms.sub(dim, n.syms.mul(part, n.c(count - 1)));
    if (n.version() < 18)
      n.requireEqual(sizes.back(), part, "dimension " + Twine(axis) + " does not split into " + Twine(count) + " equal parts");
    else
      sizes.back() = n.syms.max(sizes.back(), n.c(0));
  }
  if (int64_t(sizes.size()) != count)
    return n.error("'split' has " + Twine(sizes.size()) + " sizes, but the node has " + Twine(count) + " outputs");
  AffineExpr sum = n.c(0);
  for (AffineExpr size : sizes)
    sum = n.syms.add(sum, size);
  if (n.hasAttr("split") || n.has(1))
    n.requireEqual(sum, dim, "the sizes in 'split' must add up to dimension " + Twine(axis));
  for (auto [i, size] : llvm::enumerate(sizes)) {
    n.set(i, n.slice(n.in(0), axis, start, size));
    start = n.syms.add(start, size);
  }
  return success(!n.bad());
}

LogicalResult pad(Node &n) {
  int64_t rank = n.rank(0);
  std::string mode = n.s("mode", "constant");
  auto kind = symbolizePadMode(mode);
  if (!kind)
    return n.error("mode must be constant, reflect, edge or wrap, found '" + mode + "'");
  std::optional<Dims> pads = n.version() < 11 ? std::optional(n.constantDims(n.ints("pads"))) : n.hostExprs(1);
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i)
    axes.push_back(i);
  std::optional<Dims> runtime; // axes that only the run knows
  if (n.has(3) && n.isRuntime(3)) {
    runtime = n.hostExprs(3);
  } else if (n.has(3)) {
    axes.clear();
    for (int64_t a : n.hostInts(3).value_or(SmallVector<int64_t>()))
      axes.push_back(n.axis(a, rank, "axes"));
  }
  if (!pads || n.bad())
    return failure();
  if (runtime) { // what each dimension gets, by choice
    size_t count = runtime->size();
    if (pads->size() != 2 * count)
      return n.error("pads must have " + Twine(2 * count) + " entries, found " + Twine(pads->size()));
    Dims full(2 * rank, n.c(0));
    for (int64_t d = 0; d < rank; ++d)
      for (size_t k = 0; k < count; ++k) {
        AffineExpr axis = (*runtime)[k];
        AffineExpr isHere = n.fn(SymbolFn::logical_or, {n.fn(SymbolFn::eq, {axis, n.c(d)}), n.fn(SymbolFn::eq, {axis, n.c(d - rank)})});
        full[d] = n.syms.select(isHere, (*pads)[k], full[d]);
        full[rank + d] = n.syms.select(isHere, (*pads)[k + count], full[rank + d]);
      }
    pads = full;
  }
  if (pads->size() != 2 * axes.size())
    return n.error("pads must have " + Twine(2 * axes.size()) + " entries, found " + Twine(pads->size()));
  Dims low(rank, n.c(0)), high(rank, n.c(0));
  for (auto [k, a] : llvm::enumerate(axes)) {
    low[a] = (*pads)[k];
    high[a] = (*pads)[k + axes.size()];
  }
  Value value;
  if (*kind == PadMode::constant)
    value = n.version() < 11 ? n.scalarLike(n.f("value"), n.in(0)) : n.has(2) ? n.reshape(n.in(2), {}) : n.scalarLike(0, n.in(0));
  return n.result(n.pad(n.in(0), low, high, value, *kind));
}

LogicalResult tile(Node &n) {
  auto repeats = n.hostExprs(1);
  if (!repeats)
    return failure();
  Dims from = n.dims(0), wide, dims;
  if (repeats->size() != from.size())
    return n.error("repeats must have " + Twine(from.size()) + " entries, found " + Twine(repeats->size()));
  SmallVector<int64_t> map;
  for (auto [r, d] : llvm::zip(*repeats, from)) {
    if (!isConstant(r, 1))
      wide.push_back(r);
    map.push_back(wide.size());
    wide.push_back(d);
    dims.push_back(n.syms.mul(r, d));
  }
  return n.result(n.reshape(n.broadcast(n.in(0), wide, map), dims));
}

/// Both are a reshape to six dimensions, a transpose and a reshape.
LogicalResult depthToSpace(Node &n) {
  int64_t block = n.i("blocksize");
  if (n.rank(0) != 4 || block <= 0)
    return n.error("the input must have rank 4 and blocksize be positive");
  Dims d = n.dims(0);
  AffineExpr b = n.c(block), channels = n.syms.floorDiv(d[1], n.c(block * block));
  n.requireEqual(n.syms.mul(channels, n.c(block * block)), d[1], "channels must divide by blocksize * blocksize");
  bool crd = n.s("mode", "DCR") == "CRD";
  Value x = crd ? n.reshape(n.in(0), {d[0], channels, b, b, d[2], d[3]}) : n.reshape(n.in(0), {d[0], b, b, channels, d[2], d[3]});
  x = n.transpose(x, crd ? ArrayRef<int64_t>{0, 1, 4, 2, 5, 3} : ArrayRef<int64_t>{0, 3, 4, 1, 5, 2});
  return n.result(n.reshape(x, {d[0], channels, n.syms.mul(d[2], b), n.syms.mul(d[3], b)}));
}

LogicalResult spaceToDepth(Node &n) {
  int64_t block = n.i("blocksize");
  if (n.rank(0) != 4 || block <= 0)
    return n.error("the input must have rank 4 and blocksize be positive");
  Dims d = n.dims(0);
  AffineExpr b = n.c(block), h = n.syms.floorDiv(d[2], b), w = n.syms.floorDiv(d[3], b);
  n.requireEqual(n.syms.mul(h, b), d[2], "the height must divide by blocksize");
  n.requireEqual(n.syms.mul(w, b), d[3], "the width must divide by blocksize");
  Value x = n.transpose(n.reshape(n.in(0), {d[0], d[1], h, b, w, b}),
                        n.s("mode", "DCR") == "CRD" ? ArrayRef<int64_t>{0, 1, 3, 5, 2, 4} : ArrayRef<int64_t>{0, 3, 5, 1, 2, 4});
  return n.result(n.reshape(x, {d[0], n.syms.mul(d[1], n.c(block * block)), h, w}));
}

LogicalResult trilu(Node &n) {
  int64_t rank = n.rank(0);
  if (rank < 2)
    return n.error("the input must have rank 2 or more, found " + Twine(rank));
  Value x = n.in(0);
  Dims dims = n.dims(0);
  Value row = n.iota(ArrayRef(dims).take_back(2), 0, n.i64()), column = n.iota(ArrayRef(dims).take_back(2), 1, n.i64());
  Value diagonal = n.has(1) ? n.add(row, n.reshape(n.in(1), {})) : row;
  Value keep = n.compare(n.i("upper", 1) ? CompareKind::ge : CompareKind::le, column, diagonal);
  return n.result(n.select(keep, x, n.scalarLike(0, x)));
}

} // namespace

void weft::onnx::addMovementRules(Rules &r) {
  r.add("Transpose", 1, transpose);
  r.add("Concat", 4, concat);
  r.add("Slice", 1, slice);
  r.add("Split", 2, split);
  r.add("Pad", 2, pad);
  r.add("Tile", 6, tile);
  r.add("DepthToSpace", 1, depthToSpace);
  r.add("SpaceToDepth", 1, spaceToDepth);
  r.add("Trilu", 14, trilu);
}
