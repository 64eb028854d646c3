// ONNX's TensorProto: see ProtoTensor.h.
#include "runtime/io/ProtoTensor.h"
#include "runtime/io/File.h"
#include "runtime/io/Wire.h"
#include <algorithm>
#include <iterator>

namespace weft {
using plan::ElementType;

namespace {
/// Numbers of TensorProto's fields.
enum Number : uint32_t {
  dims = 1,
  dataType = 2,
  segment = 3,
  floatData = 4,
  int32Data = 5,
  stringData = 6,
  int64Data = 7,
  rawData = 9,
  doubleData = 10,
  uint64Data = 11,
  externalData = 13,
  dataLocation = 14
};
const char *nameOf(uint32_t number) {
  switch (number) {
  case dims:
    return "dims";
  case dataType:
    return "data_type";
  case segment:
    return "segment";
  case floatData:
    return "float_data";
  case int32Data:
    return "int32_data";
  case stringData:
    return "string_data";
  case int64Data:
    return "int64_data";
  case rawData:
    return "raw_data";
  case doubleData:
    return "double_data";
  case uint64Data:
    return "uint64_data";
  case externalData:
    return "external_data";
  case dataLocation:
    return "data_location";
  default:
    return "unknown";
  }
}

/// The typed field that holds a type's values where raw_data does not.
uint32_t dataField(ElementType type) {
  switch (type) {
  case ElementType::float32:
  case ElementType::complex64:
    return floatData;
  case ElementType::float64:
  case ElementType::complex128:
    return doubleData;
  case ElementType::int64:
    return int64Data;
  case ElementType::uint32:
  case ElementType::uint64:
    return uint64Data;
  case ElementType::string:
    return stringData;
  case ElementType::undefined:
    return 0;
  case ElementType::uint8:
  case ElementType::int8:
  case ElementType::uint16:
  case ElementType::int16:
  case ElementType::int32:
  case ElementType::bool_:
  case ElementType::float16:
  case ElementType::bfloat16:
  case ElementType::float8e4m3fn:
  case ElementType::float8e4m3fnuz:
  case ElementType::float8e5m2:
  case ElementType::float8e5m2fnuz:
  case ElementType::float8e8m0:
  case ElementType::uint4:
  case ElementType::int4:
  case ElementType::float4e2m1:
  case ElementType::uint2:
  case ElementType::int2:
    return int32Data;
  }
  return 0;
}

struct Message {
  std::vector<int64_t> dims;
  uint64_t type = 0;
  bool external = false, hasRaw = false;
  uint32_t filled = 0; // number of the one typed data field that has values
  std::span<const uint8_t> raw;
  std::vector<uint64_t> values; // of the typed field, as bits
  std::vector<std::string> strings;
};

/// Adds the values of a repeated scalar field, packed or not. `fixedSize` is 0 for varints.
bool readValues(const WireReader::Field &field, unsigned fixedSize, std::vector<uint64_t> &out) {
  WireReader::Type single = fixedSize == 8   ? WireReader::fixed64
                            : fixedSize == 4 ? WireReader::fixed32
                                             : WireReader::varint;
  if (field.type == single) {
    out.push_back(field.value);
    return true;
  }
  if (field.type != WireReader::bytes)
    return false;
  WireReader packed(field.content);
  while (!packed.atEnd()) {
    uint64_t value;
    if (!(fixedSize ? packed.readFixed(fixedSize, value) : packed.readVarint(value)))
      return false;
    out.push_back(value);
  }
  return true;
}

/// Files a typed data field; false where the wire type is wrong.
bool readData(const WireReader::Field &field, Message &message) {
  if (field.number != stringData)
    return readValues(field, field.number == floatData ? 4 : field.number == doubleData ? 8 : 0, message.values);
  if (field.type != WireReader::bytes)
    return false;
  message.strings.emplace_back(field.content.begin(), field.content.end());
  return true;
}

Status readMessage(std::span<const uint8_t> file, Message &message) {
  WireReader reader(file);
  WireReader::Field field;
  auto wrong = [&] { return Status::invalid(std::string("TensorProto.") + nameOf(field.number) + " is malformed"); };
  while (reader.next(field)) {
    switch (field.number) {
    case dims: {
      std::vector<uint64_t> values;
      if (!readValues(field, 0, values))
        return wrong();
      message.dims.insert(message.dims.end(), values.begin(), values.end());
      break;
    }
    case dataType:
      if (field.type != WireReader::varint)
        return wrong();
      message.type = field.value;
      break;
    case segment:
      return Status::invalid("TensorProto.segment: tensors in segments are not read");
    case floatData:
    case int32Data:
    case stringData:
    case int64Data:
    case doubleData:
    case uint64Data:
      if (field.type == WireReader::bytes && field.content.empty() && field.number != stringData)
        break; // an empty packed field
      if (message.filled && message.filled != field.number)
        return Status::invalid(std::string("TensorProto has both ") + nameOf(message.filled) + " and " +
                               nameOf(field.number));
      message.filled = field.number;
      if (!readData(field, message))
        return wrong();
      break;
    case rawData:
      if (field.type != WireReader::bytes)
        return wrong();
      message.raw = field.content;
      message.hasRaw = true;
      break;
    case dataLocation:
      if (field.type != WireReader::varint)
        return wrong();
      message.external |= field.value != 0;
      break;
    case externalData:
      message.external = true;
      break;
    default:
      break; // name, doc_string, metadata_props, what later versions add
    }
  }
  if (reader.failed())
    return Status::invalid("it is not a TensorProto, or it breaks off");
  return Status::success();
}

Status countElements(const std::vector<int64_t> &dims, uint64_t &count) {
  count = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 0)
      return Status::invalid("TensorProto.dims[" + std::to_string(i) + "] is " + std::to_string(dims[i]) +
                             ", which is negative");
  if (std::ranges::find(dims, 0) != dims.end())
    count = 0;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, uint64_t(dim), &count) || count > uint64_t(1) << 56)
      return Status::invalid("TensorProto.dims: " + shapeText(dims) + " has too many elements");
  return Status::success();
}

/// `bytes` little-endian bytes of each value. int32_data holds narrow types sign- or zero-extended; larger numbers are
/// wrong.
Status packValues(const Message &message, ElementType type, unsigned bytes, std::vector<uint8_t> &out) {
  out.reserve(message.values.size() * bytes);
  for (uint64_t value : message.values) {
    int64_t number = int64_t(value);
    if (type == ElementType::bool_) {
      out.push_back(number != 0);
      continue;
    }
    int64_t limit = bytes < 8 ? int64_t(1) << 8 * bytes : 0;
    if (limit && message.filled != floatData && (number < -limit / 2 || number >= limit))
      return Status::invalid(std::string("TensorProto.") + nameOf(message.filled) + " holds " + std::to_string(number) +
                             ", which does not fit " + ortTypeName(type));
    for (unsigned b = 0; b < bytes; ++b)
      out.push_back(uint8_t(value >> 8 * b));
  }
  return Status::success();
}
} // namespace

/// The data of a tensor of `count` elements into `out`, whose type and shape are set.
static Status takeData(Message &message, uint64_t count, Array &out) {
  auto amount = [&](const char *field, uint64_t wanted, uint64_t found, const char *unit) {
    return Status::invalid(std::string("TensorProto.") + field + " has " + std::to_string(found) + unit + ", shape " +
                           shapeText(out.shape) + " of " + ortTypeName(out.type) + " needs " + std::to_string(wanted));
  };
  uint32_t wantedField = dataField(out.type);
  if (message.filled && (message.filled != wantedField || !message.raw.empty()))
    return Status::invalid(std::string("TensorProto.") + nameOf(message.filled) + " does not belong to a tensor of " +
                           ortTypeName(out.type) + (message.raw.empty() ? "" : " that has raw_data"));
  if (out.type == ElementType::string) {
    if (message.hasRaw && !message.raw.empty())
      return Status::invalid("TensorProto.raw_data holds no strings; expected string_data");
    if (message.strings.size() != count)
      return amount("string_data", count, message.strings.size(), " strings");
    out.strings = std::move(message.strings);
    return Status::success();
  }
  uint64_t size = byteSize(out.type, count);
  unsigned bits = bitWidth(out.type);
  if (message.filled) {
    // int32_data holds a byte of packed values in each number; complex values are pairs.
    unsigned bytes = out.type == ElementType::complex64    ? 4
                     : out.type == ElementType::complex128 ? 8
                                                           : std::max(bits / 8, 1u);
    if (message.values.size() != size / bytes)
      return amount(nameOf(wantedField), size / bytes, message.values.size(), " values");
    WEFT_TRY(packValues(message, out.type, bytes, out.bytes));
  } else {
    if (message.raw.size() != size)
      return amount(message.hasRaw ? "raw_data" : nameOf(wantedField), size, message.raw.size(), " bytes");
    out.bytes.assign(message.raw.begin(), message.raw.end());
    if (out.type == ElementType::bool_)
      for (uint8_t &byte : out.bytes)
        byte = byte != 0;
  }
  // Unused bits of the last byte are 0, whatever the file has.
  if (unsigned used = unsigned(count % (8 / std::min(bits, 8u)) * bits); bits < 8 && used)
    out.bytes.back() &= uint8_t((1u << used) - 1);
  return Status::success();
}

Status parseProtoTensor(std::span<const uint8_t> file, ElementType expected, Array &out) {
  Message message;
  WEFT_TRY(readMessage(file, message));
  if (message.external)
    return Status::invalid("TensorProto.external_data: data in another file is not read for an input");
  if (message.type == 0 || message.type > uint64_t(ElementType::MAX))
    return Status::invalid("TensorProto.data_type " + std::to_string(message.type) + " is no ONNX type");
  ElementType type = ElementType(message.type);
  if (expected != ElementType::undefined && type != expected)
    return Status::invalid(std::string("expected tensor(") + ortTypeName(expected) +
                           "), TensorProto.data_type is tensor(" + ortTypeName(type) + ")");
  constexpr size_t maxRank = 64;
  if (message.dims.size() > maxRank)
    return Status::invalid("TensorProto.dims has " + std::to_string(message.dims.size()) +
                           " entries, at most 64 are read");
  uint64_t count;
  WEFT_TRY(countElements(message.dims, count));
  out = {};
  out.type = type;
  out.shape = message.dims;
  return takeData(message, count, out);
}

Status readProtoTensor(const std::string &path, ElementType expected, Array &out) {
  std::vector<uint8_t> file;
  WEFT_TRY(readFile(path, file));
  Status status = parseProtoTensor(file, expected, out);
  return status.ok() ? status : Status{status.code, path + ": " + status.message};
}

} // namespace weft
