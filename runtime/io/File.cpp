// Whole files: see File.h.
#include "runtime/io/File.h"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {

static std::string because() { return std::string(": ") + std::strerror(errno); }

Status readFile(const std::string &path, std::vector<uint8_t> &bytes) {
  bytes.clear();
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return Status::invalid("cannot open " + path + because());
  struct stat info;
  size_t chunk = 1 << 16; // grows for pipes, whose size nobody knows
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
    chunk = size_t(info.st_size) + 1; // one more, so that the end is seen at once
  size_t used = 0;
  while (true) {
    if (used == bytes.size())
      bytes.resize(used + chunk);
    ssize_t got = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      Status status = Status::invalid("cannot read " + path + because());
      ::close(fd);
      return status;
    }
    if (got == 0)
      break;
    used += size_t(got);
  }
  ::close(fd);
  bytes.resize(used);
  return Status::success();
}

/// Writes all of it to a new file; says whether that worked, with errno where not.
static bool writeAll(const std::string &path, std::span<const uint8_t> bytes) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0)
    return false;
  bool done = true;
  for (size_t at = 0; done && at < bytes.size();) {
    ssize_t put = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (put >= 0)
      at += size_t(put);
    else
      done = errno == EINTR;
  }
  int before = errno;
  if (::close(fd) < 0 && done)
    return false;
  errno = before;
  return done;
}

Status writeFile(const std::string &path, std::span<const uint8_t> bytes) {
  static std::atomic<unsigned> number{0};
  // A device or a pipe (/dev/stdout) cannot be replaced: it is written in place.
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    FILE *file = std::fopen(path.c_str(), "wb");
    bool done = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (file && std::fclose(file) != 0)
      done = false;
    return done ? Status::success() : Status::machine("cannot write " + path + because());
  }
  std::string part = path + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(number++);
  if (writeAll(part, bytes) && ::rename(part.c_str(), path.c_str()) == 0)
    return Status::success();
  Status status = Status::machine("cannot write " + path + because());
  ::unlink(part.c_str());
  return status;
}

Status writeFile(const std::string &path, const std::string &text) {
  return writeFile(path, std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

Status makeFolders(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (!part.empty() && ::mkdir(part.c_str(), 0777) < 0 && errno != EEXIST) {
      // An existing parent on a file system that takes no new folders answers something else than EEXIST.
      int cause = errno;
      struct stat info;
      if (::stat(part.c_str(), &info) < 0 || !S_ISDIR(info.st_mode)) {
        errno = cause;
        return Status::machine("cannot create the folder " + part + because());
      }
    }
    if (end == std::string::npos)
      break;
  }
  struct stat info;
  if (::stat(path.c_str(), &info) < 0)
    return Status::machine("cannot create the folder " + path + because());
  return S_ISDIR(info.st_mode) ? Status::success()
                               : Status::machine("cannot create the folder " + path + ": it is a file");
}

} // namespace weft
