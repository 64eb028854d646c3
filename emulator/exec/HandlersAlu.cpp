//===- HandlersAlu.cpp - Rows of Instructions.def, and carries ------------===//
//
// Guarantees: one handler for each row, none throws, traps or touches memory. Compiled once per instruction set variant.
//
//===----------------------------------------------------------------------===//
#include "exec/Lanes.h"

namespace weft::emu::WEFT_EMU_ISA {
namespace {

/// Extended precision (PTX ISA 9.7.2): sum of up to three terms and CC.CF, with the carry out.
template <class T, bool Subtract, bool In, bool Out> void addCarry(Warp &w, const Inst &i, uint32_t mask) {
  T *d = lanes<T>(w, i.d);
  Source<T> a(w, i.a), b(w, i.b);
  u32 carry = w.carry;
  for (int l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1))
      continue;
    T in = In ? (w.carry >> l) & 1 : 0, r;
    bool out;
    if (Subtract) {
      T t = a[l] - b[l];
      r = t - in;
      out = a[l] < b[l] || t < in;
    } else {
      T t = a[l] + b[l];
      r = t + in;
      out = t < a[l] || r < t;
    }
    d[l] = r;
    carry = (carry & ~(1u << l)) | u32(out) << l;
  }
  if (Out)
    w.carry = carry;
}

template <class T> T mulPart(T a, T b, bool high, bool isSigned) {
  constexpr int width = sizeof(T) * 8;
  using W = std::conditional_t<sizeof(T) == 4, u64, unsigned __int128>;
  using S = std::make_signed_t<T>;
  using WS = std::conditional_t<sizeof(T) == 4, s64, __int128>;
  W product = isSigned ? W(WS(S(a)) * S(b)) : W(a) * b;
  return T(high ? product >> width : product);
}

template <class T, bool High, bool Signed, bool In, bool Out> void madCarry(Warp &w, const Inst &i, uint32_t mask) {
  T *d = lanes<T>(w, i.d);
  Source<T> a(w, i.a), b(w, i.b), c(w, i.c);
  u32 carry = w.carry;
  for (int l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1))
      continue;
    T in = In ? (w.carry >> l) & 1 : 0;
    T t = mulPart<T>(a[l], b[l], High, Signed), s = t + c[l], r = s + in;
    bool out = s < t || r < s;
    d[l] = r;
    carry = (carry & ~(1u << l)) | u32(out) << l;
  }
  if (Out)
    w.carry = carry;
}

const HandlerRow kRows[] = {
#define OP1(KEY, FLAGS, D, A, ...)                                                                                      \
  {KEY, FLAGS, [](Warp &w, const Inst &i, uint32_t mask) { lanes1<D, A>(w, i, mask, [](auto a) { return __VA_ARGS__; }); },    \
   laneType<D>(), {laneType<A>()}},
#define OP2(KEY, FLAGS, D, A, B, ...)                                                                                   \
  {KEY, FLAGS,                                                                                                          \
   [](Warp &w, const Inst &i, uint32_t mask) { lanes2<D, A, B>(w, i, mask, [](auto a, auto b) { return __VA_ARGS__; }); },     \
   laneType<D>(), {laneType<A>(), laneType<B>()}},
#define OP3(KEY, FLAGS, D, A, B, C, ...)                                                                                \
  {KEY, FLAGS,                                                                                                          \
   [](Warp &w, const Inst &i, uint32_t mask) {                                                                          \
     lanes3<D, A, B, C>(w, i, mask, [](auto a, auto b, auto c) { return __VA_ARGS__; });                                       \
   },                                                                                                                   \
   laneType<D>(), {laneType<A>(), laneType<B>(), laneType<C>()}},
#define OP4(KEY, FLAGS, D, A, B, C, E, ...)                                                                             \
  {KEY, FLAGS,                                                                                                          \
   [](Warp &w, const Inst &i, uint32_t mask) {                                                                          \
     lanes4<D, A, B, C, E>(w, i, mask, [](auto a, auto b, auto c, auto e) { return __VA_ARGS__; });                            \
   },                                                                                                                   \
   laneType<D>(), {laneType<A>(), laneType<B>(), laneType<C>(), laneType<E>()}},
#define MASK1(KEY, ...)                                                                                                 \
  {KEY, "",                                                                                                             \
   [](Warp &w, const Inst &i, uint32_t mask) {                                                                          \
     u32 a = maskAt(w, i.a);                                                                                            \
     setMask(w, i.d, (__VA_ARGS__), mask);                                                                                       \
   },                                                                                                                   \
   LaneType::Pred, {LaneType::Pred}},
#define MASK2(KEY, ...)                                                                                                 \
  {KEY, "",                                                                                                             \
   [](Warp &w, const Inst &i, uint32_t mask) {                                                                          \
     u32 a = maskAt(w, i.a), b = maskAt(w, i.b);                                                                        \
     setMask(w, i.d, (__VA_ARGS__), mask);                                                                                       \
   },                                                                                                                   \
   LaneType::Pred, {LaneType::Pred, LaneType::Pred}},
#define PRED1(KEY, A, ...)                                                                                              \
  {KEY, "",                                                                                                             \
   [](Warp &w, const Inst &i, uint32_t mask) {                                                                          \
     Source<A> source(w, i.a);                                                                                          \
     u32 m = 0;                                                                                                         \
     for (int l = 0; l < 32; ++l) {                                                                                     \
       A a = source[l];                                                                                                 \
       m |= u32(__VA_ARGS__) << l;                                                                                             \
     }                                                                                                                  \
     setMask(w, i.d, m, mask);                                                                                          \
   },                                                                                                                   \
   LaneType::Pred, {laneType<A>()}},
#include "Instructions.def"
#undef OP1
#undef OP2
#undef OP3
#undef OP4
#undef MASK1
#undef MASK2
#undef PRED1
#define CARRY(OP, IN, OUT, SUBTRACT)                                                                                    \
  {OP ".u32|" OP ".s32", "", addCarry<u32, SUBTRACT, IN, OUT>, LaneType::U32, {LaneType::U32, LaneType::U32}},          \
      {OP ".u64|" OP ".s64", "", addCarry<u64, SUBTRACT, IN, OUT>, LaneType::U64, {LaneType::U64, LaneType::U64}},
    CARRY("add.cc", false, true, false) CARRY("addc.cc", true, true, false) CARRY("addc", true, false, false)
    CARRY("sub.cc", false, true, true) CARRY("subc.cc", true, true, true) CARRY("subc", true, false, true)
#define MADC1(KEY, T, LT, HIGH, SIGNED, IN, OUT)                                                                        \
  {KEY, "", madCarry<T, HIGH, SIGNED, IN, OUT>, LaneType::LT, {LaneType::LT, LaneType::LT, LaneType::LT}},
#define MADC(OP, CC, IN, OUT)                                                                                           \
  MADC1(OP ".lo" CC ".u32|" OP ".lo" CC ".s32", u32, U32, false, false, IN, OUT)                                        \
  MADC1(OP ".hi" CC ".u32", u32, U32, true, false, IN, OUT) MADC1(OP ".hi" CC ".s32", u32, U32, true, true, IN, OUT)    \
  MADC1(OP ".lo" CC ".u64|" OP ".lo" CC ".s64", u64, U64, false, false, IN, OUT)                                        \
  MADC1(OP ".hi" CC ".u64", u64, U64, true, false, IN, OUT) MADC1(OP ".hi" CC ".s64", u64, U64, true, true, IN, OUT)
    MADC("mad", ".cc", false, true) MADC("madc", ".cc", true, true) MADC("madc", "", true, false)
};

} // namespace

Rows aluRows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

} // namespace weft::emu::WEFT_EMU_ISA
