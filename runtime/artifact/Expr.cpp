// Evaluation of the plan's host expressions: see Expr.h.
#include "runtime/artifact/Expr.h"
#include <algorithm>
#include <cmath>

namespace weft {

using plan::ExprOp;

Exprs::Exprs(const plan::Plan &plan)
    : plan(plan), symbols(plan.symbols() ? plan.symbols()->size() : 0), nodes(plan.expressions() ? plan.expressions()->size() : 0) {}

void Exprs::reset() {
  std::fill(symbols.begin(), symbols.end(), SymbolValue());
  ++epoch;
}

void Exprs::setSymbol(uint32_t symbol, ExprValue value) {
  symbols[symbol] = {value, true};
  ++epoch;
}

void Exprs::clearSymbol(uint32_t symbol) {
  if (symbols[symbol].set)
    ++epoch;
  symbols[symbol] = {};
}

bool Exprs::isKnown(uint32_t expr) { return evaluate(expr).ok(); }

/// Which operands a node has: bits 0, 1, 2 for a, b, c. Of `select`, `logical_and` and `logical_or` the first alone: what
/// else they need depends on its value.
static unsigned operandsOf(ExprOp op) {
  switch (op) {
  case ExprOp::constant: case ExprOp::symbol: case ExprOp::fconst:
    return 0;
  case ExprOp::neg: case ExprOp::logical_not: case ExprOp::fneg: case ExprOp::ffloor: case ExprOp::fceil: case ExprOp::fround_even:
  case ExprOp::fsqrt: case ExprOp::f32round: case ExprOp::itof: case ExprOp::ftoi: case ExprOp::select: case ExprOp::logical_and:
  case ExprOp::logical_or:
    return 1;
  default:
    return 3;
  }
}

Status Exprs::evaluate(uint32_t expr) {
  // Operands come earlier, so an explicit stack of at most the number of nodes replaces recursion.
  std::vector<uint32_t> stack{expr};
  while (!stack.empty()) {
    uint32_t at = stack.back();
    Node &node = nodes[at];
    if (node.epoch == epoch && node.state == State::done) {
      stack.pop_back();
      continue;
    }
    const plan::ExprNode &e = *plan.expressions()->Get(at);
    unsigned operands = operandsOf(e.op());
    auto isDone = [&](uint32_t n) { return nodes[n].epoch == epoch && nodes[n].state == State::done; };
    if (e.op() == ExprOp::select && isDone(e.a()))
      operands = nodes[e.a()].value.i ? 2 : 4;
    else if (e.op() == ExprOp::logical_and && isDone(e.a()))
      operands = nodes[e.a()].value.i ? 2 : 0;
    else if (e.op() == ExprOp::logical_or && isDone(e.a()))
      operands = nodes[e.a()].value.i ? 0 : 2;
    bool ready = true;
    for (auto [bit, operand] : {std::pair<unsigned, uint32_t>{1, e.a()}, {2, e.b()}, {4, e.c()}})
      if ((operands & bit) && !isDone(operand)) {
        stack.push_back(operand);
        ready = false;
      }
    if (!ready)
      continue;
    WEFT_TRY(compute(e, node.value));
    node.state = State::done;
    node.epoch = epoch;
    stack.pop_back();
  }
  return Status::success();
}

static int64_t floorDivide(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

Status Exprs::compute(const plan::ExprNode &e, ExprValue &out) {
  const ExprValue &a = nodes[std::min<size_t>(e.a(), nodes.size() - 1)].value;
  const ExprValue &b = nodes[std::min<size_t>(e.b(), nodes.size() - 1)].value;
  const ExprValue &c = nodes[std::min<size_t>(e.c(), nodes.size() - 1)].value;
  auto checked = [](bool overflow) { return overflow ? Status::invalid("a dimension or size overflows 64 bits") : Status::success(); };
  auto isZero = [] { return Status::invalid("a shape computation divides by zero"); };
  switch (e.op()) {
  case ExprOp::constant: out.i = e.imm(); break;
  case ExprOp::symbol: {
    const SymbolValue &symbol = symbols[e.imm()];
    if (!symbol.set) {
      auto *name = plan.symbols()->Get(e.imm())->name();
      return Status::invalid("the value of symbol " + std::to_string(e.imm()) + (name && name->size() ? " ('" + name->str() + "')" : "") + " is not known");
    }
    out = symbol.value;
    break;
  }
  case ExprOp::add: return checked(__builtin_add_overflow(a.i, b.i, &out.i));
  case ExprOp::sub: return checked(__builtin_sub_overflow(a.i, b.i, &out.i));
  case ExprOp::mul: return checked(__builtin_mul_overflow(a.i, b.i, &out.i));
  case ExprOp::floordiv: case ExprOp::ceildiv: case ExprOp::mod:
    if (b.i == 0)
      return isZero();
    if (b.i == -1)
      return e.op() == ExprOp::mod ? (out.i = 0, Status::success()) : checked(__builtin_sub_overflow(int64_t(0), a.i, &out.i));
    out.i = e.op() == ExprOp::floordiv ? floorDivide(a.i, b.i)
            : e.op() == ExprOp::mod    ? a.i - floorDivide(a.i, b.i) * b.i
                                       : floorDivide(a.i, b.i) + (a.i % b.i != 0);
    break;
  case ExprOp::min: out.i = std::min(a.i, b.i); break;
  case ExprOp::max: out.i = std::max(a.i, b.i); break;
  case ExprOp::neg: return checked(__builtin_sub_overflow(int64_t(0), a.i, &out.i));
  case ExprOp::eq: out.i = a.i == b.i; break;
  case ExprOp::ne: out.i = a.i != b.i; break;
  case ExprOp::lt: out.i = a.i < b.i; break;
  case ExprOp::le: out.i = a.i <= b.i; break;
  case ExprOp::logical_and: out.i = a.i ? b.i != 0 : 0; break;
  case ExprOp::logical_or: out.i = a.i ? 1 : b.i != 0; break;
  case ExprOp::logical_not: out.i = !a.i; break;
  case ExprOp::select: out = a.i ? b : c; break;
  case ExprOp::fconst: {
    int64_t bits = e.imm();
    __builtin_memcpy(&out.f, &bits, 8);
    break;
  }
  case ExprOp::fadd: out.f = a.f + b.f; break;
  case ExprOp::fsub: out.f = a.f - b.f; break;
  case ExprOp::fmul: out.f = a.f * b.f; break;
  case ExprOp::fdiv: out.f = a.f / b.f; break;
  case ExprOp::fmin: out.f = std::fmin(a.f, b.f); break;
  case ExprOp::fmax: out.f = std::fmax(a.f, b.f); break;
  case ExprOp::fneg: out.f = -a.f; break;
  case ExprOp::ffloor: out.f = std::floor(a.f); break;
  case ExprOp::fceil: out.f = std::ceil(a.f); break;
  case ExprOp::fround_even: out.f = std::nearbyint(a.f); break;
  case ExprOp::fsqrt: out.f = std::sqrt(a.f); break;
  case ExprOp::feq: out.i = a.f == b.f; break;
  case ExprOp::flt: out.i = a.f < b.f; break;
  case ExprOp::fle: out.i = a.f <= b.f; break;
  case ExprOp::f32round: out.f = double(float(a.f)); break;
  case ExprOp::itof: out.f = double(a.i); break;
  case ExprOp::ftoi:
    if (!(std::abs(a.f) < 9.2e18))
      return Status::invalid("a shape computation converts a float that does not fit an integer");
    out.i = int64_t(a.f);
    break;
  }
  return Status::success();
}

Status Exprs::get(uint32_t expr, int64_t &value) {
  WEFT_TRY(evaluate(expr));
  value = nodes[expr].value.i;
  return Status::success();
}

Status Exprs::getFloat(uint32_t expr, double &value) {
  WEFT_TRY(evaluate(expr));
  value = nodes[expr].value.f;
  return Status::success();
}

} // namespace weft
