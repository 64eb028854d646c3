// NumPy's .npy files: see Npy.h.
#include "runtime/io/Npy.h"
#include "runtime/io/File.h"
#include "runtime/io/NpyHeader.h"
#include <algorithm>
#include <cstring>

namespace weft {
using plan::ElementType;

namespace {
/// How an element type looks in a file: as NumPy's own type, or as raw bits.
struct FileType {
  ElementType type;
  char kind;           // of NumPy, as this writes it
  unsigned size;       // bytes per element in the file
  const char *mlDtype; // the name in ml_dtypes, or "" where NumPy has the type itself
};
constexpr FileType fileTypes[] = {
    {ElementType::float32, 'f', 4, ""},
    {ElementType::uint8, 'u', 1, ""},
    {ElementType::int8, 'i', 1, ""},
    {ElementType::uint16, 'u', 2, ""},
    {ElementType::int16, 'i', 2, ""},
    {ElementType::int32, 'i', 4, ""},
    {ElementType::int64, 'i', 8, ""},
    {ElementType::string, 'U', 0, ""},
    {ElementType::bool_, 'b', 1, ""},
    {ElementType::float16, 'f', 2, ""},
    {ElementType::float64, 'f', 8, ""},
    {ElementType::uint32, 'u', 4, ""},
    {ElementType::uint64, 'u', 8, ""},
    {ElementType::complex64, 'c', 8, ""},
    {ElementType::complex128, 'c', 16, ""},
    {ElementType::bfloat16, 'u', 2, "bfloat16"},
    {ElementType::float8e4m3fn, 'u', 1, "float8_e4m3fn"},
    {ElementType::float8e4m3fnuz, 'u', 1, "float8_e4m3fnuz"},
    {ElementType::float8e5m2, 'u', 1, "float8_e5m2"},
    {ElementType::float8e5m2fnuz, 'u', 1, "float8_e5m2fnuz"},
    {ElementType::uint4, 'u', 1, "uint4"},
    {ElementType::int4, 'u', 1, "int4"},
    {ElementType::float4e2m1, 'u', 1, "float4_e2m1fn"},
    {ElementType::float8e8m0, 'u', 1, "float8_e8m0fnu"},
    {ElementType::uint2, 'u', 1, "uint2"},
    {ElementType::int2, 'u', 1, "int2"},
};

const FileType *findType(ElementType type) {
  auto at = std::ranges::find(fileTypes, type, &FileType::type);
  return at == std::end(fileTypes) ? nullptr : at;
}

/// True where a file's type can hold the element type.
bool matches(const npy::Type &file, const FileType &wanted) {
  if (!file.name.empty())
    return file.name == wanted.mlDtype;
  if (wanted.type == ElementType::string)
    return file.kind == 'U' || file.kind == 'S';
  if (file.size != wanted.size)
    return false;
  if (file.kind == wanted.kind)
    return true;
  // What numpy.save makes of ml_dtypes' arrays, besides the raw unsigned integers.
  bool narrow = bitWidth(wanted.type) < 8;
  return *wanted.mlDtype && (file.kind == 'V' || (file.kind == 'f' && file.size == 1) || (file.kind == 'i' && narrow));
}

std::string describe(const FileType &type) {
  std::string text = std::string("tensor(") + ortTypeName(type.type) + ")";
  if (*type.mlDtype)
    text += " as '" + std::string(type.size == 2 ? "<u2" : "|u1") + "' (raw bits)";
  else if (type.type == ElementType::string)
    text += " as '<U'";
  else
    text += " as '" + std::string(type.size == 1 ? "|" : "<") + type.kind + std::to_string(type.size) + "'";
  return text;
}

/// Elements of a shape; false on overflow. 0 where any dimension is 0.
bool countElements(const std::vector<int64_t> &shape, uint64_t &count) {
  count = 1;
  if (std::ranges::find(shape, 0) != shape.end()) {
    count = 0;
    return true;
  }
  for (int64_t dim : shape)
    if (__builtin_mul_overflow(count, uint64_t(dim), &count))
      return false;
  return true;
}

/// Calls `take(k, position)` for each element k in row-major order, with its place in the file.
template <typename Take>
void forEachElement(const std::vector<int64_t> &shape, bool fortranOrder, uint64_t count, Take take) {
  if (!fortranOrder || shape.size() < 2) {
    for (uint64_t i = 0; i < count; ++i)
      take(i, i);
    return;
  }
  std::vector<uint64_t> strides(shape.size()), index(shape.size(), 0);
  uint64_t stride = 1, position = 0;
  for (size_t d = 0; d < shape.size(); stride *= uint64_t(shape[d]), ++d)
    strides[d] = stride;
  for (uint64_t i = 0; i < count; ++i) {
    take(i, position);
    for (size_t d = shape.size(); d-- > 0;) {
      position += strides[d];
      if (++index[d] < uint64_t(shape[d]))
        break;
      position -= strides[d] * uint64_t(shape[d]);
      index[d] = 0;
    }
  }
}

void appendUtf8(std::string &out, uint32_t c) {
  auto put = [&](uint32_t byte) { out.push_back(char(byte)); };
  if (c < 0x80)
    return put(c);
  if (c < 0x800)
    return put(0xC0 | c >> 6), put(0x80 | (c & 63));
  if (c < 0x10000)
    return put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
  put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
}

/// UTF-8 to code points; false for anything else (overlong forms and surrogates too).
bool decodeUtf8(const std::string &text, std::vector<uint32_t> &out) {
  constexpr uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  out.clear();
  for (size_t i = 0; i < text.size();) {
    uint8_t lead = uint8_t(text[i++]);
    unsigned more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : 4;
    if (more == 4 || more > text.size() - i)
      return false;
    uint32_t c = more ? lead & (0x3F >> more) : lead;
    for (unsigned k = 0; k < more; ++k, ++i) {
      if ((uint8_t(text[i]) & 0xC0) != 0x80)
        return false;
      c = c << 6 | (uint8_t(text[i]) & 63);
    }
    if (c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
      return false;
    out.push_back(c);
  }
  return true;
}

Status readStrings(const npy::Type &type, const uint8_t *data, uint64_t count, bool fortranOrder, Array &out) {
  out.strings.resize(count);
  size_t width = type.kind == 'U' ? 4 : 1;
  bool good = true;
  forEachElement(out.shape, fortranOrder, count, [&](uint64_t k, uint64_t position) {
    const uint8_t *bytes = data + position * type.size;
    uint64_t length = type.size / width;
    auto point = [&](uint64_t i) {
      uint32_t c = 0;
      for (size_t b = 0; b < width; ++b)
        c |= uint32_t(bytes[i * width + (type.bigEndian ? width - 1 - b : b)]) << 8 * b;
      return c;
    };
    while (length && point(length - 1) == 0)
      --length;
    for (uint64_t i = 0; i < length; ++i) {
      uint32_t c = point(i);
      good = good && c <= 0x10FFFF && !(c >= 0xD800 && c < 0xE000);
      width == 4 ? appendUtf8(out.strings[k], good ? c : '?') : out.strings[k].push_back(char(c));
    }
  });
  return good ? Status::success() : Status::invalid("a string holds a number that is no Unicode code point");
}

/// Values of fewer than 8 bits, one per byte in the file, packed in the array.
Status readNarrow(ElementType type, const uint8_t *data, uint64_t count, bool fortranOrder, Array &out) {
  unsigned bits = bitWidth(type), mask = (1u << bits) - 1, perByte = 8 / bits;
  bool isSigned = type == ElementType::int4 || type == ElementType::int2;
  int wrong = -1;
  out.bytes.assign(byteSize(type, count), 0);
  forEachElement(out.shape, fortranOrder, count, [&](uint64_t k, uint64_t position) {
    unsigned value = data[position];
    bool extended = isSigned && (value | mask >> 1) == 0xFF; // -1 as 0xFF is accepted beside 0x0F
    if (value > mask && !extended)
      wrong = int(value);
    out.bytes[k / perByte] |= uint8_t((value & mask) << k % perByte * bits);
  });
  if (wrong >= 0)
    return Status::invalid("the value " + std::to_string(wrong) + " does not fit " + ortTypeName(type) +
                           "; expected raw bits up to " + std::to_string(mask));
  return Status::success();
}

void readPlain(const npy::Type &type, ElementType element, const uint8_t *data, uint64_t count, bool fortranOrder,
               Array &out) {
  size_t size = type.size, part = type.kind == 'c' ? size / 2 : size;
  out.bytes.resize(count * size);
  if (!count)
    return;
  if (!fortranOrder || out.shape.size() < 2)
    std::memcpy(out.bytes.data(), data, count * size);
  else
    forEachElement(out.shape, true, count, [&](uint64_t k, uint64_t position) {
      std::memcpy(&out.bytes[k * size], data + position * size, size);
    });
  if (type.bigEndian && part > 1)
    for (auto at = out.bytes.begin(); at != out.bytes.end(); at += ptrdiff_t(part))
      std::reverse(at, at + ptrdiff_t(part));
  if (element == ElementType::bool_)
    for (uint8_t &byte : out.bytes)
      byte = byte != 0;
}
} // namespace

Status parseNpy(std::span<const uint8_t> file, ElementType expected, Array &out) {
  npy::Header header;
  npy::Type type;
  WEFT_TRY(npy::parseHeader(file, header));
  WEFT_TRY(npy::parseType(header.descr, type));
  const FileType *wanted = nullptr;
  if (expected != ElementType::undefined) {
    wanted = findType(expected);
    if (!wanted || !matches(type, *wanted))
      return Status::invalid("expected " + (wanted ? describe(*wanted) : "a known type") + ", the file holds '" +
                             header.descr + "'");
  } else {
    auto at = std::ranges::find_if(fileTypes, [&](const FileType &known) {
      return type.kind != 'V' || !type.name.empty() ? matches(type, known) : false;
    });
    if (at == std::end(fileTypes))
      return Status::invalid("the .npy type '" + header.descr + "' is no ONNX type");
    wanted = at;
  }
  uint64_t count, bytes, found = file.size() - header.dataOffset;
  if (!countElements(header.shape, count) || __builtin_mul_overflow(count, type.size, &bytes))
    return Status::invalid("the shape " + shapeText(header.shape) + " has too many elements");
  if (type.size == 0 && count > 0)
    return Status::invalid("the .npy type '" + header.descr + "' has no bytes");
  if (bytes != found)
    return Status::invalid("shape " + shapeText(header.shape) + " of '" + header.descr + "' needs " +
                           std::to_string(bytes) + " bytes of data, the file holds " + std::to_string(found));
  out = {};
  out.type = wanted->type;
  out.shape = header.shape;
  const uint8_t *data = file.data() + header.dataOffset;
  if (wanted->type == ElementType::string)
    return readStrings(type, data, count, header.fortranOrder, out);
  if (bitWidth(wanted->type) < 8)
    return readNarrow(wanted->type, data, count, header.fortranOrder, out);
  readPlain(type, wanted->type, data, count, header.fortranOrder, out);
  return Status::success();
}

Status readNpy(const std::string &path, ElementType expected, Array &out) {
  std::vector<uint8_t> file;
  WEFT_TRY(readFile(path, file));
  Status status = parseNpy(file, expected, out);
  return status.ok() ? status : Status{status.code, path + ": " + status.message};
}

static Status encodeStrings(const Array &array, std::vector<uint8_t> &file) {
  std::vector<std::vector<uint32_t>> points(array.strings.size());
  size_t longest = 1; // NumPy writes '<U1' for empty strings too
  for (size_t i = 0; i < points.size(); ++i) {
    if (!decodeUtf8(array.strings[i], points[i]))
      return Status::invalid("string " + std::to_string(i) + " is not UTF-8: a .npy file cannot hold it");
    longest = std::max(longest, points[i].size());
  }
  WEFT_TRY(npy::encodeHeader("<U" + std::to_string(longest), array.shape, file));
  for (auto &text : points) {
    text.resize(longest, 0);
    for (uint32_t c : text)
      for (int shift = 0; shift < 32; shift += 8)
        file.push_back(uint8_t(c >> shift));
  }
  return Status::success();
}

Status encodeNpy(const Array &array, std::vector<uint8_t> &file) {
  const FileType *type = findType(array.type);
  uint64_t count;
  if (!type || !countElements(array.shape, count))
    return Status::invalid("an array of unknown type or impossible shape " + shapeText(array.shape) +
                           " cannot be written");
  bool isString = array.type == ElementType::string;
  if (isString ? array.strings.size() != count : array.bytes.size() != byteSize(array.type, count))
    return Status::invalid("an array of shape " + shapeText(array.shape) + " has " +
                           std::to_string(isString ? array.strings.size() : array.bytes.size()) +
                           (isString ? " strings" : " bytes"));
  if (isString)
    return encodeStrings(array, file);
  std::string descr = std::string(type->size == 1 ? "|" : "<") + type->kind + std::to_string(type->size);
  WEFT_TRY(npy::encodeHeader(descr, array.shape, file));
  unsigned bits = bitWidth(array.type);
  if (bits >= 8) {
    file.insert(file.end(), array.bytes.begin(), array.bytes.end());
    return Status::success();
  }
  unsigned perByte = 8 / bits, mask = (1u << bits) - 1;
  for (uint64_t i = 0; i < count; ++i)
    file.push_back(uint8_t(array.bytes[i / perByte] >> i % perByte * bits & mask));
  return Status::success();
}

Status writeNpy(const std::string &path, const Array &array) {
  std::vector<uint8_t> file;
  WEFT_TRY(encodeNpy(array, file));
  return writeFile(path, file);
}

} // namespace weft
