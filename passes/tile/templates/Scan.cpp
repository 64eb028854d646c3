// The templates of graph.scan and graph.nonzero, which both hand a running value from thread to thread.
//
// Guarantees: one launch and a fixed order of combination; any axis, length and direction. A contiguous axis is scanned by a
// warp or a CTA per row in pieces that carry the running value; another one by a thread per row, lanes side by side. nonzero
// is one CTA that compacts the operand piece by piece.
#include "passes/tile/templates/BlockScan.h"
#include "passes/tile/templates/RootResults.h"
#include "passes/tile/templates/Roots.h"
#include "passes/tile/templates/Rows.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {

static Value fromLane(Kit &kit, Value value, Value lane) {
  return ShuffleOp::create(kit.b, kit.loc(), value.getType(), ShuffleKind::idx, value, lane);
}

/// The inclusive prefix over the warp's first `lanes` lanes.
static Value scanLanes(Kit &kit, Value value, unsigned lanes, llvm::function_ref<Value(Value, Value)> combine) {
  for (unsigned delta = 1; delta < lanes; delta *= 2) {
    Value below = kit.shuffleUp(value, delta);
    value = kit.select(kit.ge(kit.lane(), kit.i32(delta)), combine(below, value), value);
  }
  return value;
}

Prefix scanThreads(Kit &kit, Value value, Value identity, unsigned threads, llvm::function_ref<Value(Value, Value)> combine) {
  Value first = kit.eq(kit.lane(), kit.i32(0));
  Value inclusive = scanLanes(kit, value, 32, combine);
  Value exclusive = kit.select(first, identity, kit.shuffleUp(inclusive, 1));
  if (threads <= 32)
    return {inclusive, exclusive, fromLane(kit, inclusive, kit.i32(31))};
  unsigned warps = threads / 32;
  SharedArray totals = kit.shared(value.getType(), warps);
  kit.ifThen(kit.eq(kit.lane(), kit.i32(31)), [&] { kit.store(totals, kit.warp(), inclusive); });
  kit.barrier();
  Value scanned = scanLanes(kit, kit.load(totals, kit.min(kit.lane(), kit.i32(warps - 1))), warps, combine);
  Value isFirstWarp = kit.eq(kit.warp(), kit.i32(0));
  Value before = fromLane(kit, scanned, kit.max(kit.sub(kit.warp(), kit.i32(1)), kit.i32(0)));
  Value total = fromLane(kit, scanned, kit.i32(warps - 1));
  kit.barrier(); // the next use overwrites the totals
  return {kit.select(isFirstWarp, inclusive, combine(before, inclusive)),
          kit.select(isFirstWarp, exclusive, kit.select(first, before, combine(before, exclusive))), total};
}

namespace {

/// Running values of one row.
class Scanner {
public:
  Scanner(Kit &kit, ScanOp op, RootResults &results, const RowSpace &space)
      : kit(kit), op(op), results(results), space(space), type(op.getX().getType().getElementType()),
        wide(scalar::accumulatorType(type)), identity(scalar::reduceIdentity(kit.b, kit.loc(), op.getKind(), wide)) {}

  /// One thread, all of a row.
  void runAlone(ValueRange row) {
    kit.loop(kit.index(0), space.lengthValue(), kit.index(1), identity, [&](Value i, ValueRange carried) {
      Value r = position(i), next = combine(carried[0], read(row, r));
      store(row, r, op.getExclusive() ? carried[0] : next);
      return Values{next};
    });
  }

  /// `threads` threads, piece by piece.
  void runTogether(ValueRange row, Value rank, unsigned threads) {
    kit.loop(kit.index(0), space.lengthValue(), kit.index(threads), identity, [&](Value base, ValueRange carried) {
      Value i = kit.add(base, kit.toIndex(rank)), isInside = kit.lt(i, space.lengthValue());
      Value r = position(kit.min(i, kit.sub(space.lengthValue(), kit.index(1))));
      Value x = kit.select(isInside, read(row, r), identity);
      Prefix prefix = scanThreads(kit, x, identity, threads, [&](Value a, Value b) { return combine(a, b); });
      Value result = combine(carried[0], op.getExclusive() ? prefix.exclusive : prefix.inclusive);
      kit.ifThen(isInside, [&] { store(row, r, result); });
      return Values{combine(carried[0], prefix.total)};
    });
  }

private:
  Value combine(Value a, Value b) { return scalar::reduceCombine(kit.b, kit.loc(), op.getKind(), a, b, wide); }
  Value position(Value i) {
    return op.getReverse() ? kit.sub(kit.sub(space.lengthValue(), kit.index(1)), i) : i;
  }
  Value read(ValueRange row, Value r) { return scalar::cast(kit.b, kit.loc(), space.read(row, r, 1)[0], type, wide); }
  void store(ValueRange row, Value r, Value value) {
    results.store(0, space.at(row, r), scalar::cast(kit.b, kit.loc(), value, wide, type));
  }

  Kit &kit;
  ScanOp op;
  RootResults &results;
  const RowSpace &space;
  Type type, wide;
  Value identity;
};

LogicalResult emitVariant(KernelEmitter &e, ScanOp op) {
  Kit kit(e);
  RootResults results(kit, op);
  RowSpace space(kit, op.getX(), {int64_t(op.getAxis())});
  Scanner scanner(kit, op, results, space);
  bool isShort = space.knownLength().value_or(1025) <= 1024;
  unsigned threads = !space.isContiguous() ? 1 : isShort ? 32 : 256, ctaThreads = threads == 256 ? 256 : 128;
  e.launch.block = {ctaThreads, 1, 1};
  e.launch.grid = {e.symbols.ceilDiv(space.rowCount(), e.symbols.constant(ctaThreads / threads))};
  RowGroup group(kit, threads, ctaThreads);
  Value row = kit.add(kit.mul(kit.block(), group.groups()), kit.toIndex(group.group));
  auto work = [&] {
    Values entered = space.enter(row);
    threads == 1 ? scanner.runAlone(entered) : scanner.runTogether(entered, group.rank, threads);
  };
  if (group.groups() > 1)
    kit.ifThen(kit.lt(row, space.rowCountValue()), work);
  else
    work();
  return success();
}

LogicalResult emitVariant(KernelEmitter &e, NonZeroOp op) {
  constexpr unsigned threads = 1024;
  Kit kit(e);
  e.launch.block = {threads, 1, 1};
  e.launch.grid = {e.symbols.constant(1)};
  Dims dims = getDims(op.getX());
  Type type = op.getX().getType().getElementType();
  Value total = kit.index(1), zero = scalar::constant(kit.b, kit.loc(), type, 0);
  for (AffineExpr dim : dims)
    total = kit.mul(total, e.host(dim));
  RootResults results(kit, op);
  auto wide = [&](Value x) { return x.getType().isInteger(64) ? x : arith::ExtSIOp::create(kit.b, kit.loc(), kit.b.getI64Type(), x).getResult(); };
  Value count = kit.loop(kit.index(0), total, kit.index(threads), kit.index(0), [&](Value base, ValueRange carried) {
    Value i = kit.add(base, kit.toIndex(kit.thread())), isInside = kit.lt(i, total);
    ElementIndex at = ElementEmitter::atLinear(kit.min(i, kit.sub(total, kit.index(1))));
    at.multi = e.multi(at, dims);
    at.hasMulti = true;
    Value isSet = kit.both(isInside, scalar::compare(kit.b, kit.loc(), CompareKind::ne, e.element(op.getX(), at), zero, type));
    Prefix prefix = scanThreads(kit, kit.select(isSet, kit.i32(1), kit.i32(0)), kit.i32(0), threads,
                                [&](Value a, Value b) { return kit.add(a, b); });
    Value column = kit.add(carried[0], kit.toIndex(prefix.exclusive));
    kit.ifThen(isSet, [&] {
      for (unsigned d = 0; d < dims.size(); ++d)
        results.store(1, ElementEmitter::at({kit.index(d), column}), wide(at.multi[d]));
    });
    return Values{kit.add(carried[0], kit.toIndex(prefix.total))};
  })[0];
  kit.ifThen(kit.eq(kit.thread(), kit.i32(0)), [&] { results.store(0, ElementEmitter::at({}), wide(count)); });
  return success();
}

} // namespace

LogicalResult emitScan(KernelContext &context) {
  return context.emit([&](KernelEmitter &e) { return emitVariant(e, cast<ScanOp>(context.root)); });
}
LogicalResult emitNonZero(KernelContext &context) {
  return context.emit([&](KernelEmitter &e) { return emitVariant(e, cast<NonZeroOp>(context.root)); });
}

} // namespace weft::tile
