// Writing an artifact: see Writer.h.
#include "runtime/artifact/Writer.h"
#include "runtime/artifact/Format.h"
#include "runtime/artifact/Sha256.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {
using namespace artifact;

uint64_t ArtifactWriter::addImage(std::span<const uint8_t> bytes) {
  images.resize(alignTo(images.size(), 16));
  uint64_t offset = images.size();
  images.insert(images.end(), bytes.begin(), bytes.end());
  return offset;
}

uint64_t ArtifactWriter::addConstant(std::span<const uint8_t> bytes) {
  uint64_t offset = alignTo(constantsSize, constantAlignment);
  constants.emplace_back(offset, bytes);
  constantsSize = offset + bytes.size();
  return offset;
}

namespace {
/// A file that remembers its first error and hashes what it is told to by chunks.
class Output {
public:
  explicit Output(int fd) : fd(fd) {}
  void bytes(std::span<const uint8_t> data) {
    position += data.size();
    while (!data.empty() && !error) {
      ssize_t n = ::write(fd, data.data(), std::min<size_t>(data.size(), 64u << 20));
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        error = n < 0 ? errno : EIO;
      else
        data = data.subspan(size_t(n));
    }
  }
  void hashed(std::span<const uint8_t> data) {
    bytes(data);
    while (!data.empty()) {
      size_t taken = std::min<uint64_t>(data.size(), chunkSize - inChunk);
      hash.update(data.first(taken));
      inChunk += taken;
      if (inChunk == chunkSize)
        finishChunk();
      data = data.subspan(taken);
    }
  }
  void pad(uint64_t to) {
    static const uint8_t zeros[pageSize] = {};
    while (position < to)
      hashed({zeros, size_t(std::min<uint64_t>(to - position, pageSize))});
  }
  void finishChunk() {
    if (inChunk)
      digests.push_back(hash.finish());
    hash = Sha256();
    inChunk = 0;
  }
  int error = 0;
  uint64_t position = 0;
  std::vector<Digest> digests;

private:
  int fd;
  Sha256 hash;
  uint64_t inChunk = 0;
};
} // namespace

static std::span<const uint8_t> asBytes(const Header &header) { return {reinterpret_cast<const uint8_t *>(&header), sizeof(Header)}; }

Status ArtifactWriter::write(const std::string &path) const {
  Header header = {};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = formatVersion;
  header.headerSize = sizeof(Header);
  header.plan = {sizeof(Header), plan.size()};
  uint64_t chunksAt = alignTo(header.plan.offset + plan.size(), 16);
  // The number of chunks depends on where the constants begin, and that on the size of the chunk table: hashing starts
  // at the images, whose distance to the constants is made independent of the table by aligning the images to a page.
  uint64_t hashedSize = constants.empty() ? images.size() : alignTo(images.size(), pageSize) + constantsSize;
  uint64_t count = (hashedSize + chunkSize - 1) / chunkSize;
  header.chunks = {chunksAt, count * sizeof(Digest)};
  header.images = {alignTo(chunksAt + header.chunks.size, pageSize), images.size()};
  header.constants = {header.images.offset + (constants.empty() ? images.size() : alignTo(images.size(), pageSize)), constantsSize};
  header.fileSize = header.images.offset + hashedSize;

  // The file is replaced as a whole, which must not happen to /dev/null.
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return Status::machine("cannot write " + path + ": it is not a regular file");
  std::string temporary = path + ".tmp" + std::to_string(getpid());
  int fd = ::open(temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
  if (fd < 0)
    return Status::machine("cannot write " + path + ": " + std::strerror(errno));
  auto fail = [&](int error) {
    ::close(fd);
    ::unlink(temporary.c_str());
    return Status::machine("cannot write " + path + ": " + std::strerror(error));
  };
  if (::lseek(fd, off_t(header.images.offset), SEEK_SET) < 0)
    return fail(errno);
  Output body(fd);
  body.hashed(images);
  if (!constants.empty())
    body.pad(header.constants.offset - header.images.offset);
  for (auto &[offset, bytes] : constants) {
    body.pad(header.constants.offset - header.images.offset + offset);
    body.hashed(bytes);
  }
  body.finishChunk();
  if (body.error)
    return fail(body.error);

  Sha256 root;
  root.update(asBytes(header));
  root.update(plan);
  for (const Digest &digest : body.digests)
    root.update(digest);
  Digest digest = root.finish();
  std::memcpy(header.rootHash, digest.data(), digest.size());
  if (::lseek(fd, 0, SEEK_SET) < 0)
    return fail(errno);
  Output head(fd);
  head.bytes(asBytes(header));
  head.bytes(plan);
  head.pad(chunksAt);
  for (const Digest &chunk : body.digests)
    head.bytes(chunk);
  head.pad(header.images.offset);
  if (head.error)
    return fail(head.error);
  if (::close(fd) < 0 || ::rename(temporary.c_str(), path.c_str()) < 0) {
    int error = errno;
    ::unlink(temporary.c_str());
    return Status::machine("cannot write " + path + ": " + std::strerror(error));
  }
  return Status::success();
}

} // namespace weft
