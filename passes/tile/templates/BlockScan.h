// Prefix combination over the threads of a CTA or warp, in lane order.
#ifndef WEFT_PASSES_TILE_TEMPLATES_BLOCKSCAN_H
#define WEFT_PASSES_TILE_TEMPLATES_BLOCKSCAN_H

#include "passes/tile/templates/Kit.h"

namespace weft::tile {

struct Prefix {
  mlir::Value inclusive, exclusive, total; // exclusive: `identity` for the first thread
};

/// `combine` is associative. `threads`: 32 (each warp for itself) or the CTA's number of threads, a multiple of 32 up to 1024;
/// all of them take part. May be used in a loop.
Prefix scanThreads(Kit &kit, mlir::Value value, mlir::Value identity, unsigned threads,
                   llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

} // namespace weft::tile
#endif
