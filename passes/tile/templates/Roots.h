// One function per kind of root; Templates.cpp knows which belongs to which operation.
#ifndef WEFT_PASSES_TILE_TEMPLATES_ROOTS_H
#define WEFT_PASSES_TILE_TEMPLATES_ROOTS_H

#include "passes/tile/templates/Templates.h"

namespace weft::tile {

mlir::LogicalResult emitContract(KernelContext &context);
mlir::LogicalResult emitConv(KernelContext &context);
mlir::LogicalResult emitConvTranspose(KernelContext &context);
mlir::LogicalResult emitReduce(KernelContext &context);
mlir::LogicalResult emitSoftmax(KernelContext &context);
mlir::LogicalResult emitNormalize(KernelContext &context);
mlir::LogicalResult emitPool(KernelContext &context);
mlir::LogicalResult emitRecurrent(KernelContext &context);
mlir::LogicalResult emitScan(KernelContext &context);
mlir::LogicalResult emitNonZero(KernelContext &context);
mlir::LogicalResult emitTopK(KernelContext &context);

} // namespace weft::tile
#endif
