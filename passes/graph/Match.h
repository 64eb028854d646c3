// Small questions about values that several passes ask.
#ifndef WEFT_PASSES_GRAPH_MATCH_H
#define WEFT_PASSES_GRAPH_MATCH_H

#include "dialects/graph/Graph.h"

namespace weft {

/// The one value that all elements of `value` have, looked for behind broadcasts and reshapes of constants.
std::optional<llvm::APFloat> splatFloat(mlir::Value value);
/// Whether all elements of `value` are exactly `expected` (zero: with this sign).
bool isSplat(mlir::Value value, double expected);
/// `value` behind broadcasts and reshapes that only add or drop dimensions of 1.
mlir::Value behindUnitDims(mlir::Value value);

} // namespace weft
#endif
