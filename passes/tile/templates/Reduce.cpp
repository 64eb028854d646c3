// The template of graph.reduce.
//
// Guarantees: one launch, each element read once, combined in an order that depends on the shape only. Rows that are
// contiguous in memory are shared by a warp (short ones) or a CTA; otherwise 32 lanes take neighbouring rows and the warps of
// a CTA share the positions. argmax and argmin give the first (last) of equals; NaN never wins there.
#include "passes/tile/templates/RootResults.h"
#include "passes/tile/templates/Roots.h"
#include "passes/tile/templates/Rows.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {
namespace {

/// What is folded: one value, or (value, position) for argmax and argmin.
class Reduction {
public:
  Reduction(Kit &kit, ReduceOp op) : kit(kit), op(op) {
    element = op.getX().getType().getElementType();
    isArg = op.getKind() == ReduceKind::argmax || op.getKind() == ReduceKind::argmin;
    wide = isArg ? element : scalar::accumulatorType(element);
  }

  Values identity() {
    ReduceKind kind = op.getKind() == ReduceKind::argmax   ? ReduceKind::max
                      : op.getKind() == ReduceKind::argmin ? ReduceKind::min
                                                           : op.getKind();
    Values values{scalar::reduceIdentity(kit.b, kit.loc(), kind, wide)};
    if (isArg)
      values.push_back(kit.index(op.getSelectLast() ? -1 : none()));
    return values;
  }
  /// The tuple of one element.
  Values lift(Value x, Value position) {
    x = scalar::cast(kit.b, kit.loc(), x, element, wide);
    return isArg ? Values{x, position} : Values{x};
  }
  Values combine(ValueRange a, ValueRange b) {
    if (!isArg)
      return {scalar::reduceCombine(kit.b, kit.loc(), op.getKind(), a[0], b[0], wide)};
    CompareKind kind = op.getKind() == ReduceKind::argmax ? CompareKind::gt : CompareKind::lt;
    Value better = scalar::compare(kit.b, kit.loc(), kind, b[0], a[0], element);
    Value equal = scalar::compare(kit.b, kit.loc(), CompareKind::eq, b[0], a[0], element);
    Value preferred = op.getSelectLast() ? kit.lt(a[1], b[1]) : kit.lt(b[1], a[1]);
    Value takes = kit.either(better, kit.both(equal, preferred));
    return {kit.select(takes, b[0], a[0]), kit.select(takes, b[1], a[1])};
  }
  /// The result's element.
  Value finish(ValueRange values) {
    if (!isArg)
      return scalar::cast(kit.b, kit.loc(), values[0], wide, op.getY().getType().getElementType());
    Value found = kit.both(kit.ge(values[1], kit.index(0)), kit.lt(values[1], kit.index(none())));
    Value position = kit.select(found, values[1], kit.index(0));
    return position.getType().isInteger(64) ? position : arith::ExtSIOp::create(kit.b, kit.loc(), kit.b.getI64Type(), position);
  }

private:
  int64_t none() { return kit.indexType.isInteger(32) ? INT32_MAX : INT64_MAX; }
  Kit &kit;
  ReduceOp op;
  Type element, wide;
  bool isArg;
};

/// Folds positions first, first + step, ... < end of a row, `run` elements at a time, four runs per iteration where they fit.
Values foldRow(Kit &kit, const RowSpace &space, Reduction &reduction, ValueRange row, Value first, Value step, unsigned run) {
  constexpr unsigned unroll = 4;
  auto foldRun = [&](Value r, Values state) {
    for (auto [i, x] : llvm::enumerate(space.read(row, r, run)))
      state = reduction.combine(state, reduction.lift(x, kit.add(r, i)));
    return state;
  };
  Value end = space.lengthValue(), reach = kit.mul(step, unroll - 1), next = first;
  Values state = reduction.identity();
  if (!space.knownLength() || *space.knownLength() > 256) {
    Value count = kit.select(kit.lt(kit.add(first, reach), end),
                             kit.div(kit.sub(kit.sub(end, kit.add(first, reach)), kit.index(1)), kit.mul(step, unroll)), kit.index(-1));
    count = kit.add(count, 1); // whole iterations of `unroll` runs
    state = kit.loop(kit.index(0), count, kit.index(1), state, [&](Value i, ValueRange carried) {
      Value r = kit.add(first, kit.mul(i, kit.mul(step, unroll)));
      Values next(carried);
      SmallVector<Values> loaded;
      for (unsigned u = 0; u < unroll; ++u)
        loaded.push_back(space.read(row, kit.add(r, kit.mul(step, u)), run));
      for (unsigned u = 0; u < unroll; ++u)
        for (auto [j, x] : llvm::enumerate(loaded[u]))
          next = reduction.combine(next, reduction.lift(x, kit.add(kit.add(r, kit.mul(step, u)), j)));
      return next;
    });
    next = kit.add(first, kit.mul(count, kit.mul(step, unroll)));
  }
  return kit.loop(next, end, step, state, [&](Value r, ValueRange carried) { return foldRun(r, Values(carried)); });
}

/// Rows contiguous in memory: `threads` threads per row.
void reduceRows(RootResults &results, Kit &kit, ReduceOp op, const RowSpace &space, unsigned threads, unsigned ctaThreads) {
  Reduction reduction(kit, op);
  RowGroup group(kit, threads, ctaThreads);
  unsigned bytes = std::max(op.getX().getType().getElementType().getIntOrFloatBitWidth() / 8, 1u);
  unsigned run = space.run(std::max(16 / bytes, 1u));
  Value row = kit.add(kit.mul(kit.block(), group.groups()), kit.toIndex(group.group));
  auto work = [&] {
    Values entered = space.enter(row);
    Value first = kit.toIndex(kit.mul(group.rank, run)), step = kit.index(int64_t(threads) * run);
    Values state = foldRow(kit, space, reduction, entered, first, step, run);
    state = group.reduce(state, [&](ValueRange a, ValueRange b) { return reduction.combine(a, b); });
    kit.ifThen(kit.eq(group.rank, kit.i32(0)), [&] { results.store(0, space.kept(entered, false), reduction.finish(state)); });
  };
  if (group.groups() > 1)
    kit.ifThen(kit.lt(row, space.rowCountValue()), work);
  else
    work();
}

/// Neighbouring rows contiguous in memory: lanes take rows, the CTA's warps share the positions.
void reduceColumns(RootResults &results, Kit &kit, ReduceOp op, const RowSpace &space, unsigned warps) {
  Reduction reduction(kit, op);
  Value row = kit.add(kit.mul(kit.block(), 32), kit.toIndex(kit.lane())), warp = kit.warp();
  Value isInside = kit.lt(row, space.rowCountValue());
  Values entered = space.enter(kit.min(row, kit.sub(space.rowCountValue(), kit.index(1))));
  Values state = foldRow(kit, space, reduction, entered, kit.toIndex(warp), kit.index(warps), 1);
  if (warps > 1) {
    SmallVector<SharedArray> arrays;
    for (Value value : state) {
      arrays.push_back(kit.shared(value.getType(), warps * 32));
      kit.store(arrays.back(), kit.thread(), value);
    }
    kit.barrier();
    for (unsigned w = 1; w < warps; ++w) {
      Values part;
      for (SharedArray &array : arrays)
        part.push_back(kit.load(array, kit.add(kit.lane(), w * 32)));
      state = reduction.combine(state, part); // of use in warp 0 only, whose own sums come first
    }
  }
  kit.ifThen(kit.both(isInside, kit.eq(warp, kit.i32(0))),
             [&] { results.store(0, space.kept(entered, false), reduction.finish(state)); });
}

LogicalResult emitVariant(KernelEmitter &e, ReduceOp op) {
  Kit kit(e);
  RootResults results(kit, op);
  RowSpace space(kit, op.getX(), op.getAxes());
  auto launch = [&](unsigned threads, unsigned rowsPerCta) {
    e.launch.block = {int64_t(threads), 1, 1};
    e.launch.grid = {e.symbols.ceilDiv(space.rowCount(), e.symbols.constant(rowsPerCta))};
  };
  int64_t length = space.knownLength().value_or(1025);
  if (!space.isContiguous()) {
    unsigned warps = length <= 8 ? 1 : length <= 64 ? 4 : 8;
    launch(warps * 32, 32);
    reduceColumns(results, kit, op, space, warps);
  } else if (length <= 1024) {
    launch(128, 4);
    reduceRows(results, kit, op, space, 32, 128);
  } else {
    bool isArg = op.getKind() == ReduceKind::argmax || op.getKind() == ReduceKind::argmin; // two values per element
    unsigned threads = space.knownRows().value_or(64) <= 8 && !isArg ? 1024 : 256;
    launch(threads, 1);
    reduceRows(results, kit, op, space, threads, threads);
  }
  return success();
}

} // namespace

LogicalResult emitReduce(KernelContext &context) {
  return context.emit([&](KernelEmitter &e) { return emitVariant(e, cast<ReduceOp>(context.root)); });
}

} // namespace weft::tile
