// SHA-256 (FIPS 180-4), with the processor's SHA extensions where it has them.
#include "runtime/artifact/Sha256.h"
#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace weft::artifact {

alignas(16) static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void plainBlocks(uint32_t *state, const uint8_t *data, size_t count) {
  for (; count; --count, data += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i)
      w[i] = uint32_t(data[4 * i]) << 24 | uint32_t(data[4 * i + 1]) << 16 | uint32_t(data[4 * i + 2]) << 8 | data[4 * i + 3];
    for (int i = 16; i < 64; ++i) {
      uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; ++i) {
      uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
      uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }
}

#if defined(__x86_64__)
__attribute__((target("sha,sse4.1,ssse3"))) static void shaBlocks(uint32_t *state, const uint8_t *data, size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bULL, 0x0405060700010203ULL);
  __m128i tmp = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(state)), 0xB1);     // cdab
  __m128i s1 = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(state + 4)), 0x1B); // efgh
  __m128i s0 = _mm_alignr_epi8(tmp, s1, 8);                                                            // abef
  s1 = _mm_blend_epi16(s1, tmp, 0xF0);                                                                 // cdgh
  for (; count; --count, data += 64) {
    __m128i save0 = s0, save1 = s1, m[4];
    for (int i = 0; i < 4; ++i)
      m[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(data + 16 * i)), swap);
    for (int round = 0; round < 16; ++round) {
      __m128i words = m[round & 3];
      __m128i message = _mm_add_epi32(words, _mm_load_si128(reinterpret_cast<const __m128i *>(k + 4 * round)));
      s1 = _mm_sha256rnds2_epu32(s1, s0, message);
      s0 = _mm_sha256rnds2_epu32(s0, s1, _mm_shuffle_epi32(message, 0x0E));
      // The words four rounds on, from this quarter and the three that follow it.
      __m128i next = _mm_sha256msg1_epu32(words, m[(round + 1) & 3]);
      next = _mm_add_epi32(next, _mm_alignr_epi8(m[(round + 3) & 3], m[(round + 2) & 3], 4));
      m[round & 3] = _mm_sha256msg2_epu32(next, m[(round + 3) & 3]);
    }
    s0 = _mm_add_epi32(s0, save0);
    s1 = _mm_add_epi32(s1, save1);
  }
  tmp = _mm_shuffle_epi32(s0, 0x1B);      // feba
  s1 = _mm_shuffle_epi32(s1, 0xB1);       // dchg
  s0 = _mm_blend_epi16(tmp, s1, 0xF0);    // dcba
  s1 = _mm_alignr_epi8(s1, tmp, 8);       // hgfe
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state), s0);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state + 4), s1);
}

static bool hasSha() {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29));
}
#endif

void Sha256::blocks(const uint8_t *data, size_t count) {
#if defined(__x86_64__)
  static const bool extensions = hasSha();
  if (extensions)
    return shaBlocks(state, data, count);
#endif
  plainBlocks(state, data, count);
}

void Sha256::update(std::span<const uint8_t> bytes) {
  total += bytes.size();
  if (buffered) {
    size_t taken = std::min(bytes.size(), 64 - buffered);
    std::memcpy(buffer + buffered, bytes.data(), taken);
    buffered += taken;
    bytes = bytes.subspan(taken);
    if (buffered < 64)
      return;
    blocks(buffer, 1);
    buffered = 0;
  }
  blocks(bytes.data(), bytes.size() / 64);
  buffered = bytes.size() % 64;
  if (buffered)
    std::memcpy(buffer, bytes.data() + bytes.size() - buffered, buffered);
}

Digest Sha256::finish() {
  uint64_t bits = total * 8;
  uint8_t tail[72] = {0x80};
  size_t padding = (buffered < 56 ? 56 : 120) - buffered;
  for (int i = 0; i < 8; ++i)
    tail[padding + i] = uint8_t(bits >> (56 - 8 * i));
  update({tail, padding + 8});
  Digest digest;
  for (int i = 0; i < 32; ++i)
    digest[i] = uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest sha256(std::span<const uint8_t> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

} // namespace weft::artifact
