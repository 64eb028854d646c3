// Host expressions of the plan: see Expressions.h.
#include "codegen/artifact/Expressions.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {
using plan::ExprOp;

Expressions::Expressions(ModuleOp module) : context(module.getContext()), symbols(module) {
  for (unsigned n = 0; n < symbols.size(); ++n) {
    SymbolKind kind = symbols[n].getKind();
    if (kind != SymbolKind::function && kind != SymbolKind::fconstant)
      numbers.try_emplace(n, numbers.size());
  }
}

std::vector<std::unique_ptr<plan::SymbolT>> Expressions::getSymbols() const {
  std::vector<std::unique_ptr<plan::SymbolT>> result(numbers.size());
  for (auto [n, number] : numbers) {
    auto made = std::make_unique<plan::SymbolT>();
    SymbolAttr symbol = symbols[n];
    made->name = symbol.getName().str();
    made->kind = symbol.getKind() == SymbolKind::input_dim       ? plan::SymbolKind::input_dim
                 : symbol.getKind() == SymbolKind::input_element ? plan::SymbolKind::input_element
                                                                 : plan::SymbolKind::defined;
    made->input = symbol.getInput();
    made->index = symbol.getIndex();
    made->is_float = symbol.getIsFloat();
    result[number] = std::move(made);
  }
  return result;
}

uint32_t Expressions::add(ExprOp op, uint32_t a, uint32_t b, uint32_t c, int64_t imm) {
  auto [it, isNew] = unique.try_emplace({op, a, b, c, imm}, nodes.size());
  if (isNew)
    nodes.push_back(plan::ExprNode(op, a, b, c, imm));
  return it->second;
}

uint32_t Expressions::constant(int64_t value) { return add(ExprOp::constant, 0, 0, 0, value); }

static ExprOp opOf(SymbolFn fn) {
  switch (fn) {
  case SymbolFn::none: break;
  case SymbolFn::min: return ExprOp::min;
  case SymbolFn::max: return ExprOp::max;
  case SymbolFn::eq: return ExprOp::eq;
  case SymbolFn::ne: return ExprOp::ne;
  case SymbolFn::lt: return ExprOp::lt;
  case SymbolFn::le: return ExprOp::le;
  case SymbolFn::logical_and: return ExprOp::logical_and;
  case SymbolFn::logical_or: return ExprOp::logical_or;
  case SymbolFn::logical_not: return ExprOp::logical_not;
  case SymbolFn::select: case SymbolFn::fselect: return ExprOp::select;
  case SymbolFn::mul: return ExprOp::mul;
  case SymbolFn::floordiv: return ExprOp::floordiv;
  case SymbolFn::mod: return ExprOp::mod;
  case SymbolFn::fadd: return ExprOp::fadd;
  case SymbolFn::fsub: return ExprOp::fsub;
  case SymbolFn::fmul: return ExprOp::fmul;
  case SymbolFn::fdiv: return ExprOp::fdiv;
  case SymbolFn::fmin: return ExprOp::fmin;
  case SymbolFn::fmax: return ExprOp::fmax;
  case SymbolFn::fneg: return ExprOp::fneg;
  case SymbolFn::ffloor: return ExprOp::ffloor;
  case SymbolFn::fceil: return ExprOp::fceil;
  case SymbolFn::fround_even: return ExprOp::fround_even;
  case SymbolFn::fsqrt: return ExprOp::fsqrt;
  case SymbolFn::feq: return ExprOp::feq;
  case SymbolFn::flt: return ExprOp::flt;
  case SymbolFn::fle: return ExprOp::fle;
  case SymbolFn::f32round: return ExprOp::f32round;
  case SymbolFn::itof: return ExprOp::itof;
  case SymbolFn::ftoi: return ExprOp::ftoi;
  }
  llvm_unreachable("a function symbol has a function");
}

uint32_t Expressions::functionNode(SymbolAttr symbol) {
  if (symbol.getKind() == SymbolKind::fconstant)
    return add(ExprOp::fconst, 0, 0, 0, llvm::bit_cast<int64_t>(symbol.getValue().getValueAsDouble()));
  uint32_t operands[3] = {0, 0, 0};
  for (auto [i, operand] : llvm::enumerate(symbol.getOperands().getExprs()))
    operands[i] = node(operand);
  return add(opOf(symbol.getFn()), operands[0], operands[1], operands[2]);
}

uint32_t Expressions::node(AffineExpr expr) {
  if (auto it = known.find(expr); it != known.end())
    return it->second;
  uint32_t result;
  if (auto value = getConstant(expr)) {
    result = constant(*value);
  } else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    unsigned n = symbol.getPosition();
    auto it = numbers.find(n);
    result = it == numbers.end() ? functionNode(symbols[n]) : add(ExprOp::symbol, 0, 0, 0, it->second);
  } else {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    uint32_t a = node(binary.getLHS()), b = node(binary.getRHS());
    ExprOp op = binary.getKind() == AffineExprKind::Add        ? ExprOp::add
                : binary.getKind() == AffineExprKind::Mul      ? ExprOp::mul
                : binary.getKind() == AffineExprKind::FloorDiv ? ExprOp::floordiv
                : binary.getKind() == AffineExprKind::CeilDiv  ? ExprOp::ceildiv
                                                               : ExprOp::mod;
    result = add(op, a, b);
  }
  known[expr] = result;
  return result;
}

} // namespace weft
