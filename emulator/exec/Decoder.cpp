//===- Decoder.cpp - Functions, symbols and operands ----------------------===//
//
// See Decoder.h. Limits that keep hostile text harmless: 1M decoded instructions, 32 MiB of registers for a warp, 64
// nested calls, 512 KiB of local and 1 GiB of shared memory (the launch checks the device's own limit).
//
//===----------------------------------------------------------------------===//
#include "exec/Decoder.h"

#include <algorithm>
#include <bit>

namespace weft::emu {

using namespace ptx;

namespace {
constexpr size_t kMaxCode = 1u << 20;
constexpr uint32_t kMaxRegisterBytes = 32u << 20;
constexpr uint64_t kMaxLocal = 512u << 10;
constexpr uint64_t kMaxShared = 1u << 30;
uint64_t alignUp(uint64_t v, uint64_t a) { return (v + a - 1) & ~(a - 1); }
} // namespace

bool Decoder::fail(std::string message) {
  if (!failed) {
    failed = true;
    diagnostic = {std::move(message), current ? current->line : 0};
  }
  return false;
}

bool Decoder::needSm(unsigned sm, const char *what) {
  return tables.text->target >= sm || fail(std::string(what) + " requires .target sm_" + std::to_string(sm) + " or higher");
}

bool Decoder::operandCount(const In &in, size_t least, size_t most) {
  return (in.operands.size() >= least && in.operands.size() <= most) ||
         fail("wrong number of operands for instruction '" + std::string(in.op) + "'");
}

//===-- Kernels and functions ------------------------------------------------===//

bool Decoder::kernel(const Function &f, KernelInfo &info) {
  info.name = f.name;
  uint64_t offset = 0;
  std::vector<uint32_t> params;
  for (const Variable &v : f.params) {
    offset = alignUp(offset, v.align ? v.align : 1);
    params.push_back(uint32_t(offset));
    if (v.size > 32768 || offset + v.size > 32768)
      return diagnostic = {"kernel '" + f.name + "' has too many parameter bytes", f.line}, false;
    info.params.push_back({uint32_t(offset), uint32_t(v.size), v.align});
    offset += v.size;
  }
  info.paramBytes = program.paramBytes = uint32_t(offset);
  std::copy(f.reqntid, f.reqntid + 3, info.reqntid.begin());
  std::copy(f.maxntid, f.maxntid + 3, info.maxntid.begin());
  std::copy(f.reqnctapercluster, f.reqnctapercluster + 3, info.reqnctapercluster.begin());
  info.minnctapersm = f.minnctapersm;
  info.maxnreg = f.maxnreg;
  const uint32_t *limit = f.reqntid[0] ? f.reqntid : f.maxntid;
  uint64_t threads = limit[0] ? uint64_t(limit[0]) * limit[1] : 1024;
  threads = limit[0] && threads <= 1024 ? threads * limit[2] : threads;
  if (limit[0] && threads > 1024)
    return diagnostic = {"kernel '" + f.name + "' asks for more than 1024 threads", f.line}, false;
  info.maxThreads = uint32_t(threads);
  if (!layoutShared(f) || !function(f, params, {}))
    return false;
  findStraight();
  info.staticSharedBytes = program.staticShared;
  info.localBytes = program.localBytes = uint32_t(alignUp(program.localBytes, 16));
  info.numRegs = std::min<uint32_t>(255, program.registerBytes / 128 + 8);
  return true;
}

void Decoder::collectShared(const Function &f, std::unordered_set<const Function *> &seen, std::vector<const Variable *> &vars) {
  std::vector<const Function *> work{&f};
  seen.insert(&f);
  auto visit = [&](const Op &o, auto &&self) -> void {
    if ((o.kind == Op::Symbol || o.kind == Op::Address) && !o.hasReg && o.names == Op::Names::Module) {
      if (auto it = tables.sharedIndex.find(o.symbol); it != tables.sharedIndex.end())
        vars.push_back(&tables.text->globals[it->second]);
      if (auto it = tables.functionIndex.find(o.symbol); it != tables.functionIndex.end())
        if (seen.insert(&tables.text->functions[it->second]).second)
          work.push_back(&tables.text->functions[it->second]);
    }
    for (const Op &e : o.elements)
      self(e, self);
  };
  while (!work.empty()) {
    const Function *g = work.back();
    work.pop_back();
    for (const Variable &v : g->vars)
      if (v.space == Space::Shared)
        vars.push_back(&v);
    for (const In &in : g->body)
      for (const Op &o : in.operands)
        visit(o, visit);
  }
}

bool Decoder::layoutShared(const Function &entry) {
  std::unordered_set<const Function *> seen;
  std::vector<const Variable *> vars;
  collectShared(entry, seen, vars);
  uint64_t size = 0, dynamicAlign = 16;
  for (const Variable *v : vars) {
    if (v->isUnsized || v->isExtern) {
      dynamicAlign = std::max<uint64_t>(dynamicAlign, v->align);
      continue;
    }
    if (sharedOffsets.count(v))
      continue;
    size = alignUp(size, v->align);
    sharedOffsets[v] = uint32_t(size);
    size += v->size;
    if (size > kMaxShared)
      return diagnostic = {"too much shared memory", v->line}, false;
  }
  // Dynamic shared memory begins where the static part ends.
  uint64_t base = alignUp(size, dynamicAlign);
  bool dynamic = false;
  for (const Variable *v : vars)
    if (v->isUnsized || v->isExtern)
      sharedOffsets[v] = uint32_t(base), dynamic = true;
  program.staticShared = uint32_t(dynamic ? base : size);
  return true;
}

bool Decoder::function(const Function &f, std::vector<uint32_t> params, std::vector<uint32_t> rets) {
  if (stack.size() >= 64)
    return fail("calls are nested too deeply");
  if (std::find(stack.begin(), stack.end(), &f) != stack.end())
    return fail("recursive call of '" + f.name + "' is not supported");
  stack.push_back(&f);
  Frame here;
  Frame *outer = frame;
  frame = &here;
  here.f = &f;
  here.params = std::move(params);
  here.rets = std::move(rets);
  here.regs.assign(f.regs.size(), kNone);
  uint64_t local = program.localBytes;
  for (const Variable &v : f.vars) {
    if (v.space == Space::Shared) {
      here.vars.push_back(sharedOffsets[&v]);
      continue;
    }
    local = alignUp(local, std::max(v.align, 1u));
    here.vars.push_back(uint32_t(local));
    local += v.size;
    if (local > kMaxLocal)
      return fail("too much local memory in '" + f.name + "'");
  }
  program.localBytes = uint32_t(local);
  for (const In &in : f.body) {
    here.pcOf.push_back(uint32_t(program.code.size()));
    const In *outerInst = current;
    current = &in;
    first = true;
    if (!instruction(in))
      return fail("malformed instruction '" + std::string(in.op) + "'");
    current = outerInst;
    if (program.code.size() > kMaxCode)
      return fail("kernel is too long");
  }
  uint32_t end = uint32_t(program.code.size());
  here.pcOf.push_back(end);
  if (outer == nullptr) { // falling off the end of a kernel
    static const In none;
    (void)none;
    Inst inst;
    inst.kind = Kind::Exit;
    inst.pred = allLanes();
    inst.line = f.body.empty() ? f.line : f.body.back().line;
    inst.micro = true;
    program.code.push_back(inst);
  }
  for (auto [at, target] : here.branches)
    program.code[at].x = here.pcOf[target];
  for (auto [at, target] : here.lists)
    program.lists[at] = here.pcOf[target];
  for (uint32_t at : here.returns)
    program.code[at].x = end;
  frame = outer;
  stack.pop_back();
  return !failed;
}

void Decoder::findStraight() {
  uint32_t size = uint32_t(program.code.size()), all = allLanes();
  program.straight.assign(size + 1, {});
  for (uint32_t pc = 0; pc < size; ++pc)
    program.straight[pc + 1].before = program.straight[pc].before + !program.code[pc].micro;
  for (uint32_t pc = size; pc-- > 0;) {
    const Inst &i = program.code[pc];
    if (i.kind != Kind::Simple || i.pred != all || i.predXor)
      continue;
    const Straight &next = program.straight[pc + 1];
    bool joins = next.steps && next.steps < 0xffff && (!i.fp || !next.fp || i.fp == next.fp);
    program.straight[pc].steps = joins ? uint16_t(next.steps + 1) : 1;
    program.straight[pc].fp = i.fp ? i.fp : joins ? next.fp : 0;
  }
}

Inst &Decoder::emit(Handler fn, Kind kind) {
  Inst inst;
  inst.fn = fn;
  inst.kind = kind;
  inst.line = current->line;
  inst.micro = !first;
  first = false;
  inst.pred = current->guard < 0 ? allLanes() : regOffset(uint32_t(current->guard));
  inst.predXor = current->guard >= 0 && current->guardNegated ? 0xffffffffu : 0;
  auto [it, isNew] = tables.opIndex.emplace(current->op, uint16_t(tables.opNames.size()));
  if (isNew)
    tables.opNames.emplace_back(current->op);
  inst.op = it->second;
  program.code.push_back(inst);
  return program.code.back();
}

Inst &Decoder::emitRow(const char *key) {
  const HandlerRow *row = findHandler(key);
  if (!row)
    fail(std::string("internal: no handler for ") + key);
  return emit(row ? row->fn : nullptr);
}

//===-- Storage --------------------------------------------------------------===//

uint32_t Decoder::allocate(uint32_t bytes) {
  uint32_t offset = program.registerBytes;
  if (offset + bytes > kMaxRegisterBytes)
    return fail("too many registers"), 0;
  program.registerBytes += bytes;
  return offset;
}
uint32_t Decoder::temp(unsigned width) { return allocate(width <= 16 ? 64 : width * 4); }
uint32_t Decoder::tempPred() { return allocate(64); }

uint32_t Decoder::regOffset(uint32_t reg) {
  uint32_t &offset = frame->regs[reg];
  if (offset == kNone) {
    Ty type = regType(reg);
    offset = type == Ty::Pred ? tempPred() : temp(bits(type));
  }
  return offset;
}

uint32_t Decoder::constant(uint64_t value, unsigned width) {
  if (width == 1)
    return constantMask(value & 1 ? 0xffffffffu : 0);
  width = width <= 16 ? 16 : width;
  if (width < 64)
    value &= (uint64_t(1) << width) - 1;
  unsigned pool = width == 16 ? 1 : width == 32 ? 2 : width == 64 ? 3 : 4;
  auto [it, isNew] = constants[pool].emplace(value, 0);
  if (isNew) {
    it->second = uint32_t(program.consts.size()) | kConstBit;
    for (int lane = 0; lane < 32; ++lane)
      for (unsigned b = 0; b < width / 8; ++b)
        program.consts.push_back(b < 8 ? uint8_t(value >> (8 * b)) : 0);
  }
  return it->second;
}

uint32_t Decoder::constantMask(uint32_t mask) {
  auto [it, isNew] = constants[0].emplace(mask, 0);
  if (isNew) {
    it->second = uint32_t(program.consts.size()) | kConstBit;
    for (unsigned b = 0; b < 64; ++b)
      program.consts.push_back(b < 4 ? uint8_t(mask >> (8 * b)) : 0);
  }
  return it->second;
}

uint32_t Decoder::constantAddress(uint32_t global, int64_t addend, unsigned width) {
  uint32_t offset = uint32_t(program.consts.size());
  program.consts.resize(offset + 32 * width / 8);
  program.relocs.push_back({offset, global, addend, width / 8});
  return offset | kConstBit;
}

namespace {
struct SpecialRow {
  const char *name;
  SpecialSlot::What what;
  bool wide;
};
constexpr SpecialRow kSpecials[] = {
    {"%tid.x", SpecialSlot::TidX, false}, {"%tid.y", SpecialSlot::TidY, false}, {"%tid.z", SpecialSlot::TidZ, false},
    {"%ntid.x", SpecialSlot::NtidX, false}, {"%ntid.y", SpecialSlot::NtidY, false}, {"%ntid.z", SpecialSlot::NtidZ, false},
    {"%ctaid.x", SpecialSlot::CtaidX, false}, {"%ctaid.y", SpecialSlot::CtaidY, false}, {"%ctaid.z", SpecialSlot::CtaidZ, false},
    {"%nctaid.x", SpecialSlot::NctaidX, false}, {"%nctaid.y", SpecialSlot::NctaidY, false}, {"%nctaid.z", SpecialSlot::NctaidZ, false},
    {"%laneid", SpecialSlot::LaneId, false}, {"%warpid", SpecialSlot::WarpId, false}, {"%nwarpid", SpecialSlot::NWarpId, false},
    {"%smid", SpecialSlot::SmId, false}, {"%nsmid", SpecialSlot::NSmId, false}, {"%gridid", SpecialSlot::GridId, true},
    {"%lanemask_eq", SpecialSlot::LaneEq, false}, {"%lanemask_lt", SpecialSlot::LaneLt, false}, {"%lanemask_le", SpecialSlot::LaneLe, false},
    {"%lanemask_gt", SpecialSlot::LaneGt, false}, {"%lanemask_ge", SpecialSlot::LaneGe, false},
    {"%dynamic_smem_size", SpecialSlot::DynSmem, false}, {"%total_smem_size", SpecialSlot::TotalSmem, false}, {"%aggr_smem_size", SpecialSlot::AggrSmem, false},
    {"%clusterid.x", SpecialSlot::ClusterIdX, false}, {"%clusterid.y", SpecialSlot::ClusterIdY, false}, {"%clusterid.z", SpecialSlot::ClusterIdZ, false},
    {"%nclusterid.x", SpecialSlot::NClusterIdX, false}, {"%nclusterid.y", SpecialSlot::NClusterIdY, false}, {"%nclusterid.z", SpecialSlot::NClusterIdZ, false},
    {"%cluster_ctaid.x", SpecialSlot::ClusterCtaIdX, false}, {"%cluster_ctaid.y", SpecialSlot::ClusterCtaIdY, false}, {"%cluster_ctaid.z", SpecialSlot::ClusterCtaIdZ, false},
    {"%cluster_nctaid.x", SpecialSlot::ClusterNctaX, false}, {"%cluster_nctaid.y", SpecialSlot::ClusterNctaY, false}, {"%cluster_nctaid.z", SpecialSlot::ClusterNctaZ, false},
    {"%cluster_ctarank", SpecialSlot::ClusterCtaRank, false}, {"%cluster_nctarank", SpecialSlot::ClusterNctaRank, false},
    {"%is_explicit_cluster", SpecialSlot::IsExplicitCluster, false}, {"%envreg0", SpecialSlot::Zero, false}, {"%reserved_smem_offset_begin", SpecialSlot::Zero, false}};
} // namespace

uint32_t Decoder::special(std::string_view name, char part, unsigned &width) {
  std::string full(name);
  if (part)
    full += std::string(".") + part;
  for (const SpecialRow &row : kSpecials) {
    if (full != row.name)
      continue;
    width = row.wide ? 64 : 32;
    auto [it, isNew] = specials.emplace(full, 0);
    if (isNew) {
      it->second = temp(width);
      program.specials.push_back({row.what, it->second, row.wide});
    }
    return it->second;
  }
  struct Clock {
    const char *name, *row;
    unsigned width;
  };
  constexpr Clock clocks[] = {{"%clock", "$clock32", 32}, {"%clock_hi", "$clock32", 32}, {"%clock64", "$clock64", 64},
                              {"%globaltimer", "$globaltimer", 64}, {"%globaltimer_lo", "$clock32", 32}, {"%globaltimer_hi", "$clock32", 32}};
  for (const Clock &c : clocks)
    if (full == c.name) {
      width = c.width;
      uint32_t t = temp(width);
      emitRow(c.row).d = t;
      return t;
    }
  fail("unknown register '" + full + "'");
  return kNone;
}

//===-- Operands -------------------------------------------------------------===//

/// PTX ISA 9.4: same size, and integer and float types do not mix; untyped bits match anything.
bool Decoder::checkReg(uint32_t reg, Ty type, unsigned width, bool widerAllowed) {
  Ty have = regType(reg);
  unsigned haveBits = have == Ty::Pred ? 1 : bits(have);
  bool ok = (type == Ty::Pred) == (have == Ty::Pred);
  ok = ok && (haveBits == width || (widerAllowed && haveBits > width) || (width == 16 && haveBits == 8));
  if (ok && !isBits(type) && type != Ty::Pred && type != Ty::None && !isBits(have) && !widerAllowed)
    ok = isFloat(type) == isFloat(have) || (isFloat(type) && bits(type) == 32 && type != Ty::F32);
  if (ok && widerAllowed && isFloat(have) && isInt(type))
    ok = false;
  return ok || fail("type of register '" + frame->f->regs[reg].name + "' does not match instruction '" + std::string(current->op) + "'");
}

uint64_t Decoder::immediateBits(const Op &o, Ty type, unsigned width) {
  if (!o.isFloatImm) {
    if (type == Ty::F64)
      return std::bit_cast<uint64_t>(double(int64_t(o.imm)));
    if (type == Ty::F32 && width == 32)
      return std::bit_cast<uint32_t>(float(int64_t(o.imm)));
    return o.imm;
  }
  if (width == 64)
    return o.isF32Bits ? std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(o.imm)))) : o.imm;
  return o.isF32Bits ? o.imm : std::bit_cast<uint32_t>(float(std::bit_cast<double>(o.imm)));
}

bool Decoder::symbolValue(const Op &o, Space &space, uint64_t &offset, int32_t &global) {
  global = -1;
  offset = o.imm;
  switch (o.names) {
  case Op::Names::Var: {
    const Variable &v = frame->f->vars[o.index];
    space = v.space == Space::Shared ? Space::Shared : Space::Local; // .param variables of a body live in local memory
    offset += v.space == Space::Shared ? sharedOffsets[&v] : frame->vars[o.index];
    return true;
  }
  case Op::Names::Param:
    space = frame->f->isEntry ? Space::Param : Space::Local;
    offset += frame->params[o.index];
    return true;
  case Op::Names::Return:
    space = Space::Local;
    offset += frame->rets[o.index];
    return true;
  case Op::Names::Module:
    break;
  }
  if (auto it = tables.globalIndex.find(o.symbol); it != tables.globalIndex.end()) {
    space = Space::Global;
    global = int32_t(it->second);
    return true;
  }
  if (auto it = tables.sharedIndex.find(o.symbol); it != tables.sharedIndex.end()) {
    space = Space::Shared;
    offset += sharedOffsets[&tables.text->globals[it->second]];
    return true;
  }
  return fail("unknown symbol '" + std::string(o.symbol) + "'");
}

bool Decoder::source(const Op &o, Ty type, unsigned width, uint32_t &out) {
  switch (o.kind) {
  case Op::Reg:
    if (width == 1)
      return sourcePred(o, out);
    if (o.negated)
      return fail("'!' needs a predicate");
    out = regOffset(o.reg);
    return checkReg(o.reg, type, width, false);
  case Op::Imm:
    if (width == 1)
      return sourcePred(o, out);
    if (o.isFloatImm && isInt(type))
      return fail("floating-point constant in integer instruction '" + std::string(current->op) + "'");
    out = constant(immediateBits(o, type, width), width);
    return true;
  case Op::Special: {
    unsigned have = 0;
    out = special(o.symbol, char(o.imm), have);
    if (failed)
      return false;
    if (have == width)
      return true;
    if (have == 32 && (width == 16 || width == 64)) {
      uint32_t t = temp(width);
      Inst &i = emitRow(width == 16 ? "$low16.32" : "$zext.32.64");
      i.a = out, i.d = t;
      out = t;
      return true;
    }
    if (have == 64 && width == 32) {
      uint32_t t = temp(32);
      Inst &i = emitRow("$low32.64");
      i.a = out, i.d = t;
      out = t;
      return true;
    }
    return fail("size of special register does not match");
  }
  case Op::Symbol: {
    Space space;
    uint64_t offset;
    int32_t global;
    if (width != 32 && width != 64)
      return fail("an address needs 32 or 64 bits");
    if (isFloat(type))
      return fail("address in a floating-point instruction");
    if (!symbolValue(o, space, offset, global))
      return false;
    out = global >= 0 ? constantAddress(uint32_t(global), int64_t(offset), width) : constant(offset, width);
    return true;
  }
  default:
    return fail("unexpected operand of instruction '" + std::string(current->op) + "'");
  }
}

bool Decoder::sourcePred(const Op &o, uint32_t &out) {
  if (o.kind == Op::Imm && !o.isFloatImm)
    return out = constantMask(((o.imm != 0) != o.negated) ? 0xffffffffu : 0), true;
  if (o.kind != Op::Reg || regType(o.reg) != Ty::Pred)
    return fail("instruction '" + std::string(current->op) + "' needs a predicate operand");
  out = regOffset(o.reg);
  if (o.negated) {
    uint32_t t = tempPred();
    Inst &i = emitRow("not.pred");
    i.a = out, i.d = t;
    out = t;
  }
  return true;
}

bool Decoder::dest(const Op &o, Ty type, unsigned width, uint32_t &out, bool sinkAllowed) {
  if (o.kind == Op::Sink && sinkAllowed)
    return out = kNone, true;
  if (width == 1)
    return destPred(o, out);
  if (o.kind != Op::Reg)
    return fail("destination of '" + std::string(current->op) + "' is not a register");
  out = regOffset(o.reg);
  return checkReg(o.reg, type, width, false);
}

bool Decoder::destPred(const Op &o, uint32_t &out) {
  if (o.kind == Op::Sink)
    return out = tempPred(), true;
  if (o.kind != Op::Reg || regType(o.reg) != Ty::Pred)
    return fail("destination of '" + std::string(current->op) + "' is not a predicate");
  out = regOffset(o.reg);
  return true;
}

} // namespace weft::emu
