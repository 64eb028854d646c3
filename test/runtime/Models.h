// Models in the form of hand-built plans, and the kernels that they use.
#ifndef WEFT_TEST_RUNTIME_MODELS_H
#define WEFT_TEST_RUNTIME_MODELS_H

#include "test/runtime/PlanBuilder.h"

namespace weft::test {

/// add(a, b, c, n): c[i] = a[i] + b[i]; scale(a, c, n, f): c[i] = a[i] * f; below(a, limit, flag): flag[0] = a[0] < limit;
/// step(flag, n): flag[0] = n as a bool.
inline const char *kernelsPtx = R"(.version 7.0
.target sm_80
.address_size 64

.visible .entry add(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pn)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd2, [pb];
  ld.param.u64 %rd3, [pc];
  ld.param.u64 %rd4, [pn];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd5, %r4;
  setp.ge.s64 %p1, %rd5, %rd4;
  @%p1 bra DONE;
  shl.b64 %rd6, %rd5, 2;
  add.s64 %rd7, %rd1, %rd6;
  add.s64 %rd8, %rd2, %rd6;
  add.s64 %rd9, %rd3, %rd6;
  ld.global.f32 %f1, [%rd7];
  ld.global.f32 %f2, [%rd8];
  add.rn.f32 %f3, %f1, %f2;
  st.global.f32 [%rd9], %f3;
DONE:
  ret;
}

.visible .entry scale(.param .u64 pa, .param .u64 pc, .param .u64 pn, .param .f32 pf)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd3, [pc];
  ld.param.u64 %rd4, [pn];
  ld.param.f32 %f2, [pf];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd5, %r4;
  setp.ge.s64 %p1, %rd5, %rd4;
  @%p1 bra DONE;
  shl.b64 %rd6, %rd5, 2;
  add.s64 %rd7, %rd1, %rd6;
  add.s64 %rd9, %rd3, %rd6;
  ld.global.f32 %f1, [%rd7];
  mul.rn.f32 %f3, %f1, %f2;
  st.global.f32 [%rd9], %f3;
DONE:
  ret;
}

.visible .entry below(.param .u64 pa, .param .f32 pl, .param .u64 pflag)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [pa];
  ld.param.f32 %f2, [pl];
  ld.param.u64 %rd2, [pflag];
  ld.global.f32 %f1, [%rd1];
  setp.lt.f32 %p1, %f1, %f2;
  selp.u32 %r1, 1, 0, %p1;
  st.global.u8 [%rd2], %r1;
  ret;
}
)";

/// z = x + y, both of unknown length n.
inline void buildAdd(PlanBuilder &b) {
  uint32_t n = b.dim("n", 0, 0);
  uint32_t m = b.dim("n", 1, 0);
  uint32_t bytes = b.node(fp::ExprOp::mul, n, b.number(4));
  uint32_t x = b.input("x", {n}, bytes, fp::ElementType::float32, {"n"});
  // The same name: y's length has to agree with x's.
  (void)m;
  uint32_t y = b.input("y", {n}, bytes, fp::ElementType::float32, {"n"});
  uint32_t z = b.output("z", {n}, bytes);
  uint32_t add = b.kernel("add", {{"add", b.node(fp::ExprOp::ceildiv, n, b.number(128))}});
  uint32_t main = b.block();
  b.launch(main, add, {b.in(x), b.in(y), b.out(z), b.scalar(n)});
  b.module(kernelsPtx);
}

/// t = x + x; u = t * 3; z = u + c (c: a constant of 4 elements), n = 4 fixed. Two arena tensors.
inline void buildChain(PlanBuilder &b) {
  uint32_t n = b.number(4), bytes = b.number(16), grid = b.number(1);
  uint32_t x = b.input("x", {n}, bytes);
  uint32_t z = b.output("z", {n}, bytes);
  float values[] = {10, 20, 30, 40};
  std::vector<uint8_t> data(sizeof values);
  __builtin_memcpy(data.data(), values, sizeof values);
  uint32_t c = b.constant(data, {n}, bytes);
  uint32_t t = b.arena({n}, bytes, 0, 1), u = b.arena({n}, bytes, 1, 2);
  uint32_t add = b.kernel("add", {{"add", grid}}), scale = b.kernel("scale", {{"scale", grid}});
  uint32_t main = b.block();
  b.launch(main, add, {b.in(x), b.in(x), b.out(t), b.scalar(n)});
  b.launch(main, scale, {b.in(t), b.out(u), b.scalar(n), b.scalar(b.real(3), fp::ScalarType::f32)});
  b.launch(main, add, {b.in(u), b.in(c), b.out(z), b.scalar(n)});
  b.module(kernelsPtx);
}

/// if (x[0] < 1) z = x + x; else z = x * 10, decided on the device.
inline void buildBranch(PlanBuilder &b) {
  uint32_t n = b.dim("n", 0, 0), bytes = b.node(fp::ExprOp::mul, n, b.number(4));
  uint32_t grid = b.node(fp::ExprOp::ceildiv, n, b.number(128)), one = b.number(1);
  uint32_t flagSymbol = b.symbol("flag", fp::SymbolKind::defined);
  uint32_t x = b.input("x", {n}, bytes), z = b.output("z", {n}, bytes);
  uint32_t flag = b.arena({}, one, 0, 1, 0, fp::ElementType::bool_);
  uint32_t t = b.arena({n}, bytes, 0, 1, 1), u = b.arena({n}, bytes, 0, 1, 2);
  uint32_t add = b.kernel("add", {{"add", grid}}), scale = b.kernel("scale", {{"scale", grid}}), below = b.kernel("below", {{"below", one, -1, {}, false, 1}});
  uint32_t main = b.block(), yes = b.block(), no = b.block();
  b.launch(main, below, {b.in(x), b.scalar(b.real(1), fp::ScalarType::f32), b.out(flag)});
  b.readBack(main, flag, {flagSymbol});
  b.branch(main, b.symbolExpr(flagSymbol), yes, no);
  b.launch(yes, add, {b.in(x), b.in(x), b.out(t), b.scalar(n)});
  b.copy(yes, t, z);
  b.launch(no, scale, {b.in(x), b.out(u), b.scalar(n), b.scalar(b.real(10), fp::ScalarType::f32)});
  b.copy(no, u, z);
  b.module(kernelsPtx);
}

/// y = x; while (y[0] < 100) y = y * 2 (at most `trips` times); z = y. Decided on the device before each iteration.
inline void buildLoop(PlanBuilder &b, int64_t trips) {
  uint32_t n = b.dim("n", 0, 0), bytes = b.node(fp::ExprOp::mul, n, b.number(4));
  uint32_t grid = b.node(fp::ExprOp::ceildiv, n, b.number(128)), one = b.number(1), limit = b.number(trips);
  uint32_t condition = b.symbol("condition", fp::SymbolKind::defined), iteration = b.symbol("iteration", fp::SymbolKind::defined);
  uint32_t x = b.input("x", {n}, bytes), z = b.output("z", {n}, bytes);
  uint32_t y = b.arena({n}, bytes, 0, 4), flag = b.arena({}, one, 0, 4, 0, fp::ElementType::bool_);
  uint32_t t = b.arena({n}, bytes, 0, 1, 1);
  uint32_t scale = b.kernel("scale", {{"scale", grid}}), below = b.kernel("below", {{"below", one, -1, {}, false, 1}});
  uint32_t hundred = b.real(100);
  uint32_t main = b.block(), body = b.block();
  b.copy(main, x, y);
  b.launch(main, below, {b.in(y), b.scalar(hundred, fp::ScalarType::f32), b.out(flag)});
  b.readBack(main, flag, {condition});
  b.loop(main, int32_t(limit), int32_t(condition), iteration, body);
  b.copy(main, y, z);
  b.launch(body, scale, {b.in(y), b.out(t), b.scalar(n), b.scalar(b.real(2), fp::ScalarType::f32)});
  b.copy(body, t, y);
  b.launch(body, below, {b.in(y), b.scalar(hundred, fp::ScalarType::f32), b.out(flag)});
  b.readBack(body, flag, {condition});
  b.module(kernelsPtx);
}

/// z's length is read from the device: z = x[0 : count] * 2, count an int64 input. A size that only the run knows.
inline void buildCounted(PlanBuilder &b) {
  uint32_t n = b.dim("n", 0, 0), bytes = b.node(fp::ExprOp::mul, n, b.number(4)), eight = b.number(8);
  uint32_t count = b.symbol("count", fp::SymbolKind::defined);
  uint32_t k = b.symbolExpr(count), kBytes = b.node(fp::ExprOp::mul, k, b.number(4));
  uint32_t grid = b.node(fp::ExprOp::ceildiv, k, b.number(128));
  uint32_t x = b.input("x", {n}, bytes), c = b.input("count", {}, eight, fp::ElementType::int64);
  uint32_t z = b.output("z", {k}, kBytes), t = b.arena({k}, kBytes, 2, 3), u = b.arena({k}, kBytes, 3, 4);
  uint32_t scale = b.kernel("scale", {{"scale", grid}});
  uint32_t main = b.block();
  b.readBack(main, c, {count});
  b.check(main, b.node(fp::ExprOp::le, k, n), "count is more than x has elements", "Slice_7");
  b.launch(main, scale, {b.in(x), b.out(t), b.scalar(k), b.scalar(b.real(2), fp::ScalarType::f32)});
  b.launch(main, scale, {b.in(t), b.out(u), b.scalar(k), b.scalar(b.real(1), fp::ScalarType::f32)});
  b.copy(main, u, z);
  b.module(kernelsPtx);
}

} // namespace weft::test
#endif
