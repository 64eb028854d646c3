// Operators about shapes and constants: what they compute is mostly known to the host.
#include "frontends/onnx/Importer.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

HostTensor hostInts(Node &n, ArrayRef<AffineExpr> exprs, ArrayRef<int64_t> shape) {
  HostTensor host{n.i64(), SmallVector<int64_t>(shape), {}};
  for (AffineExpr e : exprs)
    host.values.push_back(Scalar::of(e, n.syms));
  return host;
}

LogicalResult constant(Node &n) {
  if (const weft::onnx::Attribute *a = n.attr("value") ? n.attr("value") : n.attr("sparse_value"))
    return n.setSlot(0, n.importer.constantSlot(a->tensors[0])), success();
  HostTensor host{n.f32(), {}, {}};
  if (n.hasAttr("value_float")) {
    host.values.push_back(Scalar::ofReal(n.f("value_float")));
  } else if (n.hasAttr("value_floats")) {
    auto values = n.reals("value_floats");
    if (int64_t(values.size()) > maxHostElements)
      return n.result(n.floats(values));
    for (float v : values)
      host.values.push_back(Scalar::ofReal(v));
    host.shape.push_back(host.values.size());
  } else if (n.hasAttr("value_int") || n.hasAttr("value_ints")) {
    auto values = n.hasAttr("value_ints") ? n.ints("value_ints") : SmallVector<int64_t>{n.i("value_int")};
    if (int64_t(values.size()) > maxHostElements)
      return n.result(n.ints(values));
    SmallVector<int64_t> shape;
    if (n.hasAttr("value_ints"))
      shape.push_back(values.size());
    host = hostInts(n, n.constantDims(values), shape);
  } else if (n.hasAttr("value_string") || n.hasAttr("value_strings")) {
    Slot slot;
    slot.kind = Slot::strings;
    return n.setSlot(0, slot), success();
  } else {
    return n.error("one of value, value_float, value_floats, value_int, value_ints must be given");
  }
  return n.result(std::move(host));
}

LogicalResult constantOfShape(Node &n) {
  auto dims = n.hostExprs(0);
  if (!dims)
    return failure();
  for (AffineExpr dim : *dims)
    if (auto size = getConstant(dim); size && *size < 0)
      return n.error("the shape must not be negative, found " + Twine(*size));
  const weft::onnx::Attribute *a = n.attr("value");
  if (!a)
    return n.result(n.fill(0, *dims, n.f32()));
  Slot slot = n.importer.constantSlot(a->tensors[0]);
  if (slot.kind != Slot::tensor || a->tensors[0].elements() != 1)
    return n.error("attribute 'value' must be a tensor of one number");
  return n.result(n.broadcastTo(n.reshape(n.importer.materialize(slot, n.loc), {}), *dims));
}

LogicalResult shape(Node &n) {
  Dims dims = n.dims(0);
  n.noteSizes(dims);
  int64_t rank = dims.size(), start = n.i("start", 0), end = n.i("end", rank);
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<int64_t>(end < 0 ? end + rank : end, start, rank);
  auto part = ArrayRef(dims).slice(start, end - start);
  return n.result(hostInts(n, part, {int64_t(part.size())}));
}

/// ONNX Reshape: 0 copies a dimension (unless allowzero), -1 is what remains.
LogicalResult reshape(Node &n) {
  auto wanted = n.hostExprs(1);
  if (!wanted)
    return failure();
  Dims from = n.dims(0), dims;
  bool allowZero = n.i("allowzero");
  int64_t inferred = -1;
  SmallVector<std::pair<size_t, AffineExpr>> maybe; // entries that may be -1 at run time
  for (auto [i, e] : llvm::enumerate(*wanted)) {
    auto value = getConstant(e);
    if (value && *value < -1)
      return n.error("input 1 ('shape') must hold sizes, 0 or -1, found " + Twine(*value));
    if (value == -1) {
      if (inferred >= 0)
        return n.error("input 1 ('shape') may hold -1 once only");
      inferred = i;
      dims.push_back(n.c(1));
    } else if (value == 0 && !allowZero) {
      if (i >= from.size())
        return n.error("input 1 ('shape') copies dimension " + Twine(i) + ", but the input has rank " + Twine(from.size()));
      dims.push_back(from[i]);
    } else if (value || n.isNonNegative(e)) {
      dims.push_back(e);
    } else {
      AffineExpr size = e;
      if (!allowZero && i < from.size())
        size = n.syms.select(n.fn(SymbolFn::eq, {e, n.c(0)}), from[i], e);
      maybe.push_back({i, size});
      dims.push_back(n.syms.max(size, n.c(1))); // -1 counts as 1 in the product
    }
  }
  if (allowZero && inferred >= 0 && llvm::is_contained(*wanted, n.c(0)))
    return n.error("input 1 ('shape') must not hold both 0 and -1 with allowzero");
  AffineExpr total = n.product(from);
  if (inferred >= 0) {
    AffineExpr others = n.product(dims), rest = divideExactly(total, others);
    auto all = getConstant(total), known = getConstant(others);
    if (all && known && (*known == 0 || *all % *known != 0))
      return n.error("cannot reshape " + Twine(*all) + " elements: they do not divide by the other dimensions' product " + Twine(*known));
    if (!rest && isConstant(others, 0))
      rest = n.c(0);
    dims[inferred] = rest ? rest : n.syms.floorDiv(total, others);
    if (!rest)
      n.requireEqual(n.syms.mul(dims[inferred], others), total, "the number of elements does not divide by the other dimensions");
  } else if (!maybe.empty()) {
    AffineExpr rest = n.syms.floorDiv(total, n.product(dims));
    for (auto [i, size] : maybe)
      dims[i] = n.syms.select(n.fn(SymbolFn::lt, {size, n.c(0)}), rest, size);
    n.requireEqual(n.product(dims), total, "the input does not have as many elements as 'shape' asks for");
  } else {
    n.requireEqual(n.product(dims), total, "the input does not have as many elements as 'shape' asks for");
  }
  return n.bad() ? failure() : n.result(n.reshape(n.in(0), dims));
}

LogicalResult squeeze(Node &n) {
  int64_t rank = n.rank(0);
  if (!n.hasAttr("axes") && n.isRuntime(1))
    return overRuntimeAxes(n, 1, rank, [&](ArrayRef<int64_t> axes) { return n.squeeze(n.in(0), axes); });
  auto given = n.axesFrom("axes", 1);
  if (n.bad())
    return failure();
  SmallVector<int64_t> axes;
  if (given) {
    axes = n.axes(*given, rank);
  } else {
    for (auto [i, dim] : llvm::enumerate(n.dims(0)))
      if (isConstant(dim, 1))
        axes.push_back(i);
      else if (!getConstant(dim))
        return n.error("axes must be given: dimension " + Twine(i) + " is not known, so that the result's rank is not either");
  }
  return n.bad() ? failure() : n.result(n.squeeze(n.in(0), axes));
}

LogicalResult unsqueeze(Node &n) {
  if (!n.hasAttr("axes") && n.isRuntime(1)) {
    auto count = getConstant(n.product(n.dims(1)));
    return overRuntimeAxes(n, 1, n.rank(0) + count.value_or(0), [&](ArrayRef<int64_t> axes) { return n.unsqueeze(n.in(0), axes); });
  }
  auto given = n.axesFrom("axes", 1);
  if (!given)
    return failure();
  auto axes = n.axes(*given, n.rank(0) + given->size());
  return n.bad() ? failure() : n.result(n.unsqueeze(n.in(0), axes));
}

LogicalResult expand(Node &n) {
  auto shape = n.hostExprs(1);
  if (!shape)
    return failure();
  Dims dims = n.broadcastDims(n.dims(0), *shape);
  return n.bad() ? failure() : n.result(n.broadcastTo(n.in(0), dims));
}

/// start + i * delta, as many as there are below limit.
LogicalResult range(Node &n) {
  auto scalar = [&](unsigned i) -> std::optional<Dims> {
    if (n.type(i).isF16() || n.type(i).isBF16()) { // the host computes with wider floats
      Slot wide = Slot::of(n.cast(n.in(i), n.f32()));
      const HostTensor *h = n.hostOf(wide, "input " + Twine(i));
      return h ? std::optional(h->exprs(n.syms)) : std::nullopt;
    }
    return n.hostExprs(i);
  };
  auto start = scalar(0), limit = scalar(1), delta = scalar(2);
  if (!start || !limit || !delta)
    return failure();
  Type type = n.type(0);
  AffineExpr count;
  if (isa<FloatType>(type)) {
    auto difference = n.fn(SymbolFn::fsub, {(*limit)[0], (*start)[0]});
    count = n.fn(SymbolFn::ftoi, {n.fn(SymbolFn::fceil, {n.fn(SymbolFn::fdiv, {difference, (*delta)[0]})})});
  } else {
    if (isConstant((*delta)[0], 0))
      return n.error("delta must not be 0");
    count = n.syms.ceilDiv(n.syms.sub((*limit)[0], (*start)[0]), (*delta)[0]);
  }
  count = n.syms.max(count, n.c(0));
  Value i = n.iota({count}, 0, isa<FloatType>(type) || type.isInteger(16) ? Type(n.i64()) : type);
  return n.result(n.add(n.mul(n.cast(i, type), n.reshape(n.in(2), {})), n.reshape(n.in(0), {})));
}

LogicalResult eyeLike(Node &n) {
  if (n.rank(0) != 2)
    return n.error("the input must have rank 2, found " + Twine(n.rank(0)));
  Dims dims = n.dims(0);
  Value row = n.iota(dims, 0, n.i64()), column = n.iota(dims, 1, n.i64());
  Value isOne = n.compare(CompareKind::eq, column, n.add(row, n.scalar(n.i("k"), n.i64())));
  Type type = n.hasAttr("dtype") ? n.elementType("dtype", DataType::f32) : n.type(0);
  return n.result(n.cast(isOne, type));
}

LogicalResult dropout(Node &n) { // inference only
  const HostTensor *training = n.has(2) ? n.importer.deriveHost(n.slot(2)) : nullptr;
  if (n.has(2) && (!training || !training->values[0].isConstant() || training->values[0].integer))
    return n.error("training mode is not supported");
  if (n.wants(1))
    n.set(1, n.fill(1, n.dims(0), n.version() >= 10 ? n.i1() : n.type(0)));
  return n.setSlot(0, n.slot(0)), success();
}

} // namespace

void weft::onnx::addShapeRules(Rules &r) {
  r.add("Constant", 1, constant);
  r.add("ConstantOfShape", 9, constantOfShape);
  r.add("Shape", 1, shape);
  r.add("Size", 1, [](Node &n) { return n.result(hostInts(n, {n.product(n.dims(0))}, {})); });
  r.add("Reshape", 5, reshape);
  r.add("Squeeze", 1, squeeze);
  r.add("Unsqueeze", 1, unsqueeze);
  r.add("Expand", 8, expand);
  r.add("Range", 11, range);
  r.add("EyeLike", 9, eyeLike);
  r.add("Dropout", 7, dropout);
  r.add("Identity", 1, [](Node &n) { return n.setSlot(0, n.slot(0)), success(); });
  r.add("Flatten", 1, [](Node &n) {
    int64_t rank = n.rank(0), axis = n.i("axis", 1);
    axis += axis < 0 ? rank : 0; // rank itself is allowed
    if (axis < 0 || axis > rank)
      return n.error("axis must be between " + Twine(-rank) + " and " + Twine(rank) + ", found " + Twine(n.i("axis", 1)));
    return n.result(n.flatten(n.in(0), axis));
  });
}
