// Inputs, attributes and host values of a node: see Node.h.
#include "frontends/onnx/Importer.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::onnx {

Slot Slot::of(Value value) {
  Slot slot;
  slot.kind = tensor;
  slot.value = value;
  slot.elementType = cast<RankedTensorType>(value.getType()).getElementType();
  return slot;
}

Slot Slot::of(HostTensor host) {
  Slot slot;
  slot.kind = tensor;
  slot.elementType = host.elementType;
  slot.host = std::make_shared<HostTensor>(std::move(host));
  return slot;
}

LogicalResult Node::error(const Twine &message) {
  failed = state.failed = true;
  return emitError(loc) << "node '" << def.name << "' (" << def.op << "): " << message;
}

/// A required input may still be missing inside a function whose caller leaves it out, and in operators without a schema.
Value Node::in(unsigned i) {
  if (has(i) && slot(i).kind == Slot::tensor)
    return importer.materialize(slot(i), loc);
  (void)error("input " + Twine(i) + (has(i) ? " must be a tensor of numbers" : " is missing"));
  return constant(DenseElementsAttr::get(RankedTensorType::get({}, f32()), 0.0f));
}

Dims Node::dims(unsigned i) {
  if (!has(i))
    return {};
  Slot &s = slot(i);
  if (s.value)
    return dimsOf(s.value);
  if (s.host)
    return constantDims(s.host->shape);
  if (s.constant)
    return constantDims(SmallVector<int64_t>(s.constant->dims.begin(), s.constant->dims.end()));
  return {};
}

Type Node::type(unsigned i) { return has(i) && slot(i).elementType ? slot(i).elementType : Type(f32()); }

//===----------------------------------------------------------------------===//
// Host values
//===----------------------------------------------------------------------===//

const HostTensor *Node::peekHost(unsigned i) { return has(i) ? importer.peekHost(slot(i)) : nullptr; }

const HostTensor *Node::host(unsigned i) {
  if (has(i))
    return hostOf(slot(i), "input " + Twine(i));
  (void)error("input " + Twine(i) + " is missing");
  return nullptr;
}

const HostTensor *Node::hostOf(Slot &s, const Twine &what) {
  if (const HostTensor *known = importer.deriveHost(s))
    return known;
  if (s.kind != Slot::tensor)
    return (void)error(what + " must be a tensor of numbers"), nullptr;
  Value x = importer.materialize(s, loc);
  SmallVector<int64_t> shape;
  for (AffineExpr dim : dimsOf(x)) {
    auto size = getConstant(dim);
    if (!size)
      return (void)error(what + " must have a known number of elements: it decides about shapes"), nullptr;
    shape.push_back(*size);
  }
  bool isReal = s.elementType.isF32() || s.elementType.isF64();
  if (countOf(shape) > maxHostElements || (!isa<IntegerType>(s.elementType) && !isReal))
    return (void)error(what + " is too large or of the wrong type to be read by the host"), nullptr;
  auto result = std::make_shared<HostTensor>(HostTensor{s.elementType, shape, {}});
  SmallVector<int64_t> numbers;
  for (int64_t k = 0; k < countOf(shape); ++k) {
    AffineExpr symbol = syms.defined("", isReal);
    numbers.push_back(cast<AffineSymbolExpr>(symbol).getPosition());
    result->values.push_back(Scalar::of(symbol, syms));
  }
  ReadBackOp::create(b, loc, x, b.getDenseI64ArrayAttr(numbers));
  // Not remembered inside regions: the symbols would not be defined for later uses outside.
  if (b.getInsertionBlock() == state.entry)
    s.host = result;
  readBacks.push_back(result);
  return result.get();
}

std::optional<Dims> Node::hostExprs(unsigned i) {
  if (const HostTensor *h = host(i))
    return h->exprs(syms);
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> Node::hostInts(unsigned i) {
  SmallVector<int64_t> values;
  const HostTensor *h = has(i) ? importer.deriveHost(slot(i)) : nullptr;
  if (!h || h->isReal() || !h->allConstant()) {
    (void)error("input " + Twine(i) + " must be known at compile time");
    return std::nullopt;
  }
  for (const Scalar &value : h->values)
    values.push_back(value.integer);
  return values;
}

std::optional<SmallVector<double>> Node::hostReals(unsigned i) {
  SmallVector<double> values;
  const HostTensor *h = has(i) ? importer.deriveHost(slot(i)) : nullptr;
  if (!h || !h->isReal() || !h->allConstant()) {
    (void)error("input " + Twine(i) + " must be known at compile time");
    return std::nullopt;
  }
  for (const Scalar &value : h->values)
    values.push_back(value.real);
  return values;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const Attribute *Node::attr(StringRef name) const { return importer.resolve(def.find(name.str())); }

int64_t Node::i(StringRef name, int64_t otherwise) const {
  const Attribute *a = attr(name);
  return a ? a->integer : otherwise;
}

double Node::f(StringRef name, double otherwise) const {
  const Attribute *a = attr(name);
  return a ? a->real : otherwise;
}

std::string Node::s(StringRef name, StringRef otherwise) const {
  const Attribute *a = attr(name);
  return a ? a->string : otherwise.str();
}

SmallVector<int64_t> Node::ints(StringRef name, ArrayRef<int64_t> otherwise) const {
  const Attribute *a = attr(name);
  return a ? SmallVector<int64_t>(a->integers.begin(), a->integers.end()) : SmallVector<int64_t>(otherwise);
}

SmallVector<float> Node::reals(StringRef name, ArrayRef<float> otherwise) const {
  const Attribute *a = attr(name);
  return a ? SmallVector<float>(a->floats.begin(), a->floats.end()) : SmallVector<float>(otherwise);
}

std::vector<std::string> Node::strings(StringRef name) const {
  const Attribute *a = attr(name);
  return a ? a->strings : std::vector<std::string>();
}

const Graph *Node::graph(StringRef name) const {
  const Attribute *a = attr(name);
  return a && !a->graphs.empty() ? a->graphs[0].get() : nullptr;
}

std::optional<SmallVector<int64_t>> Node::axesFrom(StringRef name, unsigned input) {
  if (hasAttr(name))
    return ints(name);
  if (has(input))
    return hostInts(input);
  return std::nullopt;
}

bool Node::isRuntime(unsigned input) {
  const HostTensor *h = has(input) ? importer.deriveHost(slot(input)) : nullptr;
  return has(input) && !(h && h->allConstant());
}

Type Node::elementType(DataType type) {
  Type result = toType(type, context());
  if (!result)
    (void)error("element type " + spell(type) + " is not supported");
  return result ? result : f32();
}

Type Node::elementType(StringRef attribute, DataType otherwise) {
  return elementType(hasAttr(attribute) ? DataType(i(attribute)) : otherwise);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

LogicalResult Node::binaryRule(BinaryKind kind) { return result(binary(kind, in(0), in(1))); }

Rule Rules::find(StringRef op, int version) const {
  auto it = table.find(op.str());
  if (it == table.end())
    return nullptr;
  auto next = it->second.upper_bound(version);
  return next == it->second.begin() ? nullptr : std::prev(next)->second;
}

const Rules &allRules() {
  static const Rules rules = [] {
    Rules r;
#define WEFT_FAMILY(NAME) add##NAME##Rules(r);
#include "frontends/onnx/Ops.def"
#undef WEFT_FAMILY
    return r;
  }();
  return rules;
}

} // namespace weft::onnx
