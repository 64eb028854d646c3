//===- Convert.cpp - Short floating-point formats -------------------------===//
//
// See Convert.h. Every format is a row: exponent bits, mantissa bits, bias, largest finite value, specials.
//
//===----------------------------------------------------------------------===//
#include "exec/Convert.h"

#include <bit>
#include <cmath>

namespace weft::emu {
namespace {
struct FormatRow {
  unsigned bits, exponent, mantissa;
  int bias;
  bool hasInf;      // else overflow gives NaN (or the largest value where there is no NaN)
  uint32_t nan;     // canonical; 0 where there is none
  uint32_t maximum; // bits of the largest finite value
  unsigned shift;   // below the mantissa
};
constexpr FormatRow kRows[] = {
    {16, 5, 10, 15, true, 0x7fff, 0x7bff, 0},          // f16
    {16, 8, 7, 127, true, 0x7fff, 0x7f7f, 0},          // bf16
    {32, 8, 10, 127, true, 0x7fffffff, 0x3fbff, 13},   // tf32, in the upper bits of an f32
    {32, 8, 23, 127, true, 0x7fffffff, 0x7f7fffff, 0}, // f32
    {64, 11, 52, 1023, true, 0, 0, 0},                 // f64: not a row that rounds
    {8, 4, 3, 7, false, 0x7f, 0x7e, 0},                // e4m3
    {8, 5, 2, 15, true, 0x7f, 0x7b, 0},                // e5m2
    {4, 2, 1, 1, false, 0, 0x7, 0},                    // e2m1
    {8, 2, 3, 1, false, 0, 0x1f, 0},                   // e2m3
    {8, 3, 2, 3, false, 0, 0x1f, 0},                   // e3m2
    {8, 8, 0, 127, false, 0xff, 0xfe, 0},              // ue8m0
};

double roundedToInteger(double x, Round round, bool negative) {
  double low = std::floor(x), rest = x - low; // x >= 0
  bool up = false;
  switch (round) {
  case Round::NearestEven: up = rest > 0.5 || (rest == 0.5 && std::fmod(low, 2.0) != 0); break;
  case Round::NearestAway: up = rest >= 0.5; break;
  case Round::Zero: break;
  case Round::Down: up = negative && rest > 0; break;
  case Round::Up: up = !negative && rest > 0; break;
  }
  return up ? low + 1 : low;
}
} // namespace

unsigned formatBits(Format format) { return kRows[format].bits; }

double decodeFloat(uint64_t raw, Format format) {
  if (format == kF64)
    return std::bit_cast<double>(raw);
  if (format == kF32 || format == kTF32)
    return std::bit_cast<float>(uint32_t(raw));
  const FormatRow &f = kRows[format];
  if (format == kUE8M0)
    return raw == 0xff ? std::nan("") : std::ldexp(1.0, int(raw) - 127);
  uint64_t mantissa = raw & ((1u << f.mantissa) - 1), exponent = (raw >> f.mantissa) & ((1u << f.exponent) - 1);
  bool negative = (raw >> (f.mantissa + f.exponent)) & 1;
  double v;
  if (f.hasInf && exponent == (1u << f.exponent) - 1)
    v = mantissa ? std::nan("") : INFINITY;
  else if (f.nan && !f.hasInf && (raw & 0x7f) == f.nan)
    v = std::nan("");
  else if (exponent == 0)
    v = std::ldexp(double(mantissa), 1 - f.bias - int(f.mantissa));
  else
    v = std::ldexp(double(mantissa | (1u << f.mantissa)), int(exponent) - f.bias - int(f.mantissa));
  return negative ? -v : v;
}

uint64_t roundTo(double value, Format format, Round round, bool satfinite, bool relu) {
  const FormatRow &f = kRows[format];
  bool negative = std::signbit(value);
  unsigned signBit = f.bits == 8 && (format == kE2M3 || format == kE3M2) ? 5 : f.bits - 1;
  if (std::isnan(value))
    return f.nan ? f.nan : f.maximum; // formats without NaN saturate it to the largest value
  if (relu && negative)
    return 0;
  uint64_t sign = format == kUE8M0 ? 0 : uint64_t(negative) << signBit;
  double magnitude = std::fabs(value);
  auto place = [&](uint64_t v) { return sign | v << f.shift; };
  auto overflow = [&]() -> uint64_t {
    bool toMax = satfinite || round == Round::Zero || (round == Round::Down && !negative) || (round == Round::Up && negative);
    if (std::isinf(value) && !satfinite)
      toMax = false;
    if (toMax)
      return place(f.maximum);
    if (f.hasInf)
      return place(((uint64_t(1) << f.exponent) - 1) << f.mantissa);
    return f.nan ? sign | f.nan : place(f.maximum);
  };
  if (std::isinf(value))
    return overflow();
  if (magnitude == 0)
    return format == kUE8M0 ? 0 : sign;
  int exponent = std::ilogb(magnitude), least = 1 - f.bias;
  if (format == kUE8M0)
    least = -127;
  int scale = (exponent < least ? least : exponent) - int(f.mantissa);
  double rounded = roundedToInteger(std::ldexp(magnitude, -scale), round, negative);
  if (format == kUE8M0) {
    int e = scale + (rounded > 1 ? 1 : 0);
    return e > 127 ? 0xfe : uint64_t(e + 127);
  }
  if (rounded >= std::ldexp(1.0, int(f.mantissa) + 1))
    rounded /= 2, ++scale;
  uint64_t mantissa = uint64_t(rounded);
  uint64_t bits = mantissa < (uint64_t(1) << f.mantissa)
                      ? mantissa
                      : (uint64_t(scale + int(f.mantissa) + f.bias) << f.mantissa) + (mantissa - (uint64_t(1) << f.mantissa));
  return bits > f.maximum ? overflow() : place(bits);
}

} // namespace weft::emu
