//===- Observe.cpp - Counters and sanitizers ------------------------------===//
//
// See Observe.h. Sectors are 32 bytes; shared memory has 32 banks of 4 bytes, and a warp's access of n bytes per lane
// needs at least as many wavefronts as 128-byte lines would hold its distinct words.
//
//===----------------------------------------------------------------------===//
#include "exec/Observe.h"
#include "ptx/Ast.h"

#include <algorithm>
#include <cstdio>

namespace weft::emu {

std::string whereIs(const Warp &w, uint32_t line, unsigned lane) {
  const Block &b = *w.block;
  uint32_t t = w.index * 32 + lane;
  char text[200];
  std::snprintf(text, sizeof text, "PTX line %u, block (%u,%u,%u), thread (%u,%u,%u)", line, b.ctaid[0], b.ctaid[1], b.ctaid[2],
                t % b.dims[0], t / b.dims[0] % b.dims[1], t / b.dims[0] / b.dims[1]);
  std::string s;
  if (!w.worker->kernelTag.empty())
    s += std::string(w.worker->kernelTag) + ": ";
  return s + "kernel '" + std::string(w.worker->kernelName) + "', " + text;
}

void addFinding(Warp &w, const Inst &i, Finding kind, unsigned lane, const std::string &what) {
  auto &findings = w.worker->findings;
  if (findings.size() < 10000 && !findings.count({i.line, int(kind)}))
    findings[{i.line, int(kind)}] = whereIs(w, i.line, lane) + ": " + what;
}

void joinClocks(Block &block, const std::vector<uint32_t> &arrived) {
  if (!block.shadow)
    return;
  std::vector<uint32_t> joined(block.warps.size(), 0);
  for (size_t w = 0; w < arrived.size(); ++w)
    if (arrived[w])
      for (size_t k = 0; k < joined.size(); ++k)
        joined[k] = std::max(joined[k], block.warps[w].clock[k]);
  for (size_t w = 0; w < arrived.size(); ++w)
    if (arrived[w]) {
      block.warps[w].clock = joined;
      ++block.warps[w].clock[w];
    }
}

static std::string hex(uint64_t v) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", (unsigned long long)v);
  return text;
}

static void checkShared(Warp &w, const Inst &i, const Access &a) {
  BlockShadow *shadow = w.block->shadow.get();
  if (!shadow)
    return;
  uint32_t now = w.clock[w.index];
  uint8_t self = uint8_t(w.index);
  for (uint32_t rest = a.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    for (uint32_t k = 0; k < a.bytes; ++k) {
      uint64_t at = a.address[lane] + k;
      if (at >= shadow->bytes.size())
        return;
      BlockShadow::Byte &b = shadow->bytes[at];
      bool afterWrite = b.writeClock == 0 || b.writer == self || w.clock[b.writer] >= b.writeClock;
      bool afterRead = (b.readClock == 0 || b.reader == self || w.clock[b.reader] >= b.readClock) &&
                       (b.readClock2 == 0 || b.reader2 == self || w.clock[b.reader2] >= b.readClock2);
      if (!afterWrite && !(a.isAtomic && b.atomicWrite))
        addFinding(w, i, Finding::Race, lane,
                   "race on shared memory at offset " + hex(at) + ": " + (a.isWrite ? "written" : "read") + " while warp " +
                       std::to_string(b.writer) + " wrote it at line " + std::to_string(b.writeLine) + " with no barrier between");
      else if (a.isWrite && !afterRead)
        addFinding(w, i, Finding::Race, lane,
                   "race on shared memory at offset " + hex(at) + ": written while warp " + std::to_string(b.reader) +
                       " read it at line " + std::to_string(b.readLine) + " with no barrier between");
      if ((!a.isWrite || a.isAtomic) && !b.initialized)
        addFinding(w, i, Finding::UninitializedShared, lane, "read of shared memory that nobody wrote, offset " + hex(at));
      if (a.isWrite) {
        b.writeClock = now, b.writer = self, b.writeLine = i.line;
        b.initialized = true, b.atomicWrite = a.isAtomic;
      } else if (b.readClock == 0 || b.reader == self) {
        b.readClock = now, b.reader = self, b.readLine = i.line;
      } else {
        b.readClock2 = b.readClock, b.reader2 = b.reader;
        b.readClock = now, b.reader = self, b.readLine = i.line;
      }
    }
  }
}

static void checkGlobal(Warp &w, const Inst &i, const Access &a, const Memory::Range *cached) {
  Memory::Range range = cached ? *cached : Memory::Range{};
  for (uint32_t rest = a.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = a.address[lane];
    if (address < range.begin || address >= range.end)
      if (!w.worker->memory->lookup(address, range))
        continue;
    if (!range.initialized || range.end - address < a.bytes)
      continue;
    uint8_t *flags = range.initialized + (address - range.begin);
    if (!a.isWrite || a.isAtomic)
      for (uint32_t k = 0; k < a.bytes; ++k)
        if (!flags[k]) {
          addFinding(w, i, Finding::UninitializedGlobal, lane, "read of global memory that nobody wrote, address " + hex(address + k));
          break;
        }
    if (a.isWrite)
      std::fill(flags, flags + a.bytes, uint8_t(1));
  }
}

static void count(LaunchCounters &c, const Access &a, bool isShared) {
  uint64_t lanes = uint64_t(__builtin_popcount(a.mask));
  uint64_t keys[32 * 9];
  size_t n = 0;
  for (uint32_t rest = a.mask; rest; rest &= rest - 1) {
    uint64_t address = a.address[__builtin_ctz(rest)];
    uint64_t grain = isShared ? 4 : 32;
    for (uint64_t k = address / grain; k <= (address + a.bytes - 1) / grain && n < 32 * 9; ++k)
      keys[n++] = k;
  }
  std::sort(keys, keys + n);
  n = size_t(std::unique(keys, keys + n) - keys);
  c.atomics += a.isAtomic;
  if (!isShared) {
    (a.isWrite ? c.globalStoreBytes : c.globalLoadBytes) += lanes * a.bytes;
    c.globalSectors += n;
    ++c.globalAccesses;
    return;
  }
  c.sharedBytes += lanes * a.bytes;
  ++c.sharedAccesses;
  uint32_t perBank[32] = {};
  for (size_t k = 0; k < n; ++k)
    ++perBank[keys[k] % 32];
  uint32_t wavefronts = *std::max_element(perBank, perBank + 32);
  uint32_t least = uint32_t((n + 31) / 32);
  c.bankConflicts += wavefronts > least ? wavefronts - least : 0;
}

void observe(Warp &w, const Inst &i, const Access &access, const Memory::Range *range) {
  const Observer &o = *w.worker->observer;
  auto space = ptx::Space(access.space);
  bool isShared = space == ptx::Space::Shared, isGlobal = space == ptx::Space::Global || space == ptx::Space::Const;
  if (o.counters && (isShared || isGlobal))
    count(w.worker->counters, access, isShared);
  if (o.check && isShared)
    checkShared(w, i, access);
  if (o.check && isGlobal)
    checkGlobal(w, i, access, range);
}

} // namespace weft::emu
