// Moves per-channel scale behind a convolution into its weights, and joins per-channel shifts (pass fold-affine).
//
// Guarantees: only convolutions with constant f32 weights whose result has no other use change; batch normalisation then costs one addition.
// Weights are scaled in f32, rounded once per weight.
#include "dialects/graph/ConstantData.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/graph/Match.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {
#define GEN_PASS_DEF_FOLDAFFINE
#include "passes/graph/Passes.h.inc"

namespace {
/// f32 constants that a broadcast repeats for every channel (dimension 1): one per channel.
struct PerChannel {
  BroadcastOp broadcast;
  std::vector<float> values;
};

std::optional<std::vector<float>> readFloats(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  std::string storage;
  auto bytes = constant && constant.getType().getElementType().isF32() ? readBytes(constant.getValue(), storage) : std::nullopt;
  if (!bytes)
    return std::nullopt;
  std::vector<float> values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

Value makeConstant(PatternRewriter &rewriter, Location loc, RankedTensorType type, ArrayRef<float> values) {
  StringRef bytes(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  return ConstantOp::create(rewriter, loc, type, makeElements(type, bytes));
}

std::optional<PerChannel> perChannel(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return std::nullopt;
  // All dimensions of the source are 1 but the one that becomes dimension 1 of the result.
  Dims dims = getDims(broadcast.getX());
  int64_t channels = cast<RankedTensorType>(value.getType()).getDimSize(1), count = 1;
  for (auto [dim, to] : llvm::zip_equal(dims, broadcast.getMap())) {
    auto size = getConstant(dim);
    if (!size || (to != 1 && *size != 1))
      return std::nullopt;
    count *= *size;
  }
  auto values = count == channels ? readFloats(behindUnitDims(broadcast.getX())) : std::nullopt;
  if (!values || int64_t(values->size()) != channels)
    return std::nullopt;
  return PerChannel{broadcast, std::move(*values)};
}

/// The per-channel operand of a commutative `op`, and the other one.
std::optional<std::pair<Value, PerChannel>> match(BinaryOp op) {
  for (bool swap : {false, true})
    if (auto found = perChannel(swap ? op.getLhs() : op.getRhs()))
      return std::pair{swap ? op.getRhs() : op.getLhs(), std::move(*found)};
  return std::nullopt;
}

/// conv(x, w) * s -> conv(x, w * s).
struct ScaleWeights : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    auto found = op.getKind() == BinaryKind::mul ? match(op) : std::nullopt;
    auto conv = found ? found->first.getDefiningOp<ConvOp>() : ConvOp();
    if (!conv || !conv->hasOneUse())
      return rewriter.notifyMatchFailure(op, "no convolution of its own is scaled");
    auto weights = readFloats(conv.getW());
    if (!weights)
      return rewriter.notifyMatchFailure(op, "the weights are not known");
    size_t row = weights->size() / found->second.values.size();
    for (size_t i = 0; i < weights->size(); ++i)
      (*weights)[i] *= found->second.values[i / row];
    Value scaled = makeConstant(rewriter, conv.getW().getLoc(), cast<RankedTensorType>(conv.getW().getType()), *weights);
    remark::passed(op.getLoc(), remark::RemarkOpts::name("folded").category("fold-affine"))
        << "the scale of " + std::to_string(found->second.values.size()) + " channels is folded into a convolution's weights";
    rewriter.modifyOpInPlace(conv, [&] { conv.getWMutable().assign(scaled); });
    rewriter.replaceOp(op, conv.getY());
    return success();
  }
};

/// (y + b) * s -> y * s + b * s behind a convolution, and (y + b) + c -> y + (b + c).
struct JoinShifts : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != BinaryKind::mul && op.getKind() != BinaryKind::add)
      return failure();
    auto outer = match(op);
    auto add = outer ? outer->first.getDefiningOp<BinaryOp>() : BinaryOp();
    auto inner = add && add.getKind() == BinaryKind::add && add->hasOneUse() ? match(add) : std::nullopt;
    if (!inner || !inner->first.getDefiningOp<ConvOp>() || !inner->first.hasOneUse())
      return rewriter.notifyMatchFailure(op, "no shifted convolution");
    bool scales = op.getKind() == BinaryKind::mul;
    std::vector<float> shift = inner->second.values;
    for (auto [value, with] : llvm::zip_equal(shift, outer->second.values))
      value = scales ? value * with : value + with;
    auto type = RankedTensorType::get({int64_t(shift.size())}, rewriter.getF32Type());
    Value constant = makeConstant(rewriter, op.getLoc(), type, shift), y = inner->first;
    Value wide = BroadcastOp::create(rewriter, op.getLoc(), op.getType(), constant, rewriter.getDenseI64ArrayAttr({1}));
    if (scales)
      y = BinaryOp::create(rewriter, op.getLoc(), op.getType(), BinaryKind::mul, y, outer->second.broadcast.getY());
    rewriter.replaceOpWithNewOp<BinaryOp>(op, op.getType(), BinaryKind::add, y, wide);
    return success();
  }
};

struct FoldAffine : impl::FoldAffineBase<FoldAffine> {
  using FoldAffineBase::FoldAffineBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ScaleWeights, JoinShifts>(&getContext());
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
} // namespace weft
