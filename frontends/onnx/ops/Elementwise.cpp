// Elementwise operators: one entry per operator.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

/// Min, Max, Sum: any number of inputs.
template <BinaryKind kind> LogicalResult variadic(Node &n) {
  Value y = n.in(0);
  for (unsigned i = 1; i < n.numInputs(); ++i)
    y = n.binary(kind, y, n.in(i));
  return n.result(y);
}

template <UnaryKind kind> LogicalResult unary(Node &n) { return n.unaryRule(kind); }
template <BinaryKind kind> LogicalResult binary(Node &n) { return n.binaryRule(kind); }
/// Before opset 7: `broadcast` aligns the second operand at `axis` of the first (at its end where no axis is given).
template <BinaryKind kind> LogicalResult legacyBinary(Node &n) {
  Value x = n.in(0), y = n.in(1);
  if (n.i("broadcast") && n.hasAttr("axis")) {
    int64_t axis = n.axisAttr("axis", 0, n.rankOf(x));
    SmallVector<int64_t> map;
    for (int64_t i = 0; i < n.rankOf(y); ++i)
      map.push_back(axis + i);
    if (n.bad() || axis + n.rankOf(y) > n.rankOf(x))
      return n.bad() ? failure() : n.error("axis and the second operand's rank exceed the first one's");
    y = n.broadcast(y, n.dimsOf(x), map);
  }
  return n.result(n.binary(kind, x, y));
}
template <CompareKind kind> LogicalResult compare(Node &n) { return n.compareRule(kind); }

/// x < 0 ? negative : x.
Value whereNegative(Node &n, Value x, Value negative) {
  return n.select(n.compare(CompareKind::lt, x, n.scalarLike(0, x)), negative, x);
}

Value clip(Node &n, Value x, Value low, Value high) {
  x = low ? n.max(x, low) : x;
  return high ? n.min(x, high) : x;
}

Value hardSigmoid(Node &n, Value x, double alpha, double beta) {
  return clip(n, n.add(n.mul(x, alpha), beta), n.scalarLike(0, x), n.scalarLike(1, x));
}

Value elu(Node &n, Value x, double alpha) { return whereNegative(n, x, n.mul(n.unary(UnaryKind::expm1, x), alpha)); }

Value gelu(Node &n, Value x, bool tanh) {
  Value inner;
  if (tanh) { // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    Value cube = n.mul(n.mul(x, x), x);
    inner = n.unary(UnaryKind::tanh, n.mul(n.add(x, n.mul(cube, 0.044715)), 0.7978845608028654));
  } else {
    inner = n.unary(UnaryKind::erf, n.mul(x, 0.7071067811865476));
  }
  return n.mul(n.mul(x, 0.5), n.add(inner, 1));
}

} // namespace

void weft::onnx::addElementwiseRules(Rules &r) {
  r.add("Add", 1, legacyBinary<BinaryKind::add>);
  r.add("Sub", 1, legacyBinary<BinaryKind::sub>);
  r.add("Mul", 1, legacyBinary<BinaryKind::mul>);
  r.add("Div", 1, legacyBinary<BinaryKind::div>);
  r.add("Pow", 1, legacyBinary<BinaryKind::pow>);
  r.add("Add", 7, binary<BinaryKind::add>);
  r.add("Sub", 7, binary<BinaryKind::sub>);
  r.add("Mul", 7, binary<BinaryKind::mul>);
  r.add("Div", 7, binary<BinaryKind::div>);
  r.add("Pow", 7, [](Node &n) { return n.result(n.binary(BinaryKind::pow, n.in(0), n.in(1))); });
  r.add("Mod", 10, [](Node &n) { return n.binaryRule(n.i("fmod") ? BinaryKind::fmod : BinaryKind::mod); });
  r.add("And", 7, binary<BinaryKind::logical_and>);
  r.add("Or", 7, binary<BinaryKind::logical_or>);
  r.add("Xor", 7, binary<BinaryKind::logical_xor>);
  r.add("BitwiseAnd", 18, binary<BinaryKind::bitwise_and>);
  r.add("BitwiseOr", 18, binary<BinaryKind::bitwise_or>);
  r.add("BitwiseXor", 18, binary<BinaryKind::bitwise_xor>);
  r.add("BitShift", 11, [](Node &n) {
    std::string direction = n.s("direction");
    if (direction != "LEFT" && direction != "RIGHT")
      return n.error("direction must be LEFT or RIGHT, found '" + direction + "'");
    return n.binaryRule(direction == "LEFT" ? BinaryKind::shift_left : BinaryKind::shift_right);
  });
  r.add("Max", 6, variadic<BinaryKind::max>);
  r.add("Min", 6, variadic<BinaryKind::min>);
  r.add("Sum", 6, variadic<BinaryKind::add>);
  r.add("Mean", 6, [](Node &n) {
    (void)variadic<BinaryKind::add>(n);
    Value sum = n.results()[0].value;
    return n.result(n.div(sum, n.scalarLike(n.numInputs(), sum)));
  });

  r.add("Equal", 7, compare<CompareKind::eq>);
  r.add("Less", 7, compare<CompareKind::lt>);
  r.add("LessOrEqual", 12, compare<CompareKind::le>);
  r.add("Greater", 7, compare<CompareKind::gt>);
  r.add("GreaterOrEqual", 12, compare<CompareKind::ge>);
  r.add("Where", 9, [](Node &n) { return n.result(n.select(n.in(0), n.in(1), n.in(2))); });

  r.add("Abs", 6, unary<UnaryKind::abs>);
  r.add("Neg", 6, unary<UnaryKind::neg>);
  r.add("Sign", 9, unary<UnaryKind::sign>);
  r.add("Floor", 6, unary<UnaryKind::floor>);
  r.add("Ceil", 6, unary<UnaryKind::ceil>);
  r.add("Round", 11, unary<UnaryKind::round_even>);
  r.add("Sqrt", 6, unary<UnaryKind::sqrt>);
  r.add("Reciprocal", 6, unary<UnaryKind::reciprocal>);
  r.add("Exp", 6, unary<UnaryKind::exp>);
  r.add("Log", 6, unary<UnaryKind::log>);
  r.add("Sin", 7, unary<UnaryKind::sin>);
  r.add("Cos", 7, unary<UnaryKind::cos>);
  r.add("Tan", 7, unary<UnaryKind::tan>);
  r.add("Asin", 7, unary<UnaryKind::asin>);
  r.add("Acos", 7, unary<UnaryKind::acos>);
  r.add("Atan", 7, unary<UnaryKind::atan>);
  r.add("Sinh", 9, unary<UnaryKind::sinh>);
  r.add("Cosh", 9, unary<UnaryKind::cosh>);
  r.add("Tanh", 6, unary<UnaryKind::tanh>);
  r.add("Asinh", 9, unary<UnaryKind::asinh>);
  r.add("Acosh", 9, unary<UnaryKind::acosh>);
  r.add("Atanh", 9, unary<UnaryKind::atanh>);
  r.add("Erf", 9, unary<UnaryKind::erf>);
  r.add("Sigmoid", 6, unary<UnaryKind::sigmoid>);
  r.add("Softplus", 1, unary<UnaryKind::softplus>);
  r.add("Relu", 6, unary<UnaryKind::relu>);
  r.add("Not", 1, unary<UnaryKind::logical_not>);
  r.add("BitwiseNot", 18, unary<UnaryKind::bitwise_not>);
  r.add("IsNaN", 9, unary<UnaryKind::isnan>);
  r.add("IsInf", 10, [](Node &n) {
    bool low = n.i("detect_negative", 1), high = n.i("detect_positive", 1);
    if (!low && !high)
      return n.result(n.fill(0, n.dims(0), n.i1()));
    return n.unaryRule(low && high ? UnaryKind::isinf : low ? UnaryKind::isinf_neg : UnaryKind::isinf_pos);
  });

  r.add("Softsign", 1, [](Node &n) { return n.result(n.div(n.in(0), n.add(n.unary(UnaryKind::abs, n.in(0)), 1))); });
  r.add("LeakyRelu", 6, [](Node &n) { return n.result(whereNegative(n, n.in(0), n.mul(n.in(0), n.f("alpha", 0.01f)))); });
  r.add("PRelu", 6, [](Node &n) { // one slope, or one per channel
    Value x = n.in(0), slope = n.in(1);
    bool isOne = n.rankOf(slope) == 0 || isConstant(n.dimsOf(slope)[0], 1);
    slope = isOne ? n.reshape(slope, {}) : n.rankOf(slope) == 1 && n.rankOf(x) > 1 ? n.broadcast(slope, n.dimsOf(x), {1}) : slope;
    return n.result(whereNegative(n, x, n.mul(x, slope)));
  });
  r.add("PRelu", 7, [](Node &n) { return n.result(whereNegative(n, n.in(0), n.mul(n.in(0), n.in(1)))); });
  r.add("ThresholdedRelu", 10, [](Node &n) {
    Value x = n.in(0), zero = n.scalarLike(0, x);
    return n.result(n.select(n.compare(CompareKind::gt, x, n.scalarLike(n.f("alpha", 1), x)), x, zero));
  });
  r.add("Elu", 6, [](Node &n) { return n.result(elu(n, n.in(0), n.f("alpha", 1))); });
  r.add("Selu", 6, [](Node &n) {
    return n.result(n.mul(elu(n, n.in(0), n.f("alpha", 1.67326319217681884765625)), n.f("gamma", 1.05070102214813232421875)));
  });
  r.add("Celu", 12, [](Node &n) { // max(0, x) + min(0, alpha (exp(x / alpha) - 1))
    double alpha = n.f("alpha", 1);
    Value scaled = n.div(n.in(0), n.scalarLike(alpha, n.in(0)));
    return n.result(whereNegative(n, n.in(0), n.mul(n.unary(UnaryKind::expm1, scaled), alpha)));
  });
  r.add("HardSigmoid", 6, [](Node &n) { return n.result(hardSigmoid(n, n.in(0), n.f("alpha", 0.2f), n.f("beta", 0.5f))); });
  r.add("HardSwish", 14, [](Node &n) { return n.result(n.mul(n.in(0), hardSigmoid(n, n.in(0), 1.0 / 6, 0.5))); });
  r.add("Mish", 18, [](Node &n) {
    return n.result(n.mul(n.in(0), n.unary(UnaryKind::tanh, n.unary(UnaryKind::softplus, n.in(0)))));
  });
  r.add("Gelu", 20, [](Node &n) { return n.result(gelu(n, n.in(0), n.s("approximate", "none") == "tanh")); });
  r.add("Swish", 24, [](Node &n) {
    return n.result(n.mul(n.in(0), n.unary(UnaryKind::sigmoid, n.mul(n.in(0), n.f("alpha", 1)))));
  });
  r.add("Shrink", 9, [](Node &n) { // x < -lambd: x + bias; x > lambd: x - bias; else 0
    Value x = n.in(0), zero = n.scalarLike(0, x), lambd = n.scalarLike(n.f("lambd", 0.5), x);
    Value bias = n.scalarLike(n.f("bias"), x);
    Value high = n.select(n.compare(CompareKind::gt, x, lambd), n.sub(x, bias), zero);
    Value low = n.compare(CompareKind::lt, x, n.scalarLike(-n.f("lambd", 0.5), x));
    return n.result(n.select(low, n.add(x, bias), high));
  });
  r.add("Clip", 6, [](Node &n) { // bounds are attributes
    Value x = n.in(0);
    return n.result(clip(n, x, n.hasAttr("min") ? n.scalarLike(n.f("min"), x) : Value(),
                         n.hasAttr("max") ? n.scalarLike(n.f("max"), x) : Value()));
  });
  r.add("Clip", 11, [](Node &n) { return n.result(clip(n, n.in(0), n.opt(1), n.opt(2))); });

  r.add("Cast", 6, [](Node &n) { return n.result(n.cast(n.in(0), n.elementType("to", DataType::f32), n.i("saturate", 1))); });
  r.add("CastLike", 15, [](Node &n) { return n.result(n.cast(n.in(0), n.type(1), n.i("saturate", 1))); });
}
