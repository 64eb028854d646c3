// Index arithmetic for element rules: see ElementEmitter.h.
#include "dialects/graph/ElementEmitter.h"
#include "dialects/graph/Dims.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
namespace weft::graph {

Type ElementEmitter::valueType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(integer.getContext(), integer.getWidth());
  return elementType;
}

static std::optional<int64_t> constantOf(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      return integer.getInt();
  return std::nullopt;
}

/// Index arithmetic keeps the width of its operands: templates count threads in 32 bits where indices have 64.
static Value constantOf(OpBuilder &b, Location loc, Type type, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value ElementEmitter::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc(), b.getIntegerAttr(indexType, value));
}

Value ElementEmitter::add(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constantOf(b, loc(), x.getType(), *cx + *cy);
  if (cx == 0)
    return y;
  if (cy == 0)
    return x;
  return arith::AddIOp::create(b, loc(), x, y);
}

Value ElementEmitter::sub(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constantOf(b, loc(), x.getType(), *cx - *cy);
  if (cy == 0)
    return x;
  return arith::SubIOp::create(b, loc(), x, y);
}

Value ElementEmitter::mul(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constantOf(b, loc(), x.getType(), *cx * *cy);
  if (cx == 1)
    return y;
  if (cy == 1)
    return x;
  if (cx == 0 || cy == 0)
    return constantOf(b, loc(), x.getType(), 0);
  return arith::MulIOp::create(b, loc(), x, y);
}

Value ElementEmitter::divU(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && *cy != 0)
    return constantOf(b, loc(), x.getType(), *cx / *cy);
  if (cy == 1)
    return x;
  return arith::DivUIOp::create(b, loc(), x, y);
}

Value ElementEmitter::remU(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && *cy != 0)
    return constantOf(b, loc(), x.getType(), *cx % *cy);
  if (cy == 1)
    return constantOf(b, loc(), x.getType(), 0);
  return arith::RemUIOp::create(b, loc(), x, y);
}

Value ElementEmitter::host64(AffineExpr expr) {
  Value value = host(expr);
  Type i64 = b.getI64Type();
  return value.getType() == i64 ? value : Value(arith::ExtSIOp::create(b, loc(), i64, value));
}

Value ElementEmitter::select(Value condition, Value x, Value y) { return x == y ? x : Value(arith::SelectOp::create(b, loc(), condition, x, y)); }
Value ElementEmitter::equal(Value x, Value y) { return arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::eq, x, y); }
Value ElementEmitter::lessSigned(Value x, Value y) { return arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::slt, x, y); }

Value ElementEmitter::toIndex(Value value, bool isUnsigned) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = indexType.getIntOrFloatBitWidth();
  if (from == to)
    return value;
  if (from > to)
    return arith::TruncIOp::create(b, loc(), indexType, value);
  return isUnsigned ? Value(arith::ExtUIOp::create(b, loc(), indexType, value)) : Value(arith::ExtSIOp::create(b, loc(), indexType, value));
}

Value ElementEmitter::normalizeIndex(Value value, Value size) {
  Value zero = constant(0);
  Value wrapped = select(lessSigned(value, zero), add(value, size), value);
  Value low = arith::MaxSIOp::create(b, loc(), wrapped, zero);
  return arith::MinSIOp::create(b, loc(), low, sub(size, constant(1)));
}

SmallVector<Value, 4> ElementEmitter::multi(const ElementIndex &index, ArrayRef<AffineExpr> dims) {
  if (index.hasMulti || dims.empty())
    return index.multi;
  SmallVector<Value, 4> result(dims.size());
  Value rest = index.linear;
  for (size_t i = dims.size(); i-- > 1;) {
    Value size = host(dims[i]);
    result[i] = remU(rest, size);
    rest = divU(rest, size);
  }
  result[0] = rest;
  return result;
}

Value ElementEmitter::linear(const ElementIndex &index, ArrayRef<AffineExpr> dims) {
  if (index.linear)
    return index.linear;
  if (dims.empty())
    return constant(0);
  Value result = index.multi[0];
  for (size_t i = 1; i < dims.size(); ++i)
    result = add(mul(result, host(dims[i])), index.multi[i]);
  return result;
}

ElementIndex ElementEmitter::at(ArrayRef<Value> multi) {
  ElementIndex index;
  index.multi.assign(multi.begin(), multi.end());
  index.hasMulti = true;
  return index;
}

ElementIndex ElementEmitter::atLinear(Value linear) {
  ElementIndex index;
  index.linear = linear;
  return index;
}

ElementIndex ElementEmitter::advance(const ElementIndex &index, unsigned k) {
  if (k == 0)
    return index;
  ElementIndex result = index;
  if (result.linear)
    result.linear = add(result.linear, constant(k));
  if (result.hasMulti && !result.multi.empty())
    result.multi.back() = add(result.multi.back(), constant(k));
  return result;
}

unsigned defaultRunDims(Operation *op, llvm::function_ref<unsigned(Value)> operandRunDims) {
  unsigned rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  if (!op->hasTrait<OpTrait::Elementwise>())
    return std::min(rank, 1u);
  unsigned result = rank;
  for (Value operand : op->getOperands())
    result = std::min(result, operandRunDims(operand));
  return result;
}

} // namespace weft::graph
