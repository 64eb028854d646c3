// Reading an artifact: see Reader.h.
#include "runtime/artifact/Reader.h"
#include "runtime/artifact/Sha256.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {
using namespace artifact;

Status Artifact::open(const std::string &path, std::unique_ptr<Artifact> &out) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return Status::invalid("cannot open " + path + ": " + std::strerror(errno));
  struct stat info;
  if (::fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return Status::invalid(path + " is not a regular file");
  }
  std::unique_ptr<Artifact> result(new Artifact);
  result->name = path;
  result->size = uint64_t(info.st_size);
  if (result->size < sizeof(Header)) {
    ::close(fd);
    return Status::invalid(path + " is not a Weft artifact: it has " + std::to_string(result->size) + " bytes, a header alone has 128");
  }
  void *mapped = ::mmap(nullptr, result->size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED)
    return Status::machine("cannot map " + path + ": " + std::strerror(errno));
  result->data = static_cast<const uint8_t *>(mapped);
  WEFT_TRY(result->check());
  out = std::move(result);
  return Status::success();
}

Artifact::~Artifact() {
  if (data)
    ::munmap(const_cast<uint8_t *>(data), size);
}

static bool allZero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

Status Artifact::check() {
  std::memcpy(&header, data, sizeof header);
  auto bad = [&](const std::string &why) { return Status::invalid(name + ": " + why); };
  if (std::memcmp(header.magic, magic, sizeof magic))
    return bad("not a Weft artifact (the first bytes differ)");
  if (header.version != formatVersion)
    return bad("artifact format version is " + std::to_string(header.version) + ", this runtime reads version " + std::to_string(formatVersion) +
               "; compile the model again");
  if (header.headerSize != sizeof(Header) || header.fileSize != size)
    return bad("the file has " + std::to_string(size) + " bytes, its header says " + std::to_string(header.fileSize) + ": truncated or extended");
  // The sections stand in one fixed order without overlap; each bound is checked before it is used.
  auto inside = [&](const Section &s, uint64_t from) { return s.offset >= from && s.offset <= size && s.size <= size - s.offset; };
  if (header.plan.offset != sizeof(Header) || !inside(header.plan, sizeof(Header)) ||
      header.chunks.offset != alignTo(header.plan.offset + header.plan.size, 16) || !inside(header.chunks, header.plan.offset + header.plan.size) ||
      header.chunks.size % sizeof(Digest) || header.images.offset != alignTo(header.chunks.offset + header.chunks.size, pageSize) ||
      !inside(header.images, header.chunks.offset + header.chunks.size) || !inside(header.constants, header.images.offset + header.images.size) ||
      header.constants.offset + header.constants.size != size || header.plan.size > (1u << 30))
    return bad("the header's sections do not fit the file");
  uint64_t chunks = (size - header.images.offset + chunkSize - 1) / chunkSize;
  if (header.chunks.size != chunks * sizeof(Digest))
    return bad("the chunk table has a wrong size");
  Header zeroed = header;
  std::memset(zeroed.rootHash, 0, sizeof zeroed.rootHash);
  Sha256 hash;
  hash.update({reinterpret_cast<const uint8_t *>(&zeroed), sizeof zeroed});
  hash.update(at(header.plan.offset, header.plan.size));
  hash.update(at(header.chunks.offset, header.chunks.size));
  Digest digest = hash.finish();
  if (std::memcmp(digest.data(), header.rootHash, digest.size()))
    return bad("the root hash does not match: header, plan or chunk table were changed");
  uint64_t planEnd = header.plan.offset + header.plan.size, chunksEnd = header.chunks.offset + header.chunks.size;
  if (!allZero(at(planEnd, header.chunks.offset - planEnd)) || !allZero(at(chunksEnd, header.images.offset - chunksEnd)))
    return bad("padding between sections is not zero");
  flatbuffers::Verifier verifier(data + header.plan.offset, header.plan.size, /*max_depth=*/64, /*max_tables=*/50'000'000);
  if (!plan::VerifyPlanBuffer(verifier))
    return bad("the plan is not a well-formed FlatBuffer");
  root = plan::GetPlan(data + header.plan.offset);
  Status valid = validatePlan(*root, header.images.size, header.constants.size);
  if (!valid.ok())
    return bad(valid.message);
  verified = std::make_unique<std::atomic<uint8_t>[]>(chunks);
  return Status::success();
}

std::span<const uint8_t> Artifact::constant(uint32_t number) const {
  const plan::Constant &constant = *root->constants()->Get(number);
  return at(header.constants.offset + constant.offset(), constant.bytes());
}

Status Artifact::verifyChunk(uint64_t chunk) const {
  if (verified[chunk].load(std::memory_order_acquire))
    return Status::success();
  uint64_t begin = header.images.offset + chunk * chunkSize;
  Digest digest = sha256(at(begin, std::min(chunkSize, size - begin)));
  if (std::memcmp(digest.data(), data + header.chunks.offset + chunk * sizeof(Digest), sizeof(Digest)))
    return Status::invalid(name + ": chunk " + std::to_string(chunk) + " (from byte " + std::to_string(begin) + ") does not match its hash: the file was changed");
  verified[chunk].store(1, std::memory_order_release);
  return Status::success();
}

Status Artifact::verify(std::span<const uint8_t> bytes) const {
  if (bytes.empty())
    return Status::success();
  uint64_t begin = uint64_t(bytes.data() - data) - header.images.offset;
  for (uint64_t chunk = begin / chunkSize; chunk <= (begin + bytes.size() - 1) / chunkSize; ++chunk)
    WEFT_TRY(verifyChunk(chunk));
  return Status::success();
}

Status Artifact::verifyAll() const { return verify(at(header.images.offset, size - header.images.offset)); }

} // namespace weft
