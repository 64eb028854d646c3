//===- HandlersConvert.cpp - setp and cvt ---------------------------------===//
//
// Guarantees: comparisons and conversions follow PTX ISA 9.7.5 and 9.7.9.21: float to integer saturates, NaN becomes 0
// (or the sign bit where f64 or 64-bit integers take part), short formats round once, from the exact value.
//
//===----------------------------------------------------------------------===//
#include "exec/Convert.h"
#include "exec/Lanes.h"

namespace weft::emu::WEFT_EMU_ISA {
namespace {

typedef bool Bits32 __attribute__((ext_vector_type(32)));
template <class T> struct Vec {
  typedef T type __attribute__((ext_vector_type(32)));
};

template <class T> typename Vec<T>::type loadVec(Warp &w, uint32_t offset) {
  typename Vec<T>::type v;
  std::memcpy(&v, lanes<T>(w, offset), sizeof(T) * 32);
  return v;
}
template <class V> u32 toMask(V v) {
  Bits32 b = __builtin_convertvector(v, Bits32);
  u32 m;
  std::memcpy(&m, &b, 4);
  return m;
}

template <class T, class F> inline void compare(Warp &w, const Inst &i, uint32_t mask, F f) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    const T *a = lanes<T>(w, i.a), *b = lanes<T>(w, i.b);
    typename Vec<f32>::type x, y;
    for (int l = 0; l < 32; ++l)
      x[l] = f32(a[l]), y[l] = f32(b[l]);
    setMask(w, i.d, toMask(f(x, y)), mask);
  } else {
    setMask(w, i.d, toMask(f(loadVec<T>(w, i.a), loadVec<T>(w, i.b))), mask);
  }
}

template <class T> constexpr bool isFloatLane = std::is_same_v<T, f16> || std::is_same_v<T, f32> || std::is_same_v<T, f64> || std::is_same_v<T, bf16>;

//===-- Integers -----------------------------------------------------------===//

template <class T> constexpr T lowest() { return T(-1) < T(0) ? T(T(1) << (sizeof(T) * 8 - 1)) : T(0); }
template <class T> constexpr T highest() { return T(~lowest<T>()); }
/// 8-bit values live in 16-bit lanes.
template <class T> using Lane = std::conditional_t<sizeof(T) == 1, std::conditional_t<(T(-1) < T(0)), s16, u16>, T>;

template <class D, class S, bool Sat> void intToInt(Warp &w, const Inst &i, uint32_t mask) {
  lanes1<Lane<D>, Lane<S>>(w, i, mask, [](auto raw) {
    S v = S(raw);
    if constexpr (Sat) {
      if constexpr (S(-1) < S(0)) {
        if constexpr (D(-1) < D(0)) {
          if (sizeof(S) > sizeof(D))
            v = v < S(lowest<D>()) ? S(lowest<D>()) : v > S(highest<D>()) ? S(highest<D>()) : v;
        } else {
          v = v < 0 ? S(0) : v;
          if (sizeof(S) > sizeof(D))
            v = v > S(highest<D>()) ? S(highest<D>()) : v;
        }
      } else if (sizeof(S) > sizeof(D) || (sizeof(S) == sizeof(D) && D(-1) < D(0))) {
        v = v > S(highest<D>()) ? S(highest<D>()) : v;
      }
    }
    return Lane<D>(D(v));
  });
}

template <class D, class S> void intToFloat(Warp &w, const Inst &i, uint32_t mask) {
  if constexpr (std::is_same_v<D, f32> || std::is_same_v<D, f64>)
    lanes1<D, Lane<S>>(w, i, mask, [](auto raw) { return D(S(raw)); });
  else
    lanes1<u16, Lane<S>>(w, i, mask, [&](auto raw) {
      S v = S(raw);
      f64 x = f64(v);
      // Round to odd where 64 bits do not fit f64: the second rounding is then right.
      if constexpr (sizeof(S) == 8) {
        unsigned __int128 magnitude = v < 0 ? u64(0) - u64(v) : u64(v);
        u64 keep = u64(magnitude);
        int shift = keep >> 53 ? 11 - __builtin_clzll(keep) : 0;
        u64 lost = keep & ((u64(1) << shift) - 1);
        keep = (keep >> shift) | (lost != 0);
        x = std::ldexp(f64(keep), shift) * (v < 0 ? -1 : 1);
      }
      return u16(roundTo(x, std::is_same_v<D, f16> ? kF16 : kBF16, Round(i.y), false, false));
    });
}

template <class S> f64 roundInteger(S x, u32 mode) {
  f64 v = f64(f32(x));
  if constexpr (std::is_same_v<S, f64>)
    v = x;
  switch (mode) {
  case 1: return std::trunc(v);
  case 2: return std::floor(v);
  case 3: return std::ceil(v);
  default: return std::rint(v);
  }
}

template <class D, class S> void floatToInt(Warp &w, const Inst &i, uint32_t mask) {
  u32 mode = i.y;
  constexpr int width = sizeof(D) * 8;
  constexpr bool isSignedInt = D(-1) < D(0);
  constexpr bool nanIsZero = !std::is_same_v<S, f64> && width < 64;
  auto convert = [](f64 r) -> Lane<D> {
    // 2^63 and 2^64 are exact in f64, the largest integers below are not.
    constexpr f64 top = isSignedInt ? (width == 64 ? 9223372036854775808.0 : f64(u64(1) << (width - 1)))
                                    : (width == 64 ? 18446744073709551616.0 : f64(u64(1) << (width & 63)));
    constexpr f64 bottom = isSignedInt ? -top : 0.0;
    D v = r >= top ? highest<D>() : r < bottom || r != r ? lowest<D>() : D(r);
    if (r != r)
      v = nanIsZero ? D(0) : D(u64(1) << (width - 1));
    return Lane<D>(v);
  };
  if (mode == 1)
    lanes1<Lane<D>, S>(w, i, mask, [&](auto x) { return convert(roundInteger<S>(x, 1)); });
  else if (mode == 2)
    lanes1<Lane<D>, S>(w, i, mask, [&](auto x) { return convert(roundInteger<S>(x, 2)); });
  else if (mode == 3)
    lanes1<Lane<D>, S>(w, i, mask, [&](auto x) { return convert(roundInteger<S>(x, 3)); });
  else
    lanes1<Lane<D>, S>(w, i, mask, [&](auto x) { return convert(roundInteger<S>(x, 0)); });
}

//===-- Floats -------------------------------------------------------------===//

/// Any pair of formats. x: source and destination format, rounding, flags (Convert.h); elements in y.
void generic(Warp &w, const Inst &i, uint32_t mask) {
  CvtSpec spec = CvtSpec::unpack(i.imm);
  auto read = [&](uint32_t offset, unsigned bits, int l) -> u64 {
    return bits <= 16 ? lanes<u16>(w, offset)[l] : bits == 32 ? lanes<u32>(w, offset)[l] : lanes<u64>(w, offset)[l];
  };
  unsigned from = formatBits(spec.from), to = formatBits(spec.to);
  for (int l = 0; l < 32; ++l) {
    if (!((mask >> l) & 1))
      continue;
    u64 result = 0;
    for (unsigned e = 0; e < spec.elements; ++e) {
      u64 raw;
      if (spec.packedSource)
        raw = read(i.a, spec.sourceBits, l) >> (e * from);
      else // cvt d, high, low
        raw = read(spec.elements == 2 && e == 0 ? i.b : i.a, from, l);
      f64 v = decodeFloat(raw & (from == 64 ? ~u64(0) : (u64(1) << from) - 1), spec.from);
      if (spec.ftz && spec.from == kF32)
        v = std::fabs(v) < 0x1p-126 ? std::copysign(0.0, v) : v;
      result |= roundTo(v, spec.to, spec.round, spec.satfinite, spec.relu) << (e * to);
    }
    if (spec.destBits <= 16)
      lanes<u16>(w, i.d)[l] = u16(result);
    else if (spec.destBits == 32)
      lanes<u32>(w, i.d)[l] = u32(result);
    else
      lanes<u64>(w, i.d)[l] = result;
  }
}

template <class D, class S, class F> void convertFloat(Warp &w, const Inst &i, uint32_t mask, F f) {
  lanes1<D, S>(w, i, mask, f);
}

template <class T> void roundFloat(Warp &w, const Inst &i, uint32_t mask) {
  u32 mode = i.y;
  auto apply = [](T x, u32 m) -> T {
    if constexpr (std::is_same_v<T, f64>)
      return roundInteger<f64>(x, m);
    else if constexpr (std::is_same_v<T, f32>)
      return num(m == 1 ? std::trunc(x) : m == 2 ? std::floor(x) : m == 3 ? std::ceil(x) : std::rint(x));
    else if constexpr (std::is_same_v<T, f16>)
      return half(f32(roundInteger<f16>(x, m)));
    else
      return brain(f32(roundInteger<bf16>(x, m)));
  };
  if (mode == 1)
    lanes1<T, T>(w, i, mask, [&](auto x) { return apply(x, 1); });
  else if (mode == 2)
    lanes1<T, T>(w, i, mask, [&](auto x) { return apply(x, 2); });
  else if (mode == 3)
    lanes1<T, T>(w, i, mask, [&](auto x) { return apply(x, 3); });
  else
    lanes1<T, T>(w, i, mask, [&](auto x) { return apply(x, 0); });
}

#define SETP1(KEY, FLAGS, T, EXPR)                                                                                      \
  {KEY, FLAGS,                                                                                                          \
   [](Warp &w, const Inst &i, uint32_t mask) { compare<T>(w, i, mask, [](auto a, auto b) { return EXPR; }); },          \
   LaneType::Pred, {laneType<T>(), laneType<T>()}},
#define SETP_INT(W, U, S)                                                                                               \
  SETP1("setp.eq.u" #W "|setp.eq.s" #W "|setp.eq.b" #W, "", U, a == b)                                                  \
  SETP1("setp.ne.u" #W "|setp.ne.s" #W "|setp.ne.b" #W, "", U, a != b)                                                  \
  SETP1("setp.lt.u" #W "|setp.lo.u" #W, "", U, a < b) SETP1("setp.le.u" #W "|setp.ls.u" #W, "", U, a <= b)              \
  SETP1("setp.gt.u" #W "|setp.hi.u" #W, "", U, a > b) SETP1("setp.ge.u" #W "|setp.hs.u" #W, "", U, a >= b)              \
  SETP1("setp.lt.s" #W, "", S, a < b) SETP1("setp.le.s" #W, "", S, a <= b) SETP1("setp.gt.s" #W, "", S, a > b)          \
  SETP1("setp.ge.s" #W, "", S, a >= b)
#define SETP_FLOAT(N, FLAGS, T)                                                                                         \
  SETP1("setp.eq." N, FLAGS, T, a == b) SETP1("setp.ne." N, FLAGS, T, (a < b) | (a > b)) SETP1("setp.lt." N, FLAGS, T, a < b) \
  SETP1("setp.le." N, FLAGS, T, a <= b) SETP1("setp.gt." N, FLAGS, T, a > b) SETP1("setp.ge." N, FLAGS, T, a >= b)      \
  SETP1("setp.equ." N, FLAGS, T, ~((a < b) | (a > b))) SETP1("setp.neu." N, FLAGS, T, a != b)                           \
  SETP1("setp.ltu." N, FLAGS, T, ~(a >= b)) SETP1("setp.leu." N, FLAGS, T, ~(a > b))                                    \
  SETP1("setp.gtu." N, FLAGS, T, ~(a <= b)) SETP1("setp.geu." N, FLAGS, T, ~(a < b))                                    \
  SETP1("setp.num." N, FLAGS, T, (a == a) & (b == b)) SETP1("setp.nan." N, FLAGS, T, (a != a) | (b != b))

#define ROW(KEY, FLAGS, D, S, FN) {KEY, FLAGS, FN, laneType<D>(), {laneType<S>()}},
#define II(DN, D, SN, S)                                                                                                \
  ROW("cvt." DN "." SN, "", Lane<D>, Lane<S>, (intToInt<D, S, false>))                                                  \
  ROW("cvt.sat." DN "." SN, "", Lane<D>, Lane<S>, (intToInt<D, S, true>))
#define II_FROM(SN, S)                                                                                                  \
  II("u8", u8, SN, S) II("s8", s8, SN, S) II("u16", u16, SN, S) II("s16", s16, SN, S) II("u32", u32, SN, S)             \
  II("s32", s32, SN, S) II("u64", u64, SN, S) II("s64", s64, SN, S)                                                     \
  ROW("cvt.f32." SN, "r", f32, Lane<S>, (intToFloat<f32, S>)) ROW("cvt.f64." SN, "r", f64, Lane<S>, (intToFloat<f64, S>)) \
  ROW("cvt.f16." SN, "y", f16, Lane<S>, (intToFloat<f16, S>)) ROW("cvt.bf16." SN, "y", bf16, Lane<S>, (intToFloat<bf16, S>))
#define FI(SN, S, F)                                                                                                    \
  ROW("cvt.u8." SN, F, u16, S, (floatToInt<u8, S>)) ROW("cvt.s8." SN, F, s16, S, (floatToInt<s8, S>))                   \
  ROW("cvt.u16." SN, F, u16, S, (floatToInt<u16, S>)) ROW("cvt.s16." SN, F, s16, S, (floatToInt<s16, S>))               \
  ROW("cvt.u32." SN, F, u32, S, (floatToInt<u32, S>)) ROW("cvt.s32." SN, F, s32, S, (floatToInt<s32, S>))               \
  ROW("cvt.u64." SN, F, u64, S, (floatToInt<u64, S>)) ROW("cvt.s64." SN, F, s64, S, (floatToInt<s64, S>))
#define FF(KEY, FLAGS, D, S, EXPR)                                                                                      \
  {KEY, FLAGS, [](Warp &w, const Inst &i, uint32_t mask) { lanes1<D, S>(w, i, mask, [](auto a) { return EXPR; }); },    \
   laneType<D>(), {laneType<S>()}},

const HandlerRow kRows[] = {
    SETP_INT(16, u16, s16) SETP_INT(32, u32, s32) SETP_INT(64, u64, s64)
    SETP_FLOAT("f32", "f", f32) SETP_FLOAT("f64", "", f64) SETP_FLOAT("f16", "", f16) SETP_FLOAT("bf16", "", bf16)
    II_FROM("u8", u8) II_FROM("s8", s8) II_FROM("u16", u16) II_FROM("s16", s16) II_FROM("u32", u32) II_FROM("s32", s32)
    II_FROM("u64", u64) II_FROM("s64", s64)
    FI("f32", f32, "f") FI("f64", f64, "") FI("f16", f16, "") FI("bf16", bf16, "")
    FF("cvt.f32.f32", "z", f32, f32, num(a)) FF("cvt.f64.f64", "", f64, f64, a)
    FF("cvt.f32.f16", "", f32, f16, num(f32(a))) FF("cvt.f32.bf16", "", f32, bf16, num(f32(a)))
    FF("cvt.f64.f16", "", f64, f16, f64(num(f32(a)))) FF("cvt.f64.bf16", "", f64, bf16, f64(f32(a)))
    FF("cvt.f64.f32", "f", f64, f32, f64(a)) FF("cvt.f32.f64", "rf", f32, f64, num(f32(a)))
    FF("cvt.f16.f32", "f", f16, f32, half(a)) FF("cvt.bf16.f32", "", bf16, f32, brain(a))
    FF("cvt.f16.f16", "z", f16, f16, half(f32(a))) FF("cvt.bf16.bf16", "", bf16, bf16, brain(f32(a)))
    {"cvt.f16x2.f32", "f",
     [](Warp &w, const Inst &i, uint32_t mask) {
       lanes2<u32, f32, f32>(w, i, mask, [](f32 a, f32 b) {
         return u32(std::bit_cast<u16>(half(a))) << 16 | std::bit_cast<u16>(half(b));
       });
     },
     LaneType::U32, {LaneType::F32, LaneType::F32}},
    {"cvt.bf16x2.f32", "",
     [](Warp &w, const Inst &i, uint32_t mask) {
       lanes2<u32, f32, f32>(w, i, mask, [](f32 a, f32 b) { return u32(brainBits(a)) << 16 | brainBits(b); });
     },
     LaneType::U32, {LaneType::F32, LaneType::F32}},
    ROW("cvt.int.f32", "z", f32, f32, roundFloat<f32>) ROW("cvt.int.f64", "", f64, f64, roundFloat<f64>)
    ROW("cvt.int.f16", "", f16, f16, roundFloat<f16>) ROW("cvt.int.bf16", "", bf16, bf16, roundFloat<bf16>)
    {"$cvt.generic", "", generic, LaneType::None, {}},
};

} // namespace

Rows convertRows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

} // namespace weft::emu::WEFT_EMU_ISA
