// Validation of a plan: every number refers to something that exists. After it, readers index without checks.
#include "runtime/artifact/Reader.h"
#include <vector>

namespace weft {

namespace {
template <typename T> uint32_t count(const flatbuffers::Vector<T> *vector) { return vector ? vector->size() : 0; }

class Validator {
public:
  Validator(const plan::Plan &plan, uint64_t imagesSize, uint64_t constantsSize)
      : plan(plan), imagesSize(imagesSize), constantsSize(constantsSize) {}

  Status run() {
    for (bool missing : {!plan.expressions(), !plan.symbols(), !plan.inputs(), !plan.outputs(), !plan.tensors(), !plan.constants(), !plan.kernels(),
                         !plan.images(), !plan.blocks(), !plan.targets()})
      if (missing)
        return bad("a list is missing");
    WEFT_TRY(expressions());
    WEFT_TRY(symbols());
    WEFT_TRY(constants());
    WEFT_TRY(tensors());
    WEFT_TRY(ends());
    WEFT_TRY(images());
    WEFT_TRY(kernels());
    return blocks();
  }

private:
  static Status bad(const std::string &what) { return Status::invalid("the plan is not valid: " + what); }
  static Status bad(const char *kind, uint32_t number, const std::string &what) {
    return bad(std::string(kind) + " " + std::to_string(number) + ": " + what);
  }
  bool isExpr(uint32_t n) const { return n < plan.expressions()->size(); }
  bool isSymbol(uint64_t n) const { return n < plan.symbols()->size(); }
  bool isTensor(uint32_t n) const { return n < plan.tensors()->size(); }
  static bool isType(plan::ElementType type) { return type > plan::ElementType::undefined && type <= plan::ElementType::MAX; }

  Status expressions() {
    using plan::ExprOp;
    for (uint32_t i = 0; i < plan.expressions()->size(); ++i) {
      const plan::ExprNode &e = *plan.expressions()->Get(i);
      if (uint8_t(e.op()) > uint8_t(ExprOp::MAX))
        return bad("expression", i, "unknown operator");
      if (e.op() == ExprOp::symbol && !isSymbol(uint64_t(e.imm())))
        return bad("expression", i, "unknown symbol");
      bool leaf = e.op() == ExprOp::constant || e.op() == ExprOp::symbol || e.op() == ExprOp::fconst;
      // Unused operands are 0, which only the first node may not name.
      if (!leaf && (e.a() >= i || e.b() >= i || e.c() >= i))
        return bad("expression", i, "refers to a later one");
    }
    return Status::success();
  }

  Status symbols() {
    for (uint32_t i = 0; i < plan.symbols()->size(); ++i) {
      const plan::Symbol &symbol = *plan.symbols()->Get(i);
      if (uint8_t(symbol.kind()) > uint8_t(plan::SymbolKind::MAX))
        return bad("symbol", i, "unknown kind");
      if (symbol.kind() == plan::SymbolKind::defined)
        continue;
      if (symbol.input() >= plan.inputs()->size())
        return bad("symbol", i, "unknown input");
      const plan::InputOutput &input = *plan.inputs()->Get(symbol.input());
      if (symbol.kind() == plan::SymbolKind::input_dim && symbol.index() >= count(input.dims()))
        return bad("symbol", i, "its input has no such dimension");
    }
    return Status::success();
  }

  Status constants() {
    for (uint32_t i = 0; i < plan.constants()->size(); ++i) {
      const plan::Constant &constant = *plan.constants()->Get(i);
      if (constant.offset() > constantsSize || constant.bytes() > constantsSize - constant.offset() ||
          constant.offset() % artifact::constantAlignment)
        return bad("constant", i, "lies outside its section");
    }
    for (uint32_t i = 0; i < plan.inputs()->size(); ++i)
      if (plan.inputs()->Get(i)->default_constant() >= int64_t(plan.constants()->size()))
        return bad("input", i, "unknown constant as its default");
    return Status::success();
  }

  Status tensors() {
    for (uint32_t i = 0; i < plan.tensors()->size(); ++i) {
      const plan::Tensor &t = *plan.tensors()->Get(i);
      if (!isType(t.type()) || !isExpr(t.bytes()))
        return bad("tensor", i, "its type or size does not exist");
      for (uint32_t d = 0; d < count(t.dims()); ++d)
        if (!isExpr(t.dims()->Get(d)))
          return bad("tensor", i, "a dimension does not exist");
      switch (t.storage()) {
      case plan::Storage::input: if (t.index() >= plan.inputs()->size()) return bad("tensor", i, "unknown input"); break;
      case plan::Storage::output: if (t.index() >= plan.outputs()->size()) return bad("tensor", i, "unknown output"); break;
      case plan::Storage::constant: if (t.index() >= plan.constants()->size()) return bad("tensor", i, "unknown constant"); break;
      case plan::Storage::arena: if (t.block() >= plan.blocks()->size() || t.first_use() > t.last_use()) return bad("tensor", i, "impossible lifetime"); break;
      case plan::Storage::view: if (!isTensor(t.index()) || !isExpr(t.offset()) || t.index() == i) return bad("tensor", i, "a view of nothing"); break;
      default: return bad("tensor", i, "unknown storage");
      }
    }
    // Views end at something that is none.
    for (uint32_t i = 0; i < plan.tensors()->size(); ++i) {
      uint32_t at = i, steps = 0;
      while (plan.tensors()->Get(at)->storage() == plan::Storage::view) {
        at = plan.tensors()->Get(at)->index();
        if (++steps > 64)
          return bad("tensor", i, "a chain of views without end");
      }
    }
    return Status::success();
  }

  Status ends() {
    auto check = [&](const char *kind, const auto *list) {
      for (uint32_t i = 0; i < list->size(); ++i) {
        const plan::InputOutput &end = *list->Get(i);
        if (!end.name() || !isType(end.type()) || !isTensor(end.tensor()) || count(end.dims()) > 64)
          return bad(kind, i, "its name, type or tensor is missing");
        for (uint32_t d = 0; d < count(end.dims()); ++d)
          if (!isExpr(end.dims()->Get(d)))
            return bad(kind, i, "a dimension does not exist");
        if (end.alias_input() >= int64_t(plan.inputs()->size()))
          return bad(kind, i, "an alias of no input");
      }
      return Status::success();
    };
    WEFT_TRY(check("input", plan.inputs()));
    return check("output", plan.outputs());
  }

  Status images() {
    for (uint32_t i = 0; i < plan.images()->size(); ++i) {
      const plan::Image &image = *plan.images()->Get(i);
      if (!image.target() || image.offset() > imagesSize || image.bytes() > imagesSize - image.offset() || image.module_() > (1u << 20))
        return bad("image", i, "lies outside its section");
    }
    return Status::success();
  }

  Status kernels() {
    for (uint32_t i = 0; i < plan.kernels()->size(); ++i) {
      const plan::Kernel &kernel = *plan.kernels()->Get(i);
      if (!count(kernel.variants()))
        return bad("kernel", i, "has no variant");
      for (const plan::Variant *v : *kernel.variants()) {
        uint64_t threads = uint64_t(v->block_x()) * v->block_y() * v->block_z();
        if (!v->entry() || !isExpr(v->grid_x()) || !isExpr(v->grid_y()) || !isExpr(v->grid_z()) || !isExpr(v->dynamic_shared()) ||
            (v->guard() >= 0 && !isExpr(uint32_t(v->guard()))) || v->block_x() > 1024 || v->block_y() > 1024 || v->block_z() > 64 || threads < 1 ||
            threads > 1024)
          return bad("kernel", i, "a variant's entry, guard, grid or block is impossible");
      }
      if (kernel.variants()->Get(kernel.variants()->size() - 1)->guard() >= 0)
        return bad("kernel", i, "its last variant has a guard");
    }
    return Status::success();
  }

  Status blocks() {
    used.assign(plan.blocks()->size(), false);
    if (used.empty())
      return bad("it has no block");
    for (uint32_t i = 0; i < plan.blocks()->size(); ++i)
      if (!plan.blocks()->Get(i)->instructions())
        return bad("block", i, "has no instruction list");
    for (uint32_t i = 0; i < plan.tensors()->size(); ++i) {
      const plan::Tensor &t = *plan.tensors()->Get(i);
      if (t.storage() == plan::Storage::arena && t.last_use() > plan.blocks()->Get(t.block())->instructions()->size())
        return bad("tensor", i, "outlives its block");
    }
    return block(0, 0);
  }

  Status block(uint32_t number, unsigned depth) {
    if (number >= used.size() || used[number] || depth > 64)
      return bad("block", number, "blocks do not form a tree");
    used[number] = true;
    for (const plan::Instruction *instruction : *plan.blocks()->Get(number)->instructions())
      WEFT_TRY(this->instruction(*instruction, number, depth));
    return Status::success();
  }

  Status launch(const plan::Launch &op, uint32_t number) {
    if (op.kernel() >= plan.kernels()->size() || count(op.args()) > 1024)
      return bad("block", number, "a launch of no kernel");
    for (uint32_t i = 0; i < count(op.args()); ++i) {
      const plan::Arg &arg = *op.args()->Get(i);
      if (arg.kind() == plan::ArgKind::tensor ? !isTensor(arg.tensor()) : arg.kind() != plan::ArgKind::scalar || !isExpr(arg.expr()))
        return bad("block", number, "a launch's argument does not exist");
    }
    for (const plan::Variant *variant : *plan.kernels()->Get(op.kernel())->variants())
      for (uint32_t i = 0; i < count(variant->aligned()); ++i) {
        uint32_t arg = variant->aligned()->Get(i);
        if (arg >= count(op.args()) || op.args()->Get(arg)->kind() != plan::ArgKind::tensor)
          return bad("block", number, "a variant's alignment names no pointer");
      }
    return Status::success();
  }

  Status instruction(const plan::Instruction &instruction, uint32_t number, unsigned depth) {
    if (!instruction.op())
      return bad("block", number, "an empty instruction");
    switch (instruction.op_type()) {
    case plan::Op::Launch:
      return launch(*instruction.op_as_Launch(), number);
    case plan::Op::Copy: {
      auto *op = instruction.op_as_Copy();
      return isTensor(op->source()) && isTensor(op->target()) ? Status::success() : bad("block", number, "a copy of no tensor");
    }
    case plan::Op::Fill:
      return isTensor(instruction.op_as_Fill()->target()) ? Status::success() : bad("block", number, "a fill of no tensor");
    case plan::Op::ReadBack: {
      auto *op = instruction.op_as_ReadBack();
      if (!isTensor(op->source()) || !count(op->symbols()))
        return bad("block", number, "a read-back of no tensor");
      for (uint32_t symbol : *op->symbols())
        if (!isSymbol(symbol) || plan.symbols()->Get(symbol)->kind() != plan::SymbolKind::defined)
          return bad("block", number, "a read-back into no symbol");
      return Status::success();
    }
    case plan::Op::SetSymbol: {
      auto *op = instruction.op_as_SetSymbol();
      bool fine = isSymbol(op->symbol()) && plan.symbols()->Get(op->symbol())->kind() == plan::SymbolKind::defined && isExpr(op->expr());
      return fine ? Status::success() : bad("block", number, "sets no symbol");
    }
    case plan::Op::Check:
      return isExpr(instruction.op_as_Check()->expr()) ? Status::success() : bad("block", number, "checks no expression");
    case plan::Op::If: {
      auto *op = instruction.op_as_If();
      if (!isExpr(op->condition()))
        return bad("block", number, "a branch on no expression");
      WEFT_TRY(block(op->then_block(), depth + 1));
      return block(op->else_block(), depth + 1);
    }
    case plan::Op::Loop: {
      auto *op = instruction.op_as_Loop();
      auto defined = [&](uint32_t s) { return isSymbol(s) && plan.symbols()->Get(s)->kind() == plan::SymbolKind::defined; };
      if ((op->trip_count() >= 0 && !isExpr(uint32_t(op->trip_count()))) || (op->condition() >= 0 && !defined(uint32_t(op->condition()))) ||
          !defined(op->iteration()))
        return bad("block", number, "a loop's trip count, condition or iteration does not exist");
      return block(op->body(), depth + 1);
    }
    default:
      return bad("block", number, "an unknown instruction");
    }
  }

  const plan::Plan &plan;
  uint64_t imagesSize, constantsSize;
  std::vector<bool> used;
};
} // namespace

Status validatePlan(const plan::Plan &plan, uint64_t imagesSize, uint64_t constantsSize) {
  return Validator(plan, imagesSize, constantsSize).run();
}

} // namespace weft
