//===- MachineTest.cpp - Divergence, barriers, traps, sanitizers, rejection -===//
//
// Guarantees: what a kernel may do wrong is reported with kernel, line, block and thread; texts outside the language are
// rejected; hostile ones do no harm.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <random>

namespace weft::emu::test {
namespace {

const std::string kHead = ".version 8.5\n.target sm_80\n.address_size 64\n";

std::string kernel(const std::string &body, const std::string &module = "") {
  return kHead + module + "\n.visible .entry k(.param .u64 a, .param .u64 b) {\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .f32 %f<9>; "
                          ".reg .b64 %x<9>;\nld.param.u64 %x0, [a]; ld.param.u64 %x1, [b]; mov.u32 %r0, %tid.x;\n" +
         body + "\n}\n";
}

LaunchResult run(const std::string &body, Device &device, uint64_t a, unsigned threads = 32, LaunchOptions o = {}, const std::string &module = "") {
  return runKernel(kernel(body, module), "k", 80, {1}, {threads}, 0, Params().add(a).add(uint64_t(0)), device, o);
}

const char *kStore = "mul.wide.u32 %x2, %r0, 4; add.s64 %x3, %x0, %x2; st.global.u32 [%x3], %r10; ret;";

TEST(Machine, DivergentLoopsMeetAgain) {
  Device d;
  uint64_t out = d.reserve(128);
  // Collatz steps: every lane its own count; then all lanes vote together.
  LaunchResult r = run("add.u32 %r1, %r0, 1; mov.u32 %r10, 0;\nL: setp.eq.u32 %p1, %r1, 1; @%p1 bra E; and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 0;\n"
                       "@%p2 bra V; mad.lo.u32 %r1, %r1, 3, 1; bra N;\nV: shr.u32 %r1, %r1, 1;\nN: add.u32 %r10, %r10, 1; bra L;\n"
                       "E: activemask.b32 %r3; setp.eq.u32 %p3, %r3, -1; @!%p3 trap;\n" + std::string(kStore), d, out);
  ASSERT_EQ(r.trap, Trap::None) << r.message;
  auto v = d.get<uint32_t>(out, 32);
  for (unsigned i = 0; i < 32; ++i) {
    unsigned n = i + 1, steps = 0;
    for (; n != 1; ++steps)
      n = n % 2 ? 3 * n + 1 : n / 2;
    EXPECT_EQ(v[i], steps);
  }
}

TEST(Machine, SpinOnAnotherLaneOfTheWarpEnds) {
  Device d;
  uint64_t out = d.put(std::vector<uint32_t>(32, 0));
  // Lane 0 spins, at the lowest PC, until lane 31 has written.
  LaunchResult r = run("setp.eq.u32 %p1, %r0, 31; @%p1 bra W;\nS: ld.volatile.global.u32 %r1, [%x0]; setp.eq.u32 %p2, %r1, 0; @%p2 bra S; ret;\n"
                       "W: st.volatile.global.u32 [%x0], 1; ret;", d, out);
  EXPECT_EQ(r.trap, Trap::None) << r.message;
}

TEST(Machine, ShuffleModes) {
  Device d;
  uint64_t out = d.reserve(128);
  auto shuffle = [&](const std::string &op) {
    LaunchResult r = run("mul.lo.u32 %r1, %r0, 10; " + op + " selp.u32 %r2, 1000, 0, %p1; add.u32 %r10, %r10, %r2; " + kStore, d, out);
    EXPECT_EQ(r.trap, Trap::None) << r.message;
    return d.get<uint32_t>(out, 32);
  };
  auto up = shuffle("shfl.sync.up.b32 %r10|%p1, %r1, 1, 0, -1;"), down = shuffle("shfl.sync.down.b32 %r10|%p1, %r1, 2, 31, -1;"),
       bfly = shuffle("shfl.sync.bfly.b32 %r10|%p1, %r1, 16, 31, -1;"), idx = shuffle("shfl.sync.idx.b32 %r10|%p1, %r1, 3, 0x181f, -1;"); // width 8
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i == 0 ? 0 : (i - 1) * 10 + 1000);
    EXPECT_EQ(down[i], i + 2 > 31 ? i * 10 : (i + 2) * 10 + 1000);
    EXPECT_EQ(bfly[i], (i ^ 16) * 10 + 1000);
    EXPECT_EQ(idx[i], (i / 8 * 8 + 3) * 10 + 1000);
  }
}

TEST(Machine, BarrierReductionAndNamedBarriers) {
  Device d;
  uint64_t out = d.reserve(512);
  LaunchResult r = run("setp.lt.u32 %p1, %r0, 50; bar.red.popc.u32 %r10, 0, %p1; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1;\n"
                       "@%p2 add.u32 %r10, %r10, 100; @%p3 add.u32 %r10, %r10, 1000; setp.lt.u32 %p4, %r0, 64; @%p4 bra A; bar.arrive 1, 128; bra E;\n"
                       "A: bar.sync 1, 128;\nE: " + std::string(kStore), d, out, 128);
  ASSERT_EQ(r.trap, Trap::None) << r.message;
  EXPECT_EQ(d.get<uint32_t>(out, 128), std::vector<uint32_t>(128, 1050));
}

TEST(Machine, CallsAreInlined) {
  Device d;
  uint64_t out = d.reserve(128);
  std::string f = ".func (.param .b32 q) twice(.param .b32 v) { .reg .b32 %r<3>; .reg .pred %p; ld.param.b32 %r0, [v]; setp.gt.u32 %p, %r0, 15;\n"
                  "@%p bra B; add.u32 %r1, %r0, %r0; st.param.b32 [q], %r1; ret;\nB: st.param.b32 [q], 7; ret; }";
  LaunchResult r = run("{ .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %r0; call.uni (r0), twice, (p0); ld.param.b32 %r10, [r0]; }\n" +
                       std::string(kStore), d, out, 32, {}, f);
  ASSERT_EQ(r.trap, Trap::None) << r.message;
  auto v = d.get<uint32_t>(out, 32);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(v[i], i > 15 ? 7 : 2 * i);
}

TEST(Machine, Traps) {
  Device d;
  uint64_t out = d.reserve(64); // 16 words: lane 16 is beyond
  LaunchResult r = run("mov.u32 %r10, 1;\n" + std::string(kStore), d, out);
  EXPECT_EQ(r.trap, Trap::IllegalAddress);
  EXPECT_NE(r.message.find("kernel 'k', PTX line 9, block (0,0,0), thread (16,0,0)"), std::string::npos) << r.message;
  EXPECT_EQ(r.address, out + 64);
  EXPECT_EQ(run("ld.global.u32 %r1, [%x0+2]; ret;", d, out).trap, Trap::MisalignedAddress);
  EXPECT_EQ(run("ld.global.u32 %r1, [%x1]; ret;", d, out).trap, Trap::IllegalAddress);
  EXPECT_EQ(run("mov.u32 %r1, 4096; ld.shared.u32 %r2, [%r1]; ret;", d, out).trap, Trap::IllegalAddress);
  EXPECT_EQ(run(".local .b8 s[8]; mov.u64 %x2, s; ld.local.u8 %r2, [%x2+512]; ret;", d, out).trap, Trap::IllegalAddress);
  EXPECT_EQ(run("mov.u64 %x2, -8; ld.u64 %x3, [%x2]; ret;", d, out).trap, Trap::IllegalAddress);
  EXPECT_EQ(run("trap;", d, out).trap, Trap::TrapInstruction);
  LaunchOptions o;
  o.stepLimit = 10000;
  EXPECT_EQ(run("L: bra L;", d, out, 32, o).trap, Trap::StepLimit);
  // Warp 0 waits for a barrier that warp 1 waits for under another number.
  r = run("setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1; bra E;\nA: bar.sync 2;\nE: ret;", d, out, 64);
  EXPECT_EQ(r.trap, Trap::Deadlock);
  EXPECT_NE(r.message.find("deadlock"), std::string::npos);
}

TEST(Machine, CheckFindings) {
  Device d(true);
  LaunchOptions o;
  o.check = true;
  uint64_t out = d.reserve(256), written = d.put(std::vector<uint32_t>(64, 1));
  auto findings = [&](const std::string &body, unsigned threads = 64) {
    LaunchResult r = run(body, d, out, threads, o);
    EXPECT_EQ(r.trap, Trap::None) << r.message;
    return r.findings;
  };
  (void)written;
  auto f = findings("ld.global.u32 %r1, [%x0]; ret;");
  ASSERT_EQ(f.size(), 1u);
  EXPECT_NE(f[0].find("global memory that nobody wrote"), std::string::npos);
  std::string shared = ".shared .align 4 .b8 s[256]; mov.u32 %r5, s; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6; ";
  f = findings(shared + "ld.shared.u32 %r1, [%r5]; ret;");
  ASSERT_EQ(f.size(), 1u);
  EXPECT_NE(f[0].find("shared memory that nobody wrote"), std::string::npos);
  std::string exchange = shared + "st.shared.u32 [%r5], %r0; xor.b32 %r6, %r6, 128; mov.u32 %r7, s; add.u32 %r7, %r7, %r6; ";
  f = findings(exchange + "ld.shared.u32 %r1, [%r7]; ret;");
  ASSERT_EQ(f.size(), 2u); // warp 0 reads what warp 1 has not written yet, warp 1 reads what warp 0 wrote
  EXPECT_EQ(findings(exchange + "bar.sync 0; ld.shared.u32 %r1, [%r7]; ret;").size(), 0u);
  f = findings(exchange + "bar.sync 0; ld.shared.u32 %r1, [%r7]; st.shared.u32 [%r5], %r1; ret;");
  ASSERT_EQ(f.size(), 1u);
  EXPECT_NE(f[0].find("race on shared memory"), std::string::npos);
  f = findings("setp.lt.u32 %p1, %r0, 16; @%p1 bra A; bar.sync 0; bra E;\nA: bar.sync 0;\nE: ret;", 32);
  ASSERT_GE(f.size(), 1u);
  EXPECT_NE(f[0].find("divergent barrier"), std::string::npos);
}

TEST(Machine, AlignedBarriersWaitForLanesWhereverTheirCodeLies) {
  Device d(true);
  LaunchOptions o;
  o.check = true;
  uint64_t out = d.reserve(256);
  auto findings = [&](const std::string &body) {
    EXPECT_EQ(run(body, d, out, 64).trap, Trap::None);
    LaunchResult r = run(body, d, out, 64, o);
    EXPECT_EQ(r.trap, Trap::None) << r.message;
    return r.findings;
  };
  // The branch body comes after the barrier and after what follows that; it writes what is read there.
  std::string shared = ".shared .align 4 .b8 s[256]; mov.u32 %r5, s; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6; xor.b32 %r6, %r6, 128;\n"
                       "mov.u32 %r7, s; add.u32 %r7, %r7, %r6; and.b32 %r8, %r0, 1; setp.eq.u32 %p1, %r8, 1; @%p1 bra B; st.shared.u32 [%r5], 5;\n";
  auto f = findings(shared + "J: bar.sync 0; activemask.b32 %r9; ld.shared.u32 %r10, [%r7]; setp.ne.u32 %p2, %r9, -1; @%p2 add.u32 %r10, %r10, 100;\n" +
                    kStore + "\nB: add.u32 %r3, %r0, 7; st.shared.u32 [%r5], %r3; bra J;");
  EXPECT_EQ(f.size(), 0u);
  auto v = d.get<uint32_t>(out, 64);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(v[i], i % 2 ? (i ^ 32) + 7 : 5);
  // The same in a loop, and for the other aligned forms.
  f = findings("mov.u32 %r10, 0; mov.u32 %r4, 0; and.b32 %r8, %r0, 1; setp.eq.u32 %p1, %r8, 1;\nL: @%p1 bra B;\n"
               "J: bar.red.popc.u32 %r3, 0, %p1; bar.sync 1, 64; add.u32 %r10, %r10, %r3; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 3; @%p2 bra L;\n" +
               std::string(kStore) + "\nB: add.u32 %r10, %r10, 1; bra J;");
  EXPECT_EQ(f.size(), 0u);
  v = d.get<uint32_t>(out, 64);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(v[i], 96 + i % 2 * 3);
  // Lanes that exit no longer count, before the barrier or after it.
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 16; @%p1 bra X; bar.sync 0; ret;\nX: ret;").size(), 0u);
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 16; @%p1 ret; bar.sync 0; ret;").size(), 0u);
  // Divergent for good: two barriers of one number, a guard; barriers that need not be aligned may be so.
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 16; @%p1 bra A; bar.sync 0; bra E;\nA: bar.sync 0;\nE: ret;").size(), 2u);
  EXPECT_GE(findings("setp.lt.u32 %p1, %r0, 16; @%p1 bar.sync 0; bar.sync 0; ret;").size(), 1u);
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 16; @%p1 bra A; barrier.sync 0; bra E;\nA: barrier.sync 0;\nE: ret;").size(), 0u);
}

TEST(Machine, Counters) {
  Device d;
  LaunchOptions o;
  o.counters = true;
  uint64_t out = d.reserve(4096 * 4);
  LaunchResult r = run("mov.u32 %r10, 1; " + std::string(kStore), d, out, 64, o);
  EXPECT_EQ(r.counters.globalSectors, 8u); // two warps, 128 contiguous bytes each
  EXPECT_EQ(r.counters.globalStoreBytes, 256u);
  EXPECT_EQ(r.counters.instructions, 2u * 8);
  EXPECT_EQ(r.counters.mix["st"], 2u);
  r = run("mul.lo.u32 %r0, %r0, 32; mov.u32 %r10, 1; " + std::string(kStore), d, out, 32, o);
  EXPECT_EQ(r.counters.globalSectors, 32u);
  r = run(".shared .align 4 .b8 s[4096]; shl.b32 %r1, %r0, 7; mov.u32 %r2, s; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], 1; ret;", d, out, 32, o);
  EXPECT_EQ(r.counters.bankConflicts, 31u); // stride of 128 bytes: one bank
  EXPECT_EQ(r.counters.sharedBytes, 128u);
}

TEST(Machine, VectorLoadsOfEveryAddressPattern) {
  Device d;
  uint64_t out = d.reserve(128);
  std::string fill = ".shared .align 16 .b8 s[512]; mov.u32 %r5, s; shl.b32 %r6, %r0, 4; add.u32 %r5, %r5, %r6; mul.lo.u32 %r1, %r0, 4; add.u32 %r2, %r1, 1;\n"
                     "add.u32 %r3, %r1, 2; add.u32 %r4, %r1, 3; st.shared.v4.u32 [%r5], {%r1, %r2, %r3, %r4}; bar.sync 0; mov.u32 %r10, 9;\n";
  auto test = [&](const std::string &index, const std::string &guard, auto &&expected) { // index: %r7, of the 16 bytes that a lane reads
    LaunchResult r = run(fill + index + " shl.b32 %r7, %r7, 4; mov.u32 %r5, s; add.u32 %r5, %r5, %r7; setp.ne.u32 %p1, %r0, 6; setp.eq.u32 %p2, %r0, %r0;\n" + guard +
                         " ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r5]; " + guard + " mad.lo.u32 %r10, %r5, 1000, %r6; " + guard +
                         " mad.lo.u32 %r10, %r7, 1000000, %r10; " + guard + " add.u32 %r10, %r10, %r8; " + kStore, d, out);
    ASSERT_EQ(r.trap, Trap::None) << r.message;
    auto v = d.get<uint32_t>(out, 32);
    for (unsigned i = 0; i < 32; ++i) {
      uint32_t word = 4 * expected(i);
      EXPECT_EQ(v[i], guard == "@%p1" && i == 6 ? 9u : (word + 2) * 1000000 + word * 1000 + word + 1 + word + 3) << index << " " << i;
    }
  };
  for (const char *guard : {"", "@%p1", "@%p2"}) {
    test("mov.u32 %r7, %r0;", guard, [](unsigned i) { return i; });
    test("mov.u32 %r7, 5;", guard, [](unsigned) { return 5u; });
    test("shr.u32 %r7, %r0, 3;", guard, [](unsigned i) { return i / 8; });
    test("mul.lo.u32 %r7, %r0, 7; and.b32 %r7, %r7, 31;", guard, [](unsigned i) { return i * 7 % 32; });
  }
}

TEST(Machine, CountersSeeTheSameInstructionsAsThePlainRun) {
  Device d;
  uint64_t out = d.reserve(128);
  // Straight stretches, entered in the middle by lanes that jump, with and without floating-point modes.
  std::string body = "mov.u32 %r10, 0; cvt.rn.f32.u32 %f0, %r0; setp.lt.u32 %p1, %r0, 9; @%p1 bra M; add.rz.f32 %f0, %f0, 0f33800000; add.u32 %r10, %r10, 1;\n"
                     "M: add.rp.f32 %f1, %f0, 0f33800000; add.rm.f32 %f2, %f0, 0f33800000; sub.f32 %f3, %f1, %f2; setp.gt.f32 %p2, %f3, 0f00000000;\n"
                     "@%p2 add.u32 %r10, %r10, 10; " + std::string(kStore);
  LaunchResult plain = run(body, d, out);
  auto v = d.get<uint32_t>(out, 32);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(v[i], (i < 9 ? 0u : 1u) + (i > 0 ? 10u : 0u)) << i;
  LaunchOptions o;
  o.counters = true;
  LaunchResult counted = run(body, d, out, 32, o);
  EXPECT_EQ(d.get<uint32_t>(out, 32), v);
  EXPECT_EQ(plain.counters.instructions, counted.counters.instructions);
  uint64_t sum = 0;
  for (auto &[op, count] : counted.counters.mix)
    sum += count;
  EXPECT_EQ(sum, plain.counters.instructions);
}

TEST(Machine, OrdersAgree) {
  std::string ptx = kernel("mov.u32 %r1, %ctaid.x; mad.lo.u32 %r0, %r1, 32, %r0; mul.lo.u32 %r10, %r0, 3; " + std::string(kStore));
  for (BlockOrder order : {BlockOrder::Forward, BlockOrder::Reverse, BlockOrder::Random})
    for (unsigned threads : {1u, 2u}) {
      Device d;
      uint64_t out = d.reserve(128 * 10);
      LaunchOptions o;
      o.order = order, o.hostThreads = threads, o.seed = 5;
      EXPECT_EQ(runKernel(ptx, "k", 80, {10}, {32}, 0, Params().add(out).add(uint64_t(0)), d, o).trap, Trap::None);
      auto v = d.get<uint32_t>(out, 320);
      for (unsigned i = 0; i < 320; ++i)
        ASSERT_EQ(v[i], i * 3);
    }
}

TEST(Machine, GlobalsAndConstants) {
  Device d;
  uint64_t out = d.reserve(128);
  LaunchResult r = run("and.b32 %r1, %r0, 3; shl.b32 %r1, %r1, 2; cvt.u64.u32 %x2, %r1; mov.u64 %x3, t; add.u64 %x3, %x3, %x2; ld.const.u32 %r2, [%x3];\n"
                       "ld.global.u32 %r3, [g+4]; add.u32 %r10, %r2, %r3; " + std::string(kStore), d, out, 32, {},
                       ".const .align 4 .u32 t[4] = {10, 20, 30, 40};\n.global .align 4 .u32 g[2] = {0, 1000};");
  ASSERT_EQ(r.trap, Trap::None) << r.message;
  auto v = d.get<uint32_t>(out, 32);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(v[i], 1000 + 10 * (i % 4 + 1));
  // A pointer in an initial value needs the driver's relocation; the core only reports it.
  Diagnostic diag;
  auto m = parseModule(kHead + ".global .align 4 .u32 g[2] = {0, 7};\n.global .align 8 .u64 p = g+4;\n.visible .entry k() { ret; }", 80, diag);
  ASSERT_TRUE(m) << diag.message;
  ASSERT_EQ(m->globals().size(), 2u);
  ASSERT_EQ(m->globals()[1].relocations.size(), 1u);
  EXPECT_EQ(m->globals()[1].relocations[0].target, 0u);
  EXPECT_EQ(m->globals()[1].relocations[0].addend, 4);
}

void expectRejected(const std::string &text, const char *why) {
  Diagnostic d;
  EXPECT_FALSE(parseModule(text, 80, d)) << why << "\n" << text;
  EXPECT_FALSE(d.message.empty()) << why;
}

// What ptxas rejects, too.
TEST(Machine, RejectedTexts) {
  expectRejected("", "empty");
  expectRejected(".target sm_80\n", "no version");
  expectRejected(".version 8.5\n.visible .entry k() { ret; }", "no target");
  expectRejected(".version 8.5\n.target sm_90\n.visible .entry k() { ret; }", "target newer than the device");
  expectRejected(kernel("frobnicate.u32 %r1, %r0; ret;"), "unknown opcode");
  expectRejected(kernel("add.s32 %r1, %r0; ret;"), "operand count");
  expectRejected(kernel("add.s32 %r1, %r0, %r77; ret;"), "undeclared register");
  expectRejected(kernel("add.s32 %x1, %r0, %r1; ret;"), "size mismatch");
  expectRejected(kernel("add.s32 %f1, %r0, %r1; ret;"), "float register in integer instruction");
  expectRejected(kernel("add.ftz.s32 %r1, %r0, %r1; ret;"), "illegal modifier");
  expectRejected(kernel("fma.f32 %f1, %f2, %f3, %f4; ret;"), "fma without rounding");
  expectRejected(kernel("div.f32 %f1, %f2, %f3; ret;"), "div without rounding");
  expectRejected(kernel("cvt.s32.f32 %r1, %f1; ret;"), "cvt to integer without rounding");
  expectRejected(kernel("cvt.f16.f32 %h1, %f1; ret;"), "narrowing cvt without rounding");
  expectRejected(kernel("bra NOWHERE; ret;"), "unknown label");
  expectRejected(kernel("L: L: ret;"), "duplicate label");
  expectRejected(kernel("@%r1 ret;"), "guard is no predicate");
  expectRejected(kernel("ld.global.u32 %r1, [%r0]; ret;"), "32-bit global address");
  expectRejected(kernel("ld.global.v2.u32 %r1, [%x0]; ret;"), "vector size");
  expectRejected(kernel("st.global.u32 [%x0] %r1; ret;"), "missing comma");
  expectRejected(kernel("mov.u32 %r1, 0x; ret;"), "malformed number");
  expectRejected(kernel("setp.lt.and.s32 %p1, %r1, %r2; ret;"), "missing predicate");
  expectRejected(kernel("ret;").substr(0, kernel("ret;").size() - 3), "missing brace");
  expectRejected(kernel("call nothing; ret;"), "unknown function");
  expectRejected(kHead + ".func f() { call f; ret; }\n.visible .entry k() { call f; ret; }", "recursion");
  expectRejected(kernel("add.bf16 %h1, %h2, %h3; ret;"), "needs sm_90");
}

// Random damage to a real kernel: no crash, whatever the answer. The step limit ends what still runs.
TEST(Machine, HostileTexts) {
  expectRejected(kernel(std::string(100000, '{')), "deep scopes");
  expectRejected(kernel("mov.u32 %r1, " + std::string(100000, '[') + "; ret;"), "deep brackets");
  expectRejected(kernel("call " + std::string(100000, '(') + "; ret;"), "deep parentheses");
  expectRejected(kernel(".shared .b8 s[99999999999]; mov.u32 %r1, s; ret;"), "huge shared");
  expectRejected(kernel(".local .b8 s[99999999]; mov.u64 %x1, s; ret;"), "huge local");
  Diagnostic diag;
  EXPECT_TRUE(parseModule(kHead + ".visible .entry k() { .reg .b32 %q<4294967295>; mov.u32 %q4294967294, 1; ret; }", 80, diag)) << diag.message;
  std::string original = readFile(WEFT_SOURCE_DIR "/test/emulator/foreign/nvcc/hist_sm80.ptx");
  ASSERT_FALSE(original.empty());
  std::mt19937 rng(3);
  Device d;
  uint64_t data = d.put(std::vector<uint8_t>(4096, 1));
  for (int round = 0; round < 400; ++round) {
    std::string text = original;
    for (int k = 0; k < 3; ++k) {
      size_t at = rng() % text.size();
      switch (rng() % 3) {
      case 0: text[at] = char(32 + rng() % 95); break;
      case 1: text.erase(at, rng() % 8); break;
      default: text.insert(at, text.substr(rng() % text.size(), rng() % 12));
      }
    }
    Diagnostic diag;
    auto m = parseModule(text, 80, diag);
    if (!m)
      continue;
    LaunchOptions o;
    o.stepLimit = 20000;
    std::vector<uint8_t> params(4096);
    for (size_t k = 0; k + 8 <= 64; k += 8)
      std::memcpy(params.data() + k, &data, 8);
    for (unsigned k = 0; k < m->kernels().size(); ++k)
      launch(*m, k, {2}, {64}, 0, params.data(), d, std::vector<uint64_t>(m->globals().size(), data), o);
  }
}

} // namespace
} // namespace weft::emu::test
