// Registration, verifiers and the text form of the tile dialect.
#include "dialects/tile/Tile.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::tile;

#include "dialects/tile/TileDialect.cpp.inc"
#include "dialects/tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/tile/TileAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/tile/TileOps.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/tile/TileOps.cpp.inc"
      >();
}

int64_t weft::tile::memoryBytes(Type elementType) {
  return std::max<int64_t>(1, elementType.getIntOrFloatBitWidth() / 8);
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name),
                                                  buildType, getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

LogicalResult KernelOp::verify() {
  if (!getFunctionType().getResults().empty())
    return emitOpError("[kernel_c1] a kernel returns nothing, found ") << getFunctionType().getResults();
  bool scalars = false;
  for (auto [i, type] : llvm::enumerate(getFunctionType().getInputs())) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
    bool isScalar = type.isInteger(32) || type.isInteger(64) || type.isF64();
    if (!isScalar && (!pointer || pointer.getAddressSpace() != 1))
      return emitOpError("[kernel_c2] parameter ") << i << " has type " << type << ", expected !llvm.ptr<1>, i32, i64 or f64";
    if (pointer && scalars)
      return emitOpError("[kernel_c3] parameter ") << i << " is a pointer behind a scalar";
    scalars |= isScalar;
  }
  auto block = getBlock();
  if (block.size() != 3 || llvm::any_of(block, [](int64_t n) { return n < 1; }) || threads() > 1024)
    return emitOpError("[kernel_c4] block is ") << getBlockAttr() << ", expected three sizes with 1 to 1024 threads in all";
  if (getIndexBits() != 32 && getIndexBits() != 64)
    return emitOpError("[kernel_c5] index_bits is ") << getIndexBits() << ", expected 32 or 64";
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyAccess(Operation *op, Type type, std::optional<uint64_t> alignment) {
  Type element = getElementTypeOrSelf(type);
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits != 1 && bits % 8 != 0)
    return op->emitOpError("[access_c1] element type ") << element << " does not fill bytes";
  if (alignment && (!llvm::isPowerOf2_64(*alignment) || int64_t(*alignment) < std::min<int64_t>(memoryBytes(element), 16)))
    return op->emitOpError("[access_c2] alignment ") << *alignment << " is no power of two that an element of type " << element << " allows";
  return success();
}

LogicalResult LoadOp::verify() { return verifyAccess(*this, getResult().getType(), getAlignment()); }
LogicalResult StoreOp::verify() { return verifyAccess(*this, getValue().getType(), getAlignment()); }

LogicalResult SharedOp::verify() {
  if (!getElementType().isIntOrFloat())
    return emitOpError("[shared_c1] element type is ") << getElementType() << ", expected a number";
  int64_t limit = 48 * 1024, bytes = memoryBytes(getElementType());
  if (int64_t(getCount()) < 1 || int64_t(getCount()) > limit / bytes)
    return emitOpError("[shared_c2] ") << getCount() << " elements of " << bytes << " bytes, expected 1 to " << limit / bytes;
  return success();
}

LogicalResult ShuffleOp::verify() {
  unsigned bits = getValue().getType().getIntOrFloatBitWidth();
  if (bits > 64)
    return emitOpError("[shuffle_c1] values of ") << bits << " bits, expected at most 64";
  return success();
}
