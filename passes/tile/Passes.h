// Declarations of the passes in passes/tile.
#ifndef WEFT_PASSES_TILE_PASSES_H
#define WEFT_PASSES_TILE_PASSES_H

#include "dialects/graph/Graph.h"
#include "dialects/tile/Tile.h"
#include "mlir/Pass/Pass.h"

namespace weft {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/tile/Passes.h.inc"
} // namespace weft
#endif
