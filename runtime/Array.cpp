// Element types: see Array.h.
#include "runtime/Array.h"
#include <cmath>
#include <cstring>

namespace weft {
using plan::ElementType;

unsigned bitWidth(ElementType type) {
  switch (type) {
  case ElementType::undefined: case ElementType::string: return 0;
  case ElementType::uint2: case ElementType::int2: return 2;
  case ElementType::uint4: case ElementType::int4: case ElementType::float4e2m1: return 4;
  case ElementType::uint8: case ElementType::int8: case ElementType::bool_: case ElementType::float8e4m3fn: case ElementType::float8e4m3fnuz:
  case ElementType::float8e5m2: case ElementType::float8e5m2fnuz: case ElementType::float8e8m0: return 8;
  case ElementType::uint16: case ElementType::int16: case ElementType::float16: case ElementType::bfloat16: return 16;
  case ElementType::float32: case ElementType::int32: case ElementType::uint32: return 32;
  case ElementType::float64: case ElementType::int64: case ElementType::uint64: case ElementType::complex64: return 64;
  case ElementType::complex128: return 128;
  }
  return 0;
}

const char *ortTypeName(ElementType type) {
  switch (type) {
  case ElementType::undefined: return "undefined";
  case ElementType::float32: return "float";
  case ElementType::uint8: return "uint8";
  case ElementType::int8: return "int8";
  case ElementType::uint16: return "uint16";
  case ElementType::int16: return "int16";
  case ElementType::int32: return "int32";
  case ElementType::int64: return "int64";
  case ElementType::string: return "string";
  case ElementType::bool_: return "bool";
  case ElementType::float16: return "float16";
  case ElementType::float64: return "double";
  case ElementType::uint32: return "uint32";
  case ElementType::uint64: return "uint64";
  case ElementType::complex64: return "complex64";
  case ElementType::complex128: return "complex128";
  case ElementType::bfloat16: return "bfloat16";
  case ElementType::float8e4m3fn: return "float8e4m3fn";
  case ElementType::float8e4m3fnuz: return "float8e4m3fnuz";
  case ElementType::float8e5m2: return "float8e5m2";
  case ElementType::float8e5m2fnuz: return "float8e5m2fnuz";
  case ElementType::uint4: return "uint4";
  case ElementType::int4: return "int4";
  case ElementType::float4e2m1: return "float4e2m1";
  case ElementType::float8e8m0: return "float8e8m0";
  case ElementType::uint2: return "uint2";
  case ElementType::int2: return "int2";
  }
  return "unknown";
}

uint64_t byteSize(ElementType type, uint64_t count) { return (count * bitWidth(type) + 7) / 8; }

bool isFloat(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64 || type == ElementType::float16 || type == ElementType::bfloat16;
}

template <typename T> static T load(const uint8_t *bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

static double halfToDouble(uint16_t h) {
  int exponent = (h >> 10) & 31, mantissa = h & 1023;
  double value = exponent == 0 ? std::ldexp(mantissa, -24) : exponent == 31 ? (mantissa ? NAN : INFINITY) : std::ldexp(mantissa + 1024, exponent - 25);
  return h & 0x8000 ? -value : value;
}

bool readScalar(ElementType type, const uint8_t *bytes, uint64_t index, int64_t &integer, double &real) {
  switch (type) {
  case ElementType::bool_: integer = load<uint8_t>(bytes, index) != 0; break;
  case ElementType::uint8: integer = load<uint8_t>(bytes, index); break;
  case ElementType::int8: integer = load<int8_t>(bytes, index); break;
  case ElementType::uint16: integer = load<uint16_t>(bytes, index); break;
  case ElementType::int16: integer = load<int16_t>(bytes, index); break;
  case ElementType::uint32: integer = load<uint32_t>(bytes, index); break;
  case ElementType::int32: integer = load<int32_t>(bytes, index); break;
  case ElementType::uint64: case ElementType::int64: integer = load<int64_t>(bytes, index); break;
  case ElementType::float32: real = load<float>(bytes, index); return true;
  case ElementType::float64: real = load<double>(bytes, index); return true;
  case ElementType::float16: real = halfToDouble(load<uint16_t>(bytes, index)); return true;
  case ElementType::bfloat16: {
    uint32_t bits = uint32_t(load<uint16_t>(bytes, index)) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    real = value;
    return true;
  }
  default: return false;
  }
  real = double(integer);
  return true;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace weft
