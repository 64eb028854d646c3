// Computes what depends on constants only (pass fold-constants).
//
// Guarantees: bounded in size: nothing is folded that would make the file grow by more than a limit; values are bit for bit what
// the kernels would compute. Leaves to others: functions that the GPU approximates in its own way.
#include "dialects/graph/ConstantData.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/Evaluate.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/graph/Passes.h.inc"

namespace {
struct FoldConstants : impl::FoldConstantsBase<FoldConstants> {
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override {
    Symbols symbols(getOperation());
    getOperation().walk([&](Operation *op) {
      if (auto host = dyn_cast<HostOp>(op))
        foldHost(host, symbols);
      else if (!isa<ConstantOp>(op) && isMemoryEffectFree(op) && op->getNumResults() == 1 && op->getNumOperands() > 0)
        fold(op);
    });
    // Constants that only folded operations used.
    getOperation().walk([](Operation *op) {
      if (isa<ConstantOp>(op) && op->use_empty())
        op->erase();
    });
  }

  void replace(Operation *op, ElementsAttr value) {
    OpBuilder b(op);
    auto constant = ConstantOp::create(b, op->getLoc(), op->getResult(0).getType(), value);
    op->getResult(0).replaceAllUsesWith(constant.getY());
    op->erase();
  }

  /// Host values that the symbols' definitions make known.
  void foldHost(HostOp op, Symbols &symbols) {
    Type type = op.getType().getElementType();
    SmallVector<Attribute> values;
    for (AffineExpr expr : op.getValues().getExprs()) {
      auto integer = getConstant(expr);
      auto number = symbols.getFloatConstant(expr);
      if (auto floating = dyn_cast<FloatType>(type); floating && (integer || number))
        values.push_back(FloatAttr::get(floating, number ? *number : double(*integer)));
      else if (auto width = dyn_cast<IntegerType>(type); width && integer)
        values.push_back(IntegerAttr::get(type, APInt(width.getWidth(), uint64_t(*integer), false, true)));
      else
        return;
    }
    if (!values.empty())
      replace(op, DenseElementsAttr::get(op.getType(), values));
  }

  void fold(Operation *op) {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !type.hasStaticShape())
      return;
    SmallVector<ElementsAttr> attributes;
    uint64_t operandBytes = 0;
    for (Value operand : op->getOperands()) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      if (!constant)
        return;
      attributes.push_back(constant.getValue());
      operandBytes = std::max(operandBytes, storedBytes(constant.getType()));
    }
    // A reshaped weight keeps its bytes.
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(attributes[0]); resource && isa<ReshapeOp>(op))
      return replace(op, DenseResourceElementsAttr::get(type, resource.getRawHandle()));
    uint64_t bytes = storedBytes(type);
    if (bytes > uint64_t(maxGrowth) + operandBytes || bytes > uint64_t(maxBytes)) {
      remark::missed(op->getLoc(), remark::RemarkOpts::name("not-folded").category("fold-constants"))
          << llvm::formatv("{0} of constants is left to run time: {1} bytes", op->getName().stripDialect(), bytes).str();
      return;
    }
    SmallVector<std::string> storage(attributes.size());
    SmallVector<StringRef> operands;
    for (auto [attribute, own] : llvm::zip_equal(attributes, storage)) {
      auto read = readBytes(attribute, own);
      if (!read)
        return;
      operands.push_back(*read);
    }
    if (std::optional<std::string> result = evaluate(op, operands); result && result->size() == bytes)
      replace(op, makeElements(type, *result));
  }
};
} // namespace
} // namespace weft
