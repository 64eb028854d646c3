// Verifiers and element rules of the family Control.
#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace weft::graph;

LogicalResult YieldOp::verify() { return success(); }

LogicalResult ReadBackOp::verify() { return success(); }

LogicalResult CheckOp::verify() { return success(); }

LogicalResult NonZeroOp::verify() { return success(); }

LogicalResult IfOp::verify() { return success(); }

LogicalResult LoopOp::verify() { return success(); }

LogicalResult KernelOp::verify() { return success(); }
