// DFT and STFT: products with a matrix of cosines and sines. Angles are reduced in integers first, so they stay exact.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

/// Transforms the last axis of `re` and `im` (`im` may be null), of length n, into `bins` bins: [..., bins, 2].
Value transform(Node &n, Value re, Value im, AffineExpr length, AffineExpr bins, bool inverse) {
  Type type = n.typeOf(re);
  Dims dims{length, bins};
  Value size = n.host({length}, {}, n.i64());
  Value turns = n.binary(BinaryKind::mod, n.mul(n.iota(dims, 0, n.i64()), n.iota(dims, 1, n.i64())), size);
  Value angle = n.mul(n.div(n.cast(turns, type), n.cast(size, type)), 6.283185307179586);
  Value cosine = n.unary(UnaryKind::cos, angle), sine = n.unary(UnaryKind::sin, angle);
  // At multiples of a quarter turn one of the two is 0, which no rounded angle gives.
  Value none = n.scalar(0, n.i64());
  auto divides = [&](int64_t times) {
    Value rest = n.binary(BinaryKind::mod, n.mul(turns, n.scalar(times, n.i64())), size);
    return n.compare(CompareKind::eq, rest, none);
  };
  Value atHalf = divides(2), atQuarter = n.binary(BinaryKind::logical_xor, divides(4), atHalf);
  sine = n.select(atHalf, n.scalarLike(0, sine), sine);
  cosine = n.select(atQuarter, n.scalarLike(0, cosine), cosine);
  sine = inverse ? n.unary(UnaryKind::neg, sine) : sine;
  Value outRe = n.contract(re, cosine), outIm = n.unary(UnaryKind::neg, n.contract(re, sine));
  if (im) {
    outRe = n.add(outRe, n.contract(im, sine));
    outIm = n.add(outIm, n.contract(im, cosine));
  }
  int64_t rank = n.rankOf(outRe);
  Value y = n.concat({n.unsqueeze(outRe, {rank}), n.unsqueeze(outIm, {rank})}, rank);
  return inverse ? n.div(y, n.cast(size, type)) : y;
}

/// Part k of the last dimension, without that dimension.
Value component(Node &n, Value x, int64_t k) {
  int64_t last = n.rankOf(x) - 1;
  return n.squeeze(n.slice(x, last, n.c(k), n.c(1)), {last});
}

/// 1 (real) or 2 (complex): the last dimension.
std::optional<bool> isComplex(Node &n, Value x) {
  auto parts = getConstant(n.dimsOf(x).back());
  if (!parts || (*parts != 1 && *parts != 2))
    return (void)n.error("the last dimension must be 1 (real) or 2 (complex)"), std::nullopt;
  return *parts == 2;
}

AffineExpr binsOf(Node &n, AffineExpr length, bool onesided) {
  return onesided ? n.syms.add(n.syms.floorDiv(length, n.c(2)), n.c(1)) : length;
}

/// The transform of x along `axis`, cut or filled with zeros to `wanted` elements where that is given.
Value dftAlong(Node &n, Value x, bool complex, int64_t axis, AffineExpr wanted) {
  int64_t rank = n.rankOf(x);
  if (axis == rank - 1)
    return (void)n.error("axis must not be the last one"), x;
  AffineExpr length = n.dimsOf(x)[axis];
  if (wanted) {
    Dims low(rank, n.c(0)), high(rank, n.c(0));
    high[axis] = n.syms.sub(wanted, length);
    x = n.pad(x, low, high, n.scalarLike(0, x));
    length = wanted;
  }
  SmallVector<int64_t> to, back;
  for (int64_t i = 0; i < rank - 1; ++i)
    if (i != axis)
      to.push_back(i);
  to.push_back(axis);
  for (int64_t i = 0; i < rank - 1; ++i)
    back.push_back(i == axis ? rank - 2 : i - (i > axis));
  back.push_back(rank - 1);
  Value re = n.transpose(component(n, x, 0), to), im = complex ? n.transpose(component(n, x, 1), to) : Value();
  return n.transpose(transform(n, re, im, length, binsOf(n, length, n.i("onesided")), n.i("inverse")), back);
}

LogicalResult dft(Node &n) {
  int64_t rank = n.rank(0);
  if (rank < 2)
    return n.error("the input must have rank 2 or more, found " + Twine(rank));
  if (n.i("inverse") && n.i("onesided"))
    return n.error("a one-sided inverse transform is not supported");
  Value x = n.in(0);
  auto complex = isComplex(n, x);
  AffineExpr wanted;
  if (n.has(1)) {
    auto given = n.hostExprs(1);
    if (!given || given->size() != 1)
      return n.bad() ? failure() : n.error("dft_length must be one number");
    wanted = (*given)[0];
  }
  if (!complex)
    return failure();
  if (n.version() >= 20 && n.has(2) && n.isRuntime(2)) // never the last axis
    return overRuntimeAxes(n, 2, rank, [&](ArrayRef<int64_t> axes) {
      return dftAlong(n, x, *complex, axes[0] == rank - 1 ? 0 : axes[0], wanted);
    });
  int64_t axis = n.version() < 20 ? n.i("axis", 1) : -2;
  if (n.version() >= 20 && n.has(2))
    axis = n.hostInts(2).value_or(SmallVector<int64_t>{-2})[0];
  axis = n.axis(axis, rank);
  return n.bad() ? failure() : n.result(dftAlong(n, x, *complex, axis, wanted));
}

/// Frames of the signal [batch, samples, 1 or 2], each windowed and transformed: [batch, frames, bins, 2].
LogicalResult stft(Node &n) {
  Value x = n.in(0);
  if (n.rank(0) != 3)
    return n.error("the signal must have rank 3, found " + Twine(n.rank(0)));
  auto complex = isComplex(n, x);
  auto step = n.hostExprs(1);
  if (!complex || !step || step->size() != 1)
    return n.bad() ? failure() : n.error("frame_step must be one number");
  AffineExpr length = n.has(2) ? n.dims(2)[0] : AffineExpr();
  if (n.has(3)) {
    auto given = n.hostExprs(3);
    if (!given || given->size() != 1)
      return n.bad() ? failure() : n.error("frame_length must be one number");
    length = (*given)[0];
  }
  if (!length)
    return n.error("one of window and frame_length must be given");
  AffineExpr frames = n.syms.add(n.syms.floorDiv(n.syms.sub(n.dims(0)[1], length), (*step)[0]), n.c(1));
  Dims dims{frames, length};
  Value at = n.add(n.mul(n.iota(dims, 0, n.i64()), n.host(*step, {}, n.i64())), n.iota(dims, 1, n.i64()));
  auto part = [&](int64_t k) {
    Value y = n.gather(component(n, x, k), at, 1); // [batch, frames, length]
    return n.has(2) ? n.mul(y, n.in(2)) : y;
  };
  Value re = part(0), im = *complex ? part(1) : Value();
  return n.result(transform(n, re, im, length, binsOf(n, length, n.i("onesided", 1)), false));
}

} // namespace

void weft::onnx::addSpectralRules(Rules &r) {
  r.add("DFT", 17, dft);
  r.add("STFT", 17, stft);
}
