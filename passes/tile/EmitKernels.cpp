// Gives every graph.kernel its tile.kernels (pass emit-kernels).
//
// Guarantees: equal kernels (same body, types and alignments) share entries; a kernel that fails is reported with its node, and
// the others are still tried. Leaves to templates: the bodies.
#include "dialects/graph/NodeName.h"
#include "passes/tile/Passes.h"
#include "passes/tile/templates/Templates.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {
#define GEN_PASS_DEF_EMITKERNELS
#include "passes/tile/Passes.h.inc"

namespace {
/// The root of the kernel, if there is one: form-kernels puts at most one kind in.
Operation *findRoot(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front())
    if (auto element = dyn_cast<ElementOp>(op); isa<NonZeroOp>(op) || (element && element.isRoot()))
      return &op;
  return nullptr;
}

/// What two kernels must have in common to share code, as text.
std::string fingerprint(KernelOp kernel, bool maybeUnaligned) {
  StringAttr name = kernel.getNameAttr(), nodes = kernel.getNodesAttr();
  auto empty = StringAttr::get(kernel.getContext(), "");
  kernel.setNameAttr(empty);
  kernel.setNodesAttr(empty);
  std::string text = maybeUnaligned ? "unaligned " : "aligned ";
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope().printGenericOpForm());
  kernel.setNameAttr(name);
  kernel.setNodesAttr(nodes);
  return text;
}

struct EmitKernels : impl::EmitKernelsBase<EmitKernels> {
  using EmitKernelsBase::EmitKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Symbols symbols(module);
    OpBuilder builder(module.getContext());
    llvm::StringMap<KernelOp> known;
    SmallVector<KernelOp> kernels;
    module.walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels) {
      Operation *root = findRoot(kernel);
      KernelContext context(kernel, root, symbols, builder);
      auto [it, isNew] = known.try_emplace(fingerprint(kernel, context.maybeUnaligned()), kernel);
      if (!isNew) {
        for (StringRef attribute : {"launches", "scalars", "workspace"})
          if (Attribute value = it->second->getAttr(attribute))
            kernel->setAttr(attribute, value);
        continue;
      }
      builder.setInsertionPointToEnd(module.getBody());
      if (failed(findTemplate(root)(context)))
        signalPassFailure();
    }
  }
};
} // namespace
} // namespace weft
