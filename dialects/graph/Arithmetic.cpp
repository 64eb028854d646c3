// Arithmetic that roots share: see Arithmetic.h.
#include "dialects/graph/Arithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
namespace weft::graph {

Type accumulatorType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(integer.getContext(), integer.getWidth());
  if (elementType.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(elementType.getContext());
  return elementType;
}

Value widen(OpBuilder &b, Location loc, Value value, Type type, bool isUnsigned) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (from >= to)
    return value;
  if (isa<FloatType>(type))
    return arith::ExtFOp::create(b, loc, type, value);
  if (isUnsigned || from == 1)
    return arith::ExtUIOp::create(b, loc, type, value);
  return arith::ExtSIOp::create(b, loc, type, value);
}

Value narrow(OpBuilder &b, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(type))
    return from > to ? arith::TruncFOp::create(b, loc, type, value).getResult() : arith::ExtFOp::create(b, loc, type, value);
  return from > to ? arith::TruncIOp::create(b, loc, type, value).getResult() : value;
}

Value multiplyAdd(OpBuilder &b, Location loc, Value x, Value y, Value z) {
  if (isa<FloatType>(getElementTypeOrSelf(z.getType())))
    return math::FmaOp::create(b, loc, x, y, z);
  return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, x, y), z);
}

Value scalarConstant(OpBuilder &b, Location loc, Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

} // namespace weft::graph
