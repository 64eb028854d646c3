// Convolutions and pooling: windows over the spatial dimensions of [N, C, spatial...].
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

/// A window's geometry, resolved from attributes: one entry per spatial dimension.
struct Window {
  SmallVector<int64_t> kernel, strides, dilations;
  Dims low, high, out;
};

/// Reads strides, dilations and pads and computes the output's spatial dimensions.
bool resolve(Node &n, ArrayRef<AffineExpr> in, Window &w, bool ceil) {
  size_t spatial = in.size();
  w.strides = n.ints("strides", SmallVector<int64_t>(spatial, 1));
  w.dilations = n.ints("dilations", SmallVector<int64_t>(spatial, 1));
  auto pads = n.ints("pads", SmallVector<int64_t>(2 * spatial, 0));
  std::string autoPad = n.s("auto_pad", "NOTSET");
  auto isPositive = [](int64_t v) { return v > 0; };
  if (w.kernel.size() != spatial || w.strides.size() != spatial || w.dilations.size() != spatial || pads.size() != 2 * spatial)
    return (void)n.error("kernel_shape, strides and dilations must have " + Twine(spatial) + " entries and pads " + Twine(2 * spatial)), false;
  if (!llvm::all_of(w.kernel, isPositive) || !llvm::all_of(w.strides, isPositive) || !llvm::all_of(w.dilations, isPositive))
    return (void)n.error("kernel_shape, strides and dilations must be positive"), false;
  Symbols &s = n.syms;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    AffineExpr stride = n.c(w.strides[i]), low = n.c(pads[i]), high = n.c(pads[spatial + i]), out;
    if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      out = s.ceilDiv(in[i], stride);
      AffineExpr needed = s.sub(s.add(s.mul(s.sub(out, n.c(1)), stride), n.c(reach)), in[i]);
      AffineExpr total = s.max(needed, n.c(0)), half = s.floorDiv(total, n.c(2));
      low = autoPad == "SAME_UPPER" ? half : s.sub(total, half);
      high = s.sub(total, low);
    } else {
      if (autoPad == "VALID")
        low = high = n.c(0);
      else if (autoPad != "NOTSET")
        return (void)n.error("auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, found '" + autoPad + "'"), false;
      AffineExpr room = s.sub(s.add(in[i], s.add(low, high)), n.c(reach));
      if (auto value = getConstant(room); value && *value < 0)
        return (void)n.error("the window reaches over " + Twine(reach) + " positions of spatial dimension " + Twine(i) + ", which has " + Twine(*value + reach) + " with padding"), false;
      out = s.add(ceil ? s.ceilDiv(room, stride) : s.floorDiv(room, stride), n.c(1));
      if (ceil) // no window may begin behind the input and its low padding
        out = s.min(out, s.add(s.floorDiv(s.sub(s.add(in[i], low), n.c(1)), stride), n.c(1)));
    }
    w.low.push_back(low);
    w.high.push_back(high);
    w.out.push_back(out);
  }
  return true;
}

bool checkKernel(Node &n, ArrayRef<AffineExpr> weight, Window &w) {
  for (AffineExpr dim : weight.drop_front(2)) {
    auto size = getConstant(dim);
    if (!size)
      return (void)n.error("a weight whose spatial dimensions are not known at compile time is not supported"), false;
    w.kernel.push_back(*size);
  }
  if (n.hasAttr("kernel_shape") && n.ints("kernel_shape") != w.kernel)
    return (void)n.error("kernel_shape does not agree with the weight's dimensions"), false;
  return true;
}

Value addBias(Node &n, Value y, Value bias) { return bias ? n.add(y, n.broadcast(bias, n.dimsOf(y), {1})) : y; }

} // namespace

LogicalResult weft::onnx::convolve(Node &n, Value input, Value weight, Value bias) {
  Dims x = n.dimsOf(input), w = n.dimsOf(weight);
  int64_t group = n.i("group", 1);
  if (x.size() < 3 || w.size() != x.size())
    return n.error("input and weight must have one rank of 3 or more, found " + Twine(x.size()) + " and " + Twine(w.size()));
  if (group < 1)
    return n.error("group must be positive, found " + Twine(group));
  n.requireEqual(x[1], n.syms.mul(w[1], n.c(group)), "the input's channels must be the weight's dimension 1 times group");
  if (auto m = getConstant(w[0]); m && *m % group != 0)
    return n.error("group " + Twine(group) + " does not divide the " + Twine(*m) + " output channels");
  if (bias && n.rankOf(bias) != 1)
    return n.error("the bias must have rank 1");
  if (bias)
    n.requireEqual(n.dimsOf(bias)[0], w[0], "the bias must have one element per output channel");
  Window window;
  if (n.bad() || !checkKernel(n, w, window) || !resolve(n, ArrayRef(x).drop_front(2), window, false))
    return failure();
  Dims dims{x[0], w[0]};
  llvm::append_range(dims, window.out);
  Value y = ConvOp::create(n.b, n.loc, n.tensor(dims, n.typeOf(input)), input, weight, n.b.getDenseI64ArrayAttr(window.strides),
                           n.b.getDenseI64ArrayAttr(window.dilations), n.dimsAttr(window.low), n.b.getI64IntegerAttr(group));
  return n.result(addBias(n, y, bias));
}

namespace {

/// out = stride * (in - 1) + output_padding + reach - pads, or output_shape, from which the pads follow.
bool resolveTranspose(Node &n, ArrayRef<AffineExpr> in, Window &w) {
  size_t spatial = in.size();
  w.strides = n.ints("strides", SmallVector<int64_t>(spatial, 1));
  w.dilations = n.ints("dilations", SmallVector<int64_t>(spatial, 1));
  auto pads = n.ints("pads", SmallVector<int64_t>(2 * spatial, 0)), extra = n.ints("output_padding", SmallVector<int64_t>(spatial, 0));
  auto shape = n.ints("output_shape");
  if (shape.size() == spatial + 2)
    shape.erase(shape.begin(), shape.begin() + 2);
  std::string autoPad = n.s("auto_pad", "NOTSET");
  if (w.strides.size() != spatial || w.dilations.size() != spatial || pads.size() != 2 * spatial || extra.size() != spatial ||
      (!shape.empty() && shape.size() != spatial))
    return (void)n.error("strides, dilations, output_padding and output_shape must have " + Twine(spatial) + " entries and pads " + Twine(2 * spatial)), false;
  Symbols &s = n.syms;
  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  for (size_t i = 0; i < spatial; ++i) {
    if (w.strides[i] <= 0 || w.dilations[i] <= 0)
      return (void)n.error("strides and dilations must be positive"), false;
    int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    AffineExpr whole = s.add(s.mul(s.sub(in[i], n.c(1)), n.c(w.strides[i])), n.c(reach + extra[i]));
    AffineExpr low = n.c(pads[i]), high = n.c(pads[spatial + i]);
    if (autoPad == "VALID")
      low = high = n.c(0);
    if (!shape.empty() || isSame) {
      AffineExpr out = shape.empty() ? s.mul(in[i], n.c(w.strides[i])) : n.c(shape[i]);
      AffineExpr total = s.max(s.sub(whole, out), n.c(0)), half = s.floorDiv(total, n.c(2));
      low = autoPad == "SAME_UPPER" ? half : s.sub(total, half);
      w.out.push_back(out);
      w.high.push_back(s.sub(total, low));
    } else {
      w.out.push_back(s.sub(whole, s.add(low, high)));
      w.high.push_back(high);
    }
    w.low.push_back(low);
    if (auto size = getConstant(w.out.back()); size && *size < 0)
      return (void)n.error("spatial dimension " + Twine(i) + " of the result would have " + Twine(*size) + " elements"), false;
  }
  return true;
}

LogicalResult convTranspose(Node &n) {
  Dims x = n.dims(0), w = n.dims(1);
  int64_t group = n.i("group", 1);
  if (x.size() < 3 || w.size() != x.size() || group < 1)
    return n.error("input and weight must have one rank of 3 or more and group be positive");
  n.requireEqual(x[1], w[0], "the input's channels must be the weight's dimension 0");
  Window window;
  if (n.bad() || !checkKernel(n, w, window) || !resolveTranspose(n, ArrayRef(x).drop_front(2), window))
    return failure();
  Dims dims{x[0], n.syms.mul(w[1], n.c(group))};
  llvm::append_range(dims, window.out);
  Value y = ConvTransposeOp::create(n.b, n.loc, n.tensor(dims, n.type(0)), n.in(0), n.in(1), n.b.getDenseI64ArrayAttr(window.strides),
                                    n.b.getDenseI64ArrayAttr(window.dilations), n.dimsAttr(window.low), n.b.getI64IntegerAttr(group));
  return n.result(addBias(n, y, n.opt(2)));
}

template <PoolKind kind> LogicalResult pool(Node &n) {
  Dims x = n.dims(0);
  if (x.size() < 3)
    return n.error("the input must have rank 3 or more, found " + Twine(x.size()));
  Window w;
  w.kernel = n.ints("kernel_shape");
  if (!resolve(n, ArrayRef(x).drop_front(2), w, n.i("ceil_mode")))
    return failure();
  Dims dims{x[0], x[1]};
  llvm::append_range(dims, w.out);
  auto type = n.tensor(dims, n.type(0));
  Type indices = n.wants(1) ? Type(n.tensor(dims, n.i64())) : Type();
  auto op = PoolOp::create(n.b, n.loc, type, indices, kind, n.in(0), w.kernel, w.strides, w.dilations, n.dimsAttr(w.low),
                           n.dimsAttr(w.high), bool(n.i("count_include_pad")), n.i("storage_order"), n.i("p", 2));
  n.set(0, op.getY());
  if (n.wants(1))
    n.set(1, op.getIndices());
  return success();
}

SmallVector<int64_t> spatialAxes(Node &n) {
  SmallVector<int64_t> axes;
  for (int64_t i = 2; i < n.rank(0); ++i)
    axes.push_back(i);
  return axes;
}

/// (sum |x|^p)^(1/p)
LogicalResult globalLpPool(Node &n) {
  double p = n.i("p", 2);
  Value x = n.unary(UnaryKind::abs, n.in(0));
  Value sum = n.reduce(ReduceKind::sum, n.binary(BinaryKind::pow, x, n.scalarLike(p, x)), spatialAxes(n), true);
  return n.result(n.binary(BinaryKind::pow, sum, n.scalarLike(1 / p, x)));
}

/// x / (bias + alpha / size * sum of squares over `size` neighbouring channels)^beta
LogicalResult lrn(Node &n) {
  int64_t size = n.i("size");
  Dims d = n.dims(0);
  if (d.size() < 2 || size < 1)
    return n.error("the input must have rank 2 or more and size be positive");
  Value x = n.in(0);
  Dims flat{d[0], n.c(1), d[1], n.product(ArrayRef(d).drop_front(2))};
  Dims low{n.c((size - 1) / 2), n.c(0)}, high{n.c(size - 1 - (size - 1) / 2), n.c(0)};
  Value squares = n.reshape(n.mul(x, x), flat);
  auto sum = PoolOp::create(n.b, n.loc, squares.getType(), Type(), PoolKind::sum, squares, ArrayRef<int64_t>{size, 1},
                            ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{1, 1}, n.dimsAttr(low), n.dimsAttr(high), false, 0, 2);
  Value scale = n.add(n.mul(n.reshape(sum.getY(), d), n.f("alpha", 0.0001f) / double(size)), n.f("bias", 1));
  return n.result(n.div(x, n.binary(BinaryKind::pow, scale, n.scalarLike(n.f("beta", 0.75), x))));
}

} // namespace

void weft::onnx::addConvolutionRules(Rules &r) {
  r.add("Conv", 1, [](Node &n) { return convolve(n, n.in(0), n.in(1), n.opt(2)); });
  r.add("ConvTranspose", 1, convTranspose);
  r.add("MaxPool", 1, pool<PoolKind::max>);
  r.add("AveragePool", 1, pool<PoolKind::average>);
  r.add("LpPool", 2, pool<PoolKind::lp>);
  r.add("GlobalAveragePool", 1, [](Node &n) { return n.result(n.mean(n.in(0), spatialAxes(n), true)); });
  r.add("GlobalMaxPool", 1, [](Node &n) { return n.result(n.reduce(ReduceKind::max, n.in(0), spatialAxes(n), true)); });
  r.add("GlobalLpPool", 2, globalLpPool);
  r.add("LRN", 1, lrn);
}
