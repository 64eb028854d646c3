// Finds layer and root-mean-square normalisation and softmax written out in parts (pass match-normalize).
//
// Guarantees: a match has exactly the structure of the formula; the statistics are then computed in two passes over elements held
// on chip, at least as exact as the parts were. Leaves to others: scale and bias, which fuse as an epilogue.
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/graph/Match.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {
#define GEN_PASS_DEF_MATCHNORMALIZE
#include "passes/graph/Passes.h.inc"

namespace {
/// A binary operation of this kind.
BinaryOp binary(Value value, BinaryKind kind) {
  auto op = value.getDefiningOp<BinaryOp>();
  return op && op.getKind() == kind ? op : BinaryOp();
}

UnaryOp unary(Value value, UnaryKind kind) {
  auto op = value.getDefiningOp<UnaryOp>();
  return op && op.getKind() == kind ? op : UnaryOp();
}

/// The operand of a broadcast along reduced dimensions of 1, and of reshapes that only add such.
Value behindBroadcast(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  return behindUnitDims(value);
}

/// The number of elements of `x` along `axes`, as a splat or a host value.
bool isCount(Value value, Value x, ArrayRef<int64_t> axes) {
  AffineExpr count = getAffineConstantExpr(1, x.getContext());
  Dims dims = getDims(x);
  for (int64_t axis : axes)
    count = count * dims[axis];
  if (auto number = getConstant(count))
    return isSplat(value, double(*number));
  while (value.getDefiningOp() && isa<BroadcastOp, ReshapeOp, CastOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto host = value.getDefiningOp<HostOp>();
  return host && host.getValues().size() == 1 && host.getValues()[0] == count;
}

/// The reduction of `value` = mean over axes, dimensions of 1 kept or not.
ReduceOp meanOf(Value value) {
  auto div = behindUnitDims(value).getDefiningOp<BinaryOp>();
  if (!div || div.getKind() != BinaryKind::div)
    return {};
  auto sum = behindUnitDims(div.getLhs()).getDefiningOp<ReduceOp>();
  if (!sum || sum.getKind() != ReduceKind::sum || !isCount(div.getRhs(), sum.getX(), sum.getAxes()))
    return {};
  return sum;
}

/// Whether a broadcast puts every dimension that a reduction of `x` over `axes` kept back in its own place.
bool isBroadcastBack(Value value, Value x, ArrayRef<int64_t> axes) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  Dims dims = getDims(x), from = broadcast ? getDims(broadcast.getX()) : Dims();
  if (from.size() != dims.size())
    return false;
  for (auto [i, dim] : llvm::enumerate(from))
    if (llvm::is_contained(axes, int64_t(i)) ? !isConstant(dim, 1) : dim != dims[i])
      return false;
  return true;
}

/// A mean broadcast back over the axes that it was taken over.
ReduceOp broadcastMean(Value value, Value x) {
  if (cast<RankedTensorType>(value.getType()) != x.getType())
    return {};
  ReduceOp sum = meanOf(behindBroadcast(value));
  if (!sum)
    return {};
  if (!isBroadcastBack(value, x, sum.getAxes()))
    return {};
  return sum;
}

/// v * v.
Value squared(Value value) {
  auto mul = binary(value, BinaryKind::mul);
  return mul && mul.getLhs() == mul.getRhs() ? mul.getLhs() : Value();
}

struct Statistics {
  Value inner;      // what is squared
  ReduceOp sum;
  double epsilon;
};

/// mean(inner^2) + epsilon.
std::optional<Statistics> varianceOf(Value value) {
  auto add = behindUnitDims(value).getDefiningOp<BinaryOp>();
  if (!add || add.getKind() != BinaryKind::add)
    return std::nullopt;
  Value variance = add.getLhs();
  std::optional<APFloat> epsilon = splatFloat(add.getRhs());
  if (!epsilon) {
    variance = add.getRhs();
    epsilon = splatFloat(add.getLhs());
  }
  if (!epsilon)
    return std::nullopt;
  ReduceOp sum = meanOf(variance);
  Value inner = sum ? squared(sum.getX()) : Value();
  if (!inner)
    return std::nullopt;
  return Statistics{inner, sum, epsilon->convertToDouble()};
}

/// d / sqrt(variance + epsilon), or times its reciprocal, with d = x - mean(x) (layer normalisation) or d = x (RMS).
struct Normalization : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    for (bool swap : {false, true}) {
      if (swap && op.getKind() != BinaryKind::mul)
        break;
      Value d = swap ? op.getRhs() : op.getLhs(), factor = swap ? op.getLhs() : op.getRhs();
      if (succeeded(rewrite(op, d, factor, rewriter)))
        return success();
    }
    return failure();
  }

  /// variance + epsilon behind the scale factor of `op`.
  Value underRoot(BinaryOp op, Value factor) const {
    Value v = behindBroadcast(factor);
    if (op.getKind() == BinaryKind::div) {
      auto root = unary(v, UnaryKind::sqrt);
      return root ? root.getX() : Value();
    }
    if (op.getKind() != BinaryKind::mul)
      return {};
    if (auto root = unary(v, UnaryKind::rsqrt))
      return root.getX();
    Value root;
    if (auto reciprocal = unary(v, UnaryKind::reciprocal))
      root = reciprocal.getX();
    else if (auto div = binary(v, BinaryKind::div); div && isSplat(div.getLhs(), 1))
      root = div.getRhs();
    auto sqrt = root ? unary(behindUnitDims(root), UnaryKind::sqrt) : UnaryOp();
    return sqrt ? sqrt.getX() : Value();
  }

  LogicalResult rewrite(BinaryOp op, Value d, Value factor, PatternRewriter &rewriter) const {
    Value sum = underRoot(op, factor);
    std::optional<Statistics> stats = sum ? varianceOf(sum) : std::nullopt;
    if (!stats || stats->inner != d || !isa<Float32Type, Float64Type>(op.getType().getElementType()))
      return rewriter.notifyMatchFailure(op, "no division by a standard deviation");
    if (!isBroadcastBack(factor, d, stats->sum.getAxes()))
      return rewriter.notifyMatchFailure(op, "the statistics are not broadcast back");

    Value x = d;
    bool rms = true;
    if (auto sub = binary(d, BinaryKind::sub)) {
      ReduceOp mean = broadcastMean(sub.getRhs(), sub.getLhs());
      if (mean && mean.getX() == sub.getLhs() && mean.getAxes() == stats->sum.getAxes()) {
        x = sub.getLhs();
        rms = false;
      }
    }
    Dims statDims = getDims(d);
    for (int64_t axis : stats->sum.getAxes())
      statDims[axis] = getAffineConstantExpr(1, getContext());
    Type stat = getTensorType(statDims, op.getType().getElementType());
    auto made = NormalizeOp::create(rewriter, op.getLoc(), TypeRange{op.getType(), stat, stat}, x, stats->sum.getAxesAttr(),
                                    rewriter.getF64FloatAttr(stats->epsilon), rewriter.getBoolAttr(rms));
    rewriter.replaceOp(op, made.getY());
    return success();
  }
};

/// exp(x - max(x)) / sum(exp(x - max(x))) along one axis; JAX starts the maximum from -inf, in an operation of its own.
struct Softmax : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    Value numerator = op.getLhs();
    auto exp = unary(numerator, UnaryKind::exp);
    auto sub = exp ? binary(exp.getX(), BinaryKind::sub) : BinaryOp();
    if (op.getKind() != BinaryKind::div || !sub)
      return rewriter.notifyMatchFailure(op, "no quotient of exponentials");
    Value x = sub.getLhs();
    ReduceOp sum = reduction(op.getRhs(), numerator, ReduceKind::sum), max = reduction(sub.getRhs(), x, ReduceKind::max);
    if (!sum || !max || sum.getAxes().size() != 1 || sum.getAxes() != max.getAxes())
      return rewriter.notifyMatchFailure(op, "the sum and the maximum are not of the same elements");
    if (!llvm::all_of(numerator.getUsers(), [&](Operation *user) { return user == op || user == sum; }))
      return rewriter.notifyMatchFailure(op, "the exponentials are needed too");
    rewriter.replaceOpWithNewOp<SoftmaxOp>(op, op.getType(), x, sum.getAxes()[0], /*log=*/false);
    return success();
  }

  /// The reduction of `x` that `value` broadcasts back.
  static ReduceOp reduction(Value value, Value x, ReduceKind kind) {
    Value v = behindBroadcast(value);
    constexpr double least = -std::numeric_limits<double>::infinity();
    if (auto start = binary(v, BinaryKind::max); start && kind == ReduceKind::max)
      v = behindUnitDims(isSplat(start.getLhs(), least) ? start.getRhs() : isSplat(start.getRhs(), least) ? start.getLhs() : v);
    auto reduce = v.getDefiningOp<ReduceOp>();
    bool isIt = reduce && reduce.getKind() == kind && reduce.getX() == x && isBroadcastBack(value, x, reduce.getAxes());
    return isIt ? reduce : ReduceOp();
  }
};

struct MatchNormalize : impl::MatchNormalizeBase<MatchNormalize> {
  using MatchNormalizeBase::MatchNormalizeBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Normalization, Softmax>(&getContext());
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
} // namespace weft
