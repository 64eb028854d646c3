// A tensor in host memory, and what there is to know about element types.
#ifndef WEFT_RUNTIME_ARRAY_H
#define WEFT_RUNTIME_ARRAY_H

#include "runtime/artifact/Plan_generated.h"
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// Row-major, little-endian; a bool is one byte; 4- and 2-bit values are packed, the first in the low bits, as in ONNX.
/// Strings stand in `strings`, and `bytes` is empty.
struct Array {
  plan::ElementType type = plan::ElementType::undefined;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
  std::vector<std::string> strings;
};

/// Bits of one element in memory; 0 for strings.
unsigned bitWidth(plan::ElementType type);
/// As ONNX Runtime spells it inside tensor(...): "float", "int64", ...
const char *ortTypeName(plan::ElementType type);
/// Bytes of `count` elements.
uint64_t byteSize(plan::ElementType type, uint64_t count);
/// Element `index` as an integer or a double (floats). False for types that are no host scalars.
bool readScalar(plan::ElementType type, const uint8_t *bytes, uint64_t index, int64_t &integer, double &real);
bool isFloat(plan::ElementType type);
/// "[2, 3, 4]"
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace weft
#endif
