//===- HandlersMatrix.cpp - Tensor cores ----------------------------------===//
//
// Guarantees: fragments lie as in PTX ISA 9.7.14.5: lane 4g + t, register r of A holds row g + 8(r % 2) and the columns
// from 4e(r / 2) + et, where e elements fit 32 bits; of B the rows from 4er + et of column g; of C row g + 8(r / 2),
// column 2t + r % 2. Products are exact, sums are f32 (s32, f64) in ascending k. Hardware sums in another order.
//
//===----------------------------------------------------------------------===//
#include "exec/Convert.h"
#include "exec/Lanes.h"

namespace weft::emu::WEFT_EMU_ISA {
namespace {

struct tf32 {};
struct e4m3 {};
struct e5m2 {};
template <class E> constexpr u32 elementBits = std::is_same_v<E, tf32> ? 32 : std::is_same_v<E, f16> || std::is_same_v<E, bf16> ? 16 : 8;

/// Element j of a fragment register.
template <class E> inline auto element(u32 reg, u32 j) {
  if constexpr (std::is_same_v<E, f16>)
    return f32(std::bit_cast<f16>(u16(reg >> (16 * j))));
  else if constexpr (std::is_same_v<E, bf16>)
    return std::bit_cast<f32>(j ? reg & 0xffff0000u : reg << 16);
  else if constexpr (std::is_same_v<E, tf32>)
    return std::bit_cast<f32>(reg & 0xffffe000u); // the low mantissa bits are ignored
  else if constexpr (std::is_same_v<E, e4m3>)
    return f32(decodeFloat(reg >> (8 * j) & 0xff, kE4M3));
  else if constexpr (std::is_same_v<E, e5m2>)
    return f32(decodeFloat(reg >> (8 * j) & 0xff, kE5M2));
  else
    return s32(E(reg >> (8 * j)));
}

/// acc[n][m] += sum over k of a[k][m] b[k][n].
template <u32 M, u32 N, u32 K, class T> inline void multiply(T (&acc)[N][M], const T (&a)[K][M], const T (&b)[K][N]) {
  for (u32 k = 0; k < K; ++k)
    for (u32 n = 0; n < N; ++n) {
      T factor = b[k][n];
      for (u32 m = 0; m < M; ++m)
        if constexpr (std::is_same_v<T, f32>)
          acc[n][m] = __builtin_fmaf(a[k][m], factor, acc[n][m]);
        else
          acc[n][m] += a[k][m] * factor;
    }
}

/// mma.sync.m16n8kK. x: list of d, a, b, c registers; y: the member mask; imm: 1 for .satfinite.
template <class EA, class EB, u32 K, class C> void mma(Warp &w, const Inst &i, u32) {
  constexpr bool isInt = std::is_same_v<C, s32>;
  using T = std::conditional_t<isInt, s32, f32>;
  constexpr u32 e = 32 / elementBits<EA>, regsB = K / (4 * e), regsA = 2 * regsB, regsC = std::is_same_v<C, f16> ? 2 : 4;
  const uint32_t *list = w.worker->program->lists.data() + i.x;
  const uint32_t *rd = list, *ra = rd + regsC, *rb = ra + regsA, *rc = rb + regsB;
  alignas(64) T a[K][16], b[K][8], acc[8][16];
  for (u32 r = 0; r < regsA; ++r) {
    const u32 *v = lanes<u32>(w, ra[r]);
    for (u32 j = 0; j < e; ++j)
      for (u32 t = 0; t < 4; ++t)
        for (u32 g = 0; g < 8; ++g)
          a[4 * e * (r / 2) + e * t + j][g + 8 * (r % 2)] = element<EA>(v[4 * g + t], j);
  }
  for (u32 r = 0; r < regsB; ++r) {
    const u32 *v = lanes<u32>(w, rb[r]);
    for (u32 j = 0; j < e; ++j)
      for (u32 t = 0; t < 4; ++t)
        for (u32 g = 0; g < 8; ++g)
          b[4 * e * r + e * t + j][g] = element<EB>(v[4 * g + t], j);
  }
  for (u32 r = 0; r < regsC; ++r) {
    const u32 *v = lanes<u32>(w, rc[r]);
    for (u32 t = 0; t < 4; ++t)
      for (u32 g = 0; g < 8; ++g) {
        u32 x = v[4 * g + t];
        if constexpr (std::is_same_v<C, f16>)
          for (u32 j = 0; j < 2; ++j)
            acc[2 * t + j][g + 8 * r] = f32(std::bit_cast<f16>(u16(x >> (16 * j))));
        else
          acc[2 * t + r % 2][g + 8 * (r / 2)] = std::bit_cast<T>(x);
      }
  }
  if constexpr (isInt) {
    if (i.imm) { // saturating: exact sum, clamped once
      for (u32 n = 0; n < 8; ++n)
        for (u32 m = 0; m < 16; ++m) {
          s64 sum = acc[n][m];
          for (u32 k = 0; k < K; ++k)
            sum += s64(a[k][m]) * b[k][n];
          acc[n][m] = clampS32(sum);
        }
    } else {
      for (u32 k = 0; k < K; ++k)
        for (u32 n = 0; n < 8; ++n)
          for (u32 m = 0; m < 16; ++m)
            acc[n][m] = s32(u32(acc[n][m]) + u32(a[k][m] * b[k][n]));
    }
  } else {
    multiply<16, 8, K>(acc, a, b);
  }
  for (u32 r = 0; r < regsC; ++r) {
    u32 *v = lanes<u32>(w, rd[r]);
    for (u32 t = 0; t < 4; ++t)
      for (u32 g = 0; g < 8; ++g) {
        if constexpr (std::is_same_v<C, f16>)
          v[4 * g + t] = u32(std::bit_cast<u16>(half(acc[2 * t + 1][g + 8 * r]))) << 16 | std::bit_cast<u16>(half(acc[2 * t][g + 8 * r]));
        else if constexpr (isInt)
          v[4 * g + t] = u32(acc[2 * t + r % 2][g + 8 * (r / 2)]);
        else
          v[4 * g + t] = std::bit_cast<u32>(num(acc[2 * t + r % 2][g + 8 * (r / 2)]));
      }
  }
}

/// mma.sync.m8n8k4 on f64: lane 4g + t holds a(g, t), b(t, g), c(g, 2t) and c(g, 2t + 1).
void mmaDouble(Warp &w, const Inst &i, u32) {
  const uint32_t *list = w.worker->program->lists.data() + i.x;
  const f64 *a = lanes<f64>(w, list[2]), *b = lanes<f64>(w, list[3]);
  f64 result[2][32];
  for (u32 j = 0; j < 2; ++j)
    for (u32 l = 0; l < 32; ++l) {
      f64 sum = lanes<f64>(w, list[4 + j])[l];
      for (u32 k = 0; k < 4; ++k)
        sum = __builtin_fma(a[(l / 4) * 4 + k], b[(2 * (l % 4) + j) * 4 + k], sum);
      result[j][l] = sum;
    }
  for (u32 j = 0; j < 2; ++j)
    std::memcpy(lanes<f64>(w, list[j]), result[j], sizeof(result[j]));
}

/// wmma.mma.m16n16k16, f16 into f32 (D, C 8 registers; A, B 8 of which the first 4 are used). Matrices are spread
/// row-major, 8 elements a lane, as HandlersMemory.cpp loads them; the layout is the implementation's own.
template <class C> void wmma(Warp &w, const Inst &i, u32) {
  constexpr u32 regsC = std::is_same_v<C, f16> ? 4 : 8;
  const uint32_t *list = w.worker->program->lists.data() + i.x;
  alignas(64) f32 a[16][16], b[16][16], acc[16][16];
  for (u32 k = 0; k < 8; ++k)
    for (u32 l = 0; l < 32; ++l) {
      u32 e = 8 * l + k, row = e / 16, col = e % 16;
      a[col][row] = element<f16>(lanes<u32>(w, list[regsC + k / 2])[l], k % 2);
      b[row][col] = element<f16>(lanes<u32>(w, list[regsC + 8 + k / 2])[l], k % 2);
      if constexpr (std::is_same_v<C, f16>)
        acc[col][row] = element<f16>(lanes<u32>(w, list[regsC + 16 + k / 2])[l], k % 2);
      else
        acc[col][row] = lanes<f32>(w, list[regsC + 16 + k])[l];
    }
  multiply<16, 16, 16>(acc, a, b);
  for (u32 k = 0; k < 8; ++k)
    for (u32 l = 0; l < 32; ++l) {
      u32 e = 8 * l + k;
      f32 v = num(acc[e % 16][e / 16]);
      if constexpr (std::is_same_v<C, f16>)
        lanes<f16>(w, list[k / 2])[2 * l + k % 2] = half(v);
      else
        lanes<f32>(w, list[k])[l] = v;
    }
}

/// movmatrix.m8n8.trans: lane l holds elements 2(l % 4) and the next of row l / 4.
void movmatrix(Warp &w, const Inst &i, u32) {
  const u16 *a = lanes<u16>(w, i.a);
  u16 m[64];
  for (u32 row = 0; row < 8; ++row)
    for (u32 col = 0; col < 8; ++col)
      m[8 * row + col] = a[8 * col + row];
  std::memcpy(lanes<u16>(w, i.d), m, sizeof m);
}

#define MMA(KEY, A, B, K, C) {"$mma." KEY, "", mma<A, B, K, C>, LaneType::None, {}},
#define MMA_INT(K)                                                                                                      \
  MMA("s8.s8.k" #K ".s32", s8, s8, K, s32) MMA("s8.u8.k" #K ".s32", s8, u8, K, s32) MMA("u8.s8.k" #K ".s32", u8, s8, K, s32) \
  MMA("u8.u8.k" #K ".s32", u8, u8, K, s32)

const HandlerRow kRows[] = {
    MMA("f16.f16.k8.f32", f16, f16, 8, f32) MMA("f16.f16.k16.f32", f16, f16, 16, f32)
    MMA("f16.f16.k8.f16", f16, f16, 8, f16) MMA("f16.f16.k16.f16", f16, f16, 16, f16)
    MMA("bf16.bf16.k8.f32", bf16, bf16, 8, f32) MMA("bf16.bf16.k16.f32", bf16, bf16, 16, f32)
    MMA("tf32.tf32.k4.f32", tf32, tf32, 4, f32) MMA("tf32.tf32.k8.f32", tf32, tf32, 8, f32)
    MMA_INT(16) MMA_INT(32)
    MMA("e4m3.e4m3.k32.f32", e4m3, e4m3, 32, f32) MMA("e4m3.e5m2.k32.f32", e4m3, e5m2, 32, f32)
    MMA("e5m2.e4m3.k32.f32", e5m2, e4m3, 32, f32) MMA("e5m2.e5m2.k32.f32", e5m2, e5m2, 32, f32)
    {"$mma.f64", "", mmaDouble, LaneType::None, {}},
    {"$wmma.f32", "", wmma<f32>, LaneType::None, {}}, {"$wmma.f16", "", wmma<f16>, LaneType::None, {}},
    {"$movmatrix", "", movmatrix, LaneType::None, {}},
};

} // namespace

Rows matrixRows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

} // namespace weft::emu::WEFT_EMU_ISA
