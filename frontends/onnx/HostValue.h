// Small tensors whose elements the host knows: constants, dimensions, and arithmetic of such.
//
// An element is a constant or an expression over the module's symbols. Constants stay plain numbers until an attribute
// needs them, so that folding leaves no symbols behind. Integer division truncates, as in ONNX.
#ifndef WEFT_FRONTENDS_ONNX_HOSTVALUE_H
#define WEFT_FRONTENDS_ONNX_HOSTVALUE_H

#include "dialects/graph/Dims.h"

namespace weft::onnx {

/// The largest tensor that is kept as a host value.
constexpr int64_t maxHostElements = 1024;

struct Scalar {
  mlir::AffineExpr expr; // null for a constant
  int64_t integer = 0;
  double real = 0;
  bool isReal = false;

  static Scalar of(int64_t value) { return {{}, value, 0, false}; }
  static Scalar ofReal(double value) { return {{}, 0, value, true}; }
  /// Constants among the expressions become plain numbers.
  static Scalar of(mlir::AffineExpr expr, graph::Symbols &symbols);
  bool isConstant() const { return !expr; }
  mlir::AffineExpr toExpr(graph::Symbols &symbols) const;
};

struct HostTensor {
  mlir::Type elementType; // an integer type, i1, f32 or f64
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<Scalar> values; // row-major
  bool isReal() const { return llvm::isa<mlir::FloatType>(elementType); }
  bool allConstant() const {
    return llvm::all_of(values, [](const Scalar &s) { return s.isConstant(); });
  }
  graph::Dims exprs(graph::Symbols &symbols) const;
};

inline int64_t countOf(llvm::ArrayRef<int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

enum class HostFn { add, sub, mul, div, mod, fmod, min, max, eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor };
enum class HostUnary { neg, abs, floor, ceil, round, sqrt, sign, logical_not, reciprocal };

/// Arithmetic on host scalars. Floats are rounded to `type` (f32 or f64); integers wrap to it where they are constants.
/// Nothing where the result has no host form (e.g. division by a constant zero).
std::optional<Scalar> apply(HostFn fn, Scalar a, Scalar b, mlir::Type type, graph::Symbols &symbols);
std::optional<Scalar> apply(HostUnary fn, Scalar a, mlir::Type type, graph::Symbols &symbols);
std::optional<Scalar> castScalar(Scalar a, mlir::Type to, graph::Symbols &symbols);
Scalar selectScalar(Scalar condition, Scalar a, Scalar b, graph::Symbols &symbols);

} // namespace weft::onnx
#endif
