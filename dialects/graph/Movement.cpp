// Verifiers and element rules of the family Movement.
#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace weft::graph;

LogicalResult ConstantOp::verify() { return success(); }
OpFoldResult ConstantOp::fold(FoldAdaptor adaptor) { return getValue(); }

LogicalResult HostOp::verify() { return success(); }
SmallVector<Value> HostOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult IotaOp::verify() { return success(); }
SmallVector<Value> IotaOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult BroadcastOp::verify() { return success(); }
OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) { return {}; }
SmallVector<Value> BroadcastOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult ReshapeOp::verify() { return success(); }
OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) { return {}; }
SmallVector<Value> ReshapeOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult TransposeOp::verify() { return success(); }
OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) { return {}; }
SmallVector<Value> TransposeOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult SliceOp::verify() { return success(); }
OpFoldResult SliceOp::fold(FoldAdaptor adaptor) { return {}; }
SmallVector<Value> SliceOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult PadOp::verify() { return success(); }
SmallVector<Value> PadOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult ConcatOp::verify() { return success(); }
SmallVector<Value> ConcatOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult GatherOp::verify() { return success(); }
SmallVector<Value> GatherOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult GatherElementsOp::verify() { return success(); }
SmallVector<Value> GatherElementsOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult GatherNDOp::verify() { return success(); }
SmallVector<Value> GatherNDOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult ScatterElementsOp::verify() { return success(); }
SmallVector<Value> ScatterElementsOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t ScatterElementsOp::readsPerElement(unsigned operand) { return 1; }
bool ScatterElementsOp::isRoot() { return true; }

LogicalResult ScatterNDOp::verify() { return success(); }
SmallVector<Value> ScatterNDOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
int64_t ScatterNDOp::readsPerElement(unsigned operand) { return 1; }
bool ScatterNDOp::isRoot() { return true; }

LogicalResult ResizeOp::verify() { return success(); }
SmallVector<Value> ResizeOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
