//===- ForeignTest.cpp - Kernels of nvcc and Triton, right results --------===//
//
// Guarantees: kernels compiled by others, unmodified, compute what their sources say. Tolerances: exact where the sums are
// exact; 1e-5 relative for f32 reductions of up to 1024 terms (24-bit mantissa, tree order unknown).
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include <cmath>
#include <random>

namespace weft::emu::test {
namespace {

struct Arch {
  const char *suffix;
  unsigned sm;
};

class Foreign : public ::testing::TestWithParam<Arch> {
protected:
  std::string nvcc(const std::string &name) {
    return readFile(std::string(WEFT_SOURCE_DIR "/test/emulator/foreign/nvcc/") + name + "_" + GetParam().suffix + ".ptx");
  }
  std::string triton(const std::string &name) {
    return readFile(std::string(WEFT_SOURCE_DIR "/test/emulator/foreign/triton/") + name + "_" + GetParam().suffix + ".ptx");
  }
  unsigned sm() const { return GetParam().sm; }
  std::vector<float> random(size_t n, float low = -2, float high = 2) {
    std::uniform_real_distribution<float> d(low, high);
    std::vector<float> v(n);
    for (float &x : v)
      x = d(rng);
    return v;
  }
  static void expectOk(const LaunchResult &r) {
    EXPECT_EQ(r.trap, Trap::None) << r.message;
    for (const std::string &f : r.findings)
      ADD_FAILURE() << f;
  }
  std::mt19937 rng{42};
  Device device{true};
  LaunchOptions checked() {
    LaunchOptions o;
    o.check = true;
    return o;
  }
};

TEST_P(Foreign, NvccVadd) {
  int n = 1000;
  auto a = random(n), b = random(n);
  uint64_t pa = device.put(a), pb = device.put(b), pc = device.reserve(n * 4);
  expectOk(runKernel(nvcc("vadd"), "vadd", sm(), {8}, {128}, 0, Params().add(pa).add(pb).add(pc).add(n), device, checked()));
  auto c = device.get<float>(pc, n);
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(c[i], a[i] + b[i]);
  uint64_t pd = device.reserve(n * 4);
  expectOk(runKernel(nvcc("vadd"), "vadd4", sm(), {2}, {128}, 0, Params().add(pa).add(pb).add(pd).add(n / 4), device, checked()));
  c = device.get<float>(pd, n);
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(c[i], a[i] + b[i]);
}

TEST_P(Foreign, NvccTiledMatmul) {
  int m = 50, n = 70, k = 45;
  auto a = random(m * k), b = random(k * n);
  uint64_t pa = device.put(a), pb = device.put(b), pc = device.reserve(m * n * 4);
  expectOk(runKernel(nvcc("smem"), "matmul_tiled", sm(), {3, 2}, {32, 32}, 0, Params().add(pa).add(pb).add(pc).add(m).add(n).add(k), device,
                     checked()));
  auto c = device.get<float>(pc, m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float acc = 0; // same order, fused: exact
      for (int l = 0; l < k; ++l)
        acc = std::fma(a[i * k + l], b[l * n + j], acc);
      ASSERT_EQ(c[i * n + j], acc) << i << "," << j;
    }
}

TEST_P(Foreign, NvccHistogramAndAtomics) {
  int n = 5000;
  std::vector<uint8_t> x(n);
  std::vector<uint32_t> expected(256, 0);
  for (auto &v : x)
    ++expected[v = uint8_t(rng())];
  uint64_t px = device.put(x), ph = device.put(std::vector<uint32_t>(256, 0));
  expectOk(runKernel(nvcc("hist"), "hist", sm(), {4}, {160}, 0, Params().add(px).add(ph).add(n), device, checked()));
  EXPECT_EQ(device.get<uint32_t>(ph, 256), expected);

  uint64_t pi = device.put(std::vector<int>{5, 5, 0, 0, 7, 4, 9, 0}), pf = device.put(std::vector<float>{0.5f}),
           pd = device.put(std::vector<double>{0.25}), pu = device.put(std::vector<uint64_t>{1ull << 40}),
           p2 = device.put(std::vector<uint32_t>{0});
  expectOk(runKernel(nvcc("hist"), "atoms", sm(), {1}, {64}, 0, Params().add(pi).add(pf).add(pd).add(pu).add(p2), device, checked()));
  EXPECT_EQ(device.get<int>(pi, 7), (std::vector<int>{63, 0, 1, 5, 3, 7, 9}));
  EXPECT_EQ(device.get<float>(pf, 1)[0], 64.5f);
  EXPECT_EQ(device.get<double>(pd, 1)[0], 64.25);
  EXPECT_EQ(device.get<uint64_t>(pu, 1)[0], (1ull << 40) + 64);
  EXPECT_EQ(device.get<uint32_t>(p2, 1)[0], 0x54005400u); // 64.0 in f16, twice
}

TEST_P(Foreign, NvccReduceSoftmaxVote) {
  int n = 3000;
  auto x = random(n);
  double sum = 0, magnitude = 0;
  for (float v : x)
    sum += v, magnitude += std::fabs(v);
  uint64_t px = device.put(x), po = device.put(std::vector<float>{0});
  expectOk(runKernel(nvcc("shfl"), "reduce_sum", sm(), {3}, {256}, 0, Params().add(px).add(po).add(n), device, checked()));
  EXPECT_NEAR(device.get<float>(po, 1)[0], sum, magnitude * 1e-6);

  int rows = 5, cols = 150;
  auto y = random(rows * cols, -8, 8);
  uint64_t pi = device.put(y), pr = device.reserve(rows * cols * 4);
  expectOk(runKernel(nvcc("shfl"), "softmax_row", sm(), {5}, {32}, 0, Params().add(pi).add(pr).add(cols), device, checked()));
  auto r = device.get<float>(pr, rows * cols);
  for (int i = 0; i < rows; ++i) {
    double most = -1e30, total = 0;
    for (int j = 0; j < cols; ++j)
      most = std::max<double>(most, y[i * cols + j]);
    for (int j = 0; j < cols; ++j)
      total += std::exp(y[i * cols + j] - most);
    for (int j = 0; j < cols; ++j)
      ASSERT_NEAR(r[i * cols + j], std::exp(y[i * cols + j] - most) / total, 2e-6);
  }

  std::vector<int> v(64);
  for (int &e : v)
    e = int(rng() % 5) - 1;
  uint64_t pv = device.put(v), pw = device.put(std::vector<uint32_t>{0, 0});
  expectOk(runKernel(nvcc("shfl"), "vote", sm(), {2}, {32}, 0, Params().add(pv).add(pw).add(60), device, checked()));
  auto w = device.get<uint32_t>(pw, 2);
  for (int g = 0; g < 2; ++g) {
    uint32_t ballot = 0, match = 0, total = 0;
    bool any = false;
    auto value = [&](int l) { return g * 32 + l < 60 ? v[g * 32 + l] : 0; };
    for (int l = 0; l < 32; ++l) {
      ballot |= uint32_t(value(l) > 0) << l;
      any |= value(l) < 0;
      match |= uint32_t(value(l) == value(0)) << l;
      total += uint32_t(value(l));
    }
    uint32_t reversed = 0;
    for (int k = 0; k < 32; ++k)
      reversed |= (total >> k & 1) << (31 - k);
    uint32_t expected = __builtin_popcount(ballot) + any + (match ? __builtin_clz(match) : 32) + reversed + uint32_t(__builtin_ffs(int(ballot)));
    EXPECT_EQ(w[g], expected);
  }
}

TEST_P(Foreign, NvccMath) {
  int n = 200;
  auto x = random(n, 0.1f, 20.0f);
  x[3] = 5000.25f; // Payne-Hanek reduction
  uint64_t px = device.put(x), py = device.reserve(n * 4);
  expectOk(runKernel(nvcc("math"), "mathf", sm(), {2}, {128}, 0, Params().add(px).add(py).add(n), device, checked()));
  auto y = device.get<float>(py, n);
  for (int i = 0; i < n; ++i) {
    double v = x[i];
    double terms[] = {std::sin(v), std::cos(v) * std::tan(v), std::exp(v), std::log(v), std::sqrt(v), 1 / std::sqrt(v), std::tanh(v), std::erf(v),
                      std::pow(v, 1.7f), std::floor(v), std::ceil(v), std::rint(v), std::trunc(v), std::fmod(v, 3.0), std::atan2(v, 2.0),
                      std::asinh(v), std::lgamma(v), 1 / v, std::exp(v), v / 3, std::copysign(v, -1.0)};
    double expected = 0, magnitude = 0;
    for (double t : terms)
      expected += t, magnitude += std::fabs(t);
    if (std::isinf(float(magnitude)))
      EXPECT_TRUE(std::isinf(y[i]));
    else // sin and __expf of large arguments are the coarsest terms
      EXPECT_NEAR(y[i], expected, magnitude * 3e-6) << "x = " << v;
  }
  std::vector<double> d(n);
  for (int i = 0; i < n; ++i)
    d[i] = 0.05 + i * 0.37;
  d[7] = 1e7 + 0.5;
  uint64_t pd = device.put(d), pe = device.reserve(n * 8);
  expectOk(runKernel(nvcc("math"), "mathd", sm(), {2}, {128}, 0, Params().add(pd).add(pe).add(n), device, checked()));
  auto e = device.get<double>(pe, n);
  for (int i = 0; i < n; ++i) {
    double expected = std::exp(d[i]) / std::sqrt(d[i]) + std::sin(d[i]);
    if (std::isinf(expected))
      EXPECT_TRUE(std::isinf(e[i]));
    else
      EXPECT_NEAR(e[i], expected, std::fabs(expected) * 1e-15 + 1e-15) << d[i];
  }
}

TEST_P(Foreign, NvccConversions) {
  int n = 96;
  std::vector<uint16_t> h(n), b(n);
  std::vector<int8_t> q(n);
  std::vector<float> hf(n), bf(n);
  for (int i = 0; i < n; ++i) {
    hf[i] = float(int(rng() % 2000) - 1000) / 8; // exact in f16
    h[i] = std::bit_cast<uint16_t>(_Float16(hf[i]));
    bf[i] = float(int(rng() % 200) - 100);
    b[i] = uint16_t(std::bit_cast<uint32_t>(bf[i]) >> 16);
    bf[i] = std::bit_cast<float>(uint32_t(b[i]) << 16);
    q[i] = int8_t(rng() % 256);
    if (q[i] == -1) // a division by q + 1
      q[i] = 3;
  }
  uint64_t ph = device.put(h), pb = device.put(b), pq = device.put(q), po = device.reserve(n * 4), pi = device.reserve(n * 4),
           pl = device.reserve(n * 8), pu = device.reserve(n);
  expectOk(runKernel(nvcc("math"), "conv", sm(), {3}, {32}, 0, Params().add(ph).add(pb).add(pq).add(po).add(pi).add(pl).add(pu).add(n), device,
                     checked()));
  auto o = device.get<float>(po, n);
  auto oi = device.get<int>(pi, n);
  auto ol = device.get<int64_t>(pl, n);
  auto ou = device.get<uint8_t>(pu, n);
  for (int i = 0; i < n; ++i) {
    float f = hf[i] + bf[i];
    ASSERT_EQ(o[i], f);
    int vi = int(f) + q[i] / 3 + q[i] % 7;
    ASSERT_EQ(oi[i], vi);
    ASSERT_EQ(ou[i], uint8_t(std::min(std::max(int(std::nearbyint(f)), 0), 255)));
    int64_t vl = int64_t(f) * vi / (int64_t(q[i]) + 1);
    int dot = 3, qi = q[i];
    for (int k = 0; k < 4; ++k)
      dot += int(int8_t(vi >> (8 * k))) * int(int8_t(qi >> (8 * k)));
    int high = int((int64_t(vi) * qi) >> 32);
    vl ^= int64_t(int(high + dot));
    ASSERT_EQ(ol[i], vl) << i;
  }
}

TEST_P(Foreign, NvccLocalArray) {
  int n = 3;
  auto x = random(16 * n);
  for (int k = 0; k < 24; ++k) {
    float a[16], y[7] = {0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < 16; ++i)
      a[i] = std::fabs(x[i * n]) + 0.5f;
    auto positive = x;
    for (float &v : positive)
      v = std::fabs(v) + 0.5f;
    for (int i = 0; i < k; ++i)
      a[(i * 7) & 15] += a[(i * 3) & 15];
    switch (k & 7) {
    case 0: y[0] = a[1]; break;
    case 1: y[1] = a[2] * 2; break;
    case 2: y[2] = a[3] - 1; break;
    case 3: y[3] = a[4] * a[1]; break;
    case 4: y[4] = a[5] / a[2]; break;
    case 5: y[5] = std::sqrt(a[6]); break;
    default: y[6] = a[k & 15];
    }
    uint64_t px = device.put(positive), py = device.put(std::vector<float>(7, 0.0f));
    expectOk(runKernel(nvcc("math"), "localarr", sm(), {1}, {1}, 0, Params().add(px).add(py).add(n).add(k), device, checked()));
    EXPECT_EQ(device.get<float>(py, 7), std::vector<float>(y, y + 7)) << "k = " << k;
  }
}

TEST_P(Foreign, TritonVadd) {
  int n = 2500;
  auto a = random(n), b = random(n);
  uint64_t pa = device.put(a), pb = device.put(b), pc = device.reserve(n * 4);
  expectOk(runKernel(triton("vadd_f32"), "add_kernel", sm(), {3}, {128}, 0, Params().add(pa).add(pb).add(pc).add(n).add(0ull).add(0ull), device,
                     checked()));
  auto c = device.get<float>(pc, n);
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(c[i], a[i] + b[i]);
}

TEST_P(Foreign, TritonSoftmax) {
  int rows = 4, cols = 781, stride = 800;
  auto x = random(rows * stride, -6, 6);
  uint64_t pi = device.put(x), po = device.reserve(rows * stride * 4);
  expectOk(runKernel(triton("softmax_f32"), "softmax_kernel", sm(), {4}, {128}, 16,
                     Params().add(po).add(pi).add(stride).add(stride).add(cols).add(0ull).add(0ull), device, checked()));
  auto y = device.get<float>(po, rows * stride);
  for (int i = 0; i < rows; ++i) {
    double most = -1e30, total = 0;
    for (int j = 0; j < cols; ++j)
      most = std::max<double>(most, x[i * stride + j]);
    for (int j = 0; j < cols; ++j)
      total += std::exp(x[i * stride + j] - most);
    for (int j = 0; j < cols; ++j)
      ASSERT_NEAR(y[i * stride + j], std::exp(x[i * stride + j] - most) / total, 1e-6 * std::exp(x[i * stride + j] - most) / total + 1e-9);
  }
}

TEST_P(Foreign, TritonLayerNorm) {
  int rows = 3, n = 1500, stride = 1504;
  auto x = random(rows * stride), weight = random(n), bias = random(n);
  float eps = 1e-5f;
  auto half = [](const std::vector<float> &v) {
    std::vector<uint16_t> h(v.size());
    for (size_t i = 0; i < v.size(); ++i)
      h[i] = std::bit_cast<uint16_t>(_Float16(v[i]));
    return h;
  };
  auto widen = [](uint16_t h) { return double(std::bit_cast<_Float16>(h)); };
  for (bool isHalf : {false, true}) {
    auto hx = half(x), hw = half(weight), hb = half(bias);
    uint64_t px = isHalf ? device.put(hx) : device.put(x), pw = isHalf ? device.put(hw) : device.put(weight),
             pb = isHalf ? device.put(hb) : device.put(bias), py = device.reserve(rows * stride * 4), pm = device.reserve(rows * 4),
             pr = device.reserve(rows * 4);
    expectOk(runKernel(triton(isHalf ? "layernorm_f16" : "layernorm_f32"), "layernorm_kernel", sm(), {3}, {128}, 16,
                       Params().add(px).add(py).add(pw).add(pb).add(pm).add(pr).add(stride).add(n).add(eps).add(0ull).add(0ull), device, checked()));
    auto y = device.get<float>(py, rows * stride);
    auto yh = device.get<uint16_t>(py, rows * stride);
    auto rstd = device.get<float>(pr, rows);
    for (int i = 0; i < rows; ++i) {
      double mean = 0, variance = 0;
      auto value = [&](int j) { return isHalf ? widen(hx[i * stride + j]) : double(x[i * stride + j]); };
      for (int j = 0; j < n; ++j)
        mean += value(j) / n;
      for (int j = 0; j < n; ++j)
        variance += (value(j) - mean) * (value(j) - mean) / n;
      double r = 1 / std::sqrt(variance + eps);
      EXPECT_NEAR(rstd[i], r, r * 1e-5);
      for (int j = 0; j < n; ++j) {
        double w = isHalf ? widen(hw[j]) : weight[j], b = isHalf ? widen(hb[j]) : bias[j];
        double expected = (value(j) - mean) * r * w + b;
        // f16 results: half an ulp of 2^-11 relative.
        ASSERT_NEAR(isHalf ? widen(yh[i * stride + j]) : y[i * stride + j], expected, isHalf ? std::fabs(expected) * 6e-4 + 1e-4 : 3e-5);
      }
    }
  }
}

TEST_P(Foreign, TritonHistogram) {
  int n = 1300;
  std::vector<int> x(n);
  std::vector<int> expected(64, 0);
  for (int &v : x)
    ++expected[v = int(rng() % 64)];
  uint64_t px = device.put(x), ph = device.put(std::vector<int>(64, 0));
  expectOk(runKernel(triton("histogram_i32"), "histogram_kernel", sm(), {3}, {128}, 4096, Params().add(px).add(ph).add(n).add(0ull).add(0ull),
                     device, checked()));
  EXPECT_EQ(device.get<int>(ph, 64), expected);
}

INSTANTIATE_TEST_SUITE_P(Archs, Foreign, ::testing::Values(Arch{"sm80", 80}, Arch{"sm90", 90}),
                         [](const auto &info) { return std::string(info.param.suffix); });

} // namespace
} // namespace weft::emu::test
