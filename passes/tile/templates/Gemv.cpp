// Products with few rows on one side: see emitGemv in Gemm.h.
//
// Guarantees: each element of the matrix is read once, lanes along memory; sums in a fixed order. Where the matrix is
// contiguous along K a warp computes one row of results; otherwise lanes take neighbouring rows and the CTA's warps share K.
#include "passes/tile/templates/Gemm.h"

using namespace mlir;
namespace weft::tile {

unsigned gemvRowsPerCta(const GemmSource &matrix, unsigned threads) { return matrix.alongK ? threads / 32 : 32; }

namespace {

class Gemv {
public:
  Gemv(Kit &kit, const GemmProblem &problem, GemmSource &matrix, GemmSource &vector, unsigned count, unsigned threads)
      : kit(kit), problem(problem), matrix(matrix), vector(vector), count(count), threads(threads), warps(threads / 32) {
    for (unsigned i = 0; i < count; ++i)
      vectorRows.push_back(vector.prepare(kit, kit.index(i)));
  }
  Values alongK(Value row);
  Values alongRows(Value row);

private:
  Value widen(Value x) { return graph::scalar::cast(kit.b, kit.loc(), x, problem.element, problem.accumulator); }
  Values zeros() { return Values(count, kit.scalar(problem.accumulator, 0)); }
  Values addTerms(Values sums, Value k, ValueRange elements);

  Kit &kit;
  const GemmProblem &problem;
  GemmSource &matrix, &vector;
  unsigned count, threads, warps;
  SmallVector<Values> vectorRows;
};

/// sums += elements (of one matrix row at k, k + 1, ...) times the vectors' elements there.
Values Gemv::addTerms(Values sums, Value k, ValueRange elements) {
  for (unsigned i = 0; i < count; ++i) {
    Values factors;
    if (vector.run == elements.size())
      factors = vector.load(kit, vectorRows[i], k);
    for (unsigned j = factors.size(); j < elements.size(); ++j)
      factors.push_back(vector.load(kit, vectorRows[i], kit.add(k, int64_t(j)))[0]);
    for (auto [x, y] : llvm::zip(elements, factors))
      sums[i] = graph::scalar::multiplyAdd(kit.b, kit.loc(), widen(x), widen(y), sums[i]);
  }
  return sums;
}

Values Gemv::alongK(Value row) {
  Values prepared = matrix.prepare(kit, row);
  Value first = kit.toIndex(kit.mul(kit.lane(), matrix.run)), step = kit.index(32 * matrix.run);
  Values sums = kit.unrolledLoop(first, problem.k, step, 4, zeros(), [&](Value k, ValueRange carried) {
    kit.e.assumeMultiple(k, matrix.run);
    return addTerms(Values(carried), k, matrix.load(kit, prepared, k));
  });
  return warpReduce(kit.b, kit.loc(), sums, [&](ValueRange a, ValueRange b) {
    Values result;
    for (auto [x, y] : llvm::zip(a, b))
      result.push_back(graph::scalar::reduceCombine(kit.b, kit.loc(), graph::ReduceKind::sum, x, y, problem.accumulator));
    return result;
  });
}

Values Gemv::alongRows(Value row) {
  Values prepared = matrix.prepare(kit, row);
  Values sums = kit.unrolledLoop(kit.toIndex(kit.warp()), problem.k, kit.index(warps), 4, zeros(), [&](Value k, ValueRange carried) {
    return addTerms(Values(carried), k, matrix.load(kit, prepared, k));
  });
  SharedArray parts = kit.shared(problem.accumulator, threads * count);
  for (unsigned i = 0; i < count; ++i)
    kit.store(parts, kit.add(kit.thread(), i * threads), sums[i]);
  kit.barrier();
  for (unsigned i = 0; i < count; ++i)
    for (unsigned w = 1; w < warps; ++w) // of use in warp 0 only, whose own sums come first
      sums[i] = graph::scalar::reduceCombine(kit.b, kit.loc(), graph::ReduceKind::sum, sums[i],
                                             kit.load(parts, kit.add(kit.lane(), i * threads + w * 32)), problem.accumulator);
  return sums;
}

} // namespace

void emitGemv(Kit &kit, const GemmProblem &problem, GemmSource &matrix, GemmSource &vector, unsigned count, Value extent, Value tile, unsigned threads,
              llvm::function_ref<void(Value row, unsigned i, Value sum)> store) {
  Gemv gemv(kit, problem, matrix, vector, count, threads);
  if (matrix.alongK) {
    Value row = kit.add(kit.mul(tile, threads / 32), kit.toIndex(kit.warp()));
    kit.ifThen(kit.lt(row, extent), [&] {
      Values sums = gemv.alongK(row);
      kit.ifThen(kit.eq(kit.lane(), kit.i32(0)), [&] {
        for (unsigned i = 0; i < count; ++i)
          store(row, i, sums[i]);
      });
    });
    return;
  }
  Value row = kit.add(kit.mul(tile, 32), kit.toIndex(kit.lane())), last = kit.sub(extent, kit.index(1));
  Values sums = gemv.alongRows(kit.min(row, last));
  kit.ifThen(kit.both(kit.lt(row, extent), kit.eq(kit.warp(), kit.i32(0))), [&] {
    for (unsigned i = 0; i < count; ++i)
      store(row, i, sums[i]);
  });
}

} // namespace weft::tile
