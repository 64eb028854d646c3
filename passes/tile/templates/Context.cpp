// Runs a template once per variant and records the launches: see Templates.h.
#include "passes/tile/templates/Templates.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {

/// Indices of 32 bits must hold every element's number and what a grid reaches beyond the end.
static constexpr int64_t indexLimit = (int64_t(1) << 31) - (1 << 20);

/// True where the tensor starts at a multiple of 16 bytes in every run: in the arena or among the constants.
static bool isAlignedSource(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value.getDefiningOp<KernelOp>() || value.getDefiningOp<ConstantOp>();
}

/// True where the result may have to stand in memory that the caller gives.
static bool mayLeave(Value result) {
  return llvm::any_of(result.getUses(), [](OpOperand &use) {
    if (isa<ReshapeOp>(use.getOwner()))
      return mayLeave(use.getOwner()->getResult(0));
    return use.getOwner()->hasTrait<OpTrait::IsTerminator>();
  });
}

bool KernelContext::maybeUnaligned() const {
  KernelOp op = kernel; // operations are handles: their methods are not const
  return !llvm::all_of(op.getInputs(), isAlignedSource) || llvm::any_of(op.getOutputs(), mayLeave);
}

/// Conditions over symbols under which all element numbers fit in 32 bits; nothing where that is known.
Dims KernelContext::indexGuards() const {
  Dims guards;
  KernelOp op = kernel; // operations are handles: their methods are not const
  auto add = [&](Value value) {
    AffineExpr count = symbols.constant(1);
    for (AffineExpr dim : getDims(value))
      count = symbols.mul(count, dim);
    AffineExpr guard = symbols.function(SymbolFn::lt, {count, symbols.constant(indexLimit)});
    if (!isConstant(guard, 1) && !llvm::is_contained(guards, guard))
      guards.push_back(guard);
  };
  for (Value argument : op.getBody().getArguments())
    add(argument);
  for (Operation &inner : op.getBody().front())
    for (Value result : inner.getResults())
      add(result);
  return guards;
}

static std::string entryName(KernelOp kernel, Variant variant) {
  return (kernel.getName() + (variant.wide ? "_wide" : variant.indexBits == 32 ? "_scalar" : "_i64")).str();
}

static tile::KernelOp createKernel(OpBuilder &b, KernelOp kernel, Variant variant) {
  size_t pointers = kernel.getInputs().size() + kernel.getOutputs().size();
  SmallVector<Type> types(pointers, LLVM::LLVMPointerType::get(b.getContext(), 1));
  auto function = tile::KernelOp::create(b, kernel.getLoc(), b.getStringAttr(entryName(kernel, variant)),
                                         TypeAttr::get(b.getFunctionType(types, {})), b.getDenseI64ArrayAttr({256, 1, 1}),
                                         b.getI64IntegerAttr(variant.indexBits), kernel.getNodesAttr(), IntegerAttr(), ArrayAttr(), ArrayAttr());
  Block &entry = function.getBody().emplaceBlock();
  for (Type type : types)
    entry.addArgument(type, kernel.getLoc());
  return function;
}

/// The conjunction of the conditions, or nothing.
static AffineExpr conjunction(Symbols &symbols, ArrayRef<AffineExpr> conditions) {
  AffineExpr result;
  for (AffineExpr condition : conditions)
    if (!isConstant(condition, 1))
      result = result ? symbols.function(SymbolFn::logical_and, {result, condition}) : condition;
  return result;
}

FailureOr<DictionaryAttr> KernelContext::emitVariant(Variant variant, llvm::function_ref<LogicalResult(KernelEmitter &)> body) {
  tile::KernelOp function = createKernel(b, kernel, variant);
  Block &entry = function.getBody().front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&entry);
  KernelEmitter emitter(b, kernel, function, variant, symbols, scalars, workspaceTypes);
  if (failed(body(emitter)))
    return function.erase(), failure();
  LaunchConfig &launch = emitter.launch;
  if (launch.skip)
    return function.erase(), DictionaryAttr();
  b.setInsertionPointToEnd(&entry);
  tile::ReturnOp::create(b, function.getLoc());
  function.setBlock(launch.block);
  made.push_back(function);

  Dims guards(launch.guards);
  if (variant.indexBits == 32) {
    llvm::append_range(guards, indexGuards());
    for (AffineExpr expr : emitter.wideScalars) {
      guards.push_back(symbols.function(SymbolFn::lt, {expr, symbols.constant(indexLimit)}));
      guards.push_back(symbols.function(SymbolFn::lt, {symbols.constant(-indexLimit), expr}));
    }
  }
  auto dims = [&](ArrayRef<AffineExpr> exprs) { return DimsAttr::get(b.getContext(), exprs); };
  SmallVector<NamedAttribute> attributes{
      b.getNamedAttr("entry", b.getStringAttr(function.getSymName())), b.getNamedAttr("index32", b.getBoolAttr(variant.indexBits == 32)),
      b.getNamedAttr("vector", b.getI64IntegerAttr(launch.vector)), b.getNamedAttr("block", b.getDenseI64ArrayAttr(launch.block))};
  while (launch.grid.size() < 3)
    launch.grid.push_back(symbols.constant(1));
  attributes.push_back(b.getNamedAttr("grid", dims(launch.grid)));
  attributes.push_back(b.getNamedAttr("shared", dims(launch.shared ? launch.shared : symbols.constant(0))));
  SmallVector<int64_t> aligned;
  for (unsigned i = 0, n = function.getFunctionType().getNumInputs(); variant.wide && maybeUnaligned() && i < n; ++i)
    aligned.push_back(i);
  attributes.push_back(b.getNamedAttr("aligned", b.getDenseI64ArrayAttr(aligned)));
  if (AffineExpr condition = conjunction(symbols, guards))
    attributes.push_back(b.getNamedAttr("guard", dims(condition)));
  return b.getDictionaryAttr(attributes);
}

LogicalResult KernelContext::emit(llvm::function_ref<LogicalResult(KernelEmitter &)> body) {
  SmallVector<Attribute> launches;
  for (Variant variant : {Variant{32, true}, Variant{32, false}, Variant{64, false}}) {
    auto launch = emitVariant(variant, body);
    if (failed(launch))
      return failure();
    if (!*launch)
      continue;
    launches.push_back(*launch);
    if (!launch->contains("guard") && cast<DenseI64ArrayAttr>(launch->get("aligned")).empty())
      break; // always usable
  }
  // Every variant takes the scalars of all.
  size_t pointers = kernel->getNumOperands() + kernel->getNumResults() + workspaceTypes.size();
  for (tile::KernelOp function : made) {
    Block &entry = function.getBody().front();
    for (size_t i = entry.getNumArguments(); i < pointers + scalars.size(); ++i)
      entry.addArgument(symbols.isFloat(scalars[i - pointers]) ? Type(b.getF64Type()) : b.getIntegerType(function.getIndexBits()), function.getLoc());
    function.setFunctionType(b.getFunctionType(entry.getArgumentTypes(), {}));
  }
  kernel->setAttr("launches", b.getArrayAttr(launches));
  kernel->setAttr("scalars", DimsAttr::get(b.getContext(), scalars.getArrayRef()));
  SmallVector<Attribute> types;
  for (Type type : workspaceTypes)
    types.push_back(TypeAttr::get(type));
  if (!types.empty())
    kernel->setAttr("workspace", b.getArrayAttr(types));
  return success();
}

} // namespace weft
