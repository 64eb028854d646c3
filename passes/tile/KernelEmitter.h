// Emits the body of one variant of one kernel: element rules on one side, tile operations on the other.
//
// Guarantees: nothing is computed twice for one index within a block and the blocks around it; an access is wide only where
// its alignment is proven. Leaves to templates: which thread computes what.
#ifndef WEFT_PASSES_TILE_KERNELEMITTER_H
#define WEFT_PASSES_TILE_KERNELEMITTER_H

#include "dialects/graph/Graph.h"
#include "dialects/tile/Tile.h"
#include <functional>

namespace weft {

/// What one compiled form of a kernel may rely on.
struct Variant {
  unsigned indexBits = 32;
  bool wide = false; // all tensors start at a multiple of 16 bytes
};

/// How one variant is launched; the template fills it in while it emits the body.
struct LaunchConfig {
  llvm::SmallVector<int64_t, 3> block = {256, 1, 1};
  graph::Dims grid;            // one to three expressions; a missing one is 1
  mlir::AffineExpr shared;     // bytes of dynamic shared memory; null: none
  unsigned vector = 1;         // elements per thread, for the record
  graph::Dims guards;          // each must be non-zero for the variant to be used
  bool skip = false;           // this variant brings nothing: leave it out
};

/// The scalars that a kernel takes: one list for all of its variants.
using KernelScalars = llvm::SetVector<mlir::AffineExpr>;

class KernelEmitter : public graph::ElementEmitter {
public:
  KernelEmitter(mlir::OpBuilder &builder, graph::KernelOp source, tile::KernelOp target, Variant variant, graph::Symbols &symbols,
                KernelScalars &scalars, llvm::SmallVectorImpl<mlir::Type> &workspaceTypes);

  const Variant variant;
  LaunchConfig launch;
  graph::Symbols &symbols;
  graph::KernelOp source() const { return kernel; }
  tile::KernelOp target() const { return function; }

  //===--- Values ---===//
  using Callback = std::function<graph::Elements(const graph::ElementIndex &, unsigned count)>;
  /// Elements of any value of the kernel's body: of a binding, of memory, or by the element rule of the operation behind it.
  graph::Elements elements(mlir::Value value, const graph::ElementIndex &index, unsigned count);
  mlir::Value element(mlir::Value value, const graph::ElementIndex &index) { return elements(value, index, 1)[0]; }
  /// From now on `value` (a root's result, say) is what `callback` gives. Forgets what was computed before.
  void bind(mlir::Value value, Callback callback);
  /// Forgets all computed elements, e.g. where a binding now reads other memory contents.
  void forget() { memo.clear(); }
  /// Stores elements of result number `result` at `index` (in the result's own dimensions).
  void store(unsigned result, const graph::ElementIndex &index, llvm::ArrayRef<mlir::Value> elements);
  /// Computes `count` elements of each result at `index` and stores them; all results must have the dimensions of the index.
  void storeResults(const graph::ElementIndex &index, unsigned count);
  /// Sets the location for what a template emits itself (rules set it themselves).
  void setLoc(mlir::Location loc) { currentLoc = loc; }

  //===--- Memory ---===//
  mlir::Value input(unsigned i) { return function.getArgument(i); }
  mlir::Value output(unsigned i) { return function.getArgument(kernel.getInputs().size() + i); }
  /// A temporary in global memory that lives during the launch: a tensor type with dimensions over symbols. Call in every variant, in the same order.
  mlir::Value workspace(mlir::RankedTensorType type);
  /// `count` elements of `elementType` (a graph element type) from `pointer[linear]` on, in the widest proven accesses.
  graph::Elements load(mlir::Value pointer, mlir::Type elementType, mlir::Value linear, unsigned count, bool readOnly = false);
  void storeTo(mlir::Value pointer, mlir::Value linear, llvm::ArrayRef<mlir::Value> elements);
  /// Elements that share a byte of memory: 2 or 4 where `elementType` is narrower than a byte, else 1.
  static unsigned elementsPerByte(mlir::Type elementType);
  /// Writes the byte that begins with element `linear`, a multiple of elementsPerByte, from the bits of all of its elements.
  void storeByte(mlir::Value pointer, mlir::Value linear, llvm::ArrayRef<mlir::Value> elements);

  //===--- What is known ---===//
  /// `value` is a multiple of `n`, a power of two.
  void assumeMultiple(mlir::Value value, int64_t n) { multiples[value] = n; }
  /// The largest power of two up to 256 that is known to divide `value`.
  int64_t knownMultiple(mlir::Value value, unsigned depth = 0);
  int64_t knownMultiple(mlir::AffineExpr expr);
  /// Makes `expr` a multiple of `n` in this variant, by a guard where it is not proven. False where it provably is none.
  bool requireMultiple(mlir::AffineExpr expr, int64_t n);
  /// Adds the guard `condition` != 0.
  void require(mlir::AffineExpr condition) { launch.guards.push_back(condition); }
  /// How many trailing dimensions of `value` a run of elements may cross as if they were one (0 for rank 0).
  unsigned runDims(mlir::Value value);
  /// True where a template gives the elements of `value`.
  bool isBound(mlir::Value value) const { return bindings.count(value); }
  mlir::AffineExpr numElements(mlir::RankedTensorType type);

  //===--- ElementEmitter ---===//
  using graph::ElementEmitter::operand;
  graph::Elements operand(unsigned number, const graph::ElementIndex &index, unsigned count) override;
  mlir::Value host(mlir::AffineExpr expr) override;
  mlir::Value host64(mlir::AffineExpr expr) override;
  bool isMemory(unsigned number) override;

  /// The scalars that must fit in 32 bits though they are no dimensions.
  graph::Dims wideScalars;

private:
  struct Known {
    mlir::Value value;
    llvm::SmallVector<mlir::Value, 5> key; // canonical index, null where absent
    unsigned count;
    graph::Elements elements;
    mlir::Block *block;
  };
  bool isVisible(mlir::Block *block);
  mlir::Value canonical(mlir::Value value, unsigned depth = 0);
  graph::Elements compute(mlir::Value value, const graph::ElementIndex &index, unsigned count);
  graph::Elements constantElements(graph::ConstantOp op, const graph::ElementIndex &index, unsigned count);
  graph::Elements loadInput(mlir::BlockArgument argument, const graph::ElementIndex &index, unsigned count);

  graph::KernelOp kernel;
  tile::KernelOp function;
  KernelScalars &scalars;
  llvm::SmallVectorImpl<mlir::Type> &workspaceTypes;
  unsigned workspaces = 0;
  mlir::Operation *current = nullptr; // whose rule is running
  llvm::DenseMap<mlir::Value, Callback> bindings;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Known, 2>> memo;
  llvm::DenseMap<mlir::Value, int64_t> multiples;
  llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>> exprMultiples;
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<mlir::Value, 2>> numbering; // structurally equal index values
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> hostValues;
};

} // namespace weft
#endif
