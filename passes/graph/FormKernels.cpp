// Groups operations into kernels (pass form-kernels).
//
// Guarantees: kernels are isolated, named uniquely and in an order in which each comes after what it reads; an operation that is
// neither fused nor needed disappears. What is fused with what is decided by Fusion.h.
#include "dialects/graph/NodeName.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/graph/Fusion.h"
#include "passes/graph/Passes.h"
#include <queue>

using namespace mlir;
using namespace weft::graph;

namespace weft {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/graph/Passes.h.inc"

namespace {
/// Makes the kernels of one block.
class Former {
public:
  Former(Block &block, unsigned &counter, bool fuse)
      : block(block), counter(counter), fusion(block, fuse), b(block.getParentOp()->getContext()) {}
  void run();

private:
  bool isComputedIn(const Group &group, Value value) const;
  void visitOperands(const Group &group, Operation *op, DenseSet<Operation *> &seen, llvm::SetVector<Value> &found);
  void findNeeded();
  void make(unsigned number);
  Value resolve(Value value);
  void copyInto(Operation *op, IRMapping &map);
  std::string nameOf(const Group &group);
  std::string nodesOf(const Group &group);
  void replaceOriginals();
  void sort();

  Block &block;
  unsigned &counter;
  Fusion fusion;
  OpBuilder b;
  DenseMap<Operation *, unsigned> position;            // where an operation wants to stand
  SmallVector<Operation *> originals;
  SmallVector<llvm::SetVector<Value>> operands;        // per group: what it loads
  DenseSet<Value> needed;                              // values that must be in memory
  DenseMap<Value, unsigned> maker;                     // the group that stores a value
  DenseMap<Value, Value> replacement;                  // original value -> kernel result or view of one
  llvm::BitVector made;
};

/// Whether a kernel computes `value` itself instead of loading it. A reshape of something in memory is a view of it.
bool Former::isComputedIn(const Group &group, Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != &block)
    return isLiteral(value);
  if (isa<ReshapeOp>(op))
    return isComputedIn(group, op->getOperand(0));
  return isLiteral(value) || group.members.contains(op) || group.inlined.contains(op);
}

void Former::visitOperands(const Group &group, Operation *op, DenseSet<Operation *> &seen, llvm::SetVector<Value> &operands) {
  if (!seen.insert(op).second)
    return;
  for (Value operand : op->getOperands()) {
    if (!isComputedIn(group, operand))
      operands.insert(operand);
    else
      visitOperands(group, operand.getDefiningOp(), seen, operands);
  }
}

/// Fills `operands`, `needed` and `maker`.
void Former::findNeeded() {
  for (auto [number, group] : llvm::enumerate(fusion.getGroups())) {
    DenseSet<Operation *> seen;
    operands.emplace_back();
    for (Operation *member : group.members) {
      visitOperands(group, member, seen, operands.back());
      for (Value result : member->getResults())
        maker[result] = number;
    }
    for (Value operand : operands.back())
      needed.insert(underReshapes(operand));
  }
  for (Operation *op : originals) {
    if (isDeviceOp(op))
      continue;
    llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
    mlir::getUsedValuesDefinedAbove(op->getRegions(), used);
    for (Value operand : used)
      needed.insert(underReshapes(operand));
  }
}

/// The value that stands for `value` after the change: a kernel's result, a view of one, or itself.
Value Former::resolve(Value value) {
  if (Value known = replacement.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != &block)
    return value;
  if (auto it = maker.find(value); it != maker.end()) {
    make(it->second);
    return replacement.lookup(value);
  }
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape)
    return value;
  Value base = resolve(reshape.getX());
  b.setInsertionPoint(block.getTerminator());
  auto view = ReshapeOp::create(b, op->getLoc(), reshape.getType(), base);
  position[view] = position[op];
  return replacement[value] = view.getY();
}

void Former::copyInto(Operation *op, IRMapping &map) {
  if (map.contains(op->getResult(0)))
    return;
  for (Value operand : op->getOperands())
    if (!map.contains(operand))
      copyInto(operand.getDefiningOp(), map);
  b.clone(*op, map);
}

/// A readable name: what the first operations do, and a number.
std::string Former::nameOf(const Group &group) {
  std::string name;
  for (Operation *op : llvm::ArrayRef<Operation *>(group.members.getArrayRef()).take_front(3)) {
    std::string part = op->getName().stripDialect().str();
    if (auto unary = dyn_cast<UnaryOp>(op))
      part = stringifyUnaryKind(unary.getKind());
    else if (auto binary = dyn_cast<BinaryOp>(op))
      part = stringifyBinaryKind(binary.getKind());
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      part = ("reduce_" + stringifyReduceKind(reduce.getKind())).str();
    name += part + "_";
  }
  return name + std::to_string(counter++);
}

std::string Former::nodesOf(const Group &group) {
  SmallVector<Operation *> all(group.members.begin(), group.members.end());
  llvm::append_range(all, group.inlined);
  llvm::sort(all, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
  llvm::SetVector<StringRef> seen;
  SmallVector<std::string> names;
  for (Operation *op : all)
    if (std::string name = nodeName(op->getLoc()); !name.empty() && !llvm::is_contained(names, name))
      names.push_back(name);
  return llvm::join(names, ", ");
}

void Former::make(unsigned number) {
  if (made.test(number))
    return;
  made.set(number);
  const Group &group = fusion.getGroups()[number];
  SmallVector<Operation *> members(group.members.begin(), group.members.end());
  llvm::sort(members, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
  SmallVector<Value> results, inputs;
  for (Operation *member : members)
    llvm::copy_if(member->getResults(), std::back_inserter(results), [&](Value v) { return needed.contains(v); });
  if (results.empty())
    return;
  for (Value operand : operands[number])
    inputs.push_back(resolve(operand));

  b.setInsertionPoint(block.getTerminator());
  auto kernel = KernelOp::create(b, members.front()->getLoc(), TypeRange(ValueRange(results)), inputs,
                                 b.getStringAttr(nameOf(group)), b.getStringAttr(nodesOf(group)));
  position[kernel] = position[members.back()];
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping map;
  for (Value operand : operands[number])
    map.map(operand, body.addArgument(operand.getType(), operand.getLoc()));
  b.setInsertionPointToStart(&body);
  for (Operation *member : members)
    copyInto(member, map);
  SmallVector<Value> yielded;
  for (auto [result, stored] : llvm::zip_equal(results, kernel.getOutputs())) {
    yielded.push_back(map.lookup(result));
    replacement[result] = stored;
  }
  YieldOp::create(b, kernel.getLoc(), yielded);
}

/// Lets everything that is no kernel read the kernels' results, and erases what the kernels have taken over.
void Former::replaceOriginals() {
  for (Operation *op : originals)
    if (!isDeviceOp(op)) {
      llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
      mlir::getUsedValuesDefinedAbove(op->getRegions(), used);
      for (Value value : used)
        if (Value with = resolve(value); with != value)
          value.replaceUsesWithIf(with, [&](OpOperand &use) { return op->isAncestor(use.getOwner()); });
    }
  for (Operation *op : llvm::reverse(originals))
    if (isDeviceOp(op) && op->use_empty())
      op->erase();
}

/// Orders the block: operands first, what stood behind an operation that sets symbols stays behind it, else as it was.
void Former::sort() {
  SmallVector<Operation *> all;
  for (Operation &op : block)
    all.push_back(&op);
  llvm::stable_sort(all, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
  DenseMap<Operation *, unsigned> waiting, index;
  DenseMap<Operation *, SmallVector<Operation *>> followers;
  Operation *barrier = nullptr;
  for (auto [i, op] : llvm::enumerate(all))
    index[op] = i;
  for (Operation *op : all) {
    llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
    mlir::getUsedValuesDefinedAbove(op->getRegions(), used);
    llvm::SetVector<Operation *> before;
    for (Value value : used)
      if (Operation *source = value.getDefiningOp(); source && source->getBlock() == &block)
        before.insert(source);
    if (barrier)
      before.insert(barrier);
    if (setsSymbols(op))
      barrier = op;
    waiting[op] = before.size();
    for (Operation *source : before)
      followers[source].push_back(op);
  }
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>> ready;
  for (auto [i, op] : llvm::enumerate(all))
    if (waiting[op] == 0 && op != block.getTerminator())
      ready.push(i);
  while (!ready.empty()) {
    Operation *op = all[ready.top()];
    ready.pop();
    op->moveBefore(block.getTerminator());
    for (Operation *follower : followers[op])
      if (--waiting[follower] == 0 && follower != block.getTerminator())
        ready.push(index[follower]);
  }
}

void Former::run() {
  for (auto [i, op] : llvm::enumerate(block)) {
    position[&op] = i;
    originals.push_back(&op);
  }
  findNeeded();
  made.resize(fusion.getGroups().size());
  for (unsigned i = 0; i < made.size(); ++i)
    make(i);
  replaceOriginals();
  sort();
}

struct FormKernels : impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    unsigned counter = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      form(function.getBody(), counter);
  }

  void form(Region &region, unsigned &counter) {
    for (Block &block : region) {
      Former(block, counter, fuse).run();
      for (Operation &op : block)
        if (!isa<KernelOp>(op))
          for (Region &nested : op.getRegions())
            form(nested, counter);
    }
  }
};
} // namespace
} // namespace weft
