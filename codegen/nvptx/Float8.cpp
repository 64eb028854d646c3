// Conversions of 8- and 4-bit floats in integer arithmetic: sm_80 has no instructions for them, and newer ones know few formats.
//
// Guarantees: to the format rounds half to even, with subnormals; a value out of range becomes infinity where the format has one,
// else NaN (ONNX Cast without `saturate`; the clamp of `saturate` is the element rule's), else the largest number. From it is exact.
#include "codegen/nvptx/Patterns.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace mlir;

namespace weft::nvptx {
namespace {

/// What the conversions need to know of a format.
struct Format {
  int mantissa = 0, bias = 0;
  uint32_t nan = 0, overflow = 0, highest = 0; // encodings without sign: NaN, out of range, largest finite
  bool isUnsignedZero = false;                 // FNUZ: 0x80 is the only NaN, and there is no -0
  unsigned bits = 8;
  uint32_t signBit() const { return 1u << (bits - 1); }
  bool hasNan() const { return nan != 0; }
};

std::optional<Format> formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return Format{3, 7, 0x7F, 0x7F, 0x7E, false};
  if (isa<Float8E5M2Type>(type))
    return Format{2, 15, 0x7F, 0x7C, 0x7B, false};
  if (isa<Float8E4M3FNUZType>(type))
    return Format{3, 8, 0x80, 0x80, 0x7F, true};
  if (isa<Float8E5M2FNUZType>(type))
    return Format{2, 16, 0x80, 0x80, 0x7F, true};
  if (isa<Float4E2M1FNType>(type)) // neither NaN, which becomes -0, nor infinity
    return Format{1, 1, 0, 0x7, 0x7, false, 4};
  return std::nullopt;
}

/// Short names for the arithmetic below.
struct Bits {
  OpBuilder &b;
  Location loc;
  Value i32(uint32_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value))); }
  Value f32(uint32_t bits) { return asFloat(i32(bits)); }
  Value asFloat(Value v) { return arith::BitcastOp::create(b, loc, b.getF32Type(), v); }
  Value asInt(Value v) { return arith::BitcastOp::create(b, loc, b.getI32Type(), v); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value both(Value x, uint32_t y) { return arith::AndIOp::create(b, loc, x, i32(y)); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value left(Value x, unsigned n) { return arith::ShLIOp::create(b, loc, x, i32(n)); }
  Value right(Value x, unsigned n) { return arith::ShRUIOp::create(b, loc, x, i32(n)); }
  Value less(Value x, Value y) { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y); }
  Value equal(Value x, uint32_t y) { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, i32(y)); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }
};

Value toFloat32(Bits b, Value x, Format f) {
  Value bits = arith::ExtUIOp::create(b.b, b.loc, b.b.getI32Type(), x);
  Value magnitude = b.both(bits, f.signBit() - 1), sign = b.left(b.both(bits, f.signBit()), 32 - f.bits);
  // Normal: move the exponent to f32's bias. Subnormal: the mantissa counts units of 2^(1 - bias - mantissa).
  Value normal = b.add(b.left(magnitude, 23 - f.mantissa), b.i32(uint32_t(127 - f.bias) << 23));
  Value count = arith::UIToFPOp::create(b.b, b.loc, b.b.getF32Type(), magnitude);
  Value unit = b.f32(uint32_t(127 + 1 - f.bias - f.mantissa) << 23);
  Value small = b.asInt(arith::MulFOp::create(b.b, b.loc, count, unit));
  Value result = b.select(b.less(magnitude, b.i32(1u << f.mantissa)), small, normal);
  Value nan = b.i32(0x7FC00000);
  if (f.isUnsignedZero)
    return b.asFloat(b.select(b.equal(bits, 0x80), nan, b.either(result, sign)));
  if (!f.hasNan())
    return b.asFloat(b.either(result, sign));
  if (f.overflow != f.nan) { // the format has infinities
    result = b.select(b.less(b.i32(f.highest), magnitude), nan, result);
    result = b.select(b.equal(magnitude, f.overflow), b.i32(0x7F800000), result);
  } else {
    result = b.select(b.equal(magnitude, f.nan), nan, result);
  }
  return b.asFloat(b.either(result, sign));
}

/// E8M0 is f32's exponent alone: 0 is 2^-127, a subnormal, and 255 is NaN.
Value exponentToFloat32(Bits b, Value x) {
  Value bits = arith::ExtUIOp::create(b.b, b.loc, b.b.getI32Type(), x);
  Value result = b.select(b.equal(bits, 0), b.i32(0x00400000), b.left(bits, 23));
  return b.asFloat(b.select(b.equal(bits, 0xFF), b.i32(0x7FC00000), result));
}

Value fromFloat32(Bits b, Value x, Format f) {
  Value bits = b.asInt(x), magnitude = b.both(bits, 0x7FFFFFFF), sign = b.both(b.right(bits, 32 - f.bits), f.signBit());
  unsigned dropped = 23 - f.mantissa;
  // Normal: add half a unit, less one where the kept part is even, then cut.
  Value odd = b.both(b.right(magnitude, dropped), 1);
  Value rounded = b.add(b.add(magnitude, b.i32((1u << (dropped - 1)) - 1)), odd);
  Value normal = b.right(b.sub(rounded, b.i32(uint32_t(127 - f.bias) << 23)), dropped);
  // Subnormal: adding 2^n whose unit is the format's smallest number rounds to that unit.
  uint32_t shifter = uint32_t(127 + 1 - f.bias - f.mantissa + 23) << 23;
  Value moved = arith::AddFOp::create(b.b, b.loc, b.asFloat(magnitude), b.f32(shifter));
  Value small = b.sub(b.asInt(moved), b.i32(shifter));
  Value result = b.select(b.less(magnitude, b.i32(uint32_t(128 - f.bias) << 23)), small, normal);
  Value tooLarge = b.less(b.i32(f.highest), result);
  Value outside = f.isUnsignedZero ? b.i32(f.nan) : b.either(b.i32(f.overflow), sign);
  Value signedResult = b.either(result, sign);
  if (f.isUnsignedZero)
    signedResult = b.select(b.equal(result, 0), b.i32(0), signedResult);
  result = b.select(tooLarge, outside, signedResult);
  Value isNan = b.less(b.i32(0x7F800000), magnitude);
  Value nan = f.isUnsignedZero ? b.i32(f.nan) : f.hasNan() ? b.either(b.i32(f.nan), sign) : b.i32(f.signBit());
  result = b.select(isNan, nan, result);
  return arith::TruncIOp::create(b.b, b.loc, b.b.getIntegerType(f.bits), result);
}

struct ExtendLowering : ConvertOpToLLVMPattern<arith::ExtFOp> {
  explicit ExtendLowering(const LLVMTypeConverter &converter) : ConvertOpToLLVMPattern(converter, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(arith::ExtFOp op, OpAdaptor adaptor, ConversionPatternRewriter &b) const override {
    auto format = formatOf(op.getIn().getType());
    bool isExponent = isa<Float8E8M0FNUType>(op.getIn().getType());
    if (!format && !isExponent)
      return b.notifyMatchFailure(op, "not a scalar of 8 or 4 bits");
    Bits bits{b, op.getLoc()};
    Value result = isExponent ? exponentToFloat32(bits, adaptor.getIn()) : toFloat32(bits, adaptor.getIn(), *format);
    if (unsigned width = op.getType().getIntOrFloatBitWidth(); width > 32)
      result = arith::ExtFOp::create(b, op.getLoc(), op.getType(), result);
    else if (width < 32)
      result = arith::TruncFOp::create(b, op.getLoc(), op.getType(), result);
    b.replaceOp(op, result);
    return success();
  }
};

struct TruncateLowering : ConvertOpToLLVMPattern<arith::TruncFOp> {
  explicit TruncateLowering(const LLVMTypeConverter &converter) : ConvertOpToLLVMPattern(converter, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(arith::TruncFOp op, OpAdaptor adaptor, ConversionPatternRewriter &b) const override {
    auto format = formatOf(op.getType());
    if (!format)
      return b.notifyMatchFailure(op, "not a scalar of 8 or 4 bits");
    Value x = adaptor.getIn();
    Type f32 = b.getF32Type();
    if (unsigned width = x.getType().getIntOrFloatBitWidth(); width > 32)
      x = arith::TruncFOp::create(b, op.getLoc(), f32, x);
    else if (width < 32)
      x = arith::ExtFOp::create(b, op.getLoc(), f32, x);
    b.replaceOp(op, fromFloat32(Bits{b, op.getLoc()}, x, *format));
    return success();
  }
};

/// A constant of 8 or 4 bits is its encoding.
struct ConstantLowering : ConvertOpToLLVMPattern<arith::ConstantOp> {
  explicit ConstantLowering(const LLVMTypeConverter &converter) : ConvertOpToLLVMPattern(converter, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(arith::ConstantOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    auto value = dyn_cast<FloatAttr>(op.getValue());
    if (!value || value.getType().getIntOrFloatBitWidth() > 8)
      return b.notifyMatchFailure(op, "not a float of 8 or 4 bits");
    APInt bits = value.getValue().bitcastToAPInt();
    Type type = b.getIntegerType(bits.getBitWidth());
    b.replaceOpWithNewOp<LLVM::ConstantOp>(op, type, b.getIntegerAttr(type, bits));
    return success();
  }
};
} // namespace

void populateFloat8Patterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ExtendLowering, TruncateLowering, ConstantLowering>(converter);
}

} // namespace weft::nvptx
