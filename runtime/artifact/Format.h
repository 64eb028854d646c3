// The layout of an artifact file.
//
//   header (128 bytes) | plan | chunk table | images | padding | constants
//
// Numbers are little-endian. `hashed` (images to the end of the file) is covered by one SHA-256 per 4 MiB chunk in the
// chunk table; the root hash in the header covers the header (its own field zero), the plan and the chunk table. The
// header holds the file's length, and padding is zero, so that no byte of the file is free to change.
#ifndef WEFT_RUNTIME_ARTIFACT_FORMAT_H
#define WEFT_RUNTIME_ARTIFACT_FORMAT_H

#include <cstdint>

namespace weft::artifact {

inline constexpr char magic[8] = {'W', 'E', 'F', 'T', '\r', '\n', '\x1a', '\n'};
inline constexpr uint32_t formatVersion = 1;
inline constexpr uint64_t chunkSize = 4u << 20;
inline constexpr uint64_t pageSize = 4096;
inline constexpr uint64_t constantAlignment = 64;

struct Section {
  uint64_t offset, size;
};

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t headerSize;
  uint64_t fileSize;
  Section plan, chunks, images, constants;
  uint8_t rootHash[32];
  uint8_t reserved[8];
};
static_assert(sizeof(Header) == 128);

inline constexpr uint64_t alignTo(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

} // namespace weft::artifact
#endif
