// Removes and merges operations without changing any result bit (pass simplify).
//
// Guarantees: floating-point identities are applied only where they hold for every input, NaN and the sign of zero included. Leaves to
// others: common subexpressions (MLIR's cse), arithmetic on constants (fold-constants).
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/graph/Match.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {
#define GEN_PASS_DEF_SIMPLIFY
#include "passes/graph/Passes.h.inc"

namespace {
/// reshape(reshape(x)) is one reshape; a transpose or broadcast that only moves or adds dimensions of 1 is a reshape.
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "the operand is no reshape");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getX());
    return success();
  }
};

struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> perm = op.getPerm();
    if (auto inner = op.getX().getDefiningOp<TransposeOp>()) {
      SmallVector<int64_t> both;
      for (int64_t p : perm)
        both.push_back(inner.getPerm()[p]);
      rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getX(), rewriter.getDenseI64ArrayAttr(both));
      return success();
    }
    // Dimensions other than 1 keep their order: the memory stays as it is.
    Dims dims = getDims(op.getX());
    SmallVector<int64_t> moved;
    for (int64_t p : perm)
      if (!isConstant(dims[p], 1))
        moved.push_back(p);
    if (!llvm::is_sorted(moved) || llvm::is_sorted(perm))
      return rewriter.notifyMatchFailure(op, "elements move");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
    return success();
  }
};

struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    if (auto inner = op.getX().getDefiningOp<BroadcastOp>()) {
      SmallVector<int64_t> both;
      for (int64_t i : inner.getMap())
        both.push_back(op.getMap()[i]);
      rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getX(), rewriter.getDenseI64ArrayAttr(both));
      return success();
    }
    auto kept = [](ArrayRef<AffineExpr> dims) {
      SmallVector<AffineExpr> result;
      llvm::copy_if(dims, std::back_inserter(result), [](AffineExpr dim) { return !isConstant(dim, 1); });
      return result;
    };
    if (op.getX().getType() == op.getType() || kept(getDims(op.getX())) != kept(getDims(op.getY())))
      return rewriter.notifyMatchFailure(op, "elements are repeated");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
    return success();
  }
};

/// A splat stays a splat under any movement of fixed size.
template <typename Op> struct MoveSplat : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto constant = op.getX().template getDefiningOp<ConstantOp>();
    auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
    if (!dense || !dense.isSplat() || dense.getNumElements() == 0 || !op.getType().hasStaticShape())
      return rewriter.notifyMatchFailure(op, "the operand is no splat");
    rewriter.replaceOpWithNewOp<ConstantOp>(op, op.getType(), dense.resizeSplat(op.getType()));
    return success();
  }
};

/// x * 1, x / 1, x - 0, x + -0: exactly x. x ^ 1 is x and x ^ 2 is x * x.
struct NeutralOperand : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    auto is = [&](Value value, double expected) { return isSplat(value, expected); };
    Value x = op.getLhs(), y = op.getRhs(), result;
    switch (op.getKind()) {
    case BinaryKind::mul:
      result = is(y, 1) ? x : is(x, 1) ? y : Value();
      break;
    case BinaryKind::div:
      result = is(y, 1) ? x : Value();
      break;
    case BinaryKind::sub:
      result = is(y, 0.0) ? x : Value();
      break;
    case BinaryKind::add:
      result = is(y, -0.0) ? x : is(x, -0.0) ? y : Value();
      break;
    case BinaryKind::pow:
      if (is(y, 2) && isa<FloatType>(op.getType().getElementType())) {
        rewriter.replaceOpWithNewOp<BinaryOp>(op, op.getType(), BinaryKind::mul, x, x);
        return success();
      }
      result = is(y, 1) ? x : Value();
      break;
    case BinaryKind::mod: case BinaryKind::fmod: case BinaryKind::min: case BinaryKind::max: case BinaryKind::logical_and:
    case BinaryKind::logical_or: case BinaryKind::logical_xor: case BinaryKind::bitwise_and: case BinaryKind::bitwise_or:
    case BinaryKind::bitwise_xor: case BinaryKind::shift_left: case BinaryKind::shift_right:
      break;
    }
    if (!result || result.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "no operand is neutral");
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct NoPadding : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    if (op.getX().getType() != op.getType() || llvm::any_of(op.getLow().getExprs(), [](AffineExpr low) { return !isConstant(low, 0); }))
      return rewriter.notifyMatchFailure(op, "it pads");
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

/// A concat of one operand is that operand; operands without elements fall away.
struct ShortConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> kept;
    for (Value x : op.getXs())
      if (!isConstant(getDims(x)[op.getAxis()], 0))
        kept.push_back(x);
    if (kept.size() == 1 && kept[0].getType() == op.getType()) {
      rewriter.replaceOp(op, kept[0]);
      return success();
    }
    if (kept.empty() || kept.size() == op.getXs().size())
      return rewriter.notifyMatchFailure(op, "every operand has elements");
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), kept, op.getAxisAttr());
    return success();
  }
};

/// [B..., M, K] x broadcast of [K, N] is one product with B * M rows: the weight is read once, and rows fill whole tiles.
struct FlattenBatch : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ContractOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getRhs().getDefiningOp<BroadcastOp>();
    Dims lhs = getDims(op.getLhs()), y = getDims(op.getY());
    if (lhs.size() < 3 || !broadcast)
      return rewriter.notifyMatchFailure(op, "the right side is no broadcast matrix");
    Dims from = getDims(broadcast.getX());
    ArrayRef<int64_t> map = broadcast.getMap();
    int64_t rank = lhs.size();
    bool isMatrix = from.size() >= 2 && map[map.size() - 1] == rank - 1 && map[map.size() - 2] == rank - 2 &&
                    llvm::all_of(ArrayRef(from).drop_back(2), [](AffineExpr dim) { return isConstant(dim, 1); }) &&
                    ArrayRef(from).take_back(2) == ArrayRef(getDims(op.getRhs())).take_back(2);
    if (!isMatrix)
      return rewriter.notifyMatchFailure(op, "the right side differs between batches");
    Type element = op.getType().getElementType(), in = cast<RankedTensorType>(op.getLhs().getType()).getElementType();
    Location loc = op.getLoc();
    Type weightElement = cast<RankedTensorType>(broadcast.getX().getType()).getElementType();
    AffineExpr rows = product(ArrayRef(lhs).drop_back(1), getContext());
    Value flat = ReshapeOp::create(rewriter, loc, getTensorType({rows, lhs.back()}, in), op.getLhs());
    Value weight = ReshapeOp::create(rewriter, loc, getTensorType(ArrayRef(from).take_back(2), weightElement), broadcast.getX());
    Value made = ContractOp::create(rewriter, loc, getTensorType({rows, y.back()}, element), flat, weight);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), made);
    return success();
  }
};

struct Simplify : impl::SimplifyBase<Simplify> {
  using SimplifyBase::SimplifyBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeReshapes, MergeTransposes, MergeBroadcasts, MoveSplat<BroadcastOp>, MoveSplat<ReshapeOp>,
                 MoveSplat<TransposeOp>, MoveSplat<SliceOp>, NeutralOperand, NoPadding, ShortConcat, FlattenBatch>(&getContext());
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
} // namespace weft
