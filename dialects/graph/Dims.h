// Dimensions of tensors as expressions over symbols.
//
// Guarantees: expressions are canonical (affine simplification), so equal dimensions compare equal as AffineExpr.
// What affine expressions cannot say (min, select, products of symbols, floats) is a derived symbol with a definition.
#ifndef WEFT_DIALECTS_GRAPH_DIMS_H
#define WEFT_DIALECTS_GRAPH_DIMS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace weft::graph {

class DimsAttr;
class SymbolAttr;
enum class SymbolFn : uint32_t;
enum class SymbolKind : uint32_t;

using Dims = llvm::SmallVector<mlir::AffineExpr, 4>;

/// The dimensions of `type`: constants where static, else the expressions of its encoding.
Dims getDims(mlir::RankedTensorType type);
Dims getDims(mlir::Value value);
/// The tensor type with these dimensions; the encoding is left out where all are constants.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type elementType);
/// The same dimensions, another element type.
mlir::RankedTensorType withElementType(mlir::RankedTensorType type, mlir::Type elementType);

/// The value of a constant expression.
std::optional<int64_t> getConstant(mlir::AffineExpr expr);
bool isConstant(mlir::AffineExpr expr, int64_t value);
bool sameDims(mlir::RankedTensorType a, mlir::RankedTensorType b);
/// The canonical form: a sum of products with sorted factors, so that equal polynomials are one AffineExpr.
mlir::AffineExpr canonicalize(mlir::AffineExpr expr);
/// a / b where b divides a as a polynomial (b is not 0 at run time), else null.
mlir::AffineExpr divideExactly(mlir::AffineExpr a, mlir::AffineExpr b);
/// Product of all dimensions.
mlir::AffineExpr product(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::MLIRContext *context);

/// The module's symbols (attribute `graph.symbols`) while they are being read or added to. Changes are written to the
/// module by `commit` (also called by the destructor). Create one per import or pass; symbols are never removed.
class Symbols {
public:
  explicit Symbols(mlir::ModuleOp module);
  ~Symbols();
  Symbols(const Symbols &) = delete;

  /// Symbol number `n` as an expression.
  mlir::AffineExpr expr(unsigned n) const;
  /// Dimension `index` of argument `input`; a non-empty ONNX `dim_param` name gives the same symbol for every use.
  mlir::AffineExpr inputDim(unsigned input, unsigned index, llvm::StringRef name);
  /// Element `index` of argument `input`, a host read of an input of few elements.
  mlir::AffineExpr inputElement(unsigned input, unsigned index, bool isFloat);
  /// A fresh symbol that some operation defines at run time.
  mlir::AffineExpr defined(llvm::StringRef name, bool isFloat = false);
  /// `fn` of the operands: folded where they are constants, simplified where an identity holds, else the derived symbol.
  mlir::AffineExpr function(SymbolFn fn, llvm::ArrayRef<mlir::AffineExpr> operands);
  mlir::AffineExpr floatConstant(double value);

  // Integer arithmetic that stays affine where it can. Division rounds towards minus infinity.
  mlir::AffineExpr add(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr sub(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr mul(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr floorDiv(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr ceilDiv(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr mod(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr min(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr max(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr select(mlir::AffineExpr condition, mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr constant(int64_t value) const;

  /// A lower bound that holds for every run (dimensions are >= 0), if one is known.
  std::optional<int64_t> lowerBound(mlir::AffineExpr expr) const;
  bool isFloat(mlir::AffineExpr expr) const;
  std::optional<double> getFloatConstant(mlir::AffineExpr expr) const;

  unsigned size() const { return symbols.size(); }
  SymbolAttr operator[](unsigned n) const;
  void commit();

private:
  unsigned append(SymbolAttr symbol);
  mlir::ModuleOp module;
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::Attribute> symbols;
  llvm::DenseMap<mlir::Attribute, unsigned> numbers; // function and input symbols by definition
  bool changed = false;
};

} // namespace weft::graph
#endif
