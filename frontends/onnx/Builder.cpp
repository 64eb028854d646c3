// Broadcasting, constants and elementwise operations: see Builder.h. Movement and roots stand in BuilderShapes.cpp.
#include "frontends/onnx/Builder.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::onnx {

LogicalResult GraphBuilder::error(const Twine &message) {
  failed = state.failed = true;
  return emitError(loc, message);
}

Dims GraphBuilder::constantDims(ArrayRef<int64_t> values) const {
  Dims dims;
  for (int64_t value : values)
    dims.push_back(c(value));
  return dims;
}

int64_t GraphBuilder::axis(int64_t axis, int64_t rank, StringRef what) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  (void)error(what + " must be between " + Twine(-rank) + " and " + Twine(rank - 1) + ", found " + Twine(axis));
  return 0;
}

SmallVector<int64_t> GraphBuilder::axes(ArrayRef<int64_t> axes, int64_t rank, StringRef what) {
  SmallVector<int64_t> result;
  for (int64_t a : axes)
    result.push_back(axis(a, rank, what));
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end() && !failed) {
    (void)error(what + " names an axis twice");
    result.erase(std::unique(result.begin(), result.end()), result.end());
  }
  return result;
}

AffineExpr GraphBuilder::product(ArrayRef<AffineExpr> dims) const {
  AffineExpr result = c(1);
  for (AffineExpr dim : dims)
    result = syms.mul(result, dim);
  return result;
}

bool GraphBuilder::isNonNegative(AffineExpr e) const {
  if (state.sizes.contains(e) || syms.lowerBound(e).value_or(-1) >= 0)
    return true;
  auto binary = dyn_cast<AffineBinaryOpExpr>(e);
  return binary && (binary.getKind() == AffineExprKind::Add || binary.getKind() == AffineExprKind::Mul) &&
         isNonNegative(binary.getLHS()) && isNonNegative(binary.getRHS());
}

void GraphBuilder::check(AffineExpr condition, const Twine &message) {
  if (auto value = getConstant(condition)) {
    if (!*value)
      (void)error(message);
    return;
  }
  if (!state.checked.insert({b.getInsertionBlock(), condition}).second)
    return;
  CheckOp::create(b, loc, dimsAttr({condition}), b.getStringAttr(message.str()));
}

void GraphBuilder::requireEqual(AffineExpr x, AffineExpr y, const Twine &message) {
  if (x == y)
    return;
  auto p = getConstant(x), q = getConstant(y);
  if (p && q) {
    (void)error(message + ", found " + Twine(*p) + " and " + Twine(*q));
    return;
  }
  check(fn(SymbolFn::eq, {x, y}), message);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value GraphBuilder::constant(ElementsAttr value) {
  OpBuilder::InsertionGuard guard(b);
  if (state.lastConstant)
    b.setInsertionPointAfter(state.lastConstant);
  else
    b.setInsertionPointToStart(state.entry);
  auto op = ConstantOp::create(b, loc, value.getShapedType(), value);
  state.lastConstant = op;
  return op;
}

static Attribute numberAttr(double value, Type type) {
  if (auto real = dyn_cast<FloatType>(type))
    return FloatAttr::get(type, value); // rounds to the type
  auto integer = cast<IntegerType>(type);
  return IntegerAttr::get(type, APInt(integer.getWidth(), int64_t(value), /*isSigned=*/true, /*implicitTrunc=*/true));
}

Value GraphBuilder::scalar(double value, Type type) {
  return constant(DenseElementsAttr::get(RankedTensorType::get({}, type), numberAttr(value, type)));
}

Value GraphBuilder::fill(double value, ArrayRef<AffineExpr> dims, Type type) {
  return broadcastTo(scalar(value, type), dims);
}

Value GraphBuilder::ints(ArrayRef<int64_t> values, Type type) {
  type = type ? type : i64();
  SmallVector<Attribute> attrs;
  for (int64_t value : values)
    attrs.push_back(numberAttr(0, type).getContext() ? Attribute(IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), value, true, true))) : Attribute());
  return constant(DenseElementsAttr::get(RankedTensorType::get({int64_t(values.size())}, type), attrs));
}

Value GraphBuilder::floats(ArrayRef<float> values) {
  return constant(DenseElementsAttr::get(RankedTensorType::get({int64_t(values.size())}, f32()), values));
}

Value GraphBuilder::host(ArrayRef<AffineExpr> values, ArrayRef<int64_t> shape, Type type) {
  SmallVector<int64_t> flat;
  if (!shape.empty())
    flat.push_back(int64_t(values.size()));
  Value x = HostOp::create(b, loc, RankedTensorType::get(flat, type), dimsAttr(values));
  return shape.size() > 1 ? reshape(x, constantDims(shape)) : x;
}

Value GraphBuilder::limit(bool lowest, Type type) {
  TypedAttr attr;
  if (auto real = dyn_cast<FloatType>(type)) {
    const auto &semantics = real.getFloatSemantics();
    APFloat value = APFloat::semanticsHasInf(semantics) ? APFloat::getInf(semantics, lowest) : APFloat::getLargest(semantics, lowest);
    attr = FloatAttr::get(type, value);
  } else {
    auto integer = cast<IntegerType>(type);
    unsigned width = integer.getWidth();
    bool isUnsigned = integer.isUnsigned() || width == 1;
    APInt value = isUnsigned ? (lowest ? APInt::getZero(width) : APInt::getMaxValue(width))
                             : (lowest ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
    attr = IntegerAttr::get(type, value);
  }
  return constant(DenseElementsAttr::get(RankedTensorType::get({}, type), Attribute(attr)));
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

AffineExpr GraphBuilder::broadcastDim(AffineExpr x, AffineExpr y) {
  if (x == y || isConstant(y, 1))
    return x;
  if (isConstant(x, 1))
    return y;
  auto p = getConstant(x), q = getConstant(y);
  if (p && q) {
    (void)error("dimensions " + Twine(*p) + " and " + Twine(*q) + " do not broadcast: they must be equal or one of them 1");
    return x;
  }
  auto is = [&](AffineExpr e, AffineExpr v) { return fn(SymbolFn::eq, {e, v}); };
  auto either = [&](AffineExpr e, AffineExpr f) { return fn(SymbolFn::logical_or, {e, f}); };
  std::string message = "two dimensions do not broadcast: they must be equal or one of them 1";
  if (p || q) {
    AffineExpr known = p ? x : y, symbol = p ? y : x;
    check(either(is(symbol, known), is(symbol, c(1))), message);
    return known;
  }
  // A position table cut to a length (min(length, table)) goes with that length.
  auto isMinOf = [&](AffineExpr e, AffineExpr of) {
    auto symbol = dyn_cast<AffineSymbolExpr>(e);
    if (!symbol || syms[symbol.getPosition()].getFn() != SymbolFn::min)
      return false;
    DimsAttr operands = syms[symbol.getPosition()].getOperands();
    return llvm::is_contained(operands.getExprs(), of) && llvm::any_of(operands.getExprs(), [](AffineExpr o) { return getConstant(o).value_or(0) > 1; });
  };
  if (isMinOf(x, y))
    std::swap(x, y);
  if (isMinOf(y, x))
    return check(is(x, y), message), x;
  check(either(is(x, y), either(is(x, c(1)), is(y, c(1)))), message);
  return syms.select(is(x, c(1)), y, x);
}

Dims GraphBuilder::broadcastDims(ArrayRef<AffineExpr> x, ArrayRef<AffineExpr> y) {
  if (x.size() < y.size())
    std::swap(x, y);
  Dims result(x);
  size_t offset = x.size() - y.size();
  for (size_t i = 0; i < y.size(); ++i)
    result[offset + i] = broadcastDim(x[offset + i], y[i]);
  return result;
}

Value GraphBuilder::broadcastTo(Value x, ArrayRef<AffineExpr> dims) {
  SmallVector<int64_t> map;
  int64_t rank = rankOf(x), offset = int64_t(dims.size()) - rank;
  for (int64_t i = 0; i < rank; ++i)
    map.push_back(offset + i);
  return broadcast(x, dims, map);
}

Value GraphBuilder::broadcast(Value x, ArrayRef<AffineExpr> dims, ArrayRef<int64_t> map) {
  auto type = tensor(dims, typeOf(x));
  return type == x.getType() || failed ? x : Value(BroadcastOp::create(b, loc, type, x, b.getDenseI64ArrayAttr(map)));
}

/// What an elementwise operation gives once something is wrong: a value of the larger rank.
static Value larger(Value x, Value y) { return GraphBuilder::rankOf(x) < GraphBuilder::rankOf(y) ? y : x; }

Value GraphBuilder::unary(UnaryKind kind, Value x) {
  bool isTest = kind == UnaryKind::isnan || kind == UnaryKind::isinf || kind == UnaryKind::isinf_pos || kind == UnaryKind::isinf_neg;
  auto type = cast<RankedTensorType>(x.getType());
  return UnaryOp::create(b, loc, isTest ? withElementType(type, i1()) : type, kind, x);
}

Value GraphBuilder::binary(BinaryKind kind, Value x, Value y) {
  Dims dims = broadcastDims(dimsOf(x), dimsOf(y));
  if (kind != BinaryKind::pow && typeOf(x) != typeOf(y))
    return (void)error("element types must agree"), larger(x, y);
  if (failed)
    return larger(x, y);
  return BinaryOp::create(b, loc, tensor(dims, typeOf(x)), kind, broadcastTo(x, dims), broadcastTo(y, dims));
}

Value GraphBuilder::compare(CompareKind kind, Value x, Value y) {
  Dims dims = broadcastDims(dimsOf(x), dimsOf(y));
  if (typeOf(x) != typeOf(y))
    (void)error("element types must agree");
  if (failed)
    return larger(x, y);
  return CompareOp::create(b, loc, tensor(dims, i1()), kind, broadcastTo(x, dims), broadcastTo(y, dims));
}

Value GraphBuilder::select(Value condition, Value x, Value y) {
  Dims dims = broadcastDims(dimsOf(condition), broadcastDims(dimsOf(x), dimsOf(y)));
  if (typeOf(x) != typeOf(y))
    (void)error("element types must agree");
  if (failed)
    return larger(condition, larger(x, y));
  return SelectOp::create(b, loc, tensor(dims, typeOf(x)), broadcastTo(condition, dims), broadcastTo(x, dims), broadcastTo(y, dims));
}

Value GraphBuilder::cast(Value x, Type type, bool saturate) {
  if (typeOf(x) == type)
    return x;
  auto op = CastOp::create(b, loc, withElementType(llvm::cast<RankedTensorType>(x.getType()), type), x, b.getBoolAttr(saturate));
  return op;
}

} // namespace weft::onnx
