//===- DecodeMatrix.cpp - Tensor-core instructions ------------------------===//
//
// See Decoder.h. All of them need the whole warp (Kind::WarpSync over all live lanes).
//
//===----------------------------------------------------------------------===//
#include "exec/Decoder.h"

#include <algorithm>

namespace weft::emu {

using namespace ptx;

namespace {
bool has(const Instruction &in, std::string_view m) { return std::find(in.mods.begin(), in.mods.end(), m) != in.mods.end(); }
} // namespace

/// The registers of a fragment, appended to Program::lists; sources may be constants.
bool Decoder::fragment(const Op &o, size_t count, Ty type, unsigned width, bool isDest) {
  bool isVector = o.kind == Op::Vector;
  if ((isVector ? o.elements.size() : 1) != count)
    return fail("wrong number of registers in an operand of '" + std::string(current->op) + "'");
  std::vector<uint32_t> regs;
  for (size_t k = 0; k < count; ++k) {
    const Op &e = isVector ? o.elements[k] : o;
    uint32_t r;
    if (!(isDest ? dest(e, type, width, r) : source(e, type, width, r)))
      return false;
    regs.push_back(r);
  }
  program.lists.insert(program.lists.end(), regs.begin(), regs.end());
  return true;
}

/// {ld,st}matrix.sync.aligned.m8n8.num{.trans}{.shared}.b16
bool Decoder::matrixAccess(const In &in, bool isStore) {
  size_t count = has(in, "x1") ? 1 : has(in, "x2") ? 2 : has(in, "x4") ? 4 : 0;
  if (!operandCount(in, 2, 2) || !count || !has(in, "m8n8") || !has(in, "sync") || in.mods.back() != "b16")
    return fail("this form of '" + std::string(in.op) + "' is not supported");
  if (!needSm(isStore ? 90 : 75, "this instruction"))
    return false;
  Inst where;
  bool shared = has(in, "shared") || has(in, "shared::cta");
  if (!address(in.operands[isStore ? 0 : 1], shared ? Space::Shared : Space::Generic, where))
    return false;
  uint32_t list = uint32_t(program.lists.size());
  if (!fragment(in.operands[isStore ? 1 : 0], count, Ty::B32, 32, !isStore))
    return false;
  std::string key = isStore ? "$stmatrix" : "$ldmatrix";
  Inst &i = emitRow((key + (has(in, "trans") ? ".trans" : "")).c_str());
  i.kind = Kind::Trapping;
  i.a = where.a, i.imm = where.imm, i.space = where.space, i.wide = where.wide, i.slot = where.slot;
  i.x = list, i.y = uint32_t(count);
  i.flags |= isStore ? instflag::Store : 0;
  return !failed;
}
bool Decoder::ldmatrix(const In &in) { return matrixAccess(in, false); }
bool Decoder::stmatrix(const In &in) { return matrixAccess(in, true); }

bool Decoder::movmatrix(const In &in) {
  uint32_t d, a;
  if (!operandCount(in, 2, 2) || !has(in, "trans") || !has(in, "m8n8") || !dest(in.operands[0], Ty::B32, 32, d) ||
      !source(in.operands[1], Ty::B32, 32, a))
    return fail("malformed movmatrix");
  Inst &i = emitRow("$movmatrix");
  i.d = d, i.a = a;
  return !failed;
}

/// mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c
bool Decoder::mma(const In &in) {
  if (!operandCount(in, 4, 4) || !has(in, "sync") || !has(in, "aligned") || in.mods.size() < 9 || !has(in, "row") || !has(in, "col"))
    return fail("malformed mma");
  std::string_view shape;
  for (std::string_view m : in.mods)
    if (m.size() > 4 && m[0] == 'm' && m.find('n') != m.npos && m.find('k') != m.npos)
      shape = m;
  size_t n = in.mods.size();
  std::string_view dt = in.mods[n - 4], at = in.mods[n - 3], bt = in.mods[n - 2], ct = in.mods[n - 1];
  Ty a = typeNamed(at), d = typeNamed(dt);
  if (a == Ty::None || typeNamed(bt) == Ty::None || d == Ty::None || dt != ct)
    return fail("this form of mma is not supported");
  if (!needSm(bits(a) == 8 && isFloat(a) ? 89 : 80, "this mma"))
    return false;
  uint32_t list = uint32_t(program.lists.size());
  if (shape == "m8n8k4" && a == Ty::F64) {
    if (!fragment(in.operands[0], 2, Ty::F64, 64, true) || !fragment(in.operands[1], 1, Ty::F64, 64, false) ||
        !fragment(in.operands[2], 1, Ty::F64, 64, false) || !fragment(in.operands[3], 2, Ty::F64, 64, false))
      return false;
    emitRow("$mma.f64");
  } else {
    if (shape.substr(0, 6) != "m16n8k")
      return fail("this shape of mma is not supported");
    std::string key = "$mma." + std::string(at) + "." + std::string(bt) + "." + std::string(shape.substr(5)) + "." + std::string(dt);
    if (!findHandler(key))
      return fail("this form of mma is not supported");
    size_t k = std::stoul(std::string(shape.substr(6)));
    size_t regsB = k * bits(a) / 128, regsC = d == Ty::F16 ? 2 : 4;
    Ty half = d == Ty::F16 ? Ty::B32 : d;
    if (!fragment(in.operands[0], regsC, half, 32, true) || !fragment(in.operands[1], 2 * regsB, Ty::B32, 32, false) ||
        !fragment(in.operands[2], regsB, Ty::B32, 32, false) || !fragment(in.operands[3], regsC, half, 32, false))
      return false;
    emitRow(key.c_str());
  }
  Inst &i = program.code.back();
  i.kind = Kind::WarpSync;
  i.fp = fpmode::Set;
  i.x = list, i.y = allLanes(), i.imm = has(in, "satfinite");
  return !failed;
}

/// wmma.{load.a,load.b,load.c,mma,store.d} of m16n16k16 on f16, with f16 or f32 sums.
bool Decoder::wmma(const In &in) {
  if (!has(in, "m16n16k16") || in.mods.size() < 4)
    return fail("this form of wmma is not supported");
  if (in.mods[0] == "mma") {
    Ty d = typeNamed(in.mods[in.mods.size() - 2]), c = typeNamed(in.mods.back());
    bool rowCol = in.mods[3] == "row" && in.mods[4] == "col";
    (void)rowCol; // the layouts were applied by the loads
    if (!operandCount(in, 4, 4) || d != c || (d != Ty::F32 && d != Ty::F16))
      return fail("this form of wmma.mma is not supported");
    size_t regs = d == Ty::F32 ? 8 : 4;
    Ty type = d == Ty::F32 ? Ty::F32 : Ty::B32;
    uint32_t list = uint32_t(program.lists.size());
    if (!fragment(in.operands[0], regs, type, 32, true) || !fragment(in.operands[1], 8, Ty::B32, 32, false) ||
        !fragment(in.operands[2], 8, Ty::B32, 32, false) || !fragment(in.operands[3], regs, type, 32, false))
      return false;
    Inst &i = emitRow(d == Ty::F32 ? "$wmma.f32" : "$wmma.f16");
    i.kind = Kind::WarpSync;
    i.fp = fpmode::Set;
    i.x = list, i.y = allLanes();
    return !failed;
  }
  bool isStore = in.mods[0] == "store";
  if ((!isStore && in.mods[0] != "load") || !operandCount(in, 2, 3))
    return fail("this form of wmma is not supported");
  std::string_view which = in.mods[1];
  Ty type = typeNamed(in.mods.back());
  if (type != Ty::F16 && !(type == Ty::F32 && (which == "c" || which == "d")))
    return fail("this type of wmma is not supported");
  size_t regs = which == "a" || which == "b" ? 8 : type == Ty::F32 ? 8 : 4;
  Space space = has(in, "global") ? Space::Global : has(in, "shared") ? Space::Shared : Space::Generic;
  Inst where;
  if (!address(in.operands[isStore ? 0 : 1], space, where))
    return false;
  uint32_t stride = constant(16, 32), list = uint32_t(program.lists.size());
  if (in.operands.size() == 3 && !source(in.operands[2], Ty::B32, 32, stride))
    return false;
  list = uint32_t(program.lists.size());
  if (!fragment(in.operands[isStore ? 1 : 0], regs, type == Ty::F32 ? Ty::F32 : Ty::B32, 32, !isStore))
    return false;
  std::string key = std::string(isStore ? "$wmma.store." : "$wmma.load.") + (type == Ty::F32 ? "32" : "16");
  Inst &i = emitRow(key.c_str());
  i.kind = Kind::Trapping;
  i.a = where.a, i.imm = where.imm, i.space = where.space, i.wide = where.wide, i.slot = where.slot;
  i.b = stride, i.x = list, i.y = has(in, "col");
  i.flags |= isStore ? instflag::Store : 0;
  return !failed;
}

} // namespace weft::emu
