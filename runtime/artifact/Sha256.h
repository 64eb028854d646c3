// SHA-256 (FIPS 180-4).
#ifndef WEFT_RUNTIME_ARTIFACT_SHA256_H
#define WEFT_RUNTIME_ARTIFACT_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::artifact {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
public:
  void update(std::span<const uint8_t> bytes);
  Digest finish();

private:
  void blocks(const uint8_t *data, size_t count);
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t buffer[64];
  size_t buffered = 0;
  uint64_t total = 0;
};

Digest sha256(std::span<const uint8_t> bytes);

} // namespace weft::artifact
#endif
