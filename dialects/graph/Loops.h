// Structured control flow for element rules and templates.
#ifndef WEFT_DIALECTS_GRAPH_LOOPS_H
#define WEFT_DIALECTS_GRAPH_LOOPS_H

#include "dialects/graph/ElementEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace weft::graph {

using LoopValues = llvm::SmallVector<mlir::Value>;

/// Ends a region with `values`. Loops and branches without values come with their terminator.
inline void yieldAtEnd(ElementEmitter &emitter, mlir::ValueRange values) {
  if (!values.empty())
    mlir::scf::YieldOp::create(emitter.b, emitter.loc(), values);
}
inline void enterBlock(mlir::OpBuilder &b, mlir::Block *block) {
  if (!block->empty() && block->back().hasTrait<mlir::OpTrait::IsTerminator>())
    b.setInsertionPoint(&block->back());
  else
    b.setInsertionPointToEnd(block);
}

/// for (i = 0; i < count; ++i) values = body(i, values); the final values. `count` may be negative (no iteration).
inline LoopValues forLoop(ElementEmitter &emitter, mlir::Value count, mlir::ValueRange init,
                          llvm::function_ref<LoopValues(mlir::Value, mlir::ValueRange)> body) {
  mlir::OpBuilder &b = emitter.b;
  mlir::Value zero = emitter.constant(0), one = emitter.constant(1);
  auto loop = mlir::scf::ForOp::create(b, emitter.loc(), zero, count, one, init);
  mlir::OpBuilder::InsertionGuard guard(b);
  enterBlock(b, loop.getBody());
  LoopValues next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  yieldAtEnd(emitter, next);
  return LoopValues(loop.getResults());
}

/// condition ? body() : values.
inline LoopValues ifThen(ElementEmitter &emitter, mlir::Value condition, mlir::ValueRange values, llvm::function_ref<LoopValues()> body) {
  mlir::OpBuilder &b = emitter.b;
  auto ifOp = mlir::scf::IfOp::create(b, emitter.loc(), values.getTypes(), condition, /*withElseRegion=*/!values.empty());
  mlir::OpBuilder::InsertionGuard guard(b);
  enterBlock(b, &ifOp.getThenRegion().front());
  LoopValues next = body();
  yieldAtEnd(emitter, next);
  if (values.empty())
    return {};
  enterBlock(b, &ifOp.getElseRegion().front());
  yieldAtEnd(emitter, values);
  return LoopValues(ifOp.getResults());
}

} // namespace weft::graph
#endif
