//===- Observe.h - Counters and sanitizers ----------------------*- C++ -*-===//
//
// Guarantees: nothing here changes what a kernel computes. Races are judged by vector clocks of warps: two accesses to a
// byte of shared memory, one a write, from different warps, with no chain of barriers between.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_OBSERVE_H
#define WEFT_EMULATOR_EXEC_OBSERVE_H

#include "exec/Machine.h"

namespace weft::emu {

struct Observer {
  bool check = false, counters = false;
};

struct BlockShadow {
  struct Byte {
    uint32_t writeClock = 0, readClock = 0, readClock2 = 0; // 0: never
    uint32_t writeLine = 0, readLine = 0;
    uint8_t writer = 0, reader = 0, reader2 = 0;
    bool initialized = false, atomicWrite = false;
  };
  std::vector<Byte> bytes;
};

enum class Finding : int { UninitializedGlobal, UninitializedShared, Race, DivergentBarrier, PartialSync };
void addFinding(Warp &w, const Inst &i, Finding kind, unsigned lane, const std::string &what);
/// Every participant of a completed barrier has seen what all of them did before.
void joinClocks(Block &block, const std::vector<uint32_t> &arrived);
std::string whereIs(const Warp &w, uint32_t line, unsigned lane);

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_OBSERVE_H
