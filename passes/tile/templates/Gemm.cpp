// The matrix product engine: see Gemm.h.
#include "passes/tile/templates/Gemm.h"

using namespace mlir;
namespace weft::tile {

unsigned gemmWidth(Type accumulator) { return 16 / (accumulator.getIntOrFloatBitWidth() / 8); }

Type gemmAccumulator(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(integer.getContext(), std::max(integer.getWidth(), 32u));
  return graph::scalar::accumulatorType(elementType);
}

GemmTile chooseGemmTile(int64_t m, int64_t n, int64_t k, int64_t batch, Type accumulator) {
  constexpr int64_t busy = 96; // CTAs that keep most of a large GPU at work
  auto tiles = [&](int64_t tm, int64_t tn) {
    int64_t rows = m < 0 ? 4 : llvm::divideCeil(m, tm), columns = n < 0 ? 8 : llvm::divideCeil(n, tn);
    return rows * columns * (batch < 0 ? 4 : batch);
  };
  // Shared memory stays below 48 KiB: both stages of both panels, and what slices 1, 2, ... hand over.
  bool isWide = accumulator.getIntOrFloatBitWidth() == 64;
  unsigned deep = isWide ? 16 : 32;
  if (m >= 0 && m <= 16)
    return {16, 64, deep, isWide ? 2u : 4u, isWide ? 8u : 4u, 4};
  if (n >= 0 && n <= 16)
    return {64, 16, deep, 4, 4, 4};
  if (!isWide && m >= 128 && n >= 128 && tiles(128, 128) >= busy)
    return {128, 128, 8, 8, 8, 1};
  if (tiles(64, 64) >= busy || k <= 64 || (isWide && tiles(64, 64) >= busy / 2))
    return {64, 64, 16, 8, 4, 1};
  if (tiles(64, 64) >= busy / 2)
    return {64, 64, 16, 8, 8, 2};
  return {32, 32, deep, 4, 4, 4};
}

void launchGemm(KernelEmitter &e, const GemmTile &tile, AffineExpr m, AffineExpr n, AffineExpr batches) {
  graph::Symbols &symbols = e.symbols;
  AffineExpr tilesM = symbols.ceilDiv(m, symbols.constant(tile.m)), tilesN = symbols.ceilDiv(n, symbols.constant(tile.n));
  e.launch.block = {int64_t(tile.threads()), 1, 1};
  e.launch.grid = {symbols.mul(symbols.mul(tilesM, tilesN), batches)};
}

GemmPosition gemmPosition(Kit &kit, const GemmTile &tile, const GemmProblem &problem) {
  Value tilesN = kit.ceilDiv(problem.n, tile.n), tilesM = kit.ceilDiv(problem.m, tile.m), block = kit.block();
  Value rest = kit.div(block, tilesN);
  return {kit.rem(rest, tilesM), kit.rem(block, tilesN), kit.div(rest, tilesM)};
}

namespace {

/// The part of one operand that a CTA keeps in shared memory: [tile.k][rows], with rows padded so that neither the
/// transposing scalar stores nor the vector loads collide.
class Panel {
public:
  Panel(Kit &kit, GemmSource &source, const GemmTile &tile, unsigned rows, Value extent, Value firstRow,
        const GemmProblem &problem);
  /// Loads this thread's elements of the step that begins at `k0`.
  Values fetch(Value k0);
  /// Stores what `fetch` gave to the stage at offset `stage`.
  void commit(ValueRange values, Value stage);
  /// `width` neighbouring rows from `row` at step-local k `kk` (i32 values).
  Value read(Value stage, Value row, Value kk, unsigned constantK, unsigned constantRow, unsigned width);
  unsigned stageSize() const { return depth * pitch; }
  unsigned fetchSize() const { return slots.size() * run; }

private:
  struct Slot {
    Value row, k;    // i32, within the tile
    Value isActive;  // null: always
    Values prepared;
  };
  void addSlot(Value number, unsigned slots, unsigned threads, Value extent, Value firstRow);

  Kit &kit;
  GemmSource &source;
  const GemmProblem &problem;
  unsigned rows, depth, pitch, run;
  SharedArray array;
  SmallVector<Slot> slots;
};

Panel::Panel(Kit &kit, GemmSource &source, const GemmTile &tile, unsigned rows, Value extent, Value firstRow,
             const GemmProblem &problem)
    : kit(kit), source(source), problem(problem), rows(rows), depth(tile.k), run(source.run) {
  pitch = rows + gemmWidth(problem.accumulator);
  array = kit.shared(problem.accumulator, 2 * stageSize());
  unsigned total = rows * depth / run, threads = tile.threads();
  for (unsigned first = 0; first < total; first += threads)
    addSlot(kit.add(kit.thread(), first), total, threads, extent, firstRow);
}

void Panel::addSlot(Value number, unsigned total, unsigned threads, Value extent, Value firstRow) {
  Slot slot;
  if (total % threads) {
    slot.isActive = kit.lt(number, kit.i32(total));
    number = kit.min(number, kit.i32(total - 1)); // idle threads read what the last one reads
  }
  if (source.alongK && run > 1) {
    // Two neighbouring lanes read one 32-byte sector; 16 rows per warp keep the transposing stores apart.
    Value half = kit.rem(number, 2), row = kit.rem(kit.div(number, 2), 16), rest = kit.div(number, 32);
    slot.row = kit.add(kit.mul(kit.rem(rest, rows / 16), 16), row);
    slot.k = kit.mul(kit.add(kit.mul(kit.div(rest, rows / 16), 2), half), run);
  } else if (source.alongK) {
    slot.k = kit.rem(number, depth);
    slot.row = kit.div(number, depth);
  } else {
    slot.row = kit.mul(kit.rem(number, rows / run), run);
    slot.k = kit.div(number, rows / run);
  }
  Value row = kit.add(firstRow, kit.toIndex(slot.row));
  Value last = kit.sub(extent, kit.index(source.alongK ? 1 : run));
  Value clamped = kit.min(row, last);
  if (!source.alongK)
    kit.e.assumeMultiple(clamped, run);
  slot.prepared = source.prepare(kit, clamped);
  slots.push_back(std::move(slot));
}

Values Panel::fetch(Value k0) {
  Values result;
  unsigned step = source.alongK ? run : 1;
  Value last = problem.kDivides ? Value() : kit.sub(problem.k, kit.index(step));
  for (Slot &slot : slots) {
    Value k = kit.add(k0, kit.toIndex(slot.k));
    Value at = last ? kit.min(k, last) : k;
    if (source.alongK)
      kit.e.assumeMultiple(at, run);
    Values loaded = source.load(kit, slot.prepared, at);
    Value zero = kit.scalar(problem.accumulator, 0), inside = last ? kit.le(k, last) : Value();
    for (Value value : loaded) {
      value = graph::scalar::cast(kit.b, kit.loc(), value, problem.element, problem.accumulator);
      result.push_back(inside ? kit.select(inside, value, zero) : value);
    }
  }
  return result;
}

void Panel::commit(ValueRange values, Value stage) {
  for (auto [i, slot] : llvm::enumerate(slots)) {
    ValueRange own = values.slice(i * run, run);
    Value base = kit.offset(stage, kit.offset(kit.mul(slot.k, pitch), slot.row));
    auto write = [&] {
      if (source.alongK || run == 1)
        for (unsigned j = 0; j < run; ++j)
          kit.store(array, kit.offset(base, kit.i32(j * pitch)), own[j]);
      else
        for (unsigned j = 0, width = gemmWidth(problem.accumulator); j < run; j += width)
          kit.store(array, kit.offset(base, kit.i32(j)), kit.fromElements(own.slice(j, width)));
    };
    if (slot.isActive)
      kit.ifThen(slot.isActive, write);
    else
      write();
  }
}

Value Panel::read(Value stage, Value row, Value kk, unsigned constantK, unsigned constantRow, unsigned width) {
  Value base = kit.offset(stage, kit.offset(kit.mul(kk, pitch), row));
  return kit.loadVector(array, kit.offset(base, kit.i32(constantK * pitch + constantRow)), width);
}

/// The sums of one thread: rows in chunks of `width` neighbours spread over the tile, columns as vectors likewise.
struct ThreadTile {
  ThreadTile(Kit &kit, const GemmTile &tile, unsigned width) : width(width) {
    Value inSlice = tile.slices == 1 ? kit.thread() : kit.rem(kit.thread(), tile.threadsPerSlice());
    slice = tile.slices == 1 ? kit.i32(0) : kit.div(kit.thread(), tile.threadsPerSlice());
    unsigned columns = tile.n / tile.threadN;
    rowWidth = std::min(width, tile.threadM);
    row = kit.mul(kit.div(inSlice, columns), rowWidth);
    column = kit.mul(kit.rem(inSlice, columns), width);
    rowStride = tile.m / (tile.threadM / rowWidth);
    columnStride = tile.n / (tile.threadN / width);
  }
  unsigned rowOffset(unsigned i) const { return i / rowWidth * rowStride + i % rowWidth; }
  unsigned columnOffset(unsigned chunk) const { return chunk * columnStride; }

  unsigned width, rowWidth, rowStride, columnStride;
  Value slice, row, column; // i32
};

/// One step: sums += A panel x B panel, fully unrolled.
Values multiply(Kit &kit, const GemmTile &tile, const ThreadTile &own, Panel &a, Panel &b, Value stageA, Value stageB, Values sums) {
  unsigned depth = tile.k / tile.slices, chunks = tile.threadN / own.width;
  Value first = kit.mul(own.slice, depth);
  for (unsigned kk = 0; kk < depth; ++kk) {
    Values left, right;
    for (unsigned i = 0; i < tile.threadM; i += own.rowWidth)
      left.push_back(a.read(stageA, own.row, first, kk, own.rowOffset(i), own.rowWidth));
    for (unsigned c = 0; c < chunks; ++c)
      right.push_back(b.read(stageB, own.column, first, kk, own.columnOffset(c), own.width));
    for (unsigned i = 0; i < tile.threadM; ++i) {
      Value x = kit.splat(kit.extract(left[i / own.rowWidth], i % own.rowWidth), own.width);
      for (unsigned c = 0; c < chunks; ++c) {
        Value &sum = sums[i * chunks + c];
        sum = graph::scalar::multiplyAdd(kit.b, kit.loc(), x, right[c], sum);
      }
    }
  }
  return sums;
}

/// Adds the sums of slices 1, 2, ... to those of slice 0, in this order, through shared memory.
Values combineSlices(Kit &kit, const GemmTile &tile, const ThreadTile &own, Values sums) {
  unsigned perSlice = tile.threadsPerSlice(), count = sums.size();
  Type scalar = cast<VectorType>(sums[0].getType()).getElementType();
  SharedArray array = kit.shared(scalar, (tile.slices - 1) * perSlice * count * own.width);
  Value inSlice = kit.mul(kit.rem(kit.thread(), perSlice), own.width);
  auto offset = [&](Value slice, unsigned i) {
    Value at = kit.add(kit.mul(slice, perSlice * count * own.width), i * perSlice * own.width);
    return kit.offset(at, inSlice);
  };
  kit.ifThen(kit.cmp(arith::CmpIPredicate::ne, own.slice, kit.i32(0)), [&] {
    for (unsigned i = 0; i < count; ++i)
      kit.store(array, offset(kit.add(own.slice, -1), i), sums[i]);
  });
  kit.barrier();
  auto total = [&] {
    Values result = sums;
    for (unsigned slice = 1; slice < tile.slices; ++slice)
      for (unsigned i = 0; i < count; ++i) {
        Value part = kit.loadVector(array, offset(kit.i32(slice - 1), i), own.width);
        result[i] = isa<FloatType>(scalar) ? arith::AddFOp::create(kit.b, kit.loc(), result[i], part).getResult()
                                           : arith::AddIOp::create(kit.b, kit.loc(), result[i], part);
      }
    return result;
  };
  return kit.ifElse(kit.eq(own.slice, kit.i32(0)), ValueRange(sums).getTypes(), total, [&] { return sums; });
}

/// Hands the sums that are in range to `store`, in runs as wide as the columns allow.
void storeSums(Kit &kit, const GemmTile &tile, const GemmProblem &problem, const ThreadTile &own, Value firstRow, Value firstColumn,
               ValueRange sums, GemmStore store) {
  unsigned chunks = tile.threadN / own.width;
  bool asRuns = problem.columnRun % own.width == 0;
  for (unsigned i = 0; i < tile.threadM; ++i) {
    Value row = kit.add(firstRow, kit.add(kit.toIndex(own.row), own.rowOffset(i)));
    kit.ifThen(kit.lt(row, problem.m), [&] {
      for (unsigned c = 0; c < chunks; ++c) {
        Values values = kit.flatten(sums[i * chunks + c]);
        Value column = kit.add(firstColumn, kit.add(kit.toIndex(own.column), own.columnOffset(c)));
        for (unsigned j = 0; j < own.width; j += asRuns ? own.width : 1) {
          Value at = kit.add(column, j);
          if (asRuns)
            kit.e.assumeMultiple(at, own.width);
          kit.ifThen(kit.lt(at, problem.n), [&] { store(row, at, asRuns ? ValueRange(values) : ValueRange(values[j])); });
        }
      }
    });
  }
}

} // namespace

void emitGemm(Kit &kit, const GemmTile &tile, const GemmProblem &problem, Value tileM, Value tileN, GemmStore store) {
  unsigned width = gemmWidth(problem.accumulator);
  Value firstRow = kit.mul(tileM, tile.m), firstColumn = kit.mul(tileN, tile.n);
  ThreadTile own(kit, tile, width);
  Panel a(kit, *problem.a, tile, tile.m, problem.m, firstRow, problem);
  Panel b(kit, *problem.b, tile, tile.n, problem.n, firstColumn, problem);
  Values sums(tile.threadM * tile.threadN / width, kit.splat(kit.scalar(problem.accumulator, 0), width));

  auto stageOffset = [&](Value stage, Panel &panel) { return kit.mul(stage, panel.stageSize()); };
  auto fetchBoth = [&](Value k0) {
    Values values = a.fetch(k0);
    llvm::append_range(values, b.fetch(k0));
    return values;
  };
  auto commitBoth = [&](ValueRange values, Value stage) {
    size_t split = a.fetchSize();
    a.commit(values.take_front(split), stageOffset(stage, a));
    b.commit(values.drop_front(split), stageOffset(stage, b));
  };
  kit.ifThen(kit.lt(kit.index(0), problem.k), [&] { commitBoth(fetchBoth(kit.index(0)), kit.i32(0)); });
  kit.barrier();

  Values carried = sums;
  carried.push_back(kit.i32(0));
  Values result = kit.loop(kit.index(0), problem.k, kit.index(tile.k), carried, [&](Value k0, ValueRange args) {
    Value stage = args.back(), next = kit.add(k0, tile.k), other = kit.sub(kit.i32(1), stage);
    Value hasNext = kit.lt(next, problem.k);
    SmallVector<Type> types(a.fetchSize() + b.fetchSize(), problem.accumulator);
    Values fetched = kit.ifElse(hasNext, types, [&] { return fetchBoth(next); },
                                [&] { return Values(types.size(), kit.scalar(problem.accumulator, 0)); });
    Values updated = multiply(kit, tile, own, a, b, stageOffset(stage, a), stageOffset(stage, b), Values(args.drop_back()));
    kit.ifThen(hasNext, [&] { commitBoth(fetched, other); });
    kit.barrier();
    updated.push_back(other);
    return updated;
  });
  result.pop_back();
  if (tile.slices == 1)
    return storeSums(kit, tile, problem, own, firstRow, firstColumn, result, store);
  result = combineSlices(kit, tile, own, result);
  kit.ifThen(kit.eq(own.slice, kit.i32(0)),
             [&] { storeSums(kit, tile, problem, own, firstRow, firstColumn, result, store); });
}

} // namespace weft::tile
