// Functions of the math dialect as calls of libdevice: the table Math.def.
//
// Guarantees: f16 and bf16 are computed in f32 and rounded once; vectors are computed element by element.
#include "codegen/nvptx/Patterns.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace mlir;

namespace weft::nvptx {
namespace {

/// A call of `name` with scalars of one type; declares it where it is not yet.
Value call(ConversionPatternRewriter &b, Operation *at, StringRef name, ValueRange operands) {
  auto module = at->getParentOfType<ModuleOp>();
  Type type = operands[0].getType();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::LLVMFuncOp::create(b, module.getLoc(), name, LLVM::LLVMFunctionType::get(type, SmallVector<Type>(operands.size(), type)));
  }
  return LLVM::CallOp::create(b, at->getLoc(), type, name, operands).getResult();
}

/// The function of scalars of any float type.
Value compute(ConversionPatternRewriter &b, Operation *at, StringRef f32Name, StringRef f64Name, ValueRange operands) {
  Location loc = at->getLoc();
  Type type = operands[0].getType(), f32 = b.getF32Type();
  if (type.isF64())
    return call(b, at, f64Name, operands);
  if (type.isF32())
    return call(b, at, f32Name, operands);
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(LLVM::FPExtOp::create(b, loc, f32, operand));
  return LLVM::FPTruncOp::create(b, loc, type, call(b, at, f32Name, wide));
}

template <typename Op>
struct FunctionLowering : ConvertOpToLLVMPattern<Op> {
  FunctionLowering(const LLVMTypeConverter &converter, StringRef f32Name, StringRef f64Name)
      : ConvertOpToLLVMPattern<Op>(converter, /*benefit=*/10), f32Name(f32Name), f64Name(f64Name) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor, ConversionPatternRewriter &b) const override {
    auto vector = dyn_cast<VectorType>(adaptor.getOperands()[0].getType());
    if (!vector) {
      b.replaceOp(op, compute(b, op, f32Name, f64Name, adaptor.getOperands()));
      return success();
    }
    if (vector.getRank() != 1 || vector.isScalable())
      return b.notifyMatchFailure(op, "only vectors of one dimension");
    Location loc = op.getLoc();
    Value result = LLVM::PoisonOp::create(b, loc, vector);
    for (int64_t i = 0; i < vector.getNumElements(); ++i) {
      Value at = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(i));
      SmallVector<Value> operands;
      for (Value operand : adaptor.getOperands())
        operands.push_back(LLVM::ExtractElementOp::create(b, loc, operand, at));
      result = LLVM::InsertElementOp::create(b, loc, result, compute(b, op, f32Name, f64Name, operands), at);
    }
    b.replaceOp(op, result);
    return success();
  }
  StringRef f32Name, f64Name;
};

/// math.rsqrt is 1 / sqrt(x), both rounded to nearest: the approximate instruction is not in the table.
struct RsqrtLowering : ConvertOpToLLVMPattern<math::RsqrtOp> {
  explicit RsqrtLowering(const LLVMTypeConverter &converter) : ConvertOpToLLVMPattern(converter, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(math::RsqrtOp op, OpAdaptor adaptor, ConversionPatternRewriter &b) const override {
    Type type = adaptor.getOperand().getType();
    auto floatType = dyn_cast<FloatType>(type);
    if (!floatType)
      return b.notifyMatchFailure(op, "only scalars");
    Value root = LLVM::SqrtOp::create(b, op.getLoc(), type, adaptor.getOperand());
    Value one = LLVM::ConstantOp::create(b, op.getLoc(), type, b.getFloatAttr(floatType, 1.0));
    b.replaceOpWithNewOp<LLVM::FDivOp>(op, one, root);
    return success();
  }
};
} // namespace

void populateMathPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
#define WEFT_MATH(OP, F32, F64, ULP32, ULP64) patterns.add<FunctionLowering<math::OP>>(converter, F32, F64);
#include "codegen/nvptx/Math.def"
  // LLVM's own expansion of frem is wrong for large quotients.
  patterns.add<FunctionLowering<arith::RemFOp>>(converter, "__nv_fmodf", "__nv_fmod");
  patterns.add<RsqrtLowering>(converter);
}

} // namespace weft::nvptx
