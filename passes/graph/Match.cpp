// Small questions about values: see Match.h.
#include "passes/graph/Match.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {

std::optional<APFloat> splatFloat(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<BroadcastOp, ReshapeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    auto constant = dyn_cast<ConstantOp>(op);
    if (!constant || !isa<FloatType>(constant.getType().getElementType()))
      return std::nullopt;
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || !dense.isSplat() || dense.getNumElements() == 0)
      return std::nullopt;
    return dense.getSplatValue<APFloat>();
  }
  return std::nullopt;
}

bool isSplat(Value value, double expected) {
  std::optional<APFloat> splat = splatFloat(value);
  if (!splat)
    return false;
  APFloat wanted(expected);
  bool lost;
  wanted.convert(splat->getSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return !lost && splat->bitwiseIsEqual(wanted);
}

static bool onlyUnitDims(Value from, Value to) {
  auto kept = [](Value v) {
    Dims dims = getDims(v);
    llvm::erase_if(dims, [](AffineExpr dim) { return isConstant(dim, 1); });
    return dims;
  };
  return kept(from) == kept(to);
}

Value behindUnitDims(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp>(op) || !onlyUnitDims(op->getOperand(0), value))
      return value;
    value = op->getOperand(0);
  }
  return value;
}

} // namespace weft
