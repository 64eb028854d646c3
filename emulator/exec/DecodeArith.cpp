//===- DecodeArith.cpp - Arithmetic, moves, comparisons, conversions ------===//
//
// See Decoder.h. An instruction whose spelling, less its rounding and saturation modifiers, is a key of Instructions.def
// decodes by that row alone; the rest of this file is for those whose operands are irregular.
//
//===----------------------------------------------------------------------===//
#include "exec/Convert.h"
#include "exec/Decoder.h"

#include <algorithm>
#include <cstring>

namespace weft::emu {

using namespace ptx;

namespace {
bool isOneOf(std::string_view s, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), s) != list.end();
}
unsigned laneBits(LaneType t) {
  switch (t) {
  case LaneType::None: return 0;
  case LaneType::Pred: return 1;
  case LaneType::U16: case LaneType::S16: case LaneType::F16: case LaneType::BF16: return 16;
  case LaneType::U32: case LaneType::S32: case LaneType::F32: return 32;
  case LaneType::U64: case LaneType::S64: case LaneType::F64: return 64;
  case LaneType::U128: return 128;
  }
  return 0;
}
std::string spell(const Instruction &in) {
  std::string s(in.op);
  for (std::string_view m : in.mods)
    s.append(".").append(m);
  return s;
}
} // namespace

const HandlerRow *Decoder::rowFor(const In &in, uint8_t &fp, bool &flush, bool &sat, bool &relu, Ty &type) {
  fp = 0, flush = sat = relu = false;
  type = in.mods.empty() ? Ty::None : typeNamed(in.mods.back());
  for (size_t k = in.mods.size(); type == Ty::None && k-- > 0;)
    type = typeNamed(in.mods[k]);
  int arity = int(in.operands.size()) - 1;
  std::string key(in.op);
  for (std::string_view m : in.mods)
    key.append(".").append(m);
  const HandlerRow *row = findHandler(key, arity);
  if (row && row->key[0] != '$') {
    bool plain = true;
    for (std::string_view m : in.mods)
      plain &= !isOneOf(m, {"rn", "rz", "rm", "rp"});
    // add.f32 and friends without rounding are .rn; division, fma and roots have to say it.
    if (isFloat(type) && bits(type) >= 32 && plain && type != Ty::F16x2 && type != Ty::BF16x2 &&
        isOneOf(in.op, {"fma", "rcp", "sqrt", "div"}) && key.find(".approx") == key.npos && key.find(".full") == key.npos)
      return fail("rounding modifier required for instruction '" + std::string(in.op) + "'"), nullptr;
    if (isFloat(type) && bits(type) >= 32 && std::strchr(row->flags, 'r'))
      fp = fpmode::Set;
    if (isFloat(type))
      fp = fpmode::Set;
    return row;
  }
  key = in.op;
  bool rounded = false, ftz = false;
  uint8_t mode = 0;
  for (std::string_view m : in.mods) {
    bool wasRounding = true;
    if (m == "rn")
      mode = 0;
    else if (m == "rz")
      mode = fpmode::Rz;
    else if (m == "rm")
      mode = fpmode::Rm;
    else if (m == "rp")
      mode = fpmode::Rp;
    else
      wasRounding = false;
    rounded |= wasRounding;
    if (wasRounding)
      continue;
    if (m == "ftz")
      ftz = true;
    else if (m == "sat")
      sat = true;
    else if (m == "relu")
      relu = true;
    else
      key.append(".").append(m);
  }
  row = findHandler(key, arity);
  if (!row)
    return fail((findHandler(key) ? "wrong number of operands for '" : "unknown instruction '") + spell(in) + "'"), nullptr;
  auto has = [&](char c) { return std::strchr(row->flags, c) != nullptr; };
  bool approx = key.find(".approx") != key.npos || key.find(".full") != key.npos;
  if ((rounded && (!isFloat(type) || approx)) || (mode && !has('r')) || (ftz && !has('f') && !has('z')) || (sat && !has('s')) || (relu && !has('l')))
    return fail("illegal modifier for instruction '" + spell(in) + "'"), nullptr;
  if (!rounded && isFloat(type) && bits(type) >= 32 && type != Ty::F16x2 && type != Ty::BF16x2 && !approx &&
      isOneOf(in.op, {"fma", "rcp", "sqrt", "div"}))
    return fail("rounding modifier required for instruction '" + spell(in) + "'"), nullptr;
  if (isFloat(type))
    fp = uint8_t(fpmode::Set | mode | (ftz && has('f') ? fpmode::Ftz : 0));
  flush = ftz && has('z');
  return row;
}

bool Decoder::table(const In &in) {
  if (in.operands.size() < 2)
    return findHandler(spell(in)) || !in.operands.empty() ? fail("wrong number of operands for '" + spell(in) + "'")
                                                          : fail("unknown instruction '" + spell(in) + "'");
  uint8_t fp;
  bool flush, sat, relu;
  Ty type;
  const HandlerRow *row = rowFor(in, fp, flush, sat, relu, type);
  if (!row)
    return false;
  if (type == Ty::BF16 || type == Ty::BF16x2)
    if (!needSm(isOneOf(in.op, {"add", "sub", "mul"}) ? 90 : 80, "bf16 arithmetic"))
      return false;
  uint32_t d = kNone, s[4] = {kNone, kNone, kNone, kNone};
  bool irregular = isOneOf(in.op, {"mul", "mad", "dp4a", "dp2a", "slct", "sad"}) || row->d != row->s[0];
  for (unsigned k = 0; k < 4 && row->s[k] != LaneType::None; ++k) {
    unsigned width = laneBits(row->s[k]);
    Ty want = type;
    if (width != (type == Ty::Pred ? 1u : bits(type)) && width != 1) // shift counts, wide results and the like
      want = width == 32 && in.op == "slct" && row->s[k] == LaneType::F32 ? Ty::F32 : Ty::None;
    else if (in.op == "slct" && k == 2)
      want = row->s[k] == LaneType::F32 ? Ty::F32 : Ty::S32;
    else if (in.op == "slct")
      want = typeNamed(in.mods[0]);
    (void)irregular;
    if (!source(in.operands[k + 1], want, width, s[k]))
      return false;
  }
  unsigned width = laneBits(row->d);
  Ty want = width == (type == Ty::Pred ? 1u : bits(type)) ? type : Ty::None;
  if (in.op == "slct")
    want = typeNamed(in.mods[0]);
  if (in.op == "testp")
    want = Ty::Pred;
  bool sink = in.op == "lop3";
  if (!dest(in.operands[0], want, width, d, sink))
    return false;
  Inst &i = emit(row->fn);
  i.d = d, i.a = s[0], i.b = s[1], i.c = s[2], i.x = s[3];
  i.fp = fp;
  if (flush && type != Ty::BF16 && type != Ty::BF16x2) {
    Inst &f = emitRow(type == Ty::F32 ? "$flush.f32" : type == Ty::F16 ? "$flush.f16" : "$flush.f16x2");
    f.d = f.a = d;
  }
  auto post = [&](const char *stem) {
    std::string key = std::string(stem) + (type == Ty::F32 ? "f32" : type == Ty::F64 ? "f64" : type == Ty::F16 ? "f16"
                                           : type == Ty::BF16 ? "bf16" : type == Ty::F16x2 ? "f16x2" : "bf16x2");
    Inst &f = emitRow(key.c_str());
    f.d = f.a = d;
  };
  if (sat)
    post("$sat.");
  if (relu)
    post("$relu.");
  return !failed;
}

//===-- Moves ---------------------------------------------------------------===//

bool Decoder::mov(const In &in) {
  if (!operandCount(in, 2, 2) || in.mods.size() != 1)
    return fail("malformed mov");
  Ty type = typeNamed(in.mods[0]);
  if (type == Ty::None || isFloat(type) ? (type != Ty::F32 && type != Ty::F64 && type != Ty::F16 && type != Ty::BF16) : bits(type) == 8)
    return fail("illegal type for mov");
  if (in.operands[0].kind == Op::Vector || in.operands[1].kind == Op::Vector)
    return movVector(in, type);
  uint32_t a, d;
  unsigned width = type == Ty::Pred ? 1 : bits(type);
  if (width == 128)
    return fail("mov.b128 needs a vector operand");
  if (!source(in.operands[1], type, width, a) || !dest(in.operands[0], type, width, d))
    return false;
  Inst &i = emitRow(type == Ty::Pred ? "mov.pred" : width == 16 ? "mov.b16" : width == 32 ? "mov.b32" : "mov.b64");
  i.a = a, i.d = d;
  return true;
}

/// mov.b64 d, {a, b} packs, mov.b64 {a, b}, d unpacks; the first element is the lowest.
bool Decoder::movVector(const In &in, Ty type) {
  const Op &to = in.operands[0], &from = in.operands[1];
  bool packs = from.kind == Op::Vector;
  const Op &v = packs ? from : to, &whole = packs ? to : from;
  size_t n = v.elements.size();
  unsigned width = bits(type);
  if (!isBits(type) || width < 32 || (n != 2 && n != 4) || (to.kind == Op::Vector && from.kind == Op::Vector))
    return fail("malformed vector operand of mov");
  unsigned part = width / unsigned(n);
  if (part < 16 || width == 128)
    return fail("this form of mov is not supported");
  uint32_t w, e[4];
  Ty partType = part == 16 ? Ty::B16 : Ty::B32;
  for (size_t k = 0; k < n; ++k)
    if (!(packs ? source(v.elements[k], partType, part, e[k]) : dest(v.elements[k], partType, part, e[k], true)))
      return false;
  if (!(packs ? dest(whole, type, width, w) : source(whole, type, width, w)))
    return false;
  if (packs) {
    Inst &i = emitRow(n == 4 ? "$pack4.16.64" : width == 32 ? "$pack.16.32" : "$pack.32.64");
    i.d = w, i.a = e[0], i.b = e[1];
    if (n == 4)
      i.c = e[2], i.x = e[3];
    return !failed;
  }
  const char *rows[4] = {width == 32 ? "$low16.32" : n == 4 ? "$low16.64" : "$low32.64",
                         width == 32 ? "$high16.32" : n == 4 ? "$part1.64" : "$high32.64", "$part2.64", "$part3.64"};
  for (size_t k = 0; k < n; ++k) {
    if (e[k] == kNone)
      continue;
    Inst &i = emitRow(rows[k]);
    i.a = w, i.d = e[k];
  }
  return !failed;
}

//===-- Comparisons ----------------------------------------------------------===//

namespace {
bool isBoolOp(std::string_view m) { return m == "and" || m == "or" || m == "xor"; }
} // namespace

/// The comparison itself, `setp` or `set`, of operands 1 and 2, into a predicate.
bool Decoder::compareInto(const In &in, uint32_t d) {
  Ty type = typeNamed(in.mods.back());
  if (type == Ty::None || type == Ty::Pred || in.mods.empty())
    return fail("unknown comparison type");
  bool ftz = false;
  std::string_view op;
  for (std::string_view m : in.mods)
    if (isOneOf(m, {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}))
      op = m;
    else if (m == "ftz")
      ftz = true;
    else if (!isBoolOp(m) && typeNamed(m) == Ty::None)
      return fail("illegal modifier '." + std::string(m) + "'");
  std::string key = "setp." + std::string(op) + "." + std::string(in.mods.back());
  const HandlerRow *row = findHandler(key);
  if (!row)
    return fail("illegal comparison '" + spell(in) + "'");
  if (ftz && type != Ty::F32)
    return ftz && (type == Ty::F16 || type == Ty::F16x2) ? true : fail("illegal .ftz");
  uint32_t a, b;
  if (!source(in.operands[1], type, bits(type), a) || !source(in.operands[2], type, bits(type), b))
    return false;
  Inst &i = emit(row->fn);
  i.a = a, i.b = b, i.d = d;
  i.fp = isFloat(type) ? uint8_t(fpmode::Set | (ftz ? fpmode::Ftz : 0)) : 0;
  return true;
}

bool Decoder::setp(const In &in) {
  if (!operandCount(in, 3, 4) || in.mods.size() < 2)
    return fail("malformed setp");
  Ty type = typeNamed(in.mods.back());
  const Op &first = in.operands[0];
  if (type == Ty::F16x2 || type == Ty::BF16x2) {
    // Two comparisons on the halves.
    if (!first.isPair)
      return fail("setp on packed halves needs two predicates");
    uint32_t a, b, d[2];
    if (!source(in.operands[1], Ty::B32, 32, a) || !source(in.operands[2], Ty::B32, 32, b) || !destPred(first, d[0]) ||
        !destPred(first.elements[0], d[1]))
      return false;
    std::string_view op = in.mods[0], boolOp = in.mods.size() > 1 && isBoolOp(in.mods[1]) ? in.mods[1] : "";
    std::string key = "setp." + std::string(op) + (type == Ty::F16x2 ? ".f16" : ".bf16");
    const HandlerRow *row = findHandler(key);
    if (!row)
      return fail("illegal comparison");
    uint32_t c = kNone, t[2];
    if (!boolOp.empty() && (in.operands.size() != 4 || !sourcePred(in.operands[3], c)))
      return fail("a predicate operand is missing");
    for (int half = 0; half < 2; ++half) {
      uint32_t x = temp(16), y = temp(16);
      const char *part = half ? "$high16.32" : "$low16.32";
      Inst &i = emitRow(part);
      i.a = a, i.d = x;
      Inst &j = emitRow(part);
      j.a = b, j.d = y;
      t[half] = tempPred();
      Inst &k = emit(row->fn);
      k.a = x, k.b = y, k.d = t[half], k.fp = fpmode::Set;
    }
    for (int half = 0; half < 2; ++half) {
      Inst &i = emitRow(c == kNone ? "mov.pred" : boolOp == "and" ? "and.pred" : boolOp == "or" ? "or.pred" : "xor.pred");
      i.a = t[half], i.b = c, i.d = d[half];
    }
    return !failed;
  }
  std::string_view boolOp;
  for (std::string_view m : in.mods)
    if (isBoolOp(m))
      boolOp = m;
  if (boolOp.empty() != (in.operands.size() == 3))
    return fail("setp: a combining operator and a predicate operand go together");
  uint32_t p, q = kNone, c = kNone;
  if (!destPred(first, p) || (first.isPair && !destPred(first.elements[0], q)))
    return false;
  if (boolOp.empty() && q == kNone)
    return compareInto(in, p);
  uint32_t t = tempPred();
  if (!boolOp.empty() && !sourcePred(in.operands[3], c))
    return false;
  if (!compareInto(in, t))
    return false;
  const char *row = boolOp.empty() ? "mov.pred" : boolOp == "and" ? "and.pred" : boolOp == "or" ? "or.pred" : "xor.pred";
  uint32_t inverse = kNone, second = kNone;
  if (q != kNone) { // q = !t op c, computed before p may overwrite c or the guard
    inverse = tempPred(), second = tempPred();
    Inst &n = emitRow("not.pred");
    n.a = t, n.d = inverse;
    Inst &i = emitRow(row);
    i.a = inverse, i.b = c, i.d = second;
    uint32_t pValue = tempPred();
    Inst &j = emitRow(row);
    j.a = t, j.b = c, j.d = pValue;
    bool guardIsP = current->guard >= 0 && regOffset(uint32_t(current->guard)) == p;
    Inst &k = emitRow("mov.pred");
    k.a = guardIsP ? second : pValue, k.d = guardIsP ? q : p;
    Inst &l = emitRow("mov.pred");
    l.a = guardIsP ? pValue : second, l.d = guardIsP ? p : q;
    return !failed;
  }
  Inst &i = emitRow(row);
  i.a = t, i.b = c, i.d = p;
  return !failed;
}

/// set.CmpOp{.BoolOp}{.ftz}.dtype.stype d, a, b{, c}
bool Decoder::set(const In &in) {
  if (!operandCount(in, 3, 4) || in.mods.size() < 3)
    return fail("malformed set");
  Ty to = typeNamed(in.mods[in.mods.size() - 2]);
  if (to != Ty::U32 && to != Ty::S32 && to != Ty::F32 && to != Ty::U16 && to != Ty::S16 && to != Ty::F16 && to != Ty::BF16)
    return fail("illegal result type of set");
  std::string_view boolOp;
  for (std::string_view m : in.mods)
    if (isBoolOp(m))
      boolOp = m;
  if (boolOp.empty() != (in.operands.size() == 3))
    return fail("set: a combining operator and a predicate operand go together");
  uint32_t t = tempPred(), c, d;
  if (!compareInto(in, t))
    return false;
  if (!boolOp.empty()) {
    if (!sourcePred(in.operands[3], c))
      return false;
    Inst &i = emitRow(boolOp == "and" ? "and.pred" : boolOp == "or" ? "or.pred" : "xor.pred");
    i.a = t, i.b = c, i.d = t;
  }
  if (!dest(in.operands[0], to, bits(to), d))
    return false;
  Inst &i = emitRow(to == Ty::F32 ? "$set.f32" : to == Ty::F16 ? "$set.f16" : to == Ty::BF16 ? "$set.bf16" : bits(to) == 16 ? "$set.u16" : "$set.u32");
  i.a = t, i.d = d;
  return !failed;
}

//===-- Conversions ----------------------------------------------------------===//

namespace {
bool formatOf(Ty type, Format &format, uint8_t &elements) {
  elements = 1;
  switch (type) {
  case Ty::F16: format = kF16; return true;
  case Ty::BF16: format = kBF16; return true;
  case Ty::TF32: format = kTF32; return true;
  case Ty::F32: format = kF32; return true;
  case Ty::F64: format = kF64; return true;
  case Ty::F16x2: format = kF16, elements = 2; return true;
  case Ty::BF16x2: format = kBF16, elements = 2; return true;
  case Ty::E4M3x2: format = kE4M3, elements = 2; return true;
  case Ty::E5M2x2: format = kE5M2, elements = 2; return true;
  case Ty::E2M1x2: format = kE2M1, elements = 2; return true;
  case Ty::E2M3x2: format = kE2M3, elements = 2; return true;
  case Ty::E3M2x2: format = kE3M2, elements = 2; return true;
  case Ty::UE8M0x2: format = kUE8M0, elements = 2; return true;
  default: return false;
  }
}
unsigned registerBits(Ty t) { return t == Ty::E2M1x2 ? 8 : bits(t); }
} // namespace

bool Decoder::cvt(const In &in) {
  if (!operandCount(in, 2, 3) || in.mods.size() < 2)
    return fail("malformed cvt");
  Ty to = typeNamed(in.mods[in.mods.size() - 2]), from = typeNamed(in.mods.back());
  if (to == Ty::None || from == Ty::None || to == Ty::Pred || from == Ty::Pred || isBits(to) || isBits(from) || bits(to) == 128)
    return fail("illegal types of cvt");
  int round = -1;
  bool integerRound = false, sat = false, ftz = false, satfinite = false, relu = false;
  for (size_t k = 0; k + 2 < in.mods.size(); ++k) {
    std::string_view m = in.mods[k];
    if (isOneOf(m, {"rn", "rz", "rm", "rp", "rna"}) && round < 0)
      round = m == "rn" ? 0 : m == "rz" ? 1 : m == "rm" ? 2 : m == "rp" ? 3 : 4;
    else if (isOneOf(m, {"rni", "rzi", "rmi", "rpi"}) && round < 0)
      round = m == "rni" ? 0 : m == "rzi" ? 1 : m == "rmi" ? 2 : 3, integerRound = true;
    else if (m == "sat")
      sat = true;
    else if (m == "ftz")
      ftz = true;
    else if (m == "satfinite")
      satfinite = true;
    else if (m == "relu")
      relu = true;
    else
      return fail("illegal modifier '." + std::string(m) + "' of cvt");
  }
  bool toFloat = isFloat(to), fromFloat = isFloat(from);
  if (ftz && to != Ty::F32 && from != Ty::F32)
    return fail("cvt.ftz needs an f32");
  if (round >= 0 && !toFloat && !fromFloat)
    return fail("rounding modifier not allowed for integer cvt");
  if (fromFloat && !toFloat && !integerRound)
    return fail("cvt from floating point to integer needs integer rounding");
  if (!fromFloat && toFloat && (round < 0 || integerRound))
    return fail("cvt from integer to floating point needs a rounding modifier");
  bool plainTypes = (!toFloat || to == Ty::F16 || to == Ty::BF16 || to == Ty::F32 || to == Ty::F64) &&
                    (!fromFloat || from == Ty::F16 || from == Ty::BF16 || from == Ty::F32 || from == Ty::F64);
  bool narrows = toFloat && fromFloat && bits(to) < bits(from);
  if (narrows && round < 0)
    return fail("cvt to a smaller floating-point type needs a rounding modifier");
  if (toFloat && fromFloat && plainTypes && bits(to) > bits(from) && round >= 0 && !integerRound)
    return fail("rounding modifier not allowed for widening cvt");
  bool packsRn = (to == Ty::F16x2 || to == Ty::BF16x2) && from == Ty::F32 && round == 0 && !satfinite && !relu && !sat;
  bool shortGeneric = (to == Ty::F16 || to == Ty::BF16) && fromFloat && from != to && (round > 0 || from == Ty::F64 || from == Ty::F16 || from == Ty::BF16);
  if ((!plainTypes && !packsRn) || satfinite || relu || shortGeneric)
    return cvtGeneric(in, to, from, uint8_t(round < 0 ? 0 : round), (satfinite ? 1u : 0) | (relu ? 2u : 0) | (ftz ? 4u : 0) | (sat ? 8u : 0));
  if (packsRn) {
    uint32_t a, b, d;
    if (!operandCount(in, 3, 3) || !source(in.operands[1], Ty::F32, 32, a) || !source(in.operands[2], Ty::F32, 32, b) ||
        !dest(in.operands[0], to, 32, d))
      return false;
    Inst &i = emitRow(to == Ty::F16x2 ? "cvt.f16x2.f32" : "cvt.bf16x2.f32");
    i.a = a, i.b = b, i.d = d, i.fp = uint8_t(fpmode::Set | (ftz ? fpmode::Ftz : 0));
    return !failed;
  }
  if (!operandCount(in, 2, 2))
    return false;
  // The source: registers may be wider than the type.
  uint32_t a, d;
  unsigned fromBits = std::max(16u, bits(from)), toBits = std::max(16u, bits(to));
  const Op &s = in.operands[1];
  if (s.kind == Op::Reg && !s.negated && regType(s.reg) != Ty::Pred && std::max(16u, bits(regType(s.reg))) > fromBits && !fromFloat) {
    if (!checkReg(s.reg, from, bits(from), true))
      return false;
    unsigned have = bits(regType(s.reg));
    uint32_t t = temp(fromBits);
    if (have == 128)
      return fail("illegal register of cvt");
    uint32_t whole = regOffset(s.reg);
    Inst &i = emitRow(fromBits == 32 ? "$low32.64" : have == 32 ? "$low16.32" : "$low16.64");
    i.a = whole, i.d = t;
    a = t;
  } else if (s.kind == Op::Special) {
    unsigned have = 0;
    a = special(s.symbol, char(s.imm), have);
    if (failed)
      return false;
    if (have != fromBits && !source(s, from, fromBits, a))
      return false;
  } else if (!source(s, from, bits(from) == 8 ? 16 : bits(from), a)) {
    return false;
  }
  std::string key = "cvt.";
  if (integerRound && toFloat && to == from)
    key += "int." + std::string(in.mods.back());
  else {
    if (sat && !toFloat && !fromFloat)
      key += "sat.";
    key += std::string(in.mods[in.mods.size() - 2]) + "." + std::string(in.mods.back());
    if (integerRound && toFloat)
      return fail("integer rounding needs equal floating-point types");
  }
  const HandlerRow *row = findHandler(key);
  if (!row)
    return fail("unknown conversion '" + spell(in) + "'");
  const Op &o = in.operands[0];
  uint32_t wide = kNone;
  unsigned have = 0;
  if (o.kind == Op::Reg && regType(o.reg) != Ty::Pred && !toFloat)
    have = std::max(16u, bits(regType(o.reg)));
  if (have > toBits && have <= 64) {
    if (!checkReg(o.reg, to, bits(to), true))
      return false;
    wide = regOffset(o.reg);
    d = temp(toBits);
  } else if (!dest(o, to, bits(to) == 8 ? 16 : bits(to), d)) {
    return false;
  }
  Inst &i = emit(row->fn);
  i.a = a, i.d = d, i.y = uint32_t(round < 0 ? 0 : round);
  bool mxcsrRounds = (to == Ty::F32 || to == Ty::F64) && !integerRound && round > 0;
  if (toFloat || fromFloat)
    i.fp = uint8_t(fpmode::Set | (ftz ? fpmode::Ftz : 0) | (mxcsrRounds ? round * 2 : 0));
  if (ftz && to == Ty::F32) {
    Inst &f = emitRow("$flush.f32");
    f.a = f.d = d;
  }
  if (sat && toFloat) {
    Inst &f = emitRow(to == Ty::F32 ? "$sat.f32" : to == Ty::F64 ? "$sat.f64" : "$sat.f16");
    f.a = f.d = d, f.fp = fpmode::Set;
  }
  if (wide != kNone) {
    std::string ext = std::string(isSigned(to) ? "$sext." : "$zext.") + std::to_string(toBits) + "." + std::to_string(have);
    Inst &f = emitRow(ext.c_str());
    f.a = d, f.d = wide;
  }
  return !failed;
}

bool Decoder::cvtGeneric(const In &in, Ty to, Ty from, uint8_t round, unsigned flags) {
  CvtSpec spec;
  uint8_t toElements, fromElements;
  if (!formatOf(to, spec.to, toElements) || !formatOf(from, spec.from, fromElements))
    return fail("unknown conversion '" + spell(in) + "'");
  bool fp8 = to == Ty::E4M3x2 || to == Ty::E5M2x2 || from == Ty::E4M3x2 || from == Ty::E5M2x2;
  if (fp8 && !needSm(89, "fp8 conversion"))
    return false;
  if ((to == Ty::TF32 || to == Ty::BF16 || to == Ty::BF16x2) && !needSm(80, "this conversion"))
    return false;
  if (fp8 && fromElements != 2 && !(flags & 1))
    return fail("conversion to fp8 needs .satfinite");
  spec.elements = toElements;
  spec.packedSource = fromElements == 2 || toElements == 1;
  if (fromElements == 2 && toElements != 2)
    return fail("unknown conversion '" + spell(in) + "'");
  spec.round = Round(round);
  spec.satfinite = flags & 1, spec.relu = flags & 2, spec.ftz = flags & 4;
  spec.sourceBits = uint8_t(registerBits(from)), spec.destBits = uint8_t(registerBits(to));
  uint32_t a, b = kNone, d;
  bool two = !spec.packedSource;
  Ty fromType = isFloat(from) && bits(from) >= 32 && fromElements == 1 ? from : Ty::None, toType = to == Ty::TF32 ? Ty::None : to;
  if (bits(to) < 32)
    toType = Ty::None;
  if (!operandCount(in, two ? 3 : 2, two ? 3 : 2) || !source(in.operands[1], fromType, std::max(16u, registerBits(from)), a) ||
      (two && !source(in.operands[2], fromType, std::max(16u, registerBits(from)), b)) ||
      !dest(in.operands[0], toType, std::max(16u, registerBits(to)), d))
    return false;
  Inst &i = emitRow("$cvt.generic");
  i.a = a, i.b = b, i.d = d, i.imm = spec.pack(), i.fp = fpmode::Set;
  if (flags & 8) {
    Inst &f = emitRow(to == Ty::F16x2 ? "$sat.f16x2" : "$sat.f16");
    f.a = f.d = d, f.fp = fpmode::Set;
  }
  return !failed;
}

//===-- Irregular bit operations ----------------------------------------------===//

/// lop3.b32 d, a, b, c, table and lop3.BoolOp.b32 d|p, a, b, c, table, q.
bool Decoder::lop3(const In &in) {
  bool boolean = in.mods.size() == 2 && (in.mods[0] == "and" || in.mods[0] == "or");
  if (!operandCount(in, boolean ? 6 : 5, boolean ? 6 : 5) || in.mods.empty() || in.mods.back() != "b32")
    return fail("malformed lop3");
  uint32_t s[3], d, e, q = kNone, p = kNone;
  for (int k = 0; k < 3; ++k)
    if (!source(in.operands[k + 1], Ty::B32, 32, s[k]))
      return false;
  if (in.operands[4].kind != Op::Imm || in.operands[4].imm > 255 || !source(in.operands[4], Ty::B32, 32, e))
    return fail("lop3 needs an 8-bit table");
  if (in.operands[0].kind == Op::Sink)
    d = temp(32);
  else if (!dest(in.operands[0], Ty::B32, 32, d))
    return false;
  if (boolean && (!in.operands[0].isPair || !destPred(in.operands[0].elements[0], p) || !sourcePred(in.operands[5], q)))
    return fail("malformed lop3");
  Inst &i = emitRow("lop3.b32");
  i.d = d, i.a = s[0], i.b = s[1], i.c = s[2], i.x = e;
  if (boolean) {
    uint32_t t = tempPred();
    Inst &c = emitRow("setp.ne.u32");
    c.a = d, c.b = constant(0, 32), c.d = t;
    Inst &j = emitRow(in.mods[0] == "and" ? "and.pred" : "or.pred");
    j.a = t, j.b = q, j.d = p;
  }
  return !failed;
}

/// The mode of prmt stands after the type.
bool Decoder::prmt(const In &in) {
  if (!operandCount(in, 4, 4) || in.mods.empty() || in.mods[0] != "b32" || in.mods.size() > 2)
    return fail("malformed prmt");
  std::string key = in.mods.size() == 2 ? "prmt." + std::string(in.mods[1]) + ".b32" : "prmt.b32";
  const HandlerRow *row = findHandler(key);
  if (!row)
    return fail("unknown mode of prmt");
  uint32_t s[3], d;
  for (int k = 0; k < 3; ++k)
    if (!source(in.operands[k + 1], Ty::B32, 32, s[k]))
      return false;
  if (!dest(in.operands[0], Ty::B32, 32, d))
    return false;
  Inst &i = emit(row->fn);
  i.d = d, i.a = s[0], i.b = s[1], i.c = s[2];
  return true;
}

} // namespace weft::emu
