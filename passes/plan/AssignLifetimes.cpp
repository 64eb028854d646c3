// Gives every arena buffer its first and last instruction (pass assign-lifetimes).
//
// Guarantees: intervals are over the instructions of the block that holds the buffer, and both ends are included, so two
// buffers of one instruction never share memory.
#include "passes/plan/Passes.h"

using namespace mlir;

namespace weft {
#define GEN_PASS_DEF_ASSIGNLIFETIMES
#include "passes/plan/Passes.h.inc"
using namespace plan;

namespace {
struct AssignLifetimes : impl::AssignLifetimesBase<AssignLifetimes> {
  using AssignLifetimesBase::AssignLifetimesBase;

  void runOnOperation() override {
    getOperation().walk([&](Block *block) { assign(*block); });
  }

  void assign(Block &block) {
    DenseMap<Operation *, int64_t> numbers;
    for (Operation &op : block)
      if (isa<InstructionOpInterface>(op))
        numbers.try_emplace(&op, numbers.size());
    for (auto alloc : block.getOps<AllocOp>()) {
      int64_t first = INT64_MAX, last = -1;
      visitUses(alloc.getY(), [&](Operation *user) {
        Operation *holder = block.findAncestorOpInBlock(*user);
        auto it = numbers.find(holder);
        if (it == numbers.end())
          return; // the function's return
        first = std::min(first, it->second);
        last = std::max(last, it->second);
      });
      Builder b(&getContext());
      alloc.setFirstAttr(b.getI64IntegerAttr(last < 0 ? 0 : first));
      alloc.setLastAttr(b.getI64IntegerAttr(std::max<int64_t>(last, 0)));
    }
  }

  /// Calls `visit` for all users of a buffer and of the views of it.
  static void visitUses(Value buffer, function_ref<void(Operation *)> visit) {
    for (Operation *user : buffer.getUsers()) {
      if (auto view = dyn_cast<ViewOp>(user))
        visitUses(view.getY(), visit);
      else
        visit(user);
    }
  }
};
} // namespace
} // namespace weft
