// The header of a .npy file as data. Internal to runtime/io.
#ifndef WEFT_RUNTIME_IO_NPYHEADER_H
#define WEFT_RUNTIME_IO_NPYHEADER_H

#include "runtime/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::npy {

struct Header {
  std::string descr; // as the file spells it
  bool fortranOrder = false;
  std::vector<int64_t> shape;
  size_t dataOffset = 0; // bytes from the start of the file
};

/// Reads magic, version and the dictionary. The shape's numbers are at least 0 and at most 64 in count.
Status parseHeader(std::span<const uint8_t> file, Header &out);

/// Magic, version 1.0 and dictionary, padded so that the data is 64-byte aligned.
Status encodeHeader(const std::string &descr, const std::vector<int64_t> &shape, std::vector<uint8_t> &file);

/// Element type of a `descr`: kind (as NumPy: b i u f c V U S), bytes per element, byte order. ml_dtypes' names
/// ("bfloat16", "float8_e4m3fn", "int4") become V with their `name` kept.
struct Type {
  char kind = 0;
  uint64_t size = 0;
  bool bigEndian = false;
  std::string name;
};
Status parseType(const std::string &descr, Type &out);

} // namespace weft::npy
#endif
