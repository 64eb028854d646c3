// The templates of graph.conv and graph.conv_transpose: implicit products on the engine of Gemm.h.
//
// Guarantees: no buffer for unfolded input; positions outside the input count as zero and are never read; any group count,
// 1 to 3 spatial dimensions and more. Per group, rows are output channels, columns are (image, output position), and K runs
// over (input channel, kernel position) in row-major order. Where each channel is its own group, threads sum directly.
#include "passes/tile/templates/Gemm.h"
#include "passes/tile/templates/RootResults.h"
#include "passes/tile/templates/Roots.h"
#include "passes/tile/templates/View.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {
namespace {

/// What both operations say, in one form.
struct Convolution {
  Value x, w, y;
  ArrayRef<int64_t> strides, dilations;
  DimsAttr padsLow;
  int64_t group;
  bool isTransposed;

  template <typename Op>
  Convolution(Op op, bool isTransposed)
      : x(op.getX()), w(op.getW()), y(op.getY()), strides(op.getStrides()), dilations(op.getDilations()), padsLow(op.getPadsLow()),
        group(op.getGroup()), isTransposed(isTransposed), xDims(getDims(x)), wDims(getDims(w)), yDims(getDims(y)) {}

  unsigned spatial() const { return strides.size(); }
  ArrayRef<AffineExpr> kernel() const { return ArrayRef(wDims).drop_front(2); }
  AffineExpr channelsPerGroup() const { return isTransposed ? xDims[1].floorDiv(group) : wDims[1]; }
  AffineExpr outputsPerGroup() const { return isTransposed ? wDims[1] : wDims[0].floorDiv(group); }
  Type element() const { return cast<RankedTensorType>(x.getType()).getElementType(); }
  /// Each output position reads the input position of the same number: a plain product.
  bool isPointwise() const {
    for (unsigned d = 0; d < spatial(); ++d)
      if (!isConstant(kernel()[d], 1) || strides[d] != 1 || !isConstant(padsLow[d], 0) || xDims[d + 2] != yDims[d + 2])
        return false;
    return true;
  }

  Dims xDims, wDims, yDims;
};

Value productOf(Kit &kit, ArrayRef<AffineExpr> dims) {
  Value result = kit.index(1);
  for (AffineExpr dim : dims)
    result = kit.mul(result, kit.e.host(dim));
  return result;
}

/// Splits a row-major number into its positions within `dims`, the outermost unbounded.
Values split(Kit &kit, Value number, ArrayRef<AffineExpr> dims) {
  Values result(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    Value size = kit.e.host(dims[d]);
    result[d] = d == 0 ? number : kit.rem(number, size);
    number = d == 0 ? number : kit.div(number, size);
  }
  return result;
}

/// The input position that kernel position `k` reads for output position `start` (see `startOf`), and whether there is one.
struct Tap {
  Value position, isInside;
};
Value startOf(Kit &kit, const Convolution &conv, unsigned d, Value o) {
  Value pad = kit.e.host(conv.padsLow[d]);
  return conv.isTransposed ? kit.add(o, pad) : kit.sub(kit.mul(o, conv.strides[d]), pad);
}
Tap tapOf(Kit &kit, const Convolution &conv, unsigned d, Value start, Value k) {
  Value reach = kit.mul(k, conv.dilations[d]), size = kit.e.host(conv.xDims[d + 2]);
  Value position = conv.isTransposed ? kit.sub(start, reach) : kit.add(start, reach), isInside;
  if (conv.isTransposed && conv.strides[d] != 1) {
    Value offset = position;
    isInside = kit.ge(offset, kit.index(0));
    position = kit.div(offset, conv.strides[d]);
    isInside = kit.both(isInside, kit.eq(kit.mul(position, conv.strides[d]), offset));
  }
  isInside = kit.both(isInside, kit.inRange(position, size));
  Value clamped = kit.max(kit.min(position, kit.sub(size, kit.index(1))), kit.index(0));
  return {clamped, isInside};
}

/// The unfolded input as columns of the product.
class InputSource : public GemmSource {
public:
  InputSource(const Convolution &conv, Value group, unsigned width) : conv(conv), view(conv.x), group(group) {
    isPointwise = conv.isPointwise();
    if (isPointwise && view.isDirect()) {
      AffineExpr extent = view.isMemory() ? product(ArrayRef(conv.xDims).drop_front(2), conv.x.getContext()) : conv.xDims.back();
      run = extent.isMultipleOf(width) ? width : 1;
    }
  }
  Values prepare(Kit &kit, Value column) override {
    Dims dims(conv.yDims);
    dims.erase(dims.begin() + 1);
    Values result = split(kit, column, dims);
    for (unsigned d = 0; d < conv.spatial() && !isPointwise; ++d)
      result[d + 1] = startOf(kit, conv, d, result[d + 1]);
    firstChannel = kit.mul(group, kit.e.host(conv.channelsPerGroup()));
    return result;
  }
  Values load(Kit &kit, ValueRange prepared, Value k) override {
    SmallVector<Value, 4> at{prepared[0]};
    if (isPointwise) {
      at.push_back(kit.add(firstChannel, k));
      llvm::append_range(at, prepared.drop_front());
      ElementIndex index = ElementEmitter::at(at);
      if (view.isDirect())
        index.linear = kit.e.linear(index, conv.xDims);
      return view.readAt(kit, index, run);
    }
    SmallVector<AffineExpr> dims{conv.channelsPerGroup()};
    llvm::append_range(dims, conv.kernel());
    Values position = split(kit, k, dims);
    at.push_back(kit.add(firstChannel, position[0]));
    Value isInside;
    for (unsigned d = 0; d < conv.spatial(); ++d) {
      Tap tap = tapOf(kit, conv, d, prepared[d + 1], position[d + 1]);
      at.push_back(tap.position);
      isInside = kit.both(isInside, tap.isInside);
    }
    Value x = view.read(kit, at)[0];
    return {kit.select(isInside, x, kit.scalar(conv.element(), 0))};
  }

private:
  const Convolution &conv;
  View view;
  Value group, firstChannel;
  bool isPointwise;
};

/// The weights as rows of the product.
class WeightSource : public GemmSource {
public:
  WeightSource(const Convolution &conv, Value group, unsigned width) : conv(conv), view(conv.w), group(group) {
    alongK = true;
    AffineExpr k = product(ArrayRef(conv.wDims).drop_front(1), conv.w.getContext());
    if (!conv.isTransposed && view.isMemory() && k.isMultipleOf(width))
      run = width;
  }
  Values prepare(Kit &kit, Value row) override {
    if (conv.isTransposed)
      return {row};
    Value channel = kit.add(kit.mul(group, kit.e.host(conv.outputsPerGroup())), row);
    return {channel, kit.mul(channel, productOf(kit, ArrayRef(conv.wDims).drop_front(1)))};
  }
  Values load(Kit &kit, ValueRange prepared, Value k) override {
    if (!conv.isTransposed && view.isDirect())
      return view.readAt(kit, ElementEmitter::atLinear(kit.add(prepared[1], k)), run);
    SmallVector<AffineExpr> dims{conv.channelsPerGroup()};
    llvm::append_range(dims, conv.kernel());
    SmallVector<Value, 4> at{prepared[0]};
    llvm::append_range(at, split(kit, k, dims));
    if (conv.isTransposed) {
      std::swap(at[0], at[1]);
      at[0] = kit.add(kit.mul(group, kit.e.host(conv.channelsPerGroup())), at[0]);
    }
    return view.read(kit, at);
  }

private:
  const Convolution &conv;
  View view;
  Value group;
};

/// The result's index of output channel `channel` and column `column`.
ElementIndex outputIndex(Kit &kit, const Convolution &conv, Value channel, Value column) {
  Dims dims(conv.yDims);
  dims.erase(dims.begin() + 1);
  Values position = split(kit, column, dims);
  position.insert(position.begin() + 1, channel);
  return ElementEmitter::at(position);
}

LogicalResult emitImplicitGemm(KernelEmitter &e, Operation *op, const Convolution &conv) {
  Kit kit(e);
  RootResults results(kit, op);
  MLIRContext *mlir = kit.b.getContext();
  Type accumulator = gemmAccumulator(conv.element());
  unsigned width = gemmWidth(accumulator);
  Dims columnDims(conv.yDims);
  columnDims.erase(columnDims.begin() + 1);
  AffineExpr columns = product(columnDims, mlir), depth = conv.channelsPerGroup() * product(conv.kernel(), mlir);
  auto known = [](AffineExpr e) { return getConstant(e).value_or(-1); };
  GemmTile tile = chooseGemmTile(known(conv.outputsPerGroup()), known(columns), known(depth), conv.group, accumulator);

  // The positions that each thread keeps for its loads need registers: fewer loads and sums per thread, or some would spill.
  // A batch of unknown size adds the division of each column.
  if (tile.m == 64 && tile.n == 64 && (tile.slices == 1 || known(columns) < 0))
    tile.threadM = 4;

  GemmProblem problem;
  problem.m = kit.e.host(conv.outputsPerGroup());
  problem.n = productOf(kit, columnDims);
  problem.k = kit.mul(kit.e.host(conv.channelsPerGroup()), productOf(kit, conv.kernel()));
  // Where an input dimension is 0 there is nothing to add up, and no position to clamp to.
  for (AffineExpr dim : ArrayRef(conv.xDims).drop_front(2))
    if (!getConstant(dim) || isConstant(dim, 0))
      problem.k = kit.select(kit.eq(kit.e.host(dim), kit.index(0)), kit.index(0), problem.k);
  problem.kDivides = getConstant(depth) && *getConstant(depth) % tile.k == 0;
  problem.columnRun = conv.yDims.back().isMultipleOf(width) ? width : 1;
  problem.element = conv.element();
  problem.accumulator = accumulator;

  Symbols &symbols = e.symbols;
  AffineExpr columnCount = symbols.constant(1);
  for (AffineExpr dim : columnDims)
    columnCount = symbols.mul(columnCount, dim);
  launchGemm(e, tile, conv.outputsPerGroup(), columnCount, symbols.constant(conv.group));
  GemmPosition position = gemmPosition(kit, tile, problem);
  Value group = position.batch;
  WeightSource a(conv, group, width);
  InputSource b(conv, group, width);
  problem.a = &a;
  problem.b = &b;
  Type result = cast<RankedTensorType>(conv.y.getType()).getElementType();
  emitGemm(kit, tile, problem, position.tileM, position.tileN, [&](Value row, Value column, ValueRange sums) {
    Value channel = kit.add(kit.mul(group, problem.m), row);
    Values values;
    for (Value sum : sums)
      values.push_back(scalar::cast(kit.b, kit.loc(), sum, accumulator, result));
    results.store(0, outputIndex(kit, conv, channel, column), values);
  });
  return success();
}

/// One thread per output element; the kernel's positions unrolled where they are known and few.
LogicalResult emitDepthwise(KernelEmitter &e, Operation *op, const Convolution &conv) {
  Kit kit(e);
  RootResults results(kit, op);
  Type accumulator = gemmAccumulator(conv.element()), result = cast<RankedTensorType>(conv.y.getType()).getElementType();
  View x(conv.x), w(conv.w);
  Value number = kit.add(kit.mul(kit.block(), 128), kit.toIndex(kit.thread()));
  Value total = productOf(kit, conv.yDims);
  AffineExpr count = e.symbols.constant(1);
  for (AffineExpr dim : conv.yDims)
    count = e.symbols.mul(count, dim);
  e.launch.block = {128, 1, 1};
  e.launch.grid = {e.symbols.ceilDiv(count, e.symbols.constant(128))};
  kit.ifThen(kit.lt(number, total), [&] {
    ElementIndex out = ElementEmitter::atLinear(number);
    SmallVector<Value, 4> at = kit.e.multi(out, conv.yDims);
    out.multi = at;
    out.hasMulti = true;
    Value channel = kit.div(at[1], kit.e.host(conv.outputsPerGroup()));
    auto add = [&]() -> Values {
      Value sum = kit.scalar(accumulator, 0);
      SmallVector<SmallVector<Tap>> taps(conv.spatial());
      int64_t count = 1;
      for (unsigned d = 0; d < conv.spatial(); ++d) {
        Value start = startOf(kit, conv, d, at[d + 2]);
        for (int64_t k = 0; k < *getConstant(conv.kernel()[d]); ++k)
          taps[d].push_back(tapOf(kit, conv, d, start, kit.index(k)));
        count *= taps[d].size();
      }
      for (int64_t n = 0; n < count; ++n) {
        SmallVector<Value, 4> xAt{at[0], channel}, wAt{at[1], kit.index(0)};
        xAt.resize(conv.xDims.size());
        wAt.resize(conv.xDims.size());
        Value isInside;
        for (int64_t d = conv.spatial() - 1, rest = n; d >= 0; --d) {
          int64_t k = rest % taps[d].size();
          rest /= taps[d].size();
          xAt[d + 2] = taps[d][k].position;
          wAt[d + 2] = kit.index(k);
          isInside = kit.both(isInside, taps[d][k].isInside);
        }
        auto read = [&](const View &view, ArrayRef<Value> at) {
          return scalar::cast(kit.b, kit.loc(), view.read(kit, at)[0], conv.element(), accumulator);
        };
        Value term = kit.select(isInside, read(x, xAt), kit.scalar(accumulator, 0));
        sum = scalar::multiplyAdd(kit.b, kit.loc(), term, read(w, wAt), sum);
      }
      return {sum};
    };
    // Where an input dimension is 0 there is nothing to add up, and no position to clamp to.
    Value isNotEmpty;
    for (AffineExpr dim : ArrayRef(conv.xDims).drop_front(2))
      if (e.symbols.lowerBound(dim).value_or(0) < 1)
        isNotEmpty = kit.both(isNotEmpty, kit.lt(kit.index(0), kit.e.host(dim)));
    auto nothing = [&]() -> Values { return {kit.scalar(accumulator, 0)}; };
    Value sum = isNotEmpty ? kit.ifElse(isNotEmpty, {accumulator}, add, nothing)[0] : add()[0];
    results.store(0, out, scalar::cast(kit.b, kit.loc(), sum, accumulator, result));
  });
  return success();
}

/// One input channel per group and few kernel positions.
bool isDepthwise(const Convolution &conv) {
  if (conv.isTransposed || !isConstant(conv.channelsPerGroup(), 1))
    return false;
  auto taps = getConstant(product(conv.kernel(), conv.x.getContext()));
  return taps && *taps > 0 && *taps <= 64;
}

template <typename Op> LogicalResult emit(KernelContext &context, bool isTransposed) {
  Convolution conv(cast<Op>(context.root), isTransposed);
  return context.emit([&](KernelEmitter &e) {
    return isDepthwise(conv) ? emitDepthwise(e, context.root, conv) : emitImplicitGemm(e, context.root, conv);
  });
}

} // namespace

LogicalResult emitConv(KernelContext &context) { return emit<ConvOp>(context, /*isTransposed=*/false); }
LogicalResult emitConvTranspose(KernelContext &context) { return emit<ConvTransposeOp>(context, /*isTransposed=*/true); }

} // namespace weft::tile
