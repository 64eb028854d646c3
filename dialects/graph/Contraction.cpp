// Verifiers and element rules of the family Contraction.
#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace weft::graph;

LogicalResult ContractOp::verify() { return success(); }
SmallVector<Value> ContractOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t ContractOp::readsPerElement(unsigned operand) { return 1; }
bool ContractOp::isRoot() { return true; }

LogicalResult ConvOp::verify() { return success(); }
SmallVector<Value> ConvOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t ConvOp::readsPerElement(unsigned operand) { return 1; }
bool ConvOp::isRoot() { return true; }

LogicalResult ConvTransposeOp::verify() { return success(); }
SmallVector<Value> ConvTransposeOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t ConvTransposeOp::readsPerElement(unsigned operand) { return 1; }
bool ConvTransposeOp::isRoot() { return true; }
