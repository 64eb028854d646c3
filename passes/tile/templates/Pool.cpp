// The template of graph.pool: one thread per output element, lanes along the innermost dimension, the window unrolled.
//
// Guarantees: the same elements in the same order as the operation's element rule, without branches. Windows of more than
// 64 positions, and operands that may be empty, take the element rule itself.
#include "passes/tile/templates/RootResults.h"
#include "passes/tile/templates/Roots.h"
#include "passes/tile/templates/View.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {
namespace {

constexpr int64_t maxUnrolled = 64;

/// One output element.
class Window {
public:
  Window(Kit &kit, PoolOp op, ArrayRef<Value> out)
      : kit(kit), op(op), view(op.getX()), out(out), type(op.getX().getType().getElementType()),
        wide(scalar::accumulatorType(type)) {
    axes.resize(op.getKernel().size());
    for (unsigned d = 0; d < axes.size(); ++d)
      enterAxis(d);
  }

  /// body(element, where, whether it is inside) for each position in row-major order.
  void walk(llvm::function_ref<void(Value x, ArrayRef<Value> at, Value isInside)> body) {
    int64_t count = 1;
    for (auto &axis : axes)
      count *= axis.size();
    for (int64_t n = 0; n < count; ++n) {
      SmallVector<Value, 4> at(out.begin(), out.begin() + 2);
      at.resize(2 + axes.size());
      Value isInside;
      int64_t rest = n;
      for (unsigned d = axes.size(); d-- > 0; rest /= int64_t(axes[d].size())) {
        Position &position = axes[d][rest % axes[d].size()];
        at[2 + d] = position.clamped;
        isInside = kit.both(isInside, position.isInside);
      }
      body(view.read(kit, at)[0], at, isInside);
    }
  }

  Values maximum(bool needsIndex);
  Value average();
  Value sum(bool isLp);

private:
  struct Position {
    Value clamped, isInside;
  };
  void enterAxis(unsigned d);
  Value flat(ArrayRef<Value> at);
  Value count();
  Value widen(Value x) { return scalar::cast(kit.b, kit.loc(), x, type, wide); }
  Value binary(BinaryKind kind, Value x, Value y) { return scalar::binary(kit.b, kit.loc(), kind, x, y, wide); }

  Kit &kit;
  PoolOp op;
  View view;
  ArrayRef<Value> out;
  Type type, wide;
  SmallVector<SmallVector<Position>> axes;
};

void Window::enterAxis(unsigned d) {
  Value size = kit.e.host(view.dim(d + 2)), last = kit.sub(size, kit.index(1));
  Value start = kit.sub(kit.mul(out[d + 2], op.getStrides()[d]), kit.e.host(op.getPadsLow()[d]));
  for (int64_t k = 0; k < op.getKernel()[d]; ++k) {
    Value position = kit.add(start, k * op.getDilations()[d]);
    axes[d].push_back({kit.max(kit.min(position, last), kit.index(0)), kit.inRange(position, size)});
  }
}

/// Row-major position in the whole operand; the spatial part column-major with storage_order 1.
Value Window::flat(ArrayRef<Value> at) {
  if (op.getStorageOrder() == 0)
    return kit.e.linear(ElementEmitter::at(at), view.dims());
  Value result = kit.add(kit.mul(at[0], kit.e.host(view.dim(1))), at[1]);
  for (unsigned d = view.rank(); d-- > 2;)
    result = kit.add(kit.mul(result, kit.e.host(view.dim(d))), at[d]);
  return result;
}

/// The maximum (the first of equals, NaN above all) and, where asked for, its position.
Values Window::maximum(bool needsIndex) {
  Value best = scalar::reduceIdentity(kit.b, kit.loc(), ReduceKind::max, type), where = kit.index(-1), found = kit.boolean(false);
  walk([&](Value x, ArrayRef<Value> at, Value isInside) {
    if (!needsIndex && isa<FloatType>(type)) {
      Value larger = scalar::reduceCombine(kit.b, kit.loc(), ReduceKind::max, best, x, type);
      best = kit.select(isInside, larger, best);
      return;
    }
    Value better = scalar::compare(kit.b, kit.loc(), CompareKind::gt, x, best, type);
    if (isa<FloatType>(type))
      better = kit.either(better, scalar::unary(kit.b, kit.loc(), UnaryKind::isnan, x, type));
    better = kit.both(isInside, kit.either(better, kit.negate(found)));
    found = kit.either(found, isInside);
    best = kit.select(better, x, best);
    where = kit.select(better, flat(at), where);
  });
  Value index = where.getType().isInteger(64) ? where : arith::ExtSIOp::create(kit.b, kit.loc(), kit.b.getI64Type(), where);
  return {best, index};
}

/// The divisor of an average: positions inside, or within the padded extent with count_include_pad.
Value Window::count() {
  Value total = kit.index(1);
  for (unsigned d = 0; d < axes.size(); ++d) {
    if (op.getCountIncludePad()) {
      Value first = kit.mul(out[d + 2], op.getStrides()[d]);
      Value bound = kit.add(kit.add(kit.e.host(view.dim(d + 2)), kit.e.host(op.getPadsLow()[d])), kit.e.host(op.getPadsHigh()[d]));
      Value reach = kit.max(kit.sub(kit.sub(bound, kit.index(1)), first), kit.index(0));
      Value room = kit.add(kit.div(reach, op.getDilations()[d]), 1);
      total = kit.mul(total, kit.min(room, kit.index(op.getKernel()[d])));
      continue;
    }
    Value inside = kit.index(0);
    for (Position &position : axes[d])
      inside = kit.add(inside, kit.select(position.isInside, kit.index(1), kit.index(0)));
    total = kit.mul(total, inside);
  }
  return scalar::cast(kit.b, kit.loc(), total, kit.indexType, wide);
}

Value Window::average() { return binary(BinaryKind::div, sum(false), count()); }

Value Window::sum(bool isLp) {
  Value total = kit.scalar(wide, 0), zero = total, exponent = kit.scalar(wide, double(op.getP()));
  int64_t p = op.getP();
  walk([&](Value element, ArrayRef<Value>, Value isInside) {
    Value x = widen(element);
    if (isLp && p == 2)
      x = binary(BinaryKind::mul, x, x);
    else if (isLp) {
      x = scalar::unary(kit.b, kit.loc(), UnaryKind::abs, x, wide);
      x = p == 1 ? x : binary(BinaryKind::pow, x, exponent);
    }
    total = binary(BinaryKind::add, total, kit.select(isInside, x, zero));
  });
  if (!isLp || p == 1)
    return total;
  return p == 2 ? scalar::unary(kit.b, kit.loc(), UnaryKind::sqrt, total, wide)
                : binary(BinaryKind::pow, total, kit.scalar(wide, 1.0 / double(p)));
}

LogicalResult emitVariant(KernelEmitter &e, PoolOp op) {
  Kit kit(e);
  RootResults results(kit, op);
  Dims dims = getDims(op.getY());
  AffineExpr count = e.symbols.constant(1);
  Value total = kit.index(1);
  for (AffineExpr dim : dims) {
    count = e.symbols.mul(count, dim);
    total = kit.mul(total, e.host(dim));
  }
  e.launch.block = {128, 1, 1};
  e.launch.grid = {e.symbols.ceilDiv(count, e.symbols.constant(128))};
  Value number = kit.add(kit.mul(kit.block(), 128), kit.toIndex(kit.thread()));
  kit.ifThen(kit.lt(number, total), [&] {
    ElementIndex at = ElementEmitter::atLinear(number);
    at.multi = kit.e.multi(at, dims);
    at.hasMulti = true;
    Window window(kit, op, at.multi);
    Type type = op.getX().getType().getElementType(), wide = scalar::accumulatorType(type);
    auto narrow = [&](Value x) { return scalar::cast(kit.b, kit.loc(), x, wide, type); };
    switch (op.getKind()) {
    case PoolKind::max: {
      bool needsIndex = op.getIndices() && results.isUsed(1);
      Values best = window.maximum(needsIndex);
      results.store(0, at, best[0]);
      if (needsIndex)
        results.store(1, at, best[1]);
      return;
    }
    case PoolKind::average: return results.store(0, at, narrow(window.average()));
    case PoolKind::lp: return results.store(0, at, narrow(window.sum(true)));
    case PoolKind::sum: return results.store(0, at, narrow(window.sum(false)));
    }
  });
  return success();
}

bool canUnroll(PoolOp op, const Symbols &symbols) {
  int64_t count = 1;
  for (auto [k, dim] : llvm::zip(op.getKernel(), llvm::drop_begin(getDims(op.getX()), 2))) {
    count *= k;
    if (count > maxUnrolled || symbols.lowerBound(dim).value_or(0) < 1)
      return false;
  }
  return true;
}

} // namespace

LogicalResult emitPool(KernelContext &context) {
  auto op = cast<PoolOp>(context.root);
  if (!canUnroll(op, context.symbols))
    return emitElementwise(context);
  return context.emit([&](KernelEmitter &e) { return emitVariant(e, op); });
}

} // namespace weft::tile
