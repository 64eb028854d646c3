// Where tensors lie in the arena.
#ifndef WEFT_RUNTIME_ARTIFACT_PACKER_H
#define WEFT_RUNTIME_ARTIFACT_PACKER_H

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

struct PackItem {
  uint64_t size;        // bytes; 0 takes no room
  uint32_t first, last; // lifetime in instruction numbers, both included
};

struct Packing {
  std::vector<uint64_t> offsets;
  uint64_t peak = 0;       // bytes
  uint64_t lowerBound = 0; // largest sum of (aligned) sizes alive at one time
};

/// Offsets such that items alive at one time do not overlap. Deterministic: depends on nothing but the arguments.
Packing pack(std::span<const PackItem> items, uint64_t alignment = 256);

} // namespace weft
#endif
