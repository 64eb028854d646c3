// Arithmetic that roots share: how elements are accumulated.
//
// Guarantees: f16, bf16 and fp8 accumulate in f32 and are rounded once; f32 and f64 use one explicit fma per term;
// integers wrap. Nothing else decides about precision in reductions and contractions.
#ifndef WEFT_DIALECTS_GRAPH_ARITHMETIC_H
#define WEFT_DIALECTS_GRAPH_ARITHMETIC_H

#include "mlir/IR/Builders.h"

namespace weft::graph {

/// The type that sums of elements of `elementType` (or its register type) are kept in.
mlir::Type accumulatorType(mlir::Type elementType);
/// `value` (a register value of a type that `accumulatorType` maps to `type`) in `type`. `isUnsigned`: zero-extend.
mlir::Value widen(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type type, bool isUnsigned = false);
/// An accumulator as a register value of `type`, rounded to nearest even.
mlir::Value narrow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type type);
/// x * y + z: fused for floats, wrapping for integers. Scalars or vectors.
mlir::Value multiplyAdd(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y, mlir::Value z);
/// The constant `value` of a scalar type.
mlir::Value scalarConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);

} // namespace weft::graph
#endif
