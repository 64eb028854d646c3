// Where a template hands over finished elements of its root: the epilogue is computed from them and all results of the
// kernel that depend on them are stored.
#ifndef WEFT_PASSES_TILE_TEMPLATES_ROOTRESULTS_H
#define WEFT_PASSES_TILE_TEMPLATES_ROOTRESULTS_H

#include "passes/tile/templates/Kit.h"

namespace weft::tile {

class RootResults {
public:
  RootResults(Kit &kit, mlir::Operation *root);

  /// Stores everything that follows from `values`, the elements of root result `result` at `index` and the next positions
  /// along its innermost dimension (register values of its element type).
  void store(unsigned result, const graph::ElementIndex &index, mlir::ValueRange values);
  /// False where nothing that the kernel stores needs this result.
  bool isUsed(unsigned result) const;

private:
  void storeOutput(unsigned output, mlir::Value rootValue, const graph::ElementIndex &index, mlir::ValueRange values);

  Kit &kit;
  mlir::Operation *root;
  llvm::SmallVector<mlir::Value> outputs;   // the yielded values
  llvm::SmallVector<unsigned> sources;      // which root result each follows
};

} // namespace weft::tile
#endif
