// Rows: the elements of an operand that are combined with each other by a reduction, a softmax or a normalisation.
//
// Guarantees: every element belongs to one row and one position in it; a group of threads (a warp or the whole CTA) shares a
// row, and each thread owns the same positions whenever it walks over the row. Walks are in a fixed order.
#ifndef WEFT_PASSES_TILE_TEMPLATES_ROWS_H
#define WEFT_PASSES_TILE_TEMPLATES_ROWS_H

#include "passes/tile/templates/View.h"
#include <functional>
#include <optional>

namespace weft::tile {

/// How the elements of `x` fall into rows along `axes`.
class RowSpace {
public:
  RowSpace(Kit &kit, mlir::Value x, llvm::ArrayRef<int64_t> axes);

  mlir::AffineExpr rowCount() const { return rows; }   // symbolic, may hold products of symbols
  mlir::AffineExpr rowLength() const { return length; }
  std::optional<int64_t> knownLength() const { return graph::getConstant(length); }
  std::optional<int64_t> knownRows() const { return graph::getConstant(rows); }
  /// True where neighbours in a row are neighbours in memory (else neighbouring rows are).
  bool isContiguous() const { return contiguous; }
  /// Elements that can be read together along a row, at most `most`; it divides the row's length.
  unsigned run(unsigned most) const;

  /// Host scalars as index values.
  mlir::Value rowCountValue() const { return rowsValue; }
  mlir::Value lengthValue() const { return lengthValue_; }

  /// What is worth computing once per row: pass it to `at`.
  Values enter(mlir::Value row) const;
  /// The operand's index of position `r` of the row.
  graph::ElementIndex at(mlir::ValueRange entered, mlir::Value r) const;
  /// The row's index in the dimensions that are kept (the reduced ones left out, or as zeros where `keepAsOnes`).
  graph::ElementIndex kept(mlir::ValueRange entered, bool keepAsOnes) const;
  Values read(mlir::ValueRange entered, mlir::Value r, unsigned run) const;

private:
  Kit &kit;
  View view;
  llvm::SmallVector<unsigned, 4> keptDims, reducedDims; // in the order rows and positions are counted
  mlir::AffineExpr rows, length;
  mlir::Value rowsValue, lengthValue_;
  bool contiguous = false, ordered = true, trailing = false; // trailing: position p * length + r in row-major order
};

/// The threads that share a row, and how they combine what they found.
class RowGroup {
public:
  /// `threads`: 32 (several rows per CTA of `ctaThreads`) or the whole CTA.
  RowGroup(Kit &kit, unsigned threads, unsigned ctaThreads);

  mlir::Value rank;  // i32: this thread's number within the group
  mlir::Value group; // i32: the group's number within the CTA
  unsigned threads, ctaThreads;
  unsigned groups() const { return ctaThreads / threads; }

  /// Combines the tuples of all threads; every thread gets the result. `combine` is commutative. All threads of the CTA call it.
  Values reduce(Values values, Combine combine);

private:
  Kit &kit;
};

/// One thread's elements of a row, read once where they can be kept: in registers (row length known and short enough), else
/// in shared memory up to a fixed number of elements, beyond which they are read again. Elements have the wide type.
class RowCache {
public:
  using Map = std::function<mlir::Value(mlir::Value)>;
  using Fold = llvm::function_ref<Values(mlir::Value element, mlir::ValueRange carried)>;

  RowCache(Kit &kit, const RowSpace &space, const RowGroup &group, mlir::Type element, mlir::Type wide);

  /// Must come first; in the row's scope.
  void enter(mlir::ValueRange entered);
  /// carried = body(element, carried) over this thread's elements in order. Where `map` is given, each element is
  /// replaced by its image first, for this and all later walks.
  Values fold(mlir::ValueRange carried, Fold body, Map map = nullptr);
  /// body(position of the first, run of elements) for all of this thread's elements.
  void forEachRun(llvm::function_ref<void(mlir::Value r, mlir::ValueRange elements)> body);

private:
  Values read(mlir::Value r);
  Values recall(mlir::Value r);
  void keep(mlir::Value r, mlir::ValueRange elements);
  mlir::Value slot(mlir::Value r, unsigned i);

  Kit &kit;
  const RowSpace &space;
  const RowGroup &group;
  mlir::Type element, wide;
  Values entered;
  unsigned run, chunks = 0; // chunks > 0: kept in registers
  llvm::SmallVector<Values> registers;
  Values positions, inside; // per chunk; `inside` null where the chunk is always within the row
  std::optional<SharedArray> store;
  int64_t capacity = 0; // elements per row in shared memory
  llvm::SmallVector<Map> maps;
  bool filled = false;
};

} // namespace weft::tile
#endif
