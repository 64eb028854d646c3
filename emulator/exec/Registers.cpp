//===- Registers.cpp - PTX registers to slots of the register file --------===//
//
// Guarantees: two registers share a slot only if no lane can need both. Liveness is that of one lane (handlers write the
// lanes of their mask only), by dataflow over basic blocks; slots by linear scan over the hull of each live range. Keeps
// the register file of a warp in the processor's first cache: LLVM writes a new register for every fma.
//
//===----------------------------------------------------------------------===//
#include "exec/Decoder.h"

#include <algorithm>

namespace weft::emu {

using namespace ptx;

namespace {

bool writesFirstOperand(const Instruction &in) {
  for (std::string_view op : {"st", "red", "bra", "brx", "bar", "barrier", "membar", "fence", "prefetch", "prefetchu", "nanosleep", "cp", "call",
                              "ret", "exit", "trap", "stmatrix", "wgmma", "mbarrier", "applypriority", "discard", "setmaxnreg"})
    if (in.op == op)
      return false;
  return !in.operands.empty() && in.operands[0].kind != Operand::Address;
}

template <class F> void forEachReg(const Operand &o, F f) {
  if (o.hasReg)
    f(o.reg);
  for (const Operand &e : o.elements)
    forEachReg(e, f);
}

struct BasicBlock {
  uint32_t begin, end;
  std::vector<uint32_t> next;
};

std::vector<BasicBlock> blocksOf(const Function &f) {
  size_t n = f.body.size();
  std::vector<bool> leads(n + 1, false);
  leads[0] = leads[n] = true;
  auto endsBlock = [](const Instruction &in) { return in.op == "bra" || in.op == "brx" || in.op == "ret" || in.op == "exit"; };
  auto targets = [&](const Instruction &in, auto use) {
    if (in.op == "bra" && !in.operands.empty() && in.operands[0].kind == Operand::Label)
      use(in.operands[0].target);
    if (in.op == "brx" && in.operands.size() > 1 && in.operands[1].index < f.branchTables.size())
      for (uint32_t t : f.branchTables[in.operands[1].index])
        use(t);
  };
  for (size_t k = 0; k < n; ++k) {
    if (endsBlock(f.body[k]))
      leads[k + 1] = true;
    targets(f.body[k], [&](uint32_t t) { leads[t] = true; });
  }
  std::vector<uint32_t> blockAt(n + 1, 0);
  std::vector<BasicBlock> blocks;
  for (uint32_t k = 0; k < n; ++k) {
    if (leads[k])
      blocks.push_back({k, k, {}});
    blockAt[k] = uint32_t(blocks.size() - 1);
    blocks.back().end = k + 1;
  }
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const Instruction &last = f.body[blocks[b].end - 1];
    targets(last, [&](uint32_t t) {
      if (t < n)
        blocks[b].next.push_back(blockAt[t]);
    });
    bool falls = last.guard >= 0 || !endsBlock(last);
    if (falls && blocks[b].end < n)
      blocks[b].next.push_back(b + 1);
  }
  return blocks;
}

} // namespace

void Decoder::assignRegisters(const Function &f) {
  size_t regs = f.regs.size();
  std::vector<BasicBlock> blocks = f.body.empty() ? std::vector<BasicBlock>() : blocksOf(f);
  if (regs < 16 || blocks.empty() || blocks.size() * regs > (size_t(1) << 28))
    return;
  size_t words = (regs + 63) / 64;
  using Set = std::vector<uint64_t>;
  auto has = [](const Set &s, uint32_t r) { return s[r / 64] >> (r % 64) & 1; };
  auto add = [](Set &s, uint32_t r) { s[r / 64] |= uint64_t(1) << (r % 64); };

  // What each block needs and what it defines first.
  std::vector<Set> need(blocks.size(), Set(words)), kill(blocks.size(), Set(words)), live(blocks.size(), Set(words));
  auto visit = [&](const Instruction &in, auto use, auto def) {
    bool writes = writesFirstOperand(in), partial = in.guard >= 0;
    if (partial)
      use(uint32_t(in.guard));
    for (size_t k = 0; k < in.operands.size(); ++k)
      if (k > 0 || !writes || partial)
        forEachReg(in.operands[k], use);
    if (writes)
      forEachReg(in.operands[0], def);
  };
  for (size_t b = 0; b < blocks.size(); ++b)
    for (uint32_t k = blocks[b].begin; k < blocks[b].end; ++k)
      visit(
          f.body[k], [&](uint32_t r) { if (!has(kill[b], r)) add(need[b], r); }, [&](uint32_t r) { add(kill[b], r); });
  for (bool changed = true; changed;) { // live at the beginning of each block
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;)
      for (size_t i = 0; i < words; ++i) {
        uint64_t out = 0;
        for (uint32_t s : blocks[b].next)
          out |= live[s][i];
        uint64_t in = need[b][i] | (out & ~kill[b][i]);
        changed |= in != live[b][i];
        live[b][i] = in;
      }
  }

  struct Range {
    uint32_t begin = kNone, end = 0, reg = 0;
  };
  std::vector<Range> ranges(regs);
  auto touch = [&](uint32_t r, uint32_t at) {
    ranges[r].begin = std::min(ranges[r].begin, at);
    ranges[r].end = std::max(ranges[r].end, at);
  };
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (uint32_t k = blocks[b].begin; k < blocks[b].end; ++k)
      visit(f.body[k], [&](uint32_t r) { touch(r, k); }, [&](uint32_t r) { touch(r, k); });
    for (uint32_t r = 0; r < regs; ++r) {
      if (has(live[b], r))
        touch(r, blocks[b].begin);
      bool out = false;
      for (uint32_t s : blocks[b].next)
        out |= has(live[s], r);
      if (out)
        touch(r, blocks[b].end - 1);
    }
  }

  std::vector<Range> order;
  for (uint32_t r = 0; r < regs; ++r)
    if (ranges[r].begin != kNone) {
      ranges[r].reg = r;
      order.push_back(ranges[r]);
    }
  std::sort(order.begin(), order.end(), [](const Range &a, const Range &b) { return a.begin < b.begin; });
  auto classOf = [&](uint32_t r) {
    unsigned width = f.regs[r].type == Ty::Pred ? 1 : bits(f.regs[r].type);
    return width == 1 ? 0 : width <= 16 ? 1 : width == 32 ? 2 : width == 64 ? 3 : 4;
  };
  std::vector<uint32_t> free[5];
  auto later = [](const Range &a, const Range &b) { return a.end > b.end; };
  std::vector<Range> active; // heap, the first to end on top
  for (const Range &r : order) {
    // A range that ends where this one begins still counts: an instruction may write before its last read.
    while (!active.empty() && active.front().end < r.begin) {
      free[classOf(active.front().reg)].push_back(frame->regs[active.front().reg]);
      std::pop_heap(active.begin(), active.end(), later);
      active.pop_back();
    }
    auto &slots = free[classOf(r.reg)];
    if (slots.empty()) {
      regOffset(r.reg);
    } else {
      frame->regs[r.reg] = slots.back();
      slots.pop_back();
    }
    active.push_back(r);
    std::push_heap(active.begin(), active.end(), later);
  }
}

} // namespace weft::emu
