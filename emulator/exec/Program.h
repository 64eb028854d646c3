//===- Program.h - Decoded kernels and the state of a warp ------*- C++ -*-===//
//
// Guarantees: a Program is immutable and flat: one Inst per step, every operand an offset into the warp's register file
// or (top bit set) into the kernel's constant pool, checked at decode time. Registers hold 32 lanes side by side; a
// predicate is one 32-bit mask. Calls are inlined, so there is no call stack.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_PROGRAM_H
#define WEFT_EMULATOR_EXEC_PROGRAM_H

#include "exec/Core.h"

namespace weft::emu {

struct Warp;
struct Inst;
/// Runs one instruction for the lanes of `mask`, which is never 0.
using Handler = void (*)(Warp &, const Inst &, uint32_t mask);

/// What the main loop has to know about an instruction.
enum class Kind : uint8_t {
  Simple,   // fn, then the next one
  Trapping, // fn may stop the launch
  Branch,   // to `x` for the guarded lanes
  BranchIndexed, // brx: to table x.. by register a
  Exit,     // also `ret` of a kernel
  Barrier,  // bar.*: x = form, a = barrier, b = threads (or none), c = predicate, d = result
  WarpSync, // needs all lanes of the mask in a (shfl.sync, vote.sync, ...), then fn
  Yield,    // fn, then another warp's turn (nanosleep, polls)
  Wait,     // fn sets Warp::retry to try again later (mbarrier.try_wait)
  Nop
};

enum class BarForm : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr };

/// MXCSR values; 0 where the instruction does no floating-point arithmetic.
namespace fpmode {
enum : uint8_t { DontCare = 0, Ftz = 1, Rz = 2, Rm = 4, Rp = 6, Set = 8 };
}

struct Inst {
  Handler fn = nullptr;
  uint64_t imm = 0;          // address offset, lop3 table, ...
  uint32_t d = 0, a = 0, b = 0, c = 0;
  uint32_t pred = 0, predXor = 0; // guard: mask & (value at pred ^ predXor)
  uint32_t x = 0, y = 0;     // branch target; index into Program::lists and number of entries
  uint32_t line = 0;
  uint32_t slot = 0;         // memory instructions: index of the cached Memory::Range
  uint16_t op = 0;           // Program::opNames
  Kind kind = Kind::Simple;
  uint8_t fp = 0;
  uint8_t space = 0;         // ptx::Space
  uint8_t flags = 0;
  uint8_t wide = 0;          // addresses in 64-bit registers
  bool micro = false;        // follows the instruction it belongs to; not counted
};

namespace instflag {
enum : uint8_t { Store = 1, Volatile = 2, Aligned = 4, HasCount = 8, HasPredicate = 16, Float = 32, Trans = 64, ZeroFill = 128 };
}

inline constexpr uint32_t kConstBit = 0x8000'0000u;
/// An operand that is not there: `_`, or a result nobody wants.
inline constexpr uint32_t kNone = 0xffff'ffffu;

/// A constant that holds the address of a global: `width` bytes in each lane at `offset` of the pool.
struct ConstReloc {
  uint32_t offset, global;
  int64_t addend;
  uint32_t width; // 4 or 8
};

/// A register filled when the warp starts.
struct SpecialSlot {
  enum What : uint8_t {
    TidX, TidY, TidZ, NtidX, NtidY, NtidZ, CtaidX, CtaidY, CtaidZ, NctaidX, NctaidY, NctaidZ, LaneId, WarpId, NWarpId, SmId, NSmId,
    GridId, LaneEq, LaneLt, LaneLe, LaneGt, LaneGe, DynSmem, TotalSmem, AggrSmem, ClusterIdX, ClusterIdY, ClusterIdZ, NClusterIdX,
    NClusterIdY, NClusterIdZ, ClusterCtaIdX, ClusterCtaIdY, ClusterCtaIdZ, ClusterNctaX, ClusterNctaY, ClusterNctaZ,
    ClusterCtaRank, ClusterNctaRank, IsExplicitCluster, Zero
  } what;
  uint32_t offset;
  bool wide; // 64 bits
};

/// What follows from a pc on that the main loop may run without looking at each step.
struct Straight {
  uint32_t before = 0; // instructions, micro steps not counted, that stand before it in the code
  uint16_t steps = 0;  // Kind::Simple without a guard, all of one floating-point mode
  uint8_t fp = 0;      // that mode
};

struct Program {
  std::vector<Inst> code;
  std::vector<Straight> straight;  // one for each of `code`, and one more
  std::vector<uint32_t> lists;     // operand lists of vectors, mma fragments, branch tables
  std::vector<uint8_t> consts;     // pool, before relocation
  std::vector<ConstReloc> relocs;
  std::vector<SpecialSlot> specials;
  uint32_t registerBytes = 0;      // per warp
  uint32_t localBytes = 0;         // per thread
  uint32_t staticShared = 0;
  uint32_t paramBytes = 0;
  uint32_t memorySlots = 0;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_PROGRAM_H
