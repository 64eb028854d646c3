// Verifiers and element rules of scatters: each result element looks for the updates that reach it, in their order.
#include "dialects/graph/Graph.h"
#include "dialects/graph/Loops.h"
#include "dialects/graph/Scalar.h"

using namespace mlir;
using namespace weft::graph;

static Type elementType(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

static Value combine(ElementEmitter &emitter, ScatterReduction reduction, Value old, Value update, Type type) {
  auto binary = [&](BinaryKind kind) { return scalar::binary(emitter.b, emitter.loc(), kind, old, update, type); };
  bool isBool = type.isInteger(1);
  switch (reduction) {
  case ScatterReduction::none: return update;
  case ScatterReduction::add: return binary(isBool ? BinaryKind::logical_or : BinaryKind::add);
  case ScatterReduction::mul: return binary(isBool ? BinaryKind::logical_and : BinaryKind::mul);
  case ScatterReduction::min: return binary(BinaryKind::min);
  case ScatterReduction::max: return binary(BinaryKind::max);
  }
  llvm_unreachable("unknown ScatterReduction");
}



static Value accumulate(ElementEmitter &emitter, Value count, Value init, llvm::function_ref<Value(Value, Value)> body) {
  return forLoop(emitter, count, init, [&](Value i, ValueRange values) { return LoopValues{body(i, values[0])}; })[0];
}

static Value guarded(ElementEmitter &emitter, Value condition, Value value, llvm::function_ref<Value()> inside) {
  return ifThen(emitter, condition, value, [&] { return LoopValues{inside()}; })[0];
}

static Value wrapNegative(ElementEmitter &emitter, Value value, Value size) {
  return emitter.select(emitter.lessSigned(value, emitter.constant(0)), emitter.add(value, size), value);
}

LogicalResult ScatterElementsOp::verify() {
  int64_t rank = getX().getType().getRank();
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= rank)
    return emitOpError("[scatter_elements_c1] axis ") << getAxis() << " is outside rank " << rank;
  if (getIndices().getType().getRank() != rank || getUpdates().getType().getRank() != rank)
    return emitOpError("[scatter_elements_c2] indices and updates must have rank ") << rank;
  if (elementType(getX()) != elementType(getUpdates()) || getX().getType() != getY().getType())
    return emitOpError("[scatter_elements_c3] operand, updates and result types do not agree");
  return success();
}
int64_t ScatterElementsOp::readsPerElement(unsigned operand) { return operand == 0 ? 1 : 64; }
bool ScatterElementsOp::isRoot() { return true; }

Elements ScatterElementsOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Dims dims = getDims(getX()), updateDims = getDims(getUpdates());
  int64_t axis = getAxis();
  bool isUnsigned = scalar::isUnsigned(elementType(getIndices()));
  Elements results;
  for (unsigned k = 0; k < count; ++k) {
    SmallVector<Value, 4> multi = emitter.multi(emitter.advance(index, k), dims);
    Value start = emitter.operand(0, ElementEmitter::at(multi));
    // Updates exist only where the other coordinates lie inside the updates' dimensions.
    Value reached = arith::ConstantOp::create(emitter.b, emitter.loc(), emitter.b.getBoolAttr(true));
    for (auto [i, dim] : llvm::enumerate(updateDims))
      if (int64_t(i) != axis && dim != dims[i])
        reached = arith::AndIOp::create(emitter.b, emitter.loc(), reached, emitter.lessSigned(multi[i], emitter.host(dim)));
    results.push_back(guarded(emitter, reached, start, [&] {
      return accumulate(emitter, emitter.host(updateDims[axis]), start, [&](Value i, Value value) {
        SmallVector<Value, 4> from = multi;
        from[axis] = i;
        Value raw = emitter.toIndex(emitter.operand(1, ElementEmitter::at(from)), isUnsigned);
        Value hit = emitter.equal(wrapNegative(emitter, raw, emitter.host(dims[axis])), multi[axis]);
        return guarded(emitter, hit, value, [&] {
          return combine(emitter, getReduction(), value, emitter.operand(2, ElementEmitter::at(from)), elementType(getX()));
        });
      });
    }));
  }
  return results;
}

LogicalResult ScatterNDOp::verify() {
  auto depth = getConstant(getDims(getIndices()).back());
  if (!depth)
    return emitOpError("[scatter_nd_c1] the last dimension of the indices is not a constant");
  if (*depth > getX().getType().getRank())
    return emitOpError("[scatter_nd_c2] an index of ") << *depth << " positions exceeds rank " << getX().getType().getRank();
  if (elementType(getX()) != elementType(getUpdates()) || getX().getType() != getY().getType())
    return emitOpError("[scatter_nd_c3] operand, updates and result types do not agree");
  return success();
}
int64_t ScatterNDOp::readsPerElement(unsigned operand) { return operand == 0 ? 1 : 64; }
bool ScatterNDOp::isRoot() { return true; }

Elements ScatterNDOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Dims dims = getDims(getX()), indexDims = getDims(getIndices());
  int64_t depth = *getConstant(indexDims.back());
  bool isUnsigned = scalar::isUnsigned(elementType(getIndices()));
  ArrayRef<AffineExpr> sliceDims = ArrayRef<AffineExpr>(indexDims).drop_back();
  Value updates = emitter.constant(1);
  for (AffineExpr dim : sliceDims)
    updates = emitter.mul(updates, emitter.host(dim));
  Elements results;
  for (unsigned k = 0; k < count; ++k) {
    SmallVector<Value, 4> multi = emitter.multi(emitter.advance(index, k), dims);
    Value start = emitter.operand(0, ElementEmitter::at(multi));
    results.push_back(accumulate(emitter, updates, start, [&](Value i, Value value) {
      SmallVector<Value, 4> position = emitter.multi(ElementEmitter::atLinear(i), sliceDims), update = position;
      if (sliceDims.empty())
        position.clear(), update.clear();
      position.push_back(Value());
      Value hit = arith::ConstantOp::create(emitter.b, emitter.loc(), emitter.b.getBoolAttr(true));
      for (int64_t d = 0; d < depth; ++d) {
        position.back() = emitter.constant(d);
        Value raw = emitter.toIndex(emitter.operand(1, ElementEmitter::at(position)), isUnsigned);
        Value same = emitter.equal(wrapNegative(emitter, raw, emitter.host(dims[d])), multi[d]);
        hit = arith::AndIOp::create(emitter.b, emitter.loc(), hit, same);
      }
      llvm::append_range(update, ArrayRef<Value>(multi).drop_front(depth));
      return guarded(emitter, hit, value, [&] {
        return combine(emitter, getReduction(), value, emitter.operand(2, ElementEmitter::at(update)), elementType(getX()));
      });
    }));
  }
  return results;
}
