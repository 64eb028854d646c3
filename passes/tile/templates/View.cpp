// How a template reads one of its operands: see View.h.
#include "passes/tile/templates/View.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {

/// The dimension of `value` that is contiguous in memory, followed through the operations that make it.
static int fastestDimension(Value value, unsigned depth = 0) {
  int rank = cast<RankedTensorType>(value.getType()).getRank(), last = rank - 1;
  Operation *op = value.getDefiningOp();
  if (!op || depth > 16)
    return last;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    int inner = fastestDimension(transpose.getX(), depth + 1);
    for (auto [i, p] : llvm::enumerate(transpose.getPerm()))
      if (p == inner)
        return i;
    return last;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    int inner = fastestDimension(broadcast.getX(), depth + 1);
    return inner < 0 || isConstant(getDims(broadcast.getX())[inner], 1) ? last : broadcast.getMap()[inner];
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    int inner = fastestDimension(reshape.getX(), depth + 1);
    Dims from = getDims(reshape.getX()), to = getDims(value);
    if (inner < 0)
      return last;
    for (int i = from.size() - 1, j = last; i >= inner && j >= 0 && from[i] == to[j]; --i, --j)
      if (i == inner)
        return j;
    return last;
  }
  if (!isa<UnaryOp, BinaryOp, CastOp, SelectOp, CompareOp, SliceOp, PadOp>(op))
    return last;
  // The operand that is not a broadcast scalar or row decides: the one with the most transposition wins over splats.
  for (Value operand : op->getOperands()) {
    if (cast<RankedTensorType>(operand.getType()).getRank() != rank || operand.getDefiningOp<BroadcastOp>())
      continue;
    return fastestDimension(operand, depth + 1);
  }
  return last;
}

View::View(Value operand) : source(operand), viewDims(getDims(operand)) {
  for (unsigned i = 0; i < viewDims.size(); ++i)
    perm.push_back(i);
  while (auto transpose = source.getDefiningOp<TransposeOp>()) {
    for (unsigned &p : perm)
      p = transpose.getPerm()[p];
    source = transpose.getX();
    direct = false;
  }
  int inner = fastestDimension(source), last = int(perm.size()) - 1;
  for (auto [i, p] : llvm::enumerate(perm))
    if (int(p) == inner)
      fastestDim = i;
  runs = inner == last && last >= 0;
}

Type View::elementType() const { return cast<RankedTensorType>(source.getType()).getElementType(); }

unsigned View::runLength(unsigned most) const {
  unsigned run = hasRuns() ? most : 1;
  while (run > 1 && !viewDims[fastestDim].isMultipleOf(run))
    run /= 2;
  return run;
}

Values View::read(Kit &kit, ArrayRef<Value> at, unsigned count) const {
  SmallVector<Value, 4> index(perm.size());
  for (auto [i, p] : llvm::enumerate(perm))
    index[p] = at[i];
  return kit.e.elements(source, ElementEmitter::at(index), count);
}

Values View::readAt(Kit &kit, const ElementIndex &at, unsigned count) const {
  return direct ? kit.e.elements(source, at, count) : read(kit, at.multi, count);
}

} // namespace weft::tile
