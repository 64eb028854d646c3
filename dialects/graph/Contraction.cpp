// Verifiers and element rules of the family Contraction.
//
// Guarantees: a verified operation's ranks, element types and known dimensions fit together (unknown ones may still differ:
// the frontend places `graph.check`s). The element rules are sequential loops over the contracted dimensions in row-major
// order: slow, and the reference that the templates of passes/tile are tested against.
#include "dialects/graph/Graph.h"
#include "dialects/graph/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft::graph;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// True where both dimensions are known and differ.
static bool contradict(AffineExpr a, AffineExpr b) {
  auto x = getConstant(a), y = getConstant(b);
  return x && y && *x != *y;
}

/// Labels `<op>_c1` (equal operand types), `<op>_c2` (the result's type is the operands', or f32 for narrower floats).
static LogicalResult verifyElementTypes(Operation *op, Type lhs, Type rhs, Type result) {
  if (lhs != rhs)
    return op->emitOpError("operands must have one element type, found ") << lhs << " and " << rhs;
  bool isWidened = isa<FloatType>(lhs) && lhs.getIntOrFloatBitWidth() < 32 && result.isF32();
  if (result != lhs && !isWidened)
    return op->emitOpError("the result's element type must be ") << lhs << ", found " << result;
  return success();
}

LogicalResult ContractOp::verify() {
  RankedTensorType l = getLhs().getType(), r = getRhs().getType(), y = getY().getType();
  if (failed(verifyElementTypes(*this, l.getElementType(), r.getElementType(), y.getElementType())))
    return failure();
  int64_t rank = y.getRank();
  if (rank < 2 || l.getRank() != rank || r.getRank() != rank) // contract_c3
    return emitOpError("operands and result must have one rank of at least 2, found ")
           << l.getRank() << ", " << r.getRank() << " and " << rank;
  Dims ld = getDims(l), rd = getDims(r), yd = getDims(y);
  for (int64_t i = 0; i < rank - 2; ++i)
    if (contradict(ld[i], yd[i]) || contradict(rd[i], yd[i])) // contract_c4
      return emitOpError("batch dimension ") << i << " differs between operands and result";
  if (contradict(ld[rank - 1], rd[rank - 2])) // contract_c5
    return emitOpError("the contracted dimension is ") << *getConstant(ld[rank - 1]) << " on the left and "
                                                       << *getConstant(rd[rank - 2]) << " on the right";
  if (contradict(ld[rank - 2], yd[rank - 2]) || contradict(rd[rank - 1], yd[rank - 1])) // contract_c6
    return emitOpError("the result's last two dimensions must be the left rows and the right columns");
  return success();
}

/// What conv and conv_transpose share. `channels`: of x; `outer`, `inner`: the first two dimensions of w as they must be,
/// given C, M and the group count.
template <typename Op> static LogicalResult verifyConvolution(Op op, bool isTransposed) {
  RankedTensorType x = op.getX().getType(), w = op.getW().getType(), y = op.getY().getType();
  if (failed(verifyElementTypes(op, x.getElementType(), w.getElementType(), y.getElementType())))
    return failure();
  int64_t rank = x.getRank();
  if (rank < 3 || w.getRank() != rank || y.getRank() != rank) // conv_c3
    return op.emitOpError("operands and result must have one rank of at least 3, found ")
           << rank << ", " << w.getRank() << " and " << y.getRank();
  size_t spatial = rank - 2;
  if (op.getStrides().size() != spatial || op.getDilations().size() != spatial || op.getPadsLow().size() != spatial) // conv_c4
    return op.emitOpError("strides, dilations and pads_low must have one entry per spatial dimension (") << spatial << ")";
  auto isPositive = [](int64_t value) { return value > 0; };
  if (!llvm::all_of(op.getStrides(), isPositive) || !llvm::all_of(op.getDilations(), isPositive)) // conv_c5
    return op.emitOpError("strides and dilations must be positive");
  int64_t group = op.getGroup();
  if (group < 1) // conv_c6
    return op.emitOpError("group must be positive, found ") << group;
  Dims xd = getDims(x), wd = getDims(w), yd = getDims(y);
  auto divides = [&](AffineExpr e) { return !getConstant(e) || *getConstant(e) % group == 0; };
  if (!divides(xd[1]) || !divides(yd[1])) // conv_c7
    return op.emitOpError("group ") << group << " must divide the input and output channels";
  auto c = getConstant(xd[1]), m = getConstant(yd[1]), w0 = getConstant(wd[0]), w1 = getConstant(wd[1]);
  auto outer = isTransposed ? c : m, inner = isTransposed ? m : c;
  if ((outer && w0 && *outer != *w0) || (inner && w1 && *inner / group != *w1)) // conv_c8
    return op.emitOpError("the weight's channels do not fit: expected [")
           << (isTransposed ? "C, M / group" : "M, C / group") << ", kernel...]";
  if (contradict(xd[0], yd[0])) // conv_c9
    return op.emitOpError("operand and result must have one batch size");
  return success();
}

LogicalResult ConvOp::verify() { return verifyConvolution(*this, /*isTransposed=*/false); }
LogicalResult ConvTransposeOp::verify() { return verifyConvolution(*this, /*isTransposed=*/true); }

//===----------------------------------------------------------------------===//
// Element rules
//===----------------------------------------------------------------------===//

/// Emits nested loops over `bounds` in row-major order that carry one accumulator, and returns its last value.
static Value emitSum(ElementEmitter &e, Type type, ArrayRef<Value> bounds,
                     llvm::function_ref<Value(ArrayRef<Value>, Value)> addTerm) {
  Value zero = e.constant(0), one = e.constant(1);
  SmallVector<Value> ivs;
  scf::ForOp outermost;
  Value acc = scalar::constant(e.b, e.loc(), type, 0);
  OpBuilder::InsertionGuard guard(e.b);
  for (Value bound : bounds) {
    auto loop = scf::ForOp::create(e.b, e.loc(), zero, bound, one, acc);
    if (outermost)
      scf::YieldOp::create(e.b, e.loc(), loop.getResults());
    else
      outermost = loop;
    ivs.push_back(loop.getInductionVar());
    acc = loop.getRegionIterArg(0);
    e.b.setInsertionPointToStart(loop.getBody());
  }
  scf::YieldOp::create(e.b, e.loc(), addTerm(ivs, acc));
  return outermost.getResult(0);
}

/// Calls `one` for the elements at `index` and its neighbours.
static Elements forEach(ElementEmitter &e, const ElementIndex &index, ArrayRef<AffineExpr> dims, unsigned count,
                        llvm::function_ref<Value(ArrayRef<Value>)> one) {
  Elements elements;
  SmallVector<Value, 4> multi = e.multi(index, dims);
  for (unsigned k = 0; k < count; ++k) {
    SmallVector<Value, 4> at = multi;
    at.back() = e.add(at.back(), e.constant(k));
    elements.push_back(one(at));
  }
  return elements;
}

SmallVector<Value> ContractOp::emitElements(ElementEmitter &e, unsigned, const ElementIndex &index, unsigned count) {
  Type elementType = getY().getType().getElementType(), acc = scalar::accumulatorType(elementType);
  Type from = getLhs().getType().getElementType();
  Dims lhsDims = getDims(getLhs());
  return forEach(e, index, getDims(getY()), count, [&](ArrayRef<Value> at) {
    Value sum = emitSum(e, acc, {e.host(lhsDims.back())}, [&](ArrayRef<Value> iv, Value sum) {
      SmallVector<Value, 4> l(at), r(at);
      l.back() = iv[0];
      r[r.size() - 2] = iv[0];
      Value x = scalar::cast(e.b, e.loc(), e.operand(0, ElementEmitter::at(l)), from, acc);
      Value y = scalar::cast(e.b, e.loc(), e.operand(1, ElementEmitter::at(r)), from, acc);
      return scalar::multiplyAdd(e.b, e.loc(), x, y, sum);
    });
    return scalar::cast(e.b, e.loc(), sum, acc, elementType);
  });
}

/// `inside` ? sum + x[xAt] * w[wAt] : sum, without touching memory outside.
static Value addWhereInside(ElementEmitter &e, Value inside, Type from, ArrayRef<Value> xAt, ArrayRef<Value> wAt,
                            Type acc, Value sum) {
  auto branch = scf::IfOp::create(e.b, e.loc(), TypeRange(sum.getType()), inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(branch.thenBlock());
  Value x = scalar::cast(e.b, e.loc(), e.operand(0, ElementEmitter::at(xAt)), from, acc);
  Value w = scalar::cast(e.b, e.loc(), e.operand(1, ElementEmitter::at(wAt)), from, acc);
  scf::YieldOp::create(e.b, e.loc(), scalar::multiplyAdd(e.b, e.loc(), x, w, sum));
  e.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(e.b, e.loc(), sum);
  return branch.getResult(0);
}

static Value both(ElementEmitter &e, Value a, Value b) { return a ? arith::AndIOp::create(e.b, e.loc(), a, b) : b; }

SmallVector<Value> ConvOp::emitElements(ElementEmitter &e, unsigned, const ElementIndex &index, unsigned count) {
  Type elementType = getY().getType().getElementType(), acc = scalar::accumulatorType(elementType);
  Dims xDims = getDims(getX()), wDims = getDims(getW());
  SmallVector<Value> bounds;
  for (AffineExpr dim : ArrayRef(wDims).drop_front())
    bounds.push_back(e.host(dim));
  Value perGroup = e.divU(e.host(wDims[0]), e.constant(getGroup()));
  return forEach(e, index, getDims(getY()), count, [&](ArrayRef<Value> at) {
    Value firstChannel = e.mul(getGroup() == 1 ? e.constant(0) : e.divU(at[1], perGroup), bounds[0]);
    Value sum = emitSum(e, acc, bounds, [&](ArrayRef<Value> iv, Value sum) {
      SmallVector<Value, 4> xAt{at[0], e.add(firstChannel, iv[0])}, wAt{at[1]};
      llvm::append_range(wAt, iv);
      Value inside;
      for (size_t d = 0; d + 2 < xDims.size(); ++d) {
        Value reach = e.add(e.mul(at[d + 2], e.constant(getStrides()[d])), e.mul(iv[d + 1], e.constant(getDilations()[d])));
        Value position = e.sub(reach, e.host(getPadsLow()[d]));
        inside = both(e, inside, arith::CmpIOp::create(e.b, e.loc(), arith::CmpIPredicate::ult, position, e.host(xDims[d + 2])));
        xAt.push_back(position);
      }
      return addWhereInside(e, inside, getX().getType().getElementType(), xAt, wAt, acc, sum);
    });
    return scalar::cast(e.b, e.loc(), sum, acc, elementType);
  });
}

SmallVector<Value> ConvTransposeOp::emitElements(ElementEmitter &e, unsigned, const ElementIndex &index, unsigned count) {
  Type elementType = getY().getType().getElementType(), acc = scalar::accumulatorType(elementType);
  Dims xDims = getDims(getX()), wDims = getDims(getW());
  Value channels = e.divU(e.host(xDims[1]), e.constant(getGroup())), outputs = e.host(wDims[1]);
  SmallVector<Value> bounds{channels};
  for (AffineExpr dim : ArrayRef(wDims).drop_front(2))
    bounds.push_back(e.host(dim));
  return forEach(e, index, getDims(getY()), count, [&](ArrayRef<Value> at) {
    Value group = getGroup() == 1 ? e.constant(0) : e.divU(at[1], outputs);
    Value sum = emitSum(e, acc, bounds, [&](ArrayRef<Value> iv, Value sum) {
      Value channel = e.add(e.mul(group, channels), iv[0]);
      SmallVector<Value, 4> xAt{at[0], channel}, wAt{channel, e.sub(at[1], e.mul(group, outputs))};
      Value inside;
      for (size_t d = 0; d + 2 < xDims.size(); ++d) {
        // The input position i with i * stride + k * dilation - pad_low = o, if there is one.
        Value stride = e.constant(getStrides()[d]);
        Value offset = e.sub(e.add(at[d + 2], e.host(getPadsLow()[d])), e.mul(iv[d + 1], e.constant(getDilations()[d])));
        Value position = e.divU(offset, stride);
        auto holds = [&](arith::CmpIPredicate predicate, Value a, Value b) {
          inside = both(e, inside, arith::CmpIOp::create(e.b, e.loc(), predicate, a, b));
        };
        holds(arith::CmpIPredicate::sge, offset, e.constant(0));
        if (getStrides()[d] != 1)
          holds(arith::CmpIPredicate::eq, e.mul(position, stride), offset);
        holds(arith::CmpIPredicate::ult, position, e.host(xDims[d + 2]));
        xAt.push_back(position);
        wAt.push_back(iv[d + 1]);
      }
      return addWhereInside(e, inside, getX().getType().getElementType(), xAt, wAt, acc, sum);
    });
    return scalar::cast(e.b, e.loc(), sum, acc, elementType);
  });
}

//===----------------------------------------------------------------------===//
// What fusion asks
//===----------------------------------------------------------------------===//

/// The product of the dimensions; an unknown one counts as 64.
static int64_t estimatedProduct(ArrayRef<AffineExpr> dims) {
  int64_t result = 1;
  for (AffineExpr dim : dims)
    result = std::min<int64_t>(result * std::max<int64_t>(getConstant(dim).value_or(64), 1), 1 << 30);
  return result;
}

int64_t ContractOp::readsPerElement(unsigned) { return estimatedProduct(getDims(getLhs()).back()); }
bool ContractOp::isRoot() { return true; }
int64_t ConvOp::readsPerElement(unsigned) { return estimatedProduct(ArrayRef(getDims(getW())).drop_front()); }
bool ConvOp::isRoot() { return true; }
int64_t ConvTransposeOp::readsPerElement(unsigned) { return estimatedProduct(ArrayRef(getDims(getW())).drop_front(2)); }
bool ConvTransposeOp::isRoot() { return true; }
