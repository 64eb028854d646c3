// Structured control flow for element rules and templates.
#ifndef WEFT_DIALECTS_GRAPH_LOOPS_H
#define WEFT_DIALECTS_GRAPH_LOOPS_H

#include "dialects/graph/ElementEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace weft::graph {

using LoopValues = llvm::SmallVector<mlir::Value>;

/// for (i = 0; i < count; ++i) values = body(i, values); the final values. `count` may be negative (no iteration).
inline LoopValues forLoop(ElementEmitter &emitter, mlir::Value count, mlir::ValueRange init,
                          llvm::function_ref<LoopValues(mlir::Value, mlir::ValueRange)> body) {
  mlir::OpBuilder &b = emitter.b;
  mlir::Value zero = emitter.constant(0), one = emitter.constant(1);
  auto loop = mlir::scf::ForOp::create(b, emitter.loc(), zero, count, one, init);
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  LoopValues next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  mlir::scf::YieldOp::create(b, emitter.loc(), next);
  return LoopValues(loop.getResults());
}

/// condition ? body() : values.
inline LoopValues ifThen(ElementEmitter &emitter, mlir::Value condition, mlir::ValueRange values, llvm::function_ref<LoopValues()> body) {
  mlir::OpBuilder &b = emitter.b;
  auto ifOp = mlir::scf::IfOp::create(b, emitter.loc(), values.getTypes(), condition, /*withElseRegion=*/true);
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&ifOp.getThenRegion().front());
  LoopValues next = body();
  mlir::scf::YieldOp::create(b, emitter.loc(), next);
  b.setInsertionPointToEnd(&ifOp.getElseRegion().front());
  mlir::scf::YieldOp::create(b, emitter.loc(), values);
  return LoopValues(ifOp.getResults());
}

} // namespace weft::graph
#endif
