// Mapping of external tensor data: see ExternalData.h.
#include "frontends/onnx/ExternalData.h"
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
namespace weft::onnx {

ExternalFiles::ExternalFiles(const std::string &modelPath) {
  std::error_code code;
  fs::path parent = fs::path(modelPath).parent_path();
  folder = fs::canonical(parent.empty() ? fs::path(".") : parent, code).string();
}

/// Why `location` may not be read, or "".
static std::string checkLocation(const std::string &location, const std::string &folder, fs::path &resolved) {
  if (location.empty())
    return "external data has no 'location'";
  if (location.find('\0') != std::string::npos)
    return "external data's location holds a NUL character";
  fs::path path(location);
  if (path.is_absolute() || location.find('\\') != std::string::npos)
    return "external data's location '" + location + "' must be relative to the model's folder, with '/' between folders";
  for (const fs::path &part : path)
    if (part == "..")
      return "external data's location '" + location + "' must not leave the model's folder";
  std::error_code code;
  resolved = fs::canonical(fs::path(folder) / path, code);
  if (code)
    return "external data's file '" + location + "' cannot be opened: " + code.message();
  std::string inside = folder == "/" ? folder : folder + "/";
  if (resolved.string().compare(0, inside.size(), inside) != 0)
    return "external data's location '" + location + "' leads out of the model's folder through a symbolic link";
  if (!fs::is_regular_file(resolved, code))
    return "external data's location '" + location + "' is not a regular file";
  return "";
}

const ExternalFiles::File &ExternalFiles::open(const std::string &location) {
  auto [it, isNew] = files.try_emplace(location);
  File &file = it->second;
  if (!isNew)
    return file;
  fs::path path;
  file.error = checkLocation(location, folder, path);
  if (!file.error.empty())
    return file;
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    file.error = "external data's file '" + location + "' cannot be opened: " + std::strerror(errno);
    if (fd >= 0)
      ::close(fd);
    return file;
  }
  file.size = status.st_size;
  void *data = file.size ? mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  ::close(fd);
  if (data == MAP_FAILED) {
    file.error = "external data's file '" + location + "' cannot be mapped: " + std::strerror(errno);
    return file;
  }
  file.data = static_cast<const char *>(data);
  file.owner = std::shared_ptr<const void>(data, [size = file.size](void *p) {
    if (p)
      munmap(p, size);
  });
  return file;
}

static bool parseNumber(const std::string &text, size_t &value) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && !text.empty();
}

ExternalFiles::Bytes ExternalFiles::find(const std::vector<std::pair<std::string, std::string>> &entries, size_t size) {
  std::string location;
  size_t offset = 0, length = size;
  for (const auto &[key, value] : entries) {
    if (key == "location")
      location = value;
    else if (key == "offset" && !parseNumber(value, offset))
      return {nullptr, nullptr, "external data's 'offset' must be a number of bytes, not '" + value + "'"};
    else if (key == "length" && !parseNumber(value, length))
      return {nullptr, nullptr, "external data's 'length' must be a number of bytes, not '" + value + "'"};
  }
  const File &file = open(location);
  if (!file.error.empty())
    return {nullptr, nullptr, file.error};
  if (length != size)
    return {nullptr, nullptr, "external data's 'length' is " + std::to_string(length) + " bytes, but type and dims need " +
                                  std::to_string(size)};
  if (offset > file.size || size > file.size - offset)
    return {nullptr, nullptr, "external data's bytes " + std::to_string(offset) + " to " + std::to_string(offset) + " + " +
                                  std::to_string(size) + " are not in '" + location + "', which has " +
                                  std::to_string(file.size) + " bytes"};
  return {file.data + offset, file.owner, ""};
}

} // namespace weft::onnx
