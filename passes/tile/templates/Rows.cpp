// Rows, the threads that share them, and where their elements are kept: see Rows.h.
#include "passes/tile/templates/Rows.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {

//===----------------------------------------------------------------------===//
// RowSpace
//===----------------------------------------------------------------------===//

/// Moves `last` to the end of the list, if it is there.
static void moveToEnd(SmallVector<unsigned, 4> &list, int last) {
  auto it = llvm::find(list, unsigned(last));
  if (it != list.end())
    std::rotate(it, it + 1, list.end());
}

static Value extent(Kit &kit, const View &view, ArrayRef<unsigned> dims) {
  Value result = kit.index(1);
  for (unsigned d : dims)
    result = kit.mul(result, kit.e.host(view.dim(d)));
  return result;
}

RowSpace::RowSpace(Kit &kit, Value x, ArrayRef<int64_t> axes) : kit(kit), view(x) {
  Dims keptExtents, reducedExtents;
  for (unsigned d = 0; d < view.rank(); ++d) {
    bool isReduced = llvm::is_contained(axes, int64_t(d));
    (isReduced ? reducedDims : keptDims).push_back(d);
    (isReduced ? reducedExtents : keptExtents).push_back(view.dim(d));
  }
  Symbols &symbols = kit.e.symbols;
  rows = length = symbols.constant(1);
  for (AffineExpr dim : keptExtents)
    rows = symbols.mul(rows, dim);
  for (AffineExpr dim : reducedExtents)
    length = symbols.mul(length, dim);
  rowsValue = extent(kit, view, keptDims);
  lengthValue_ = extent(kit, view, reducedDims);
  trailing = view.isDirect() && (reducedDims.empty() || reducedDims.front() == keptDims.size());
  contiguous = llvm::is_contained(reducedDims, unsigned(view.fastest()));
  moveToEnd(contiguous ? reducedDims : keptDims, view.fastest());
  ordered = llvm::is_sorted(keptDims);
}

unsigned RowSpace::run(unsigned most) const {
  if (!contiguous)
    return 1;
  unsigned run = most;
  if (!trailing || !view.isMemory())
    return view.runLength(most);
  while (run > 1 && !length.isMultipleOf(run))
    run /= 2;
  return run;
}

Values RowSpace::enter(Value row) const {
  Values result{row, kit.mul(row, lengthValue_)};
  result.resize(2 + keptDims.size());
  Value rest = row;
  for (unsigned i = keptDims.size(); i-- > 0;) {
    Value size = kit.e.host(view.dim(keptDims[i]));
    result[2 + i] = i == 0 ? rest : kit.rem(rest, size);
    rest = i == 0 ? rest : kit.div(rest, size);
  }
  return result;
}

ElementIndex RowSpace::at(ValueRange entered, Value r) const {
  ElementIndex index;
  index.hasMulti = true;
  index.multi.resize(view.rank());
  for (auto [i, d] : llvm::enumerate(keptDims))
    index.multi[d] = entered[2 + i];
  Value rest = r;
  for (unsigned i = reducedDims.size(); i-- > 0;) {
    Value size = kit.e.host(view.dim(reducedDims[i]));
    index.multi[reducedDims[i]] = i == 0 ? rest : kit.rem(rest, size);
    rest = i == 0 ? rest : kit.div(rest, size);
  }
  if (trailing)
    index.linear = kit.add(entered[1], r);
  return index;
}

ElementIndex RowSpace::kept(ValueRange entered, bool keepAsOnes) const {
  ElementIndex index;
  index.hasMulti = true;
  index.multi.assign(view.rank(), kit.index(0));
  for (auto [i, d] : llvm::enumerate(keptDims))
    index.multi[d] = entered[2 + i];
  for (unsigned d = view.rank(); d-- > 0 && !keepAsOnes;)
    if (llvm::is_contained(reducedDims, d))
      index.multi.erase(index.multi.begin() + d);
  if (ordered)
    index.linear = entered[0];
  return index;
}

Values RowSpace::read(ValueRange entered, Value r, unsigned run) const { return view.readAt(kit, at(entered, r), run); }

//===----------------------------------------------------------------------===//
// RowGroup
//===----------------------------------------------------------------------===//

RowGroup::RowGroup(Kit &kit, unsigned threads, unsigned ctaThreads) : threads(threads), ctaThreads(ctaThreads), kit(kit) {
  rank = threads == ctaThreads ? kit.thread() : kit.rem(kit.thread(), threads);
  group = threads == ctaThreads ? kit.i32(0) : kit.div(kit.thread(), threads);
}

Values RowGroup::reduce(Values values, Combine combine) {
  return threads == ctaThreads && threads > 32 ? blockReduce(kit.b, kit.loc(), values, combine, threads)
                                               : warpReduce(kit.b, kit.loc(), values, combine, threads);
}

//===----------------------------------------------------------------------===//
// RowCache
//===----------------------------------------------------------------------===//

static constexpr int64_t registersPerThread = 32, sharedBytesPerCta = 16384;

RowCache::RowCache(Kit &kit, const RowSpace &space, const RowGroup &group, Type element, Type wide)
    : kit(kit), space(space), group(group), element(element), wide(wide) {
  unsigned bytes = std::max(element.getIntOrFloatBitWidth() / 8, 1u);
  run = space.run(std::max(16 / bytes, 1u));
  auto length = space.knownLength();
  int64_t stride = int64_t(group.threads) * run;
  if (length && llvm::divideCeil(*length, stride) * run <= registersPerThread) {
    chunks = std::max<int64_t>(llvm::divideCeil(*length, stride), 1);
    return;
  }
  capacity = sharedBytesPerCta / (wide.getIntOrFloatBitWidth() / 8) / group.groups() / stride * stride;
  store = kit.shared(wide, capacity * group.groups());
}

void RowCache::enter(ValueRange row) { entered.assign(row.begin(), row.end()); }

Values RowCache::read(Value r) {
  Values elements = space.read(entered, r, run);
  for (Value &value : elements)
    value = scalar::cast(kit.b, kit.loc(), value, element, wide);
  return elements;
}

/// Where element i of the run at r stands in shared memory: run elements far apart, so that lanes are neighbours.
Value RowCache::slot(Value r, unsigned i) {
  if (group.threads == 1)
    return kit.add(kit.mul(kit.toI32(r), group.groups()), group.group);
  unsigned perRun = capacity / run;
  Value base = kit.div(kit.toI32(r), run);
  return kit.add(kit.add(base, int64_t(i) * perRun), kit.mul(group.group, capacity));
}

void RowCache::keep(Value r, ValueRange elements) {
  kit.ifThen(kit.lt(r, kit.index(capacity)), [&] {
    for (auto [i, value] : llvm::enumerate(elements))
      kit.store(*store, slot(r, i), value);
  });
}

Values RowCache::recall(Value r) {
  SmallVector<Type> types(run, wide);
  return kit.ifElse(kit.lt(r, kit.index(capacity)), types,
                    [&] {
                      Values values;
                      for (unsigned i = 0; i < run; ++i)
                        values.push_back(kit.load(*store, slot(r, i)));
                      return values;
                    },
                    [&] {
                      Values values = read(r);
                      for (const Map &map : maps)
                        for (Value &value : values)
                          value = map(value);
                      return values;
                    });
}

Values RowCache::fold(ValueRange carried, Fold body, Map map) {
  Values state(carried);
  if (chunks > 0) {
    Value length = space.lengthValue();
    auto clamp = [&](Value r, bool isWhole) {
      Value at = isWhole ? r : kit.min(r, kit.sub(length, kit.index(run)));
      kit.e.assumeMultiple(at, run);
      return at;
    };
    for (unsigned c = 0; c < chunks; ++c) {
      if (!filled) {
        Value r = kit.toIndex(kit.add(kit.mul(group.rank, run), int64_t(c) * group.threads * run));
        bool isWhole = int64_t(c + 1) * group.threads * run <= *space.knownLength();
        kit.e.assumeMultiple(r, run);
        positions.push_back(r);
        inside.push_back(isWhole ? Value() : kit.lt(r, length));
        registers.push_back(*space.knownLength() == 0 ? Values(run, kit.scalar(wide, 0))
                                                      : read(clamp(r, isWhole)));
      }
      for (Value &x : registers[c]) {
        x = map ? map(x) : x;
        Values next = body(x, state);
        for (auto [old, fresh] : llvm::zip(state, next))
          old = inside[c] ? kit.select(inside[c], fresh, old) : fresh;
      }
    }
    filled = true;
    return state;
  }
  Value step = kit.index(int64_t(group.threads) * run), first = kit.toIndex(kit.mul(group.rank, run));
  bool isFirst = !filled;
  state = kit.loop(first, space.lengthValue(), step, state, [&](Value r, ValueRange args) {
    kit.e.assumeMultiple(r, run);
    Values elements = isFirst ? read(r) : recall(r), next(args);
    for (Value &x : elements) {
      x = map ? map(x) : x;
      next = body(x, next);
    }
    if (isFirst || map)
      keep(r, elements);
    return next;
  });
  filled = true;
  if (map)
    maps.push_back(map);
  return state;
}

void RowCache::forEachRun(llvm::function_ref<void(Value, ValueRange)> body) {
  for (unsigned c = 0; c < chunks; ++c) {
    if (inside[c])
      kit.ifThen(inside[c], [&] { body(positions[c], registers[c]); });
    else
      body(positions[c], registers[c]);
  }
  if (chunks > 0)
    return;
  Value step = kit.index(int64_t(group.threads) * run), first = kit.toIndex(kit.mul(group.rank, run));
  kit.loop(first, space.lengthValue(), step, [&](Value r) {
    kit.e.assumeMultiple(r, run);
    body(r, filled ? recall(r) : read(r));
  });
}

} // namespace weft::tile
