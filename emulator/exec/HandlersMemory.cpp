//===- HandlersMemory.cpp - Loads, stores, atomics ------------------------===//
//
// Guarantees: every access of every lane is checked for alignment and for lying within one live allocation (global) or
// the block's own storage (shared, local, parameters); otherwise the launch stops. Uniform and contiguous addresses, the
// common cases, are recognised at run time and checked once for the warp.
//
//===----------------------------------------------------------------------===//
#include "exec/Lanes.h"
#include "ptx/Ast.h"

namespace weft::emu::WEFT_EMU_ISA {
namespace {

using ptx::Space;

enum class Shape : uint8_t { Fail, Uniform, Contiguous, Scattered, Offsets };
struct Where {
  uint8_t *p = nullptr; // Uniform: the bytes; Contiguous: lane 0's bytes
  uint8_t *lane[32];    // Scattered; lanes outside the mask point at `nowhere`
  alignas(64) u64 address[32];
  alignas(64) u32 offset[32]; // Offsets: of each lane from p, 0 outside the mask
};
alignas(64) thread_local uint8_t nowhere[64];

bool lookupGlobal(Warp &w, const Inst &i, u64 address, u32 bytes, unsigned lane, Memory::Range *&range) {
  range = &w.worker->ranges[i.slot];
  if (address - range->begin < range->end - range->begin && range->end - address >= bytes)
    return true;
  Memory::Range found;
  if (!w.worker->memory->lookup(address, found) || address < found.begin || address >= found.end || found.end - address < bytes) {
    raiseTrap(w, i, Trap::IllegalAddress, address, lane, "address is in no allocation");
    return false;
  }
  *range = found;
  return true;
}

/// Space of one generic address; the address becomes the space's own.
Space classify(u64 &address) {
  if (address < kWindowsBegin || address >= kWindowsEnd)
    return Space::Global;
  Space s = address < kLocalWindow ? Space::Shared : address < kParamWindow ? Space::Local : Space::Param;
  address &= 0xffffffffu;
  return s;
}

uint8_t *hostAddress(Warp &w, const Inst &i, Space space, u64 address, u32 bytes, unsigned lane) {
  if (address & (bytes - 1)) {
    raiseTrap(w, i, Trap::MisalignedAddress, address, lane, "address is not aligned to the access");
    return nullptr;
  }
  auto within = [&](uint8_t *base, u64 size, const char *what) -> uint8_t * {
    if (address < size && size - address >= bytes)
      return base + address;
    raiseTrap(w, i, Trap::IllegalAddress, address, lane, what);
    return nullptr;
  };
  switch (space) {
  case Space::Shared:
    return within(w.block->shared.data(), w.block->shared.size(), "address is beyond the block's shared memory");
  case Space::Local: {
    u64 size = w.worker->program->localBytes;
    return within(w.local + size * lane, size, "address is beyond the thread's local memory");
  }
  case Space::Param:
    return within(const_cast<uint8_t *>(w.worker->params), w.worker->program->paramBytes, "address is beyond the parameters");
  default: {
    Memory::Range *range;
    if (!lookupGlobal(w, i, address, bytes, lane, range))
      return nullptr;
    return range->host + (address - range->begin);
  }
  }
}

inline void addressesOf(Warp &w, const Inst &i, u64 *out) {
  if (i.wide) {
    const u64 *a = lanes<u64>(w, i.a);
    for (int l = 0; l < 32; ++l)
      out[l] = a[l] + i.imm;
  } else {
    const u32 *a = lanes<u32>(w, i.a);
    u32 offset = u32(i.imm);
    for (int l = 0; l < 32; ++l)
      out[l] = u32(a[l] + offset);
  }
}

__attribute__((noinline)) void report(Warp &w, const Inst &i, const Where &at, u32 mask, u32 bytes, Space space, bool write,
                                      bool atomic) {
  alignas(64) u64 plain[32];
  u32 groups[7] = {};
  for (int l = 0; l < 32; ++l) {
    plain[l] = at.address[l];
    Space s = space == Space::Generic ? classify(plain[l]) : space;
    groups[int(s)] |= ((mask >> l) & 1) << l;
  }
  for (int s = 0; s < 7; ++s)
    if (groups[s])
      observe(w, i, {plain, groups[s], bytes, write, atomic, uint8_t(s)}, &w.worker->ranges[i.slot]);
}

__attribute__((noinline)) Shape scatter(Warp &w, const Inst &i, u32 mask, u32 bytes, Space space, Where &at) {
  if (space == Space::Global || space == Space::Generic) {
    // All lanes in the allocation that the last access hit?
    const Memory::Range &range = w.worker->ranges[i.slot];
    u64 begin = range.begin, size = range.end - range.begin;
    if (size >= bytes) {
      u64 most = size - bytes, bad = 0;
      uint8_t *host = range.host;
      for (int l = 0; l < 32; ++l) {
        bool live = (mask >> l) & 1;
        u64 offset = at.address[l] - begin;
        bad |= live ? (at.address[l] & (bytes - 1)) | u64(offset > most) : 0;
        at.lane[l] = live ? host + offset : nowhere;
      }
      if (!bad)
        return Shape::Scattered;
    }
  }
  for (int l = 0; l < 32; ++l) {
    at.lane[l] = nowhere;
    if (!((mask >> l) & 1))
      continue;
    u64 address = at.address[l];
    Space s = space == Space::Generic ? classify(address) : space;
    at.lane[l] = hostAddress(w, i, s, address, bytes, unsigned(l));
    if (!at.lane[l])
      return Shape::Fail;
  }
  return Shape::Scattered;
}

/// Shared memory, the hot case.
template <bool Full, class A> inline Shape resolveShared(Warp &w, const Inst &i, u32 mask, u32 bytes, Where &at) {
  u64 total = w.block->shared.size();
  if (total < bytes)
    return Shape::Fail;
  const A *a = lanes<A>(w, i.a);
  A plus = A(i.imm);
  u32 first = u32(a[__builtin_ctz(mask)] + plus), most = u32(total) - bytes;
  u32 bad = 0, differs = 0, leaps = 0;
  for (u32 l = 0; l < 32; ++l) {
    u32 live = Full ? ~0u : 0 - ((mask >> l) & 1);
    A full = a[l] + plus;
    u32 x = u32(full);
    bad |= ((x & (bytes - 1)) | (x > most ? 1u : 0u) | (sizeof(A) == 8 ? u32(u64(full) >> 32) : 0u)) & live;
    differs |= (x ^ first) & live;
    leaps |= x ^ (first + l * bytes);
    at.offset[l] = x & live;
  }
  if (bad)
    return Shape::Fail;
  at.p = w.block->shared.data();
  if (differs && (!Full || leaps))
    return Shape::Offsets;
  at.p += first;
  return differs ? Shape::Contiguous : Shape::Uniform;
}

inline Shape resolve(Warp &w, const Inst &i, u32 mask, u32 bytes, bool write, bool atomic, Where &at) {
  if (Space(i.space) == Space::Shared && !w.worker->observer) {
    bool full = mask == 0xffffffffu;
    Shape shape = i.wide ? (full ? resolveShared<true, u64>(w, i, mask, bytes, at) : resolveShared<false, u64>(w, i, mask, bytes, at))
                         : (full ? resolveShared<true, u32>(w, i, mask, bytes, at) : resolveShared<false, u32>(w, i, mask, bytes, at));
    if (shape != Shape::Fail)
      return shape;
  }
  addressesOf(w, i, at.address);
  Space space = Space(i.space);
  unsigned first = unsigned(__builtin_ctz(mask));
  u64 base = at.address[first];
  u64 notUniform = 0, notContiguous = 0;
  for (int l = 0; l < 32; ++l) {
    u64 live = 0 - u64((mask >> l) & 1);
    notUniform |= (at.address[l] ^ base) & live;
    notContiguous |= at.address[l] ^ (base + u64(l) * bytes);
  }
  Shape shape = Shape::Scattered;
  if (space == Space::Generic && notContiguous && notUniform)
    shape = Shape::Scattered;
  else if (!notUniform)
    shape = Shape::Uniform;
  else if (mask == 0xffffffffu && !notContiguous)
    shape = Shape::Contiguous;
  u32 span = shape == Shape::Contiguous ? 32 * bytes : bytes;
  u64 plain = base;
  if (space == Space::Generic)
    space = classify(plain);
  if (shape != Shape::Scattered && space != Space::Local && (plain & (bytes - 1)) == 0) {
    if (space == Space::Shared) {
      u64 size = w.block->shared.size();
      if (plain < size && size - plain >= span)
        at.p = w.block->shared.data() + plain;
    } else if (space == Space::Param) {
      u64 size = w.worker->program->paramBytes;
      if (plain < size && size - plain >= span)
        at.p = const_cast<uint8_t *>(w.worker->params) + plain;
    } else {
      Memory::Range *range;
      if (!lookupGlobal(w, i, plain, bytes, first, range))
        return Shape::Fail;
      if (range->end - plain >= span)
        at.p = range->host + (plain - range->begin);
    }
  } else {
    shape = Shape::Scattered;
  }
  if (!at.p)
    shape = scatter(w, i, mask, bytes, Space(i.space), at);
  if (__builtin_expect(w.worker->observer != nullptr, 0) && shape != Shape::Fail)
    report(w, i, at, mask, bytes, Space(i.space), write, atomic);
  return shape;
}

//===-- Loads and stores ----------------------------------------------------===//

template <class T> inline T readAs(const uint8_t *p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}

/// Four words from each of 32 places, `at(lane)`, into four registers: 16 bytes at once, then 4x4 blocks transposed.
template <class At> inline void loadQuads(u32 *const *d, At at) {
  using Quad = u32 __attribute__((vector_size(16), aligned(4)));
  using Octo = u32 __attribute__((vector_size(32)));
  using Wide = u32 __attribute__((vector_size(64)));
  for (int base = 0; base < 32; base += 16) {
    Wide r[4]; // words of lanes base + k, + 4 + k, + 8 + k, + 12 + k
    for (int k = 0; k < 4; ++k) {
      Quad q[4];
      for (int j = 0; j < 4; ++j)
        std::memcpy(&q[j], at(base + 4 * j + k), 16);
      Octo low = __builtin_shufflevector(q[0], q[1], 0, 1, 2, 3, 4, 5, 6, 7);
      Octo high = __builtin_shufflevector(q[2], q[3], 0, 1, 2, 3, 4, 5, 6, 7);
      r[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
#define WEFT_UNPACK_WORDS(A, B, N)                                                                                      \
  __builtin_shufflevector(A, B, N, N + 16, N + 1, N + 17, N + 4, N + 20, N + 5, N + 21, N + 8, N + 24, N + 9, N + 25, N + 12, \
                          N + 28, N + 13, N + 29)
#define WEFT_UNPACK_PAIRS(A, B, N)                                                                                      \
  __builtin_shufflevector(A, B, N, N + 1, N + 16, N + 17, N + 4, N + 5, N + 20, N + 21, N + 8, N + 9, N + 24, N + 25, N + 12, \
                          N + 13, N + 28, N + 29)
    Wide a = WEFT_UNPACK_WORDS(r[0], r[1], 0), b = WEFT_UNPACK_WORDS(r[2], r[3], 0);
    Wide c = WEFT_UNPACK_WORDS(r[0], r[1], 2), e = WEFT_UNPACK_WORDS(r[2], r[3], 2);
    Wide out[4] = {WEFT_UNPACK_PAIRS(a, b, 0), WEFT_UNPACK_PAIRS(a, b, 2), WEFT_UNPACK_PAIRS(c, e, 0), WEFT_UNPACK_PAIRS(c, e, 2)};
#undef WEFT_UNPACK_WORDS
#undef WEFT_UNPACK_PAIRS
    for (int v = 0; v < 4; ++v)
      std::memcpy(d[v] + base, &out[v], 64);
  }
}

template <class M, class R, int V> inline void loadV(Warp &w, const Inst &i, u32 mask) {
  Where at;
  Shape shape = resolve(w, i, mask, sizeof(M) * V, false, false, at);
  if (shape == Shape::Fail)
    return;
  const uint32_t *dests = V == 1 ? &i.d : w.worker->program->lists.data() + i.x;
  R *d[V];
  alignas(64) R unwanted[32];
  for (int v = 0; v < V; ++v)
    d[v] = dests[v] == kNone ? unwanted : lanes<R>(w, dests[v]);
  if (shape == Shape::Uniform) {
    for (int v = 0; v < V; ++v) {
      R value = R(readAs<M>(at.p + sizeof(M) * v));
      R *out = d[v];
      if (mask == 0xffffffffu)
        for (int l = 0; l < 32; ++l)
          out[l] = value;
      else
        for (int l = 0; l < 32; ++l)
          out[l] = (mask >> l) & 1 ? value : out[l];
    }
  } else if (V == 4 && sizeof(M) == 4 && sizeof(R) == 4 && mask == 0xffffffffu && shape != Shape::Scattered) {
    if constexpr (V == 4 && sizeof(M) == 4 && sizeof(R) == 4) {
      u32 *words[4];
      for (int v = 0; v < 4; ++v)
        words[v] = reinterpret_cast<u32 *>(d[v]);
      if (shape == Shape::Contiguous)
        loadQuads(words, [&](int l) { return at.p + l * 16; });
      else
        loadQuads(words, [&](int l) { return at.p + at.offset[l]; });
    }
  } else if (shape == Shape::Contiguous) {
    const M *p = reinterpret_cast<const M *>(at.p);
    for (int v = 0; v < V; ++v) {
      R *out = d[v];
      _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < 32; ++l) out[l] = R(p[l * V + v]);
    }
  } else if (shape == Shape::Offsets) {
    const M *p = reinterpret_cast<const M *>(at.p);
    for (int v = 0; v < V; ++v) {
      R *out = d[v];
      if (mask == 0xffffffffu) {
        _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < 32; ++l) out[l] = R(p[at.offset[l] / sizeof(M) + v]);
      } else {
        for (u32 rest = mask; rest; rest &= rest - 1) {
          int l = __builtin_ctz(rest);
          out[l] = R(p[at.offset[l] / sizeof(M) + v]);
        }
      }
    }
  } else {
    for (u32 rest = mask; rest; rest &= rest - 1) {
      int l = __builtin_ctz(rest);
      for (int v = 0; v < V; ++v)
        d[v][l] = R(readAs<M>(at.lane[l] + sizeof(M) * v));
    }
  }
}

template <class M, class R> void load(Warp &w, const Inst &i, u32 mask) {
  switch (i.y) {
  case 2: return loadV<M, R, 2>(w, i, mask);
  case 4: return loadV<M, R, 4>(w, i, mask);
  case 8: return loadV<M, R, 8>(w, i, mask);
  default: return loadV<M, R, 1>(w, i, mask);
  }
}

template <class M, class R, int V> inline void storeV(Warp &w, const Inst &i, u32 mask) {
  Where at;
  Shape shape = resolve(w, i, mask, sizeof(M) * V, true, false, at);
  if (shape == Shape::Fail)
    return;
  const uint32_t *sources = V == 1 ? &i.b : w.worker->program->lists.data() + i.x;
  const R *s[V];
  for (int v = 0; v < V; ++v)
    s[v] = lanes<R>(w, sources[v]);
  if (shape == Shape::Uniform) {
    int l = 31 - __builtin_clz(mask); // the last lane wins
    for (int v = 0; v < V; ++v) {
      M value = M(s[v][l]);
      std::memcpy(at.p + sizeof(M) * v, &value, sizeof(M));
    }
  } else if (shape == Shape::Contiguous) {
    M *p = reinterpret_cast<M *>(at.p);
    for (int v = 0; v < V; ++v) {
      const R *in = s[v];
      _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < 32; ++l) p[l * V + v] = M(in[l]);
    }
  } else if (shape == Shape::Offsets) {
    M *p = reinterpret_cast<M *>(at.p);
    for (u32 rest = mask; rest; rest &= rest - 1) {
      int l = __builtin_ctz(rest);
      for (int v = 0; v < V; ++v)
        p[at.offset[l] / sizeof(M) + v] = M(s[v][l]);
    }
  } else {
    for (u32 rest = mask; rest; rest &= rest - 1) {
      int l = __builtin_ctz(rest);
      for (int v = 0; v < V; ++v) {
        M value = M(s[v][l]);
        std::memcpy(at.lane[l] + sizeof(M) * v, &value, sizeof(M));
      }
    }
  }
}

template <class M, class R> void store(Warp &w, const Inst &i, u32 mask) {
  switch (i.y) {
  case 2: return storeV<M, R, 2>(w, i, mask);
  case 4: return storeV<M, R, 4>(w, i, mask);
  case 8: return storeV<M, R, 8>(w, i, mask);
  default: return storeV<M, R, 1>(w, i, mask);
  }
}

//===-- Atomics -------------------------------------------------------------===//

inline f32 flush(f32 x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

/// Where lane l's access lies.
inline uint8_t *place(const Where &at, Shape shape, u32 l, u32 bytes) {
  return shape == Shape::Scattered ? at.lane[l] : shape == Shape::Uniform ? at.p : at.p + (shape == Shape::Offsets ? at.offset[l] : l * bytes);
}

/// Each lane in turn, lowest first: new = f(old, b, c).
template <class T, class F> inline void atomic(Warp &w, const Inst &i, u32 mask, F f) {
  Where at;
  Shape shape = resolve(w, i, mask, sizeof(T), true, true, at);
  if (shape == Shape::Fail)
    return;
  const T *b = lanes<T>(w, i.b), *c = i.c == kNone ? b : lanes<T>(w, i.c);
  T *d = i.d == kNone ? nullptr : lanes<T>(w, i.d);
  for (u32 rest = mask; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    T *p = reinterpret_cast<T *>(place(at, shape, u32(l), sizeof(T)));
    T old;
    if (!w.worker->concurrent) {
      old = *p;
      *p = f(old, b[l], c[l]);
    } else if constexpr (sizeof(T) <= 8) {
      old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
      while (!__atomic_compare_exchange_n(p, &old, f(old, b[l], c[l]), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      }
    } else {
      old = *p; // 128 bits: the core keeps to one thread
      *p = f(old, b[l], c[l]);
    }
    if (d)
      d[l] = old;
  }
}

#define LDST1(M, R, MT, RT)                                                                                             \
  {"$ld." MT "." RT, "", load<M, R>, LaneType::None, {}}, {"$st." MT "." RT, "", store<M, R>, LaneType::None, {}},
#define ATOM(KEY, T, EXPR)                                                                                              \
  {KEY, "", [](Warp &w, const Inst &i, uint32_t mask) { atomic<T>(w, i, mask, [](T a, T b, T c) -> T { (void)c; return EXPR; }); }, \
   laneType<T>(), {laneType<T>(), laneType<T>()}},
#define ATOM_FLOAT(KEY, T, F, EXPR)                                                                                     \
  {KEY, "",                                                                                                             \
   [](Warp &w, const Inst &i, uint32_t mask) {                                                                          \
     atomic<T>(w, i, mask, [](T rawA, T rawB, T) -> T {                                                                 \
       F a = std::bit_cast<F>(rawA), b = std::bit_cast<F>(rawB);                                                        \
       return std::bit_cast<T>(EXPR);                                                                                   \
     });                                                                                                                \
   },                                                                                                                   \
   laneType<T>(), {laneType<T>(), laneType<T>()}},
#define ATOM_INT(W, U, S)                                                                                               \
  ATOM("atom.add.u" #W "|atom.add.s" #W, U, a + b) ATOM("atom.min.u" #W, U, a < b ? a : b)                              \
  ATOM("atom.max.u" #W, U, a > b ? a : b) ATOM("atom.min.s" #W, U, S(a) < S(b) ? a : b)                                 \
  ATOM("atom.max.s" #W, U, S(a) > S(b) ? a : b) ATOM("atom.and.b" #W, U, a & b) ATOM("atom.or.b" #W, U, a | b)          \
  ATOM("atom.xor.b" #W, U, a ^ b) ATOM("atom.exch.b" #W, U, b) ATOM("atom.cas.b" #W, U, a == b ? c : a)

//===-- Matrices in shared memory -----------------------------------------===//

/// ldmatrix, stmatrix (PTX ISA 9.7.14.5.15): lane 8j + r gives the address of row r of matrix j; lane l holds elements
/// 2(l % 4) and the next of row l / 4, or of column l / 4 with .trans. y: number of matrices.
template <bool Store, bool Trans> void matrix8x8(Warp &w, const Inst &i, u32) {
  Where at;
  u32 count = i.y, used = count == 4 ? 0xffffffffu : (1u << (8 * count)) - 1;
  Shape shape = resolve(w, i, used, 16, Store, false, at);
  if (shape == Shape::Fail)
    return;
  const uint32_t *regs = w.worker->program->lists.data() + i.x;
  for (u32 j = 0; j < count; ++j) {
    u16 m[8][8];
    u32 *r = lanes<u32>(w, regs[j]);
    if (Store) {
      for (u32 l = 0; l < 32; ++l)
        for (u32 h = 0; h < 2; ++h)
          (Trans ? m[2 * (l % 4) + h][l / 4] : m[l / 4][2 * (l % 4) + h]) = u16(r[l] >> (16 * h));
      for (u32 k = 0; k < 8; ++k)
        std::memcpy(place(at, shape, 8 * j + k, 16), m[k], 16);
    } else {
      for (u32 k = 0; k < 8; ++k)
        std::memcpy(m[k], place(at, shape, 8 * j + k, 16), 16);
      if (Trans)
        for (u32 l = 0; l < 32; ++l)
          r[l] = u32(m[2 * (l % 4) + 1][l / 4]) << 16 | m[2 * (l % 4)][l / 4];
      else
        std::memcpy(r, m, 128);
    }
  }
}

/// wmma.load / .store of a 16 x 16 matrix: lane l, register r of element size E holds elements as HandlersMatrix.cpp's
/// wmma.mma expects: row-major position 8l + k for k < 8. y: 1 where memory is column-major; b: leading dimension.
template <class E, bool Store> void wmmaMemory(Warp &w, const Inst &i, u32) {
  const uint32_t *regs = w.worker->program->lists.data() + i.x;
  const u32 *stride = lanes<u32>(w, i.b);
  constexpr u32 perReg = 4 / sizeof(E);
  Inst one = i;
  u32 addressReg = i.a;
  (void)addressReg;
  for (u32 k = 0; k < 8; ++k) {
    // Element 8l + k of all lanes: one scattered access.
    alignas(64) u64 saved[32];
    Where at;
    addressesOf(w, i, at.address);
    for (u32 l = 0; l < 32; ++l) {
      u32 e = 8 * l + k, row = e / 16, col = e % 16;
      saved[l] = at.address[l] + u64(i.y ? col * stride[l] + row : row * stride[l] + col) * sizeof(E);
      at.address[l] = saved[l];
    }
    if (scatter(w, one, 0xffffffffu, sizeof(E), Space(i.space), at) == Shape::Fail)
      return;
    if (w.worker->observer)
      report(w, i, at, 0xffffffffu, sizeof(E), Space(i.space), Store, false);
    u32 *r = lanes<u32>(w, regs[k / perReg]);
    for (u32 l = 0; l < 32; ++l) {
      u32 shift = k % perReg * sizeof(E) * 8;
      E v;
      if (Store) {
        v = E(r[l] >> shift);
        std::memcpy(at.lane[l], &v, sizeof(E));
      } else {
        std::memcpy(&v, at.lane[l], sizeof(E));
        u32 keep = sizeof(E) == 4 ? 0 : r[l] & ~(0xffffu << shift);
        r[l] = keep | u32(v) << shift;
      }
    }
  }
}

const HandlerRow kRows[] = {
    {"$ldmatrix", "", matrix8x8<false, false>, LaneType::None, {}},
    {"$ldmatrix.trans", "", matrix8x8<false, true>, LaneType::None, {}},
    {"$stmatrix", "", matrix8x8<true, false>, LaneType::None, {}},
    {"$stmatrix.trans", "", matrix8x8<true, true>, LaneType::None, {}},
    {"$wmma.load.16", "", wmmaMemory<u16, false>, LaneType::None, {}},
    {"$wmma.load.32", "", wmmaMemory<u32, false>, LaneType::None, {}},
    {"$wmma.store.16", "", wmmaMemory<u16, true>, LaneType::None, {}},
    {"$wmma.store.32", "", wmmaMemory<u32, true>, LaneType::None, {}},
    LDST1(u8, u16, "u8", "16") LDST1(u8, u32, "u8", "32") LDST1(u8, u64, "u8", "64")
    LDST1(s8, s16, "s8", "16") LDST1(s8, s32, "s8", "32") LDST1(s8, s64, "s8", "64")
    LDST1(u16, u16, "u16", "16") LDST1(u16, u32, "u16", "32") LDST1(u16, u64, "u16", "64")
    LDST1(s16, s16, "s16", "16") LDST1(s16, s32, "s16", "32") LDST1(s16, s64, "s16", "64")
    LDST1(u32, u32, "u32", "32") LDST1(u32, u64, "u32", "64") LDST1(s32, s32, "s32", "32") LDST1(s32, s64, "s32", "64")
    LDST1(u64, u64, "u64", "64") LDST1(s64, s64, "s64", "64") LDST1(u128, u128, "u128", "128")
    ATOM_INT(32, u32, s32) ATOM_INT(64, u64, s64)
    ATOM("atom.inc.u32", u32, a >= b ? 0 : a + 1) ATOM("atom.dec.u32", u32, a == 0 || a > b ? b : a - 1)
    ATOM("atom.cas.b16", u16, a == b ? c : a) ATOM("atom.exch.b128", u128, b) ATOM("atom.cas.b128", u128, a == b ? c : a)
    ATOM_FLOAT("atom.add.f32", u32, f32, num(a + b)) ATOM_FLOAT("$atom.add.ftz.f32", u32, f32, flush(num(flush(a) + flush(b))))
    ATOM_FLOAT("atom.add.f64", u64, f64, a + b)
    ATOM_FLOAT("atom.add.f16", u16, f16, half(f32(a) + f32(b))) ATOM_FLOAT("atom.add.bf16", u16, bf16, brain(f32(a) + f32(b)))
    ATOM("atom.add.f16x2", u32, halves(a, b, [](f16 x, f16 y) { return half(f32(x) + f32(y)); }))
    ATOM("atom.add.bf16x2", u32, brains(a, b, [](f32 x, f32 y) { return x + y; }))
    ATOM("atom.min.f16x2", u32, halves(a, b, [](f16 x, f16 y) { return half(fmin_(f32(x), f32(y))); }))
    ATOM("atom.max.f16x2", u32, halves(a, b, [](f16 x, f16 y) { return half(fmax_(f32(x), f32(y))); }))
    {"$cp.async", "",
     [](Warp &w, const Inst &i, uint32_t mask) {
       // a: shared address, b: global address, c: bytes to copy (the rest is zero) or none, y: cp-size.
       u32 size = i.y;
       const u32 *valid = i.c == kNone ? nullptr : lanes<u32>(w, i.c);
       Where to, from;
       Shape into = resolve(w, i, mask, size, true, false, to);
       if (into == Shape::Fail)
         return;
       Inst source = i;
       source.a = i.b, source.wide = 1, source.imm = i.x, source.space = uint8_t(Space::Global);
       u32 reading = 0;
       for (int l = 0; l < 32; ++l)
         reading |= ((mask >> l) & 1) && (!valid || valid[l] != 0) ? 1u << l : 0;
       Shape shape = reading ? resolve(w, source, reading, size, false, false, from) : Shape::Uniform;
       if (shape == Shape::Fail)
         return;
       for (u32 rest = mask; rest; rest &= rest - 1) {
         u32 l = u32(__builtin_ctz(rest));
         const uint8_t *p = place(from, shape, l, size);
         u32 bytes = !valid ? size : valid[l] < size ? valid[l] : size;
         uint8_t *target = place(to, into, l, size);
         if (w.worker->eager) {
           std::memset(target, 0, size);
           if (bytes)
             std::memcpy(target, p, bytes);
           continue;
         }
         std::memset(target, 0xff, size); // poison: NaN in every float format
         w.copies.push_back({p, u32(target - w.block->shared.data()), w.committed[l], i.line, uint8_t(l), uint8_t(size), uint8_t(bytes)});
       }
     },
     LaneType::None, {}},
};

} // namespace

Rows memoryRows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

} // namespace weft::emu::WEFT_EMU_ISA
