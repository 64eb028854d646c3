//===- DecodeMemory.cpp - Loads, stores, atomics, address conversions -----===//
//
// See Decoder.h. Cache modifiers, eviction priorities and memory orders are accepted and have no effect: the interpreter
// is sequentially consistent.
//
//===----------------------------------------------------------------------===//
#include "exec/Decoder.h"

#include <algorithm>

namespace weft::emu {

using namespace ptx;

namespace {
bool isOneOf(std::string_view s, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), s) != list.end();
}
bool spaceNamed(std::string_view m, Space &space) {
  if (m == "global")
    space = Space::Global;
  else if (m == "const")
    space = Space::Const;
  else if (m == "shared" || m == "shared::cta" || m == "shared::cluster")
    space = Space::Shared;
  else if (m == "local")
    space = Space::Local;
  else if (m == "param" || m == "param::entry" || m == "param::func")
    space = Space::Param;
  else
    return false;
  return true;
}
bool isHint(std::string_view m) {
  return isOneOf(m, {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "cta", "cluster", "gpu", "sys", "ca", "cg", "cs",
                     "lu", "cv", "wb", "wt", "nc", "unified", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
                     "L1::evict_last", "L1::no_allocate", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B", "L2::evict_last",
                     "L2::evict_normal", "L2::evict_first"});
}
} // namespace

bool Decoder::address(const Op &o, Space space, Inst &inst) {
  if (o.kind != Op::Address)
    return fail("instruction '" + std::string(current->op) + "' needs an address in brackets");
  inst.space = uint8_t(space);
  inst.slot = program.memorySlots++;
  inst.kind = Kind::Trapping;
  if (o.hasReg) {
    Ty type = regType(o.reg);
    if (type == Ty::Pred || (bits(type) != 64 && bits(type) != 32) || isFloat(type))
      return fail("address register must have 32 or 64 integer bits");
    if (bits(type) == 32 && (space == Space::Global || space == Space::Generic))
      return fail("address register must have 64 bits");
    inst.a = regOffset(o.reg);
    inst.wide = bits(type) == 64;
    inst.imm = o.imm;
    // A register in .param space of a function is not possible; of a kernel it is an offset from the parameters.
    return true;
  }
  if (o.symbol.empty()) { // absolute
    inst.a = constant(o.imm, 64);
    inst.wide = 1;
    return true;
  }
  Space found;
  uint64_t offset;
  int32_t global;
  if (!symbolValue(o, found, offset, global))
    return false;
  if (space == Space::Param && found == Space::Local)
    inst.space = uint8_t(Space::Local); // parameters of calls live in local memory
  else if (space == Space::Generic)
    inst.space = uint8_t(found);
  else if (space != found && !(space == Space::Const && found == Space::Global))
    return fail("symbol '" + std::string(o.symbol) + "' is not in the space of the instruction");
  inst.wide = 1;
  inst.a = global >= 0 ? constantAddress(uint32_t(global), int64_t(offset), 64) : constant(offset, 64);
  return true;
}

namespace {
struct MemMods {
  Space space = Space::Generic;
  Ty type = Ty::None;
  unsigned vec = 1;
};
} // namespace

static bool parseMods(const Instruction &in, MemMods &m, std::string &error) {
  for (std::string_view word : in.mods) {
    if (spaceNamed(word, m.space) || isHint(word))
      continue;
    if (word == "v2" || word == "v4" || word == "v8") {
      m.vec = unsigned(word[1] - '0');
      continue;
    }
    Ty t = typeNamed(word);
    if (t == Ty::None || m.type != Ty::None || t == Ty::Pred || (isFloat(t) && t != Ty::F32 && t != Ty::F64)) {
      error = "illegal modifier '." + std::string(word) + "' of '" + std::string(in.op) + "'";
      return false;
    }
    m.type = t;
  }
  if (m.type == Ty::None)
    error = "missing type of '" + std::string(in.op) + "'";
  else if (m.vec * bits(m.type) > 256)
    error = "vector access is too wide";
  return error.empty();
}

bool Decoder::load(const In &in) {
  MemMods m;
  std::string error;
  if (!operandCount(in, 2, 3) || !parseMods(in, m, error))
    return fail(error.empty() ? "malformed load" : error);
  const Op &d = in.operands[0];
  bool isVector = d.kind == Op::Vector;
  // Some writers brace a single register.
  size_t n = isVector ? d.elements.size() : 1;
  if (n != m.vec)
    return fail("vector size of load does not match its operand");
  Inst inst;
  if (!address(in.operands[1], m.space, inst))
    return false;
  unsigned reg = 0;
  std::vector<uint32_t> dests;
  for (size_t k = 0; k < n; ++k) {
    const Op &e = isVector ? d.elements[k] : d;
    if (e.kind == Op::Sink) {
      dests.push_back(kNone);
      continue;
    }
    if (e.kind != Op::Reg || !checkReg(e.reg, m.type, bits(m.type), true))
      return fail("destination of load is not a register");
    unsigned have = std::max(16u, bits(regType(e.reg)));
    if (isFloat(m.type) && bits(regType(e.reg)) != bits(m.type))
      return fail("type of load does not match its register");
    if (reg && reg != have)
      return fail("registers of a vector load differ in size");
    reg = have;
    dests.push_back(regOffset(e.reg));
  }
  if (!reg)
    reg = std::max(16u, bits(m.type));
  if (std::find(dests.begin(), dests.end(), kNone) != dests.end() && n == 1)
    dests[0] = temp(reg);
  std::string key = std::string("$ld.") + (isSigned(m.type) ? "s" : "u") + std::to_string(bits(m.type)) + "." + std::to_string(reg);
  const HandlerRow *row = findHandler(key);
  if (!row)
    return fail("illegal register size for load");
  Inst &i = emit(row->fn, Kind::Trapping);
  i.a = inst.a, i.imm = inst.imm, i.space = inst.space, i.slot = inst.slot, i.wide = inst.wide;
  i.d = dests[0];
  i.y = m.vec;
  if (m.vec > 1) {
    i.x = uint32_t(program.lists.size());
    program.lists.insert(program.lists.end(), dests.begin(), dests.end());
  }
  return true;
}

bool Decoder::store(const In &in) {
  MemMods m;
  std::string error;
  if (!operandCount(in, 2, 3) || !parseMods(in, m, error))
    return fail(error.empty() ? "malformed store" : error);
  if (m.space == Space::Const)
    return fail("cannot store to constant memory");
  const Op &v = in.operands[1];
  bool isVector = v.kind == Op::Vector;
  size_t n = isVector ? v.elements.size() : 1;
  if (n != m.vec)
    return fail("vector size of store does not match its operand");
  Inst inst;
  if (!address(in.operands[0], m.space, inst))
    return false;
  if (inst.space == uint8_t(Space::Param))
    return fail("cannot store to kernel parameters");
  unsigned reg = 0;
  for (size_t k = 0; k < n; ++k)
    if (const Op &e = isVector ? v.elements[k] : v; e.kind == Op::Reg) {
      if (!checkReg(e.reg, m.type, bits(m.type), true))
        return false;
      unsigned have = std::max(16u, bits(regType(e.reg)));
      if ((reg && reg != have) || (isFloat(m.type) && have != bits(m.type)))
        return fail("registers of a store differ in size");
      reg = have;
    }
  if (!reg)
    reg = std::max(16u, bits(m.type));
  std::vector<uint32_t> sources;
  for (size_t k = 0; k < n; ++k) {
    const Op &e = isVector ? v.elements[k] : v;
    uint32_t s;
    if (e.kind == Op::Reg)
      s = regOffset(e.reg);
    else if (!source(e, m.type, reg, s))
      return false;
    sources.push_back(s);
  }
  std::string key = std::string("$st.") + (isSigned(m.type) ? "s" : "u") + std::to_string(bits(m.type)) + "." + std::to_string(reg);
  const HandlerRow *row = findHandler(key);
  if (!row)
    return fail("illegal register size for store");
  Inst &i = emit(row->fn, Kind::Trapping);
  i.a = inst.a, i.imm = inst.imm, i.space = inst.space, i.slot = inst.slot, i.wide = inst.wide;
  i.flags |= instflag::Store;
  i.b = sources[0];
  i.y = m.vec;
  if (m.vec > 1) {
    i.x = uint32_t(program.lists.size());
    program.lists.insert(program.lists.end(), sources.begin(), sources.end());
  }
  return true;
}

/// atom{.sem}{.scope}{.space}.op.type d, [a], b{, c} and red, the same without d. Vectors are done element by element.
bool Decoder::atom(const In &in) {
  bool isRed = in.op == "red";
  size_t at = isRed ? 0 : 1;
  Space space = Space::Generic;
  Ty type = Ty::None;
  unsigned vec = 1;
  std::string op, spelled;
  if (!in.mods.empty() && in.mods[0] == "async")
    return fail("red.async is not supported");
  for (std::string_view m : in.mods) {
    if (isOneOf(m, {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}))
      op = m;
    else if (m == "v2" || m == "v4" || m == "v8")
      vec = unsigned(m[1] - '0');
    else if (m == "noftz" || isHint(m) || spaceNamed(m, space))
      continue;
    else if (Ty t = typeNamed(m); t != Ty::None && type == Ty::None)
      type = t, spelled = m;
    else
      return fail("illegal modifier '." + std::string(m) + "' of '" + std::string(in.op) + "'");
  }
  if (op.empty() || type == Ty::None || (isRed && (op == "exch" || op == "cas")))
    return fail("malformed '" + std::string(in.op) + "'");
  size_t count = at + 2 + (op == "cas");
  if (!operandCount(in, count, count + 1))
    return false;
  if (space != Space::Generic && space != Space::Global && space != Space::Shared)
    return fail("atomics need global, shared or generic addresses");
  if (type == Ty::BF16 || type == Ty::BF16x2)
    if (!needSm(90, "atomics on bf16"))
      return false;
  if (vec > 1 && !needSm(90, "vector atomics"))
    return false;
  std::string key = (type == Ty::F32 && space == Space::Global ? "$atom." + op + ".ftz." : "atom." + op + ".") + spelled;
  const HandlerRow *row = findHandler(key);
  if (!row && (op == "exch" || op == "cas") && !isBits(type)) { // old spellings: atom.exch.u32, .f32
    key = "atom." + op + ".b" + std::to_string(bits(type));
    row = findHandler(key);
  }
  if (!row)
    return fail("unknown atomic operation '" + key + "'");
  Inst inst;
  if (!address(in.operands[at], space, inst))
    return false;
  unsigned width = bits(type);
  for (unsigned k = 0; k < vec; ++k) {
    auto element = [&](const Op &o) -> const Op & { return vec > 1 && o.kind == Op::Vector && k < o.elements.size() ? o.elements[k] : o; };
    uint32_t b, c = kNone, d = kNone;
    Ty want = width == 16 ? Ty::None : type;
    if (!source(element(in.operands[at + 1]), want, width, b) || (op == "cas" && !source(element(in.operands[at + 2]), want, width, c)) ||
        (!isRed && !dest(element(in.operands[0]), want, width, d, true)))
      return false;
    Inst &i = emit(row->fn, Kind::Trapping);
    i.a = inst.a, i.imm = inst.imm + k * width / 8, i.space = inst.space, i.slot = inst.slot, i.wide = inst.wide;
    i.b = b, i.c = c, i.d = d, i.fp = isFloat(type) ? uint8_t(fpmode::Set) : 0;
    i.flags |= instflag::Store | (isFloat(type) && op == "add" ? instflag::Float : 0);
  }
  return true;
}

/// cvta.space d, a: space to generic; cvta.to.space the other way.
bool Decoder::cvta(const In &in) {
  bool to = !in.mods.empty() && in.mods[0] == "to";
  Space space;
  if (!operandCount(in, 2, 2) || in.mods.size() != (to ? 3u : 2u) || !spaceNamed(in.mods[to ? 1 : 0], space))
    return fail("malformed cvta");
  if (in.mods.back() != "u64")
    return fail("cvta needs .u64");
  uint64_t window = space == Space::Shared ? kSharedWindow : space == Space::Local ? kLocalWindow : space == Space::Param ? kParamWindow : 0;
  uint32_t a, d;
  if (!source(in.operands[1], Ty::U64, 64, a) || !dest(in.operands[0], Ty::U64, 64, d))
    return false;
  Inst &i = emitRow(window ? "add.u64" : "mov.b64");
  i.a = a, i.d = d, i.b = window ? constant(to ? 0 - window : window, 64) : kNone;
  return !failed;
}

bool Decoder::isspacep(const In &in) {
  Space space;
  uint32_t a, d;
  if (!operandCount(in, 2, 2) || in.mods.size() != 1 || !spaceNamed(in.mods[0], space))
    return fail("malformed isspacep");
  if (!source(in.operands[1], Ty::B64, 64, a) || !destPred(in.operands[0], d))
    return false;
  Inst &i = emitRow("$isspacep");
  bool global = space == Space::Global || space == Space::Const;
  i.a = a, i.d = d, i.x = global ? ~0u : 0;
  i.y = global ? 3 : 1;
  i.imm = global || space == Space::Shared ? kSharedWindow : space == Space::Local ? kLocalWindow : kParamWindow;
  if (space == Space::Const)
    i.x = 0, i.y = 0; // constants are reached by global addresses here
  return !failed;
}

/// cp.async and its groups; the bulk and tensor forms are not here.
bool Decoder::cp(const In &in) {
  auto has = [&](std::string_view m) { return std::find(in.mods.begin(), in.mods.end(), m) != in.mods.end(); };
  if (in.mods.empty() || in.mods[0] != "async" || has("bulk") || has("mbarrier"))
    return fail("'cp' of this form is not supported");
  if (!needSm(80, "cp.async"))
    return false;
  if (has("commit_group"))
    return operandCount(in, 0, 0) && (emitRow("$cp.async.commit"), !failed);
  if (has("wait_all"))
    return operandCount(in, 0, 0) && (emitRow("$cp.async.wait.all"), !failed);
  if (has("wait_group")) {
    if (!operandCount(in, 1, 1) || in.operands[0].kind != Op::Imm)
      return fail("cp.async.wait_group needs a constant");
    emitRow("$cp.async.wait").imm = in.operands[0].imm;
    return !failed;
  }
  bool cg = has("cg");
  if (!operandCount(in, 3, 5) || in.operands[2].kind != Op::Imm || (!cg && !has("ca")))
    return fail("malformed cp.async");
  uint64_t size = in.operands[2].imm;
  if (!(size == 16 || (!cg && (size == 4 || size == 8))))
    return fail("illegal size of cp.async");
  Inst to, from;
  if (!address(in.operands[0], Space::Shared, to) || !address(in.operands[1], Space::Global, from))
    return false;
  uint32_t valid = kNone;
  if (in.operands.size() > 3 && !has("L2::cache_hint")) {
    const Op &v = in.operands[3];
    if (v.kind == Op::Reg && regType(v.reg) == Ty::Pred) { // ignore-src
      uint32_t p;
      if (!sourcePred(v, p))
        return false;
      valid = temp(32);
      Inst &i = emitRow("selp.b32");
      i.a = constant(0, 32), i.b = constant(size, 32), i.c = p, i.d = valid;
    } else if (!source(v, Ty::U32, 32, valid)) {
      return false;
    }
  } else if (in.operands.size() > 4 && !source(in.operands[3], Ty::U32, 32, valid)) {
    return false;
  }
  uint32_t b = from.a;
  uint64_t offset = from.imm;
  if (offset > 0x7fffffff) { // does not fit Inst::x
    b = temp(64);
    Inst &i = emitRow("add.u64");
    i.a = from.a, i.b = constant(offset, 64), i.d = b;
    offset = 0;
  }
  Inst &i = emitRow("$cp.async");
  i.kind = Kind::Trapping;
  i.a = to.a, i.imm = to.imm, i.space = to.space, i.wide = to.wide, i.slot = from.slot;
  i.b = b, i.x = uint32_t(offset), i.c = valid, i.y = uint32_t(size);
  return !failed;
}

bool Decoder::createpolicy(const In &in) {
  if (in.operands.empty())
    return fail("malformed createpolicy");
  uint32_t d;
  if (!dest(in.operands[0], Ty::B64, 64, d))
    return false;
  Inst &i = emitRow("mov.b64");
  i.d = d, i.a = constant(0, 64);
  return !failed;
}

} // namespace weft::emu
