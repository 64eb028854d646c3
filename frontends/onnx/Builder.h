// Builds graph operations with ONNX's habits: broadcasting, negative axes, kept dimensions, unknown dimensions.
//
// Errors are sticky: a method that finds something wrong emits a diagnostic at the node's location, remembers it (`bad()`)
// and returns a value of the right rank, so that a rule reads as a straight line and is judged at its end.
#ifndef WEFT_FRONTENDS_ONNX_BUILDER_H
#define WEFT_FRONTENDS_ONNX_BUILDER_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/Builders.h"

namespace weft::onnx {

using graph::BinaryKind;
using graph::CompareKind;
using graph::Dims;
using graph::ReduceKind;
using graph::UnaryKind;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;
using mlir::AffineExpr;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// What outlives a node: shared by all builders of one import.
struct BuildState {
  mlir::OpBuilder builder;
  graph::Symbols &symbols;
  mlir::Block *entry = nullptr;          // constants are made at its start, so that they are visible everywhere
  mlir::Operation *lastConstant = nullptr;
  llvm::DenseSet<std::pair<mlir::Block *, AffineExpr>> checked;
  llvm::DenseSet<AffineExpr> sizes; // expressions that are dimensions of tensors, and so never negative
  bool failed = false;
};

class GraphBuilder {
public:
  GraphBuilder(BuildState &state, mlir::Location loc) : b(state.builder), syms(state.symbols), loc(loc), state(state) {}

  mlir::OpBuilder &b;
  graph::Symbols &syms;
  mlir::Location loc;
  mlir::MLIRContext *context() const { return b.getContext(); }

  /// Reports what is wrong with the node; the import goes on to find more, but gives no module.
  virtual LogicalResult error(const Twine &message);
  virtual ~GraphBuilder() = default;
  bool bad() const { return failed; }

  // Types and dimensions.
  static Type typeOf(Value x) { return llvm::cast<mlir::RankedTensorType>(x.getType()).getElementType(); }
  static Dims dimsOf(Value x) { return graph::getDims(x); }
  static int64_t rankOf(Value x) { return llvm::cast<mlir::RankedTensorType>(x.getType()).getRank(); }
  AffineExpr c(int64_t value) const { return syms.constant(value); }
  Dims constantDims(ArrayRef<int64_t> values) const;
  Type i64() const { return b.getI64Type(); }
  Type i1() const { return b.getI1Type(); }
  Type f32() const { return b.getF32Type(); }
  static bool isFloat(Value x) { return llvm::isa<mlir::FloatType>(typeOf(x)); }
  /// An axis of `rank` from ONNX's numbering (negative: from the end); an error gives 0.
  int64_t axis(int64_t axis, int64_t rank, StringRef what = "axis");
  SmallVector<int64_t> axes(ArrayRef<int64_t> axes, int64_t rank, StringRef what = "axes");
  AffineExpr product(ArrayRef<AffineExpr> dims) const;
  /// Whether the expression is never negative: by its form, or because dimensions of tensors are not.
  bool isNonNegative(AffineExpr e) const;
  void noteSizes(ArrayRef<AffineExpr> dims) { state.sizes.insert(dims.begin(), dims.end()); }
  /// Makes the run stop with `message` where a == b does not hold; an error now where it cannot hold.
  void requireEqual(AffineExpr a, AffineExpr b, const Twine &message);
  void check(AffineExpr condition, const Twine &message);
  /// Stops the run where the constraint fails; needs a boolean expression.
  AffineExpr fn(graph::SymbolFn f, ArrayRef<AffineExpr> operands) { return syms.function(f, operands); }

  // Constants.
  Value constant(mlir::ElementsAttr value);
  Value scalar(double value, Type type); // rank 0; integers too
  Value scalarLike(double value, Value x) { return scalar(value, typeOf(x)); }
  Value fill(double value, ArrayRef<AffineExpr> dims, Type type);
  Value ints(ArrayRef<int64_t> values, Type type = {});
  Value floats(ArrayRef<float> values);
  Value host(ArrayRef<AffineExpr> values, ArrayRef<int64_t> shape, Type type);
  /// `type`'s lowest or highest finite value as a rank-0 constant (-inf or +inf for floats with infinities).
  Value limit(bool lowest, Type type);

  // Elementwise; operands broadcast.
  Value unary(UnaryKind kind, Value x);
  Value binary(BinaryKind kind, Value x, Value y);
  Value compare(CompareKind kind, Value x, Value y);
  Value select(Value condition, Value x, Value y);
  Value cast(Value x, Type type, bool saturate = true);
  /// f16 and bf16 as f32, where intermediate values could overflow or lose; others stay.
  Value widen(Value x) { return typeOf(x).isF16() || typeOf(x).isBF16() ? cast(x, f32()) : x; }
  Value add(Value x, Value y) { return binary(BinaryKind::add, x, y); }
  Value sub(Value x, Value y) { return binary(BinaryKind::sub, x, y); }
  Value mul(Value x, Value y) { return binary(BinaryKind::mul, x, y); }
  Value div(Value x, Value y) { return binary(BinaryKind::div, x, y); }
  Value mul(Value x, double y) { return mul(x, scalarLike(y, x)); }
  Value add(Value x, double y) { return add(x, scalarLike(y, x)); }
  Value max(Value x, Value y) { return binary(BinaryKind::max, x, y); }
  Value min(Value x, Value y) { return binary(BinaryKind::min, x, y); }

  // Movement.
  AffineExpr broadcastDim(AffineExpr a, AffineExpr b);
  Dims broadcastDims(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b);
  Value broadcastTo(Value x, ArrayRef<AffineExpr> dims); // numpy: aligned at the last dimension
  Value broadcast(Value x, ArrayRef<AffineExpr> dims, ArrayRef<int64_t> map);
  Value reshape(Value x, ArrayRef<AffineExpr> dims);
  Value transpose(Value x, ArrayRef<int64_t> perm);
  Value unsqueeze(Value x, ArrayRef<int64_t> axes); // axes of the result, not negative
  Value squeeze(Value x, ArrayRef<int64_t> axes);
  /// [d0, ..., dn] -> [prod(d0..d(axis-1)), prod(d(axis)..dn)].
  Value flatten(Value x, int64_t axis);
  Value slice(Value x, ArrayRef<AffineExpr> starts, ArrayRef<int64_t> steps, ArrayRef<AffineExpr> dims);
  /// `size` elements from `start` along one axis.
  Value slice(Value x, int64_t axis, AffineExpr start, AffineExpr size);
  Value concat(ArrayRef<Value> xs, int64_t axis);
  /// `value` may be null except for mode constant.
  Value pad(Value x, ArrayRef<AffineExpr> low, ArrayRef<AffineExpr> high, Value value,
            graph::PadMode mode = graph::PadMode::constant);
  Value iota(ArrayRef<AffineExpr> dims, int64_t axis, Type type);
  Value gather(Value x, Value indices, int64_t axis);

  // Roots.
  Value reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims);
  Value mean(Value x, ArrayRef<int64_t> axes, bool keepDims);
  /// The number of elements along axes as a rank-0 tensor of `type`.
  Value countAlong(Value x, ArrayRef<int64_t> axes, Type type);
  Value contract(Value lhs, Value rhs); // numpy.matmul, ranks >= 1, batches broadcast
  Value softmax(Value x, int64_t axis, bool log = false);

  mlir::RankedTensorType tensor(ArrayRef<AffineExpr> dims, Type type) const { return graph::getTensorType(dims, type); }
  graph::DimsAttr dimsAttr(ArrayRef<AffineExpr> dims) const { return graph::DimsAttr::get(context(), dims); }

protected:
  BuildState &state;
  bool failed = false;
};

} // namespace weft::onnx
#endif
