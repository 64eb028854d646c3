// Which operations of a block become one kernel: the decisions of form-kernels, without changing the IR.
//
// Guarantees: kernels never depend on each other in a circle; a root is in exactly one kernel; an operation in several
// kernels is cheap. Leaves to others: making the kernels (FormKernels.cpp) and code for them (passes/tile).
#ifndef WEFT_PASSES_GRAPH_FUSION_H
#define WEFT_PASSES_GRAPH_FUSION_H

#include "dialects/graph/Graph.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

namespace weft {

/// True for operations that run on the GPU, alone or fused.
bool isDeviceOp(mlir::Operation *op);
/// True for operations that set symbols, which whatever comes after may use.
bool setsSymbols(mlir::Operation *op);
/// The value under a chain of reshapes.
mlir::Value underReshapes(mlir::Value value);
/// A value that is written into kernels as a literal: constants whose elements are all equal.
bool isLiteral(mlir::Value value);

/// The operations of one kernel.
struct Group {
  mlir::Operation *root = nullptr;            // null for a kernel of element operations only
  llvm::SetVector<mlir::Operation *> members; // may be stored: the root, its epilogue, heads of element chains
  llvm::DenseSet<mlir::Operation *> inlined;  // computed where members need them, never stored
  int64_t cost = 0;                           // sum of the element costs times variants
};

class Fusion {
public:
  Fusion(mlir::Block &block, bool enabled);
  llvm::ArrayRef<Group> getGroups() const { return groups; }

private:
  // How an operation is evaluated within one group.
  struct Evaluation {
    llvm::SmallSet<uint64_t, 2> maps; // different index maps from the kernel's domain
    bool reread = false;              // a template reads each element many times
    bool aligned = false;             // at the domain's own index, with the domain's dimensions
    int64_t pathCost = 0;             // cost of operations between here and the template (reread only)
    int64_t duplicated = 0;           // cost of operations behind it that several kernels compute
    int64_t reads = 1;                // how often operations behind it read each element
    bool expanded = false;            // behind a broadcast: computed for more elements than there are
  };
  void growEpilogue(unsigned group);
  void placeProducer(mlir::Operation *op);
  bool collectUses(mlir::Operation *op, llvm::MapVector<unsigned, Evaluation> &uses) const;
  std::optional<std::string> whyNotInline(mlir::Operation *op, unsigned group, const Evaluation &e) const;
  int64_t chainCost(mlir::Operation *op, int64_t limit) const;
  bool joinAsOutput(mlir::Operation *op, const llvm::MapVector<unsigned, Evaluation> &uses);
  llvm::DenseSet<mlir::Operation *> dependents(unsigned group) const;
  unsigned addGroup(mlir::Operation *member);
  void inlineInto(mlir::Operation *op, unsigned group, const Evaluation &e);

  mlir::Block &block;
  bool enabled;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> order;
  llvm::SmallVector<Group, 0> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> memberOf;
  llvm::DenseMap<mlir::Operation *, llvm::MapVector<unsigned, Evaluation>> evaluations;
};

} // namespace weft
#endif
