// Dimensions of tensors as expressions over symbols: see Dims.h.
#include "dialects/graph/Dims.h"
#include "dialects/graph/Graph.h"
#include <cmath>
#include <map>

using namespace mlir;
namespace weft::graph {

Dims getDims(RankedTensorType type) {
  Dims dims;
  if (auto attr = dyn_cast_or_null<DimsAttr>(type.getEncoding())) {
    llvm::append_range(dims, attr.getExprs());
    return dims;
  }
  for (int64_t size : type.getShape())
    dims.push_back(getAffineConstantExpr(size, type.getContext()));
  return dims;
}

Dims getDims(Value value) { return getDims(cast<RankedTensorType>(value.getType())); }

std::optional<int64_t> getConstant(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

bool isConstant(AffineExpr expr, int64_t value) { return getConstant(expr) == value; }

RankedTensorType getTensorType(ArrayRef<AffineExpr> dims, Type elementType) {
  SmallVector<int64_t> shape;
  bool isStatic = true;
  for (AffineExpr dim : dims) {
    auto constant = getConstant(dim);
    isStatic &= constant.has_value();
    shape.push_back(constant.value_or(ShapedType::kDynamic));
  }
  return RankedTensorType::get(shape, elementType, isStatic ? Attribute() : DimsAttr::get(elementType.getContext(), dims));
}

RankedTensorType withElementType(RankedTensorType type, Type elementType) {
  return RankedTensorType::get(type.getShape(), elementType, type.getEncoding());
}

bool sameDims(RankedTensorType a, RankedTensorType b) {
  return a.getShape() == b.getShape() && a.getEncoding() == b.getEncoding();
}

//===----------------------------------------------------------------------===//
// Polynomials: the canonical form of expressions
//===----------------------------------------------------------------------===//

namespace {
/// Factors (symbols, floordivs, mods) in a fixed order -> coefficient.
using Monomial = SmallVector<AffineExpr, 2>;

int compareAtoms(AffineExpr a, AffineExpr b) {
  if (a == b)
    return 0;
  if (a.getKind() != b.getKind())
    return a.getKind() < b.getKind() ? -1 : 1;
  if (auto x = dyn_cast<AffineConstantExpr>(a))
    return x.getValue() < cast<AffineConstantExpr>(b).getValue() ? -1 : 1;
  if (auto x = dyn_cast<AffineSymbolExpr>(a))
    return x.getPosition() < cast<AffineSymbolExpr>(b).getPosition() ? -1 : 1;
  if (auto x = dyn_cast<AffineDimExpr>(a))
    return x.getPosition() < cast<AffineDimExpr>(b).getPosition() ? -1 : 1;
  auto x = cast<AffineBinaryOpExpr>(a), y = cast<AffineBinaryOpExpr>(b);
  int left = compareAtoms(x.getLHS(), y.getLHS());
  return left ? left : compareAtoms(x.getRHS(), y.getRHS());
}

struct MonomialLess {
  bool operator()(const Monomial &a, const Monomial &b) const {
    if (a.size() != b.size())
      return a.size() > b.size(); // higher degrees first, the constant last
    for (auto [x, y] : llvm::zip(a, b))
      if (int order = compareAtoms(x, y))
        return order < 0;
    return false;
  }
};
using Polynomial = std::map<Monomial, int64_t, MonomialLess>;

bool addTo(Polynomial &sum, const Monomial &monomial, int64_t coefficient) {
  int64_t &value = sum[monomial];
  if (__builtin_add_overflow(value, coefficient, &value))
    return false;
  if (value == 0)
    sum.erase(monomial);
  return true;
}

/// False where a coefficient overflows or the expansion would grow large.
bool toPolynomial(AffineExpr e, Polynomial &result) {
  if (auto value = getConstant(e))
    return addTo(result, {}, *value);
  auto binary = dyn_cast<AffineBinaryOpExpr>(e);
  if (binary && binary.getKind() == AffineExprKind::Add)
    return toPolynomial(binary.getLHS(), result) && toPolynomial(binary.getRHS(), result);
  if (!binary || binary.getKind() != AffineExprKind::Mul)
    return addTo(result, {e}, 1);
  Polynomial left, right;
  if (!toPolynomial(binary.getLHS(), left) || !toPolynomial(binary.getRHS(), right) || left.size() * right.size() > 64)
    return false;
  for (auto &[m, a] : left)
    for (auto &[n, b] : right) {
      Monomial product(m);
      product.append(n.begin(), n.end());
      llvm::sort(product, [](AffineExpr x, AffineExpr y) { return compareAtoms(x, y) < 0; });
      int64_t coefficient;
      if (__builtin_mul_overflow(a, b, &coefficient) || !addTo(result, product, coefficient))
        return false;
    }
  return true;
}

AffineExpr fromPolynomial(const Polynomial &polynomial, MLIRContext *context) {
  AffineExpr sum;
  for (auto &[monomial, coefficient] : polynomial) {
    AffineExpr term;
    for (AffineExpr factor : monomial)
      term = term ? term * factor : factor;
    term = term ? term * coefficient : getAffineConstantExpr(coefficient, context);
    sum = sum ? sum + term : term;
  }
  return sum ? sum : getAffineConstantExpr(0, context);
}
} // namespace

AffineExpr canonicalize(AffineExpr e) {
  Polynomial polynomial;
  return toPolynomial(e, polynomial) ? fromPolynomial(polynomial, e.getContext()) : e;
}

AffineExpr divideExactly(AffineExpr a, AffineExpr b) {
  Polynomial rest, divisor, quotient;
  if (!toPolynomial(a, rest) || !toPolynomial(b, divisor) || divisor.empty())
    return {};
  // Long division by leading terms: the order of monomials is graded and lexicographic.
  auto &[factors, coefficient] = *divisor.begin();
  for (int step = 0; !rest.empty(); ++step) {
    Monomial monomial = rest.begin()->first;
    int64_t c = rest.begin()->second;
    if (step > 64 || (coefficient == -1 && c == INT64_MIN) || c % coefficient != 0)
      return {};
    for (AffineExpr factor : factors) {
      auto it = llvm::find(monomial, factor);
      if (it == monomial.end())
        return {};
      monomial.erase(it);
    }
    quotient[monomial] = c / coefficient;
    for (auto &[m, d] : divisor) {
      Monomial product(monomial);
      product.append(m.begin(), m.end());
      llvm::sort(product, [](AffineExpr x, AffineExpr y) { return compareAtoms(x, y) < 0; });
      int64_t value;
      if (__builtin_mul_overflow(-(c / coefficient), d, &value) || !addTo(rest, product, value))
        return {};
    }
  }
  return fromPolynomial(quotient, a.getContext());
}

AffineExpr product(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  AffineExpr result = getAffineConstantExpr(1, context);
  for (AffineExpr dim : dims)
    result = canonicalize(result * dim);
  return result;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

Symbols::Symbols(ModuleOp module) : module(module), context(module.getContext()) {
  if (auto array = module->getAttrOfType<ArrayAttr>("graph.symbols"))
    for (Attribute symbol : array) {
      if (cast<SymbolAttr>(symbol).getKind() != SymbolKind::defined)
        numbers.try_emplace(symbol, symbols.size());
      symbols.push_back(symbol);
    }
}

Symbols::~Symbols() { commit(); }

void Symbols::commit() {
  if (changed)
    module->setAttr("graph.symbols", ArrayAttr::get(context, symbols));
  changed = false;
}

SymbolAttr Symbols::operator[](unsigned n) const { return cast<SymbolAttr>(symbols[n]); }
AffineExpr Symbols::expr(unsigned n) const { return getAffineSymbolExpr(n, context); }
AffineExpr Symbols::constant(int64_t value) const { return getAffineConstantExpr(value, context); }

unsigned Symbols::append(SymbolAttr symbol) {
  changed = true;
  symbols.push_back(symbol);
  return symbols.size() - 1;
}

AffineExpr Symbols::inputDim(unsigned input, unsigned index, StringRef name) {
  if (!name.empty())
    for (auto [n, symbol] : llvm::enumerate(symbols))
      if (auto attr = cast<SymbolAttr>(symbol); attr.getKind() == SymbolKind::input_dim && attr.getName() == name)
        return expr(n);
  auto symbol = SymbolAttr::get(context, name, SymbolKind::input_dim, input, index, SymbolFn::none, {}, {}, false);
  auto [it, isNew] = numbers.try_emplace(symbol, symbols.size());
  if (isNew)
    append(symbol);
  return expr(it->second);
}

AffineExpr Symbols::inputElement(unsigned input, unsigned index, bool isFloat) {
  auto symbol = SymbolAttr::get(context, "", SymbolKind::input_element, input, index, SymbolFn::none, {}, {}, isFloat);
  auto [it, isNew] = numbers.try_emplace(symbol, symbols.size());
  if (isNew)
    append(symbol);
  return expr(it->second);
}

AffineExpr Symbols::defined(StringRef name, bool isFloat) {
  return expr(append(SymbolAttr::get(context, name, SymbolKind::defined, 0, 0, SymbolFn::none, {}, {}, isFloat)));
}

AffineExpr Symbols::floatConstant(double value) {
  auto attr = FloatAttr::get(Float64Type::get(context), value);
  auto symbol = SymbolAttr::get(context, "", SymbolKind::fconstant, 0, 0, SymbolFn::none, {}, attr, true);
  auto [it, isNew] = numbers.try_emplace(symbol, symbols.size());
  if (isNew)
    append(symbol);
  return expr(it->second);
}

bool Symbols::isFloat(AffineExpr e) const {
  auto symbol = dyn_cast<AffineSymbolExpr>(e);
  return symbol && (*this)[symbol.getPosition()].getIsFloat();
}

std::optional<double> Symbols::getFloatConstant(AffineExpr e) const {
  auto symbol = dyn_cast<AffineSymbolExpr>(e);
  if (!symbol || (*this)[symbol.getPosition()].getKind() != SymbolKind::fconstant)
    return std::nullopt;
  return (*this)[symbol.getPosition()].getValue().getValueAsDouble();
}

static bool givesFloat(SymbolFn fn) {
  switch (fn) {
  case SymbolFn::fadd: case SymbolFn::fsub: case SymbolFn::fmul: case SymbolFn::fdiv: case SymbolFn::fmin:
  case SymbolFn::fmax: case SymbolFn::fneg: case SymbolFn::ffloor: case SymbolFn::fceil: case SymbolFn::fround_even:
  case SymbolFn::fsqrt: case SymbolFn::f32round: case SymbolFn::itof: case SymbolFn::fselect:
    return true;
  case SymbolFn::none: case SymbolFn::min: case SymbolFn::max: case SymbolFn::eq: case SymbolFn::ne: case SymbolFn::lt:
  case SymbolFn::le: case SymbolFn::logical_and: case SymbolFn::logical_or: case SymbolFn::logical_not:
  case SymbolFn::select: case SymbolFn::mul: case SymbolFn::floordiv: case SymbolFn::mod: case SymbolFn::feq:
  case SymbolFn::flt: case SymbolFn::fle: case SymbolFn::ftoi:
    return false;
  }
  llvm_unreachable("unknown SymbolFn");
}

static int64_t floorDivide(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

/// The value of an integer function of constants; nothing where it overflows or divides by zero.
static std::optional<int64_t> foldInteger(SymbolFn fn, ArrayRef<int64_t> v) {
  switch (fn) {
  case SymbolFn::min: return std::min(v[0], v[1]);
  case SymbolFn::max: return std::max(v[0], v[1]);
  case SymbolFn::eq: return v[0] == v[1];
  case SymbolFn::ne: return v[0] != v[1];
  case SymbolFn::lt: return v[0] < v[1];
  case SymbolFn::le: return v[0] <= v[1];
  case SymbolFn::logical_and: return v[0] && v[1];
  case SymbolFn::logical_or: return v[0] || v[1];
  case SymbolFn::logical_not: return !v[0];
  case SymbolFn::select: return v[0] ? v[1] : v[2];
  case SymbolFn::mul: {
    int64_t r;
    if (__builtin_mul_overflow(v[0], v[1], &r))
      return std::nullopt;
    return r;
  }
  case SymbolFn::floordiv:
    if (v[1] == 0 || (v[1] == -1 && v[0] == INT64_MIN))
      return std::nullopt;
    return floorDivide(v[0], v[1]);
  case SymbolFn::mod:
    if (v[1] == 0 || v[1] == -1)
      return v[1] == -1 ? std::optional<int64_t>(0) : std::nullopt;
    return v[0] - floorDivide(v[0], v[1]) * v[1];
  default:
    return std::nullopt; // float functions fold elsewhere
  }
}

static std::optional<double> foldFloat(SymbolFn fn, ArrayRef<double> v) {
  switch (fn) {
  case SymbolFn::fadd: return v[0] + v[1];
  case SymbolFn::fsub: return v[0] - v[1];
  case SymbolFn::fmul: return v[0] * v[1];
  case SymbolFn::fdiv: return v[0] / v[1];
  case SymbolFn::fmin: return std::fmin(v[0], v[1]);
  case SymbolFn::fmax: return std::fmax(v[0], v[1]);
  case SymbolFn::fneg: return -v[0];
  case SymbolFn::ffloor: return std::floor(v[0]);
  case SymbolFn::fceil: return std::ceil(v[0]);
  case SymbolFn::fround_even: return std::nearbyint(v[0]);
  case SymbolFn::fsqrt: return std::sqrt(v[0]);
  case SymbolFn::f32round: return double(float(v[0]));
  default: return std::nullopt;
  }
}

AffineExpr Symbols::function(SymbolFn fn, ArrayRef<AffineExpr> operands) {
  SmallVector<int64_t> ints;
  SmallVector<double> floats;
  for (AffineExpr operand : operands) {
    if (auto value = getConstant(operand))
      ints.push_back(*value);
    if (auto value = getFloatConstant(operand))
      floats.push_back(*value);
  }
  if (ints.size() == operands.size()) {
    if (auto value = foldInteger(fn, ints))
      return constant(*value);
    if (fn == SymbolFn::itof)
      return floatConstant(double(ints[0]));
  }
  if (floats.size() == operands.size()) {
    if (auto value = foldFloat(fn, floats))
      return floatConstant(*value);
    switch (fn) {
    case SymbolFn::feq: return constant(floats[0] == floats[1]);
    case SymbolFn::flt: return constant(floats[0] < floats[1]);
    case SymbolFn::fle: return constant(floats[0] <= floats[1]);
    case SymbolFn::ftoi:
      if (std::abs(floats[0]) < 9e18)
        return constant(int64_t(floats[0]));
      break;
    default: break;
    }
  }
  // Identities that need no values.
  if (fn == SymbolFn::select || fn == SymbolFn::fselect) {
    if (auto c = getConstant(operands[0]))
      return *c ? operands[1] : operands[2];
    if (operands[1] == operands[2])
      return operands[1];
  }
  if (operands.size() == 2 && operands[0] == operands[1]) {
    if (fn == SymbolFn::min || fn == SymbolFn::max)
      return operands[0];
    if (fn == SymbolFn::eq || fn == SymbolFn::le)
      return constant(1);
    if (fn == SymbolFn::ne || fn == SymbolFn::lt)
      return constant(0);
  }
  auto symbol = SymbolAttr::get(context, "", SymbolKind::function, 0, 0, fn, DimsAttr::get(context, operands), {}, givesFloat(fn));
  auto [it, isNew] = numbers.try_emplace(symbol, symbols.size());
  if (isNew)
    append(symbol);
  return expr(it->second);
}

AffineExpr Symbols::add(AffineExpr a, AffineExpr b) { return canonicalize(a + b); }
AffineExpr Symbols::sub(AffineExpr a, AffineExpr b) { return canonicalize(a - b); }

AffineExpr Symbols::mul(AffineExpr a, AffineExpr b) {
  if (auto x = getConstant(a), y = getConstant(b); x && y)
    return function(SymbolFn::mul, {a, b});
  return canonicalize(a * b);
}

AffineExpr Symbols::floorDiv(AffineExpr a, AffineExpr b) {
  if (isConstant(b, 1))
    return a;
  if (lowerBound(b).value_or(0) > 0)
    if (AffineExpr quotient = divideExactly(a, b))
      return quotient;
  if (auto divisor = getConstant(b); divisor && *divisor > 0)
    return a.floorDiv(b);
  return function(SymbolFn::floordiv, {a, b});
}

AffineExpr Symbols::ceilDiv(AffineExpr a, AffineExpr b) { return -floorDiv(-a, b); }

AffineExpr Symbols::mod(AffineExpr a, AffineExpr b) {
  if (auto divisor = getConstant(b); divisor && *divisor > 0)
    return a % b;
  return function(SymbolFn::mod, {a, b});
}

AffineExpr Symbols::min(AffineExpr a, AffineExpr b) {
  if (auto bound = lowerBound(b - a); bound && *bound >= 0)
    return a;
  if (auto bound = lowerBound(a - b); bound && *bound >= 0)
    return b;
  return function(SymbolFn::min, {a, b});
}

AffineExpr Symbols::max(AffineExpr a, AffineExpr b) {
  if (auto bound = lowerBound(a - b); bound && *bound >= 0)
    return a;
  if (auto bound = lowerBound(b - a); bound && *bound >= 0)
    return b;
  return function(SymbolFn::max, {a, b});
}

AffineExpr Symbols::select(AffineExpr condition, AffineExpr a, AffineExpr b) {
  return function(SymbolFn::select, {condition, a, b});
}

std::optional<int64_t> Symbols::lowerBound(AffineExpr e) const {
  if (auto value = getConstant(e))
    return value;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(e)) {
    SymbolAttr attr = (*this)[symbol.getPosition()];
    if (attr.getKind() == SymbolKind::input_dim)
      return 0;
    if (attr.getKind() != SymbolKind::function)
      return std::nullopt;
    ArrayRef<AffineExpr> operands = attr.getOperands().getExprs();
    switch (attr.getFn()) {
    case SymbolFn::max: {
      auto a = lowerBound(operands[0]), b = lowerBound(operands[1]);
      return a && b ? std::max(*a, *b) : a ? a : b;
    }
    case SymbolFn::min: case SymbolFn::select: {
      unsigned first = attr.getFn() == SymbolFn::select;
      auto a = lowerBound(operands[first]), b = lowerBound(operands[first + 1]);
      return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
    }
    case SymbolFn::eq: case SymbolFn::ne: case SymbolFn::lt: case SymbolFn::le: case SymbolFn::logical_and:
    case SymbolFn::logical_or: case SymbolFn::logical_not:
      return 0;
    default:
      return std::nullopt;
    }
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(e);
  if (!binary)
    return std::nullopt;
  auto a = lowerBound(binary.getLHS()), b = lowerBound(binary.getRHS());
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return a && b ? std::optional(*a + *b) : std::nullopt;
  case AffineExprKind::Mul:
    return a && b && *a >= 0 && *b >= 0 ? std::optional(*a * *b) : std::nullopt;
  case AffineExprKind::FloorDiv:
    if (auto divisor = getConstant(binary.getRHS()); a && divisor && *divisor > 0)
      return floorDivide(*a, *divisor);
    return std::nullopt;
  case AffineExprKind::CeilDiv:
    if (auto divisor = getConstant(binary.getRHS()); a && divisor && *divisor > 0)
      return -floorDivide(-*a, *divisor);
    return std::nullopt;
  case AffineExprKind::Mod:
    return 0;
  default:
    return std::nullopt;
  }
}

} // namespace weft::graph
