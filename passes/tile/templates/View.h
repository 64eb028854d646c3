// How a template reads one of its operands: through transposes where they stand directly before it, so that runs of
// elements follow memory.
#ifndef WEFT_PASSES_TILE_TEMPLATES_VIEW_H
#define WEFT_PASSES_TILE_TEMPLATES_VIEW_H

#include "passes/tile/templates/Kit.h"

namespace weft::tile {

/// An operand as the root sees it (its "view" dimensions), and the value behind its transposes.
class View {
public:
  explicit View(mlir::Value operand);

  llvm::ArrayRef<mlir::AffineExpr> dims() const { return viewDims; }
  mlir::AffineExpr dim(unsigned i) const { return viewDims[i]; }
  unsigned rank() const { return viewDims.size(); }
  mlir::Type elementType() const;
  /// The view dimension along which neighbouring elements are (most likely) neighbours in memory; -1 for rank 0.
  int fastest() const { return fastestDim; }
  /// True where runs along `fastest` can be read by one wide access or one element rule call.
  bool hasRuns() const { return runs; }
  /// The longest of 1, 2, 4, ..., `most` that divides the extent of the fastest dimension and can be read as runs.
  unsigned runLength(unsigned most) const;

  /// `count` elements from `at` (view dimensions) along the fastest dimension.
  Values read(Kit &kit, llvm::ArrayRef<mlir::Value> at, unsigned count = 1) const;

  /// The same for an index that may know its linear position, where no transpose stands before the operand.
  Values readAt(Kit &kit, const graph::ElementIndex &at, unsigned count = 1) const;
  bool isDirect() const { return direct; } // no transposes
  /// Read straight from memory: a run may cross the innermost dimension.
  bool isMemory() const { return direct && llvm::isa<mlir::BlockArgument>(source); }

private:
  mlir::Value source;
  llvm::SmallVector<unsigned, 4> perm; // view dimension i is source dimension perm[i]
  graph::Dims viewDims;
  int fastestDim = -1;
  bool runs = false, direct = true;
};

} // namespace weft::tile
#endif
