// The templates: how kernels of each kind of root spread their work over threads.
//
// A template is one function. It is called once per kernel and calls `KernelContext::emit` with the body; the context runs
// that once per variant, and records the launches. Registering one: a row in Templates.cpp.
#ifndef WEFT_PASSES_TILE_TEMPLATES_TEMPLATES_H
#define WEFT_PASSES_TILE_TEMPLATES_TEMPLATES_H

#include "passes/tile/KernelEmitter.h"

namespace weft {

/// One graph.kernel on its way to tile.kernels.
class KernelContext {
public:
  KernelContext(graph::KernelOp kernel, mlir::Operation *root, graph::Symbols &symbols, mlir::OpBuilder &builder)
      : kernel(kernel), root(root), symbols(symbols), b(builder) {}

  /// Runs `body` for each variant that the kernel may need. `body` emits at the builder's point, which stands in an empty
  /// tile.kernel before its return, and fills in `emitter.launch` (grid at least).
  mlir::LogicalResult emit(llvm::function_ref<mlir::LogicalResult(KernelEmitter &emitter)> body);

  /// True where a tensor of the kernel may stand in memory that the caller gives, at any address its elements allow.
  bool maybeUnaligned() const;

  graph::KernelOp kernel;
  mlir::Operation *const root; // null for a kernel of element operations only
  graph::Symbols &symbols;

private:
  /// Emits one variant; null where it is skipped.
  mlir::FailureOr<mlir::DictionaryAttr> emitVariant(Variant variant, llvm::function_ref<mlir::LogicalResult(KernelEmitter &)> body);
  graph::Dims indexGuards() const;

  mlir::OpBuilder &b;
  KernelScalars scalars;
  llvm::SmallVector<mlir::Type> workspaceTypes;
  llvm::SmallVector<tile::KernelOp> made;
};

using Template = mlir::LogicalResult (*)(KernelContext &);

/// The template for kernels with this root; the elementwise one where there is none.
Template findTemplate(mlir::Operation *root);

/// One linear run of elements per thread: elementwise chains, movement, and (one element per thread) any root by its rule.
mlir::LogicalResult emitElementwise(KernelContext &context);

} // namespace weft
#endif
