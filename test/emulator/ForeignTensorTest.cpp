//===- ForeignTensorTest.cpp - Tensor cores and cp.async ------------------===//
//
// Guarantees: matrix kernels of nvcc and Triton compute what their sources say, with copies as late as legal, and eagerly.
// Inputs are small multiples of 1/4, so every product and sum is exact in f32: matmuls are compared exactly (but for the
// rounding of the result to f16 or bf16). Attention: 4e-3, f16 results of magnitude 1 and f16 probabilities.
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <cmath>
#include <random>

namespace weft::emu::test {
namespace {

std::string foreign(const std::string &path) { return readFile(std::string(WEFT_SOURCE_DIR "/test/emulator/foreign/") + path); }

uint16_t toHalf(float v) { return std::bit_cast<uint16_t>(_Float16(v)); }
float fromHalf(uint16_t v) { return float(std::bit_cast<_Float16>(v)); }
uint16_t toBrain(float v) {
  uint32_t b = std::bit_cast<uint32_t>(v);
  return uint16_t((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

struct Rng {
  std::mt19937 engine{7};
  std::vector<float> quarters(size_t n) {
    std::vector<float> v(n);
    for (float &x : v)
      x = float(int(engine() % 17) - 8) / 4;
    return v;
  }
};
template <class F> std::vector<uint16_t> convert(const std::vector<float> &v, F f) {
  std::vector<uint16_t> out(v.size());
  for (size_t i = 0; i < v.size(); ++i)
    out[i] = f(v[i]);
  return out;
}

void expectOk(const LaunchResult &r) {
  EXPECT_EQ(r.trap, Trap::None) << r.message;
  for (const std::string &f : r.findings)
    ADD_FAILURE() << f;
}

TEST(ForeignTensor, NvccWmma) {
  int m = 32, n = 32, k = 48;
  Rng rng;
  auto a = rng.quarters(m * k), b = rng.quarters(n * k);
  for (const char *arch : {"sm80", "sm90"}) {
    Device device(true);
    uint64_t pa = device.put(convert(a, toHalf)), pb = device.put(convert(b, toHalf)), pc = device.reserve(m * n * 4);
    LaunchOptions o;
    o.check = true;
    expectOk(runKernel(foreign(std::string("nvcc/wmma_") + arch + ".ptx"), "wmma_half", 90, {2, 2}, {32}, 0,
                       Params().add(pa).add(pb).add(pc).add(m).add(n).add(k), device, o));
    auto c = device.get<float>(pc, m * n);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int l = 0; l < k; ++l)
          sum += a[i * k + l] * b[j * k + l];
        ASSERT_EQ(c[i * n + j], sum);
      }
  }
}

TEST(ForeignTensor, NvccPipelinedCopyAndLdmatrix) {
  Rng rng;
  for (bool eager : {false, true}) {
    Device device(true);
    LaunchOptions o;
    o.check = true, o.eager = eager;
    int n = eager ? 1024 : 1000; // 1000: lanes exit while others of their warp have a stride and a barrier to go
    auto in = rng.quarters(n * 4);
    uint64_t pi = device.put(in), po = device.reserve(n * 16);
    expectOk(runKernel(foreign("nvcc/cpasync_sm80.ptx"), "copy_pipe", 80, {2}, {128}, 0, Params().add(pi).add(po).add(n), device, o));
    auto out = device.get<float>(po, n * 4);
    for (int i = 0; i < n * 4; ++i)
      ASSERT_EQ(out[i], in[i] * 2) << i;
    auto a = rng.quarters(256), b = rng.quarters(128);
    uint64_t pa = device.put(convert(a, toHalf)), pb = device.put(convert(b, toHalf)), pc = device.reserve(512);
    expectOk(runKernel(foreign("nvcc/cpasync_sm80.ptx"), "mma_ldmatrix", 80, {1}, {32}, 0, Params().add(pa).add(pb).add(pc), device, o));
    auto c = device.get<float>(pc, 128);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        float sum = 0;
        for (int k = 0; k < 16; ++k)
          sum += a[i * 16 + k] * b[j * 16 + k];
        ASSERT_EQ(c[i * 8 + j], sum);
      }
  }
}

void tritonMatmul(const std::string &name, char type, int m, int n, int k, uint32_t shared, bool eager) {
  SCOPED_TRACE(name + (eager ? " eager" : " late"));
  Rng rng;
  auto a = rng.quarters(m * k), b = rng.quarters(k * n);
  Device device(true);
  auto put = [&](const std::vector<float> &v) {
    return type == 'f' ? device.put(v) : type == 'h' ? device.put(convert(v, toHalf)) : device.put(convert(v, toBrain));
  };
  uint64_t pa = put(a), pb = put(b), pc = device.reserve(m * n * 4);
  LaunchOptions o;
  o.check = true, o.eager = eager;
  unsigned tiles = unsigned((m + 127) / 128 * ((n + 127) / 128));
  expectOk(runKernel(foreign("triton/" + name + "_sm80.ptx"), "matmul_kernel", 80, {tiles}, {128}, shared,
                     Params().add(pa).add(pb).add(pc).add(m).add(n).add(k).add(k).add(n).add(n).add(0ull).add(0ull), device, o));
  auto c32 = device.get<float>(pc, m * n);
  auto c16 = device.get<uint16_t>(pc, m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l)
        sum += a[i * k + l] * b[l * n + j];
      if (type == 'f')
        ASSERT_EQ(c32[i * n + j], sum) << i << "," << j;
      else
        ASSERT_EQ(c16[i * n + j], type == 'h' ? toHalf(sum) : toBrain(sum)) << i << "," << j;
    }
}

TEST(ForeignTensor, TritonMatmul) {
  tritonMatmul("matmul_f16", 'h', 130, 96, 80, 16384, false);
  tritonMatmul("matmul_bf16", 'b', 112, 136, 48, 16384, false);
  tritonMatmul("matmul_f32", 'f', 96, 144, 64, 65536, false);
  for (bool eager : {false, true}) {
    tritonMatmul("matmul_div16_f16", 'h', 144, 160, 112, 32768, eager);
    tritonMatmul("matmul_div16_bf16", 'b', 128, 128, 64, 32768, eager);
    tritonMatmul("matmul_div16_f32", 'f', 128, 144, 96, 65536, eager);
  }
}

void tritonFlash(const std::string &name, int n, bool causal, bool eager) {
  SCOPED_TRACE(name);
  int heads = 2, hd = 64;
  Rng rng;
  std::vector<float> q = rng.quarters(heads * n * hd), k = rng.quarters(heads * n * hd), v = rng.quarters(heads * n * hd);
  Device device(true);
  uint64_t pq = device.put(convert(q, toHalf)), pk = device.put(convert(k, toHalf)), pv = device.put(convert(v, toHalf)),
           po = device.reserve(heads * n * hd * 2);
  float scale = 0.125f;
  int sh = n * hd, sm = hd;
  LaunchOptions o;
  o.check = true, o.eager = eager;
  expectOk(runKernel(foreign("triton/" + name + "_sm80.ptx"), "flash_kernel", 80, {unsigned((n + 127) / 128), unsigned(heads)}, {128}, 49152,
                     Params().add(pq).add(pk).add(pv).add(po).add(scale).add(sh).add(sm).add(sh).add(sm).add(sh).add(sm).add(sh).add(sm).add(n)
                         .add(0ull).add(0ull),
                     device, o));
  auto out = device.get<uint16_t>(po, heads * n * hd);
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < n; i += 3) {
      int last = causal ? i + 1 : n;
      std::vector<double> p(last);
      double most = -1e30, total = 0;
      for (int j = 0; j < last; ++j) {
        double s = 0;
        for (int d = 0; d < hd; ++d)
          s += q[h * sh + i * hd + d] * k[h * sh + j * hd + d];
        p[j] = s * scale;
        most = std::max(most, p[j]);
      }
      for (double &x : p)
        total += x = std::exp(x - most);
      for (int d = 0; d < hd; ++d) {
        double sum = 0;
        for (int j = 0; j < last; ++j)
          sum += p[j] * v[h * sh + j * hd + d];
        ASSERT_NEAR(fromHalf(out[h * sh + i * hd + d]), sum / total, 4e-3) << h << "," << i << "," << d;
      }
    }
}

TEST(ForeignTensor, TritonFlashAttention) {
  tritonFlash("flash_f16", 100, false, false);
  tritonFlash("flash_f16_causal", 150, true, false);
  tritonFlash("flash_div16_f16", 144, false, false);
  tritonFlash("flash_div16_f16_causal", 160, true, true);
}

} // namespace
} // namespace weft::emu::test
