// The artifact's constants section: see Constants.h.
#include "codegen/artifact/Constants.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Alignment.h"

using namespace mlir;
namespace weft {

unsigned storedBits(Type elementType) {
  return elementType.isInteger(1) ? 8 : elementType.getIntOrFloatBitWidth();
}

/// The elements of `dense` as bytes in memory.
static std::string expand(DenseElementsAttr dense) {
  Type type = dense.getElementType();
  unsigned bits = storedBits(type);
  int64_t count = dense.getNumElements();
  std::string bytes;
  if (type.isInteger(1)) {
    for (bool value : dense.getValues<bool>())
      bytes.push_back(value);
    return bytes;
  }
  if (bits >= 8) {
    StringRef raw(dense.getRawData().data(), dense.getRawData().size());
    bytes.reserve(count * bits / 8);
    for (int64_t i = 0; i < (dense.isSplat() ? count : 1); ++i)
      bytes.append(raw.begin(), raw.end());
    return count ? bytes : "";
  }
  bytes.assign(llvm::divideCeil(count * bits, 8), 0);
  auto put = [&](int64_t i, uint64_t value) {
    bytes[i * bits / 8] |= char((value & ((1u << bits) - 1)) << (i * bits % 8));
  };
  if (isa<FloatType>(type))
    for (auto [i, value] : llvm::enumerate(dense.getValues<APFloat>()))
      put(i, value.bitcastToAPInt().getZExtValue());
  else
    for (auto [i, value] : llvm::enumerate(dense.getValues<APInt>()))
      put(i, value.getZExtValue());
  return bytes;
}

int64_t Constants::add(ElementsAttr value, StringRef name) {
  if (auto it = byValue.find(value); it != byValue.end())
    return it->second;
  StringRef bytes;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return -1;
    bytes = StringRef(blob->getData().data(), blob->getData().size());
  } else if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    bytes = owned.emplace_back(expand(dense));
  } else {
    return -1;
  }
  auto [it, isNew] = byBytes.try_emplace(bytes, entries.size());
  if (isNew) {
    uint64_t offset = llvm::alignTo(end, 64);
    entries.push_back({name.str(), bytes, offset});
    end = offset + bytes.size();
  }
  byValue[value] = it->second;
  return it->second;
}

} // namespace weft
