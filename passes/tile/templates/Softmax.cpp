// The templates of graph.softmax and graph.normalize.
//
// Guarantees: one launch; where the axis is contiguous each element is read once as far as it fits on chip (see RowCache), by
// a warp per short row and a CTA per long one. Otherwise each thread walks over its own row, lanes side by side. The variance
// is the mean of squared distances from the mean, in a second walk over what the first one kept.
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/tile/templates/RootResults.h"
#include "passes/tile/templates/Roots.h"
#include "passes/tile/templates/Rows.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {
namespace {

/// Threads per row and per CTA. Short rows share a CTA.
struct RowSplit {
  unsigned threads, ctaThreads;
};
RowSplit splitRows(const RowSpace &space) {
  if (!space.isContiguous())
    return {1, 128};
  int64_t length = space.knownLength().value_or(1024 + 1);
  if (length <= 1024)
    return {32, 128};
  if (length <= 4096)
    return {128, 128};
  return length <= 32768 ? RowSplit{256, 256} : RowSplit{512, 512};
}

/// Runs `work` for each row with what RowSpace::enter gives; all threads of a group run it together.
void forEachRow(Kit &kit, const RowSpace &space, const RowGroup &group, llvm::function_ref<void(ValueRange)> work) {
  Value row = kit.add(kit.mul(kit.block(), group.groups()), kit.toIndex(group.group));
  if (group.groups() == 1)
    return work(space.enter(row));
  kit.ifThen(kit.lt(row, space.rowCountValue()), [&] { work(space.enter(row)); });
}

void launchRows(KernelEmitter &e, const RowSpace &space, const RowGroup &group) {
  e.launch.block = {int64_t(group.ctaThreads), 1, 1};
  e.launch.grid = {e.symbols.ceilDiv(space.rowCount(), e.symbols.constant(group.groups()))};
}

/// Float arithmetic in one type.
struct Floats {
  Kit &kit;
  Type wide;
  Value constant(double value) { return kit.scalar(wide, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(kit.b, kit.loc(), x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(kit.b, kit.loc(), x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(kit.b, kit.loc(), x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(kit.b, kit.loc(), x, y); }
  Value unary(UnaryKind kind, Value x) { return scalar::unary(kit.b, kit.loc(), kind, x, wide); }
  Value max(Value x, Value y) { return scalar::reduceCombine(kit.b, kit.loc(), ReduceKind::max, x, y, wide); }
  Value reduceMax(const RowGroup &group, Value x) {
    return const_cast<RowGroup &>(group).reduce({x}, [&](ValueRange a, ValueRange b) { return Values{max(a[0], b[0])}; })[0];
  }
  Value reduceSum(const RowGroup &group, Value x) {
    return const_cast<RowGroup &>(group).reduce({x}, [&](ValueRange a, ValueRange b) { return Values{add(a[0], b[0])}; })[0];
  }
};

} // namespace

static LogicalResult emitVariant(KernelEmitter &e, SoftmaxOp op) {
  Kit kit(e);
  RootResults results(kit, op);
  RowSpace space(kit, op.getX(), {int64_t(op.getAxis())});
  RowSplit split = splitRows(space);
  RowGroup group(kit, split.threads, split.ctaThreads);
  launchRows(e, space, group);
  Type type = op.getX().getType().getElementType(), wide = scalar::accumulatorType(type);
  Floats f{kit, wide};
  RowCache cache(kit, space, group, type, wide);
  forEachRow(kit, space, group, [&](ValueRange row) {
    cache.enter(row);
    Value lowest = scalar::reduceIdentity(kit.b, kit.loc(), ReduceKind::max, wide);
    Value max = cache.fold(lowest, [&](Value x, ValueRange m) { return Values{f.max(m[0], x)}; })[0];
    max = f.reduceMax(group, max);
    bool isLog = op.getLog();
    RowCache::Map exp = [&, max](Value x) { return f.unary(UnaryKind::exp, f.sub(x, max)); };
    Value sum = cache.fold(f.constant(0),
                           [&](Value x, ValueRange s) { return Values{f.add(s[0], isLog ? exp(x) : x)}; }, isLog ? RowCache::Map() : exp)[0];
    sum = f.reduceSum(group, sum);
    Value factor = isLog ? f.unary(UnaryKind::log, sum) : f.div(f.constant(1), sum);
    cache.forEachRun([&](Value r, ValueRange elements) {
      Values values;
      for (Value x : elements) {
        Value y = isLog ? f.sub(f.sub(x, max), factor) : f.mul(x, factor);
        values.push_back(scalar::cast(kit.b, kit.loc(), y, wide, type));
      }
      results.store(0, space.at(row, r), values);
    });
  });
  return success();
}

static LogicalResult emitVariant(KernelEmitter &e, NormalizeOp op) {
  Kit kit(e);
  RootResults results(kit, op);
  RowSpace space(kit, op.getX(), op.getAxes());
  RowSplit split = splitRows(space);
  RowGroup group(kit, split.threads, split.ctaThreads);
  launchRows(e, space, group);
  Type type = op.getX().getType().getElementType(), wide = scalar::accumulatorType(type);
  Floats f{kit, wide};
  RowCache cache(kit, space, group, type, wide);
  Value length = arith::SIToFPOp::create(kit.b, kit.loc(), wide, space.lengthValue());
  forEachRow(kit, space, group, [&](ValueRange row) {
    cache.enter(row);
    Value mean = f.constant(0);
    RowCache::Map centre;
    if (!op.getRms()) {
      Value sum = cache.fold(mean, [&](Value x, ValueRange s) { return Values{f.add(s[0], x)}; })[0];
      mean = f.div(f.reduceSum(group, sum), length);
      centre = [&f, mean](Value x) { return f.sub(x, mean); };
    }
    Value squares = cache.fold(f.constant(0), [&](Value x, ValueRange s) {
      return Values{scalar::multiplyAdd(kit.b, kit.loc(), x, x, s[0])};
    }, centre)[0];
    Value variance = f.div(f.reduceSum(group, squares), length);
    Value deviation = f.unary(UnaryKind::sqrt, f.add(variance, f.constant(op.getEpsilon().convertToDouble())));
    Value inverse = f.div(f.constant(1), deviation);
    auto narrow = [&](Value x, Value like) {
      return scalar::cast(kit.b, kit.loc(), x, wide, cast<RankedTensorType>(like.getType()).getElementType());
    };
    cache.forEachRun([&](Value r, ValueRange elements) {
      Values values;
      for (Value x : elements)
        values.push_back(narrow(f.mul(x, inverse), op.getY()));
      results.store(0, space.at(row, r), values);
    });
    kit.ifThen(kit.eq(group.rank, kit.i32(0)), [&] {
      if (results.isUsed(1))
        results.store(1, space.kept(row, true), narrow(mean, op.getMean()));
      if (results.isUsed(2))
        results.store(2, space.kept(row, true), narrow(inverse, op.getInvStd()));
    });
  });
  return success();
}

LogicalResult emitSoftmax(KernelContext &context) {
  return context.emit([&](KernelEmitter &e) { return emitVariant(e, cast<SoftmaxOp>(context.root)); });
}
LogicalResult emitNormalize(KernelContext &context) {
  return context.emit([&](KernelEmitter &e) { return emitVariant(e, cast<NormalizeOp>(context.root)); });
}

} // namespace weft::tile
