//===- Interpreter.h - Running warps and blocks -----------------*- C++ -*-===//
//
// Guarantees: a warp's turn ends after at most `budget` steps.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_INTERPRETER_H
#define WEFT_EMULATOR_EXEC_INTERPRETER_H

#include "exec/Observe.h"

namespace weft::emu {

enum class Outcome { Exited, Blocked, Yielded, Waiting, Stopped };
/// Gives `w` a turn.
Outcome runWarp(Warp &w, uint64_t budget);
/// Lanes of `w` arrive at the barrier of `i`; may let waiting warps go on. Barrier.cpp.
void arriveAtBarrier(Warp &w, const Inst &i, uint32_t pc, uint32_t mask);
/// After lanes have exited: barriers that wait only for them are complete.
void recheckBarriers(Block &block);
void addPending(Warp &w, Group group);

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_INTERPRETER_H
