// GridSample and AffineGrid: sampling at computed positions, as gathers and weighted sums.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

/// One neighbour along one spatial dimension: its index (i64, in range), weight, and whether it lies inside (or null).
struct Tap {
  Value index, weight, inside;
};

struct Sampler {
  Node &n;
  bool alignCorners;
  std::string padding, mode;

  Value c(double v, Value like) { return n.scalarLike(v, like); }
  Value sizeOf(AffineExpr dim) { return n.cast(n.host({dim}, {}, n.i64()), n.f32()); }
  Value floorOf(Value x) { return n.unary(UnaryKind::floor, x); }

  /// From [-1, 1] to positions between elements.
  Value denormalize(Value x, Value size) {
    if (alignCorners) // (x + 1) / 2 * (size - 1)
      return n.mul(n.mul(n.add(x, 1), 0.5), n.add(size, -1));
    return n.mul(n.add(n.mul(n.add(x, 1), size), -1), 0.5); // ((x + 1) * size - 1) / 2
  }

  /// Mirrors x into [low, high].
  Value reflect(Value x, Value low, Value high) {
    Value range = n.sub(high, low), distance = n.unary(UnaryKind::abs, n.sub(x, low));
    Value isEmpty = n.compare(CompareKind::le, range, c(0, range));
    Value divisor = n.select(isEmpty, c(1, range), range);
    Value times = floorOf(n.div(distance, divisor));
    Value rest = n.sub(distance, n.mul(times, divisor));
    Value isOdd = n.compare(CompareKind::ne, n.sub(times, n.mul(floorOf(n.mul(times, 0.5)), 2.0)), c(0, times));
    return n.select(isEmpty, low, n.select(isOdd, n.sub(high, rest), n.add(low, rest)));
  }

  /// An integral position as an index in range; with zero padding also whether it was inside.
  Tap tap(Value at, Value weight, Value size) {
    Value last = n.add(size, -1), zero = c(0, at), inside;
    if (padding == "zeros")
      inside = n.binary(BinaryKind::logical_and, n.compare(CompareKind::ge, at, zero), n.compare(CompareKind::le, at, last));
    else if (padding == "reflection")
      at = alignCorners ? reflect(at, zero, last) : reflect(at, c(-0.5, at), n.add(size, -0.5));
    Value clamped = n.max(n.min(at, last), zero);
    return {n.cast(n.unary(UnaryKind::round_even, clamped), n.i64()), weight, inside};
  }

  /// Keys' cubic with a = -0.75 at distance d from 0 (near) or from 1 to 2 (far).
  Value cubicNear(Value d) { return n.add(n.mul(n.mul(n.add(n.mul(d, 1.25), -2.25), d), d), 1); }
  Value cubicFar(Value d) { // a d^3 - 5a d^2 + 8a d - 4a
    return n.add(n.mul(n.add(n.mul(n.add(n.mul(d, -0.75), 3.75), d), -6), d), 3);
  }

  SmallVector<Tap> taps(Value x, AffineExpr dim) {
    Value size = sizeOf(dim), at = denormalize(x, size);
    Value zero = c(0, at), last = n.add(size, -1);
    if (padding == "border" && mode != "cubic")
      at = n.max(n.min(at, last), zero);
    else if (padding == "reflection" && mode != "cubic")
      at = n.max(n.min(alignCorners ? reflect(at, zero, last) : reflect(at, c(-0.5, at), n.add(size, -0.5)), last), zero);
    if (mode == "nearest")
      return {tap(n.unary(UnaryKind::round_even, at), Value(), size)};
    Value base = floorOf(at), t = n.sub(at, base);
    if (mode == "linear")
      return {tap(base, n.add(n.mul(t, -1.0), 1), size), tap(n.add(base, 1), t, size)};
    Value u = n.add(n.mul(t, -1.0), 1); // 1 - t
    return {tap(n.add(base, -1), cubicFar(n.add(t, 1)), size), tap(base, cubicNear(t), size),
            tap(n.add(base, 1), cubicNear(u), size), tap(n.add(base, 2), cubicFar(n.add(u, 1)), size)};
  }
};

LogicalResult gridSample(Node &n) {
  std::string mode = n.s("mode", "linear");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  std::string padding = n.s("padding_mode", "zeros");
  int64_t rank = n.rank(0), spatial = rank - 2;
  if (rank < 3 || n.rank(1) != rank || !isConstant(n.dims(1).back(), spatial))
    return n.error("the grid must have the input's rank (3 or more) and " + Twine(spatial) + " coordinates in its last dimension");
  if ((mode != "linear" && mode != "nearest" && mode != "cubic") || (padding != "zeros" && padding != "border" && padding != "reflection"))
    return n.error("mode '" + mode + "' or padding_mode '" + padding + "' is unknown");
  n.requireEqual(n.dims(0)[0], n.dims(1)[0], "input and grid must have one batch size");
  if (n.bad())
    return failure();
  Sampler s{n, bool(n.i("align_corners")), padding, mode};
  Dims dims = n.dims(0), at = n.dims(1);
  SmallVector<int64_t> toLast{0}, toSecond{0, rank - 1};
  for (int64_t i = 2; i < rank; ++i)
    toLast.push_back(i);
  toLast.push_back(1);
  for (int64_t i = 1; i < rank - 1; ++i)
    toSecond.push_back(i);
  Value x = n.transpose(n.in(0), toLast), grid = n.cast(n.in(1), n.f32()); // [N, spatial..., C]
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t d = 0; d < spatial; ++d) // the last coordinate is the first spatial dimension
    taps.push_back(s.taps(n.squeeze(n.slice(grid, rank - 1, n.c(spatial - 1 - d), n.c(1)), {rank - 1}), dims[2 + d]));
  size_t count = 1;
  for (auto &t : taps)
    count *= t.size();
  Value sum;
  for (size_t k = 0; k < count; ++k) {
    SmallVector<Value> indices;
    Value weight, inside;
    size_t rest = k;
    for (auto &t : taps) {
      Tap &tap = t[rest % t.size()];
      rest /= t.size();
      indices.push_back(n.unsqueeze(tap.index, {rank - 1}));
      weight = !tap.weight ? weight : weight ? n.mul(weight, tap.weight) : tap.weight;
      inside = !tap.inside ? inside : inside ? n.binary(BinaryKind::logical_and, inside, tap.inside) : tap.inside;
    }
    Value where = n.concat(indices, rank - 1); // [N, out..., spatial]
    Dims out(ArrayRef(at).drop_back());
    out.push_back(dims[1]);
    Value y = GatherNDOp::create(n.b, n.loc, n.tensor(out, n.type(0)), x, where, n.b.getI64IntegerAttr(1));
    if (inside)
      y = n.select(n.unsqueeze(inside, {rank - 1}), y, n.scalarLike(0, y));
    if (weight)
      y = n.mul(y, n.cast(n.unsqueeze(weight, {rank - 1}), n.typeOf(y)));
    sum = sum ? n.add(sum, y) : y;
  }
  return n.bad() ? failure() : n.result(n.transpose(sum, toSecond));
}

/// grid[n, ..., :] = theta[n] * (position..., 1)
LogicalResult affineGrid(Node &n) {
  auto size = n.hostExprs(1);
  if (!size)
    return failure();
  int64_t spatial = int64_t(size->size()) - 2;
  if (spatial != 2 && spatial != 3)
    return n.error("size must have 4 or 5 entries, found " + Twine(size->size()));
  Dims out(ArrayRef(*size).drop_front(2)), one(out);
  one.push_back(n.c(1));
  Type type = n.type(0);
  SmallVector<Value> columns;
  for (int64_t d = spatial - 1; d >= 0; --d) { // x first
    Value i = n.cast(n.iota(one, d, n.i64()), type), extent = n.cast(n.host({out[d]}, {}, n.i64()), type);
    columns.push_back(n.i("align_corners") ? n.add(n.div(n.mul(i, 2.0), n.add(extent, -1)), -1)
                                           : n.add(n.div(n.add(n.mul(i, 2.0), 1), extent), -1));
  }
  columns.push_back(n.fill(1, one, type));
  Value base = n.reshape(n.concat(columns, spatial), {n.product(out), n.c(spatial + 1)});
  Dims result{n.dims(0)[0]};
  llvm::append_range(result, out);
  result.push_back(n.c(spatial));
  return n.result(n.reshape(n.contract(base, n.transpose(n.in(0), {0, 2, 1})), result));
}

} // namespace

void weft::onnx::addSamplingRules(Rules &r) {
  r.add("GridSample", 16, gridSample);
  r.add("AffineGrid", 20, affineGrid);
}
