// Operators that the host can evaluate on host values (shape arithmetic): see Node.h, evaluateOnHost.
#include "frontends/onnx/Importer.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::onnx {
namespace {

using Maybe = std::optional<HostTensor>;
using Inputs = ArrayRef<const HostTensor *>;
using Evaluate = Maybe (*)(Node &, Inputs);

/// Row-major strides with 0 where a dimension is broadcast to `shape`.
SmallVector<int64_t> stridesFor(ArrayRef<int64_t> from, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    size_t k = from.size() - 1 - i;
    strides[shape.size() - 1 - i] = from[k] == 1 ? 0 : stride;
    stride *= from[k];
  }
  return strides;
}

bool broadcastShape(SmallVector<int64_t> &shape, ArrayRef<int64_t> other) {
  if (shape.size() < other.size())
    shape.insert(shape.begin(), other.size() - shape.size(), 1);
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t &d = shape[shape.size() - 1 - i], e = other[other.size() - 1 - i];
    if (d != e && d != 1 && e != 1)
      return false;
    d = d == 1 ? e : d;
  }
  return countOf(shape) <= maxHostElements;
}

/// Calls `body` with the row-major position of each operand for each element of `shape`.
template <typename Body> bool forEach(ArrayRef<int64_t> shape, Inputs operands, Body body) {
  SmallVector<SmallVector<int64_t>> strides;
  for (const HostTensor *operand : operands)
    strides.push_back(stridesFor(operand->shape, shape));
  for (int64_t n = 0, count = countOf(shape); n < count; ++n) {
    SmallVector<int64_t> at(operands.size(), 0);
    for (int64_t rest = n, d = int64_t(shape.size()) - 1; d >= 0; rest /= shape[d], --d)
      for (size_t k = 0; k < operands.size(); ++k)
        at[k] += strides[k][d] * (rest % shape[d]);
    if (!body(at))
      return false;
  }
  return true;
}

/// Types whose arithmetic host scalars imitate exactly.
bool isArithmetic(Type type) {
  return type.isF32() || type.isF64() || type.isInteger(32) || type.isInteger(64) || type.isInteger(1);
}

template <HostFn fn> Maybe binary(Node &n, Inputs in) {
  bool isTruth = fn >= HostFn::eq;
  HostTensor out{isTruth ? n.i1() : in[0]->elementType, in[0]->shape, {}};
  for (size_t k = 1; k < in.size(); ++k)
    if (!broadcastShape(out.shape, in[k]->shape))
      return std::nullopt;
  if (!isArithmetic(in[0]->elementType))
    return std::nullopt;
  HostFn f = fn == HostFn::mod && n.i("fmod") ? HostFn::fmod : fn;
  bool ok = forEach(out.shape, in, [&](ArrayRef<int64_t> at) {
    Scalar value = in[0]->values[at[0]];
    for (size_t k = 1; k < in.size(); ++k) { // Min and Max take any number
      auto next = apply(f, value, in[k]->values[at[k]], in[0]->elementType, n.syms);
      if (!next)
        return false;
      value = *next;
    }
    out.values.push_back(value);
    return true;
  });
  return ok ? Maybe(std::move(out)) : std::nullopt;
}

template <HostUnary fn> Maybe unary(Node &n, Inputs in) {
  HostTensor out{in[0]->elementType, in[0]->shape, {}};
  if (!isArithmetic(out.elementType))
    return std::nullopt;
  for (const Scalar &x : in[0]->values) {
    auto value = apply(fn, x, out.elementType, n.syms);
    if (!value)
      return std::nullopt;
    out.values.push_back(*value);
  }
  return out;
}

Maybe where(Node &n, Inputs in) {
  HostTensor out{in[1]->elementType, in[0]->shape, {}};
  if (!broadcastShape(out.shape, in[1]->shape) || !broadcastShape(out.shape, in[2]->shape))
    return std::nullopt;
  forEach(out.shape, in, [&](ArrayRef<int64_t> at) {
    out.values.push_back(selectScalar(in[0]->values[at[0]], in[1]->values[at[1]], in[2]->values[at[2]], n.syms));
    return true;
  });
  return out;
}

Maybe cast(Node &n, Inputs in) {
  Type to = n.op() == "CastLike" ? in[1]->elementType : toType(DataType(n.i("to")), n.context());
  if (!to)
    return std::nullopt;
  HostTensor out{to, in[0]->shape, {}};
  for (const Scalar &x : in[0]->values) {
    auto value = castScalar(x, to, n.syms);
    if (!value)
      return std::nullopt;
    out.values.push_back(*value);
  }
  return out;
}

Maybe identity(Node &, Inputs in) { return *in[0]; }

/// The same elements under another static shape, which `dims` gives.
Maybe withShape(const HostTensor &x, SmallVector<int64_t> shape) {
  if (countOf(shape) != int64_t(x.values.size()))
    return std::nullopt;
  HostTensor out = x;
  out.shape = std::move(shape);
  return out;
}

std::optional<SmallVector<int64_t>> constants(const HostTensor *x) {
  if (!x || x->isReal() || !x->allConstant())
    return std::nullopt;
  SmallVector<int64_t> values;
  for (const Scalar &v : x->values)
    values.push_back(v.integer);
  return values;
}

/// Axes from an attribute or input 1; not negative, sorted. Empty optional: not known here or wrong (the rule reports it).
std::optional<SmallVector<int64_t>> axesOf(Node &n, Inputs in, int64_t rank, bool &given) {
  std::optional<SmallVector<int64_t>> axes;
  given = n.hasAttr("axes") || (in.size() > 1 && in[1]);
  axes = n.hasAttr("axes") ? n.ints("axes") : given ? constants(in[1]) : SmallVector<int64_t>();
  if (axes)
    for (int64_t &a : *axes) {
      if (a < -rank || a >= rank)
        return std::nullopt;
      a += a < 0 ? rank : 0;
    }
  if (axes)
    llvm::sort(*axes);
  return axes;
}

Maybe squeeze(Node &n, Inputs in) {
  bool given;
  auto axes = axesOf(n, in, in[0]->shape.size(), given);
  if (!axes)
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (auto [i, d] : llvm::enumerate(in[0]->shape))
    if (given ? !llvm::is_contained(*axes, int64_t(i)) : d != 1)
      shape.push_back(d);
  return withShape(*in[0], shape);
}

Maybe unsqueeze(Node &n, Inputs in) {
  bool given;
  auto count = n.hasAttr("axes") ? std::optional(n.ints("axes")) : constants(in[1]);
  if (!count)
    return std::nullopt;
  auto axes = axesOf(n, in, in[0]->shape.size() + count->size(), given);
  if (!axes || std::adjacent_find(axes->begin(), axes->end()) != axes->end())
    return std::nullopt;
  SmallVector<int64_t> shape(in[0]->shape);
  for (int64_t a : *axes)
    shape.insert(shape.begin() + a, 1);
  return withShape(*in[0], shape);
}

Maybe reshape(Node &n, Inputs in) {
  auto shape = constants(in[1]);
  if (!shape)
    return std::nullopt;
  int64_t known = 1, inferred = -1;
  for (auto [i, d] : llvm::enumerate(*shape)) {
    if (d == 0 && !n.i("allowzero") && i < in[0]->shape.size())
      d = in[0]->shape[i];
    if (d == -1 && inferred < 0)
      inferred = i;
    else if (d < 0 || d > maxHostElements)
      return std::nullopt;
    else
      known *= d;
  }
  if (inferred >= 0)
    (*shape)[inferred] = known ? int64_t(in[0]->values.size()) / known : 0;
  return withShape(*in[0], *shape);
}

Maybe concat(Node &n, Inputs in) {
  int64_t rank = in[0]->shape.size(), axis = n.i("axis", 1);
  axis += axis < 0 ? rank : 0;
  if (rank == 0 || axis < 0 || axis >= rank)
    return std::nullopt;
  HostTensor out{in[0]->elementType, in[0]->shape, {}};
  out.shape[axis] = 0;
  int64_t outer = countOf(ArrayRef(in[0]->shape).take_front(axis));
  for (const HostTensor *x : in) {
    if (int64_t(x->shape.size()) != rank)
      return std::nullopt;
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis && x->shape[d] != in[0]->shape[d])
        return std::nullopt;
    out.shape[axis] += x->shape[axis];
  }
  if (countOf(out.shape) > maxHostElements)
    return std::nullopt;
  for (int64_t o = 0; o < outer; ++o)
    for (const HostTensor *x : in) {
      int64_t run = countOf(ArrayRef(x->shape).drop_front(axis));
      out.values.append(x->values.begin() + o * run, x->values.begin() + (o + 1) * run);
    }
  return out;
}

Maybe gather(Node &n, Inputs in) {
  auto at = constants(in[1]);
  int64_t rank = in[0]->shape.size(), axis = n.i("axis");
  axis += axis < 0 ? rank : 0;
  if (!at || axis < 0 || axis >= rank)
    return std::nullopt;
  int64_t outer = countOf(ArrayRef(in[0]->shape).take_front(axis)), inner = countOf(ArrayRef(in[0]->shape).drop_front(axis + 1));
  int64_t size = in[0]->shape[axis];
  HostTensor out{in[0]->elementType, SmallVector<int64_t>(ArrayRef(in[0]->shape).take_front(axis)), {}};
  llvm::append_range(out.shape, in[1]->shape);
  llvm::append_range(out.shape, ArrayRef(in[0]->shape).drop_front(axis + 1));
  if (countOf(out.shape) > maxHostElements)
    return std::nullopt;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i : *at) {
      i += i < 0 ? size : 0;
      if (i < 0 || i >= size)
        return std::nullopt;
      auto from = in[0]->values.begin() + (o * size + i) * inner;
      out.values.append(from, from + inner);
    }
  return out;
}

/// The elements start, start + step, ... of one axis, as Slice counts them.
HostTensor sliceAxis(const HostTensor &x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  int64_t size = x.shape[axis], last = std::max<int64_t>(size - 1, 0);
  auto clamp = [&](int64_t v, int64_t low, int64_t high) { return std::clamp(v < 0 ? v + size : v, low, high); };
  int64_t from = step > 0 ? clamp(start, 0, size) : clamp(start, 0, last);
  int64_t to = step > 0 ? clamp(end, 0, size) : end < -size ? -1 : clamp(end, -1, last);
  SmallVector<int64_t> at;
  for (int64_t i = from; size > 0 && (step > 0 ? i < to : i > to); i += std::clamp(step, -size, size))
    at.push_back(i);
  int64_t outer = countOf(ArrayRef(x.shape).take_front(axis)), inner = countOf(ArrayRef(x.shape).drop_front(axis + 1));
  HostTensor out{x.elementType, x.shape, {}};
  out.shape[axis] = at.size();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i : at)
      out.values.append(x.values.begin() + (o * size + i) * inner, x.values.begin() + (o * size + i + 1) * inner);
  return out;
}

Maybe slice(Node &n, Inputs in) {
  auto list = [&](StringRef attr, size_t input, SmallVector<int64_t> otherwise) -> std::optional<SmallVector<int64_t>> {
    if (n.hasAttr(attr))
      return n.ints(attr);
    return in.size() > input && in[input] ? constants(in[input]) : otherwise;
  };
  int64_t rank = in[0]->shape.size();
  auto starts = list("starts", 1, {}), ends = list("ends", 2, {});
  if (!starts || !ends || starts->size() != ends->size())
    return std::nullopt;
  auto axes = list("axes", 3, llvm::to_vector(llvm::seq<int64_t>(0, starts->size())));
  auto steps = list("", 4, SmallVector<int64_t>(starts->size(), 1));
  if (!axes || !steps || axes->size() != starts->size() || steps->size() != starts->size())
    return std::nullopt;
  HostTensor out = *in[0];
  SmallVector<bool> cut(rank, false);
  for (auto [start, end, axis, step] : llvm::zip_equal(*starts, *ends, *axes, *steps)) {
    int64_t a = axis + (axis < 0 ? rank : 0);
    if (a < 0 || a >= rank || cut[a] || step == 0)
      return std::nullopt;
    cut[a] = true;
    out = sliceAxis(out, a, start, end, step);
  }
  return out;
}

Maybe transpose(Node &n, Inputs in) {
  int64_t rank = in[0]->shape.size();
  SmallVector<int64_t> order = n.hasAttr("perm") ? n.ints("perm") : llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return std::nullopt;
  HostTensor out{in[0]->elementType, {}, {}};
  for (int64_t from : order)
    out.shape.push_back(in[0]->shape[from]);
  for (int64_t k = 0, count = in[0]->values.size(); k < count; ++k) {
    SmallVector<int64_t> at(rank);
    for (int64_t rest = k, d = rank - 1; d >= 0; rest /= out.shape[d], --d)
      at[order[d]] = rest % out.shape[d];
    int64_t position = 0;
    for (int64_t d = 0; d < rank; ++d)
      position = position * in[0]->shape[d] + at[d];
    out.values.push_back(in[0]->values[position]);
  }
  return out;
}

Maybe expand(Node &, Inputs in) {
  auto shape = constants(in[1]);
  if (!shape)
    return std::nullopt;
  SmallVector<int64_t> full(*shape);
  if (llvm::any_of(full, [](int64_t d) { return d < 0 || d > maxHostElements; }) || !broadcastShape(full, in[0]->shape))
    return std::nullopt;
  HostTensor out{in[0]->elementType, full, {}};
  forEach(full, {in[0]}, [&](ArrayRef<int64_t> at) { return out.values.push_back(in[0]->values[at[0]]), true; });
  return out;
}

Maybe constantOfShape(Node &n, Inputs in) {
  auto shape = constants(in[0]);
  if (!shape || llvm::any_of(*shape, [](int64_t d) { return d < 0 || d > maxHostElements; }) || countOf(*shape) > maxHostElements)
    return std::nullopt;
  HostTensor out{n.f32(), *shape, {}};
  Scalar value = Scalar::ofReal(0);
  if (const Attribute *a = n.attr("value")) {
    Slot slot = n.importer.constantSlot(a->tensors[0]);
    const HostTensor *h = n.importer.peekHost(slot);
    if (!h || h->values.size() != 1)
      return std::nullopt;
    out.elementType = h->elementType;
    value = h->values[0];
  }
  out.values.assign(countOf(*shape), value);
  return out;
}

Maybe range(Node &n, Inputs in) {
  for (const HostTensor *x : in)
    if (!x->allConstant() || x->isReal())
      return std::nullopt;
  int64_t start = in[0]->values[0].integer, limit = in[1]->values[0].integer, delta = in[2]->values[0].integer;
  if (delta == 0)
    return std::nullopt;
  HostTensor out{in[0]->elementType, {}, {}};
  for (int64_t v = start; delta > 0 ? v < limit : v > limit; v += delta) {
    out.values.push_back(Scalar::of(v));
    if (int64_t(out.values.size()) > maxHostElements)
      return std::nullopt;
  }
  out.shape.push_back(out.values.size());
  return out;
}

template <HostFn fn> Maybe reduce(Node &n, Inputs in) {
  bool given;
  int64_t rank = in[0]->shape.size();
  auto axes = axesOf(n, in, rank, given);
  if (!axes || !isArithmetic(in[0]->elementType) || in[0]->values.empty())
    return std::nullopt;
  if (axes->empty()) {
    if (n.i("noop_with_empty_axes"))
      return *in[0];
    for (int64_t i = 0; i < rank; ++i)
      axes->push_back(i);
  }
  if (int64_t(axes->size()) != rank)
    return std::nullopt; // only full reductions
  Scalar value = in[0]->values[0];
  for (const Scalar &x : ArrayRef(in[0]->values).drop_front()) {
    auto next = apply(fn, value, x, in[0]->elementType, n.syms);
    if (!next)
      return std::nullopt;
    value = *next;
  }
  return HostTensor{in[0]->elementType, SmallVector<int64_t>(n.i("keepdims", 1) ? rank : 0, 1), {value}};
}

struct Entry {
  const char *op;
  Evaluate evaluate;
};
constexpr Entry table[] = {
    {"Add", binary<HostFn::add>}, {"Sub", binary<HostFn::sub>}, {"Mul", binary<HostFn::mul>}, {"Div", binary<HostFn::div>},
    {"Mod", binary<HostFn::mod>}, {"Min", binary<HostFn::min>}, {"Max", binary<HostFn::max>}, {"Equal", binary<HostFn::eq>},
    {"Less", binary<HostFn::lt>}, {"LessOrEqual", binary<HostFn::le>}, {"Greater", binary<HostFn::gt>},
    {"GreaterOrEqual", binary<HostFn::ge>}, {"And", binary<HostFn::logical_and>}, {"Or", binary<HostFn::logical_or>},
    {"Xor", binary<HostFn::logical_xor>}, {"Not", unary<HostUnary::logical_not>}, {"Neg", unary<HostUnary::neg>},
    {"Abs", unary<HostUnary::abs>}, {"Floor", unary<HostUnary::floor>}, {"Ceil", unary<HostUnary::ceil>},
    {"Round", unary<HostUnary::round>}, {"Sqrt", unary<HostUnary::sqrt>}, {"Sign", unary<HostUnary::sign>},
    {"Reciprocal", unary<HostUnary::reciprocal>}, {"Where", where}, {"Cast", cast}, {"CastLike", cast}, {"Identity", identity},
    {"Squeeze", squeeze}, {"Unsqueeze", unsqueeze}, {"Reshape", reshape}, {"Concat", concat}, {"Gather", gather},
    {"Slice", slice}, {"Transpose", transpose}, {"Expand", expand}, {"ConstantOfShape", constantOfShape}, {"Range", range},
    {"ReduceSum", reduce<HostFn::add>}, {"ReduceProd", reduce<HostFn::mul>}, {"ReduceMin", reduce<HostFn::min>},
    {"ReduceMax", reduce<HostFn::max>}};

const Entry *findEntry(StringRef op) {
  for (const Entry &entry : table)
    if (op == entry.op)
      return &entry;
  return nullptr;
}

} // namespace

bool hasHostForm(StringRef op) { return findEntry(op) != nullptr; }

bool evaluateOnHost(Node &node) {
  const Entry *entry = node.def.domain.empty() ? findEntry(node.op()) : nullptr;
  if (!entry || node.numInputs() == 0)
    return false;
  SmallVector<const HostTensor *> inputs;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    inputs.push_back(node.peekHost(i));
    if (!inputs.back() && (node.has(i) || i == 0))
      return false;
  }
  auto out = entry->evaluate(node, inputs);
  if (!out || node.bad() || int64_t(out->values.size()) > maxHostElements)
    return false;
  node.set(0, std::move(*out));
  return true;
}

} // namespace weft::onnx
