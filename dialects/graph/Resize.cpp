// Verifier and element rule of `graph.resize` (ONNX Resize 19): separable interpolation at one output position.
//
// Guarantees: coordinates are computed in f32, as the ONNX reference and ONNX Runtime do; dimensions whose scale is 1 and
// whose size stays are passed through.
#include "dialects/graph/Graph.h"
#include "dialects/graph/Scalar.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft::graph;

static Type elementType(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

LogicalResult ResizeOp::verify() {
  int64_t rank = getX().getType().getRank();
  if (getY().getType().getRank() != rank || int64_t(getScales().size()) != rank)
    return emitOpError("[resize_c1] scales and result must have rank ") << rank;
  if ((getCoord() == ResizeCoord::tf_crop_and_resize) != bool(getRoi()))
    return emitOpError("[resize_c2] roi belongs to tf_crop_and_resize alone");
  if (getRoi() && int64_t(getRoi()->size()) != 2 * rank)
    return emitOpError("[resize_c3] roi has ") << getRoi()->size() << " values, expected " << 2 * rank;
  if (elementType(getX()) != elementType(getY()))
    return emitOpError("[resize_c4] element types differ");
  return success();
}

int64_t ResizeOp::elementCost() { return getMode() == ResizeMode::nearest ? 12 : getMode() == ResizeMode::linear ? 60 : 300; }
int64_t ResizeOp::readsPerElement(unsigned) {
  int64_t taps = getMode() == ResizeMode::nearest ? 1 : getMode() == ResizeMode::linear ? 2 : 4, reads = 1;
  for (auto [from, to] : llvm::zip_equal(getDims(getX()), getDims(getY())))
    if (from != to)
      reads *= taps;
  return reads;
}

namespace {
/// The code of one output element.
struct Resizer {
  ResizeOp op;
  ElementEmitter &emitter;
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc();
  Type f32 = b.getF32Type();
  Dims from = getDims(op.getX()), to = getDims(op.getY());
  Value outside; // tf_crop_and_resize: some coordinate is outside

  Value real(double value) { return scalar::constant(b, loc, f32, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value floor(Value x) { return math::FloorOp::create(b, loc, x); }
  Value less(Value x, Value y) { return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y); }
  Value toReal(Value index) { return arith::SIToFPOp::create(b, loc, f32, index); }
  Value toIndex(Value value) { return arith::FPToSIOp::create(b, loc, emitter.indexType, value); }
  Value hostReal(AffineExpr expr) {
    Value value = emitter.host(expr);
    return isa<FloatType>(value.getType()) ? Value(arith::TruncFOp::create(b, loc, f32, value)) : toReal(value);
  }
  Value clampIndex(Value index, Value last) {
    return arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, index, emitter.constant(0)), last);
  }

  bool isIdentity(unsigned d) { return op.getCoord() != ResizeCoord::tf_crop_and_resize && from[d] == to[d] && isOne(op.getScales()[d]); }
  bool isOne(AffineExpr scale) {
    if (isConstant(scale, 1))
      return true;
    auto symbol = dyn_cast<AffineSymbolExpr>(scale);
    auto module = op->getParentOfType<ModuleOp>();
    auto symbols = module ? module->getAttrOfType<ArrayAttr>("graph.symbols") : ArrayAttr();
    if (!symbol || !symbols || symbol.getPosition() >= symbols.size())
      return false;
    auto attr = cast<SymbolAttr>(symbols[symbol.getPosition()]);
    return attr.getKind() == SymbolKind::fconstant && attr.getValue().getValueAsDouble() == 1.0;
  }

  /// The position in the operand that output position `o` of dimension `d` shows (coordinate_transformation_mode).
  Value coordinate(unsigned d, Value o) {
    Value x = toReal(o), scale = hostReal(op.getScales()[d]), half = real(0.5), one = real(1);
    Value inSize = toReal(emitter.host(from[d])), outSize = toReal(emitter.host(to[d]));
    Value halfPixel = sub(div(add(x, half), scale), half);
    Value single = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, outSize, one);
    switch (op.getCoord()) {
    case ResizeCoord::half_pixel:
      return halfPixel;
    case ResizeCoord::pytorch_half_pixel:
      return emitter.select(single, real(0), halfPixel);
    case ResizeCoord::asymmetric:
      return div(x, scale);
    case ResizeCoord::align_corners: {
      // ONNX's length is scale * in before it is cut to an integer; where they agree but for rounding, the size is exact.
      Value exact = mul(scale, inSize), isWhole = less(sub(exact, outSize), mul(outSize, real(1e-5)));
      Value steps = arith::MaximumFOp::create(b, loc, sub(emitter.select(isWhole, outSize, exact), one), one);
      return emitter.select(single, real(0), div(mul(x, sub(inSize, one)), steps));
    }
    case ResizeCoord::half_pixel_symmetric: {
      // ONNX Resize 19: the true scale out / (scale * in) shifts the centre.
      Value adjustment = div(outSize, mul(scale, inSize)), centre = mul(inSize, half);
      return add(mul(centre, sub(one, adjustment)), halfPixel);
    }
    case ResizeCoord::tf_crop_and_resize: {
      unsigned rank = to.size();
      Value start = hostReal((*op.getRoi())[d]), end = hostReal((*op.getRoi())[rank + d]), last = sub(inSize, one);
      Value steps = arith::MaximumFOp::create(b, loc, sub(outSize, one), one);
      Value many = add(mul(start, last), div(mul(x, mul(sub(end, start), last)), steps));
      Value position = emitter.select(single, mul(mul(half, add(start, end)), last), many);
      Value low = less(position, real(0)), high = less(last, position);
      Value here = arith::OrIOp::create(b, loc, low, high);
      outside = outside ? Value(arith::OrIOp::create(b, loc, outside, here)) : here;
      return position;
    }
    }
    llvm_unreachable("unknown ResizeCoord");
  }

  /// Rounds to the nearer position. A tie of exact arithmetic often lies an error of single precision aside, so what comes
  /// within 1e-6 of one is one: this is how ONNX Runtime decides, too.
  Value roundHalf(Value x, bool up) {
    Value below = floor(x), fraction = sub(x, below);
    return emitter.select(less(real(up ? 0.499999 : 0.500001), fraction), add(below, real(1)), below);
  }
  Value nearestIndex(Value x) {
    switch (op.getNearest()) {
    case ResizeNearest::round_prefer_floor: return roundHalf(x, false);
    case ResizeNearest::round_prefer_ceil: return roundHalf(x, true);
    case ResizeNearest::floor: return floor(x);
    case ResizeNearest::ceil: return math::CeilOp::create(b, loc, x);
    }
    llvm_unreachable("unknown ResizeNearest");
  }

  struct Tap { Value index, weight; };

  SmallVector<Tap, 4> linearTaps(Value x, Value last) {
    Value clamped = arith::MinimumFOp::create(b, loc, arith::MaximumFOp::create(b, loc, x, real(0)), toReal(last));
    Value base = floor(clamped), fraction = sub(clamped, base), low = toIndex(base);
    Value high = arith::MinSIOp::create(b, loc, emitter.add(low, emitter.constant(1)), last);
    return {{low, sub(real(1), fraction)}, {high, fraction}};
  }

  SmallVector<Tap, 4> cubicTaps(Value x, Value last) {
    Value base = floor(x), t = sub(x, base), a = real(op.getCubicCoeff().convertToDouble());
    auto near = [&](Value s) { // |s| <= 1: ((a + 2) s - (a + 3)) s^2 + 1
      return add(mul(mul(sub(mul(add(a, real(2)), s), add(a, real(3))), s), s), real(1));
    };
    auto far = [&](Value s) { // 1 < |s| < 2: ((a s - 5a) s + 8a) s - 4a
      return sub(mul(add(mul(sub(mul(a, s), mul(real(5), a)), s), mul(real(8), a)), s), mul(real(4), a));
    };
    Value weights[4] = {far(add(t, real(1))), near(t), near(sub(real(1), t)), far(sub(real(2), t))};
    SmallVector<Tap, 4> taps;
    Value first = toIndex(base), sum;
    for (int i = 0; i < 4; ++i) {
      Value raw = emitter.add(first, emitter.constant(i - 1)), index = clampIndex(raw, last), weight = weights[i];
      if (op.getExcludeOutside())
        weight = emitter.select(emitter.equal(raw, index), weight, real(0));
      taps.push_back({index, weight});
      sum = sum ? add(sum, weight) : weight;
    }
    if (op.getExcludeOutside())
      for (Tap &tap : taps)
        tap.weight = div(tap.weight, sum);
    return taps;
  }

  /// Interpolates dimensions `d` and up; the taps of the dimensions before are chosen in `position`.
  Value interpolate(unsigned d, SmallVector<Value, 4> &position, ArrayRef<SmallVector<Tap, 4>> taps) {
    Type type = elementType(op.getX());
    if (d == taps.size())
      return scalar::cast(b, loc, emitter.operand(0, ElementEmitter::at(position)), type, f32);
    if (taps[d].empty())
      return interpolate(d + 1, position, taps);
    Value sum;
    for (const Tap &tap : taps[d]) {
      position[d] = tap.index;
      Value part = mul(tap.weight, interpolate(d + 1, position, taps));
      sum = sum ? add(sum, part) : part;
    }
    return sum;
  }

  Value element(const ElementIndex &at) {
    SmallVector<Value, 4> position = emitter.multi(at, to);
    SmallVector<SmallVector<Tap, 4>, 4> taps(to.size());
    for (unsigned d = 0; d < to.size(); ++d) {
      if (isIdentity(d))
        continue;
      Value last = emitter.sub(emitter.host(from[d]), emitter.constant(1)), x = coordinate(d, position[d]);
      switch (op.getMode()) {
      case ResizeMode::nearest: position[d] = clampIndex(toIndex(nearestIndex(x)), last); break;
      case ResizeMode::linear: taps[d] = linearTaps(x, last); break;
      case ResizeMode::cubic: taps[d] = cubicTaps(x, last); break;
      }
    }
    Type type = elementType(op.getY());
    Value result = op.getMode() == ResizeMode::nearest ? emitter.operand(0, ElementEmitter::at(position))
                                                       : scalar::cast(b, loc, interpolate(0, position, taps), f32, type);
    if (outside)
      result = emitter.select(outside, scalar::constant(b, loc, type, op.getExtrapolation().convertToDouble()), result);
    return result;
  }
};
} // namespace

Elements ResizeOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Elements results;
  for (unsigned k = 0; k < count; ++k)
    results.push_back(Resizer{*this, emitter}.element(emitter.advance(index, k)));
  return results;
}
