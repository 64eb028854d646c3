// Verifiers and element rules of the family Reduction.
#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace weft::graph;

LogicalResult ReduceOp::verify() { return success(); }
SmallVector<Value> ReduceOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t ReduceOp::readsPerElement(unsigned operand) { return 1; }
bool ReduceOp::isRoot() { return true; }

LogicalResult SoftmaxOp::verify() { return success(); }
SmallVector<Value> SoftmaxOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t SoftmaxOp::readsPerElement(unsigned operand) { return 1; }
bool SoftmaxOp::isRoot() { return true; }

LogicalResult NormalizeOp::verify() { return success(); }
SmallVector<Value> NormalizeOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t NormalizeOp::readsPerElement(unsigned operand) { return 1; }
bool NormalizeOp::isRoot() { return true; }

LogicalResult PoolOp::verify() { return success(); }
SmallVector<Value> PoolOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t PoolOp::readsPerElement(unsigned operand) { return 1; }
bool PoolOp::isRoot() { return true; }

LogicalResult ScanOp::verify() { return success(); }
SmallVector<Value> ScanOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t ScanOp::readsPerElement(unsigned operand) { return 1; }
bool ScanOp::isRoot() { return true; }

LogicalResult TopKOp::verify() { return success(); }
SmallVector<Value> TopKOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t TopKOp::readsPerElement(unsigned operand) { return 1; }
bool TopKOp::isRoot() { return true; }
