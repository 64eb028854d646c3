// Host expressions of the plan: from affine expressions over graph.symbols to the schema's nodes.
//
// Guarantees: equal expressions have one node; operands come before their users; only symbols that are read from inputs or set at run time
// become the plan's symbols, numbered densely in order of their number in graph.symbols.
#ifndef WEFT_CODEGEN_ARTIFACT_EXPRESSIONS_H
#define WEFT_CODEGEN_ARTIFACT_EXPRESSIONS_H

#include "codegen/artifact/Plan_generated.h"
#include "dialects/graph/Graph.h"
#include <map>

namespace weft {

class Expressions {
public:
  explicit Expressions(mlir::ModuleOp module);

  /// The node of an integer expression or a float symbol.
  uint32_t node(mlir::AffineExpr expr);
  uint32_t constant(int64_t value);
  /// The plan's number of symbol `n` of graph.symbols, which is no function.
  uint32_t symbol(unsigned n) const { return numbers.lookup(n); }
  bool isFloat(mlir::AffineExpr expr) const { return symbols.isFloat(expr); }
  llvm::ArrayRef<plan::ExprNode> getNodes() const { return nodes; }
  std::vector<std::unique_ptr<plan::SymbolT>> getSymbols() const;
  mlir::MLIRContext *getContext() const { return context; }

private:
  uint32_t add(plan::ExprOp op, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0, int64_t imm = 0);
  uint32_t functionNode(graph::SymbolAttr symbol);

  mlir::MLIRContext *context;
  graph::Symbols symbols;
  llvm::DenseMap<unsigned, uint32_t> numbers;
  llvm::DenseMap<mlir::AffineExpr, uint32_t> known;
  std::map<std::tuple<plan::ExprOp, uint32_t, uint32_t, uint32_t, int64_t>, uint32_t> unique;
  std::vector<plan::ExprNode> nodes;
};

} // namespace weft
#endif
