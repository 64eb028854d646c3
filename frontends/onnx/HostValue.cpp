// Arithmetic on host scalars: see HostValue.h.
#include "frontends/onnx/HostValue.h"
#include "dialects/graph/Graph.h"
#include <cmath>

using namespace mlir;
using namespace weft::graph;
namespace weft::onnx {

Scalar Scalar::of(AffineExpr expr, Symbols &symbols) {
  if (auto value = getConstant(expr))
    return of(*value);
  if (auto value = symbols.getFloatConstant(expr))
    return ofReal(*value);
  return {expr, 0, 0, symbols.isFloat(expr)};
}

AffineExpr Scalar::toExpr(Symbols &symbols) const {
  if (expr)
    return expr;
  return isReal ? symbols.floatConstant(real) : symbols.constant(integer);
}

Dims HostTensor::exprs(Symbols &symbols) const {
  Dims dims;
  for (const Scalar &value : values)
    dims.push_back(value.toExpr(symbols));
  return dims;
}

static double roundTo(double value, Type type) { return type.isF32() ? double(float(value)) : value; }

static Scalar roundSymbol(AffineExpr expr, Type type, Symbols &symbols) {
  return Scalar::of(type.isF32() ? symbols.function(SymbolFn::f32round, {expr}) : expr, symbols);
}

/// Wraps a constant to the width and signedness of `type`.
static int64_t wrap(int64_t value, Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  unsigned width = integer ? integer.getWidth() : 64;
  if (width == 1)
    return value != 0;
  if (width >= 64)
    return value;
  uint64_t low = uint64_t(value) & ((uint64_t(1) << width) - 1);
  bool negative = !integer.isUnsigned() && (low >> (width - 1));
  return int64_t(negative ? low | ~((uint64_t(1) << width) - 1) : low);
}

static std::optional<Scalar> foldReal(HostFn fn, double a, double b, Type type) {
  auto real = [&](double v) { return Scalar::ofReal(roundTo(v, type)); };
  switch (fn) {
  case HostFn::add: return real(a + b);
  case HostFn::sub: return real(a - b);
  case HostFn::mul: return real(a * b);
  case HostFn::div: return real(a / b);
  case HostFn::mod: return real(a - std::floor(a / b) * b);
  case HostFn::fmod: return real(std::fmod(a, b));
  case HostFn::min: return real(std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b));
  case HostFn::max: return real(std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b));
  case HostFn::eq: return Scalar::of(int64_t(a == b));
  case HostFn::ne: return Scalar::of(int64_t(a != b));
  case HostFn::lt: return Scalar::of(int64_t(a < b));
  case HostFn::le: return Scalar::of(int64_t(a <= b));
  case HostFn::gt: return Scalar::of(int64_t(a > b));
  case HostFn::ge: return Scalar::of(int64_t(a >= b));
  case HostFn::logical_and: case HostFn::logical_or: case HostFn::logical_xor: return std::nullopt;
  }
  llvm_unreachable("unknown HostFn");
}

static std::optional<Scalar> foldInteger(HostFn fn, int64_t a, int64_t b, Type type) {
  int64_t r = 0;
  switch (fn) {
  case HostFn::add: r = int64_t(uint64_t(a) + uint64_t(b)); break;
  case HostFn::sub: r = int64_t(uint64_t(a) - uint64_t(b)); break;
  case HostFn::mul: r = int64_t(uint64_t(a) * uint64_t(b)); break;
  case HostFn::div: case HostFn::mod: case HostFn::fmod:
    if (b == 0 || (b == -1 && a == INT64_MIN))
      return std::nullopt;
    r = fn == HostFn::div ? a / b : a % b;
    if (fn == HostFn::mod && r != 0 && ((r < 0) != (b < 0)))
      r += b;
    break;
  case HostFn::min: r = std::min(a, b); break;
  case HostFn::max: r = std::max(a, b); break;
  case HostFn::eq: return Scalar::of(int64_t(a == b));
  case HostFn::ne: return Scalar::of(int64_t(a != b));
  case HostFn::lt: return Scalar::of(int64_t(a < b));
  case HostFn::le: return Scalar::of(int64_t(a <= b));
  case HostFn::gt: return Scalar::of(int64_t(a > b));
  case HostFn::ge: return Scalar::of(int64_t(a >= b));
  case HostFn::logical_and: return Scalar::of(int64_t(a && b));
  case HostFn::logical_or: return Scalar::of(int64_t(a || b));
  case HostFn::logical_xor: return Scalar::of(int64_t(!a != !b));
  }
  return Scalar::of(wrap(r, type));
}

static std::optional<Scalar> symbolicReal(HostFn fn, AffineExpr a, AffineExpr b, Type type, Symbols &s) {
  auto real = [&](SymbolFn f) { return roundSymbol(s.function(f, {a, b}), type, s); };
  auto truth = [&](AffineExpr e) { return Scalar::of(e, s); };
  switch (fn) {
  case HostFn::add: return real(SymbolFn::fadd);
  case HostFn::sub: return real(SymbolFn::fsub);
  case HostFn::mul: return real(SymbolFn::fmul);
  case HostFn::div: return real(SymbolFn::fdiv);
  case HostFn::min: return real(SymbolFn::fmin);
  case HostFn::max: return real(SymbolFn::fmax);
  case HostFn::eq: return truth(s.function(SymbolFn::feq, {a, b}));
  case HostFn::ne: return truth(s.function(SymbolFn::logical_not, {s.function(SymbolFn::feq, {a, b})}));
  case HostFn::lt: return truth(s.function(SymbolFn::flt, {a, b}));
  case HostFn::le: return truth(s.function(SymbolFn::fle, {a, b}));
  case HostFn::gt: return truth(s.function(SymbolFn::flt, {b, a}));
  case HostFn::ge: return truth(s.function(SymbolFn::fle, {b, a}));
  case HostFn::mod: case HostFn::fmod: case HostFn::logical_and: case HostFn::logical_or: case HostFn::logical_xor:
    return std::nullopt;
  }
  llvm_unreachable("unknown HostFn");
}

/// a / b rounded towards zero.
static AffineExpr truncatedDivision(AffineExpr a, AffineExpr b, Symbols &s) {
  AffineExpr quotient = s.floorDiv(a, b);
  auto low = s.lowerBound(a), divisor = s.lowerBound(b);
  if (low && *low >= 0 && divisor && *divisor >= 0)
    return quotient;
  AffineExpr inexact = s.function(SymbolFn::ne, {s.mod(a, b), s.constant(0)});
  AffineExpr negative = s.function(SymbolFn::lt, {quotient, s.constant(0)});
  return s.add(quotient, s.select(s.function(SymbolFn::logical_and, {inexact, negative}), s.constant(1), s.constant(0)));
}

static std::optional<Scalar> symbolicInteger(HostFn fn, AffineExpr a, AffineExpr b, Symbols &s) {
  auto result = [&](AffineExpr e) { return Scalar::of(e, s); };
  auto compare = [&](SymbolFn f, AffineExpr x, AffineExpr y) { return result(s.function(f, {x, y})); };
  bool byZero = isConstant(b, 0);
  switch (fn) {
  case HostFn::add: return result(s.add(a, b));
  case HostFn::sub: return result(s.sub(a, b));
  case HostFn::mul: return result(s.mul(a, b));
  case HostFn::div: return byZero ? std::nullopt : std::optional(result(truncatedDivision(a, b, s)));
  case HostFn::mod: return byZero ? std::nullopt : std::optional(result(s.mod(a, b)));
  case HostFn::fmod:
    return byZero ? std::nullopt : std::optional(result(s.sub(a, s.mul(truncatedDivision(a, b, s), b))));
  case HostFn::min: return result(s.min(a, b));
  case HostFn::max: return result(s.max(a, b));
  case HostFn::eq: case HostFn::ne: {
    bool isEq = fn == HostFn::eq;
    if (auto low = s.lowerBound(s.sub(a, b)); low && *low > 0)
      return Scalar::of(int64_t(!isEq));
    if (auto low = s.lowerBound(s.sub(b, a)); low && *low > 0)
      return Scalar::of(int64_t(!isEq));
    return compare(isEq ? SymbolFn::eq : SymbolFn::ne, a, b);
  }
  case HostFn::lt: case HostFn::gt: {
    AffineExpr x = fn == HostFn::lt ? a : b, y = fn == HostFn::lt ? b : a; // x < y
    if (auto low = s.lowerBound(s.sub(y, x)); low && *low > 0)
      return Scalar::of(int64_t(1));
    if (auto low = s.lowerBound(s.sub(x, y)); low && *low >= 0)
      return Scalar::of(int64_t(0));
    return compare(SymbolFn::lt, x, y);
  }
  case HostFn::le: case HostFn::ge: {
    AffineExpr x = fn == HostFn::le ? a : b, y = fn == HostFn::le ? b : a; // x <= y
    if (auto low = s.lowerBound(s.sub(y, x)); low && *low >= 0)
      return Scalar::of(int64_t(1));
    if (auto low = s.lowerBound(s.sub(x, y)); low && *low > 0)
      return Scalar::of(int64_t(0));
    return compare(SymbolFn::le, x, y);
  }
  case HostFn::logical_and: return compare(SymbolFn::logical_and, a, b);
  case HostFn::logical_or: return compare(SymbolFn::logical_or, a, b);
  case HostFn::logical_xor:
    return compare(SymbolFn::ne, s.function(SymbolFn::ne, {a, s.constant(0)}), s.function(SymbolFn::ne, {b, s.constant(0)}));
  }
  llvm_unreachable("unknown HostFn");
}

std::optional<Scalar> apply(HostFn fn, Scalar a, Scalar b, Type type, Symbols &symbols) {
  if (a.isConstant() && b.isConstant())
    return a.isReal ? foldReal(fn, a.real, b.real, type) : foldInteger(fn, a.integer, b.integer, type);
  AffineExpr x = a.toExpr(symbols), y = b.toExpr(symbols);
  if (a.isReal)
    return symbolicReal(fn, x, y, type, symbols);
  return symbolicInteger(fn, x, y, symbols);
}

static Scalar foldReal(HostUnary fn, double a, Type type) {
  auto real = [&](double v) { return Scalar::ofReal(roundTo(v, type)); };
  switch (fn) {
  case HostUnary::neg: return real(-a);
  case HostUnary::abs: return real(std::fabs(a));
  case HostUnary::floor: return real(std::floor(a));
  case HostUnary::ceil: return real(std::ceil(a));
  case HostUnary::round: return real(std::nearbyint(a));
  case HostUnary::sqrt: return real(std::sqrt(a));
  case HostUnary::sign: return real((a > 0) - (a < 0));
  case HostUnary::reciprocal: return real(1 / a);
  case HostUnary::logical_not: return Scalar::of(int64_t(a == 0));
  }
  llvm_unreachable("unknown HostUnary");
}

static std::optional<Scalar> symbolicReal(HostUnary fn, AffineExpr a, Type type, Symbols &s) {
  auto real = [&](AffineExpr e) { return roundSymbol(e, type, s); };
  switch (fn) {
  case HostUnary::neg: return real(s.function(SymbolFn::fneg, {a}));
  case HostUnary::abs: return real(s.function(SymbolFn::fmax, {a, s.function(SymbolFn::fneg, {a})}));
  case HostUnary::floor: return real(s.function(SymbolFn::ffloor, {a}));
  case HostUnary::ceil: return real(s.function(SymbolFn::fceil, {a}));
  case HostUnary::round: return real(s.function(SymbolFn::fround_even, {a}));
  case HostUnary::sqrt: return real(s.function(SymbolFn::fsqrt, {a}));
  case HostUnary::reciprocal: return real(s.function(SymbolFn::fdiv, {s.floatConstant(1), a}));
  case HostUnary::sign: case HostUnary::logical_not: return std::nullopt;
  }
  llvm_unreachable("unknown HostUnary");
}

std::optional<Scalar> apply(HostUnary fn, Scalar a, Type type, Symbols &s) {
  if (a.isReal)
    return a.isConstant() ? std::optional(foldReal(fn, a.real, type)) : symbolicReal(fn, a.expr, type, s);
  AffineExpr x = a.toExpr(s);
  switch (fn) {
  case HostUnary::neg: return a.isConstant() ? foldInteger(HostFn::sub, 0, a.integer, type) : Scalar::of(s.sub(s.constant(0), x), s);
  case HostUnary::abs:
    if (a.isConstant())
      return a.integer < 0 ? foldInteger(HostFn::sub, 0, a.integer, type) : a;
    return Scalar::of(s.max(x, s.sub(s.constant(0), x)), s);
  case HostUnary::logical_not: return Scalar::of(s.function(SymbolFn::eq, {x, s.constant(0)}), s);
  case HostUnary::sign:
    return Scalar::of(s.min(s.max(x, s.constant(-1)), s.constant(1)), s);
  case HostUnary::floor: case HostUnary::ceil: case HostUnary::round: return a;
  case HostUnary::sqrt: case HostUnary::reciprocal: return std::nullopt;
  }
  llvm_unreachable("unknown HostUnary");
}

std::optional<Scalar> castScalar(Scalar a, Type to, Symbols &symbols) {
  bool toReal = to.isF32() || to.isF64();
  auto integer = dyn_cast<IntegerType>(to);
  if (!toReal && !integer)
    return std::nullopt;
  if (toReal) {
    if (a.isConstant())
      return Scalar::ofReal(roundTo(a.isReal ? a.real : double(a.integer), to));
    return roundSymbol(a.isReal ? a.expr : symbols.function(SymbolFn::itof, {a.expr}), to, symbols);
  }
  if (a.isConstant()) {
    if (a.isReal && (std::isnan(a.real) || std::fabs(a.real) > 9e18) && integer.getWidth() != 1)
      return std::nullopt;
    if (a.isReal && integer.getWidth() == 1)
      return Scalar::of(int64_t(a.real != 0));
    return Scalar::of(wrap(a.isReal ? int64_t(a.real) : a.integer, to));
  }
  if (integer.getWidth() == 1) {
    if (a.isReal)
      return Scalar::of(symbols.function(SymbolFn::logical_not, {symbols.function(SymbolFn::feq, {a.expr, symbols.floatConstant(0)})}), symbols);
    return Scalar::of(symbols.function(SymbolFn::ne, {a.expr, symbols.constant(0)}), symbols);
  }
  if (integer.getWidth() < 32)
    return std::nullopt; // would have to wrap
  return Scalar::of(a.isReal ? symbols.function(SymbolFn::ftoi, {a.expr}) : a.expr, symbols);
}

Scalar selectScalar(Scalar condition, Scalar a, Scalar b, Symbols &symbols) {
  if (condition.isConstant())
    return condition.integer ? a : b;
  AffineExpr x = a.toExpr(symbols), y = b.toExpr(symbols);
  auto fn = a.isReal ? SymbolFn::fselect : SymbolFn::select;
  return Scalar::of(symbols.function(fn, {condition.expr, x, y}), symbols);
}

} // namespace weft::onnx
