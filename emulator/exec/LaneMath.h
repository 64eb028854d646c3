//===- LaneMath.h - Arithmetic of one lane ----------------------*- C++ -*-===//
//
// Guarantees: pure functions with PTX semantics, written so that a loop over 32 lanes vectorizes. Compiled once for each
// instruction set variant, hence the namespace macro. NaN results are canonical where PTX says so.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_LANEMATH_H
#define WEFT_EMULATOR_EXEC_LANEMATH_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#ifndef WEFT_EMU_ISA
#define WEFT_EMU_ISA generic
#endif

namespace weft::emu::WEFT_EMU_ISA {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f16 = _Float16;
using f32 = float;
using f64 = double;
struct pred {};
using u128 = unsigned __int128;

struct bf16 {
  u16 bits;
  explicit operator float() const { return std::bit_cast<float>(u32(bits) << 16); }
};

inline f32 num(f32 x) { return x == x ? x : std::bit_cast<f32>(0x7fffffffu); }
inline s32 clampS32(s64 x) { return x > 0x7fffffff ? 0x7fffffff : x < -s64(0x80000000) ? s32(0x80000000) : s32(x); }
inline s64 sext24(s32 x) { return s32(u32(x) << 8) >> 8; }

inline f16 half(f32 x) { return x == x ? f16(x) : std::bit_cast<f16>(u16(0x7fff)); }
inline u16 brainBits(f32 x) {
  u32 v = std::bit_cast<u32>(x);
  u32 rounded = (v + 0x7fffu + ((v >> 16) & 1)) >> 16;
  return u16(x == x ? rounded : 0x7fffu);
}
inline bf16 brain(f32 x) { return {brainBits(x)}; }

/// a * b + c rounded to odd in f64, for a * b exact: then one more rounding to a shorter format is right.
inline f64 fmaToOdd(f64 a, f64 b, f64 c) {
  f64 p = a * b, s = p + c;
  f64 t = s - p, error = (p - (s - t)) + (c - t);
  u64 v = std::bit_cast<u64>(s);
  bool inexact = error != 0 && (v << 1) < (u64(0x7ff) << 53);
  bool towards = (error < 0) != (s < 0); // the exact value is nearer to zero than s
  u64 odd = (v & 1) ? v : towards ? v - 1 : v | 1;
  return std::bit_cast<f64>(inexact ? odd : v);
}
/// f64 to f32 rounded to odd.
inline f32 narrowToOdd(f64 x) {
  f32 r = f32(x);
  u32 v = std::bit_cast<u32>(r);
  f64 back = r;
  bool inexact = back != x && x == x;
  bool away = (back > x) != (x < 0);
  u32 odd = (v & 1) ? v : away ? v - 1 : v | 1;
  return std::bit_cast<f32>(inexact ? odd : v);
}
inline f16 fmaHalf(f16 a, f16 b, f16 c) { return half(narrowToOdd(fmaToOdd(f64(f32(a)), f64(f32(b)), f64(f32(c))))); }
inline bf16 fmaBrain(bf16 a, bf16 b, bf16 c) { return brain(narrowToOdd(fmaToOdd(f64(f32(a)), f64(f32(b)), f64(f32(c))))); }

template <class T> T fmin_(T a, T b) {
  T r = a < b ? a : b < a ? b : std::signbit(a) ? a : b;
  r = a != a ? b : b != b ? a : r;
  if constexpr (sizeof(T) == 4)
    return num(r);
  return r;
}
template <class T> T fmax_(T a, T b) {
  T r = a > b ? a : b > a ? b : std::signbit(a) ? b : a;
  r = a != a ? b : b != b ? a : r;
  if constexpr (sizeof(T) == 4)
    return num(r);
  return r;
}
inline f32 fminNaN(f32 a, f32 b) { return a != a || b != b ? num(a + b) : fmin_(a, b); }
inline f32 fmaxNaN(f32 a, f32 b) { return a != a || b != b ? num(a + b) : fmax_(a, b); }
inline f32 fabs_(f32 x) { return std::bit_cast<f32>(std::bit_cast<u32>(x) & 0x7fffffffu); }
inline f32 xorsign(f32 magnitude, f32 a, f32 b) {
  u32 sign = (std::bit_cast<u32>(a) ^ std::bit_cast<u32>(b)) & 0x80000000u;
  return magnitude != magnitude ? magnitude : std::bit_cast<f32>((std::bit_cast<u32>(magnitude) & 0x7fffffffu) | sign);
}

/// 2^x in f64 arithmetic, error below half an ulp of f32 plus 2^-40: exact powers come out exact.
inline f32 exp2_(f32 xf) {
  f64 x = xf;
  f64 clamped = x > 200.0 ? 200.0 : x < -200.0 ? -200.0 : x;
  constexpr f64 magic = 6755399441055744.0; // 1.5 * 2^52: rounds to the nearest integer
  f64 shifted = clamped + magic;
  f64 n = shifted - magic;
  f64 f = clamped - n; // [-0.5, 0.5]
  f64 r = 1.0178086009239699e-7;
  r = r * f + 1.3215486790144307e-6;
  r = r * f + 1.5252733804059840e-5;
  r = r * f + 1.5403530393381606e-4;
  r = r * f + 1.3333558146428443e-3;
  r = r * f + 9.6181291076284769e-3;
  r = r * f + 5.5504108664821580e-2;
  r = r * f + 2.4022650695910072e-1;
  r = r * f + 6.9314718055994531e-1;
  r = r * f + 1.0;
  u64 scale = (std::bit_cast<u64>(shifted) - std::bit_cast<u64>(magic) + 1023) << 52;
  f64 y = r * std::bit_cast<f64>(scale);
  return xf != xf ? xf : f32(y);
}
inline f32 log2_(f32 x) { return f32(std::log2(f64(x))); }
inline f64 flushed(f64 x) { return (std::bit_cast<u64>(x) << 1 >> 53) == 0 ? std::bit_cast<f64>(std::bit_cast<u64>(x) & (u64(1) << 63)) : x; }
/// The .approx.ftz.f64 forms give only the upper 32 bits.
inline f64 truncated(f64 x) { return flushed(std::bit_cast<f64>(std::bit_cast<u64>(x) & ~u64(0xffffffff))); }

inline u32 bfind32(u32 a, bool shift) {
  if (a == 0)
    return 0xffffffffu;
  u32 lz = u32(__builtin_clz(a));
  return shift ? lz : 31 - lz;
}
inline u32 bfind64(u64 a, bool shift) {
  if (a == 0)
    return 0xffffffffu;
  u32 lz = u32(__builtin_clzll(a));
  return shift ? lz : 63 - lz;
}
inline u64 bfe(u64 a, u32 b, u32 c, u32 width, bool isSigned) {
  u32 pos = b & 0xff, len = c & 0xff;
  u64 sign = 0;
  if (isSigned && len != 0) {
    u32 at = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
    sign = (a >> at) & 1;
  }
  u64 field = pos >= width ? 0 : a >> pos;
  u32 valid = pos >= width ? 0 : width - pos < len ? width - pos : len;
  u64 keep = valid >= 64 ? ~u64(0) : (u64(1) << valid) - 1;
  return (field & keep) | (sign ? ~keep : 0);
}
inline u64 bfi(u64 a, u64 b, u32 c, u32 e, u32 width) {
  u32 pos = c & 0xff, len = e & 0xff;
  if (pos >= width || len == 0)
    return b;
  u64 keep = (len >= 64 ? ~u64(0) : (u64(1) << len) - 1) << pos;
  return (b & ~keep) | ((a << pos) & keep);
}
inline u32 bmsk(u32 a, u32 b, bool clamp) {
  u64 pos = clamp ? (a > 32 ? 32 : a) : a & 31, len = clamp ? (b > 32 ? 32 : b) : b & 31;
  return u32(((u64(1) << len) - 1) << pos);
}
template <class A, class B> u32 dp4a(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 4; ++i)
    c += u32(s32(A(a >> (8 * i))) * s32(B(b >> (8 * i))));
  return c;
}
template <class A, class B> u32 dp2a(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 2; ++i)
    c += u32(s32(A(a >> (16 * i))) * s32(B(b >> (8 * i))));
  return c;
}
inline u32 lop3(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (u32 i = 0; i < 8; ++i)
    r |= (0u - (table >> i & 1)) & (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}
inline u32 prmt(u32 a, u32 b, u32 c) {
  u64 both = u64(b) << 32 | a;
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 selector = c >> (4 * i);
    u32 byte = u32(both >> (8 * (selector & 7))) & 0xff;
    u32 sign = byte & 0x80 ? 0xff : 0;
    r |= (selector & 8 ? sign : byte) << (8 * i);
  }
  return r;
}
inline u32 prmtB4e(u32 c) {
  constexpr u32 table[4] = {0x5670, 0x6701, 0x7012, 0x0123};
  return table[c & 3];
}
inline u32 prmtEcl(u32 c) {
  constexpr u32 table[4] = {0x3210, 0x3211, 0x3222, 0x3333};
  return table[c & 3];
}
inline u32 prmtEcr(u32 c) {
  constexpr u32 table[4] = {0x0000, 0x1110, 0x2210, 0x3210};
  return table[c & 3];
}

template <class F> u32 pairs(u32 a, u32 b, F f) { return u32(f(u16(a >> 16), u16(b >> 16))) << 16 | f(u16(a), u16(b)); }
template <class F> u32 halves(u32 a, u32 b, F f) {
  return pairs(a, b, [&](u16 x, u16 y) { return std::bit_cast<u16>(f(std::bit_cast<f16>(x), std::bit_cast<f16>(y))); });
}
template <class F> u32 halves3(u32 a, u32 b, u32 c, F f) {
  auto h = [](u32 x) { return std::bit_cast<f16>(u16(x)); };
  return u32(std::bit_cast<u16>(f(h(a >> 16), h(b >> 16), h(c >> 16)))) << 16 | std::bit_cast<u16>(f(h(a), h(b), h(c)));
}
template <class F> u32 brains(u32 a, u32 b, F f) {
  return pairs(a, b, [&](u16 x, u16 y) { return brainBits(f(float(bf16{x}), float(bf16{y}))); });
}
inline u32 fmaBrains(u32 a, u32 b, u32 c) {
  return u32(fmaBrain({u16(a >> 16)}, {u16(b >> 16)}, {u16(c >> 16)}).bits) << 16 | fmaBrain({u16(a)}, {u16(b)}, {u16(c)}).bits;
}
inline f16 satHalf(f16 a) {
  f32 x = f32(a);
  return x > 0.0f ? (x < 1.0f ? a : f16(1.0f)) : f16(0.0f);
}
inline u16 reluHalf(u16 a) { return a & 0x8000 ? u16((a & 0x7fff) > 0x7f80 ? a : 0) : a; }

} // namespace weft::emu::WEFT_EMU_ISA

#endif // WEFT_EMULATOR_EXEC_LANEMATH_H
