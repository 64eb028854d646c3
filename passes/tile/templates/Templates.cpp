// Which template serves which root.
#include "passes/tile/templates/Templates.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft {

Template findTemplate(Operation *root) {
  if (!root)
    return emitElementwise;
  return llvm::TypeSwitch<Operation *, Template>(root).Default([](Operation *) { return emitElementwise; });
}

} // namespace weft
