// Turns kernels and control flow into buffers and instructions (pass lower-to-plan).
//
// Guarantees: values keep their order; every buffer is written before it is read; an output's buffer is written once.
// Leaves to others: lifetimes (assign-lifetimes), offsets in the arena (the packer), what a kernel computes.
#include "dialects/graph/NodeName.h"
#include "passes/plan/Passes.h"

using namespace mlir;

namespace weft {
#define GEN_PASS_DEF_LOWERTOPLAN
#include "passes/plan/Passes.h.inc"
using namespace graph;

namespace {
class Lowering {
public:
  explicit Lowering(ModuleOp module) : module(module), symbols(module), b(module.getContext()) {}
  LogicalResult run(func::FuncOp main);

private:
  LogicalResult lower(Block &block);
  LogicalResult lower(Operation &op);
  LogicalResult lower(KernelOp kernel);
  LogicalResult lower(IfOp op);
  LogicalResult lower(LoopOp op);
  LogicalResult takeBranch(IfOp op, Region &from, Region &to, ArrayRef<Value> results);
  void lowerReturn(func::ReturnOp op);
  void presetOutputs(func::FuncOp main, func::ReturnOp op);
  bool setFromConstant(ReadBackOp read);
  Value bufferOf(Value result);
  Value view(Value base, RankedTensorType type, Location loc);
  void copy(Value source, Value target, Location loc);
  DimsAttr dims(ArrayRef<AffineExpr> exprs) { return DimsAttr::get(b.getContext(), exprs); }
  void setSymbol(AffineExpr symbol, AffineExpr value, Location loc) {
    plan::SetSymbolOp::create(b, loc, cast<AffineSymbolExpr>(symbol).getPosition(), dims(value));
  }

  ModuleOp module;
  Symbols symbols;
  OpBuilder b;
  /// Kernel results that must stand in a given buffer (an output, an if's result).
  DenseMap<Value, Value> preset;
};

Value Lowering::view(Value base, RankedTensorType type, Location loc) {
  if (base.getType() == type)
    return base;
  return plan::ViewOp::create(b, loc, type, base, dims(symbols.constant(0)));
}

void Lowering::copy(Value source, Value target, Location loc) {
  if (source != target)
    plan::CopyOp::create(b, loc, source, target);
}

/// The buffer that an operation's result goes to.
Value Lowering::bufferOf(Value result) {
  if (Value buffer = preset.lookup(result))
    return buffer;
  return plan::AllocOp::create(b, result.getLoc(), result.getType(), IntegerAttr(), IntegerAttr());
}

/// The value that a chain of reshapes looks at.
Value viewedValue(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

LogicalResult Lowering::run(func::FuncOp main) {
  if (!main.getBody().hasOneBlock())
    return main.emitOpError("expected a single block");
  auto returned = cast<func::ReturnOp>(main.getBody().front().getTerminator());
  presetOutputs(main, returned);
  if (failed(lower(main.getBody().front())))
    return failure();
  lowerReturn(returned);
  return success();
}

/// Makes the outputs' buffers, and lets kernel results that are returned be written there at once.
void Lowering::presetOutputs(func::FuncOp main, func::ReturnOp op) {
  Block &block = main.getBody().front();
  b.setInsertionPointToStart(&block);
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    Value output = plan::OutputOp::create(b, op.getLoc(), value.getType(), i);
    Value base = viewedValue(value);
    Operation *source = base.getDefiningOp();
    if (!source || !isa<KernelOp, IfOp>(source) || source->getBlock() != &block || preset.count(base))
      continue;
    preset[base] = view(output, cast<RankedTensorType>(base.getType()), op.getLoc());
  }
}

void Lowering::lowerReturn(func::ReturnOp op) {
  b.setInsertionPoint(op);
  SmallVector<Value> outputs;
  for (auto output : op->getBlock()->getOps<plan::OutputOp>())
    outputs.push_back(output);
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    Value base = value, output = outputs[i];
    while (auto inner = base.getDefiningOp<plan::ViewOp>())
      base = inner.getBase();
    if (base != output) // else written in place
      copy(value, output, op.getLoc());
  }
  op.getOperandsMutable().assign(outputs);
}

LogicalResult Lowering::lower(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    b.setInsertionPoint(&op);
    if (isa<plan::PlanDialect>(op.getDialect()) || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (failed(lower(op)))
      return failure();
  }
  return success();
}

LogicalResult Lowering::lower(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<KernelOp, IfOp, LoopOp>([&](auto typed) { return lower(typed); })
      .Case<ConstantOp>([&](ConstantOp constant) {
        if (!constant->use_empty())
          constant.replaceAllUsesWith(
              plan::ConstantOp::create(b, op.getLoc(), constant.getType(), constant.getValue()).getY());
        op.erase();
        return success();
      })
      .Case<ReshapeOp>([&](ReshapeOp reshape) {
        reshape.replaceAllUsesWith(view(reshape.getX(), reshape.getType(), op.getLoc()));
        op.erase();
        return success();
      })
      .Case<CheckOp>([&](CheckOp check) {
        plan::CheckOp::create(b, op.getLoc(), check.getCondition(), check.getMessageAttr(),
                              b.getStringAttr(nodeName(op.getLoc())));
        op.erase();
        return success();
      })
      .Case<ReadBackOp>([&](ReadBackOp read) {
        if (!setFromConstant(read))
          plan::ReadBackOp::create(b, op.getLoc(), read.getX(), read.getSymbolsAttr());
        op.erase();
        return success();
      })
      .Default([&](Operation *other) {
        if (isMemoryEffectFree(other) && other->use_empty()) {
          other->erase();
          return success();
        }
        return LogicalResult(other->emitOpError("has no form in a plan; run form-kernels first"));
      });
}

/// What is read back from a constant is known: the symbols are set, and nothing waits for the device. False where it is no constant
/// of integers.
bool Lowering::setFromConstant(ReadBackOp read) {
  Value source = read.getX();
  while (auto inner = source.getDefiningOp<plan::ViewOp>()) {
    auto whole = cast<RankedTensorType>(inner.getBase().getType()), part = cast<RankedTensorType>(inner.getY().getType());
    if (!whole.hasStaticShape() || !part.hasStaticShape() || whole.getNumElements() != part.getNumElements())
      return false;
    source = inner.getBase();
  }
  auto constant = source.getDefiningOp<plan::ConstantOp>();
  auto values = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
  if (!values || values.getNumElements() != int64_t(read.getSymbols().size()))
    return false;
  bool isSigned = !values.getElementType().isUnsignedInteger() && !values.getElementType().isInteger(1);
  for (auto [symbol, value] : llvm::zip_equal(read.getSymbols(), values.getValues<APInt>()))
    setSymbol(symbols.expr(symbol), symbols.constant(isSigned ? value.getSExtValue() : int64_t(value.getZExtValue())), read.getLoc());
  return true;
}

LogicalResult Lowering::lower(KernelOp kernel) {
  auto launches = kernel->getAttrOfType<ArrayAttr>("launches");
  auto scalars = kernel->getAttrOfType<DimsAttr>("scalars");
  if (!launches || !scalars)
    return kernel.emitOpError("has no launches; run emit-kernels first");
  Location loc = kernel.getLoc();
  SmallVector<Value> outputs, workspace;
  for (Value result : kernel.getOutputs())
    outputs.push_back(bufferOf(result));
  if (auto types = kernel->getAttrOfType<ArrayAttr>("workspace"))
    for (auto type : types.getAsValueRange<TypeAttr>())
      workspace.push_back(plan::AllocOp::create(b, loc, type, IntegerAttr(), IntegerAttr()));
  plan::LaunchOp::create(b, loc, FlatSymbolRefAttr::get(kernel.getNameAttr()), kernel.getInputs(), outputs, workspace, scalars);
  if (!module.lookupSymbol<plan::KernelOp>(kernel.getNameAttr())) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    plan::KernelOp::create(b, loc, kernel.getNameAttr(), kernel.getNodesAttr(), launches);
  }
  kernel.replaceAllUsesWith(outputs);
  kernel.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult Lowering::lower(IfOp op) {
  SmallVector<Value> results;
  for (Value result : op.getYs())
    results.push_back(bufferOf(result));
  auto made = plan::IfOp::create(b, op.getLoc(), op.getCondition());
  if (failed(takeBranch(op, op.getThenRegion(), made.getThenRegion(), results)) ||
      failed(takeBranch(op, op.getElseRegion(), made.getElseRegion(), results)))
    return failure();
  op.replaceAllUsesWith(results);
  op.erase();
  return success();
}

/// Moves one branch of `op` into the plan; it ends with its values in `results`.
LogicalResult Lowering::takeBranch(IfOp op, Region &from, Region &to, ArrayRef<Value> results) {
  to.takeBody(from);
  Block &block = to.front();
  auto yield = cast<YieldOp>(block.getTerminator());
  auto set = op->getAttrOfType<DenseI64ArrayAttr>("set");
  if (!set || set.empty())
    for (auto [value, result] : llvm::zip_equal(yield.getXs(), results)) {
      auto kernel = value.getDefiningOp<KernelOp>();
      if (kernel && kernel->getBlock() == &block && !preset.count(value) && value.getType() == result.getType())
        preset[value] = result;
    }
  if (failed(lower(block)))
    return failure();
  b.setInsertionPoint(yield);
  for (auto [value, result] : llvm::zip_equal(yield.getXs(), results))
    for (auto [have, want] : llvm::zip_equal(getDims(value), getDims(result)))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(want); symbol && have != want && set && llvm::is_contained(set.asArrayRef(), symbol.getPosition()))
        setSymbol(want, have, op.getLoc());
  for (auto [value, result] : llvm::zip_equal(yield.getXs(), results))
    copy(value, result, op.getLoc());
  yield.erase();
  return success();
}

/// Carried values live in buffers of their own, which the body reads and, at its end, overwrites. Scan outputs are written row by
/// row into a buffer of trip_count rows.
LogicalResult Lowering::lower(LoopOp op) {
  Location loc = op.getLoc();
  unsigned carried = op.getInits().size(), scans = op.getYs().size() - carried;
  ArrayRef<AffineExpr> trip = op.getTripCount().getExprs(), bodyCondition = op.getBodyCondition().getExprs();
  if (scans && trip.empty())
    return op.emitOpError("stacks ") << scans << " scan outputs over a number of iterations that is not known before; give it a trip count";
  AffineExpr iteration = symbols.expr(op.getIteration()), trips = symbols.expr(op.getTrips());
  AffineExpr zero = symbols.constant(0), one = symbols.constant(1);

  // Before: the state, room for the scan outputs, trips = 0, the condition.
  SmallVector<Value> state, stacked;
  for (auto [init, argument] : llvm::zip_equal(op.getInits(), op.getBody().getArguments())) {
    if (init.getType() != argument.getType())
      return op.emitOpError("carries a value from ") << init.getType() << " to " << argument.getType()
             << "; dimensions that change between iterations are not supported";
    state.push_back(plan::AllocOp::create(b, loc, argument.getType(), IntegerAttr(), IntegerAttr()));
    copy(init, state.back(), loc);
  }
  for (Value result : op.getYs().drop_front(carried)) {
    auto type = cast<RankedTensorType>(result.getType());
    Dims capacity = getDims(type);
    capacity[0] = symbols.max(trip[0], zero);
    stacked.push_back(plan::AllocOp::create(b, loc, getTensorType(capacity, type.getElementType()), IntegerAttr(), IntegerAttr()));
  }
  setSymbol(trips, zero, loc);
  IntegerAttr conditionSymbol;
  AffineExpr go;
  if (!op.getCondition().getExprs().empty() || !bodyCondition.empty()) {
    go = symbols.defined("");
    conditionSymbol = b.getI64IntegerAttr(cast<AffineSymbolExpr>(go).getPosition());
    setSymbol(go, op.getCondition().getExprs().empty() ? one : op.getCondition()[0], loc);
  }
  auto made = plan::LoopOp::create(b, loc, op.getTripCount(), conditionSymbol, b.getI64IntegerAttr(op.getIteration()));

  // The body.
  made.getBody().takeBody(op.getBody());
  Block &block = made.getBody().front();
  for (auto [argument, buffer] : llvm::zip_equal(block.getArguments(), state))
    argument.replaceAllUsesWith(buffer);
  block.eraseArguments(0, carried);
  if (failed(lower(block)))
    return failure();
  auto yield = cast<YieldOp>(block.getTerminator());
  b.setInsertionPoint(yield);
  for (auto [value, stack] : llvm::zip_equal(yield.getXs().drop_front(carried), stacked)) {
    auto type = cast<RankedTensorType>(value.getType());
    AffineExpr bytes = product(getDims(type), b.getContext()) * int64_t(std::max(type.getElementTypeBitWidth() / 8, 1u));
    copy(value, plan::ViewOp::create(b, loc, type, stack, dims(symbols.mul(iteration, bytes))), loc);
  }
  // A yielded state buffer may be overwritten before it is read: those go through a copy of their own.
  SmallVector<Value> yielded(yield.getXs().take_front(carried));
  for (auto [i, value] : llvm::enumerate(yielded)) {
    Value base = value;
    while (auto inner = base.getDefiningOp<plan::ViewOp>())
      base = inner.getBase();
    auto it = llvm::find(state, base);
    if (it == state.end() || (*it == state[i] && value == state[i]))
      continue;
    Value temporary = plan::AllocOp::create(b, loc, value.getType(), IntegerAttr(), IntegerAttr());
    copy(value, temporary, loc);
    value = temporary;
    yielded[i] = temporary;
  }
  for (auto [value, buffer] : llvm::zip_equal(yielded, state))
    copy(value, buffer, loc);
  setSymbol(trips, iteration + 1, loc);
  if (go)
    setSymbol(go, bodyCondition.empty() ? one : bodyCondition[0], loc);
  yield.erase();

  // After: the final state is the result; scan outputs show the rows that were written.
  b.setInsertionPointAfter(made);
  for (auto [result, buffer] : llvm::zip_equal(op.getYs().take_front(carried), state))
    result.replaceAllUsesWith(buffer);
  for (auto [result, buffer] : llvm::zip_equal(op.getYs().drop_front(carried), stacked))
    result.replaceAllUsesWith(view(buffer, cast<RankedTensorType>(result.getType()), loc));
  op.erase();
  return success();
}

struct LowerToPlan : impl::LowerToPlanBase<LowerToPlan> {
  using LowerToPlanBase::LowerToPlanBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main) {
      module.emitError("expected a function named main");
      return signalPassFailure();
    }
    if (failed(Lowering(module).run(main)))
      return signalPassFailure();
  }
};
} // namespace
} // namespace weft
