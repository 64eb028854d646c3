// Bytes of constants: how tensors known at compile time are read and made.
//
// Guarantees: bytes are as the device sees them: bool one byte per element, 4- and 2-bit elements packed with low bits first,
// everything else little-endian.
#ifndef WEFT_DIALECTS_GRAPH_CONSTANTDATA_H
#define WEFT_DIALECTS_GRAPH_CONSTANTDATA_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace weft::graph {

/// Bits that one element occupies in memory (bool: 8).
unsigned storedBits(mlir::Type elementType);
uint64_t storedBytes(mlir::RankedTensorType type);

/// The bytes of `value`: those of its blob, or made in `storage`. Nothing where they cannot be read.
std::optional<llvm::StringRef> readBytes(mlir::ElementsAttr value, std::string &storage);

/// The elements with these bytes: a splat where all are equal, an attribute where they are few, else a resource.
mlir::ElementsAttr makeElements(mlir::RankedTensorType type, llvm::StringRef bytes);

} // namespace weft::graph
#endif
