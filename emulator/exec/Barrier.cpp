//===- Barrier.cpp - bar.sync, arrive, red --------------------------------===//
//
// Guarantees: a barrier completes when every live thread of the block has arrived, or when the warps that have arrived
// complete hold the thread count given (PTX ISA 9.7.13.1); threads that exited no longer count.
//
//===----------------------------------------------------------------------===//
#include "exec/Interpreter.h"

#include <algorithm>

namespace weft::emu {

static uint32_t *lanesOf(Warp &w, uint32_t offset) {
  return reinterpret_cast<uint32_t *>(w.base[offset >> 31] + (offset & ~kConstBit));
}

static bool isComplete(const Block &block, const Barrier &b) {
  uint32_t warps = 0;
  bool all = true;
  for (size_t k = 0; k < block.warps.size(); ++k) {
    bool done = (block.warps[k].alive & ~b.arrived[k]) == 0;
    all &= done;
    warps += done && b.arrived[k] != 0;
  }
  return b.expected ? warps * 32 >= b.expected : all;
}

static void release(Block &block, uint32_t id) {
  Barrier &b = block.barriers[id];
  joinClocks(block, b.arrived);
  const Inst *code = nullptr;
  for (Warp &w : block.warps) {
    code = w.worker->program->code.data();
    for (size_t k = 0; k < w.atBarrier.size();) {
      Group g = w.atBarrier[k];
      const Inst &i = code[g.pc];
      unsigned lane = unsigned(__builtin_ctz(g.mask));
      if (lanesOf(w, i.a)[lane] != id) {
        ++k;
        continue;
      }
      if (BarForm(i.x) == BarForm::RedPopc) {
        for (uint32_t l = 0; l < 32; ++l)
          if ((g.mask >> l) & 1)
            lanesOf(w, i.d)[l] = b.popc;
      } else if (BarForm(i.x) == BarForm::RedAnd || BarForm(i.x) == BarForm::RedOr) {
        bool value = BarForm(i.x) == BarForm::RedAnd ? b.popc == b.total : b.popc != 0;
        uint32_t &d = *lanesOf(w, i.d);
        d = (d & ~g.mask) | (value ? g.mask : 0);
      }
      w.atBarrier.erase(w.atBarrier.begin() + long(k));
      addPending(w, {g.pc + 1, g.mask});
    }
  }
  b = Barrier();
}

void arriveAtBarrier(Warp &w, const Inst &i, uint32_t pc, uint32_t mask) {
  unsigned lane = unsigned(__builtin_ctz(mask));
  uint32_t id = lanesOf(w, i.a)[lane];
  if (id > 15 && !(id == 16 && (i.a & kConstBit)))
    return raiseTrap(w, i, Trap::IllegalInstruction, id, lane, "barrier number is out of range");
  // Lanes that name another barrier go to theirs.
  uint32_t same = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    if (lanesOf(w, i.a)[__builtin_ctz(rest)] == id)
      same |= rest & (0 - rest);
  Block &block = *w.block;
  Barrier &b = block.barriers[id];
  if (!b.inUse) {
    b.inUse = true;
    b.arrived.assign(block.warps.size(), 0);
  }
  uint32_t expected = i.b == kNone ? 0 : lanesOf(w, i.b)[lane];
  if (i.b != kNone && (expected == 0 || expected % 32 || expected > 1024 + 31))
    return raiseTrap(w, i, Trap::IllegalInstruction, expected, lane, "thread count of a barrier must be a multiple of 32");
  b.expected = expected;
  b.arrived[w.index] |= same;
  BarForm form = BarForm(i.x);
  if (form >= BarForm::RedPopc) {
    uint32_t votes = *lanesOf(w, i.c);
    b.popc += uint32_t(__builtin_popcount(votes & same));
    b.total += uint32_t(__builtin_popcount(same));
  }
  if (form == BarForm::Arrive)
    addPending(w, {pc + 1, same});
  else
    w.atBarrier.push_back({pc, same});
  if (isComplete(block, b))
    release(block, id);
  if (same != mask && !w.worker->stop)
    arriveAtBarrier(w, i, pc, mask & ~same);
}

void recheckBarriers(Block &block) {
  for (uint32_t id = 0; id < 17; ++id)
    if (block.barriers[id].inUse && isComplete(block, block.barriers[id]))
      release(block, id);
}

} // namespace weft::emu
