// Files for the tests, built byte by byte so that nothing is compared with itself.
#ifndef WEFT_TEST_RUNTIME_IO_BUILDERS_H
#define WEFT_TEST_RUNTIME_IO_BUILDERS_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace weft::test {
using Bytes = std::vector<uint8_t>;

/// A .npy file of one version; the header text is taken as it is.
inline Bytes npyFile(const std::string &header, const Bytes &data, int version = 1) {
  Bytes file = {0x93, 'N', 'U', 'M', 'P', 'Y', uint8_t(version), 0};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file.push_back(uint8_t(header.size() >> 8 * i));
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}
inline std::string npyHeader(const std::string &descr, const std::string &shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape +
         ", }\n";
}

template <typename T> Bytes bytesOf(std::initializer_list<T> values) {
  Bytes out(values.size() * sizeof(T));
  if (values.size())
    std::memcpy(out.data(), values.begin(), out.size());
  return out;
}

/// A protobuf message, field by field.
struct Proto {
  Bytes bytes;
  Proto &raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes.push_back(uint8_t(value | 0x80));
    bytes.push_back(uint8_t(value));
    return *this;
  }
  Proto &number(uint32_t field, int64_t value) { return raw(field << 3).raw(uint64_t(value)); }
  Proto &content(uint32_t field, const Bytes &content) {
    raw(field << 3 | 2).raw(content.size());
    bytes.insert(bytes.end(), content.begin(), content.end());
    return *this;
  }
  Proto &packed(uint32_t field, std::initializer_list<int64_t> values) {
    Proto inner;
    for (int64_t value : values)
      inner.raw(uint64_t(value));
    return content(field, inner.bytes);
  }
  template <typename T> Proto &fixed(uint32_t field, T value) {
    raw(field << 3 | (sizeof(T) == 8 ? 1 : 5));
    Bytes inner = bytesOf<T>({value});
    bytes.insert(bytes.end(), inner.begin(), inner.end());
    return *this;
  }
};
} // namespace weft::test
#endif
