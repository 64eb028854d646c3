//===- DecodeMatrix.cpp - Tensor-core instructions ------------------------===//
//
// See Decoder.h.
//
//===----------------------------------------------------------------------===//
#include "exec/Decoder.h"

namespace weft::emu {

bool Decoder::ldmatrix(const In &) { return fail("ldmatrix is not supported"); }
bool Decoder::stmatrix(const In &) { return fail("stmatrix is not supported"); }
bool Decoder::movmatrix(const In &) { return fail("movmatrix is not supported"); }
bool Decoder::mma(const In &) { return fail("mma is not supported"); }
bool Decoder::wmma(const In &) { return fail("wmma is not supported"); }

} // namespace weft::emu
