// Verifiers and element rules of the family Recurrent.
//
// Guarantees: a verified recurrent layer's operands agree on directions, batch and hidden size as far as they are known, and
// every activation is one that the templates know. An element of the result needs the whole state of the step before it,
// which a rule without memory cannot hold: the operation has no element form, only its template.
#include "dialects/graph/Graph.h"
#include "dialects/graph/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft::graph;

static unsigned gatesOf(CellKind kind) {
  switch (kind) {
  case CellKind::lstm: return 4;
  case CellKind::gru: return 3;
  case CellKind::rnn: return 1;
  }
}

static unsigned activationsOf(CellKind kind) {
  switch (kind) {
  case CellKind::lstm: return 3;
  case CellKind::gru: return 2;
  case CellKind::rnn: return 1;
  }
}

/// Checks one operand against its expected dimensions; null expressions match anything.
static LogicalResult checkDims(Operation *op, StringRef name, Value value, ArrayRef<AffineExpr> expected) {
  if (!value)
    return success();
  Dims dims = getDims(value);
  if (dims.size() != expected.size())
    return op->emitOpError() << name << " must have rank " << expected.size() << ", found " << dims.size();
  for (auto [i, pair] : llvm::enumerate(llvm::zip(dims, expected))) {
    auto [found, wanted] = pair;
    if (wanted && getConstant(found) && getConstant(wanted) && *getConstant(found) != *getConstant(wanted))
      return op->emitOpError() << "dimension " << i << " of " << name << " must be " << *getConstant(wanted) << ", found "
                               << *getConstant(found);
  }
  return success();
}

static LogicalResult checkActivations(RecurrentOp op, int64_t directions) {
  static constexpr StringRef known[] = {"Sigmoid", "Tanh", "Relu", "Affine", "LeakyRelu", "ThresholdedRelu",
                                        "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"};
  size_t count = directions * activationsOf(op.getKind());
  if (op.getActivations().size() != count || op.getAlphas().size() != count || op.getBetas().size() != count) // recurrent_c3
    return op.emitOpError("activations, alphas and betas must have one entry per direction and activation (") << count << ")";
  for (Attribute attr : op.getActivations())
    if (!llvm::is_contained(known, cast<StringAttr>(attr).getValue())) // recurrent_c4
      return op.emitOpError("unknown activation ") << attr;
  return success();
}

LogicalResult RecurrentOp::verify() {
  Dims gates = getDims(getGates()), r = getDims(getR());
  if (gates.size() != 4 || r.size() != 3) // recurrent_c1
    return emitOpError("gates must have rank 4 and r rank 3, found ") << gates.size() << " and " << r.size();
  int64_t directions = getReverse().size();
  MLIRContext *context = getContext();
  AffineExpr d = getAffineConstantExpr(directions, context), seq = gates[1], batch = gates[2], hidden = r[2];
  unsigned g = gatesOf(getKind());
  AffineExpr wide = hidden * g, noDim;
  if (directions < 1 || directions > 2) // recurrent_c2
    return emitOpError("reverse must have one entry per direction, one or two, found ") << directions;
  bool isLstm = getKind() == CellKind::lstm;
  if (isLstm != bool(getYC()) || (!isLstm && (getInitialC() || getPeepholes()))) // recurrent_c5
    return emitOpError("a cell state and peepholes belong to lstm, and only to it");
  return success(succeeded(checkActivations(*this, directions)) &&
                 succeeded(checkDims(*this, "gates", getGates(), {d, noDim, noDim, wide})) &&
                 succeeded(checkDims(*this, "r", getR(), {d, wide, noDim})) &&
                 succeeded(checkDims(*this, "recurrent_bias", getRecurrentBias(), {d, wide})) &&
                 succeeded(checkDims(*this, "sequence_lens", getSequenceLens(), {batch})) &&
                 succeeded(checkDims(*this, "initial_h", getInitialH(), {d, batch, hidden})) &&
                 succeeded(checkDims(*this, "initial_c", getInitialC(), {d, batch, hidden})) &&
                 succeeded(checkDims(*this, "peepholes", getPeepholes(), {d, hidden * 3})) &&
                 succeeded(checkDims(*this, "y", getY(), {seq, d, batch, hidden})) &&
                 succeeded(checkDims(*this, "y_h", getYH(), {d, batch, hidden})) &&
                 succeeded(checkDims(*this, "y_c", getYC(), {d, batch, hidden})));
}

SmallVector<Value> RecurrentOp::emitElements(ElementEmitter &e, unsigned result, const ElementIndex &, unsigned count) {
  emitOpError("has no element form: it must be the root of its kernel");
  Type type = cast<RankedTensorType>(getResult(result).getType()).getElementType();
  return Elements(count, scalar::constant(e.b, e.loc(), type, 0));
}

int64_t RecurrentOp::readsPerElement(unsigned operand) {
  // R is read again at every step; the gates once per step and result.
  return operand == 1 ? 1024 : 1;
}
bool RecurrentOp::isRoot() { return true; }
