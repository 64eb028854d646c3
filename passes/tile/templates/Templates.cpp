// Which template serves which root.
#include "passes/tile/templates/Templates.h"
#include "passes/tile/templates/Roots.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft {

Template findTemplate(Operation *root) {
  if (!root)
    return emitElementwise;
  return llvm::TypeSwitch<Operation *, Template>(root)
      .Case<graph::ContractOp>([](auto) { return tile::emitContract; })
      .Case<graph::ConvOp>([](auto) { return tile::emitConv; })
      .Case<graph::ConvTransposeOp>([](auto) { return tile::emitConvTranspose; })
      .Case<graph::ReduceOp>([](auto) { return tile::emitReduce; })
      .Case<graph::SoftmaxOp>([](auto) { return tile::emitSoftmax; })
      .Case<graph::NormalizeOp>([](auto) { return tile::emitNormalize; })
      .Case<graph::PoolOp>([](auto) { return tile::emitPool; })
      .Case<graph::RecurrentOp>([](auto) { return tile::emitRecurrent; })
      .Case<graph::ScanOp>([](auto) { return tile::emitScan; })
      .Case<graph::NonZeroOp>([](auto) { return tile::emitNonZero; })
      .Case<graph::TopKOp>([](auto) { return tile::emitTopK; })
      .Default([](Operation *) { return emitElementwise; });
}

} // namespace weft
