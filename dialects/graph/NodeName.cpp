// Names of ONNX nodes in locations: see NodeName.h.
#include "dialects/graph/NodeName.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace weft::graph {

static void collect(Location location, llvm::SetVector<StringRef> &names) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    names.insert(name.getName().getValue());
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collect(part, names);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collect(call.getCallee(), names);
  }
}

std::string nodeName(Location location) {
  llvm::SetVector<StringRef> names;
  collect(location, names);
  return llvm::join(names.getArrayRef(), ", ");
}

} // namespace weft::graph
