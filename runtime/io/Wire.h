// A reader of protobuf's wire format. Never reads outside the bytes it was given; a message that breaks off or has a
// wire type that does not exist ends it with `failed`.
#ifndef WEFT_RUNTIME_IO_WIRE_H
#define WEFT_RUNTIME_IO_WIRE_H

#include <cstdint>
#include <span>

namespace weft {

class WireReader {
public:
  enum Type : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  struct Field {
    uint32_t number = 0;
    Type type = varint;
    uint64_t value = 0;               // varint, fixed64, fixed32
    std::span<const uint8_t> content; // bytes
  };

  explicit WireReader(std::span<const uint8_t> data) : data(data) {}
  bool failed() const { return bad; }
  bool atEnd() const { return at == data.size(); }

  /// The next field; false at the end and on failure.
  bool next(Field &field) {
    uint64_t tag;
    if (bad || atEnd() || !readVarint(tag))
      return false;
    field = {};
    field.number = uint32_t(tag >> 3);
    field.type = Type(tag & 7);
    if (tag >> 32 || field.number == 0)
      return fail();
    switch (tag & 7) {
    case varint:
      return readVarint(field.value);
    case fixed64:
      return readFixed(8, field.value);
    case fixed32:
      return readFixed(4, field.value);
    case bytes: {
      uint64_t size;
      if (!readVarint(size))
        return false;
      if (size > data.size() - at)
        return fail();
      field.content = data.subspan(at, size);
      at += size;
      return true;
    }
    default:
      return fail(); // groups, which ONNX does not use, and numbers without a meaning
    }
  }
  bool readVarint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at == data.size())
        return fail();
      uint8_t byte = data[at++];
      if (shift < 64)
        value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80)
        return true;
    }
    return fail();
  }
  /// Little-endian, `size` bytes.
  bool readFixed(unsigned size, uint64_t &value) {
    if (size > data.size() - at)
      return fail();
    value = 0;
    for (unsigned i = 0; i < size; ++i)
      value |= uint64_t(data[at++]) << 8 * i;
    return true;
  }

private:
  bool fail() {
    bad = true;
    return false;
  }
  std::span<const uint8_t> data;
  size_t at = 0;
  bool bad = false;
};

} // namespace weft
#endif
