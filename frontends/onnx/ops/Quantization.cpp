// Quantization: (de)quantization as casts and elementwise arithmetic, integer products after subtraction of zero points.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

/// A scale or zero point as a tensor that broadcasts with x: per tensor, per axis, or per block along the axis.
Value spread(Node &n, Value s, Value x, int64_t axis, int64_t block) {
  Dims dims = n.dimsOf(x), own = n.dimsOf(s);
  if (own.empty() || (own.size() == 1 && isConstant(own[0], 1) && block == 0))
    return n.reshape(s, {});
  if (block == 0) {
    if (own.size() != 1)
      return (void)n.error("scale and zero point must have rank 0 or 1, or block_size be given"), x;
    n.requireEqual(own[0], dims[axis], "scale and zero point must have one element per element of axis " + Twine(axis));
    return n.bad() ? x : n.broadcast(s, dims, {axis});
  }
  if (own.size() != dims.size())
    return (void)n.error("scale and zero point must have the input's rank with block_size"), x;
  // [.., B, ..] -> [.., B, block, ..] -> [.., B * block, ..], cut to the dimension (the last block may be short)
  Dims wide(own);
  wide.insert(wide.begin() + axis + 1, n.c(block));
  SmallVector<int64_t> map;
  for (int64_t i = 0; i < int64_t(own.size()); ++i)
    map.push_back(i <= axis ? i : i + 1);
  Dims merged(own);
  merged[axis] = n.syms.mul(own[axis], n.c(block));
  return n.slice(n.reshape(n.broadcast(s, wide, map), merged), axis, n.c(0), dims[axis]);
}

bool isIntegerType(Type type) { return isa<IntegerType>(type); }

/// (x - zero point) * scale
LogicalResult dequantize(Node &n) {
  int64_t rank = n.rank(0), block = n.i("block_size", 0);
  bool perTensor = n.rank(1) == 0 || (n.rank(1) == 1 && isConstant(n.dims(1)[0], 1) && block == 0);
  int64_t axis = rank && !perTensor ? n.axisAttr("axis", 1, rank) : 0;
  if (n.bad())
    return failure();
  Value x = n.in(0), scale = n.in(1);
  Type out = n.hasAttr("output_dtype") && n.i("output_dtype") ? n.elementType("output_dtype", DataType::f32) : n.typeOf(scale);
  Type work = n.f32();
  Value wide;
  if (isIntegerType(n.typeOf(x)) && n.has(2)) {
    Value point = spread(n, n.cast(n.in(2), n.b.getI32Type()), x, axis, block);
    wide = n.cast(n.sub(n.cast(x, n.b.getI32Type()), point), work);
  } else {
    wide = n.cast(x, work);
    if (n.has(2))
      wide = n.sub(wide, spread(n, n.cast(n.in(2), work), x, axis, block));
  }
  if (n.bad())
    return failure();
  return n.result(n.cast(n.mul(wide, spread(n, n.cast(scale, work), x, axis, block)), out));
}

/// Rounds half to even and saturates to the integer type.
Value saturate(Node &n, Value x, Type type) {
  auto integer = cast<IntegerType>(type);
  unsigned width = integer.getWidth();
  double low = integer.isUnsigned() ? 0 : -double(1ll << (width - 1));
  double high = integer.isUnsigned() ? double((1ll << width) - 1) : double((1ll << (width - 1)) - 1);
  x = n.max(n.min(x, n.scalarLike(high, x)), n.scalarLike(low, x));
  return n.cast(n.cast(x, n.b.getI32Type()), type);
}

/// x / scale, rounded to an integer type with zero point, or cast to a narrow float.
Value quantizeTo(Node &n, Value x, Value scale, Value point, Type type, bool saturates) {
  Value y = n.div(x, scale);
  if (isa<FloatType>(type)) {
    y = point ? n.add(y, n.cast(point, n.typeOf(y))) : y;
    return n.cast(y, type, saturates);
  }
  y = n.unary(UnaryKind::round_even, y);
  if (point)
    y = n.add(y, n.cast(point, n.typeOf(y)));
  return saturate(n, y, type);
}

LogicalResult quantize(Node &n) {
  int64_t rank = n.rank(0), block = n.i("block_size", 0);
  bool perTensor = n.rank(1) == 0 || (n.rank(1) == 1 && isConstant(n.dims(1)[0], 1));
  int64_t axis = rank && !perTensor ? n.axisAttr("axis", 1, rank) : 0;
  if (n.bad())
    return failure();
  Value x = n.in(0);
  if (n.i("precision", 0) > 1)
    return n.error("precision " + Twine(n.i("precision")) + " is not supported");
  Type type = n.has(2) ? n.type(2) : n.hasAttr("output_dtype") && n.i("output_dtype") ? n.elementType("output_dtype", DataType::u8) : n.elementType(DataType::u8);
  Value wide = n.cast(x, n.f32()); // integers and narrow floats too
  Value scale = spread(n, n.cast(n.in(1), n.f32()), x, axis, block);
  Value point = n.has(2) ? spread(n, n.cast(n.in(2), n.f32()), x, axis, block) : Value();
  return n.bad() ? failure() : n.result(quantizeTo(n, wide, scale, point, type, n.i("saturate", 1)));
}

/// Scale and zero point from the range of x (0 included), then uint8.
LogicalResult dynamicQuantize(Node &n) {
  Value x = n.in(0), zero = n.scalarLike(0, x);
  SmallVector<int64_t> all;
  for (int64_t i = 0; i < n.rank(0); ++i)
    all.push_back(i);
  Value low = n.min(n.reduce(ReduceKind::min, x, all, false), zero), high = n.max(n.reduce(ReduceKind::max, x, all, false), zero);
  Value scale = n.div(n.sub(high, low), n.scalarLike(255, x));
  // A tensor of zeros has scale 0: its quotients count as 0.
  Value isZero = n.compare(CompareKind::eq, scale, zero);
  Value divisor = n.select(isZero, n.scalarLike(1, x), scale);
  Type u8 = n.elementType(DataType::u8);
  Value point = n.unary(UnaryKind::round_even, n.div(n.sub(zero, low), divisor));
  point = n.max(n.min(point, n.scalarLike(255, x)), zero);
  n.set(1, scale);
  n.set(2, n.cast(n.cast(point, n.b.getI32Type()), u8));
  return n.result(quantizeTo(n, x, divisor, point, u8, true));
}

/// x - zero point as i32; the point may be per row or column (along `axis`).
Value centred(Node &n, unsigned i, unsigned point, int64_t axis) {
  Value x = n.cast(n.in(i), n.b.getI32Type());
  if (!n.has(point))
    return x;
  Value z = n.cast(n.in(point), n.b.getI32Type());
  if (n.rankOf(z) == 1 && !isConstant(n.dimsOf(z)[0], 1))
    z = n.broadcast(z, n.dimsOf(x), {axis});
  else if (n.rankOf(z) <= 1)
    z = n.reshape(z, {});
  return n.sub(x, z);
}

LogicalResult matMulInteger(Node &n) {
  return n.result(n.contract(centred(n, 0, 2, std::max<int64_t>(n.rank(0) - 2, 0)), centred(n, 1, 3, n.rank(1) - 1)));
}

/// A per-column vector (or scalar) of the second operand for the result of a product.
Value perColumn(Node &n, unsigned i) {
  Value s = n.cast(n.in(i), n.f32());
  return n.rankOf(s) == 1 && isConstant(n.dimsOf(s)[0], 1) ? n.reshape(s, {}) : s;
}
/// A per-row vector: broadcasts along the last dimension.
Value perRow(Node &n, unsigned i) {
  Value s = perColumn(n, i);
  return n.rankOf(s) == 1 ? n.unsqueeze(s, {1}) : s;
}

LogicalResult qlinearMatMul(Node &n) { // a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
  Value a = centred(n, 0, 2, std::max<int64_t>(n.rank(0) - 2, 0)), b = centred(n, 3, 5, n.rank(3) - 1);
  Value y = n.cast(n.contract(a, b), n.f32());
  y = n.mul(y, n.mul(perRow(n, 1), perColumn(n, 4)));
  return n.bad() ? failure() : n.result(quantizeTo(n, y, perColumn(n, 6), perColumn(n, 7), n.type(7), true));
}

} // namespace

void weft::onnx::addQuantizationRules(Rules &r) {
  r.add("DequantizeLinear", 10, dequantize);
  r.add("QuantizeLinear", 10, quantize);
  r.add("DynamicQuantizeLinear", 11, dynamicQuantize);
  r.add("MatMulInteger", 10, matMulInteger);
  r.add("QLinearMatMul", 10, qlinearMatMul);
  r.add("ConvInteger", 10, [](Node &n) {
    Value w = n.cast(n.in(1), n.b.getI32Type());
    if (n.has(3)) {
      Value z = n.cast(n.in(3), n.b.getI32Type());
      w = n.sub(w, n.rankOf(z) == 1 && !isConstant(n.dimsOf(z)[0], 1) ? n.broadcast(z, n.dimsOf(w), {0}) : n.reshape(z, {}));
    }
    return convolve(n, centred(n, 0, 2, 1), w, Value());
  });
  r.add("QLinearConv", 10, [](Node &n) { // x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias
    Value w = n.cast(n.in(3), n.b.getI32Type()), z = n.cast(n.in(5), n.b.getI32Type());
    bool perChannel = n.rankOf(z) == 1 && !isConstant(n.dimsOf(z)[0], 1);
    w = n.sub(w, perChannel ? n.broadcast(z, n.dimsOf(w), {0}) : n.reshape(z, {}));
    if (failed(convolve(n, centred(n, 0, 2, 1), w, n.opt(8))))
      return failure();
    Value y = n.cast(n.results()[0].value, n.f32()), scale = n.mul(perColumn(n, 1), perColumn(n, 4));
    y = n.mul(y, n.rankOf(scale) == 1 ? n.broadcast(scale, n.dimsOf(y), {1}) : scale);
    return n.bad() ? failure() : n.result(quantizeTo(n, y, perColumn(n, 6), perColumn(n, 7), n.type(7), true));
  });
}
