//===- HandlersWarp.cpp - Shuffles, votes, cp.async groups ----------------===//
//
// Guarantees: the main loop has gathered all lanes of the member mask before a `.sync` handler runs; `mask` holds those
// that take part (PTX ISA 9.7.9.6 shfl, 9.7.13 vote, match, redux, elect).
//
//===----------------------------------------------------------------------===//
#include "exec/Lanes.h"

#include <chrono>

namespace weft::emu::WEFT_EMU_ISA {
namespace {

enum class Mode { Up, Down, Bfly, Idx };

template <Mode M> void shuffle(Warp &w, const Inst &i, uint32_t mask) {
  u32 *d = i.d == kNone ? nullptr : lanes<u32>(w, i.d);
  const u32 *a = lanes<u32>(w, i.a), *b = lanes<u32>(w, i.b), *c = lanes<u32>(w, i.c);
  alignas(64) u32 result[32];
  u32 valid = 0;
  for (u32 l = 0; l < 32; ++l) {
    u32 bval = b[l] & 31, cval = c[l] & 31, segment = (c[l] >> 8) & 31;
    s32 most = s32((l & segment) | (cval & ~segment)), least = s32(l & segment), j;
    bool p;
    if (M == Mode::Up)
      j = s32(l) - s32(bval), p = j >= most;
    else if (M == Mode::Down)
      j = s32(l + bval), p = j <= most;
    else if (M == Mode::Bfly)
      j = s32(l ^ bval), p = j <= most;
    else
      j = least | s32(bval & ~segment), p = j <= most;
    j = p ? j : s32(l);
    result[l] = a[j & 31];
    valid |= u32(p) << l;
  }
  if (d)
    for (int l = 0; l < 32; ++l)
      d[l] = (mask >> l) & 1 ? result[l] : d[l];
  if (i.x != kNone)
    setMask(w, i.x, valid, mask);
}

void setAll(Warp &w, uint32_t offset, u32 value, u32 mask) {
  u32 *d = lanes<u32>(w, offset);
  for (int l = 0; l < 32; ++l)
    d[l] = (mask >> l) & 1 ? value : d[l];
}

u32 voters(Warp &w, const Inst &i, uint32_t mask) { return (maskAt(w, i.a) ^ u32(i.imm)) & mask; }

template <bool Wide> void matchAny(Warp &w, const Inst &i, uint32_t mask) {
  u32 *d = lanes<u32>(w, i.d);
  u32 result[32];
  auto value = [&](int l) -> u64 { return Wide ? lanes<u64>(w, i.a)[l] : lanes<u32>(w, i.a)[l]; };
  for (int l = 0; l < 32; ++l) {
    result[l] = 0;
    for (int m = 0; m < 32; ++m)
      result[l] |= u32(((mask >> m) & 1) && value(m) == value(l)) << m;
  }
  for (int l = 0; l < 32; ++l)
    d[l] = (mask >> l) & 1 ? result[l] : d[l];
}

template <bool Wide> void matchAll(Warp &w, const Inst &i, uint32_t mask) {
  auto value = [&](int l) -> u64 { return Wide ? lanes<u64>(w, i.a)[l] : lanes<u32>(w, i.a)[l]; };
  bool same = true;
  int first = __builtin_ctz(mask);
  for (int l = 0; l < 32; ++l)
    same &= !((mask >> l) & 1) || value(l) == value(first);
  if (i.d != kNone)
    setAll(w, i.d, same ? mask : 0, mask);
  if (i.x != kNone)
    setMask(w, i.x, same ? ~0u : 0u, mask);
}

template <class T, class F> void reduce(Warp &w, const Inst &i, uint32_t mask, F f) {
  const T *a = lanes<T>(w, i.a);
  u32 rest = mask;
  T value = a[__builtin_ctz(rest)];
  for (rest &= rest - 1; rest; rest &= rest - 1)
    value = f(value, a[__builtin_ctz(rest)]);
  T *d = lanes<T>(w, i.d);
  for (int l = 0; l < 32; ++l)
    d[l] = (mask >> l) & 1 ? value : d[l];
}

/// Carries out the copies of lanes in `mask` but for their `keep` newest groups; ~0u: those not committed too.
void drain(Warp &w, u32 mask, u32 keep, bool all) {
  size_t kept = 0;
  for (const AsyncCopy &c : w.copies) {
    bool due = ((mask >> c.lane) & 1) && (all || (c.group < w.committed[c.lane] && w.committed[c.lane] - c.group > keep));
    if (!due) {
      w.copies[kept++] = c;
      continue;
    }
    uint8_t *target = w.block->shared.data() + c.shared;
    std::memset(target, 0, c.size);
    std::memcpy(target, c.source, c.valid);
  }
  w.copies.resize(kept);
}

#define REDUX(KEY, T, EXPR)                                                                                             \
  {KEY, "", [](Warp &w, const Inst &i, uint32_t mask) { reduce<T>(w, i, mask, [](T a, T b) -> T { return EXPR; }); },   \
   LaneType::U32, {LaneType::U32}},

const HandlerRow kRows[] = {
    {"shfl.up", "", shuffle<Mode::Up>, LaneType::U32, {}},
    {"shfl.down", "", shuffle<Mode::Down>, LaneType::U32, {}},
    {"shfl.bfly", "", shuffle<Mode::Bfly>, LaneType::U32, {}},
    {"shfl.idx", "", shuffle<Mode::Idx>, LaneType::U32, {}},
    {"vote.ballot", "", [](Warp &w, const Inst &i, uint32_t mask) { setAll(w, i.d, voters(w, i, mask), mask); }, LaneType::U32, {}},
    {"vote.all", "", [](Warp &w, const Inst &i, uint32_t mask) { setMask(w, i.d, voters(w, i, mask) == mask ? ~0u : 0u, mask); }, LaneType::Pred, {}},
    {"vote.any", "", [](Warp &w, const Inst &i, uint32_t mask) { setMask(w, i.d, voters(w, i, mask) ? ~0u : 0u, mask); }, LaneType::Pred, {}},
    {"vote.uni", "",
     [](Warp &w, const Inst &i, uint32_t mask) {
       u32 v = voters(w, i, mask);
       setMask(w, i.d, v == 0 || v == mask ? ~0u : 0u, mask);
     },
     LaneType::Pred, {}},
    {"activemask", "", [](Warp &w, const Inst &i, uint32_t mask) { setAll(w, i.d, mask, mask); }, LaneType::U32, {}},
    {"match.any.b32", "", matchAny<false>, LaneType::U32, {LaneType::U32}},
    {"match.any.b64", "", matchAny<true>, LaneType::U32, {LaneType::U64}},
    {"match.all.b32", "", matchAll<false>, LaneType::U32, {LaneType::U32}},
    {"match.all.b64", "", matchAll<true>, LaneType::U32, {LaneType::U64}},
    REDUX("redux.add.u32|redux.add.s32", u32, a + b) REDUX("redux.min.u32", u32, a < b ? a : b) REDUX("redux.max.u32", u32, a > b ? a : b)
    REDUX("redux.min.s32", s32, a < b ? a : b) REDUX("redux.max.s32", s32, a > b ? a : b) REDUX("redux.and.b32", u32, a & b)
    REDUX("redux.or.b32", u32, a | b) REDUX("redux.xor.b32", u32, a ^ b)
    REDUX("redux.min.f32", f32, fmin_(a, b)) REDUX("redux.max.f32", f32, fmax_(a, b))
    REDUX("redux.min.NaN.f32", f32, fminNaN(a, b)) REDUX("redux.max.NaN.f32", f32, fmaxNaN(a, b))
    REDUX("redux.min.abs.f32", f32, fmin_(fabs_(a), fabs_(b))) REDUX("redux.max.abs.f32", f32, fmax_(fabs_(a), fabs_(b)))
    {"elect", "",
     [](Warp &w, const Inst &i, uint32_t mask) {
       u32 leader = u32(__builtin_ctz(mask));
       if (i.d != kNone)
         setAll(w, i.d, leader, mask);
       setMask(w, i.x, 1u << leader, mask);
     },
     LaneType::U32, {}},
    {"$clock32", "", [](Warp &w, const Inst &i, uint32_t mask) { setAll(w, i.d, u32(w.worker->steps), mask); }, LaneType::U32, {}},
    {"$clock64", "",
     [](Warp &w, const Inst &i, uint32_t mask) {
       u64 *d = lanes<u64>(w, i.d);
       for (int l = 0; l < 32; ++l)
         d[l] = (mask >> l) & 1 ? w.worker->steps : d[l];
     },
     LaneType::U64, {}},
    {"$globaltimer", "",
     [](Warp &w, const Inst &i, uint32_t mask) {
       u64 now = u64(std::chrono::steady_clock::now().time_since_epoch().count());
       u64 *d = lanes<u64>(w, i.d);
       for (int l = 0; l < 32; ++l)
         d[l] = (mask >> l) & 1 ? now : d[l];
     },
     LaneType::U64, {}},
    {"$cp.async.commit", "",
     [](Warp &w, const Inst &, uint32_t mask) {
       for (u32 rest = mask; rest; rest &= rest - 1)
         ++w.committed[__builtin_ctz(rest)];
     },
     LaneType::None, {}},
    {"$cp.async.wait", "", [](Warp &w, const Inst &i, uint32_t mask) { drain(w, mask, u32(i.imm), false); }, LaneType::None, {}},
    {"$cp.async.wait.all", "", [](Warp &w, const Inst &, uint32_t mask) { drain(w, mask, 0, true); }, LaneType::None, {}},
    {"$trap", "", [](Warp &w, const Inst &i, uint32_t mask) { raiseTrap(w, i, Trap::TrapInstruction, 0, unsigned(__builtin_ctz(mask)), "trap instruction"); }, LaneType::None, {}},
    {"$assert", "", [](Warp &w, const Inst &i, uint32_t mask) { raiseTrap(w, i, Trap::Assert, 0, unsigned(__builtin_ctz(mask)), "__assertfail was called"); }, LaneType::None, {}},
    {"$nothing", "", [](Warp &, const Inst &, uint32_t) {}, LaneType::None, {}},
    {"$isspacep", "",
     [](Warp &w, const Inst &i, uint32_t mask) {
       const u64 *a = lanes<u64>(w, i.a);
       u32 m = 0;
       for (int l = 0; l < 32; ++l)
         m |= u32(a[l] - i.imm < (u64(i.y) << 32)) << l;
       setMask(w, i.d, m ^ i.x, mask); // x = ~0: outside of the windows
     },
     LaneType::None, {}},
};

} // namespace

Rows warpRows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

} // namespace weft::emu::WEFT_EMU_ISA
