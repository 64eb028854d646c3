// Declarations of the passes in passes/plan.
#ifndef WEFT_PASSES_PLAN_PASSES_H
#define WEFT_PASSES_PLAN_PASSES_H

#include "dialects/plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace weft {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/plan/Passes.h.inc"
} // namespace weft
#endif
