// Declarations of the passes in passes/graph.
#ifndef WEFT_PASSES_GRAPH_PASSES_H
#define WEFT_PASSES_GRAPH_PASSES_H

#include "dialects/graph/Graph.h"
#include "mlir/Pass/Pass.h"

namespace weft {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/graph/Passes.h.inc"
} // namespace weft
#endif
