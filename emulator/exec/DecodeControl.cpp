//===- DecodeControl.cpp - Branches, calls, barriers, warp operations -----===//
//
// See Decoder.h. Calls are inlined: their parameters are local-memory variables of the caller, bound by name. The opcode
// table, which says what decodes what, is at the end.
//
//===----------------------------------------------------------------------===//
#include "exec/Decoder.h"

#include <algorithm>

namespace weft::emu {

using namespace ptx;

namespace {
bool has(const Instruction &in, std::string_view m) { return std::find(in.mods.begin(), in.mods.end(), m) != in.mods.end(); }
} // namespace

bool Decoder::bra(const In &in) {
  if (!operandCount(in, 1, 1) || in.operands[0].kind != Op::Label || (in.mods.size() == 1 && in.mods[0] != "uni") || in.mods.size() > 1)
    return fail("malformed bra");
  frame->branches.push_back({uint32_t(program.code.size()), in.operands[0].target});
  emit(nullptr, Kind::Branch);
  return true;
}

bool Decoder::brx(const In &in) {
  if (!operandCount(in, 2, 2) || !has(in, "idx") || in.operands[1].kind != Op::Symbol)
    return fail("malformed brx");
  if (in.operands[1].index >= frame->f->branchTables.size())
    return fail("unknown branch table");
  uint32_t a;
  if (!source(in.operands[0], Ty::U32, 32, a))
    return false;
  const std::vector<uint32_t> &table = frame->f->branchTables[in.operands[1].index];
  Inst &i = emit(nullptr, Kind::BranchIndexed);
  i.a = a;
  i.x = uint32_t(program.lists.size());
  i.y = uint32_t(table.size());
  for (uint32_t target : table) {
    frame->lists.push_back({uint32_t(program.lists.size()), target});
    program.lists.push_back(0);
  }
  return true;
}

/// call{.uni} {(rets),} name{, (args)}
bool Decoder::call(const In &in) {
  const Op *rets = nullptr, *args = nullptr, *name = nullptr;
  for (const Op &o : in.operands) {
    if (o.kind == Op::List)
      (name ? args : rets) = &o;
    else if (!name)
      name = &o;
    else
      return fail("indirect calls are not supported");
  }
  if (!name || name->kind != Op::Symbol || name->names != Op::Names::Module)
    return fail("indirect calls are not supported");
  auto it = tables.functionIndex.find(name->symbol);
  if (it == tables.functionIndex.end())
    return fail("unknown function '" + std::string(name->symbol) + "'");
  const Function &f = tables.text->functions[it->second];
  if (f.isEntry)
    return fail("a kernel cannot be called");
  if (f.params.size() != (args ? args->elements.size() : 0) || f.returns.size() != (rets ? rets->elements.size() : 0))
    return fail("call of '" + f.name + "' has the wrong number of arguments");
  if (!f.isDefined)
    return callExtern(in, f, rets, args);
  auto bind = [&](const Op *list, std::vector<uint32_t> &out, const std::vector<Variable> &formals) {
    for (size_t k = 0; list && k < list->elements.size(); ++k) {
      const Op &o = list->elements[k];
      Space space;
      uint64_t offset;
      int32_t global;
      if (o.kind != Op::Symbol || !symbolValue(o, space, offset, global) || space != Space::Local)
        return fail("argument of a call must be a .param variable");
      if (o.names == Op::Names::Var && frame->f->vars[o.index].size < formals[k].size)
        return fail("argument of a call is too small");
      out.push_back(uint32_t(offset));
    }
    return true;
  };
  std::vector<uint32_t> params, returned;
  if (!bind(args, params, f.params) || !bind(rets, returned, f.returns))
    return false;
  // Lanes whose guard is false jump over the body.
  uint32_t over = kNone;
  if (in.guard >= 0) {
    over = uint32_t(program.code.size());
    emit(nullptr, Kind::Branch).predXor ^= 0xffffffffu;
  } else {
    emit(findHandler("$nothing")->fn, Kind::Nop);
  }
  if (!function(f, std::move(params), std::move(returned)))
    return false;
  current = &in;
  if (over != kNone)
    program.code[over].x = uint32_t(program.code.size());
  return true;
}

bool Decoder::callExtern(const In &in, const Function &f, const Op *rets, const Op *) {
  if (f.name == "__assertfail") {
    emitRow("$assert").kind = Kind::Trapping;
    return !failed;
  }
  if (f.name != "vprintf" && f.name != "malloc" && f.name != "free")
    return fail("unresolved extern function '" + f.name + "'");
  // They do nothing and return 0.
  if (!rets || rets->elements.empty())
    return emit(findHandler("$nothing")->fn, Kind::Nop), true;
  Space space;
  uint64_t offset;
  int32_t global;
  unsigned width = bits(f.returns[0].type);
  if ((width != 32 && width != 64) || !symbolValue(rets->elements[0], space, offset, global) || space != Space::Local)
    return fail("malformed call of '" + f.name + "'");
  (void)in;
  uint32_t slot = program.memorySlots++;
  Inst &i = emitRow(width == 32 ? "$st.u32.32" : "$st.u64.64");
  i.kind = Kind::Trapping;
  i.space = uint8_t(Space::Local), i.wide = 1, i.y = 1, i.slot = slot;
  i.a = constant(offset, 64), i.b = constant(0, width);
  return !failed;
}

bool Decoder::ret(const In &in) {
  if (!operandCount(in, 0, 0))
    return false;
  if (stack.size() == 1)
    return emit(nullptr, Kind::Exit), true;
  frame->returns.push_back(uint32_t(program.code.size()));
  emit(nullptr, Kind::Branch);
  return true;
}

bool Decoder::exit(const In &in) { return operandCount(in, 0, 0) && (emit(nullptr, Kind::Exit), true); }

bool Decoder::trap(const In &in) {
  if (!operandCount(in, 0, 0))
    return false;
  emitRow("$trap").kind = Kind::Trapping;
  return !failed;
}

/// bar{.cta}.{sync,arrive,red}, barrier{.cta}..., bar.warp.sync, barrier.cluster.
bool Decoder::bar(const In &in) {
  if (has(in, "warp")) {
    uint32_t mask;
    if (!operandCount(in, 1, 1) || !source(in.operands[0], Ty::B32, 32, mask))
      return false;
    Inst &i = emit(findHandler("$nothing")->fn, Kind::WarpSync);
    i.y = mask;
    return true;
  }
  if (has(in, "cluster")) {
    if (!needSm(90, "barrier.cluster") || !operandCount(in, 0, 0))
      return false;
    if (!has(in, "wait"))
      return emit(findHandler("$nothing")->fn, Kind::Nop), true;
    uint32_t id = constant(16, 32);
    Inst &i = emit(nullptr, Kind::Barrier);
    i.x = uint32_t(BarForm::Sync), i.a = id, i.b = kNone;
    return true;
  }
  BarForm form = BarForm::Sync;
  Ty type = Ty::None;
  bool aligned = in.op == "bar", isRed = false;
  for (std::string_view m : in.mods) {
    if (m == "arrive")
      form = BarForm::Arrive;
    else if (m == "red")
      isRed = true;
    else if (m == "popc" || m == "and" || m == "or")
      form = m == "popc" ? BarForm::RedPopc : m == "and" ? BarForm::RedAnd : BarForm::RedOr;
    else if (m == "aligned")
      aligned = true;
    else if (m == "u32" || m == "pred")
      type = typeNamed(m);
    else if (m != "sync" && m != "cta")
      return fail("illegal modifier '." + std::string(m) + "' of '" + std::string(in.op) + "'");
  }
  if (in.mods.empty() || isRed != (form > BarForm::Arrive))
    return fail("malformed barrier");
  size_t at = isRed ? 1 : 0, n = in.operands.size();
  size_t least = at + 1 + isRed + (form == BarForm::Arrive), most = at + 2 + isRed;
  if (!operandCount(in, least, most))
    return false;
  uint32_t a, b = kNone, c = kNone, d = kNone;
  if (!source(in.operands[at], Ty::U32, 32, a))
    return false;
  if (in.operands[at].kind == Op::Imm && in.operands[at].imm > 15)
    return fail("barrier number is out of range");
  if (n > at + 1 + isRed && !source(in.operands[at + 1], Ty::U32, 32, b))
    return false;
  if (isRed) {
    if (!sourcePred(in.operands[n - 1], c))
      return false;
    if (form == BarForm::RedPopc ? type != Ty::U32 || !dest(in.operands[0], Ty::U32, 32, d) : type != Ty::Pred || !destPred(in.operands[0], d))
      return fail("malformed barrier reduction");
  }
  Inst &i = emit(nullptr, Kind::Barrier);
  i.x = uint32_t(form), i.a = a, i.b = b, i.c = c, i.d = d;
  i.flags = aligned ? instflag::Aligned : 0;
  return true;
}

bool Decoder::shfl(const In &in) {
  if (in.mods.size() != 3 || in.mods[0] != "sync" || in.mods[2] != "b32" || !operandCount(in, 5, 5))
    return fail("malformed shfl (only shfl.sync.mode.b32)");
  const HandlerRow *row = findHandler("shfl." + std::string(in.mods[1]));
  if (!row)
    return fail("unknown mode of shfl");
  const Op &first = in.operands[0];
  uint32_t d, p = kNone, s[4];
  if (!dest(first, Ty::B32, 32, d, true) || (first.isPair && !destPred(first.elements[0], p)))
    return false;
  for (int k = 0; k < 4; ++k)
    if (!source(in.operands[k + 1], Ty::B32, 32, s[k]))
      return false;
  Inst &i = emit(row->fn, Kind::WarpSync);
  i.d = d, i.x = p, i.a = s[0], i.b = s[1], i.c = s[2], i.y = s[3];
  return true;
}

bool Decoder::vote(const In &in) {
  if (in.mods.size() != 3 || in.mods[0] != "sync" || !operandCount(in, 3, 3))
    return fail("malformed vote (only vote.sync)");
  const HandlerRow *row = findHandler("vote." + std::string(in.mods[1]));
  if (!row)
    return fail("unknown mode of vote");
  bool ballot = in.mods[1] == "ballot";
  if (in.mods[2] != (ballot ? "b32" : "pred"))
    return fail("illegal type of vote");
  uint32_t d, a, y;
  Op p = in.operands[1];
  bool negated = p.negated;
  p.negated = false;
  if (!(ballot ? dest(in.operands[0], Ty::B32, 32, d) : destPred(in.operands[0], d)) || !sourcePred(p, a) ||
      !source(in.operands[2], Ty::B32, 32, y))
    return false;
  Inst &i = emit(row->fn, Kind::WarpSync);
  i.d = d, i.a = a, i.y = y, i.imm = negated ? 0xffffffffu : 0;
  return true;
}

bool Decoder::match(const In &in) {
  if (in.mods.size() != 3 || in.mods[1] != "sync" || !operandCount(in, 3, 3))
    return fail("malformed match");
  const HandlerRow *row = findHandler("match." + std::string(in.mods[0]) + "." + std::string(in.mods[2]));
  if (!row)
    return fail("unknown form of match");
  const Op &first = in.operands[0];
  Ty type = typeNamed(in.mods[2]);
  uint32_t d, p = kNone, a, y;
  if (!dest(first, Ty::B32, 32, d, first.isPair) || (first.isPair && (in.mods[0] != "all" || !destPred(first.elements[0], p))) ||
      !source(in.operands[1], type, bits(type), a) || !source(in.operands[2], Ty::B32, 32, y))
    return fail("malformed match");
  Inst &i = emit(row->fn, Kind::WarpSync);
  i.d = d, i.x = p, i.a = a, i.y = y;
  return true;
}

bool Decoder::redux(const In &in) {
  if (in.mods.size() < 3 || in.mods[0] != "sync" || !operandCount(in, 3, 3) || !needSm(80, "redux.sync"))
    return fail("malformed redux");
  std::string key = "redux";
  for (size_t k = 1; k < in.mods.size(); ++k)
    key.append(".").append(in.mods[k]);
  const HandlerRow *row = findHandler(key);
  if (!row)
    return fail("unknown form of redux");
  Ty type = typeNamed(in.mods.back());
  if (type == Ty::F32 && !needSm(100, "redux.sync on f32"))
    return false;
  uint32_t d, a, y;
  if (!dest(in.operands[0], type, 32, d) || !source(in.operands[1], type, 32, a) || !source(in.operands[2], Ty::B32, 32, y))
    return false;
  Inst &i = emit(row->fn, Kind::WarpSync);
  i.d = d, i.a = a, i.y = y;
  return true;
}

bool Decoder::elect(const In &in) {
  const Op *first = in.operands.empty() ? nullptr : &in.operands[0];
  if (!operandCount(in, 2, 2) || in.mods.size() != 1 || in.mods[0] != "sync" || !first->isPair || !needSm(90, "elect.sync"))
    return fail("malformed elect");
  uint32_t d, p, y;
  if (!dest(*first, Ty::B32, 32, d, true) || !destPred(first->elements[0], p) || !source(in.operands[1], Ty::B32, 32, y))
    return false;
  Inst &i = emit(findHandler("elect")->fn, Kind::WarpSync);
  i.d = d, i.x = p, i.y = y;
  return true;
}

bool Decoder::activemask(const In &in) {
  uint32_t d;
  if (!operandCount(in, 1, 1) || !dest(in.operands[0], Ty::B32, 32, d))
    return false;
  emitRow("activemask").d = d;
  return !failed;
}

/// Instructions without effect here: fences, prefetches, hints.
bool Decoder::nop(const In &in) {
  if (in.op == "griddepcontrol" && !needSm(90, "griddepcontrol"))
    return false;
  if (in.op == "setmaxnreg" && !needSm(90, "setmaxnreg"))
    return false;
  emit(findHandler("$nothing")->fn, Kind::Nop);
  return true;
}

bool Decoder::nanosleep(const In &in) {
  uint32_t a;
  if (!operandCount(in, 1, 1) || !source(in.operands[0], Ty::U32, 32, a))
    return false;
  emit(findHandler("$nothing")->fn, Kind::Yield);
  return true;
}

//===-- The opcodes -----------------------------------------------------------===//

struct DecodeTable {
  using Map = std::unordered_map<std::string_view, Decoder::Decode>;
  static const Map &get() {
    static const Map map = {
        {"mov", &Decoder::mov}, {"setp", &Decoder::setp}, {"set", &Decoder::set}, {"cvt", &Decoder::cvt}, {"lop3", &Decoder::lop3},
        {"prmt", &Decoder::prmt}, {"ld", &Decoder::load}, {"ldu", &Decoder::load}, {"st", &Decoder::store}, {"atom", &Decoder::atom},
        {"red", &Decoder::atom}, {"cvta", &Decoder::cvta}, {"isspacep", &Decoder::isspacep}, {"cp", &Decoder::cp},
        {"createpolicy", &Decoder::createpolicy}, {"bra", &Decoder::bra}, {"brx", &Decoder::brx}, {"call", &Decoder::call},
        {"ret", &Decoder::ret}, {"exit", &Decoder::exit}, {"trap", &Decoder::trap}, {"bar", &Decoder::bar}, {"barrier", &Decoder::bar},
        {"shfl", &Decoder::shfl}, {"vote", &Decoder::vote}, {"match", &Decoder::match}, {"redux", &Decoder::redux},
        {"elect", &Decoder::elect}, {"activemask", &Decoder::activemask}, {"membar", &Decoder::nop}, {"fence", &Decoder::nop},
        {"prefetch", &Decoder::nop}, {"prefetchu", &Decoder::nop}, {"applypriority", &Decoder::nop}, {"discard", &Decoder::nop},
        {"griddepcontrol", &Decoder::nop}, {"setmaxnreg", &Decoder::nop}, {"pmevent", &Decoder::nop}, {"brkpt", &Decoder::nop},
        {"nanosleep", &Decoder::nanosleep}, {"ldmatrix", &Decoder::ldmatrix}, {"stmatrix", &Decoder::stmatrix},
        {"movmatrix", &Decoder::movmatrix}, {"mma", &Decoder::mma}, {"wmma", &Decoder::wmma}};
    return map;
  }
};

bool Decoder::instruction(const In &in) {
  auto it = DecodeTable::get().find(in.op);
  return it != DecodeTable::get().end() ? (this->*it->second)(in) : table(in);
}

} // namespace weft::emu
