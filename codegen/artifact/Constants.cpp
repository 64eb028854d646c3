// The artifact's constants section: see Constants.h.
#include "codegen/artifact/Constants.h"
#include "dialects/graph/ConstantData.h"
#include "llvm/Support/Alignment.h"

using namespace mlir;
namespace weft {

int64_t Constants::add(ElementsAttr value, StringRef name) {
  if (auto it = byValue.find(value); it != byValue.end())
    return it->second;
  std::string made;
  std::optional<StringRef> read = graph::readBytes(value, made);
  if (!read)
    return -1;
  StringRef bytes = made.empty() ? *read : StringRef(owned.emplace_back(std::move(made)));
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
