// Movement, reductions and contractions: see Builder.h.
#include "frontends/onnx/Builder.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::onnx {

Value GraphBuilder::reshape(Value x, ArrayRef<AffineExpr> dims) {
  auto type = tensor(dims, typeOf(x));
  if (type == x.getType() || failed)
    return x;
  auto from = llvm::cast<RankedTensorType>(x.getType());
  if (from.hasStaticShape() && type.hasStaticShape() && from.getNumElements() != type.getNumElements()) {
    (void)error("cannot reshape " + Twine(from.getNumElements()) + " elements into " + Twine(type.getNumElements()));
    return x;
  }
  return ReshapeOp::create(b, loc, type, x);
}

Value GraphBuilder::transpose(Value x, ArrayRef<int64_t> perm) {
  if (llvm::is_sorted(perm) || failed)
    return x;
  Dims from = dimsOf(x), dims;
  for (int64_t p : perm)
    dims.push_back(from[p]);
  return TransposeOp::create(b, loc, tensor(dims, typeOf(x)), x, b.getDenseI64ArrayAttr(perm));
}

Value GraphBuilder::unsqueeze(Value x, ArrayRef<int64_t> axes) {
  Dims dims = dimsOf(x);
  for (int64_t a : axes) // sorted
    dims.insert(dims.begin() + std::min<int64_t>(a, dims.size()), c(1));
  return reshape(x, dims);
}

Value GraphBuilder::squeeze(Value x, ArrayRef<int64_t> axes) {
  Dims dims;
  for (auto [i, dim] : llvm::enumerate(dimsOf(x)))
    if (llvm::is_contained(axes, int64_t(i)))
      requireEqual(dim, c(1), "dimension " + Twine(i) + " must be 1 to be squeezed");
    else
      dims.push_back(dim);
  return reshape(x, dims);
}

Value GraphBuilder::flatten(Value x, int64_t axis) {
  Dims dims = dimsOf(x);
  return reshape(x, {product(ArrayRef(dims).take_front(axis)), product(ArrayRef(dims).drop_front(axis))});
}

Value GraphBuilder::slice(Value x, ArrayRef<AffineExpr> starts, ArrayRef<int64_t> steps, ArrayRef<AffineExpr> dims) {
  auto type = tensor(dims, typeOf(x));
  bool isWhole = type == x.getType();
  for (auto [start, step] : llvm::zip(starts, steps))
    isWhole &= isConstant(start, 0) && step == 1;
  if (isWhole || failed)
    return x;
  return SliceOp::create(b, loc, type, x, dimsAttr(starts), b.getDenseI64ArrayAttr(steps));
}

Value GraphBuilder::slice(Value x, int64_t axis, AffineExpr start, AffineExpr size) {
  Dims dims = dimsOf(x), starts(dims.size(), c(0));
  SmallVector<int64_t> steps(dims.size(), 1);
  starts[axis] = start;
  dims[axis] = size;
  return slice(x, starts, steps, dims);
}

Value GraphBuilder::concat(ArrayRef<Value> xs, int64_t axis) {
  if (xs.size() == 1 || failed)
    return xs[0];
  Dims dims = dimsOf(xs[0]);
  for (Value x : xs.drop_front()) {
    Dims other = dimsOf(x);
    if (other.size() != dims.size() || typeOf(x) != typeOf(xs[0]))
      return (void)error("concatenated tensors must have one rank and element type"), xs[0];
    for (auto [i, dim] : llvm::enumerate(other)) {
      if (int64_t(i) == axis) {
        dims[i] = syms.add(dims[i], dim);
      } else {
        requireEqual(dims[i], dim, "dimension " + Twine(i) + " of concatenated tensors must be equal");
        if (getConstant(dim))
          dims[i] = dim;
      }
    }
  }
  return failed ? xs[0] : Value(ConcatOp::create(b, loc, tensor(dims, typeOf(xs[0])), xs, b.getI64IntegerAttr(axis)));
}

Value GraphBuilder::pad(Value x, ArrayRef<AffineExpr> low, ArrayRef<AffineExpr> high, Value value, PadMode mode) {
  Dims dims = dimsOf(x);
  bool isNothing = true;
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = syms.add(dims[i], syms.add(low[i], high[i]));
    isNothing &= isConstant(low[i], 0) && isConstant(high[i], 0);
    if (auto size = getConstant(dims[i]); size && *size < 0)
      (void)error("dimension " + Twine(i) + " would have " + Twine(*size) + " elements after padding");
  }
  if (isNothing || failed)
    return x;
  return PadOp::create(b, loc, tensor(dims, typeOf(x)), x, value, dimsAttr(low), mode);
}

Value GraphBuilder::iota(ArrayRef<AffineExpr> dims, int64_t axis, Type type) {
  return IotaOp::create(b, loc, tensor(dims, type), b.getI64IntegerAttr(axis));
}

Value GraphBuilder::gather(Value x, Value indices, int64_t axis) {
  Dims from = dimsOf(x), at = dimsOf(indices), dims(ArrayRef(from).take_front(axis));
  llvm::append_range(dims, at);
  llvm::append_range(dims, ArrayRef(from).drop_front(axis + 1));
  return GatherOp::create(b, loc, tensor(dims, typeOf(x)), x, indices, b.getI64IntegerAttr(axis));
}

Value GraphBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  if (axes.empty() || failed)
    return x;
  Dims dims, kept;
  for (auto [i, dim] : llvm::enumerate(dimsOf(x))) {
    bool isReduced = llvm::is_contained(axes, int64_t(i));
    if (!isReduced)
      dims.push_back(dim);
    kept.push_back(isReduced ? c(1) : dim);
  }
  bool isIndex = kind == ReduceKind::argmax || kind == ReduceKind::argmin;
  Value y = ReduceOp::create(b, loc, tensor(dims, isIndex ? i64() : typeOf(x)), kind, x, axes, false);
  return keepDims ? reshape(y, kept) : y;
}

Value GraphBuilder::countAlong(Value x, ArrayRef<int64_t> axes, Type type) {
  Dims dims = dimsOf(x), reduced;
  for (int64_t a : axes)
    reduced.push_back(dims[a]);
  AffineExpr count = product(reduced);
  if (auto n = getConstant(count))
    return scalar(double(*n), type);
  Value n = host({count}, {}, i64());
  return cast(n, type);
}

Value GraphBuilder::mean(Value x, ArrayRef<int64_t> axes, bool keepDims) {
  if (axes.empty())
    return x;
  Value sum = reduce(ReduceKind::sum, x, axes, keepDims);
  return div(sum, countAlong(x, axes, typeOf(x)));
}

Value GraphBuilder::contract(Value lhs, Value rhs) {
  if (rankOf(lhs) < 1 || rankOf(rhs) < 1)
    return (void)error("a matrix product needs operands of rank 1 or more"), lhs;
  bool isRow = rankOf(lhs) == 1, isColumn = rankOf(rhs) == 1;
  lhs = isRow ? unsqueeze(lhs, {0}) : lhs;
  rhs = isColumn ? unsqueeze(rhs, {1}) : rhs;
  if (failed)
    return lhs;
  Dims l = dimsOf(lhs), r = dimsOf(rhs);
  requireEqual(l.back(), r[r.size() - 2], "the contracted dimension must be the same on both sides");
  Dims batch = broadcastDims(ArrayRef(l).drop_back(2), ArrayRef(r).drop_back(2));
  if (failed)
    return lhs;
  auto widen = [&](Value x, ArrayRef<AffineExpr> dims) {
    Dims full(batch);
    llvm::append_range(full, dims.take_back(2));
    return broadcastTo(x, full);
  };
  Dims dims(batch);
  dims.append({l[l.size() - 2], r.back()});
  Value y = ContractOp::create(b, loc, tensor(dims, typeOf(lhs)), widen(lhs, l), widen(rhs, r));
  SmallVector<int64_t> ones;
  if (isRow)
    ones.push_back(dims.size() - 2);
  if (isColumn)
    ones.push_back(dims.size() - 1);
  return ones.empty() ? y : squeeze(y, ones);
}

Value GraphBuilder::softmax(Value x, int64_t axis, bool log) {
  return SoftmaxOp::create(b, loc, x.getType(), x, b.getI64IntegerAttr(axis), b.getBoolAttr(log));
}

} // namespace weft::onnx
