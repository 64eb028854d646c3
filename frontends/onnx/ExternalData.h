// Tensors whose bytes stand in a file beside the model.
//
// Guarantees that no path leads out of the model's folder (no absolute path, no "..", no symbolic link that escapes) and
// that offset and length lie within the file. Files are mapped, not read.
#ifndef WEFT_FRONTENDS_ONNX_EXTERNALDATA_H
#define WEFT_FRONTENDS_ONNX_EXTERNALDATA_H

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft::onnx {

class ExternalFiles {
public:
  explicit ExternalFiles(const std::string &modelPath);
  struct Bytes {
    const char *data = nullptr;
    std::shared_ptr<const void> owner;
    std::string error; // empty where all is well
  };
  /// `size` bytes as `entries` (location, offset, length) say.
  Bytes find(const std::vector<std::pair<std::string, std::string>> &entries, size_t size);

private:
  struct File {
    const char *data = nullptr;
    size_t size = 0;
    std::shared_ptr<const void> owner;
    std::string error;
  };
  const File &open(const std::string &location);
  std::string folder;
  std::map<std::string, File> files;
};

} // namespace weft::onnx
#endif
