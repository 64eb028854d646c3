// Pattern sets that make up the lowering to LLVM; used by LowerToLLVM.cpp only.
#ifndef WEFT_CODEGEN_NVPTX_PATTERNS_H
#define WEFT_CODEGEN_NVPTX_PATTERNS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/PatternMatch.h"

namespace weft::nvptx {

/// Functions of the math dialect by the table Math.def, and arith.remf.
void populateMathPatterns(const mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns);
/// arith.extf and arith.truncf between 8-bit floats and wider ones, in integer arithmetic.
void populateFloat8Patterns(const mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace weft::nvptx
#endif
