// Sequences and optionals, whose structure is known at compile time: they are lists of tensors and leave no operation.
#include "frontends/onnx/Importer.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

Slot sequenceOf(std::vector<Slot> elements, Type elementType) {
  Slot slot;
  slot.kind = Slot::sequence;
  slot.elementType = elements.empty() ? elementType : elements[0].elementType;
  slot.elements = std::move(elements);
  return slot;
}

LogicalResult give(Node &n, Slot slot) { return n.setSlot(0, std::move(slot)), success(!n.bad()); }

/// Position input `i` in a sequence of `size` (negative: from the end); `otherwise` where absent.
std::optional<int64_t> position(Node &n, unsigned i, int64_t size, int64_t otherwise, bool mayAppend) {
  if (!n.has(i))
    return otherwise;
  auto values = n.hostInts(i);
  if (!values || values->size() != 1)
    return std::nullopt;
  int64_t at = (*values)[0] + ((*values)[0] < 0 ? size : 0);
  if (at < 0 || at > size - !mayAppend)
    return (void)n.error("position " + Twine((*values)[0]) + " is not in a sequence of " + Twine(size)), std::nullopt;
  return at;
}

LogicalResult construct(Node &n) {
  std::vector<Slot> elements;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    elements.push_back(n.slot(i));
  return give(n, sequenceOf(std::move(elements), {}));
}

LogicalResult insert(Node &n) {
  std::vector<Slot> elements = n.slot(0).elements;
  auto at = position(n, 2, elements.size(), elements.size(), true);
  if (!at)
    return failure();
  elements.insert(elements.begin() + *at, n.slot(1));
  return give(n, sequenceOf(std::move(elements), {}));
}

LogicalResult erase(Node &n) {
  std::vector<Slot> elements = n.slot(0).elements;
  auto at = position(n, 1, elements.size(), int64_t(elements.size()) - 1, false);
  if (!at || *at < 0)
    return failure();
  elements.erase(elements.begin() + *at);
  return give(n, sequenceOf(std::move(elements), n.slot(0).elementType));
}

LogicalResult at(Node &n) {
  auto i = position(n, 1, n.slot(0).elements.size(), 0, false);
  return i ? give(n, n.slot(0).elements[*i]) : failure();
}

LogicalResult length(Node &n) {
  return n.result(HostTensor{n.i64(), {}, {Scalar::of(int64_t(n.slot(0).elements.size()))}});
}

LogicalResult concatFromSequence(Node &n) {
  std::vector<Slot> elements = n.slot(0).elements;
  if (elements.empty())
    return n.error("an empty sequence cannot be concatenated");
  bool isNew = n.i("new_axis");
  SmallVector<Value> xs;
  int64_t rank = 0;
  for (Slot &slot : elements) {
    xs.push_back(n.importer.materialize(slot, n.loc));
    rank = n.rankOf(xs.back()) + isNew;
  }
  int64_t axis = n.axisAttr("axis", 0, rank);
  if (n.bad())
    return failure();
  if (isNew)
    for (Value &x : xs)
      x = n.unsqueeze(x, {axis});
  return n.result(n.concat(xs, axis));
}

LogicalResult splitToSequence(Node &n) {
  int64_t axis = n.axisAttr("axis", 0, n.rank(0));
  auto size = n.bad() ? std::nullopt : getConstant(n.dims(0)[axis]);
  if (!size)
    return n.error("the dimension to split must be known at compile time");
  SmallVector<int64_t> sizes(*size, 1);
  bool keep = n.i("keepdims", 1) || n.has(1);
  if (n.has(1)) {
    auto given = n.hostInts(1);
    if (!given)
      return failure();
    sizes = *given;
    if (n.rank(1) == 0) {
      if ((*given)[0] <= 0)
        return n.error("the length of the parts must be positive");
      sizes.clear();
      for (int64_t from = 0; from < *size; from += (*given)[0])
        sizes.push_back(std::min((*given)[0], *size - from));
    }
  }
  std::vector<Slot> elements;
  int64_t from = 0;
  for (int64_t s : sizes) {
    if (s < 0 || from + s > *size)
      return n.error("the parts are longer than the dimension, " + Twine(*size));
    Value part = n.slice(n.in(0), axis, n.c(from), n.c(s));
    elements.push_back(Slot::of(keep ? part : n.squeeze(part, {axis})));
    from += s;
  }
  return give(n, sequenceOf(std::move(elements), n.type(0)));
}

LogicalResult optionalOf(Node &n) {
  if (n.has(0))
    return give(n, n.slot(0));
  Slot slot;
  slot.kind = Slot::none;
  return give(n, slot);
}

LogicalResult optionalHasElement(Node &n) {
  return n.result(HostTensor{n.i1(), {}, {Scalar::of(int64_t(n.has(0) && n.slot(0).kind != Slot::none))}});
}

} // namespace

void weft::onnx::addSequenceRules(Rules &r) {
  r.add("SequenceConstruct", 11, construct);
  r.add("SequenceEmpty", 11, [](Node &n) { return give(n, sequenceOf({}, n.elementType("dtype", DataType::f32))); });
  r.add("SequenceInsert", 11, insert);
  r.add("SequenceErase", 11, erase);
  r.add("SequenceAt", 11, at);
  r.add("SequenceLength", 11, length);
  r.add("ConcatFromSequence", 11, concatFromSequence);
  r.add("SplitToSequence", 11, splitToSequence);
  r.add("Optional", 15, optionalOf);
  r.add("OptionalHasElement", 15, optionalHasElement);
  r.add("OptionalGetElement", 15, [](Node &n) {
    return n.slot(0).kind == Slot::none ? n.error("the optional is empty") : give(n, n.slot(0));
  });
}
