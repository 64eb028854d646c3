// NonMaxSuppression: a loop that takes the best remaining box of every batch and class at once.
#include "frontends/onnx/Node.h"

using namespace mlir;
using namespace weft::graph;
using namespace weft::onnx;

namespace {

struct Boxes {
  Value low[2], high[2], area; // [batch, 1, boxes] each
};

/// Corners of boxes [batch, boxes, 4]: two opposite corners (y, x, y, x), or centre and size (x, y, width, height).
Boxes corners(Node &n, Value boxes, bool isCentre) {
  Dims d = n.dimsOf(boxes);
  auto part = [&](int64_t k) { return n.reshape(n.slice(boxes, 2, n.c(k), n.c(1)), {d[0], n.c(1), d[1]}); };
  Boxes result;
  for (int k = 0; k < 2; ++k) {
    if (isCentre) {
      Value half = n.mul(part(k + 2), 0.5);
      result.low[k] = n.sub(part(k), half);
      result.high[k] = n.add(part(k), half);
    } else {
      result.low[k] = n.min(part(k), part(k + 2));
      result.high[k] = n.max(part(k), part(k + 2));
    }
  }
  result.area = n.mul(n.sub(result.high[0], result.low[0]), n.sub(result.high[1], result.low[1]));
  return result;
}

LogicalResult nonMaxSuppression(Node &n) {
  if (n.rank(0) != 3 || n.rank(1) != 3)
    return n.error("boxes and scores must have rank 3");
  Dims s = n.dims(1); // [batch, classes, boxes]
  AffineExpr most = n.c(0);
  if (n.has(2)) {
    auto given = n.hostExprs(2);
    if (!given || given->size() != 1)
      return n.bad() ? failure() : n.error("max_output_boxes_per_class must be one number");
    most = (*given)[0];
  }
  AffineExpr trip = n.syms.min(n.syms.max(most, n.c(0)), s[2]);
  n.noteSizes({trip});
  Type type = n.type(1), i64 = n.i64();
  Value threshold = n.has(3) ? n.reshape(n.in(3), {}) : n.scalar(0, type);
  Boxes boxes = corners(n, n.in(0), n.i("center_point_box"));
  Value scores = n.in(1), none = n.limit(true, type);
  if (n.has(4))
    scores = n.select(n.compare(CompareKind::gt, scores, n.reshape(n.in(4), {})), scores, none);
  Dims one{s[0], s[1], n.c(1)};
  Value number = n.iota(s, 2, i64);
  auto step = [&](AffineExpr, ArrayRef<Value> carried) -> SmallVector<Value> {
    Value left = carried[0];
    Value best = ReduceOp::create(n.b, n.loc, n.tensor(ArrayRef(one).drop_back(), i64), ReduceKind::argmax, left, {2}, false);
    Value index = n.reshape(best, one), isBest = n.compare(CompareKind::eq, number, index);
    Value valid = n.compare(CompareKind::gt, n.reduce(ReduceKind::max, left, {2}, true), none);
    // The best box's corners, summed out of the list: exact, as one summand is not zero.
    auto chosen = [&](Value v) { return n.reduce(ReduceKind::sum, n.select(isBest, v, n.scalarLike(0, v)), {2}, true); };
    Value overlap;
    for (int k = 0; k < 2; ++k) {
      Value extent = n.sub(n.min(boxes.high[k], chosen(boxes.high[k])), n.max(boxes.low[k], chosen(boxes.low[k])));
      extent = n.max(extent, n.scalarLike(0, extent));
      overlap = overlap ? n.mul(overlap, extent) : extent;
    }
    Value together = n.sub(n.add(boxes.area, chosen(boxes.area)), overlap);
    Value iou = n.div(overlap, together); // NaN for empty boxes: not above any threshold
    Value gone = n.binary(BinaryKind::logical_or, isBest, n.compare(CompareKind::gt, iou, threshold));
    return {n.select(gone, none, left), n.reshape(index, ArrayRef(one).drop_back()), n.reshape(valid, ArrayRef(one).drop_back())};
  };
  auto results = countedLoop(n, trip, {scores}, step);
  if (!results)
    return failure();
  // [trip, batch, classes] -> rows (batch, class, box) in the order batch, class, rank
  Value picked = n.transpose((*results)[1], {1, 2, 0}), valid = n.transpose((*results)[2], {1, 2, 0});
  AffineExpr total = n.product(n.dimsOf(valid));
  auto found = NonZeroOp::create(n.b, n.loc, n.tensor({}, i64), n.tensor({n.c(3), total}, i64), valid);
  AffineExpr count = n.syms.defined("selected");
  n.noteSizes({count});
  ReadBackOp::create(n.b, n.loc, found.getCount(), n.b.getDenseI64ArrayAttr({int64_t(cast<AffineSymbolExpr>(count).getPosition())}));
  Value where = n.slice(found.getPositions(), 1, n.c(0), count); // [3, count]
  Value at = n.transpose(where, {1, 0});
  Value box = GatherNDOp::create(n.b, n.loc, n.tensor({count}, i64), picked, at, n.b.getI64IntegerAttr(0));
  return n.result(n.concat({n.slice(at, 1, n.c(0), n.c(2)), n.unsqueeze(box, {1})}, 1));
}

} // namespace

void weft::onnx::addDetectionRules(Rules &r) { r.add("NonMaxSuppression", 10, nonMaxSuppression); }
