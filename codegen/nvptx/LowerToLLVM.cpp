// tile.kernel -> llvm.func with NVVM operations.
//
// Guarantees: no operation gets fast-math flags; i1 in memory is a byte; each shared array is a module-level array of its own.
// Leaves to Math.cpp: functions; to Float8.cpp: conversions of 8-bit floats.
#include "codegen/nvptx/Patterns.h"
#include "codegen/nvptx/Nvptx.h"
#include "dialects/tile/Tile.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace weft::nvptx {
namespace {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The type that a register type has in memory: a byte for i1.
Type memoryType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), memoryType(vector.getElementType()));
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

Value elementPointer(OpBuilder &b, Location loc, Value pointer, Value index, Type type) {
  Type element = getElementTypeOrSelf(memoryType(type));
  return LLVM::GEPOp::create(b, loc, pointer.getType(), element, pointer, index, LLVM::GEPNoWrapFlags::inbounds);
}

unsigned alignmentOf(std::optional<uint64_t> stated, Type type) {
  return stated ? unsigned(*stated) : unsigned(std::min<int64_t>(tile::memoryBytes(getElementTypeOrSelf(type)), 16));
}

struct LoadLowering : ConvertOpToLLVMPattern<tile::LoadOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OpAdaptor adaptor, ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Type type = getTypeConverter()->convertType(op.getType()), stored = memoryType(type);
    Value pointer = elementPointer(b, loc, adaptor.getPointer(), adaptor.getIndex(), type);
    Value value = LLVM::LoadOp::create(b, loc, stored, pointer, alignmentOf(op.getAlignment(), op.getType()), /*isVolatile=*/false,
                                       op.getNontemporal(), op.getInvariant());
    if (stored != type) {
      Value zero = LLVM::ZeroOp::create(b, loc, stored);
      value = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, value, zero);
    }
    b.replaceOp(op, value);
    return success();
  }
};

struct StoreLowering : ConvertOpToLLVMPattern<tile::StoreOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OpAdaptor adaptor, ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value value = adaptor.getValue();
    Type stored = memoryType(value.getType());
    if (stored != value.getType())
      value = LLVM::ZExtOp::create(b, loc, stored, value);
    Value pointer = elementPointer(b, loc, adaptor.getPointer(), adaptor.getIndex(), stored);
    b.replaceOpWithNewOp<LLVM::StoreOp>(op, value, pointer, alignmentOf(op.getAlignment(), op.getValue().getType()), /*isVolatile=*/false,
                                        op.getNontemporal());
    return success();
  }
};

/// A module-level array in shared memory; `count` 0 for the dynamic part, which all kernels may name.
LLVM::GlobalOp createShared(OpBuilder &b, Operation *at, StringRef name, Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  auto module = at->getParentOfType<ModuleOp>();
  b.setInsertionPointToStart(module.getBody());
  auto linkage = count ? LLVM::Linkage::Internal : LLVM::Linkage::External;
  return LLVM::GlobalOp::create(b, at->getLoc(), LLVM::LLVMArrayType::get(memoryType(element), count), /*isConstant=*/false, linkage, name,
                                Attribute(), /*alignment=*/16, /*addrSpace=*/3);
}

struct SharedLowering : ConvertOpToLLVMPattern<tile::SharedOp> {
  SharedLowering(const LLVMTypeConverter &converter, unsigned &counter) : ConvertOpToLLVMPattern(converter), counter(counter) {}
  LogicalResult matchAndRewrite(tile::SharedOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    std::string name = "shared_" + std::to_string(counter++);
    createShared(b, op, name, getTypeConverter()->convertType(op.getElementType()), op.getCount());
    b.replaceOpWithNewOp<LLVM::AddressOfOp>(op, op.getType(), name);
    return success();
  }
  unsigned &counter;
};

struct DynamicSharedLowering : ConvertOpToLLVMPattern<tile::DynamicSharedOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(tile::DynamicSharedOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    StringRef name = "dynamic_shared";
    if (!op->getParentOfType<ModuleOp>().lookupSymbol(name))
      createShared(b, op, name, b.getI8Type(), 0);
    b.replaceOpWithNewOp<LLVM::AddressOfOp>(op, op.getType(), name);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

template <typename TileOp, typename X, typename Y, typename Z>
struct PositionLowering : ConvertOpToLLVMPattern<TileOp> {
  using ConvertOpToLLVMPattern<TileOp>::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(TileOp op, typename TileOp::Adaptor, ConversionPatternRewriter &b) const override {
    switch (op.getDim()) {
    case tile::Dim::x: b.replaceOpWithNewOp<X>(op, b.getI32Type()); break;
    case tile::Dim::y: b.replaceOpWithNewOp<Y>(op, b.getI32Type()); break;
    case tile::Dim::z: b.replaceOpWithNewOp<Z>(op, b.getI32Type()); break;
    }
    return success();
  }
};

struct BarrierLowering : ConvertOpToLLVMPattern<tile::BarrierOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(tile::BarrierOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    b.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
    return success();
  }
};

NVVM::ShflKind shuffleKind(tile::ShuffleKind kind) {
  switch (kind) {
  case tile::ShuffleKind::bfly: return NVVM::ShflKind::bfly;
  case tile::ShuffleKind::down: return NVVM::ShflKind::down;
  case tile::ShuffleKind::up: return NVVM::ShflKind::up;
  case tile::ShuffleKind::idx: return NVVM::ShflKind::idx;
  }
  llvm_unreachable("unknown ShuffleKind");
}

/// shfl.sync moves 32 bits: narrower values are widened, 64-bit ones go in two halves.
struct ShuffleLowering : ConvertOpToLLVMPattern<tile::ShuffleOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(tile::ShuffleOp op, OpAdaptor adaptor, ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Type type = adaptor.getValue().getType(), i32 = b.getI32Type();
    auto constant = [&](Type t, int64_t value) -> Value { return LLVM::ConstantOp::create(b, loc, t, b.getIntegerAttr(t, value)); };
    Value mask = constant(i32, -1), clamp = constant(i32, op.getKind() == tile::ShuffleKind::up ? 0 : 31);
    auto move = [&](Value value) -> Value {
      return NVVM::ShflOp::create(b, loc, value.getType(), mask, value, adaptor.getAmount(), clamp, shuffleKind(op.getKind()), UnitAttr());
    };
    if (type.isF32() || type.isInteger(32)) {
      b.replaceOp(op, move(adaptor.getValue()));
      return success();
    }
    unsigned width = type.getIntOrFloatBitWidth();
    Type integer = b.getIntegerType(width);
    Value bits = isa<FloatType>(type) ? Value(LLVM::BitcastOp::create(b, loc, integer, adaptor.getValue())) : adaptor.getValue();
    if (width < 32) {
      bits = LLVM::TruncOp::create(b, loc, integer, move(LLVM::ZExtOp::create(b, loc, i32, bits)));
    } else {
      Value shift = constant(integer, 32);
      Value low = move(LLVM::TruncOp::create(b, loc, i32, bits));
      Value high = move(LLVM::TruncOp::create(b, loc, i32, LLVM::LShrOp::create(b, loc, bits, shift)));
      high = LLVM::ShlOp::create(b, loc, LLVM::ZExtOp::create(b, loc, integer, high), shift);
      bits = LLVM::OrOp::create(b, loc, high, LLVM::ZExtOp::create(b, loc, integer, low));
    }
    if (isa<FloatType>(type))
      bits = LLVM::BitcastOp::create(b, loc, type, bits);
    b.replaceOp(op, bits);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

struct KernelLowering : ConvertOpToLLVMPattern<tile::KernelOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(tile::KernelOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), op.getFunctionType().getInputs());
    auto function = LLVM::LLVMFuncOp::create(b, op.getLoc(), op.getSymName(), type);
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    SmallVector<int32_t> block(op.getBlock().begin(), op.getBlock().end());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr(block));
    if (auto blocks = op.getMinBlocks())
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(*blocks));
    b.inlineRegionBefore(op.getBody(), function.getBody(), function.end());
    b.eraseOp(op);
    return success();
  }
};

struct ReturnLowering : ConvertOpToLLVMPattern<tile::ReturnOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(tile::ReturnOp op, OpAdaptor, ConversionPatternRewriter &b) const override {
    b.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};
} // namespace

LogicalResult lowerToLLVM(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  unsigned sharedCounter = 0;
  patterns.add<LoadLowering, StoreLowering, DynamicSharedLowering, BarrierLowering, ShuffleLowering, KernelLowering, ReturnLowering,
               PositionLowering<tile::ThreadIdOp, NVVM::ThreadIdXOp, NVVM::ThreadIdYOp, NVVM::ThreadIdZOp>,
               PositionLowering<tile::BlockIdOp, NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>,
               PositionLowering<tile::BlockDimOp, NVVM::BlockDimXOp, NVVM::BlockDimYOp, NVVM::BlockDimZOp>,
               PositionLowering<tile::GridDimOp, NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>>(converter);
  patterns.add<SharedLowering>(converter, sharedCounter);
  populateMathPatterns(converter, patterns);
  populateFloat8Patterns(converter, patterns);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addLegalOp<ModuleOp>();
  target.addIllegalDialect<tile::TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, cf::ControlFlowDialect,
                           vector::VectorDialect>();
  return applyFullConversion(module, target, std::move(patterns));
}

} // namespace weft::nvptx
