// Arithmetic on single elements: what element rules and templates emit for one value.
//
// `type` is always the element type in the graph (it knows signedness); values are in the registers' form, see
// ElementEmitter::valueType. Results are in that form too.
#ifndef WEFT_DIALECTS_GRAPH_SCALAR_H
#define WEFT_DIALECTS_GRAPH_SCALAR_H

#include "dialects/graph/Graph.h"

namespace weft::graph::scalar {

mlir::Value unary(mlir::OpBuilder &b, mlir::Location loc, UnaryKind kind, mlir::Value x, mlir::Type type);
int64_t unaryCost(UnaryKind kind);
/// `rhsType` differs from `type` only for pow.
mlir::Value binary(mlir::OpBuilder &b, mlir::Location loc, BinaryKind kind, mlir::Value x, mlir::Value y, mlir::Type type,
                   mlir::Type rhsType);
inline mlir::Value binary(mlir::OpBuilder &b, mlir::Location loc, BinaryKind kind, mlir::Value x, mlir::Value y, mlir::Type type) {
  return binary(b, loc, kind, x, y, type, type);
}
mlir::Value compare(mlir::OpBuilder &b, mlir::Location loc, CompareKind kind, mlir::Value x, mlir::Value y, mlir::Type type);
/// ONNX Cast.
mlir::Value cast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Type from, mlir::Type to, bool saturate = true);

/// A constant of the element type; `value` is rounded or truncated to it.
mlir::Value constant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);
mlir::Value integerConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, int64_t value);
/// The neutral start of a reduction over `type` (for min and max of floats: infinities).
mlir::Value reduceIdentity(mlir::OpBuilder &b, mlir::Location loc, ReduceKind kind, mlir::Type type);
/// Combines two values of the accumulation type.
mlir::Value reduceCombine(mlir::OpBuilder &b, mlir::Location loc, ReduceKind kind, mlir::Value x, mlir::Value y, mlir::Type type);
/// x * y + z, scalars or vectors: one fused operation for floats, wrapping for integers.
mlir::Value multiplyAdd(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y, mlir::Value z);
/// The type sums are kept in: f32 for f16, bf16 and fp8, else the type itself.
mlir::Type accumulatorType(mlir::Type type);
bool isUnsigned(mlir::Type type);

} // namespace weft::graph::scalar
#endif
