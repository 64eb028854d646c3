// Passes that make the plan and work on it.
#ifndef WEFT_PASSES_PLAN_TD
#define WEFT_PASSES_PLAN_TD
include "mlir/Pass/PassBase.td"

def LowerToPlan : Pass<"lower-to-plan", "mlir::ModuleOp"> {
  let summary = "graph.kernel and control flow become buffers and instructions";
  let description = [{
    Starts from functions in which every device operation is a `graph.kernel` with its `launches` (form-kernels, then emit-kernels).
    Afterwards `main` holds plan operations only. Kernel results that are returned are written to the output's buffer at once;
    what else is returned (an input, a constant, a value for the second time) is copied. Reshapes become views.
    Example: test/passes/plan/lower-to-plan.mlir.
  }];
  let dependentDialects = ["::weft::plan::PlanDialect"];
}

def AssignLifetimes : Pass<"assign-lifetimes", "mlir::ModuleOp"> {
  let summary = "gives every arena buffer the first and last instruction that uses it";
  let description = [{
    A use inside a nested block counts as a use by the instruction that holds the block. The runtime's packer (runtime/artifact/Packer.h) places
    buffers by these intervals. Example: test/passes/plan/assign-lifetimes.mlir.
  }];
}
#endif
