// The ONNX node that an operation came from, as messages and plans name it.
#ifndef WEFT_DIALECTS_GRAPH_NODENAME_H
#define WEFT_DIALECTS_GRAPH_NODENAME_H
#include "mlir/IR/Location.h"
#include <string>

namespace weft::graph {
/// The innermost name in `location`, all names of a fused one joined by ", "; "" where it holds none.
std::string nodeName(mlir::Location location);
} // namespace weft::graph
#endif
