// Verifiers and element rules of the family Elementwise.
#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace weft::graph;

LogicalResult UnaryOp::verify() { return success(); }
OpFoldResult UnaryOp::fold(FoldAdaptor adaptor) { return {}; }
SmallVector<Value> UnaryOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult BinaryOp::verify() { return success(); }
OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) { return {}; }
SmallVector<Value> BinaryOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult CompareOp::verify() { return success(); }
OpFoldResult CompareOp::fold(FoldAdaptor adaptor) { return {}; }
SmallVector<Value> CompareOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult SelectOp::verify() { return success(); }
OpFoldResult SelectOp::fold(FoldAdaptor adaptor) { return {}; }
SmallVector<Value> SelectOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}

LogicalResult CastOp::verify() { return success(); }
OpFoldResult CastOp::fold(FoldAdaptor adaptor) { return {}; }
SmallVector<Value> CastOp::emitElements(ElementEmitter &emitter, unsigned result, const ElementIndex &index, unsigned count) {
  llvm_unreachable("to be written");
}
