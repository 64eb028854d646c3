// Arithmetic on single elements: see Scalar.h.
#include "dialects/graph/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
namespace weft::graph::scalar {

bool isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

/// The type a float operation is computed in: f32 for every narrower type.
static Type computeType(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType && floatType.getWidth() < 32 ? Float32Type::get(type.getContext()) : type;
}

Type accumulatorType(Type type) { return computeType(type); }

static Value widen(OpBuilder &b, Location loc, Value x, Type type) {
  Type wide = computeType(type);
  return wide == type ? x : arith::ExtFOp::create(b, loc, wide, x);
}

static Value narrow(OpBuilder &b, Location loc, Value x, Type type) {
  return x.getType() == type ? x : arith::TruncFOp::create(b, loc, type, x);
}

Value multiplyAdd(OpBuilder &b, Location loc, Value x, Value y, Value z) {
  if (isa<FloatType>(getElementTypeOrSelf(z.getType())))
    return math::FmaOp::create(b, loc, x, y, z);
  return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, x, y), z);
}

Value constant(OpBuilder &b, Location loc, Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return integerConstant(b, loc, type, int64_t(value));
}

Value integerConstant(OpBuilder &b, Location loc, Type type, int64_t value) {
  if (isa<FloatType>(type))
    return constant(b, loc, type, double(value));
  Type signless = ElementEmitter::valueType(type);
  return arith::ConstantOp::create(b, loc, IntegerAttr::get(signless, APInt(signless.getIntOrFloatBitWidth(), uint64_t(value), false, true)));
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

static Value zeroLike(OpBuilder &b, Location loc, Value x) { return arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType())); }

static Value isInfinity(OpBuilder &b, Location loc, Value x, bool positive, bool negative) {
  double inf = std::numeric_limits<double>::infinity();
  Value magnitude = positive && negative ? math::AbsFOp::create(b, loc, x).getResult() : x;
  Value bound = constant(b, loc, x.getType(), positive ? inf : -inf);
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, magnitude, bound);
}

/// x if x is 0 or NaN, else -1 or 1.
static Value floatSign(OpBuilder &b, Location loc, Value x) {
  Value zero = zeroLike(b, loc, x);
  Value positive = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, zero);
  Value negative = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, zero);
  Value low = arith::SelectOp::create(b, loc, negative, constant(b, loc, x.getType(), -1), x);
  return arith::SelectOp::create(b, loc, positive, constant(b, loc, x.getType(), 1), low);
}

static Value sigmoid(OpBuilder &b, Location loc, Value x) {
  Value one = constant(b, loc, x.getType(), 1);
  Value e = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, x));
  return arith::DivFOp::create(b, loc, one, arith::AddFOp::create(b, loc, one, e));
}

/// max(x, 0) + log1p(exp(-|x|)): no overflow for large x.
static Value softplus(OpBuilder &b, Location loc, Value x) {
  Value e = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, math::AbsFOp::create(b, loc, x)));
  Value high = arith::MaximumFOp::create(b, loc, x, zeroLike(b, loc, x));
  return arith::AddFOp::create(b, loc, high, math::Log1pOp::create(b, loc, e));
}

static Value floatUnary(OpBuilder &b, Location loc, UnaryKind kind, Value x) {
  auto reciprocal = [&](Value v) -> Value { return arith::DivFOp::create(b, loc, constant(b, loc, v.getType(), 1), v); };
  switch (kind) {
  case UnaryKind::abs: return math::AbsFOp::create(b, loc, x);
  case UnaryKind::neg: return arith::NegFOp::create(b, loc, x);
  case UnaryKind::sign: return floatSign(b, loc, x);
  case UnaryKind::floor: return math::FloorOp::create(b, loc, x);
  case UnaryKind::ceil: return math::CeilOp::create(b, loc, x);
  case UnaryKind::round_even: return math::RoundEvenOp::create(b, loc, x);
  case UnaryKind::sqrt: return math::SqrtOp::create(b, loc, x);
  case UnaryKind::rsqrt: return reciprocal(math::SqrtOp::create(b, loc, x));
  case UnaryKind::reciprocal: return reciprocal(x);
  case UnaryKind::exp: return math::ExpOp::create(b, loc, x);
  case UnaryKind::expm1: return math::ExpM1Op::create(b, loc, x);
  case UnaryKind::log: return math::LogOp::create(b, loc, x);
  case UnaryKind::log1p: return math::Log1pOp::create(b, loc, x);
  case UnaryKind::sin: return math::SinOp::create(b, loc, x);
  case UnaryKind::cos: return math::CosOp::create(b, loc, x);
  case UnaryKind::tan: return math::TanOp::create(b, loc, x);
  case UnaryKind::asin: return math::AsinOp::create(b, loc, x);
  case UnaryKind::acos: return math::AcosOp::create(b, loc, x);
  case UnaryKind::atan: return math::AtanOp::create(b, loc, x);
  case UnaryKind::sinh: return math::SinhOp::create(b, loc, x);
  case UnaryKind::cosh: return math::CoshOp::create(b, loc, x);
  case UnaryKind::tanh: return math::TanhOp::create(b, loc, x);
  case UnaryKind::asinh: return math::AsinhOp::create(b, loc, x);
  case UnaryKind::acosh: return math::AcoshOp::create(b, loc, x);
  case UnaryKind::atanh: return math::AtanhOp::create(b, loc, x);
  case UnaryKind::erf: return math::ErfOp::create(b, loc, x);
  case UnaryKind::sigmoid: return sigmoid(b, loc, x);
  case UnaryKind::softplus: return softplus(b, loc, x);
  case UnaryKind::relu: return arith::MaximumFOp::create(b, loc, x, zeroLike(b, loc, x));
  case UnaryKind::isnan: return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  case UnaryKind::isinf: return isInfinity(b, loc, x, true, true);
  case UnaryKind::isinf_pos: return isInfinity(b, loc, x, true, false);
  case UnaryKind::isinf_neg: return isInfinity(b, loc, x, false, true);
  case UnaryKind::logical_not: case UnaryKind::bitwise_not: break; // integers only: the verifier of the frontend's rule
  }
  return x;
}

static Value integerUnary(OpBuilder &b, Location loc, UnaryKind kind, Value x, Type type) {
  Value zero = zeroLike(b, loc, x);
  auto less = [&](Value l, Value r) -> Value { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, l, r); };
  Value ones = integerConstant(b, loc, type, -1);
  switch (kind) {
  case UnaryKind::abs: return isUnsigned(type) ? x : Value(arith::SelectOp::create(b, loc, less(x, zero), arith::SubIOp::create(b, loc, zero, x), x));
  case UnaryKind::neg: return arith::SubIOp::create(b, loc, zero, x);
  case UnaryKind::relu: return isUnsigned(type) ? x : Value(arith::MaxSIOp::create(b, loc, x, zero));
  case UnaryKind::sign: {
    Value nonzero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, zero);
    Value result = arith::SelectOp::create(b, loc, nonzero, integerConstant(b, loc, type, 1), zero);
    return isUnsigned(type) ? result : Value(arith::SelectOp::create(b, loc, less(x, zero), ones, result));
  }
  case UnaryKind::logical_not: case UnaryKind::bitwise_not: return arith::XOrIOp::create(b, loc, x, ones);
  case UnaryKind::isnan: case UnaryKind::isinf: case UnaryKind::isinf_pos: case UnaryKind::isinf_neg:
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  default: return x; // floor, ceil and round of an integer; other functions are not defined for integers in ONNX
  }
}

Value unary(OpBuilder &b, Location loc, UnaryKind kind, Value x, Type type) {
  if (!isa<FloatType>(type))
    return integerUnary(b, loc, kind, x, type);
  Value result = floatUnary(b, loc, kind, widen(b, loc, x, type));
  return result.getType().isInteger(1) ? result : narrow(b, loc, result, type);
}

int64_t unaryCost(UnaryKind kind) {
  switch (kind) {
  case UnaryKind::abs: case UnaryKind::neg: case UnaryKind::floor: case UnaryKind::ceil: case UnaryKind::round_even: case UnaryKind::relu:
  case UnaryKind::logical_not: case UnaryKind::bitwise_not: case UnaryKind::isnan: case UnaryKind::isinf: case UnaryKind::isinf_pos:
  case UnaryKind::isinf_neg:
    return 1;
  case UnaryKind::sign:
    return 4;
  case UnaryKind::sqrt: case UnaryKind::rsqrt: case UnaryKind::reciprocal:
    return 10;
  case UnaryKind::exp: case UnaryKind::expm1: case UnaryKind::log: case UnaryKind::log1p: case UnaryKind::sigmoid: case UnaryKind::softplus:
  case UnaryKind::tanh: case UnaryKind::erf:
    return 20;
  case UnaryKind::sin: case UnaryKind::cos: case UnaryKind::tan: case UnaryKind::asin: case UnaryKind::acos: case UnaryKind::atan:
  case UnaryKind::sinh: case UnaryKind::cosh: case UnaryKind::asinh: case UnaryKind::acosh: case UnaryKind::atanh:
    return 40;
  }
  llvm_unreachable("unknown UnaryKind");
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

/// The sign of the remainder follows the divisor: adds `y` where `r` is non-zero and of the other sign.
static Value followDivisor(OpBuilder &b, Location loc, Value r, Value y, bool isFloat) {
  Value zero = zeroLike(b, loc, r);
  auto compare = [&](arith::CmpFPredicate f, arith::CmpIPredicate i, Value l) -> Value {
    return isFloat ? Value(arith::CmpFOp::create(b, loc, f, l, zero)) : Value(arith::CmpIOp::create(b, loc, i, l, zero));
  };
  Value nonzero = compare(arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne, r);
  Value rNegative = compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, r);
  Value yNegative = compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, y);
  Value differ = arith::AndIOp::create(b, loc, nonzero, arith::XOrIOp::create(b, loc, rNegative, yNegative));
  Value moved = isFloat ? Value(arith::AddFOp::create(b, loc, r, y)) : Value(arith::AddIOp::create(b, loc, r, y));
  return arith::SelectOp::create(b, loc, differ, moved, r);
}

static Value floatBinary(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y) {
  switch (kind) {
  case BinaryKind::add: return arith::AddFOp::create(b, loc, x, y);
  case BinaryKind::sub: return arith::SubFOp::create(b, loc, x, y);
  case BinaryKind::mul: return arith::MulFOp::create(b, loc, x, y);
  case BinaryKind::div: return arith::DivFOp::create(b, loc, x, y);
  case BinaryKind::pow: return math::PowFOp::create(b, loc, x, y);
  case BinaryKind::fmod: return arith::RemFOp::create(b, loc, x, y);
  case BinaryKind::mod: return followDivisor(b, loc, arith::RemFOp::create(b, loc, x, y), y, true);
  case BinaryKind::min: return arith::MinimumFOp::create(b, loc, x, y);
  case BinaryKind::max: return arith::MaximumFOp::create(b, loc, x, y);
  case BinaryKind::logical_and: case BinaryKind::logical_or: case BinaryKind::logical_xor: case BinaryKind::bitwise_and:
  case BinaryKind::bitwise_or: case BinaryKind::bitwise_xor: case BinaryKind::shift_left: case BinaryKind::shift_right:
    return x; // integers only
  }
  llvm_unreachable("unknown BinaryKind");
}

/// Quotient and remainder without undefined cases: a divisor of 0 counts as 1; the most negative number divided by -1 wraps.
static std::pair<Value, Value> divideIntegers(OpBuilder &b, Location loc, Value x, Value y, Type type) {
  Value zero = zeroLike(b, loc, y), one = integerConstant(b, loc, type, 1), ones = integerConstant(b, loc, type, -1);
  Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, y, zero);
  Value safe = arith::SelectOp::create(b, loc, isZero, one, y);
  if (isUnsigned(type))
    return {arith::DivUIOp::create(b, loc, x, safe), arith::RemUIOp::create(b, loc, x, safe)};
  Value isMinusOne = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, y, ones);
  safe = arith::SelectOp::create(b, loc, isMinusOne, one, safe);
  Value negated = arith::SubIOp::create(b, loc, zero, x);
  Value quotient = arith::SelectOp::create(b, loc, isMinusOne, negated, arith::DivSIOp::create(b, loc, x, safe));
  return {quotient, arith::RemSIOp::create(b, loc, x, safe)};
}

/// x to the power of y for integers, wrapping; a negative exponent gives 1, -1 or 0 by the base.
static Value integerPower(OpBuilder &b, Location loc, Value x, Value y, Type type, Type rhsType) {
  Type signless = x.getType();
  unsigned xBits = signless.getIntOrFloatBitWidth(), yBits = y.getType().getIntOrFloatBitWidth();
  Value zero = integerConstant(b, loc, type, 0), one = integerConstant(b, loc, type, 1);
  Value yZero = zeroLike(b, loc, y), yOne = arith::ConstantOp::create(b, loc, b.getIntegerAttr(y.getType(), 1));
  (void)xBits; (void)yBits;
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{signless, signless, y.getType()}, ValueRange{one, x, y},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        auto predicate = isUnsigned(rhsType) ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
        scf::ConditionOp::create(nb, l, arith::CmpIOp::create(nb, l, predicate, args[2], yZero), args);
      },
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value odd = arith::CmpIOp::create(nb, l, arith::CmpIPredicate::ne, arith::AndIOp::create(nb, l, args[2], yOne), yZero);
        Value result = arith::SelectOp::create(nb, l, odd, arith::MulIOp::create(nb, l, args[0], args[1]), args[0]);
        Value square = arith::MulIOp::create(nb, l, args[1], args[1]);
        scf::YieldOp::create(nb, l, ValueRange{result, square, arith::ShRUIOp::create(nb, l, args[2], yOne)});
      });
  Value result = loop.getResult(0);
  if (isUnsigned(rhsType))
    return result;
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, y, yZero);
  Value isOne = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, one);
  Value isMinusOne = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, integerConstant(b, loc, type, -1));
  Value oddExponent = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, arith::AndIOp::create(b, loc, y, yOne), yZero);
  Value alternating = arith::SelectOp::create(b, loc, oddExponent, integerConstant(b, loc, type, -1), one);
  Value inverse = arith::SelectOp::create(b, loc, isOne, one, arith::SelectOp::create(b, loc, isMinusOne, alternating, zero));
  return arith::SelectOp::create(b, loc, negative, inverse, result);
}

/// A shift by the width or more, or by a negative amount, moves all bits out: 0, or the sign where a signed value goes right.
static Value shift(OpBuilder &b, Location loc, Value x, Value y, Type type, bool left) {
  unsigned bits = x.getType().getIntOrFloatBitWidth();
  Value width = integerConstant(b, loc, type, bits);
  Value inRange = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, y, width);
  if (!left && !type.isUnsignedInteger()) {
    Value amount = arith::SelectOp::create(b, loc, inRange, y, integerConstant(b, loc, type, bits - 1));
    return arith::ShRSIOp::create(b, loc, x, amount);
  }
  Value amount = arith::SelectOp::create(b, loc, inRange, y, zeroLike(b, loc, y));
  Value shifted = left ? Value(arith::ShLIOp::create(b, loc, x, amount)) : Value(arith::ShRUIOp::create(b, loc, x, amount));
  return arith::SelectOp::create(b, loc, inRange, shifted, zeroLike(b, loc, x));
}

static Value integerBinary(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y, Type type, Type rhsType) {
  bool u = isUnsigned(type);
  switch (kind) {
  case BinaryKind::add: return arith::AddIOp::create(b, loc, x, y);
  case BinaryKind::sub: return arith::SubIOp::create(b, loc, x, y);
  case BinaryKind::mul: return arith::MulIOp::create(b, loc, x, y);
  case BinaryKind::div: return divideIntegers(b, loc, x, y, type).first;
  case BinaryKind::fmod: return divideIntegers(b, loc, x, y, type).second;
  case BinaryKind::mod: {
    Value r = divideIntegers(b, loc, x, y, type).second;
    return u ? r : followDivisor(b, loc, r, y, false);
  }
  case BinaryKind::pow: return integerPower(b, loc, x, y, type, rhsType);
  case BinaryKind::min: return u ? Value(arith::MinUIOp::create(b, loc, x, y)) : Value(arith::MinSIOp::create(b, loc, x, y));
  case BinaryKind::max: return u ? Value(arith::MaxUIOp::create(b, loc, x, y)) : Value(arith::MaxSIOp::create(b, loc, x, y));
  case BinaryKind::logical_and: case BinaryKind::bitwise_and: return arith::AndIOp::create(b, loc, x, y);
  case BinaryKind::logical_or: case BinaryKind::bitwise_or: return arith::OrIOp::create(b, loc, x, y);
  case BinaryKind::logical_xor: case BinaryKind::bitwise_xor: return arith::XOrIOp::create(b, loc, x, y);
  case BinaryKind::shift_left: return shift(b, loc, x, y, type, true);
  case BinaryKind::shift_right: return shift(b, loc, x, y, type, false);
  }
  llvm_unreachable("unknown BinaryKind");
}

Value binary(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y, Type type, Type rhsType) {
  if (kind == BinaryKind::pow && isa<FloatType>(rhsType) && !isa<FloatType>(type)) {
    // An integer to a float power: in double, then ONNX Cast.
    Type f64 = b.getF64Type();
    Value power = math::PowFOp::create(b, loc, cast(b, loc, x, type, f64), cast(b, loc, y, rhsType, f64));
    return cast(b, loc, power, f64, type);
  }
  if (!isa<FloatType>(type))
    return integerBinary(b, loc, kind, x, y, type, rhsType);
  Type wide = computeType(type);
  Value wideY = rhsType == type ? widen(b, loc, y, type) : cast(b, loc, y, rhsType, wide);
  return narrow(b, loc, floatBinary(b, loc, kind, widen(b, loc, x, type), wideY), type);
}

//===----------------------------------------------------------------------===//
// Compare, cast, reduce
//===----------------------------------------------------------------------===//

Value compare(OpBuilder &b, Location loc, CompareKind kind, Value x, Value y, Type type) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  bool u = isUnsigned(type);
  auto pick = [&]() -> std::pair<F, I> {
    switch (kind) {
    case CompareKind::eq: return {F::OEQ, I::eq};
    case CompareKind::ne: return {F::UNE, I::ne};
    case CompareKind::lt: return {F::OLT, u ? I::ult : I::slt};
    case CompareKind::le: return {F::OLE, u ? I::ule : I::sle};
    case CompareKind::gt: return {F::OGT, u ? I::ugt : I::sgt};
    case CompareKind::ge: return {F::OGE, u ? I::uge : I::sge};
    }
    llvm_unreachable("unknown CompareKind");
  };
  auto [f, i] = pick();
  if (isa<FloatType>(type))
    return arith::CmpFOp::create(b, loc, f, widen(b, loc, x, type), widen(b, loc, y, type));
  return arith::CmpIOp::create(b, loc, i, x, y);
}

/// Integers narrower than 32 bits go through i32 and wrap, as numpy and ONNX Runtime do; wide ones saturate in hardware.
static Value floatToInteger(OpBuilder &b, Location loc, Value x, Type to) {
  Type signless = ElementEmitter::valueType(to);
  unsigned width = signless.getIntOrFloatBitWidth();
  if (to.isUnsignedInteger() && width == 64) {
    Value negative = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, zeroLike(b, loc, x));
    Value low = arith::FPToSIOp::create(b, loc, signless, x);
    return arith::SelectOp::create(b, loc, negative, low, arith::FPToUIOp::create(b, loc, signless, x));
  }
  Type through = b.getIntegerType(to.isUnsignedInteger() ? (width < 32 ? 32 : 64) : std::max(width, 32u));
  Value whole = arith::FPToSIOp::create(b, loc, through, x);
  return through == signless ? whole : Value(arith::TruncIOp::create(b, loc, signless, whole));
}

/// `x` (f32) within the finite values of `type`; NaN stays.
static Value clampToFinite(OpBuilder &b, Location loc, Value x, FloatType type) {
  double highest = APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  Value low = arith::MaximumFOp::create(b, loc, x, constant(b, loc, x.getType(), -highest));
  return arith::MinimumFOp::create(b, loc, low, constant(b, loc, x.getType(), highest));
}

Value cast(OpBuilder &b, Location loc, Value x, Type from, Type to, bool saturate) {
  if (from == to)
    return x;
  if (auto small = dyn_cast<FloatType>(to); small && small.getWidth() <= 8) {
    Value wide = cast(b, loc, x, from, b.getF32Type(), saturate);
    return arith::TruncFOp::create(b, loc, to, saturate ? clampToFinite(b, loc, wide, small) : wide);
  }
  Type signless = ElementEmitter::valueType(to);
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat) {
    if (fromFloat.getWidth() == toFloat.getWidth()) // f16 <-> bf16, fp8 kinds
      return narrow(b, loc, widen(b, loc, x, from), to);
    return fromFloat.getWidth() < toFloat.getWidth() ? Value(arith::ExtFOp::create(b, loc, to, x))
                                                     : Value(arith::TruncFOp::create(b, loc, to, x));
  }
  if (to.isInteger(1)) {
    Value zero = zeroLike(b, loc, x);
    if (fromFloat)
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, widen(b, loc, x, from), widen(b, loc, zero, from));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, zero);
  }
  if (fromFloat)
    return floatToInteger(b, loc, widen(b, loc, x, from), to);
  if (toFloat)
    return isUnsigned(from) ? Value(arith::UIToFPOp::create(b, loc, to, x)) : Value(arith::SIToFPOp::create(b, loc, to, x));
  unsigned fromWidth = x.getType().getIntOrFloatBitWidth(), toWidth = signless.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return x;
  if (fromWidth > toWidth)
    return arith::TruncIOp::create(b, loc, signless, x);
  return isUnsigned(from) ? Value(arith::ExtUIOp::create(b, loc, signless, x)) : Value(arith::ExtSIOp::create(b, loc, signless, x));
}

Value reduceIdentity(OpBuilder &b, Location loc, ReduceKind kind, Type type) {
  double inf = std::numeric_limits<double>::infinity();
  unsigned width = ElementEmitter::valueType(type).getIntOrFloatBitWidth();
  bool isFloat = isa<FloatType>(type), u = isUnsigned(type);
  auto limit = [&](bool highest) {
    APInt bits = highest ? (u ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width))
                         : (u ? APInt::getMinValue(width) : APInt::getSignedMinValue(width));
    return Value(arith::ConstantOp::create(b, loc, IntegerAttr::get(ElementEmitter::valueType(type), bits)));
  };
  switch (kind) {
  case ReduceKind::sum: case ReduceKind::logical_or: return constant(b, loc, type, 0);
  case ReduceKind::prod: case ReduceKind::logical_and: return constant(b, loc, type, 1);
  case ReduceKind::max: case ReduceKind::argmax: return isFloat ? constant(b, loc, type, -inf) : limit(false);
  case ReduceKind::min: case ReduceKind::argmin: return isFloat ? constant(b, loc, type, inf) : limit(true);
  }
  llvm_unreachable("unknown ReduceKind");
}

Value reduceCombine(OpBuilder &b, Location loc, ReduceKind kind, Value x, Value y, Type type) {
  switch (kind) {
  case ReduceKind::sum: return binary(b, loc, BinaryKind::add, x, y, type);
  case ReduceKind::prod: return binary(b, loc, BinaryKind::mul, x, y, type);
  case ReduceKind::max: case ReduceKind::argmax: return binary(b, loc, BinaryKind::max, x, y, type);
  case ReduceKind::min: case ReduceKind::argmin: return binary(b, loc, BinaryKind::min, x, y, type);
  case ReduceKind::logical_and: return arith::AndIOp::create(b, loc, x, y);
  case ReduceKind::logical_or: return arith::OrIOp::create(b, loc, x, y);
  }
  llvm_unreachable("unknown ReduceKind");
}

} // namespace weft::graph::scalar
