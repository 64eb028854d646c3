//===- Lanes.h - One operation on 32 lanes ----------------------*- C++ -*-===//
//
// Guarantees: lanes outside the mask keep their value. Source and destination may be the same register.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_LANES_H
#define WEFT_EMULATOR_EXEC_LANES_H

#include "exec/LaneMath.h"
#include "exec/Machine.h"

#include <cstring>

namespace weft::emu::WEFT_EMU_ISA {

template <class T> inline T *lanes(Warp &w, uint32_t offset) {
  return reinterpret_cast<T *>(w.base[offset >> 31] + (offset & ~kConstBit));
}
inline u32 &maskAt(Warp &w, uint32_t offset) { return *lanes<u32>(w, offset); }
inline void setMask(Warp &w, uint32_t offset, u32 value, u32 mask) {
  u32 &d = maskAt(w, offset);
  d = (d & ~mask) | (value & mask);
}

/// Source operand: lanes of T, or the bits of a predicate.
template <class T> struct Source {
  const T *p;
  Source(Warp &w, uint32_t offset) : p(lanes<T>(w, offset)) {}
  T operator[](int l) const { return p[l]; }
};
template <> struct Source<pred> {
  u32 m;
  Source(Warp &w, uint32_t offset) : m(maskAt(w, offset)) {}
  bool operator[](int l) const { return (m >> l) & 1; }
};

#define WEFT_LANES(BODY)                                                                                                \
  if (mask == 0xffffffffu) {                                                                                            \
    _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < 32; ++l) d[l] = BODY;                            \
  } else {                                                                                                              \
    _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < 32; ++l) {                                       \
      auto r = BODY;                                                                                                    \
      d[l] = (mask >> l) & 1 ? r : d[l];                                                                                \
    }                                                                                                                   \
  }

template <class D, class A, class F> inline void lanes1(Warp &w, const Inst &i, uint32_t mask, F f) {
  D *d = lanes<D>(w, i.d);
  Source<A> a(w, i.a);
  WEFT_LANES(D(f(a[l])))
}
template <class D, class A, class B, class F> inline void lanes2(Warp &w, const Inst &i, uint32_t mask, F f) {
  D *d = lanes<D>(w, i.d);
  Source<A> a(w, i.a);
  Source<B> b(w, i.b);
  WEFT_LANES(D(f(a[l], b[l])))
}
template <class D, class A, class B, class C, class F> inline void lanes3(Warp &w, const Inst &i, uint32_t mask, F f) {
  D *d = lanes<D>(w, i.d);
  Source<A> a(w, i.a);
  Source<B> b(w, i.b);
  Source<C> c(w, i.c);
  WEFT_LANES(D(f(a[l], b[l], c[l])))
}
template <class D, class A, class B, class C, class E, class F>
inline void lanes4(Warp &w, const Inst &i, uint32_t mask, F f) {
  D *d = lanes<D>(w, i.d);
  Source<A> a(w, i.a);
  Source<B> b(w, i.b);
  Source<C> c(w, i.c);
  Source<E> e(w, i.x);
  WEFT_LANES(D(f(a[l], b[l], c[l], e[l])))
}

template <class T> constexpr LaneType laneType() {
  if constexpr (std::is_same_v<T, pred>) return LaneType::Pred;
  else if constexpr (std::is_same_v<T, u16>) return LaneType::U16;
  else if constexpr (std::is_same_v<T, s16>) return LaneType::S16;
  else if constexpr (std::is_same_v<T, u32>) return LaneType::U32;
  else if constexpr (std::is_same_v<T, s32>) return LaneType::S32;
  else if constexpr (std::is_same_v<T, u64>) return LaneType::U64;
  else if constexpr (std::is_same_v<T, s64>) return LaneType::S64;
  else if constexpr (std::is_same_v<T, f16>) return LaneType::F16;
  else if constexpr (std::is_same_v<T, bf16>) return LaneType::BF16;
  else if constexpr (std::is_same_v<T, f32>) return LaneType::F32;
  else if constexpr (std::is_same_v<T, f64>) return LaneType::F64;
  else if constexpr (std::is_same_v<T, u128>) return LaneType::U128;
  else return LaneType::None;
}

// The tables of this variant; Handlers.cpp gathers them.
struct Rows {
  const HandlerRow *begin, *end;
};
Rows aluRows();
Rows convertRows();
Rows memoryRows();
Rows warpRows();
Rows matrixRows();

} // namespace weft::emu::WEFT_EMU_ISA

#endif // WEFT_EMULATOR_EXEC_LANES_H
