// What an element rule (interface ElementOp) is given to emit code with.
#ifndef WEFT_DIALECTS_GRAPH_ELEMENTEMITTER_H
#define WEFT_DIALECTS_GRAPH_ELEMENTEMITTER_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace weft::graph {

/// Where an element stands: one signless integer value of the kernel's index type (i32 or i64) per dimension, and, where
/// known, the row-major linear index (null otherwise). Rules for operations that keep dimensions pass it through; a
/// reshape passes `linear` on. At least one of the two forms is present; `ElementEmitter::multi` and `linear` make the other.
struct ElementIndex {
  llvm::SmallVector<mlir::Value, 4> multi; // empty where only `linear` is known (and for rank 0)
  mlir::Value linear;
  bool hasMulti = false;
};

using Elements = llvm::SmallVector<mlir::Value>;

/// Emits operand elements and host scalars at the builder's current point. Implementations: the fused-kernel emitter of
/// passes/tile, which follows producers inside the kernel and loads from memory at its edge.
class ElementEmitter {
public:
  ElementEmitter(mlir::OpBuilder &builder, mlir::Type indexType) : b(builder), indexType(indexType) {}
  virtual ~ElementEmitter() = default;

  /// `count` elements of operand number `operand` of the operation whose rule is running, at `index` of the operand's own
  /// dimensions and the next positions along its innermost dimension.
  virtual Elements operand(unsigned operand, const ElementIndex &index, unsigned count) = 0;
  mlir::Value operand(unsigned number, const ElementIndex &index) { return operand(number, index, 1)[0]; }

  /// A host scalar: an index-typed value for integer expressions, f64 for float symbols. Constants fold.
  virtual mlir::Value host(mlir::AffineExpr expr) = 0;

  /// An integer host scalar in 64 bits whatever the index type (its value need not be a dimension).
  virtual mlir::Value host64(mlir::AffineExpr expr);

  /// True where operand `operand` is read straight from memory, so that a run of elements may cross its innermost dimension.
  virtual bool isMemory(unsigned operand) { return false; }

  /// The registers' type for elements of `elementType`: i1 for bool, signless integers, f32 for f32, and for f16, bf16, fp8 themselves.
  static mlir::Type valueType(mlir::Type elementType);

  // Index arithmetic; constants fold where MLIR's builders fold.
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value divU(mlir::Value a, mlir::Value b); // operands are not negative
  mlir::Value remU(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value equal(mlir::Value a, mlir::Value b);
  mlir::Value lessSigned(mlir::Value a, mlir::Value b);
  /// An integer value of any width (an element of an index tensor) as index type, sign kept.
  mlir::Value toIndex(mlir::Value value, bool isUnsigned);
  /// Index `value` into a dimension of `size`: negative counts from the end; then clamped to [0, size - 1].
  mlir::Value normalizeIndex(mlir::Value value, mlir::Value size);
  /// The per-dimension form of `index` in a tensor of these dimensions.
  llvm::SmallVector<mlir::Value, 4> multi(const ElementIndex &index, llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::Value linear(const ElementIndex &index, llvm::ArrayRef<mlir::AffineExpr> dims);
  static ElementIndex at(llvm::ArrayRef<mlir::Value> multi);
  static ElementIndex atLinear(mlir::Value linear);
  /// The index `k` positions further along the innermost dimension.
  ElementIndex advance(const ElementIndex &index, unsigned k);

  mlir::OpBuilder &b;
  mlir::Type indexType;
  /// The location of the operation whose rule is running: it names the ONNX node.
  mlir::Location loc() const { return currentLoc; }

protected:
  mlir::Location currentLoc = mlir::UnknownLoc::get(b.getContext());
};

/// ElementOp::runDims of operations that do not say it themselves.
unsigned defaultRunDims(mlir::Operation *op, llvm::function_ref<unsigned(mlir::Value)> operandRunDims);

} // namespace weft::graph
#endif
