//===- InstructionTest.cpp - One instruction, inputs, expected outputs ----===//
//
// Guarantees: each row runs one instruction on given operands and compares all bits. Expected values are literals from the
// PTX ISA's wording, or IEEE arithmetic done by the host's scalar unit (std::fma and friends); never from the emulator.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace weft::emu::test {
namespace {

/// `body` reads %a0.. (b64 registers %x0.. hold raw operands) and leaves its result in %z (b64).
uint64_t run(const std::string &body, std::vector<uint64_t> operands, unsigned sm = 90) {
  std::string ptx = ".version 8.5\n.target sm_" + std::to_string(sm) +
                    "\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n"
                    ".reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %x<9>; .reg .f64 %d<20>;\n"
                    ".reg .b64 %i; .reg .b64 %o; .reg .b64 %z;\n"
                    "ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u64 %z, 0;\n";
  for (size_t k = 0; k < operands.size(); ++k) {
    std::string n = std::to_string(k);
    ptx += "ld.global.b64 %x" + n + ", [%i+" + std::to_string(8 * k) + "];\n";
    ptx += "cvt.u32.u64 %r" + n + ", %x" + n + "; mov.b32 %f" + n + ", %r" + n + "; cvt.u16.u64 %h" + n + ", %x" + n + "; mov.b64 %d" + n +
           ", %x" + n + ";\n";
  }
  ptx += body + "\nst.global.b64 [%o], %z; ret; }\n";
  Device device;
  operands.push_back(0);
  uint64_t in = device.put(operands), out = device.reserve(8);
  LaunchResult r = runKernel(ptx, "k", sm, {1}, {1}, 0, Params().add(in).add(out), device);
  EXPECT_EQ(r.trap, Trap::None) << r.message << "\n" << body;
  return device.get<uint64_t>(out, 1)[0];
}

uint64_t u32(const std::string &op, std::vector<uint64_t> v) {
  std::string args;
  for (size_t k = 0; k < v.size(); ++k)
    args += ", %r" + std::to_string(k);
  return run(op + " %r10" + args + "; cvt.u64.u32 %z, %r10;", v);
}
uint64_t u64(const std::string &op, std::vector<uint64_t> v, const char *third = "%x2") {
  std::string args;
  for (size_t k = 0; k < v.size(); ++k)
    args += k == 2 ? std::string(", ") + third : ", %x" + std::to_string(k);
  return run(op + " %z" + args + ";", v);
}
uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }
uint64_t bits(double f) { return std::bit_cast<uint64_t>(f); }
uint32_t f32(const std::string &op, std::vector<float> v) {
  std::string args;
  std::vector<uint64_t> raw;
  for (size_t k = 0; k < v.size(); ++k)
    args += ", %f" + std::to_string(k), raw.push_back(bits(v[k]));
  return uint32_t(run(op + " %f10" + args + "; mov.b32 %r10, %f10; cvt.u64.u32 %z, %r10;", raw));
}
uint64_t f64(const std::string &op, std::vector<double> v) {
  std::string args;
  std::vector<uint64_t> raw;
  for (size_t k = 0; k < v.size(); ++k)
    args += ", %d" + std::to_string(k), raw.push_back(bits(v[k]));
  return run(op + " %d10" + args + "; mov.b64 %z, %d10;", raw);
}
uint16_t f16(const std::string &op, std::vector<uint64_t> v) {
  std::string args;
  for (size_t k = 0; k < v.size(); ++k)
    args += ", %h" + std::to_string(k);
  return uint16_t(run(op + " %h10" + args + "; cvt.u64.u16 %z, %h10;", v));
}

const float inf = std::numeric_limits<float>::infinity(), nan_ = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t kNaN = 0x7fffffff;

TEST(Instruction, IntegerArithmetic) {
  EXPECT_EQ(u32("add.s32", {0xffffffff, 2}), 1u);
  EXPECT_EQ(u32("add.sat.s32", {0x7fffffff, 1}), 0x7fffffffu);
  EXPECT_EQ(u32("sub.sat.s32", {0x80000000, 1}), 0x80000000u);
  EXPECT_EQ(u32("mul.lo.s32", {0x10001, 0x10001}), 0x20001u);
  EXPECT_EQ(u32("mul.hi.u32", {0xffffffff, 0xffffffff}), 0xfffffffeu);
  EXPECT_EQ(u32("mul.hi.s32", {0xffffffff, 0xffffffff}), 0u);
  EXPECT_EQ(u64("mul.hi.u64", {~0ull, ~0ull}), ~0ull - 1);
  EXPECT_EQ(u64("mul.hi.s64", {~0ull, 5}), ~0ull);
  EXPECT_EQ(run("mul.wide.s32 %z, %r0, %r1;", {0xfffffffe, 3}), uint64_t(-6));
  EXPECT_EQ(run("mul.wide.u32 %z, %r0, %r1;", {0xfffffffe, 3}), 0x2fffffffaull);
  EXPECT_EQ(run("mad.wide.s32 %z, %r0, %r1, %x2;", {0xffffffff, 1, 1}), 0u);
  EXPECT_EQ(u32("mad.lo.s32", {3, 4, 5}), 17u);
  EXPECT_EQ(u32("mad.hi.s32", {0x80000000, 2, 7}), 6u);
  EXPECT_EQ(u32("div.s32", {0x80000000, 0xffffffff}), 0x80000000u); // must not trap
  EXPECT_EQ(u32("div.s32", {uint32_t(-7), 2}), uint32_t(-3));
  EXPECT_EQ(u32("rem.s32", {uint32_t(-7), 2}), uint32_t(-1));
  EXPECT_EQ(u32("div.u32", {7, 0}), 0xffffffffu);
  EXPECT_EQ(u64("div.s64", {1ull << 63, ~0ull}), 1ull << 63);
  EXPECT_EQ(u64("rem.s64", {1ull << 63, ~0ull}), 0u);
  EXPECT_EQ(u32("abs.s32", {0x80000000}), 0x80000000u);
  EXPECT_EQ(u32("neg.s32", {5}), uint32_t(-5));
  EXPECT_EQ(u32("min.s32", {0xffffffff, 1}), 0xffffffffu);
  EXPECT_EQ(u32("min.u32", {0xffffffff, 1}), 1u);
  EXPECT_EQ(u32("max.s32", {0xffffffff, 1}), 1u);
  EXPECT_EQ(u32("sad.s32", {uint32_t(-3), 4, 10}), 17u);
  EXPECT_EQ(u32("mul24.lo.u32", {0xff000003, 5}), 15u);
  EXPECT_EQ(u32("dp4a.s32.s32", {0x01ff0203, 0x02030405, 10}), uint32_t(10 + 1 * 2 + -1 * 3 + 2 * 4 + 3 * 5));
  EXPECT_EQ(u32("dp4a.u32.u32", {0x01ff0203, 0x02030405, 10}), uint32_t(10 + 2 + 255 * 3 + 8 + 15));
}

TEST(Instruction, BitOperations) {
  EXPECT_EQ(u32("shl.b32", {1, 31}), 0x80000000u);
  EXPECT_EQ(u32("shl.b32", {1, 32}), 0u);
  EXPECT_EQ(u32("shl.b32", {1, 0xffffffff}), 0u);
  EXPECT_EQ(u32("shr.u32", {0x80000000, 32}), 0u);
  EXPECT_EQ(u32("shr.s32", {0x80000000, 40}), 0xffffffffu);
  EXPECT_EQ(run("shl.b64 %z, %x0, %r1;", {1, 64}), 0u);
  EXPECT_EQ(run("shr.s64 %z, %x0, %r1;", {1ull << 63, 100}), ~0ull);
  EXPECT_EQ(u32("shf.l.wrap.b32", {0x12345678, 0x9abcdef0, 36}), 0xabcdef01u);
  EXPECT_EQ(u32("shf.l.clamp.b32", {0x12345678, 0x9abcdef0, 36}), 0x12345678u);
  EXPECT_EQ(u32("shf.r.wrap.b32", {0x12345678, 0x9abcdef0, 4}), 0x01234567u);
  EXPECT_EQ(u32("shf.r.clamp.b32", {0x12345678, 0x9abcdef0, 99}), 0x9abcdef0u);
  EXPECT_EQ(u32("bfe.u32", {0x12345678, 8, 8}), 0x56u);
  EXPECT_EQ(u32("bfe.s32", {0x00008000, 8, 8}), 0xffffff80u);
  EXPECT_EQ(u32("bfe.s32", {0x80000000, 28, 8}), 0xfffffff8u); // sign from the top bit
  EXPECT_EQ(u32("bfe.u32", {0x12345678, 40, 8}), 0u);
  EXPECT_EQ(u32("bfe.u32", {0x12345678, 8, 0}), 0u);
  EXPECT_EQ(u32("bfi.b32", {0xf, 0, 4, 4}), 0xf0u);
  EXPECT_EQ(u32("bfi.b32", {0xf, 0x1234, 32, 4}), 0x1234u);
  EXPECT_EQ(u32("bfind.u32", {0}), 0xffffffffu);
  EXPECT_EQ(u32("bfind.u32", {0x100}), 8u);
  EXPECT_EQ(u32("bfind.s32", {0xfffffff0}), 3u);
  EXPECT_EQ(u32("bfind.shiftamt.u32", {0x100}), 23u);
  EXPECT_EQ(u32("brev.b32", {1}), 0x80000000u);
  EXPECT_EQ(u32("popc.b32", {0xf0f}), 8u);
  EXPECT_EQ(u32("clz.b32", {0}), 32u);
  EXPECT_EQ(run("clz.b64 %r10, %x0; cvt.u64.u32 %z, %r10;", {1}), 63u);
  EXPECT_EQ(u32("cnot.b32", {0}), 1u);
  EXPECT_EQ(u32("prmt.b32", {0x33221100, 0x77665544, 0x0246}), 0x00224466u);
  EXPECT_EQ(u32("prmt.b32", {0x80, 0, 0x0008}), 0x808080ffu); // selector 8: sign of byte 0
  EXPECT_EQ(u32("prmt.b32.f4e", {0x33221100, 0x77665544, 1}), 0x44332211u);
  EXPECT_EQ(u32("prmt.b32.rc16", {0x33221100, 0, 1}), 0x33223322u);
  EXPECT_EQ(run("lop3.b32 %r10, %r0, %r1, %r2, 0xe8; cvt.u64.u32 %z, %r10;", {0xc, 0xa, 0x6}), 0xeu); // majority
  EXPECT_EQ(run("lop3.b32 %r10, %r0, %r1, %r2, 0x96; cvt.u64.u32 %z, %r10;", {0xc, 0xa, 0x6}), 0u);  // xor: 1100^1010^0110
}

TEST(Instruction, CarryChains) {
  EXPECT_EQ(run("add.cc.u32 %r10, %r0, %r1; addc.u32 %r11, 0, 0; mov.b64 %z, {%r10, %r11};", {0xffffffff, 2}), 0x100000001ull);
  EXPECT_EQ(run("add.cc.u32 %r10, %r0, %r1; addc.cc.u32 %r11, %r2, 0; addc.u32 %r12, 0, 0; mov.b64 %z, {%r11, %r12};",
                {0xffffffff, 1, 0xffffffff}),
            0x100000000ull);
  EXPECT_EQ(run("sub.cc.u32 %r10, %r0, %r1; subc.u32 %r11, 5, 0; mov.b64 %z, {%r10, %r11};", {1, 2}), 0x4ffffffffull);
  EXPECT_EQ(run("mad.lo.cc.u32 %r10, %r0, %r1, %r2; madc.hi.u32 %r11, %r0, %r1, 0; mov.b64 %z, {%r10, %r11};",
                {0xffffffff, 0xffffffff, 0xffffffff}),
            0xffffffffull * 0xffffffffull + 0xffffffffull);
}

TEST(Instruction, SinglePrecision) {
  float a = 1.1f, b = 2.3f, c = -2.53f;
  EXPECT_EQ(f32("add.f32", {a, b}), bits(a + b));
  EXPECT_EQ(f32("fma.rn.f32", {a, b, c}), bits(std::fma(a, b, c)));
  EXPECT_EQ(f32("mul.f32", {a, b}), bits(a * b));
  EXPECT_EQ(f32("add.f32", {inf, -inf}), kNaN);
  EXPECT_EQ(f32("mul.f32", {0.0f, inf}), kNaN);
  EXPECT_EQ(f32("add.f32", {nan_, 1}), kNaN);
  EXPECT_EQ(f32("sqrt.rn.f32", {-1}), kNaN);
  EXPECT_EQ(f32("sqrt.rn.f32", {-0.0f}), bits(-0.0f));
  EXPECT_EQ(f32("div.rn.f32", {1, 3}), bits(1.0f / 3.0f));
  EXPECT_EQ(f32("div.rn.f32", {1, -0.0f}), bits(-inf));
  EXPECT_EQ(f32("rcp.rn.f32", {3}), bits(1.0f / 3.0f));
  EXPECT_EQ(f32("add.rz.f32", {1, 0x1p-30f}), bits(1.0f));
  EXPECT_EQ(f32("add.rp.f32", {1, 0x1p-30f}), bits(std::nextafter(1.0f, 2.0f)));
  EXPECT_EQ(f32("add.rm.f32", {-1, -0x1p-30f}), bits(std::nextafter(-1.0f, -2.0f)));
  EXPECT_EQ(f32("mul.f32", {0x1p-100f, 0x1p-40f}), bits(0x1p-140f)); // denormal kept
  EXPECT_EQ(f32("mul.ftz.f32", {0x1p-100f, -0x1p-40f}), bits(-0.0f)); // flushed, sign kept
  EXPECT_EQ(f32("add.ftz.f32", {0x1p-140f, 0}), 0u);
  EXPECT_EQ(f32("add.sat.f32", {0.7f, 0.7f}), bits(1.0f));
  EXPECT_EQ(f32("add.sat.f32", {nan_, 0.7f}), 0u);
  EXPECT_EQ(f32("min.f32", {nan_, 2}), bits(2.0f));
  EXPECT_EQ(f32("max.f32", {nan_, nan_}), kNaN);
  EXPECT_EQ(f32("min.NaN.f32", {nan_, 2}), kNaN);
  EXPECT_EQ(f32("min.f32", {0.0f, -0.0f}), bits(-0.0f));
  EXPECT_EQ(f32("max.f32", {-0.0f, 0.0f}), bits(0.0f));
  EXPECT_EQ(f32("min.ftz.f32", {0x1p-140f, 1}), 0u);
  EXPECT_EQ(f32("max.xorsign.abs.f32", {-3, 2}), bits(-3.0f));
  EXPECT_EQ(f32("abs.f32", {-2}), bits(2.0f));
  EXPECT_EQ(f32("neg.ftz.f32", {0x1p-140f}), bits(-0.0f));
  EXPECT_EQ(f32("copysign.f32", {-1, 5}), bits(-5.0f));
  EXPECT_EQ(f32("ex2.approx.f32", {10}), bits(1024.0f));
  EXPECT_EQ(f32("ex2.approx.f32", {-inf}), 0u);
  EXPECT_EQ(f32("ex2.approx.f32", {200}), bits(inf));
  EXPECT_EQ(f32("ex2.approx.ftz.f32", {-140}), 0u);
  EXPECT_EQ(f32("lg2.approx.f32", {8}), bits(3.0f));
  EXPECT_EQ(f32("lg2.approx.f32", {0}), bits(-inf));
  EXPECT_EQ(f32("rsqrt.approx.f32", {4}), bits(0.5f));
  EXPECT_EQ(f32("rsqrt.approx.f32", {-4}), kNaN);
  EXPECT_EQ(f32("tanh.approx.f32", {inf}), bits(1.0f));
  for (float x : {0.1f, -3.7f, 25.25f, -120.5f})
    EXPECT_NEAR(std::bit_cast<float>(f32("ex2.approx.f32", {x})) / std::exp2(double(x)), 1, 0x1p-22) << x;
}

TEST(Instruction, DoubleAndHalf) {
  EXPECT_EQ(f64("fma.rn.f64", {1.1, 2.3, -2.53}), bits(std::fma(1.1, 2.3, -2.53)));
  EXPECT_EQ(f64("div.rn.f64", {1, 3}), bits(1.0 / 3.0));
  EXPECT_EQ(f64("sqrt.rn.f64", {2}), bits(std::sqrt(2.0)));
  EXPECT_EQ(f64("add.rp.f64", {1, 0x1p-80}), bits(std::nextafter(1.0, 2.0)));
  EXPECT_EQ(f64("max.f64", {-1, 4}), bits(4.0));
  EXPECT_EQ(f16("add.f16", {0x3c00, 0x4000}), 0x4200u);              // 1 + 2
  EXPECT_EQ(f16("add.f16", {0x6800, 0x3c00}), 0x6800u);              // 2048 + 1: tie to even
  EXPECT_EQ(f16("add.f16", {0x6801, 0x3c00}), 0x6802u);              // 2050 + 1: tie to even
  EXPECT_EQ(f16("mul.f16", {0x7bff, 0x4000}), 0x7c00u);              // overflow
  EXPECT_EQ(f16("fma.rn.f16", {0x3c01, 0x3c01, 0xbc02}), 0x0010u);   // (1+e)^2 - (1+2e) = e^2 = 2^-20
  EXPECT_EQ(f16("fma.rn.relu.f16", {0x3c00, 0xc000, 0x3c00}), 0u);   // 1 * -2 + 1 = -1
  EXPECT_EQ(f16("add.f16", {0x7c00, 0xfc00}), 0x7fffu);
  EXPECT_EQ(f16("add.ftz.f16", {0x0001, 0x0001}), 0u);
  EXPECT_EQ(f16("neg.f16", {0x3c00}), 0xbc00u);
  EXPECT_EQ(f16("max.f16", {0x3c00, 0x7e00}), 0x3c00u);
  EXPECT_EQ(f16("add.rn.bf16", {0x3f80, 0x4000}), 0x4040u);
  EXPECT_EQ(f16("fma.rn.bf16", {0x3f81, 0x3f81, 0xbf82}), 0x3880u);  // e^2 with e = 2^-7
  EXPECT_EQ(u32("add.f16x2", {0x3c004000, 0x40003c00}), 0x42004200u);
  EXPECT_EQ(u32("fma.rn.bf16x2", {0x3f803f80, 0x40003f80, 0x3f800000}), 0x40403f80u);
  EXPECT_EQ(u32("max.f16x2", {0x3c00c000, 0x00003c00}), 0x3c003c00u);
}

TEST(Instruction, Conversions) {
  auto toInt = [](const std::string &op, float v) { return run(op + " %r10, %f0; cvt.u64.u32 %z, %r10;", {bits(v)}); };
  EXPECT_EQ(toInt("cvt.rni.s32.f32", 2.5f), 2u);
  EXPECT_EQ(toInt("cvt.rni.s32.f32", 3.5f), 4u);
  EXPECT_EQ(toInt("cvt.rzi.s32.f32", -2.7f), uint32_t(-2));
  EXPECT_EQ(toInt("cvt.rmi.s32.f32", -2.1f), uint32_t(-3));
  EXPECT_EQ(toInt("cvt.rpi.s32.f32", 2.1f), 3u);
  EXPECT_EQ(toInt("cvt.rzi.s32.f32", 3e9f), 0x7fffffffu);
  EXPECT_EQ(toInt("cvt.rzi.s32.f32", -3e9f), 0x80000000u);
  EXPECT_EQ(toInt("cvt.rzi.u32.f32", -1.0f), 0u);
  EXPECT_EQ(toInt("cvt.rzi.u32.f32", 5e9f), 0xffffffffu);
  EXPECT_EQ(toInt("cvt.rzi.s32.f32", nan_), 0u);
  EXPECT_EQ(run("cvt.rzi.s64.f32 %z, %f0;", {bits(nan_)}), 1ull << 63);
  EXPECT_EQ(run("cvt.rzi.u64.f64 %z, %d0;", {bits(1e30)}), ~0ull);
  EXPECT_EQ(run("cvt.rzi.s64.f64 %z, %d0;", {bits(-1e30)}), 1ull << 63);
  EXPECT_EQ(run("cvt.s64.s32 %z, %r0;", {0x80000000}), 0xffffffff80000000ull);
  EXPECT_EQ(run("cvt.s32.s8 %r10, %r0; cvt.u64.u32 %z, %r10;", {0x180}), 0xffffff80u);
  EXPECT_EQ(run("cvt.u32.u8 %r10, %h0; cvt.u64.u32 %z, %r10;", {0x1ff}), 0xffu);
  EXPECT_EQ(run("cvt.sat.u8.s32 %r10, %r0; cvt.u64.u32 %z, %r10;", {300}), 255u);
  EXPECT_EQ(run("cvt.sat.s8.s32 %h10, %r0; cvt.u64.u16 %z, %h10;", {uint32_t(-300)}), 0xff80u);
  EXPECT_EQ(run("cvt.sat.u32.s32 %r10, %r0; cvt.u64.u32 %z, %r10;", {uint32_t(-3)}), 0u);
  EXPECT_EQ(run("cvt.sat.s32.u32 %r10, %r0; cvt.u64.u32 %z, %r10;", {0xf0000000}), 0x7fffffffu);
  auto toFloat = [](const std::string &op, uint64_t v, const char *source) {
    return run(op + " %f10, " + source + "; mov.b32 %r10, %f10; cvt.u64.u32 %z, %r10;", {v});
  };
  EXPECT_EQ(toFloat("cvt.rn.f32.s32", 16777217, "%r0"), bits(16777216.0f));
  EXPECT_EQ(toFloat("cvt.rp.f32.s32", 16777217, "%r0"), bits(16777218.0f));
  EXPECT_EQ(toFloat("cvt.rn.f32.u64", ~0ull, "%x0"), bits(18446744073709551616.0f));
  EXPECT_EQ(toFloat("cvt.f32.f16", 0x0001, "%h0"), bits(0x1p-24f));
  EXPECT_EQ(toFloat("cvt.rni.f32.f32", bits(2.5f), "%f0"), bits(2.0f));
  EXPECT_EQ(toFloat("cvt.rmi.f32.f32", bits(-0.5f), "%f0"), bits(-1.0f));
  EXPECT_EQ(toFloat("cvt.sat.f32.f32", bits(-0.5f), "%f0"), 0u);
  EXPECT_EQ(toFloat("cvt.rn.f32.f64", bits(1.0 + 0x1p-24), "%d0"), bits(1.0f));
  EXPECT_EQ(toFloat("cvt.rp.f32.f64", bits(1.0 + 0x1p-40), "%d0"), bits(std::nextafter(1.0f, 2.0f)));
  auto toHalf = [](const std::string &op, float v) { return run(op + " %h10, %f0; cvt.u64.u16 %z, %h10;", {bits(v)}); };
  EXPECT_EQ(toHalf("cvt.rn.f16.f32", 65520.0f), 0x7c00u); // halfway to 2^16 overflows
  EXPECT_EQ(toHalf("cvt.rz.f16.f32", 65535.0f), 0x7bffu);
  EXPECT_EQ(toHalf("cvt.rn.f16.f32", 1.0f + 0x1p-11f), 0x3c00u);
  EXPECT_EQ(toHalf("cvt.rn.f16.f32", 1.0f + 0x3p-11f), 0x3c02u);
  EXPECT_EQ(toHalf("cvt.rn.f16.f32", nan_), 0x7fffu);
  EXPECT_EQ(toHalf("cvt.rn.bf16.f32", 1.0f + 0x1p-8f), 0x3f80u);
  EXPECT_EQ(toHalf("cvt.rz.bf16.f32", 1.99999f), 0x3fffu);
  EXPECT_EQ(toHalf("cvt.rn.relu.f16.f32", -3.0f), 0u);
  auto pair = [](const std::string &op, float hi, float lo) {
    return run(op + " %r10, %f0, %f1; cvt.u64.u32 %z, %r10;", {bits(hi), bits(lo)});
  };
  EXPECT_EQ(pair("cvt.rn.f16x2.f32", 1, 2), 0x3c004000u); // the first operand is the high half
  EXPECT_EQ(pair("cvt.rn.bf16x2.f32", 1, 2), 0x3f804000u);
  EXPECT_EQ(pair("cvt.rn.relu.f16x2.f32", -1, 2), 0x00004000u);
  auto fp8 = [](const std::string &op, float hi, float lo) {
    return run(op + " %h10, %f0, %f1; cvt.u64.u16 %z, %h10;", {bits(hi), bits(lo)});
  };
  EXPECT_EQ(fp8("cvt.rn.satfinite.e4m3x2.f32", 1, 448), 0x387eu);
  EXPECT_EQ(fp8("cvt.rn.satfinite.e4m3x2.f32", 1000, nan_), 0x7e7fu);
  EXPECT_EQ(fp8("cvt.rn.satfinite.e5m2x2.f32", 1, 1e9f), 0x3c7bu);
  EXPECT_EQ(run("cvt.rn.f16x2.e4m3x2 %r10, %h0; cvt.u64.u32 %z, %r10;", {0x387e}), 0x3c005f00u); // 1, 448
  EXPECT_EQ(run("cvt.rna.tf32.f32 %r10, %f0; cvt.u64.u32 %z, %r10;", {bits(1.0f + 0x1p-11f)}), bits(1.0f + 0x1p-10f));
}

TEST(Instruction, CompareAndSelect) {
  auto setp = [](const std::string &op, uint64_t a, uint64_t b, const char *prefix) {
    std::string p(prefix);
    return run("setp." + op + " %p1, " + p + "0, " + p + "1; selp.u64 %z, 1, 0, %p1;", {a, b});
  };
  EXPECT_EQ(setp("lt.s32", 0xffffffff, 0, "%r"), 1u);
  EXPECT_EQ(setp("lt.u32", 0xffffffff, 0, "%r"), 0u);
  EXPECT_EQ(setp("lo.u32", 0, 1, "%r"), 1u);
  EXPECT_EQ(setp("hs.u32", 0, 1, "%r"), 0u);
  EXPECT_EQ(setp("eq.b64", 7, 7, "%x"), 1u);
  EXPECT_EQ(setp("lt.f32", bits(nan_), 0, "%f"), 0u);
  EXPECT_EQ(setp("ltu.f32", bits(nan_), 0, "%f"), 1u);
  EXPECT_EQ(setp("ne.f32", bits(nan_), 0, "%f"), 0u);
  EXPECT_EQ(setp("neu.f32", bits(nan_), 0, "%f"), 1u);
  EXPECT_EQ(setp("equ.f32", bits(nan_), 0, "%f"), 1u);
  EXPECT_EQ(setp("num.f32", bits(1.0f), 0, "%f"), 1u);
  EXPECT_EQ(setp("nan.f32", bits(nan_), 0, "%f"), 1u);
  EXPECT_EQ(setp("eq.f32", bits(0.0f), bits(-0.0f), "%f"), 1u);
  EXPECT_EQ(setp("eq.ftz.f32", bits(0x1p-140f), 0, "%f"), 1u);
  EXPECT_EQ(setp("gt.f16", 0x4000, 0x3c00, "%h"), 1u);
  EXPECT_EQ(run("setp.eq.s32 %p0, %r0, %r0; setp.lt.and.s32 %p1|%p2, %r0, %r1, !%p0; selp.u32 %r10, 1, 0, %p1; selp.u32 %r11, 1, 0, %p2; mov.b64 %z, "
                "{%r10, %r11};",
                {1, 2}),
            0u); // !p0 is false: both are
  EXPECT_EQ(run("setp.eq.s32 %p0, %r0, %r0; setp.lt.xor.s32 %p1|%p2, %r0, %r1, %p0; selp.u32 %r10, 1, 0, %p1; selp.u32 %r11, 1, 0, %p2; mov.b64 %z, "
                "{%r10, %r11};",
                {1, 2}),
            1ull << 32);
  EXPECT_EQ(run("set.lt.u32.s32 %r10, %r0, %r1; cvt.u64.u32 %z, %r10;", {1, 2}), 0xffffffffu);
  EXPECT_EQ(run("set.lt.f32.s32 %f10, %r0, %r1; mov.b32 %r10, %f10; cvt.u64.u32 %z, %r10;", {1, 2}), bits(1.0f));
  EXPECT_EQ(run("slct.u32.s32 %r10, %r0, %r1, %r2; cvt.u64.u32 %z, %r10;", {5, 6, uint32_t(-1)}), 6u);
  EXPECT_EQ(run("testp.subnormal.f32 %p1, %f0; selp.u64 %z, 1, 0, %p1;", {1}), 1u);
}

TEST(Instruction, MovesAndAddresses) {
  EXPECT_EQ(run("mov.b32 {%h10, %h11}, %r0; mov.b32 %r10, {%h11, %h10}; cvt.u64.u32 %z, %r10;", {0x12345678}), 0x56781234u);
  EXPECT_EQ(run("mov.b64 {%r10, _}, %x0; cvt.u64.u32 %z, %r10;", {0x1122334455667788}), 0x55667788u);
  EXPECT_EQ(run("mov.b64 %z, {%h0, %h1, %h2, %h3};", {1, 2, 3, 4}), 0x0004000300020001ull);
  EXPECT_EQ(run(".shared .align 8 .b8 s[64]; mov.u64 %x7, s; cvta.shared.u64 %x8, %x7; st.u32 [%x8+4], 77; ld.shared.u32 %r10, [s+4]; cvt.u64.u32 %z, "
                "%r10;",
                {}),
            77u);
  EXPECT_EQ(run(".local .align 8 .b8 s[64]; mov.u64 %x7, s; cvta.local.u64 %x8, %x7; isspacep.local %p1, %x8; st.u16 [%x8+4], 0x8001; "
                "ld.local.s16 %r10, [s+4]; @%p1 cvt.s64.s32 %z, %r10;",
                {}),
            0xffffffffffff8001ull);
  EXPECT_EQ(run("isspacep.global %p1, %i; selp.u64 %z, 1, 0, %p1;", {}), 1u);
  EXPECT_EQ(run("{ .reg .b32 %r0; mov.u32 %r0, 5; } cvt.u64.u32 %z, %r0;", {9}), 9u); // nested scope
  EXPECT_EQ(run("{ L: bra.uni M; M: } { bra.uni M; M: mov.u64 %z, 3; }", {}), 3u); // labels are local
}

} // namespace
} // namespace weft::emu::test
