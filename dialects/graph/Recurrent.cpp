// Verifiers and element rules of the family Recurrent.
#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace weft::graph;

LogicalResult RecurrentOp::verify() { return success(); }
SmallVector<Value> RecurrentOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t RecurrentOp::readsPerElement(unsigned operand) { return 1; }
bool RecurrentOp::isRoot() { return true; }
