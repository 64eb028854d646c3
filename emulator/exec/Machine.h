//===- Machine.h - State of a running launch --------------------*- C++ -*-===//
//
// Guarantees: only the host thread that runs a block touches its Block, Warps and Worker.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_MACHINE_H
#define WEFT_EMULATOR_EXEC_MACHINE_H

#include "exec/Program.h"

#include <atomic>

namespace weft::emu {

struct Observer; // Observe.cpp: shadow memory, races, counters
struct Block;
struct Worker;

/// Lanes that wait at one place.
struct Group {
  uint32_t pc, mask;
};

/// One lane's copy queued by cp.async: `size` bytes to shared memory, the first `valid` from global, the rest zero.
struct AsyncCopy {
  const uint8_t *source;
  uint32_t shared, group, line;
  uint8_t lane, size, valid;
};

struct Warp {
  char *base[2] = {nullptr, nullptr}; // registers, constants
  Worker *worker = nullptr;
  Block *block = nullptr;
  uint8_t *local = nullptr; // 32 depots of Program::localBytes
  uint32_t carry = 0;       // CC.CF of each lane
  uint32_t pc = 0, active = 0;
  uint32_t alive = 0;       // lanes that have not exited
  uint32_t index = 0;       // in the block
  std::vector<Group> pending;     // runnable elsewhere, ascending pc
  std::vector<Group> atBarrier;   // pc is that of the bar instruction
  std::vector<Group> atSync;      // waiting for other lanes of a .sync mask, or of the warp at an aligned barrier
  bool rotated = false;   // the next turn belongs to the current group though others are lower
  bool forceSync = false; // run a .sync instruction or barrier without the lanes that will not come
  bool retry = false;     // set by the handler of a Kind::Wait instruction that has to wait
  uint32_t retryLine = 0;
  std::vector<AsyncCopy> copies; // cp.async, not yet carried out
  uint32_t committed[32] = {};   // cp.async groups of each lane
  std::vector<uint32_t> clock; // vector clock, --check only
};

struct Barrier {
  std::vector<uint32_t> arrived; // mask of each warp
  uint32_t expected = 0;         // threads; 0: all of the block
  uint32_t popc = 0, total = 0;  // of the reduction
  bool inUse = false;
};

struct BlockShadow; // Observe.h

struct Block {
  uint32_t ctaid[3] = {0, 0, 0};
  uint32_t threads = 0, dims[3] = {1, 1, 1};
  std::vector<uint8_t> shared; // static + dynamic
  std::vector<char> registers; // of all warps
  std::vector<uint8_t> local;
  std::vector<Warp> warps;
  Barrier barriers[17]; // 16: the cluster's
  std::shared_ptr<BlockShadow> shadow;
  uint64_t rounds = 0; // turns given to it
};

/// One host thread's share of a launch.
struct Worker {
  const Program *program = nullptr;
  Memory *memory = nullptr;
  const uint8_t *params = nullptr;
  const char *consts = nullptr; // relocated pool
  std::vector<Memory::Range> ranges; // cache, one per memory instruction
  Observer *observer = nullptr;      // null unless --check or --counters
  bool stop = false;
  Trap trap = Trap::None;
  std::string message;
  uint64_t address = 0;
  uint64_t steps = 0;        // warp instructions, micro steps included
  uint64_t instructions = 0; // without them
  uint8_t fp = 0;            // current mode
  std::string_view kernelName, kernelTag;
  std::vector<uint64_t> opCounts; // by Inst::op, only if counters are on
  LaunchCounters counters;
  std::map<std::pair<uint32_t, int>, std::string> findings; // by line and kind
  bool eager = false;
  bool concurrent = false; // other workers run: atomics have to be atomic
  std::string printed;
};

/// Records a trap of lane `lane`; the main loop adds kernel, line, block and thread.
void raiseTrap(Warp &w, const Inst &i, Trap trap, uint64_t address, unsigned lane, const char *what);

/// One warp access as the observer sees it. `address` is in the space's own terms (offset for shared and local).
struct Access {
  const uint64_t *address; // 32 of them
  uint32_t mask, bytes;
  bool isWrite, isAtomic;
  uint8_t space;
};
void observe(Warp &w, const Inst &i, const Access &access, const Memory::Range *range);

/// A row of the handler table.
enum class LaneType : uint8_t { None, Pred, U16, S16, U32, S32, U64, S64, F16, BF16, F32, F64, U128 };
struct HandlerRow {
  const char *key; // alternatives separated by '|'
  const char *flags;
  Handler fn;
  LaneType d;
  LaneType s[4];
};
/// The rows for this machine's instruction set. Null if it has not even AVX2.
/// `arity` < 0 takes the first row of that key.
const HandlerRow *findHandler(std::string_view key, int arity = -1);
bool isMachineSupported();

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_MACHINE_H
