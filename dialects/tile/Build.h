// Builders of tile operations that templates share: positions, reductions over lanes and blocks.
//
// Guarantees: reductions combine in a fixed order (xor butterflies over lanes, then over warps); all threads of the warp or
// block must reach them, and all get the result.
#ifndef WEFT_DIALECTS_TILE_BUILD_H
#define WEFT_DIALECTS_TILE_BUILD_H

#include "dialects/tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

namespace weft::tile {

using Values = llvm::SmallVector<mlir::Value>;
/// Combines two tuples of values (most often of one; (value, index) for argmax) into one of the same types.
using Combine = llvm::function_ref<Values(mlir::ValueRange a, mlir::ValueRange b)>;

/// Thread or block positions as `type` (i32 or i64).
mlir::Value threadId(mlir::OpBuilder &b, mlir::Location loc, Dim dim, mlir::Type type);
mlir::Value blockId(mlir::OpBuilder &b, mlir::Location loc, Dim dim, mlir::Type type);
mlir::Value gridDim(mlir::OpBuilder &b, mlir::Location loc, Dim dim, mlir::Type type);

/// One element (or vector) at `pointer[index]`; `alignment` 0 is the element's own.
mlir::Value load(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value pointer, mlir::Value index, int64_t alignment = 0);
void store(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Value pointer, mlir::Value index, int64_t alignment = 0);
mlir::Value shared(mlir::OpBuilder &b, mlir::Location loc, int64_t count, mlir::Type elementType);
void barrier(mlir::OpBuilder &b, mlir::Location loc);
mlir::Value shuffle(mlir::OpBuilder &b, mlir::Location loc, ShuffleKind kind, mlir::Value value, int64_t amount);

/// `values` of `width` neighbouring lanes combined (a power of two up to 32); every lane gets the result.
Values warpReduce(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange values, Combine combine, int64_t width = 32);
/// `values` of all `threads` of a one-dimensional block (a multiple of 32) combined; every thread gets the result. Uses its own
/// shared memory and two barriers.
Values blockReduce(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange values, Combine combine, int64_t threads);

} // namespace weft::tile
#endif
