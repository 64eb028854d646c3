//===- Convert.h - Short floating-point formats -----------------*- C++ -*-===//
//
// Guarantees: decodeFloat is exact, roundTo rounds once. Formats and their specials follow PTX ISA 5.2.3.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_CONVERT_H
#define WEFT_EMULATOR_EXEC_CONVERT_H

#include <cstdint>

namespace weft::emu {

enum Format : uint8_t { kF16, kBF16, kTF32, kF32, kF64, kE4M3, kE5M2, kE2M1, kE2M3, kE3M2, kUE8M0 };
/// The order of cvt's mode operand: .rn .rz .rm .rp, then .rna.
enum class Round : uint8_t { NearestEven, Zero, Down, Up, NearestAway };

/// Bits of one element inside a register: 32 for tf32, 4 for e2m1, 8 for e2m3 and e3m2.
unsigned formatBits(Format format);
double decodeFloat(uint64_t bits, Format format);
uint64_t roundTo(double value, Format format, Round round, bool satfinite, bool relu);

/// What a generic cvt does; travels in Inst::imm.
struct CvtSpec {
  Format from = kF32, to = kF16;
  Round round = Round::NearestEven;
  bool satfinite = false, relu = false, ftz = false, packedSource = false;
  uint8_t elements = 1, sourceBits = 32, destBits = 16;

  uint64_t pack() const {
    return uint64_t(from) | uint64_t(to) << 8 | uint64_t(round) << 16 | uint64_t(satfinite) << 24 | uint64_t(relu) << 25 |
           uint64_t(ftz) << 26 | uint64_t(packedSource) << 27 | uint64_t(elements) << 32 | uint64_t(sourceBits) << 40 |
           uint64_t(destBits) << 48;
  }
  static CvtSpec unpack(uint64_t v) {
    CvtSpec s;
    s.from = Format(v & 0xff), s.to = Format(v >> 8 & 0xff), s.round = Round(v >> 16 & 0xff);
    s.satfinite = v >> 24 & 1, s.relu = v >> 25 & 1, s.ftz = v >> 26 & 1, s.packedSource = v >> 27 & 1;
    s.elements = uint8_t(v >> 32), s.sourceBits = uint8_t(v >> 40), s.destBits = uint8_t(v >> 48);
    return s;
  }
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_CONVERT_H
