// The matrix product engine that contraction and convolution share: one CTA computes one tile of C = A x B.
//
// Guarantees: any extents (0, 1, not divisible) are right; nothing outside the sources' ranges is read; each element of C is
// a sum in one fixed order, whatever the grid; the main loop's shared-memory accesses have no bank conflicts. Global loads
// are double-buffered in registers, shared tiles in two stages with one barrier per step.
#ifndef WEFT_PASSES_TILE_TEMPLATES_GEMM_H
#define WEFT_PASSES_TILE_TEMPLATES_GEMM_H

#include "passes/tile/templates/Kit.h"

namespace weft::tile {

/// One side of the product as a matrix [rows, K]: rows are those of A, or the columns of B.
class GemmSource {
public:
  virtual ~GemmSource() = default;
  /// What depends only on the row: emitted once for each row a thread reads, before the loop over K. `row` is in range.
  virtual Values prepare(Kit &kit, mlir::Value row) = 0;
  /// `run` elements from (row, k) along K or along the rows, as `alongK` says; k is in range. Register values of the
  /// operand's element type.
  virtual Values load(Kit &kit, mlir::ValueRange prepared, mlir::Value k) = 0;

  bool alongK = false; // which direction is contiguous in memory
  unsigned run = 1;    // elements per load; divides the extent of that direction
};

/// The shape of the work of one CTA. Each thread holds threadM x threadN sums; `slices` groups of threads share the K range
/// of every step and are added up at the end in order.
struct GemmTile {
  unsigned m, n, k, threadM, threadN, slices;
  unsigned threadsPerSlice() const { return (m / threadM) * (n / threadN); }
  unsigned threads() const { return threadsPerSlice() * slices; }
};

struct GemmProblem {
  mlir::Value m, n, k;      // extents, index values
  bool kDivides = false;    // k is known to be a multiple of the tile's
  unsigned columnRun = 1;   // n is known to be a multiple of this
  mlir::Type element;       // type of the sources' elements in the graph
  mlir::Type accumulator;   // type of the sums
  GemmSource *a = nullptr, *b = nullptr;
};

/// The register-tile width in elements: 16 bytes of the accumulator's type.
unsigned gemmWidth(mlir::Type accumulator);
/// The type that sums of products of `elementType` are kept in: f32 for narrow floats, i32 for narrow integers.
mlir::Type gemmAccumulator(mlir::Type elementType);

/// A tile that keeps the grid busy. `m`, `n`, `batch`: the extents where known, else a guess; -1 for unknown.
GemmTile chooseGemmTile(int64_t m, int64_t n, int64_t k, int64_t batch, mlir::Type accumulator);

/// Records the launch: one CTA per tile of C and batch, in one grid dimension.
void launchGemm(KernelEmitter &e, const GemmTile &tile, mlir::AffineExpr m, mlir::AffineExpr n, mlir::AffineExpr batches);
/// Which tile this CTA computes, index values.
struct GemmPosition {
  mlir::Value tileM, tileN, batch;
};
GemmPosition gemmPosition(Kit &kit, const GemmTile &tile, const GemmProblem &problem);

/// Products whose one side has few rows (`count`, known): rows of the other side that a CTA of `threads` computes, and the
/// work of the CTA number `tile`. `extent`: rows of `matrix`. `matrix` reads one row at a time (run 1 unless along K),
/// `vector` runs along K or single elements.
unsigned gemvRowsPerCta(const GemmSource &matrix, unsigned threads);
void emitGemv(Kit &kit, const GemmProblem &problem, GemmSource &matrix, GemmSource &vector, unsigned count, mlir::Value extent,
              mlir::Value tile, unsigned threads, llvm::function_ref<void(mlir::Value row, unsigned i, mlir::Value sum)> store);

/// Receives `values` (accumulators) of row `row` at columns `column`, `column` + 1, ...; all are in range.
using GemmStore = llvm::function_ref<void(mlir::Value row, mlir::Value column, mlir::ValueRange values)>;

/// Emits the work of one CTA for the tile at (tileM, tileN), index values.
void emitGemm(Kit &kit, const GemmTile &tile, const GemmProblem &problem, mlir::Value tileM, mlir::Value tileN, GemmStore store);

} // namespace weft::tile
#endif
