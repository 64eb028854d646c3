// Passes over the graph dialect: tensors in, tensors out.
#ifndef WEFT_PASSES_GRAPH_TD
#define WEFT_PASSES_GRAPH_TD
include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"form-kernels", "mlir::ModuleOp"> {
  let summary = "groups operations into graph.kernel";
  let description = [{
    Starts from functions of graph operations; afterwards every operation that needs the GPU stands in a `graph.kernel`. What
    stays outside costs no launch: constants, reshapes (views of memory), control flow, checks and host reads.

    A kernel holds at most one root (an operation with a template). Elementwise consumers of a root become its epilogue,
    producers its prologue where the template reads them seldom enough. Every decision is a remark.
    Example: test/passes/graph/form-kernels.mlir.
  }];
  let options = [
    Option<"fuse", "fuse", "bool", "true", "put several operations into one kernel">
  ];
  let dependentDialects = ["::weft::graph::GraphDialect"];
}
#endif
