// Decides which operations share a kernel: see Fusion.h.
//
// Two passes over the block. Forwards, each root takes the elementwise operations behind it as its epilogue. Backwards,
// every other operation is put into the kernels of its users where that is cheap, becomes one more result of one of them,
// or starts a kernel of its own.
#include "passes/graph/Fusion.h"
#include "dialects/graph/NodeName.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {

// The limits of the cost model, in units of ElementOp::elementCost (about one instruction).
constexpr int64_t maxRereadCost = 6;    // a prologue that a template evaluates many times per element
constexpr int64_t maxDuplicateCost = 6; // operations computed in several kernels, one behind the other
constexpr int64_t maxExpandedCost = 24; // an operation computed again for every element that a broadcast makes of one
constexpr int64_t maxVariantCost = 96;  // one operation, at all its index maps within a kernel
constexpr int64_t maxGroupCost = 4000;  // all operations of a kernel

bool isDeviceOp(Operation *op) { return isa<ElementOp, NonZeroOp>(op); }

static bool isRoot(Operation *op) {
  auto element = dyn_cast<ElementOp>(op);
  return element ? element.isRoot() : isa<NonZeroOp>(op);
}

static bool isPointwise(Operation *op) { return op->hasTrait<OpTrait::Elementwise>(); }

Value underReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

static Value underBroadcasts(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  return value;
}

bool isLiteral(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return false;
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  return dense && dense.isSplat();
}

bool setsSymbols(Operation *op) { return isa<ReadBackOp, IfOp, LoopOp>(op); }

/// Roots whose template hands each finished element of result 0 to an epilogue.
static bool takesEpilogue(Operation *op) {
  return isa<ContractOp, ConvOp, ConvTransposeOp, ReduceOp, SoftmaxOp, NormalizeOp, PoolOp>(op);
}

/// Roots whose template computes operand elements by the element rule (a prologue).
static bool takesPrologue(Operation *op) {
  return isa<ContractOp, ConvOp, ConvTransposeOp, ReduceOp, SoftmaxOp, NormalizeOp, PoolOp, ScanOp, TopKOp, NonZeroOp>(op);
}

/// Roots whose template reads each operand element many times.
static bool rereads(Operation *op) { return isa<ContractOp, ConvOp, ConvTransposeOp, PoolOp, TopKOp>(op); }

static remark::RemarkOpts remarkOpts(StringRef name) { return remark::RemarkOpts::name(name).category("form-kernels"); }

static std::string describe(Operation *op) {
  std::string node = nodeName(op->getLoc());
  return op->getName().stripDialect().str() + (node.empty() ? "" : " '" + node + "'");
}

static int64_t costOf(Operation *op) {
  auto element = dyn_cast<ElementOp>(op);
  return element ? element.elementCost() : 1;
}

/// How often a fused operation reads one element of an operand for one of its own.
static int64_t readsOf(Operation *op, unsigned operand) {
  auto element = dyn_cast<ElementOp>(op);
  return element ? std::max<int64_t>(element.readsPerElement(operand), 1) : 1;
}

/// Computing it twice reads no more memory than storing and loading its result.
static bool isCheapToDuplicate(Operation *op) {
  if (!isPointwise(op))
    return true;
  return llvm::count_if(op->getOperands(), [](Value operand) { return !isLiteral(underReshapes(underBroadcasts(operand))); }) <= 1;
}

Fusion::Fusion(Block &block, bool enabled) : block(block), enabled(enabled) {
  for (Operation &op : block) {
    order[&op] = ops.size();
    ops.push_back(&op);
  }
  for (Operation *op : ops)
    if (isDeviceOp(op) && isRoot(op)) {
      unsigned group = addGroup(op);
      if (enabled && takesEpilogue(op))
        growEpilogue(group);
    }
  for (Operation *op : llvm::reverse(ops))
    if (isDeviceOp(op) && !isRoot(op) && !memberOf.count(op) && !op->use_empty())
      placeProducer(op);
}

unsigned Fusion::addGroup(Operation *member) {
  unsigned number = groups.size();
  groups.emplace_back();
  if (isRoot(member))
    groups.back().root = member;
  groups.back().members.insert(member);
  groups.back().cost = costOf(member);
  memberOf[member] = number;
  return number;
}

/// The operations that need a result of `group`, directly or through others, with every kernel taken as a whole.
DenseSet<Operation *> Fusion::dependents(unsigned group) const {
  DenseSet<Operation *> found;
  llvm::BitVector taken(groups.size());
  SmallVector<Operation *> work(groups[group].members.begin(), groups[group].members.end());
  taken.set(group);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    for (Operation *user : op->getUsers()) {
      user = block.findAncestorOpInBlock(*user);
      if (!user || !found.insert(user).second)
        continue;
      work.push_back(user);
      auto visitGroup = [&](unsigned other) {
        if (other == group || taken.test(other))
          return;
        taken.set(other);
        for (Operation *member : groups[other].members)
          if (found.insert(member).second)
            work.push_back(member);
      };
      if (auto it = memberOf.find(user); it != memberOf.end())
        visitGroup(it->second);
      if (auto it = evaluations.find(user); it != evaluations.end())
        for (auto &[other, e] : it->second)
          visitGroup(other);
    }
    // What stands behind a read-back or a branch may use the symbols that it sets.
    if (setsSymbols(op))
      for (unsigned i = order.lookup(op) + 1; i < ops.size(); ++i)
        if (found.insert(ops[i]).second)
          work.push_back(ops[i]);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// Takes elementwise consumers whose other operands do not wait for this kernel. Reshapes between keep an element's
/// place in memory, so an operation behind one still sees the root's element at its own (linear) index.
void Fusion::growEpilogue(unsigned number) {
  DenseSet<Operation *> blocked = dependents(number);
  DenseSet<Value> aligned{groups[number].root->getResult(0)};
  for (unsigned i = order[groups[number].root] + 1; i < ops.size(); ++i) {
    Operation *op = ops[i];
    if (op->getNumResults() != 1 || !llvm::any_of(op->getOperands(), [&](Value v) { return aligned.contains(v); }))
      continue;
    if (isa<ReshapeOp>(op)) {
      aligned.insert(op->getResult(0));
      blocked.erase(op);
      continue;
    }
    if (!isPointwise(op) || memberOf.count(op))
      continue;
    auto waits = llvm::find_if(op->getOperands(), [&](Value v) {
      return !aligned.contains(v) && v.getDefiningOp() && blocked.contains(block.findAncestorOpInBlock(*v.getDefiningOp()));
    });
    if (waits != op->operand_end()) {
      remark::missed(op->getLoc(), remarkOpts("not-fused"))
          << describe(op) + " is no epilogue of " + describe(groups[number].root) + ": it also needs " +
                 describe((*waits).getDefiningOp()) + ", which waits for this kernel";
      continue;
    }
    groups[number].members.insert(op);
    groups[number].cost += costOf(op);
    memberOf[op] = number;
    aligned.insert(op->getResult(0));
    blocked.erase(op);
    remark::passed(op->getLoc(), remarkOpts("fused")) << describe(op) + " is an epilogue of " + describe(groups[number].root);
  }
}

//===----------------------------------------------------------------------===//
// Producers
//===----------------------------------------------------------------------===//

/// How the users of `op` evaluate it, per kernel. False where some user needs it in memory.
bool Fusion::collectUses(Operation *op, llvm::MapVector<unsigned, Evaluation> &uses) const {
  bool onlyKernels = true;
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != &block || !isDeviceOp(user)) {
      onlyKernels = false;
      continue;
    }
    unsigned operand = use.getOperandNumber();
    if (auto it = memberOf.find(user); it != memberOf.end()) {
      Evaluation &e = uses[it->second];
      if (isRoot(user)) {
        if (!takesPrologue(user))
          onlyKernels = false;
        e.reread |= rereads(user);
        e.maps.insert(llvm::hash_combine(user, operand));
        auto type = cast<RankedTensorType>(use.get().getType()), main = cast<RankedTensorType>(user->getResult(0).getType());
        e.aligned |= !rereads(user) && takesEpilogue(user) && sameDims(type, main);
      } else {
        e.maps.insert(isPointwise(user) ? 0 : uint64_t(llvm::hash_combine(user, operand)));
        e.aligned |= isPointwise(user);
      }
      continue;
    }
    // A reshape that is needed in memory is a view of its operand.
    if (isa<ReshapeOp>(user)) {
      llvm::MapVector<unsigned, Evaluation> outer;
      onlyKernels &= collectUses(user, outer);
    }
    auto it = evaluations.find(user);
    if (it == evaluations.end())
      continue; // a dead user, or a view of something in memory
    for (auto &[group, outer] : it->second) {
      Evaluation &e = uses[group];
      e.reread |= outer.reread;
      e.pathCost = std::max(e.pathCost, outer.pathCost + (outer.reread ? costOf(user) : 0));
      e.duplicated = std::max(e.duplicated, outer.duplicated + (it->second.size() > 1 ? costOf(user) : 0));
      e.reads = std::max(e.reads, outer.reads * readsOf(user, operand));
      e.expanded |= outer.expanded || isa<BroadcastOp>(user);
      for (uint64_t map : outer.maps)
        e.maps.insert(isPointwise(user) ? map : uint64_t(llvm::hash_combine(map, user, operand)));
      e.aligned |= outer.aligned && isPointwise(user);
    }
  }
  return onlyKernels;
}

/// The cost of `op` and of everything before it that would be computed with it, up to what stands in memory. Stops counting at `limit`.
int64_t Fusion::chainCost(Operation *op, int64_t limit) const {
  int64_t cost = costOf(op);
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (cost > limit)
      break;
    if (source && source->getBlock() == &block && isDeviceOp(source) && !isRoot(source) && !memberOf.count(source) && source->hasOneUse())
      cost += chainCost(source, limit - cost);
  }
  return cost;
}

std::optional<std::string> Fusion::whyNotInline(Operation *op, unsigned group, const Evaluation &e) const {
  int64_t cost = costOf(op);
  // The whole chain counts: a chain that must be computed beforehand is so to its end.
  if (e.reread)
    cost = chainCost(op, maxRereadCost);
  if (e.reread && cost + e.pathCost > maxRereadCost)
    return llvm::formatv("its template would compute it again for every element it reads (cost {0}, limit {1})", cost + e.pathCost, maxRereadCost);
  cost = costOf(op);
  if (e.expanded && cost > maxExpandedCost)
    return llvm::formatv("a broadcast would compute it again for every element (cost {0}, limit {1})", cost, maxExpandedCost);
  // A single evaluation is never dearer here than in a kernel of its own.
  int64_t times = int64_t(e.maps.size()) * e.reads;
  if (times > 1 && times * cost > maxVariantCost)
    return llvm::formatv("{0} index maps times {1} reads times cost {2} pass the limit {3}", e.maps.size(), e.reads, cost, maxVariantCost);
  if (groups[group].cost + int64_t(e.maps.size()) * cost > maxGroupCost)
    return llvm::formatv("the kernel has reached its cost limit {0}", maxGroupCost);
  return std::nullopt;
}

void Fusion::inlineInto(Operation *op, unsigned group, const Evaluation &e) {
  groups[group].inlined.insert(op);
  groups[group].cost += costOf(op) * int64_t(e.maps.size());
  evaluations[op][group] = e;
}

/// Lets one of the kernels that use `op` store it too, if the others do not come before that one.
bool Fusion::joinAsOutput(Operation *op, const llvm::MapVector<unsigned, Evaluation> &uses) {
  if (op->getNumResults() != 1)
    return false;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (auto &[group, e] : uses) {
    Operation *head = groups[group].members.front();
    if (!e.aligned || !sameDims(type, cast<RankedTensorType>(head->getResult(0).getType())))
      continue;
    // Everything that will wait for this kernel because of `op` must not be needed by it.
    DenseSet<Operation *> users;
    bool circle = false;
    for (Operation *user : op->getUsers()) {
      Operation *holder = block.findAncestorOpInBlock(*user);
      auto feeds = [&](unsigned other) {
        if (other != group && !circle)
          for (Operation *dependent : dependents(other))
            circle |= groups[group].members.contains(dependent);
      };
      if (auto it = memberOf.find(holder); it != memberOf.end())
        feeds(it->second);
      else if (auto it = evaluations.find(holder); it != evaluations.end())
        for (auto &[other, outer] : it->second)
          feeds(other);
      else if (!holder->hasTrait<OpTrait::IsTerminator>())
        circle = true; // control flow: not followed
    }
    if (circle)
      continue;
    groups[group].members.insert(op);
    groups[group].cost += costOf(op);
    memberOf[op] = group;
    remark::passed(op->getLoc(), remarkOpts("fused")) << describe(op) + " is a further result of the kernel of " + describe(head);
    return true;
  }
  return false;
}

void Fusion::placeProducer(Operation *op) {
  llvm::MapVector<unsigned, Evaluation> uses;
  bool onlyKernels = collectUses(op, uses);
  if (isa<ReshapeOp>(op) || isa<HostOp, IotaOp>(op)) {
    // Views cost nothing in memory, host values nothing anywhere; both are also computed wherever they are used.
    for (auto &[group, e] : uses)
      inlineInto(op, group, e);
    if (isa<ReshapeOp>(op) || onlyKernels)
      return;
    addGroup(op);
    return;
  }
  std::string reason = onlyKernels ? "" : "its result is needed in memory";
  if (!enabled)
    reason = "fusion is off";
  if (reason.empty())
    for (auto &[group, e] : uses)
      if (auto why = whyNotInline(op, group, e)) {
        reason = *why;
        break;
      }
  if (reason.empty() && uses.size() > 1)
    for (auto &[group, e] : uses)
      if (!isCheapToDuplicate(op) || costOf(op) + e.duplicated > maxDuplicateCost) {
        reason = llvm::formatv("{0} kernels use it (cost {1})", uses.size(), costOf(op) + e.duplicated);
        break;
      }
  if (reason.empty()) {
    for (auto &[group, e] : uses) {
      inlineInto(op, group, e);
      remark::passed(op->getLoc(), remarkOpts("fused")) << describe(op) + " is computed inside the kernel of " + describe(groups[group].members.front());
    }
    return;
  }
  if (uses.empty() && onlyKernels)
    return; // only dead operations use it
  if (enabled && joinAsOutput(op, uses))
    return;
  remark::missed(op->getLoc(), remarkOpts("not-fused")) << describe(op) + " starts a kernel: " + reason;
  addGroup(op);
}

} // namespace weft
