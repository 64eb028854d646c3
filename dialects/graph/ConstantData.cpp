// Bytes of constants: see ConstantData.h.
#include "dialects/graph/ConstantData.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;
namespace weft::graph {

unsigned storedBits(Type elementType) { return elementType.isInteger(1) ? 8 : elementType.getIntOrFloatBitWidth(); }

uint64_t storedBytes(RankedTensorType type) {
  return llvm::divideCeil(uint64_t(type.getNumElements()) * storedBits(type.getElementType()), 8);
}

/// 4- and 2-bit elements, which attributes hold one per byte.
static std::string pack(DenseElementsAttr dense, unsigned bits) {
  std::string bytes(llvm::divideCeil(dense.getNumElements() * bits, 8), 0);
  auto put = [&](int64_t i, uint64_t value) {
    bytes[i * bits / 8] |= char((value & ((1u << bits) - 1)) << (i * bits % 8));
  };
  if (isa<FloatType>(dense.getElementType()))
    for (auto [i, value] : llvm::enumerate(dense.getValues<APFloat>()))
      put(i, value.bitcastToAPInt().getZExtValue());
  else
    for (auto [i, value] : llvm::enumerate(dense.getValues<APInt>()))
      put(i, value.getZExtValue());
  return bytes;
}

static std::string expand(DenseElementsAttr dense) {
  Type type = dense.getElementType();
  unsigned bits = storedBits(type);
  std::string bytes;
  if (type.isInteger(1)) {
    for (bool value : dense.getValues<bool>())
      bytes.push_back(value);
    return bytes;
  }
  if (bits < 8)
    return pack(dense, bits);
  int64_t count = dense.getNumElements();
  StringRef raw(dense.getRawData().data(), dense.getRawData().size());
  if (count == 0)
    return "";
  bytes.reserve(count * bits / 8);
  for (int64_t i = 0; i < (dense.isSplat() ? count : 1); ++i)
    bytes.append(raw.begin(), raw.end());
  return bytes;
}

std::optional<StringRef> readBytes(ElementsAttr value, std::string &storage) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return std::nullopt;
    return StringRef(blob->getData().data(), blob->getData().size());
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return std::nullopt;
  storage = expand(dense);
  return StringRef(storage);
}

/// Whether all elements are equal.
static bool isSplat(StringRef bytes, unsigned size) {
  return bytes.size() > size && std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

ElementsAttr makeElements(RankedTensorType type, StringRef bytes) {
  constexpr size_t maxInline = 1024;
  Type element = type.getElementType();
  unsigned bits = storedBits(element);
  bool isOne = bits >= 8 && (bytes.size() == bits / 8 || isSplat(bytes, bits / 8));
  if (element.isInteger(1) && (isOne || bytes.size() <= maxInline)) {
    SmallVector<bool> values;
    for (char c : isOne ? bytes.take_front(1) : bytes)
      values.push_back(c != 0);
    return DenseElementsAttr::get(type, values);
  }
  if (isOne)
    return DenseElementsAttr::getFromRawBuffer(type, ArrayRef(bytes.data(), bits / 8));
  if (bits >= 8 && bytes.size() <= maxInline && !element.isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, ArrayRef(bytes.data(), bytes.size()));
  AsmResourceBlob blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(ArrayRef(bytes.data(), bytes.size()), 64);
  return DenseResourceElementsAttr::get(type, "folded", std::move(blob));
}

} // namespace weft::graph
