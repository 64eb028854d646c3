// Writing an artifact: the compiler's side of Format.h.
#ifndef WEFT_RUNTIME_ARTIFACT_WRITER_H
#define WEFT_RUNTIME_ARTIFACT_WRITER_H

#include "runtime/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// Collects the parts and writes the file at once. The same parts give the same bytes.
class ArtifactWriter {
public:
  /// The finished FlatBuffer of the plan.
  void setPlan(std::vector<uint8_t> bytes) { plan = std::move(bytes); }
  /// Copies an image; returns its offset within the images section.
  uint64_t addImage(std::span<const uint8_t> bytes);
  /// Keeps the span, which must stay valid until `write`; returns its offset within the constants section (64-byte aligned).
  uint64_t addConstant(std::span<const uint8_t> bytes);
  /// Writes to a temporary name in the same folder, then renames: a half-written file never replaces a whole one.
  Status write(const std::string &path) const;

private:
  std::vector<uint8_t> plan, images;
  std::vector<std::pair<uint64_t, std::span<const uint8_t>>> constants;
  uint64_t constantsSize = 0;
};

} // namespace weft
#endif
