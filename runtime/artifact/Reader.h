// Reading an artifact: verification, validation, access.
#ifndef WEFT_RUNTIME_ARTIFACT_READER_H
#define WEFT_RUNTIME_ARTIFACT_READER_H

#include "runtime/Status.h"
#include "runtime/artifact/Format.h"
#include "runtime/artifact/Plan_generated.h"
#include <atomic>
#include <memory>
#include <span>
#include <string>

namespace weft {

/// A mapped artifact whose header, plan and chunk table are verified and whose plan is validated: every number in it
/// refers to something that exists. Images and constants are verified chunk by chunk, on demand. Safe to share.
class Artifact {
public:
  static Status open(const std::string &path, std::unique_ptr<Artifact> &out);
  ~Artifact();
  Artifact(const Artifact &) = delete;

  const plan::Plan &plan() const { return *root; }
  std::span<const uint8_t> image(const plan::Image &image) const { return at(header.images.offset + image.offset(), image.bytes()); }
  std::span<const uint8_t> constant(uint32_t number) const;
  /// Checks the chunks that hold `bytes` (part of an image or constant).
  Status verify(std::span<const uint8_t> bytes) const;
  Status verifyAll() const;
  std::span<const uint8_t> constants() const { return at(header.constants.offset, header.constants.size); }
  uint64_t constantBytes() const { return header.constants.size; }
  const std::string &path() const { return name; }

private:
  Artifact() = default;
  Status check();
  std::span<const uint8_t> at(uint64_t offset, uint64_t size) const { return {data + offset, size_t(size)}; }
  Status verifyChunk(uint64_t chunk) const;

  std::string name;
  const uint8_t *data = nullptr;
  uint64_t size = 0;
  artifact::Header header = {};
  const plan::Plan *root = nullptr;
  std::unique_ptr<std::atomic<uint8_t>[]> verified; // per chunk
};

/// Checks that every number in a structurally sound plan refers to something that exists, and every limit.
Status validatePlan(const plan::Plan &plan, uint64_t imagesSize, uint64_t constantsSize);

} // namespace weft
#endif
