// Operations on constants, computed at compile time.
#ifndef WEFT_PASSES_GRAPH_EVALUATE_H
#define WEFT_PASSES_GRAPH_EVALUATE_H

#include "dialects/graph/Graph.h"

namespace weft {

/// Elements of the result of `op`, which has one result of fixed size and fixed-size operands with these bytes. Nothing where the
/// operation or its types have no exact evaluation here: what the GPU computes may then differ in the last bit.
std::optional<std::string> evaluate(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> operands);

} // namespace weft
#endif
