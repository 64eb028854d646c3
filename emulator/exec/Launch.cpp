//===- Launch.cpp - Blocks, workers, traps --------------------------------===//
//
// Guarantees: the launch ends: when all blocks have run, at the first trap, at the step limit, or with a deadlock report.
// A block that does not finish within its turns stays resident while others start, so blocks may wait for each other.
//
//===----------------------------------------------------------------------===//
#include "exec/Interpreter.h"
#include "exec/ModuleImpl.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <thread>

namespace weft::emu {

const char *toString(Trap trap) {
  switch (trap) {
  case Trap::None: return "none";
  case Trap::IllegalAddress: return "illegal address";
  case Trap::MisalignedAddress: return "misaligned address";
  case Trap::IllegalInstruction: return "illegal instruction";
  case Trap::StepLimit: return "step limit";
  case Trap::Deadlock: return "deadlock";
  case Trap::TrapInstruction: return "trap instruction";
  case Trap::Assert: return "assertion failed";
  case Trap::InvalidLaunch: return "invalid launch";
  }
  return "";
}

void raiseTrap(Warp &w, const Inst &i, Trap trap, uint64_t address, unsigned lane, const char *what) {
  Worker &worker = *w.worker;
  if (worker.stop)
    return;
  worker.stop = true;
  worker.trap = trap;
  worker.address = address;
  worker.message = whereIs(w, i.line, lane) + ": " + what;
  if (trap == Trap::IllegalAddress || trap == Trap::MisalignedAddress) {
    char text[40];
    std::snprintf(text, sizeof text, " (0x%llx)", (unsigned long long)address);
    worker.message += text;
  }
}

namespace {

constexpr uint64_t kTurn = 100'000;        // steps of a warp's turn
constexpr uint64_t kTurnsAlone = 256;      // rounds before another block may start beside
constexpr size_t kResident = 1024;

struct Shared {
  const Program *program;
  Dim3 grid, block;
  uint32_t sharedBytes, dynamicBytes;
  const LaunchOptions *options;
  uint64_t blocks;
  std::vector<uint64_t> order; // empty: forward
  std::atomic<uint64_t> next{0}, steps{0};
  std::atomic<bool> stop{false};
};

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint32_t specialValue(const Warp &w, const Shared &s, SpecialSlot::What what, unsigned lane) {
  const Block &b = *w.block;
  uint32_t t = w.index * 32 + lane;
  switch (what) {
  case SpecialSlot::TidX: return t % b.dims[0];
  case SpecialSlot::TidY: return t / b.dims[0] % b.dims[1];
  case SpecialSlot::TidZ: return t / b.dims[0] / b.dims[1];
  case SpecialSlot::NtidX: return b.dims[0];
  case SpecialSlot::NtidY: return b.dims[1];
  case SpecialSlot::NtidZ: return b.dims[2];
  case SpecialSlot::CtaidX: case SpecialSlot::ClusterIdX: return b.ctaid[0];
  case SpecialSlot::CtaidY: case SpecialSlot::ClusterIdY: return b.ctaid[1];
  case SpecialSlot::CtaidZ: case SpecialSlot::ClusterIdZ: return b.ctaid[2];
  case SpecialSlot::NctaidX: case SpecialSlot::NClusterIdX: return s.grid.x;
  case SpecialSlot::NctaidY: case SpecialSlot::NClusterIdY: return s.grid.y;
  case SpecialSlot::NctaidZ: case SpecialSlot::NClusterIdZ: return s.grid.z;
  case SpecialSlot::LaneId: return lane;
  case SpecialSlot::WarpId: return w.index;
  case SpecialSlot::NWarpId: return uint32_t(b.warps.size());
  case SpecialSlot::SmId: return uint32_t((uint64_t(b.ctaid[2]) * s.grid.y + b.ctaid[1]) * s.grid.x + b.ctaid[0]) % std::max(1u, s.options->smCount);
  case SpecialSlot::NSmId: return std::max(1u, s.options->smCount);
  case SpecialSlot::GridId: return 1;
  case SpecialSlot::LaneEq: return 1u << lane;
  case SpecialSlot::LaneLt: return (1u << lane) - 1;
  case SpecialSlot::LaneLe: return (2u << lane) - 1;
  case SpecialSlot::LaneGt: return ~((2u << lane) - 1);
  case SpecialSlot::LaneGe: return ~((1u << lane) - 1);
  case SpecialSlot::DynSmem: return s.dynamicBytes;
  case SpecialSlot::TotalSmem: case SpecialSlot::AggrSmem: return s.sharedBytes;
  case SpecialSlot::ClusterNctaX: case SpecialSlot::ClusterNctaY: case SpecialSlot::ClusterNctaZ: case SpecialSlot::ClusterNctaRank: return 1;
  case SpecialSlot::ClusterCtaIdX: case SpecialSlot::ClusterCtaIdY: case SpecialSlot::ClusterCtaIdZ: case SpecialSlot::ClusterCtaRank:
  case SpecialSlot::IsExplicitCluster: case SpecialSlot::Zero: return 0;
  }
  return 0;
}

void prepare(Block &b, Worker &worker, const Shared &s, uint64_t index) {
  const Program &p = *s.program;
  uint64_t at = s.order.empty() ? index : s.order[index];
  if (s.options->order == BlockOrder::Reverse)
    at = s.blocks - 1 - index;
  b.ctaid[0] = uint32_t(at % s.grid.x), b.ctaid[1] = uint32_t(at / s.grid.x % s.grid.y), b.ctaid[2] = uint32_t(at / s.grid.x / s.grid.y);
  b.dims[0] = s.block.x, b.dims[1] = s.block.y, b.dims[2] = s.block.z;
  b.threads = s.block.x * s.block.y * s.block.z;
  b.rounds = 0;
  size_t warps = (b.threads + 31) / 32;
  b.shared.assign(s.sharedBytes, worker.observer && worker.observer->check ? 0xff : 0);
  b.registers.assign(warps * p.registerBytes + 64, 0);
  b.local.assign(warps * 32 * p.localBytes, 0);
  for (Barrier &barrier : b.barriers)
    barrier = Barrier();
  if (worker.observer && worker.observer->check) {
    b.shadow = std::make_shared<BlockShadow>();
    b.shadow->bytes.resize(s.sharedBytes);
  }
  b.warps.assign(warps, Warp());
  char *registers = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(b.registers.data()) + 63) & ~uintptr_t(63));
  for (size_t k = 0; k < warps; ++k) {
    Warp &w = b.warps[k];
    w.worker = &worker, w.block = &b, w.index = uint32_t(k);
    w.base[0] = registers + k * p.registerBytes;
    w.base[1] = const_cast<char *>(worker.consts);
    w.local = b.local.data() + k * 32 * p.localBytes;
    uint32_t count = std::min<uint32_t>(32, b.threads - uint32_t(k) * 32);
    w.alive = w.active = count == 32 ? 0xffffffffu : (1u << count) - 1;
    if (b.shadow) {
      w.clock.assign(warps, 0);
      w.clock[k] = 1;
    }
    for (const SpecialSlot &slot : p.specials)
      for (unsigned lane = 0; lane < 32; ++lane) {
        uint32_t v = specialValue(w, s, slot.what, lane);
        if (slot.wide)
          reinterpret_cast<uint64_t *>(w.base[0] + slot.offset)[lane] = v;
        else
          reinterpret_cast<uint32_t *>(w.base[0] + slot.offset)[lane] = v;
      }
  }
}

void reportDeadlock(Worker &worker, Block &b) {
  std::string text = "deadlock: every warp waits";
  const Inst *code = worker.program->code.data();
  Warp *any = &b.warps[0];
  uint32_t line = 0;
  unsigned listed = 0;
  for (Warp &w : b.warps) {
    for (Group g : w.atBarrier)
      if (listed++ < 8)
        text += "; warp " + std::to_string(w.index) + " at the barrier of line " + std::to_string(code[g.pc].line);
    if (w.alive && w.retryLine && listed++ < 8)
      text += "; warp " + std::to_string(w.index) + " at line " + std::to_string(w.retryLine);
    if (w.alive && !line) {
      any = &w;
      line = w.atBarrier.empty() ? w.retryLine : code[w.atBarrier[0].pc].line;
    }
  }
  Inst i;
  i.line = line;
  raiseTrap(*any, i, Trap::Deadlock, 0, any->alive ? unsigned(__builtin_ctz(any->alive)) : 0, text.c_str());
}

enum class RoundResult { Finished, Going, Stopped };

/// One turn for each warp of the block.
RoundResult roundOf(Block &b, Worker &worker, Shared &s) {
  bool progress = false, waiting = false, alive = false;
  size_t n = b.warps.size();
  uint64_t shift = s.options->order == BlockOrder::Random ? mix(s.options->seed ^ mix(b.rounds ^ b.ctaid[0])) % n : 0;
  for (size_t k = 0; k < n; ++k) {
    size_t index = s.options->order == BlockOrder::Reverse ? n - 1 - k : (k + shift) % n;
    Warp &w = b.warps[index];
    if (!w.active && w.pending.empty() && w.atSync.empty()) {
      alive |= w.alive != 0;
      continue;
    }
    uint64_t limit = s.options->stepLimit, used = s.steps.load(std::memory_order_relaxed);
    uint64_t before = worker.steps, turn = std::min(kTurn, used < limit ? limit - used : 0);
    w.retryLine = 0;
    Outcome outcome = runWarp(w, turn);
    uint64_t total = s.steps.fetch_add(worker.steps - before, std::memory_order_relaxed) + (worker.steps - before);
    if (outcome == Outcome::Stopped)
      return RoundResult::Stopped;
    if (total >= limit && outcome == Outcome::Yielded) {
      raiseTrap(w, worker.program->code[w.pc], Trap::StepLimit, 0, w.active ? unsigned(__builtin_ctz(w.active)) : 0, "step limit reached");
      return RoundResult::Stopped;
    }
    waiting |= outcome == Outcome::Waiting;
    progress |= outcome != Outcome::Waiting || worker.steps - before > 16;
    alive |= w.alive != 0;
  }
  ++b.rounds;
  if (!alive)
    return RoundResult::Finished;
  if (!progress && !waiting)
    reportDeadlock(worker, b);
  // A block that only waits may be waiting for a copy or for another block; the step limit ends it.
  return worker.stop ? RoundResult::Stopped : RoundResult::Going;
}

void work(Worker &worker, Shared &s) {
  uint32_t mxcsr = _mm_getcsr();
  _mm_setcsr(0x1f80);
  worker.fp = fpmode::Set;
  std::vector<std::unique_ptr<Block>> resident;
  std::unique_ptr<Block> spare;
  auto start = [&]() {
    uint64_t index = s.next.fetch_add(1, std::memory_order_relaxed);
    if (index >= s.blocks)
      return false;
    auto b = spare ? std::move(spare) : std::make_unique<Block>();
    prepare(*b, worker, s, index);
    resident.push_back(std::move(b));
    return true;
  };
  bool more = start();
  while (!resident.empty() && !s.stop.load(std::memory_order_relaxed)) {
    for (size_t k = 0; k < resident.size(); ++k) {
      Block &b = *resident[k];
      RoundResult r;
      do
        r = roundOf(b, worker, s);
      while (r == RoundResult::Going && b.rounds % kTurnsAlone && !s.stop.load(std::memory_order_relaxed));
      if (r == RoundResult::Stopped) {
        s.stop = true;
        break;
      }
      if (r == RoundResult::Finished) {
        spare = std::move(resident[k]);
        resident.erase(resident.begin() + long(k));
        --k;
      }
    }
    if (more && (resident.empty() || resident.size() < kResident))
      more = start();
  }
  _mm_setcsr(mxcsr);
}

LaunchResult invalid(std::string message) {
  LaunchResult r;
  r.trap = Trap::InvalidLaunch;
  r.message = std::move(message);
  return r;
}

} // namespace

LaunchResult launch(const Module &module, unsigned kernelIndex, Dim3 grid, Dim3 block, uint32_t dynamicSharedBytes,
                    const uint8_t *params, Memory &memory, const std::vector<uint64_t> &globalAddresses,
                    const LaunchOptions &options) {
  const auto &m = static_cast<const ModuleImpl &>(module);
  if (kernelIndex >= m.programs.size())
    return invalid("no such kernel");
  const Program &program = *m.programs[kernelIndex];
  const KernelInfo &info = m.kernelInfos[kernelIndex];
  uint64_t threads = uint64_t(block.x) * block.y;
  if (!block.x || !block.y || !block.z || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024 || threads * block.z > 1024)
    return invalid("kernel '" + info.name + "': illegal block size");
  if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return invalid("kernel '" + info.name + "': illegal grid size");
  threads *= block.z;
  if (threads > info.maxThreads)
    return invalid("kernel '" + info.name + "': more threads than .maxntid allows");
  if (info.reqntid[0] && (block.x != info.reqntid[0] || block.y != info.reqntid[1] || block.z != info.reqntid[2]))
    return invalid("kernel '" + info.name + "': block size differs from .reqntid");
  if (globalAddresses.size() < m.globalInfos.size())
    return invalid("addresses of globals are missing");
  uint64_t sharedBytes = uint64_t(program.staticShared) + dynamicSharedBytes;
  if (sharedBytes > (256u << 10))
    return invalid("kernel '" + info.name + "': too much shared memory");

  std::vector<char> consts(program.consts.size() + 64);
  char *pool = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(consts.data()) + 63) & ~uintptr_t(63));
  std::memcpy(pool, program.consts.data(), program.consts.size());
  for (const ConstReloc &r : program.relocs)
    for (int lane = 0; lane < 32; ++lane) {
      uint64_t v = globalAddresses[r.global] + uint64_t(r.addend);
      std::memcpy(pool + r.offset + lane * r.width, &v, r.width);
    }

  Shared s;
  s.program = &program;
  s.grid = grid, s.block = block;
  s.sharedBytes = uint32_t(sharedBytes), s.dynamicBytes = dynamicSharedBytes;
  s.options = &options;
  s.blocks = uint64_t(grid.x) * grid.y * grid.z;
  if (options.order == BlockOrder::Random && s.blocks <= (1u << 26)) {
    s.order.resize(s.blocks);
    for (uint64_t k = 0; k < s.blocks; ++k)
      s.order[k] = k;
    for (uint64_t k = s.blocks; k > 1; --k)
      std::swap(s.order[k - 1], s.order[mix(options.seed + k) % k]);
  }
  unsigned hostThreads = options.hostThreads ? options.hostThreads : std::max(1u, std::thread::hardware_concurrency());
  if (info.floatAtomics || options.check)
    hostThreads = 1;
  hostThreads = unsigned(std::min<uint64_t>(hostThreads, s.blocks));

  Observer observer{options.check, options.counters};
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned k = 0; k < hostThreads; ++k) {
    auto worker = std::make_unique<Worker>();
    worker->program = &program;
    worker->memory = &memory;
    worker->params = params;
    worker->consts = pool;
    worker->ranges.resize(program.memorySlots);
    worker->observer = options.check || options.counters ? &observer : nullptr;
    worker->eager = options.eager;
    worker->concurrent = hostThreads > 1;
    worker->kernelName = info.name;
    worker->kernelTag = options.kernelTag;
    if (options.counters)
      worker->opCounts.assign(m.opNames.size(), 0);
    workers.push_back(std::move(worker));
  }
  std::vector<std::thread> pooled;
  for (unsigned k = 1; k < hostThreads; ++k)
    pooled.emplace_back([&, k] { work(*workers[k], s); });
  work(*workers[0], s);
  for (std::thread &t : pooled)
    t.join();

  LaunchResult result;
  std::map<std::pair<uint32_t, int>, std::string> findings;
  for (auto &worker : workers) {
    if (worker->stop && result.trap == Trap::None) {
      result.trap = worker->trap;
      result.message = worker->message;
      result.address = worker->address;
    }
    LaunchCounters &c = result.counters;
    const LaunchCounters &w = worker->counters;
    c.instructions += worker->instructions;
    c.threadInstructions += w.threadInstructions, c.globalLoadBytes += w.globalLoadBytes, c.globalStoreBytes += w.globalStoreBytes;
    c.globalSectors += w.globalSectors, c.globalAccesses += w.globalAccesses, c.sharedBytes += w.sharedBytes;
    c.sharedAccesses += w.sharedAccesses, c.bankConflicts += w.bankConflicts, c.atomics += w.atomics, c.barriers += w.barriers;
    for (size_t k = 0; k < worker->opCounts.size(); ++k)
      if (worker->opCounts[k])
        c.mix[m.opNames[k]] += worker->opCounts[k];
    findings.insert(worker->findings.begin(), worker->findings.end());
    result.printed += worker->printed;
  }
  for (auto &[key, text] : findings)
    result.findings.push_back(text);
  return result;
}

} // namespace weft::emu
