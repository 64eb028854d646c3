// Verifiers and element rules of reductions, normalisations, windows, scans and selection.
//
// The rules are sequential loops: what the templates of passes/tile must agree with.
#include "dialects/graph/Graph.h"
#include "dialects/graph/Loops.h"
#include "dialects/graph/Scalar.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace weft::graph;

static Type elementType(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// The product of the operand's constant dimensions at `axes`, or a guess where one is unknown.
static int64_t countAlong(Value x, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= getConstant(getDims(x)[axis]).value_or(64);
  return count;
}

static LogicalResult verifyAxes(Operation *op, ArrayRef<int64_t> axes, int64_t rank) {
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis < 0 || axis >= rank || (i > 0 && axis <= axes[i - 1]))
      return op->emitOpError("axes must be strictly increasing within rank ") << rank;
  return success();
}

/// for each position along `axes` (row-major): values = body(position in full, values).
static SmallVector<Value> reduceOver(ElementEmitter &emitter, ArrayRef<AffineExpr> dims, ArrayRef<int64_t> axes,
                                     SmallVector<Value, 4> position, ValueRange init,
                                     llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> body) {
  if (axes.empty())
    return body(position, init);
  return forLoop(emitter, emitter.host(dims[axes.front()]), init, [&](Value i, ValueRange values) {
    SmallVector<Value, 4> next = position;
    next[axes.front()] = i;
    return reduceOver(emitter, dims, axes.drop_front(), next, values, body);
  });
}

/// Result position `multi` (without the reduced axes) as an operand position, the reduced axes left open.
static SmallVector<Value, 4> expand(ArrayRef<Value> multi, ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<Value, 4> result(rank);
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(axes, d))
      result[d] = multi[next++];
  return result;
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  RankedTensorType x = getX().getType(), y = getY().getType();
  if (failed(verifyAxes(*this, getAxes(), x.getRank())))
    return failure();
  bool isArg = getKind() == ReduceKind::argmax || getKind() == ReduceKind::argmin;
  if (isArg && (getAxes().size() != 1 || !y.getElementType().isInteger(64)))
    return emitOpError("[reduce_c1] argmax and argmin take one axis and give i64");
  if (!isArg && x.getElementType() != y.getElementType())
    return emitOpError("[reduce_c2] element types differ: ") << x.getElementType() << " and " << y.getElementType();
  Dims kept;
  for (auto [d, dim] : llvm::enumerate(getDims(x)))
    if (!llvm::is_contained(getAxes(), int64_t(d)))
      kept.push_back(dim);
  if (kept != getDims(y))
    return emitOpError("[reduce_c3] the result's dimensions are not the operand's without the axes");
  return success();
}
int64_t ReduceOp::readsPerElement(unsigned) { return countAlong(getX(), getAxes()); }
bool ReduceOp::isRoot() { return true; }

static Value argReduce(ReduceOp op, ElementEmitter &emitter, SmallVector<Value, 4> position) {
  OpBuilder &b = emitter.b;
  Type type = elementType(op.getX());
  int64_t axis = op.getAxes()[0];
  position[axis] = emitter.constant(0);
  Value first = emitter.operand(0, ElementEmitter::at(position));
  auto results = forLoop(emitter, emitter.host(getDims(op.getX())[axis]), {first, emitter.constant(0)}, [&](Value i, ValueRange best) {
    SmallVector<Value, 4> at = position;
    at[axis] = i;
    Value x = emitter.operand(0, ElementEmitter::at(at));
    bool isMax = op.getKind() == ReduceKind::argmax;
    CompareKind kind = isMax ? (op.getSelectLast() ? CompareKind::ge : CompareKind::gt) : (op.getSelectLast() ? CompareKind::le : CompareKind::lt);
    Value better = scalar::compare(b, emitter.loc(), kind, x, best[0], type);
    return SmallVector<Value>{emitter.select(better, x, best[0]), emitter.select(better, i, best[1])};
  });
  return scalar::cast(b, emitter.loc(), results[1], emitter.indexType, b.getI64Type());
}

Elements ReduceOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Dims dims = getDims(getX());
  Type type = elementType(getX()), wide = scalar::accumulatorType(type);
  Elements results;
  for (unsigned k = 0; k < count; ++k) {
    auto position = expand(emitter.multi(emitter.advance(index, k), getDims(getY())), getAxes(), dims.size());
    if (getKind() == ReduceKind::argmax || getKind() == ReduceKind::argmin) {
      results.push_back(argReduce(*this, emitter, position));
      continue;
    }
    Value init = scalar::reduceIdentity(emitter.b, emitter.loc(), getKind(), wide);
    Value sum = reduceOver(emitter, dims, getAxes(), position, init, [&](ArrayRef<Value> at, ValueRange values) -> SmallVector<Value> {
      Value x = scalar::cast(emitter.b, emitter.loc(), emitter.operand(0, ElementEmitter::at(at)), type, wide);
      return {scalar::reduceCombine(emitter.b, emitter.loc(), getKind(), values[0], x, wide)};
    })[0];
    results.push_back(scalar::cast(emitter.b, emitter.loc(), sum, wide, type));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// SoftmaxOp, NormalizeOp
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= getX().getType().getRank())
    return emitOpError("[softmax_c1] axis ") << getAxis() << " is outside rank " << getX().getType().getRank();
  if (getX().getType() != getY().getType())
    return emitOpError("[softmax_c2] operand and result types differ");
  return success();
}
int64_t SoftmaxOp::readsPerElement(unsigned) { return 3 * countAlong(getX(), {int64_t(getAxis())}); }
bool SoftmaxOp::isRoot() { return true; }

Elements SoftmaxOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc();
  Dims dims = getDims(getX());
  Type type = elementType(getX()), wide = scalar::accumulatorType(type);
  Elements results;
  for (unsigned k = 0; k < count; ++k) {
    SmallVector<Value, 4> position = emitter.multi(emitter.advance(index, k), dims);
    auto read = [&](ArrayRef<Value> at) { return scalar::cast(b, loc, emitter.operand(0, ElementEmitter::at(at)), type, wide); };
    auto reduce = [&](ReduceKind kind, llvm::function_ref<Value(Value)> map) {
      Value init = scalar::reduceIdentity(b, loc, kind, wide);
      return reduceOver(emitter, dims, {int64_t(getAxis())}, position, init, [&](ArrayRef<Value> at, ValueRange values) -> SmallVector<Value> {
        return {scalar::reduceCombine(b, loc, kind, values[0], map(read(at)), wide)};
      })[0];
    };
    Value max = reduce(ReduceKind::max, [](Value x) { return x; });
    auto shifted = [&](Value x) { return Value(arith::SubFOp::create(b, loc, x, max)); };
    Value sum = reduce(ReduceKind::sum, [&](Value x) { return Value(math::ExpOp::create(b, loc, shifted(x))); });
    Value x = shifted(read(position));
    Value y = getLog() ? Value(arith::SubFOp::create(b, loc, x, math::LogOp::create(b, loc, sum)))
                       : Value(arith::DivFOp::create(b, loc, math::ExpOp::create(b, loc, x), sum));
    results.push_back(scalar::cast(b, loc, y, wide, type));
  }
  return results;
}

LogicalResult NormalizeOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), getX().getType().getRank())))
    return failure();
  if (getX().getType() != getY().getType())
    return emitOpError("[normalize_c1] operand and result types differ");
  Dims kept = getDims(getX());
  for (int64_t axis : getAxes())
    kept[axis] = getAffineConstantExpr(1, getContext());
  if (getDims(getMean()) != kept || getDims(getInvStd()) != kept)
    return emitOpError("[normalize_c2] mean and inv_std must have the operand's dimensions with 1 at the axes");
  return success();
}
int64_t NormalizeOp::readsPerElement(unsigned) { return 2 * countAlong(getX(), getAxes()); }
bool NormalizeOp::isRoot() { return true; }

Elements NormalizeOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc();
  Dims dims = getDims(getX());
  Type type = elementType(getX()), wide = scalar::accumulatorType(type);
  Elements results;
  for (unsigned k = 0; k < count; ++k) {
    SmallVector<Value, 4> position = emitter.multi(emitter.advance(index, k), getDims(getResult(result)));
    auto read = [&](ArrayRef<Value> at) { return scalar::cast(b, loc, emitter.operand(0, ElementEmitter::at(at)), type, wide); };
    Value elements = emitter.constant(1);
    for (int64_t axis : getAxes())
      elements = emitter.mul(elements, emitter.host(dims[axis]));
    Value size = arith::SIToFPOp::create(b, loc, wide, elements);
    auto mean = [&](llvm::function_ref<Value(Value)> map) -> Value {
      Value zero = scalar::constant(b, loc, wide, 0);
      Value sum = reduceOver(emitter, dims, getAxes(), position, zero, [&](ArrayRef<Value> at, ValueRange values) -> SmallVector<Value> {
        return {arith::AddFOp::create(b, loc, values[0], map(read(at)))};
      })[0];
      return arith::DivFOp::create(b, loc, sum, size);
    };
    Value average = getRms() || result == 2 ? Value() : mean([](Value x) { return x; });
    if (result == 2 && !getRms())
      average = mean([](Value x) { return x; });
    auto centred = [&](Value x) { return average ? Value(arith::SubFOp::create(b, loc, x, average)) : x; };
    if (result == 1) {
      results.push_back(scalar::cast(b, loc, average ? average : scalar::constant(b, loc, wide, 0), wide, elementType(getMean())));
      continue;
    }
    Value variance = mean([&](Value x) { return Value(arith::MulFOp::create(b, loc, centred(x), centred(x))); });
    Value epsilon = scalar::constant(b, loc, wide, getEpsilon().convertToDouble());
    Value deviation = math::SqrtOp::create(b, loc, arith::AddFOp::create(b, loc, variance, epsilon));
    Value inverse = arith::DivFOp::create(b, loc, scalar::constant(b, loc, wide, 1), deviation);
    Value y = result == 2 ? inverse : Value(arith::MulFOp::create(b, loc, centred(read(position)), inverse));
    results.push_back(scalar::cast(b, loc, y, wide, elementType(getResult(result))));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// PoolOp
//===----------------------------------------------------------------------===//

LogicalResult PoolOp::verify() {
  int64_t spatial = getX().getType().getRank() - 2;
  if (spatial < 0 || getY().getType().getRank() != spatial + 2)
    return emitOpError("[pool_c1] operand and result must be [N, C, spatial...]");
  for (size_t size : {getKernel().size(), getStrides().size(), getDilations().size(), getPadsLow().size(), getPadsHigh().size()})
    if (int64_t(size) != spatial)
      return emitOpError("[pool_c2] kernel, strides, dilations and pads must have ") << spatial << " entries";
  if (elementType(getX()) != elementType(getY()))
    return emitOpError("[pool_c3] element types differ");
  return success();
}
int64_t PoolOp::readsPerElement(unsigned) {
  int64_t reads = 1;
  for (int64_t k : getKernel())
    reads *= k;
  return reads;
}
bool PoolOp::isRoot() { return true; }

namespace {
/// One window: the loop over its positions and what is combined.
struct PoolWindow {
  PoolOp op;
  ElementEmitter &emitter;
  SmallVector<Value, 4> out; // output position
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc();
  Dims dims = getDims(op.getX());
  Type type = elementType(op.getX()), wide = scalar::accumulatorType(type);

  Value inside(Value position, Value size) { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, position, size); }

  /// values = body(position, values) for every window position inside the operand.
  SmallVector<Value> walk(unsigned d, SmallVector<Value, 4> position, ValueRange init,
                          llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> body) {
    if (d == op.getKernel().size())
      return body(position, init);
    Value start = emitter.sub(emitter.mul(out[d + 2], emitter.constant(op.getStrides()[d])), emitter.host(op.getPadsLow()[d]));
    return forLoop(emitter, emitter.constant(op.getKernel()[d]), init, [&](Value i, ValueRange values) {
      SmallVector<Value, 4> next = position;
      next[d + 2] = emitter.add(start, emitter.mul(i, emitter.constant(op.getDilations()[d])));
      return ifThen(emitter, inside(next[d + 2], emitter.host(dims[d + 2])), values, [&] { return walk(d + 1, next, values, body); });
    });
  }

  Value read(ArrayRef<Value> at) { return scalar::cast(b, loc, emitter.operand(0, ElementEmitter::at(at)), type, wide); }

  /// Row-major position in the whole operand; the spatial part column-major with storage_order 1.
  Value flat(ArrayRef<Value> at) {
    if (op.getStorageOrder() == 0)
      return emitter.linear(ElementEmitter::at(at), dims);
    Value result = emitter.add(emitter.mul(at[0], emitter.host(dims[1])), at[1]);
    for (size_t d = dims.size(); d-- > 2;)
      result = emitter.add(emitter.mul(result, emitter.host(dims[d])), at[d]);
    return result;
  }

  /// The maximum (the first of equals, NaN above all) and where it stands.
  SmallVector<Value> maximum() {
    Value none = emitter.constant(-1);
    Value lowest = scalar::reduceIdentity(b, loc, ReduceKind::max, type);
    return walk(0, start(), {lowest, none}, [&](ArrayRef<Value> at, ValueRange best) {
      Value x = emitter.operand(0, ElementEmitter::at(at));
      Value better = scalar::compare(b, loc, CompareKind::gt, x, best[0], type);
      if (isa<FloatType>(type))
        better = arith::OrIOp::create(b, loc, better, scalar::unary(b, loc, UnaryKind::isnan, x, type));
      better = arith::OrIOp::create(b, loc, better, emitter.lessSigned(best[1], emitter.constant(0)));
      return SmallVector<Value>{emitter.select(better, x, best[0]), emitter.select(better, flat(at), best[1])};
    });
  }

  SmallVector<Value, 4> start() { return out; }

  /// How many window positions count for the average along dimension d.
  Value extent(unsigned d) {
    Value first = emitter.mul(out[d + 2], emitter.constant(op.getStrides()[d])); // in padded coordinates
    Value low = emitter.host(op.getPadsLow()[d]);
    Value bound = emitter.add(emitter.add(emitter.host(dims[d + 2]), low), emitter.host(op.getPadsHigh()[d]));
    Value dilation = emitter.constant(op.getDilations()[d]);
    Value room = emitter.add(emitter.divU(arith::MaxSIOp::create(b, loc, emitter.sub(emitter.sub(bound, emitter.constant(1)), first), emitter.constant(0)), dilation),
                             emitter.constant(1));
    return arith::MinSIOp::create(b, loc, room, emitter.constant(op.getKernel()[d]));
  }

  Value average() {
    Value zero = scalar::constant(b, loc, wide, 0);
    auto sums = walk(0, start(), {zero, emitter.constant(0)}, [&](ArrayRef<Value> at, ValueRange values) {
      return SmallVector<Value>{scalar::binary(b, loc, BinaryKind::add, values[0], read(at), wide),
                                emitter.add(values[1], emitter.constant(1))};
    });
    Value count = sums[1];
    if (op.getCountIncludePad()) {
      count = emitter.constant(1);
      for (unsigned d = 0; d < op.getKernel().size(); ++d)
        count = emitter.mul(count, extent(d));
    }
    Value divisor = scalar::cast(b, loc, count, emitter.indexType, wide);
    return scalar::binary(b, loc, BinaryKind::div, sums[0], divisor, wide);
  }

  Value sum(bool lp) {
    int64_t p = op.getP();
    Value exponent = scalar::constant(b, loc, wide, double(p));
    Value total = walk(0, start(), {scalar::constant(b, loc, wide, 0)}, [&](ArrayRef<Value> at, ValueRange values) {
      Value x = read(at);
      if (lp) {
        Value magnitude = scalar::unary(b, loc, UnaryKind::abs, x, wide);
        x = p == 1   ? magnitude
            : p == 2 ? scalar::binary(b, loc, BinaryKind::mul, x, x, wide)
                     : scalar::binary(b, loc, BinaryKind::pow, magnitude, exponent, wide);
      }
      return SmallVector<Value>{scalar::binary(b, loc, BinaryKind::add, values[0], x, wide)};
    })[0];
    if (!lp || p == 1)
      return total;
    if (p == 2)
      return scalar::unary(b, loc, UnaryKind::sqrt, total, wide);
    return scalar::binary(b, loc, BinaryKind::pow, total, scalar::constant(b, loc, wide, 1.0 / double(p)), wide);
  }
};
} // namespace

Elements PoolOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  Elements results;
  for (unsigned k = 0; k < count; ++k) {
    PoolWindow window{*this, emitter, emitter.multi(emitter.advance(index, k), getDims(getY()))};
    switch (getKind()) {
    case PoolKind::max: {
      auto best = window.maximum();
      results.push_back(result == 0 ? best[0] : scalar::cast(emitter.b, emitter.loc(), best[1], emitter.indexType, emitter.b.getI64Type()));
      break;
    }
    case PoolKind::average: results.push_back(scalar::cast(emitter.b, emitter.loc(), window.average(), window.wide, window.type)); break;
    case PoolKind::lp: results.push_back(scalar::cast(emitter.b, emitter.loc(), window.sum(true), window.wide, window.type)); break;
    case PoolKind::sum: results.push_back(scalar::cast(emitter.b, emitter.loc(), window.sum(false), window.wide, window.type)); break;
    }
  }
  return results;
}

//===----------------------------------------------------------------------===//
// ScanOp, TopKOp
//===----------------------------------------------------------------------===//

LogicalResult ScanOp::verify() {
  if (getKind() != ReduceKind::sum && getKind() != ReduceKind::prod)
    return emitOpError("[scan_c1] kind must be sum or prod");
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= getX().getType().getRank())
    return emitOpError("[scan_c2] axis ") << getAxis() << " is outside rank " << getX().getType().getRank();
  if (getX().getType() != getY().getType())
    return emitOpError("[scan_c3] operand and result types differ");
  return success();
}
int64_t ScanOp::readsPerElement(unsigned) { return countAlong(getX(), {int64_t(getAxis())}); }
bool ScanOp::isRoot() { return true; }

Elements ScanOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  OpBuilder &b = emitter.b;
  Dims dims = getDims(getX());
  Type type = elementType(getX()), wide = scalar::accumulatorType(type);
  Elements results;
  for (unsigned k = 0; k < count; ++k) {
    SmallVector<Value, 4> position = emitter.multi(emitter.advance(index, k), dims);
    Value here = position[getAxis()], size = emitter.host(dims[getAxis()]);
    Value terms = getReverse() ? emitter.sub(size, here) : emitter.add(here, emitter.constant(1));
    if (getExclusive())
      terms = emitter.sub(terms, emitter.constant(1));
    Value init = scalar::reduceIdentity(b, emitter.loc(), getKind(), wide);
    Value sum = forLoop(emitter, terms, init, [&](Value i, ValueRange values) {
      SmallVector<Value, 4> at = position;
      at[getAxis()] = getReverse() ? emitter.sub(emitter.sub(size, emitter.constant(1)), i) : i;
      Value x = scalar::cast(b, emitter.loc(), emitter.operand(0, ElementEmitter::at(at)), type, wide);
      return SmallVector<Value>{scalar::reduceCombine(b, emitter.loc(), getKind(), values[0], x, wide)};
    })[0];
    results.push_back(scalar::cast(b, emitter.loc(), sum, wide, type));
  }
  return results;
}

LogicalResult TopKOp::verify() {
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= getX().getType().getRank())
    return emitOpError("[topk_c1] axis ") << getAxis() << " is outside rank " << getX().getType().getRank();
  if (!sameDims(getValues().getType(), getIndices().getType()) || !elementType(getIndices()).isInteger(64))
    return emitOpError("[topk_c2] indices must be i64 of the values' dimensions");
  return success();
}
int64_t TopKOp::readsPerElement(unsigned) { return 64 * countAlong(getX(), {int64_t(getAxis())}); }
bool TopKOp::isRoot() { return true; }

/// The element of rank r is the one with r elements before it in the order (value, then index): quadratic, for reference.
Elements TopKOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc();
  Type type = elementType(getX());
  Value size = emitter.host(getDims(getX())[getAxis()]);
  Elements results;
  for (unsigned k = 0; k < count; ++k) {
    SmallVector<Value, 4> position = emitter.multi(emitter.advance(index, k), getDims(getValues()));
    Value wanted = position[getAxis()];
    auto read = [&](Value i) {
      SmallVector<Value, 4> at = position;
      at[getAxis()] = i;
      return emitter.operand(0, ElementEmitter::at(at));
    };
    auto found = forLoop(emitter, size, {scalar::constant(b, loc, type, 0), emitter.constant(0)}, [&](Value i, ValueRange best) {
      Value x = read(i);
      Value before = forLoop(emitter, size, {emitter.constant(0)}, [&](Value j, ValueRange n) {
        Value other = read(j);
        Value ahead = scalar::compare(b, loc, getLargest() ? CompareKind::gt : CompareKind::lt, other, x, type);
        Value tie = arith::AndIOp::create(b, loc, scalar::compare(b, loc, CompareKind::eq, other, x, type), emitter.lessSigned(j, i));
        Value counts = arith::OrIOp::create(b, loc, ahead, tie);
        return SmallVector<Value>{emitter.select(counts, emitter.add(n[0], emitter.constant(1)), n[0])};
      })[0];
      Value hit = emitter.equal(before, wanted);
      return SmallVector<Value>{emitter.select(hit, x, best[0]), emitter.select(hit, i, best[1])};
    });
    results.push_back(result == 0 ? found[0] : scalar::cast(b, loc, found[1], emitter.indexType, b.getI64Type()));
  }
  return results;
}
