// Resize and Upsample.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

AffineExpr toReal(Node &n, AffineExpr e) { return n.syms.isFloat(e) ? e : n.fn(SymbolFn::itof, {e}); }
AffineExpr divide(Node &n, AffineExpr a, AffineExpr b) { return n.fn(SymbolFn::fdiv, {toReal(n, a), toReal(n, b)}); }

struct Request {
  Dims scales, sizes; // per dimension of the input
};

/// floor(size * scale), with the product rounded as a single as ONNX Runtime does.
AffineExpr scaled(Node &n, AffineExpr size, AffineExpr scale) {
  if (auto s = n.syms.getFloatConstant(scale); s && *s == double(int64_t(*s)))
    return n.syms.mul(size, n.c(int64_t(*s)));
  AffineExpr product = n.fn(SymbolFn::f32round, {n.fn(SymbolFn::fmul, {toReal(n, size), toReal(n, scale)})});
  return n.fn(SymbolFn::ftoi, {n.fn(SymbolFn::ffloor, {product})});
}

LogicalResult build(Node &n, const Request &request, ResizeMode mode, ResizeCoord coord, ResizeNearest nearest, DimsAttr roi) {
  auto op = ResizeOp::create(n.b, n.loc, n.tensor(request.sizes, n.type(0)), n.in(0), ResizeModeAttr::get(n.context(), mode),
                             ResizeCoordAttr::get(n.context(), coord), ResizeNearestAttr::get(n.context(), nearest),
                             n.dimsAttr(request.scales), roi, n.b.getF32FloatAttr(n.f("cubic_coeff_a", -0.75)),
                             n.b.getBoolAttr(n.i("exclude_outside")), n.b.getF32FloatAttr(n.f("extrapolation_value")));
  return n.result(op);
}

/// Output size and scale from the input `sizes`, by keep_aspect_ratio_policy.
bool fromSizes(Node &n, ArrayRef<AffineExpr> wanted, ArrayRef<int64_t> axes, Request &request) {
  Dims dims = n.dims(0);
  std::string policy = n.s("keep_aspect_ratio_policy", "stretch");
  AffineExpr common;
  for (auto [k, a] : llvm::enumerate(axes)) {
    AffineExpr scale = divide(n, wanted[k], dims[a]);
    request.sizes[a] = wanted[k];
    request.scales[a] = scale;
    common = !common ? scale : n.fn(policy == "not_larger" ? SymbolFn::fmin : SymbolFn::fmax, {common, scale});
  }
  if (policy == "stretch")
    return true;
  if (policy != "not_larger" && policy != "not_smaller")
    return (void)n.error("keep_aspect_ratio_policy must be stretch, not_larger or not_smaller, found '" + policy + "'"), false;
  for (int64_t a : axes) { // round half up, as the specification says
    AffineExpr exact = n.fn(SymbolFn::fmul, {common, toReal(n, dims[a])});
    request.sizes[a] = n.fn(SymbolFn::ftoi, {n.fn(SymbolFn::ffloor, {n.fn(SymbolFn::fadd, {exact, n.syms.floatConstant(0.5)})})});
    request.scales[a] = common;
  }
  return true;
}

LogicalResult resize(Node &n) {
  int64_t rank = n.rank(0);
  auto mode = symbolizeResizeMode(n.s("mode", "nearest"));
  auto nearest = symbolizeResizeNearest(n.s("nearest_mode", "round_prefer_floor"));
  bool isOld = n.version() < 11; // Resize-10 is asymmetric and takes the floor
  auto coord = symbolizeResizeCoord(n.s("coordinate_transformation_mode", isOld ? "asymmetric" : "half_pixel"));
  if (!mode || !coord || !nearest)
    return n.error("mode, coordinate_transformation_mode or nearest_mode has an unknown value");
  if (isOld)
    nearest = ResizeNearest::floor;
  if (n.i("antialias"))
    return n.error("antialias is not supported");
  SmallVector<int64_t> axes = n.ints("axes");
  if (axes.empty())
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(i);
  for (int64_t &a : axes)
    a = n.axis(a, rank, "axes");
  Request request{Dims(rank, n.syms.floatConstant(1)), n.dims(0)};
  unsigned scalesInput = isOld ? 1 : 2;
  bool hasScales = n.has(scalesInput) && !(n.peekHost(scalesInput) && n.peekHost(scalesInput)->values.empty()) &&
                   !isConstant(n.dims(scalesInput)[0], 0);
  auto given = hasScales ? n.hostExprs(scalesInput) : n.has(3) ? n.hostExprs(3) : std::nullopt;
  if (n.bad() || !given)
    return n.bad() ? failure() : n.error("one of scales and sizes must be given");
  if (given->size() != axes.size())
    return n.error((hasScales ? "scales" : "sizes") + Twine(" must have ") + Twine(axes.size()) + " entries, found " + Twine(given->size()));
  if (hasScales) {
    for (auto [k, a] : llvm::enumerate(axes)) {
      request.scales[a] = (*given)[k];
      request.sizes[a] = scaled(n, n.dims(0)[a], (*given)[k]);
    }
  } else if (!fromSizes(n, *given, axes, request)) {
    return failure();
  }
  DimsAttr roi;
  if (*coord == ResizeCoord::tf_crop_and_resize) {
    auto box = n.hostExprs(1);
    if (!box || box->size() != 2 * axes.size())
      return n.bad() ? failure() : n.error("roi must have two entries per axis");
    Dims full(2 * rank, n.syms.floatConstant(0));
    for (int64_t i = 0; i < rank; ++i)
      full[rank + i] = n.syms.floatConstant(1);
    for (auto [k, a] : llvm::enumerate(axes)) {
      full[a] = (*box)[k];
      full[rank + a] = (*box)[k + axes.size()];
    }
    roi = n.dimsAttr(full);
  }
  return build(n, request, *mode, *coord, *nearest, roi);
}

/// Upsample-7 has scales as an attribute, Upsample-9 as an input; asymmetric, nearest by floor.
LogicalResult upsample(Node &n) {
  int64_t rank = n.rank(0);
  std::optional<Dims> scales;
  if (n.version() < 9) {
    scales.emplace();
    for (float s : n.reals("scales"))
      scales->push_back(n.syms.floatConstant(s));
  } else {
    scales = n.hostExprs(1);
  }
  std::string mode = n.s("mode", "nearest");
  auto kind = symbolizeResizeMode(mode == "bilinear" ? "linear" : mode);
  if (!scales || int64_t(scales->size()) != rank || !kind)
    return n.bad() ? failure() : n.error("scales must have " + Twine(rank) + " entries and mode be nearest or linear");
  Request request{*scales, {}};
  for (auto [dim, scale] : llvm::zip(n.dims(0), *scales))
    request.sizes.push_back(scaled(n, dim, scale));
  return build(n, request, *kind, ResizeCoord::asymmetric, ResizeNearest::floor, {});
}

} // namespace

void weft::onnx::addResizeRules(Rules &r) {
  r.add("Resize", 10, resize);
  r.add("Upsample", 7, upsample);
}
