// Shapes without running: binding symbols, describing outputs and memory, printing expressions.
#include "runtime/Session.h"
#include "runtime/artifact/Packer.h"

namespace weft {

static std::string dimName(const plan::InputOutput &input, uint32_t d) {
  std::string name = input.dim_names() && d < input.dim_names()->size() ? input.dim_names()->Get(d)->str() : "";
  return "dimension " + std::to_string(d) + (name.empty() ? "" : " ('" + name + "')");
}

Status bindShapes(const plan::Plan &plan, const std::vector<std::vector<int64_t>> &shapes, Exprs &exprs) {
  auto &inputs = *plan.inputs();
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (uint32_t rank = inputs.Get(i)->dims() ? inputs.Get(i)->dims()->size() : 0; shapes[i].size() != rank)
      return Status::invalid("input " + inputs.Get(i)->name()->str() + ": expected rank " + std::to_string(rank) + ", found shape " + shapeText(shapes[i]));
  for (uint32_t s = 0; s < plan.symbols()->size(); ++s)
    if (const plan::Symbol &symbol = *plan.symbols()->Get(s); symbol.kind() == plan::SymbolKind::input_dim)
      exprs.setSymbol(s, {shapes[symbol.input()][symbol.index()], 0});
  for (uint32_t i = 0; i < inputs.size(); ++i)
    for (uint32_t d = 0; d < shapes[i].size(); ++d) {
      int64_t expected;
      if (shapes[i][d] < 0)
        return Status::invalid("input " + inputs.Get(i)->name()->str() + ": " + dimName(*inputs.Get(i), d) + " is negative");
      if (exprs.get(inputs.Get(i)->dims()->Get(d), expected).ok() && expected != shapes[i][d])
        return Status::invalid("input " + inputs.Get(i)->name()->str() + ": " + dimName(*inputs.Get(i), d) + " should be " + std::to_string(expected) +
                               ", found " + std::to_string(shapes[i][d]) + " (shape " + shapeText(shapes[i]) + ")");
    }
  return Status::success();
}

/// Marks the symbols whose value only a run can tell.
static void markRunDefined(const plan::Plan &plan, uint32_t block, bool inLoop, std::vector<bool> &marked) {
  for (const plan::Instruction *instruction : *plan.blocks()->Get(block)->instructions())
    if (auto *set = instruction->op_as_SetSymbol()) {
      if (inLoop)
        marked[set->symbol()] = true;
    } else if (auto *read = instruction->op_as_ReadBack()) {
      for (uint32_t symbol : *read->symbols())
        marked[symbol] = true;
    } else if (auto *branch = instruction->op_as_If()) {
      markRunDefined(plan, branch->then_block(), inLoop, marked);
      markRunDefined(plan, branch->else_block(), inLoop, marked);
    } else if (auto *loop = instruction->op_as_Loop()) {
      marked[loop->iteration()] = true;
      markRunDefined(plan, loop->body(), true, marked);
    }
}

static void foldBlock(const plan::Plan &plan, uint32_t block, const std::vector<bool> &marked, Exprs &exprs) {
  for (const plan::Instruction *instruction : *plan.blocks()->Get(block)->instructions())
    if (auto *set = instruction->op_as_SetSymbol()) {
      ExprValue value;
      bool isReal = plan.symbols()->Get(set->symbol())->is_float();
      if (!marked[set->symbol()] && (isReal ? exprs.getFloat(set->expr(), value.f) : exprs.get(set->expr(), value.i)).ok())
        exprs.setSymbol(set->symbol(), value);
    } else if (auto *branch = instruction->op_as_If()) {
      int64_t condition;
      if (exprs.get(branch->condition(), condition).ok())
        foldBlock(plan, condition ? branch->then_block() : branch->else_block(), marked, exprs);
    }
}

void foldSymbols(const plan::Plan &plan, Exprs &exprs) {
  std::vector<bool> marked(plan.symbols()->size(), false);
  markRunDefined(plan, 0, false, marked);
  foldBlock(plan, 0, marked, exprs);
}

Status describeShapes(const plan::Plan &plan, const std::map<std::string, std::vector<int64_t>> &shapes, uint64_t &arenaBytes,
                      uint64_t &liveBytes, std::vector<std::vector<int64_t>> &outputShapes) {
  std::vector<std::vector<int64_t>> ordered;
  for (const plan::InputOutput *input : *plan.inputs()) {
    std::vector<int64_t> shape;
    if (auto it = shapes.find(input->name()->str()); it != shapes.end()) {
      shape = it->second;
    } else if (input->default_constant() >= 0 && input->default_dims()) {
      shape.assign(input->default_dims()->begin(), input->default_dims()->end());
    } else {
      // Inputs of constant shape need not be named.
      Exprs none(plan);
      for (uint32_t d = 0; input->dims() && d < input->dims()->size(); ++d) {
        int64_t value;
        if (!none.get(input->dims()->Get(d), value).ok())
          return Status::invalid("--shape is missing for input " + input->name()->str());
        shape.push_back(value);
      }
    }
    ordered.push_back(shape);
  }
  for (auto &[name, shape] : shapes) {
    bool known = false;
    for (const plan::InputOutput *input : *plan.inputs())
      known |= input->name()->str() == name;
    if (!known)
      return Status::invalid("the model has no input named " + name);
  }
  Exprs exprs(plan);
  WEFT_TRY(bindShapes(plan, ordered, exprs));
  foldSymbols(plan, exprs);
  std::vector<PackItem> items;
  uint64_t total = 0;
  for (const plan::Tensor *tensor : *plan.tensors()) {
    int64_t bytes;
    if (tensor->storage() != plan::Storage::arena || tensor->block() != 0 || !exprs.get(tensor->bytes(), bytes).ok() || bytes < 0)
      continue;
    if (__builtin_add_overflow(total, uint64_t(bytes) + 512, &total) || total > (uint64_t(1) << 62))
      return Status::machine("the model's tensors have more bytes than any memory at these shapes");
    items.push_back({uint64_t(bytes), tensor->first_use(), tensor->last_use()});
  }
  Packing packing = pack(items);
  arenaBytes = packing.peak;
  liveBytes = packing.lowerBound;
  for (const plan::InputOutput *output : *plan.outputs()) {
    auto &shape = outputShapes.emplace_back();
    for (uint32_t d = 0; output->dims() && d < output->dims()->size(); ++d) {
      int64_t value;
      shape.push_back(exprs.get(output->dims()->Get(d), value).ok() ? value : -1);
    }
  }
  return Status::success();
}

/// `budget` bounds the text: a shared subexpression is written out wherever it is used.
static std::string print(const plan::Plan &plan, uint32_t expr, unsigned depth, unsigned &budget) {
  using plan::ExprOp;
  if (depth == 0 || budget == 0)
    return "...";
  --budget;
  const plan::ExprNode &e = *plan.expressions()->Get(expr);
  auto sub = [&](uint32_t n) { return print(plan, n, depth - 1, budget); };
  auto infix = [&](const char *op) { return "(" + sub(e.a()) + " " + op + " " + sub(e.b()) + ")"; };
  auto call = [&](const char *name, int operands) {
    return std::string(name) + "(" + sub(e.a()) + (operands > 1 ? ", " + sub(e.b()) : "") + (operands > 2 ? ", " + sub(e.c()) : "") + ")";
  };
  switch (e.op()) {
  case ExprOp::constant: return std::to_string(e.imm());
  case ExprOp::symbol: {
    auto *name = plan.symbols()->Get(e.imm())->name();
    return name && name->size() ? name->str() : "s" + std::to_string(e.imm());
  }
  case ExprOp::add: return infix("+");
  case ExprOp::sub: return infix("-");
  case ExprOp::mul: return infix("*");
  case ExprOp::floordiv: return infix("floordiv");
  case ExprOp::ceildiv: return infix("ceildiv");
  case ExprOp::mod: return infix("mod");
  case ExprOp::eq: case ExprOp::feq: return infix("==");
  case ExprOp::ne: return infix("!=");
  case ExprOp::lt: case ExprOp::flt: return infix("<");
  case ExprOp::le: case ExprOp::fle: return infix("<=");
  case ExprOp::logical_and: return infix("and");
  case ExprOp::logical_or: return infix("or");
  case ExprOp::logical_not: return call("not", 1);
  case ExprOp::min: case ExprOp::fmin: return call("min", 2);
  case ExprOp::max: case ExprOp::fmax: return call("max", 2);
  case ExprOp::neg: case ExprOp::fneg: return "-" + sub(e.a());
  case ExprOp::select: return call("select", 3);
  case ExprOp::fconst: {
    double value;
    int64_t bits = e.imm();
    __builtin_memcpy(&value, &bits, 8);
    return std::to_string(value);
  }
  case ExprOp::fadd: return infix("+");
  case ExprOp::fsub: return infix("-");
  case ExprOp::fmul: return infix("*");
  case ExprOp::fdiv: return infix("/");
  case ExprOp::ffloor: return call("floor", 1);
  case ExprOp::fceil: return call("ceil", 1);
  case ExprOp::fround_even: return call("round", 1);
  case ExprOp::fsqrt: return call("sqrt", 1);
  case ExprOp::f32round: return call("float", 1);
  case ExprOp::itof: return sub(e.a());
  case ExprOp::ftoi: return call("int", 1);
  }
  return "?";
}

std::string exprToString(const plan::Plan &plan, uint32_t expr) {
  unsigned budget = 300;
  return print(plan, expr, /*depth=*/40, budget);
}

} // namespace weft
