// Conversions of 8-bit floats in integer arithmetic.
#include "codegen/nvptx/Patterns.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace mlir;

namespace weft::nvptx {
void populateFloat8Patterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns) {}
} // namespace weft::nvptx
