// The template of graph.topk: one CTA per row.
//
// Guarantees: a total order (value, then lower index; NaN counts as the largest value), so the result does not depend on the
// form. Rows of known length up to 4096 are sorted in shared memory by a bitonic network; longer ones, and very few wanted
// elements, are found one after the other: each round takes the first element behind the one found before.
#include "passes/tile/templates/RootResults.h"
#include "passes/tile/templates/Roots.h"
#include "passes/tile/templates/Rows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {
namespace {

class Selector {
public:
  Selector(Kit &kit, TopKOp op)
      : kit(kit), op(op), results(kit, op), space(kit, op.getX(), {int64_t(op.getAxis())}),
        type(op.getX().getType().getElementType()), wanted(kit.e.host(getDims(op.getValues())[op.getAxis()])) {}

  void sort(unsigned size, unsigned threads);
  void select(unsigned threads);
  const RowSpace &rows() const { return space; }

private:
  Value isAhead(Value a, Value indexA, Value b, Value indexB);
  Value isNaN(Value x) { return scalar::unary(kit.b, kit.loc(), UnaryKind::isnan, x, type); }
  Value compare(CompareKind kind, Value x, Value y) { return scalar::compare(kit.b, kit.loc(), kind, x, y, type); }
  void store(ValueRange row, Value rank, Value value, Value index);

  Kit &kit;
  TopKOp op;
  RootResults results;
  RowSpace space;
  Type type;
  Value wanted;
};

/// Whether a comes before b in the result.
Value Selector::isAhead(Value a, Value indexA, Value b, Value indexB) {
  Value ahead = compare(op.getLargest() ? CompareKind::gt : CompareKind::lt, a, b), same = compare(CompareKind::eq, a, b);
  if (isa<FloatType>(type)) {
    Value nanA = isNaN(a), nanB = isNaN(b);
    Value byNaN = op.getLargest() ? kit.both(nanA, kit.negate(nanB)) : kit.both(nanB, kit.negate(nanA));
    ahead = kit.either(ahead, byNaN);
    same = kit.either(same, kit.both(nanA, nanB));
  }
  return kit.either(ahead, kit.both(same, kit.lt(indexA, indexB)));
}

void Selector::store(ValueRange row, Value rank, Value value, Value index) {
  ElementIndex at = space.kept(row, /*keepAsOnes=*/true);
  at.linear = Value();
  at.multi[op.getAxis()] = rank;
  results.store(0, at, value);
  if (!results.isUsed(1))
    return;
  results.store(1, at, index.getType().isInteger(64) ? index : arith::ExtSIOp::create(kit.b, kit.loc(), kit.b.getI64Type(), index).getResult());
}

/// `size`: a power of two not below the row's length. Padding has indices from the length on and sorts behind all.
void Selector::sort(unsigned size, unsigned threads) {
  SharedArray values = kit.shared(ElementEmitter::valueType(type), size), indices = kit.shared(kit.b.getI32Type(), size);
  Values row = space.enter(kit.block());
  Value length = kit.i32(*space.knownLength()), last = kit.sub(length, kit.i32(1));
  auto forEach = [&](unsigned count, llvm::function_ref<void(Value)> body) {
    for (unsigned i = 0; i < count; i += threads)
      body(kit.add(kit.thread(), i));
  };
  forEach(size, [&](Value i) {
    kit.store(values, i, space.read(row, kit.toIndex(kit.min(i, last)), 1)[0]);
    kit.store(indices, i, i);
  });
  kit.barrier();
  auto exchange = [&](Value pair, Value stage, Value shift) {
    Value one = kit.i32(1), stride = arith::ShLIOp::create(kit.b, kit.loc(), one, shift);
    Value high = arith::ShRUIOp::create(kit.b, kit.loc(), pair, shift);
    Value low = kit.sub(pair, arith::ShLIOp::create(kit.b, kit.loc(), high, shift));
    Value a = kit.add(arith::ShLIOp::create(kit.b, kit.loc(), high, kit.add(shift, 1)), low), b = kit.add(a, stride);
    Value block = arith::ShRUIOp::create(kit.b, kit.loc(), a, stage), isForward = kit.eq(kit.rem(block, 2), kit.i32(0));
    Value x = kit.load(values, a), y = kit.load(values, b), ix = kit.load(indices, a), iy = kit.load(indices, b);
    Value padX = kit.ge(ix, length), padY = kit.ge(iy, length);
    Value order = isAhead(y, iy, x, ix);
    Value isBehind = kit.select(padX, kit.either(kit.negate(padY), kit.lt(iy, ix)), kit.both(kit.negate(padY), order));
    Value swaps = kit.eq(isBehind, isForward); // without a branch: lanes stay together
    kit.store(values, a, kit.select(swaps, y, x));
    kit.store(values, b, kit.select(swaps, x, y));
    kit.store(indices, a, kit.select(swaps, iy, ix));
    kit.store(indices, b, kit.select(swaps, ix, iy));
  };
  kit.loop(kit.i32(1), kit.i32(llvm::Log2_32(size) + 1), kit.i32(1), [&](Value stage) {
    kit.loop(kit.i32(0), stage, kit.i32(1), [&](Value done) {
      Value shift = kit.sub(kit.sub(stage, kit.i32(1)), done);
      forEach(size / 2, [&](Value pair) { exchange(pair, stage, shift); });
      kit.barrier();
    });
  });
  kit.loop(kit.toIndex(kit.thread()), wanted, kit.index(threads), [&](Value rank) {
    Value i = kit.toI32(rank);
    store(row, rank, kit.load(values, i), kit.load(indices, i));
  });
}

void Selector::select(unsigned threads) {
  Values row = space.enter(kit.block());
  Value none = kit.index(-1), zero = scalar::constant(kit.b, kit.loc(), type, 0);
  // (value, index) of the element found last; index -1: none yet, or nothing found.
  auto better = [&](ValueRange a, ValueRange b) -> Values {
    Value takesB = kit.both(kit.ge(b[1], kit.index(0)),
                            kit.either(kit.lt(a[1], kit.index(0)), isAhead(b[0], b[1], a[0], a[1])));
    return {kit.select(takesB, b[0], a[0]), kit.select(takesB, b[1], a[1])};
  };
  kit.loop(kit.index(0), wanted, kit.index(1), {zero, none}, [&](Value rank, ValueRange found) {
    Values best = kit.loop(kit.toIndex(kit.thread()), space.lengthValue(), kit.index(threads), {zero, none}, [&](Value r, ValueRange best) {
      Value x = space.read(row, r, 1)[0];
      Value isLater = kit.either(kit.lt(found[1], kit.index(0)), isAhead(found[0], found[1], x, r));
      return better(best, {x, kit.select(isLater, r, none)});
    });
    best = blockReduce(kit.b, kit.loc(), best, [&](ValueRange a, ValueRange b) { return better(a, b); }, threads);
    kit.ifThen(kit.eq(kit.thread(), kit.i32(0)), [&] { store(row, rank, best[0], best[1]); });
    return best;
  });
}

LogicalResult emitVariant(KernelEmitter &e, TopKOp op) {
  Kit kit(e);
  Selector selector(kit, op);
  auto length = selector.rows().knownLength(), wanted = getConstant(getDims(op.getValues())[op.getAxis()]);
  e.launch.grid = {selector.rows().rowCount()};
  int64_t limit = op.getX().getType().getElementType().getIntOrFloatBitWidth() > 32 ? 2048 : 4096;
  if (length && *length > 0 && *length <= limit && wanted.value_or(64) > 2) {
    unsigned size = std::max<unsigned>(llvm::PowerOf2Ceil(*length), 64), threads = std::min(size / 2, 512u);
    e.launch.block = {threads, 1, 1};
    selector.sort(size, threads);
    return success();
  }
  e.launch.block = {256, 1, 1};
  selector.select(256);
  return success();
}

} // namespace

LogicalResult emitTopK(KernelContext &context) {
  return context.emit([&](KernelEmitter &e) { return emitVariant(e, cast<TopKOp>(context.root)); });
}

} // namespace weft::tile
