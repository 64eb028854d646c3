// Passes over the graph dialect: tensors in, tensors out.
#ifndef WEFT_PASSES_GRAPH_TD
#define WEFT_PASSES_GRAPH_TD
include "mlir/Pass/PassBase.td"

def Simplify : Pass<"simplify", "mlir::ModuleOp"> {
  let summary = "merges and removes operations without changing a result bit";
  let description = [{
    Chains of reshapes, transposes and broadcasts become one; neutral operands, paddings of nothing and concats of one operand
    vanish; a product with a matrix that all batches share becomes one product with more rows. Example: test/passes/graph/simplify.mlir.
  }];
  let dependentDialects = ["::weft::graph::GraphDialect"];
}

def FoldConstants : Pass<"fold-constants", "mlir::ModuleOp"> {
  let summary = "computes at compile time what depends on constants only";
  let description = [{
    Movement (a transposed weight is stored transposed), exact arithmetic, comparisons, casts. A result that is larger than its
    operands by more than `max-growth` bytes stays an operation: the kernel computes it cheaper than memory brings it.
    Example: test/passes/graph/fold-constants.mlir.
  }];
  let options = [
    Option<"maxGrowth", "max-growth", "int64_t", "65536", "bytes that a folded result may have beyond its largest operand">,
    Option<"maxBytes", "max-bytes", "int64_t", "1073741824", "bytes of the largest folded result">
  ];
  let dependentDialects = ["::weft::graph::GraphDialect"];
}

def FoldAffine : Pass<"fold-affine", "mlir::ModuleOp"> {
  let summary = "folds per-channel scale and shift (batch normalisation) into convolutions";
  let description = [{
    conv(x, w) * s becomes conv(x, w * s); shifts before and behind the scale become one. Needs fold-constants before it, which
    makes scale and shift of a batch normalisation constants. Example: test/passes/graph/fold-affine.mlir.
  }];
  let dependentDialects = ["::weft::graph::GraphDialect"];
}

def MatchNormalize : Pass<"match-normalize", "mlir::ModuleOp"> {
  let summary = "layer and RMS normalisation and softmax written out in parts become graph.normalize and graph.softmax";
  let description = [{
    (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), also as a product with the reciprocal, x / sqrt(mean(x^2) + epsilon), and
    exp(x - max(x)) / sum(exp(x - max(x))). One
    kernel instead of three. Needs simplify before it (pow by 2 is then a product). Example: test/passes/graph/match-normalize.mlir.
  }];
  let dependentDialects = ["::weft::graph::GraphDialect"];
}

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
