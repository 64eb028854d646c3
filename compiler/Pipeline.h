// The order of all passes; nothing else knows it.
#ifndef WEFT_COMPILER_PIPELINE_H
#define WEFT_COMPILER_PIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace weft {
struct Options;

/// .graph.mlir -> .tile.mlir: one graph.kernel with its tile code per launch.
void buildKernelPipeline(mlir::OpPassManager &pm, const Options &options);
/// .tile.mlir -> .plan.mlir: buffers and instructions.
void buildPlanPipeline(mlir::OpPassManager &pm, const Options &options);

} // namespace weft
#endif
