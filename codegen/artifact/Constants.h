// The artifact's constants section: bytes as the device sees them.
//
// Guarantees: equal bytes stand once; every constant starts at a multiple of 64 bytes; bool is one byte per element, 4- and
// 2-bit elements are packed, low bits first; everything else is little-endian.
#ifndef WEFT_CODEGEN_ARTIFACT_CONSTANTS_H
#define WEFT_CODEGEN_ARTIFACT_CONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringRef.h"
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace weft {

class Constants {
public:
  struct Entry {
    std::string name;
    llvm::StringRef bytes;
    uint64_t offset;
  };
  /// The number of the constant with the elements of `value`; -1 where its elements cannot be read.
  int64_t add(mlir::ElementsAttr value, llvm::StringRef name);
  const std::vector<Entry> &getEntries() const { return entries; }
  uint64_t size() const { return end; }

private:
  std::vector<Entry> entries;
  std::map<llvm::StringRef, uint32_t> byBytes;
  llvm::DenseMap<mlir::Attribute, uint32_t> byValue;
  std::deque<std::string> owned;
  uint64_t end = 0;
};

} // namespace weft
#endif
