// Verifiers and element rules of the operations that move elements.
//
// Guarantees: for an index inside the result no operand is read outside its dimensions, whatever index tensors hold.
#include "dialects/graph/Graph.h"
#include "dialects/graph/Scalar.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft::graph;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static Type elementType(Value value) { return typeOf(value).getElementType(); }
static bool unsignedElements(Value value) { return scalar::isUnsigned(elementType(value)); }

static LogicalResult verifySameElementType(Operation *op, StringRef label, Value x, Value y) {
  if (elementType(x) != elementType(y))
    return op->emitOpError() << "[" << label << "] element types differ: " << elementType(x) << " and " << elementType(y);
  return success();
}

static LogicalResult verifyAxis(Operation *op, StringRef label, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank)
    return op->emitOpError() << "[" << label << "] axis " << axis << " is outside rank " << rank;
  return success();
}

/// Calls `one` for each of the run's elements.
static Elements forEach(ElementEmitter &emitter, const ElementIndex &index, unsigned count,
                        llvm::function_ref<Value(const ElementIndex &)> one) {
  Elements results;
  for (unsigned k = 0; k < count; ++k)
    results.push_back(one(emitter.advance(index, k)));
  return results;
}

/// `condition ? inside() : outside()`, with the reads of each side done only there.
static Elements branch(ElementEmitter &emitter, Value condition, TypeRange types, llvm::function_ref<Elements()> inside,
                       llvm::function_ref<Elements()> outside) {
  OpBuilder &b = emitter.b;
  auto ifOp = scf::IfOp::create(b, emitter.loc(), types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&ifOp.getThenRegion().front());
  scf::YieldOp::create(b, emitter.loc(), inside());
  b.setInsertionPointToEnd(&ifOp.getElseRegion().front());
  scf::YieldOp::create(b, emitter.loc(), outside());
  return Elements(ifOp.getResults());
}

static SmallVector<Type> repeat(Type type, unsigned count) { return SmallVector<Type>(count, type); }

//===----------------------------------------------------------------------===//
// ConstantOp, HostOp, IotaOp
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  auto type = cast<ShapedType>(getValue().getType());
  if (!getY().getType().hasStaticShape() || type.getShape() != getY().getType().getShape() || type.getElementType() != getY().getType().getElementType())
    return emitOpError("[constant_c1] value has type ") << type << ", result " << getY().getType();
  return success();
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult HostOp::verify() {
  RankedTensorType type = getY().getType();
  if (type.getRank() > 1 || !type.hasStaticShape() || type.getNumElements() != int64_t(getValues().size()))
    return emitOpError("[host_c1] ") << getValues().size() << " values do not fill " << type;
  return success();
}

Elements HostOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Type type = elementType(getY()), i64 = emitter.b.getI64Type();
  auto read = [&](AffineExpr expr) -> Value {
    Value value = emitter.host(expr);
    if (isa<FloatType>(value.getType()))
      return scalar::cast(emitter.b, emitter.loc(), value, value.getType(), type);
    return scalar::cast(emitter.b, emitter.loc(), emitter.host64(expr), i64, type);
  };
  auto values = getValues().getExprs();
  if (getY().getType().getRank() == 0)
    return {read(values[0])};
  return forEach(emitter, index, count, [&](const ElementIndex &at) {
    Value position = emitter.linear(at, getDims(getY()));
    Value result = read(values[0]);
    for (size_t i = 1; i < values.size(); ++i)
      result = emitter.select(emitter.equal(position, emitter.constant(i)), read(values[i]), result);
    return result;
  });
}

LogicalResult IotaOp::verify() { return verifyAxis(*this, "iota_c1", getAxis(), getY().getType().getRank()); }

Elements IotaOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  return forEach(emitter, index, count, [&](const ElementIndex &at) {
    Value position = emitter.multi(at, getDims(getY()))[getAxis()];
    return scalar::cast(emitter.b, emitter.loc(), position, position.getType(), elementType(getY()));
  });
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType x = getX().getType(), y = getY().getType();
  if (getMap().size() != size_t(x.getRank()))
    return emitOpError("[broadcast_c1] map has ") << getMap().size() << " entries, operand rank is " << x.getRank();
  for (auto [i, to] : llvm::enumerate(getMap())) {
    if (to < 0 || to >= y.getRank() || (i > 0 && to <= getMap()[i - 1]))
      return emitOpError("[broadcast_c2] map is not strictly increasing within rank ") << y.getRank();
    int64_t from = x.getDimSize(i), size = y.getDimSize(to);
    if (!ShapedType::isDynamic(from) && from != 1 && !ShapedType::isDynamic(size) && from != size)
      return emitOpError("[broadcast_c3] operand dimension ") << i << " is " << from << ", result dimension " << to << " is " << size;
  }
  return verifySameElementType(*this, "broadcast_c4", getX(), getY());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) { return getX().getType() == getY().getType() ? OpFoldResult(getX()) : OpFoldResult(); }

namespace {
enum class BroadcastDim { same, repeated, unknown };
}
/// How the operand sees each result dimension; a dimension of 1 may be either, and follows its neighbour.
static SmallVector<BroadcastDim> classify(BroadcastOp op, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  SmallVector<BroadcastDim> result(to.size(), BroadcastDim::repeated);
  for (auto [dim, target] : llvm::zip_equal(from, op.getMap())) {
    bool same = dim == to[target] || (getConstant(dim) && *getConstant(dim) != 1);
    result[target] = same ? BroadcastDim::same : isConstant(dim, 1) ? BroadcastDim::repeated : BroadcastDim::unknown;
  }
  for (size_t i = to.size(); i-- > 0;)
    if (isConstant(to[i], 1) && i + 1 < to.size() && result[i] != BroadcastDim::unknown)
      result[i] = result[i + 1];
  return result;
}

unsigned BroadcastOp::runDims(llvm::function_ref<unsigned(Value)> operandRunDims) {
  auto classes = classify(*this, getDims(getX()), getDims(getY()));
  if (classes.empty() || classes.back() == BroadcastDim::unknown)
    return classes.size() ? 1 : 0;
  unsigned run = 0;
  while (run < classes.size() && classes[classes.size() - 1 - run] == classes.back())
    ++run;
  // A run over the operand's own dimensions must be one there too, however many dimensions of 1 stand between.
  if (classes.back() == BroadcastDim::same && operandRunDims(getX()) < getX().getType().getRank())
    return 1;
  return run;
}

/// The operand's linear index from the result's, dividing once per group of dimensions that the operand sees alike.
static Value broadcastLinear(ElementEmitter &emitter, ArrayRef<BroadcastDim> classes, ArrayRef<AffineExpr> to, Value linear) {
  struct Group {
    BroadcastDim kind;
    AffineExpr size;
    Value position;
  };
  SmallVector<Group> groups;
  for (auto [kind, dim] : llvm::zip_equal(classes, to)) {
    if (groups.empty() || groups.back().kind != kind)
      groups.push_back({kind, dim, {}});
    else
      groups.back().size = groups.back().size * dim;
  }
  for (Group &group : llvm::reverse(groups)) {
    bool first = &group == &groups.front();
    Value size = first ? Value() : emitter.host(group.size);
    group.position = first ? linear : emitter.remU(linear, size);
    if (!first)
      linear = emitter.divU(linear, size);
  }
  Value result = emitter.constant(0);
  for (Group &group : groups)
    if (group.kind == BroadcastDim::same)
      result = emitter.add(emitter.mul(result, emitter.host(group.size)), group.position);
  return result;
}

Elements BroadcastOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Dims from = getDims(getX()), to = getDims(getY());
  if (from == to)
    return emitter.operand(0, index, count);
  auto map = getMap();
  auto classes = classify(*this, from, to);
  auto read = [&](const ElementIndex &at, unsigned n) {
    if (!at.hasMulti && !llvm::is_contained(classes, BroadcastDim::unknown))
      return emitter.operand(0, ElementEmitter::atLinear(broadcastLinear(emitter, classes, to, at.linear)), n);
    SmallVector<Value, 4> multi = emitter.multi(at, to), operand;
    for (auto [i, dim] : llvm::enumerate(from)) {
      if (isConstant(dim, 1))
        operand.push_back(emitter.constant(0));
      else if (dim == to[map[i]] || (getConstant(dim) && *getConstant(dim) != 1))
        operand.push_back(multi[map[i]]);
      else
        operand.push_back(emitter.select(emitter.equal(emitter.host(dim), emitter.constant(1)), emitter.constant(0), multi[map[i]]));
    }
    return emitter.operand(0, ElementEmitter::at(operand), n);
  };
  if (count == 1)
    return read(index, 1);
  if (classes.back() == BroadcastDim::repeated)
    return Elements(count, read(index, 1)[0]);
  if (classes.back() == BroadcastDim::same)
    return read(index, count);
  return forEach(emitter, index, count, [&](const ElementIndex &at) { return read(at, 1)[0]; });
}

//===----------------------------------------------------------------------===//
// ReshapeOp, TransposeOp
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType x = getX().getType(), y = getY().getType();
  if (x.hasStaticShape() && y.hasStaticShape() && x.getNumElements() != y.getNumElements())
    return emitOpError("[reshape_c1] ") << x.getNumElements() << " elements do not become " << y.getNumElements();
  return verifySameElementType(*this, "reshape_c2", getX(), getY());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) { return getX().getType() == getY().getType() ? OpFoldResult(getX()) : OpFoldResult(); }

/// Where dimensions of 1 are only added or removed, the other indices stay: no division is needed.
static std::optional<SmallVector<Value, 4>> squeezeIndex(ElementEmitter &emitter, ArrayRef<Value> multi, ArrayRef<AffineExpr> to,
                                                         ArrayRef<AffineExpr> from) {
  SmallVector<Value, 4> kept, result;
  SmallVector<AffineExpr> keptDims;
  for (auto [value, dim] : llvm::zip_equal(multi, to))
    if (!isConstant(dim, 1)) {
      kept.push_back(value);
      keptDims.push_back(dim);
    }
  size_t next = 0;
  for (AffineExpr dim : from) {
    if (isConstant(dim, 1)) {
      result.push_back(emitter.constant(0));
      continue;
    }
    if (next == kept.size() || keptDims[next] != dim)
      return std::nullopt;
    result.push_back(kept[next++]);
  }
  return next == kept.size() ? std::optional(result) : std::nullopt;
}

unsigned ReshapeOp::runDims(llvm::function_ref<unsigned(Value)> operandRunDims) {
  unsigned rank = getY().getType().getRank();
  return operandRunDims(getX()) >= getX().getType().getRank() ? rank : std::min(rank, 1u);
}

Elements ReshapeOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Dims from = getDims(getX()), to = getDims(getY());
  auto read = [&](const ElementIndex &at, unsigned n) {
    ElementIndex operand;
    if (!at.linear && at.hasMulti)
      if (auto squeezed = squeezeIndex(emitter, at.multi, to, from))
        return emitter.operand(0, ElementEmitter::at(*squeezed), n);
    return emitter.operand(0, ElementEmitter::atLinear(emitter.linear(at, to)), n);
  };
  auto divides = [&] {
    if (from.empty() || to.empty())
      return false;
    auto inner = getConstant(from.back()), outer = getConstant(to.back());
    return from.back() == to.back() || (inner && outer && *outer > 0 && *inner % *outer == 0);
  };
  if (count == 1 || emitter.isMemory(0) || divides())
    return read(index, count);
  return forEach(emitter, index, count, [&](const ElementIndex &at) { return read(at, 1)[0]; });
}

LogicalResult TransposeOp::verify() {
  RankedTensorType x = getX().getType(), y = getY().getType();
  SmallVector<bool> seen(x.getRank(), false);
  if (getPerm().size() != size_t(x.getRank()) || y.getRank() != x.getRank())
    return emitOpError("[transpose_c1] perm has ") << getPerm().size() << " entries, operand rank is " << x.getRank();
  for (auto [i, p] : llvm::enumerate(getPerm())) {
    if (p < 0 || p >= x.getRank() || seen[p])
      return emitOpError("[transpose_c2] perm is not a permutation");
    seen[p] = true;
    if (getDims(x)[p] != getDims(y)[i])
      return emitOpError("[transpose_c3] result dimension ") << i << " is not operand dimension " << p;
  }
  return verifySameElementType(*this, "transpose_c4", getX(), getY());
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, p] : llvm::enumerate(getPerm()))
    if (int64_t(i) != p)
      return {};
  return getX();
}

Elements TransposeOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  auto perm = getPerm();
  auto read = [&](const ElementIndex &at, unsigned n) {
    SmallVector<Value, 4> multi = emitter.multi(at, getDims(getY())), operand(perm.size());
    for (auto [i, p] : llvm::enumerate(perm))
      operand[p] = multi[i];
    return emitter.operand(0, ElementEmitter::at(operand), n);
  };
  if (count == 1 || perm.back() == int64_t(perm.size()) - 1)
    return read(index, count);
  return forEach(emitter, index, count, [&](const ElementIndex &at) { return read(at, 1)[0]; });
}

//===----------------------------------------------------------------------===//
// SliceOp, PadOp, ConcatOp
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  int64_t rank = getX().getType().getRank();
  if (getY().getType().getRank() != rank || int64_t(getStarts().size()) != rank || int64_t(getSteps().size()) != rank)
    return emitOpError("[slice_c1] starts, steps and result must have rank ") << rank;
  for (int64_t step : getSteps())
    if (step == 0)
      return emitOpError("[slice_c2] a step is 0");
  return verifySameElementType(*this, "slice_c3", getX(), getY());
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getX().getType() != getY().getType())
    return {};
  for (auto [start, step] : llvm::zip_equal(getStarts().getExprs(), getSteps()))
    if (!isConstant(start, 0) || step != 1)
      return {};
  return getX();
}

Elements SliceOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  auto steps = getSteps();
  auto read = [&](const ElementIndex &at, unsigned n) {
    SmallVector<Value, 4> multi = emitter.multi(at, getDims(getY()));
    for (auto [i, value] : llvm::enumerate(multi))
      value = emitter.add(emitter.host(getStarts()[i]), emitter.mul(value, emitter.constant(steps[i])));
    return emitter.operand(0, ElementEmitter::at(multi), n);
  };
  if (count == 1 || steps.back() == 1)
    return read(index, count);
  return forEach(emitter, index, count, [&](const ElementIndex &at) { return read(at, 1)[0]; });
}

LogicalResult PadOp::verify() {
  int64_t rank = getX().getType().getRank();
  if (getY().getType().getRank() != rank || int64_t(getLow().size()) != rank)
    return emitOpError("[pad_c1] low and result must have rank ") << rank;
  if ((getMode() == PadMode::constant) != bool(getValue()))
    return emitOpError("[pad_c2] a value belongs to mode constant alone");
  return verifySameElementType(*this, "pad_c3", getX(), getY());
}

/// The operand position that a padded position shows in modes reflect, edge and wrap.
static Value padSource(ElementEmitter &emitter, PadMode mode, Value position, Value size) {
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc();
  Value zero = emitter.constant(0), one = emitter.constant(1), last = emitter.sub(size, one);
  auto floorMod = [&](Value value, Value modulus) {
    Value r = arith::RemSIOp::create(b, loc, value, modulus);
    return emitter.select(emitter.lessSigned(r, zero), emitter.add(r, modulus), r);
  };
  switch (mode) {
  case PadMode::constant:
    return position;
  case PadMode::edge:
    return arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, position, zero), last);
  case PadMode::wrap:
    return floorMod(position, size);
  case PadMode::reflect: {
    Value period = arith::MaxSIOp::create(b, loc, emitter.mul(last, emitter.constant(2)), one);
    Value r = floorMod(position, period);
    return emitter.select(emitter.lessSigned(last, r), emitter.sub(period, r), r);
  }
  }
  llvm_unreachable("unknown PadMode");
}

Elements PadOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  OpBuilder &b = emitter.b;
  Dims from = getDims(getX()), to = getDims(getY());
  return forEach(emitter, index, count, [&](const ElementIndex &at) -> Value {
    SmallVector<Value, 4> multi = emitter.multi(at, to);
    Value inside;
    for (auto [i, value] : llvm::enumerate(multi)) {
      if (isConstant(getLow()[i], 0) && from[i] == to[i])
        continue;
      value = emitter.sub(value, emitter.host(getLow()[i]));
      Value size = emitter.host(from[i]);
      if (getMode() != PadMode::constant) {
        value = padSource(emitter, getMode(), value, size);
        continue;
      }
      Value here = arith::CmpIOp::create(b, emitter.loc(), arith::CmpIPredicate::ult, value, size);
      inside = inside ? Value(arith::AndIOp::create(b, emitter.loc(), inside, here)) : here;
    }
    if (!inside)
      return emitter.operand(0, ElementEmitter::at(multi));
    Type type = ElementEmitter::valueType(elementType(getY()));
    return branch(
        emitter, inside, type, [&] { return Elements{emitter.operand(0, ElementEmitter::at(multi))}; },
        [&] { return Elements{emitter.operand(1, ElementEmitter::at({}))}; })[0];
  });
}

LogicalResult ConcatOp::verify() {
  RankedTensorType y = getY().getType();
  if (getXs().empty())
    return emitOpError("[concat_c1] has no operands");
  if (failed(verifyAxis(*this, "concat_c2", getAxis(), y.getRank())))
    return failure();
  for (Value x : getXs())
    if (typeOf(x).getRank() != y.getRank() || elementType(x) != y.getElementType())
      return emitOpError("[concat_c3] operand of type ") << x.getType() << " does not fit result " << y;
  return success();
}

Elements ConcatOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Dims to = getDims(getY());
  int64_t axis = getAxis();
  unsigned last = getXs().size() - 1;
  // Reads from operand `number` on; `position` is the place along the axis counted from that operand's start.
  std::function<Elements(SmallVector<Value, 4>, unsigned, unsigned)> read = [&](SmallVector<Value, 4> multi, unsigned number,
                                                                             unsigned n) -> Elements {
    if (number == last)
      return emitter.operand(number, ElementEmitter::at(multi), n);
    Value size = emitter.host(getDims(getXs()[number])[axis]);
    Type type = ElementEmitter::valueType(elementType(getY()));
    return branch(
        emitter, emitter.lessSigned(multi[axis], size), repeat(type, n),
        [&] { return emitter.operand(number, ElementEmitter::at(multi), n); },
        [&] {
          SmallVector<Value, 4> rest = multi;
          rest[axis] = emitter.sub(multi[axis], size);
          return read(rest, number + 1, n);
        });
  };
  if (count == 1 || axis != int64_t(to.size()) - 1)
    return read(emitter.multi(index, to), 0, count);
  return forEach(emitter, index, count, [&](const ElementIndex &at) { return read(emitter.multi(at, to), 0, 1)[0]; });
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() {
  int64_t rank = getX().getType().getRank();
  if (failed(verifyAxis(*this, "gather_c1", getAxis(), rank)))
    return failure();
  if (getY().getType().getRank() != rank - 1 + getIndices().getType().getRank())
    return emitOpError("[gather_c2] result rank is ") << getY().getType().getRank() << ", expected " << rank - 1 + getIndices().getType().getRank();
  return verifySameElementType(*this, "gather_c3", getX(), getY());
}

Elements GatherOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  int64_t axis = getAxis(), indexRank = getIndices().getType().getRank();
  Dims from = getDims(getX());
  auto read = [&](const ElementIndex &at, unsigned n) {
    SmallVector<Value, 4> multi = emitter.multi(at, getDims(getY()));
    ArrayRef<Value> all(multi);
    Value raw = emitter.operand(1, ElementEmitter::at(all.slice(axis, indexRank)));
    SmallVector<Value, 4> operand(all.take_front(axis));
    operand.push_back(emitter.normalizeIndex(emitter.toIndex(raw, unsignedElements(getIndices())), emitter.host(from[axis])));
    llvm::append_range(operand, all.drop_front(axis + indexRank));
    return emitter.operand(0, ElementEmitter::at(operand), n);
  };
  if (count == 1 || axis + 1 < int64_t(from.size()))
    return read(index, count);
  return forEach(emitter, index, count, [&](const ElementIndex &at) { return read(at, 1)[0]; });
}

LogicalResult GatherElementsOp::verify() {
  int64_t rank = getX().getType().getRank();
  if (failed(verifyAxis(*this, "gather_elements_c1", getAxis(), rank)))
    return failure();
  if (getIndices().getType().getRank() != rank || !sameDims(getIndices().getType(), getY().getType()))
    return emitOpError("[gather_elements_c2] the result must have the dimensions of the indices, rank ") << rank;
  return verifySameElementType(*this, "gather_elements_c3", getX(), getY());
}

Elements GatherElementsOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Dims from = getDims(getX());
  Elements raw = emitter.operand(1, index, count);
  Elements results;
  for (unsigned k = 0; k < count; ++k) {
    SmallVector<Value, 4> multi = emitter.multi(emitter.advance(index, k), getDims(getY()));
    multi[getAxis()] = emitter.normalizeIndex(emitter.toIndex(raw[k], unsignedElements(getIndices())), emitter.host(from[getAxis()]));
    results.push_back(emitter.operand(0, ElementEmitter::at(multi)));
  }
  return results;
}

LogicalResult GatherNDOp::verify() {
  auto depth = getConstant(getDims(getIndices()).back());
  if (!depth)
    return emitOpError("[gather_nd_c1] the last dimension of the indices is not a constant");
  if (*depth + int64_t(getBatchDims()) > getX().getType().getRank())
    return emitOpError("[gather_nd_c2] an index of ") << *depth << " positions behind " << getBatchDims() << " batch dimensions exceeds rank "
                                                      << getX().getType().getRank();
  return verifySameElementType(*this, "gather_nd_c3", getX(), getY());
}

Elements GatherNDOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Dims from = getDims(getX());
  int64_t indexRank = getIndices().getType().getRank(), batch = getBatchDims();
  int64_t depth = *getConstant(getDims(getIndices()).back());
  auto read = [&](const ElementIndex &at, unsigned n) {
    SmallVector<Value, 4> multi = emitter.multi(at, getDims(getY()));
    ArrayRef<Value> all(multi);
    SmallVector<Value, 4> operand(all.take_front(batch)), position(all.take_front(indexRank - 1));
    position.push_back(Value());
    for (int64_t i = 0; i < depth; ++i) {
      position.back() = emitter.constant(i);
      Value raw = emitter.operand(1, ElementEmitter::at(position));
      operand.push_back(emitter.normalizeIndex(emitter.toIndex(raw, unsignedElements(getIndices())), emitter.host(from[batch + i])));
    }
    llvm::append_range(operand, all.drop_front(indexRank - 1));
    return emitter.operand(0, ElementEmitter::at(operand), n);
  };
  if (count == 1 || batch + depth < int64_t(from.size()))
    return read(index, count);
  return forEach(emitter, index, count, [&](const ElementIndex &at) { return read(at, 1)[0]; });
}
