//===- Interpreter.cpp - The main loop ------------------------------------===//
//
// Guarantees: lanes that diverge run lowest PC first, so they meet again at the earliest point; lanes at a `.sync`
// instruction wait for the others of its mask, those at an aligned barrier for all of the warp that have not exited; a
// group that spins on another of its own warp does not starve it, because a turn that runs out hands over to the other
// group.
//
//===----------------------------------------------------------------------===//
#include "exec/Interpreter.h"

#include <algorithm>
#include <immintrin.h>

namespace weft::emu {

namespace {

constexpr uint32_t kNoLimit = 0xffffffffu;

uint32_t mxcsrOf(uint8_t mode) {
  uint32_t v = 0x1f80;
  if (mode & fpmode::Ftz)
    v |= 0x8040;
  switch (mode & 6) {
  case fpmode::Rz: v |= 0x6000; break;
  case fpmode::Rm: v |= 0x2000; break;
  case fpmode::Rp: v |= 0x4000; break;
  default: break;
  }
  return v;
}

__attribute__((noinline)) void setMode(Worker &worker, uint8_t mode) {
  worker.fp = mode;
  _mm_setcsr(mxcsrOf(mode));
}

inline uint32_t laneValue(Warp &w, uint32_t offset, unsigned lane) {
  return reinterpret_cast<uint32_t *>(w.base[offset >> 31] + (offset & ~kConstBit))[lane];
}

/// The next group to run when the current one is gone: lowest pending, else one that waits at a .sync. False: none.
bool nextGroup(Warp &w, uint32_t &pc, uint32_t &active) {
  if (!w.pending.empty()) {
    pc = w.pending.back().pc, active = w.pending.back().mask;
    w.pending.pop_back();
    return true;
  }
  if (w.atSync.empty())
    return false;
  // All others wait or have gone: nobody else will come. Barriers last, for theirs may be a longer way.
  const Inst *code = w.worker->program->code.data();
  auto rank = [&](Group g) { return std::pair(code[g.pc].kind == Kind::Barrier, g.pc); };
  auto lowest = std::min_element(w.atSync.begin(), w.atSync.end(), [&](Group a, Group b) { return rank(a) < rank(b); });
  pc = lowest->pc, active = lowest->mask;
  w.atSync.erase(lowest);
  w.forceSync = true;
  return true;
}

/// Lanes that wait at the .sync instruction or barrier of `pc` join `active`.
void takeWaiting(Warp &w, uint32_t pc, uint32_t &active) {
  for (size_t k = 0; k < w.atSync.size();) {
    if (w.atSync[k].pc == pc) {
      active |= w.atSync[k].mask;
      w.atSync.erase(w.atSync.begin() + long(k));
    } else {
      ++k;
    }
  }
}

template <bool Counting> Outcome run(Warp &w, uint64_t budget) {
  Worker &worker = *w.worker;
  const Inst *code = worker.program->code.data();
  const Straight *straight = worker.program->straight.data();
  uint32_t pc = w.pc, active = w.active;
  uint64_t steps = 0, instructions = 0;
  bool rotated = w.rotated; // this turn belongs to a group that is not the lowest
  w.rotated = false;
  uint32_t limit = kNoLimit;
  auto updateLimit = [&] { limit = w.pending.empty() || rotated ? kNoLimit : w.pending.back().pc; };
  auto leave = [&](Outcome outcome) {
    w.pc = pc, w.active = active;
    worker.steps += steps;
    worker.instructions += instructions;
    return outcome;
  };
  if (!active && !nextGroup(w, pc, active))
    return leave(w.alive ? Outcome::Blocked : Outcome::Exited);
  updateLimit();
  for (;;) {
    while (pc >= limit) { // another group waits here or before
      Group other = w.pending.back();
      w.pending.pop_back();
      if (pc == other.pc) {
        active |= other.mask;
      } else {
        addPending(w, {pc, active});
        pc = other.pc, active = other.mask;
      }
      updateLimit();
    }
    if (steps >= budget) {
      if (!w.pending.empty()) { // fairness between groups of one warp
        Group other = w.pending.front();
        w.pending.erase(w.pending.begin());
        addPending(w, {pc, active});
        pc = other.pc, active = other.mask;
        w.rotated = !rotated;
      }
      return leave(Outcome::Yielded);
    }
    if (!Counting && straight[pc].steps) {
      const Straight &s = straight[pc];
      uint64_t n = std::min<uint64_t>({s.steps, limit - pc, budget - steps});
      if (s.fp && s.fp != worker.fp)
        setMode(worker, s.fp);
      for (const Inst *i = code + pc, *end = i + n; i != end; ++i)
        i->fn(w, *i, active);
      steps += n;
      instructions += straight[pc + n].before - s.before;
      pc += uint32_t(n);
      continue;
    }
    const Inst &i = code[pc];
    ++steps;
    instructions += !i.micro;
    uint32_t mask = active & (laneValue(w, i.pred, 0) ^ i.predXor);
    if (i.fp && i.fp != worker.fp)
      setMode(worker, i.fp);
    if (Counting && !i.micro) {
      ++worker.opCounts[i.op];
      worker.counters.threadInstructions += uint64_t(__builtin_popcount(mask));
    }
    switch (i.kind) {
    case Kind::Simple:
      if (mask)
        i.fn(w, i, mask);
      ++pc;
      break;
    case Kind::Trapping:
      if (mask) {
        i.fn(w, i, mask);
        if (__builtin_expect(worker.stop, 0))
          return leave(Outcome::Stopped);
      }
      ++pc;
      break;
    case Kind::Nop:
      ++pc;
      break;
    case Kind::Branch:
      if (mask == active) {
        pc = i.x;
      } else {
        if (mask) {
          addPending(w, {i.x, mask});
          active &= ~mask;
          updateLimit();
        }
        ++pc;
      }
      break;
    case Kind::BranchIndexed: {
      const uint32_t *table = worker.program->lists.data() + i.x;
      for (uint32_t rest = mask; rest; rest &= rest - 1) {
        unsigned lane = unsigned(__builtin_ctz(rest));
        uint32_t index = laneValue(w, i.a, lane);
        if (index >= i.y) {
          raiseTrap(w, i, Trap::IllegalInstruction, index, lane, "brx.idx: index is beyond its table");
          return leave(Outcome::Stopped);
        }
        addPending(w, {table[index], 1u << lane});
      }
      active &= ~mask;
      if (active)
        addPending(w, {pc + 1, active});
      nextGroup(w, pc, active);
      updateLimit();
      break;
    }
    case Kind::Exit:
      w.alive &= ~mask;
      active &= ~mask;
      ++pc;
      if (mask)
        recheckBarriers(*w.block);
      if (!active && !nextGroup(w, pc, active))
        return leave(w.alive ? Outcome::Blocked : Outcome::Exited);
      updateLimit();
      break;
    case Kind::Barrier: {
      if (!mask) {
        ++pc;
        break;
      }
      bool isAligned = i.flags & instflag::Aligned;
      if (isAligned && mask != w.alive) {
        takeWaiting(w, pc, active);
        mask = active & (laneValue(w, i.pred, 0) ^ i.predXor);
      }
      active &= ~mask;
      if (active)
        addPending(w, {pc + 1, active});
      active = 0;
      if (isAligned && mask != w.alive && !w.forceSync) { // the others may be on their way, wherever their code lies
        w.atSync.push_back({pc, mask});
        nextGroup(w, pc, active); // at worst this group again, by force
        updateLimit();
        break;
      }
      w.forceSync = false;
      if (worker.observer && worker.observer->check && isAligned && mask != w.alive)
        addFinding(w, i, Finding::DivergentBarrier, unsigned(__builtin_ctz(mask)), "divergent barrier: not all threads of the warp arrive together");
      worker.counters.barriers += Counting;
      arriveAtBarrier(w, i, pc, mask);
      if (worker.stop)
        return leave(Outcome::Stopped);
      if (!nextGroup(w, pc, active))
        return leave(Outcome::Blocked);
      updateLimit();
      break;
    }
    case Kind::WarpSync: {
      if (!mask) {
        ++pc;
        break;
      }
      takeWaiting(w, pc, active);
      mask = active & (laneValue(w, i.pred, 0) ^ i.predXor);
      uint32_t members = laneValue(w, i.y, unsigned(__builtin_ctz(mask))) & w.alive;
      if ((members & ~active) && !w.forceSync) {
        w.atSync.push_back({pc, active});
        active = 0;
        nextGroup(w, pc, active); // at worst this group again, by force
        updateLimit();
        break;
      }
      if (w.forceSync && worker.observer && worker.observer->check && (members & ~active))
        addFinding(w, i, Finding::PartialSync, unsigned(__builtin_ctz(mask)), "threads of the member mask never reach this .sync instruction");
      w.forceSync = false;
      if (mask & members)
        i.fn(w, i, mask & members);
      ++pc;
      break;
    }
    case Kind::Yield:
      if (mask)
        i.fn(w, i, mask);
      ++pc;
      if (mask) {
        if (!w.pending.empty()) {
          Group other = w.pending.front();
          w.pending.erase(w.pending.begin());
          addPending(w, {pc, active});
          pc = other.pc, active = other.mask;
          w.rotated = true;
        }
        return leave(Outcome::Yielded);
      }
      break;
    case Kind::Wait:
      w.retry = false;
      if (mask)
        i.fn(w, i, mask);
      if (worker.stop)
        return leave(Outcome::Stopped);
      if (w.retry) {
        w.retryLine = i.line;
        ++pc;
        return leave(Outcome::Waiting);
      }
      ++pc;
      break;
    }
  }
}

} // namespace

void addPending(Warp &w, Group group) {
  // Descending by pc: the lowest is at the back.
  auto at = std::lower_bound(w.pending.begin(), w.pending.end(), group, [](Group a, Group b) { return a.pc > b.pc; });
  if (at != w.pending.end() && at->pc == group.pc)
    at->mask |= group.mask;
  else
    w.pending.insert(at, group);
}

Outcome runWarp(Warp &w, uint64_t budget) { return w.worker->opCounts.empty() ? run<false>(w, budget) : run<true>(w, budget); }

} // namespace weft::emu
