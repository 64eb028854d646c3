// The walk over a loaded model: see Import.h and Importer.h.
#include "frontends/onnx/Import.h"
#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Load.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::onnx {

Importer::Importer(const Model &model, ModuleOp module)
    : context(module.getContext()), model(model), module(module), symbols(module), state{OpBuilder(context), symbols, nullptr, nullptr, {}, {}, false} {}

InFlightDiagnostic Importer::error(const Twine &message) {
  state.failed = true;
  return emitError(FileLineColLoc::get(context, model.path, 0, 0)) << message;
}

Location Importer::locationOf(const NodeDef &def) const {
  return NameLoc::get(StringAttr::get(context, def.name), FileLineColLoc::get(context, model.path, 0, 0));
}

const Attribute *Importer::resolve(const Attribute *attribute) const {
  for (Frame *f = frame; attribute && !attribute->refName.empty(); f = f->outer) {
    if (!f)
      return nullptr;
    auto it = f->attributes.find(attribute->refName);
    attribute = it == f->attributes.end() ? nullptr : &it->second;
  }
  return attribute;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Slot Importer::constantSlot(const Tensor &tensor) {
  Slot slot;
  slot.elementType = toType(tensor.type, context);
  slot.kind = slot.elementType ? Slot::tensor : Slot::strings;
  slot.constant = &tensor;
  return slot;
}

Value Importer::materialize(Slot &slot, Location loc) {
  Region *here = state.builder.getInsertionBlock()->getParent();
  if (slot.value && slot.value.getParentRegion()->isAncestor(here))
    return slot.value;
  if (slot.constant)
    return slot.value = constantValue(*slot.constant);
  GraphBuilder builder(state, loc);
  const HostTensor &host = *slot.host;
  if (!host.allConstant())
    return slot.value = builder.host(host.exprs(symbols), host.shape, host.elementType);
  SmallVector<llvm::APInt> ints;
  SmallVector<llvm::APFloat> reals;
  for (const Scalar &value : host.values)
    if (auto real = dyn_cast<FloatType>(host.elementType)) {
      llvm::APFloat number(value.real);
      bool loses;
      number.convert(real.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
      reals.push_back(number);
    } else {
      ints.emplace_back(host.elementType.getIntOrFloatBitWidth(), value.integer, true, true);
    }
  auto type = RankedTensorType::get(host.shape, host.elementType);
  return slot.value = builder.constant(host.isReal() ? DenseElementsAttr::get(type, reals) : DenseElementsAttr::get(type, ints));
}

const HostTensor *Importer::deriveHost(Slot &slot, int level) {
  if (const HostTensor *known = peekHost(slot))
    return known;
  if (slot.kind != Slot::tensor || level > 64)
    return nullptr;
  if (slot.argument >= 0) {
    auto type = cast<RankedTensorType>(slot.value.getType());
    Type element = type.getElementType();
    bool isReal = element.isF32() || element.isF64();
    if (!type.hasStaticShape() || type.getNumElements() > 64 || !(isReal || isa<IntegerType>(element)))
      return nullptr;
    HostTensor host{element, SmallVector<int64_t>(type.getShape()), {}};
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      host.values.push_back(Scalar::of(symbols.inputElement(slot.argument, i, isReal), symbols));
    slot.host = std::make_shared<HostTensor>(std::move(host));
    return slot.host.get();
  }
  if (!slot.recipe)
    return nullptr;
  std::vector<Slot *> inputs;
  for (Slot &input : slot.recipe->inputs) {
    if (input.kind != Slot::absent && !deriveHost(input, level + 1))
      return nullptr;
    inputs.push_back(input.kind == Slot::absent ? nullptr : &input);
  }
  Node node(*this, state, *slot.recipe->def, inputs, locationOf(*slot.recipe->def));
  Frame *here = std::exchange(frame, slot.recipe->frame);
  bool ok = evaluateOnHost(node);
  frame = here;
  if (!ok)
    return nullptr;
  slot.host = node.results()[slot.recipe->output].host;
  return slot.host.get();
}

TypeInfo Importer::typeInfo(const Slot &slot) {
  TypeInfo type;
  if (slot.kind == Slot::strings) {
    type.kind = TypeInfo::tensor;
    type.element = DataType::string;
  } else if (slot.kind == Slot::tensor) {
    type.kind = TypeInfo::tensor;
    type.element = fromType(slot.elementType);
    type.hasShape = true;
    auto add = [&](int64_t size) { type.dims.push_back({size, size < 0 ? "d" + std::to_string(type.dims.size()) : ""}); };
    if (slot.value)
      llvm::for_each(cast<RankedTensorType>(slot.value.getType()).getShape(), [&](int64_t d) { add(std::max<int64_t>(d, -1)); });
    else if (slot.host)
      llvm::for_each(slot.host->shape, add);
    else if (slot.constant)
      llvm::for_each(slot.constant->dims, add);
  } else if (slot.kind == Slot::sequence && slot.elementType) {
    type.kind = TypeInfo::sequence;
    type.inner = std::make_shared<TypeInfo>();
    type.inner->kind = TypeInfo::tensor;
    type.inner->element = fromType(slot.elementType);
  }
  return type;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult Importer::importNode(const NodeDef &def) {
  std::vector<Slot *> inputs;
  std::vector<TypeInfo> types;
  for (const std::string &name : def.inputs) {
    inputs.push_back(name.empty() ? nullptr : scope->find(name));
    types.push_back(inputs.back() ? typeInfo(*inputs.back()) : TypeInfo());
    if (!name.empty() && !inputs.back())
      return failure(); // its producer failed, which has been reported
  }
  std::string key = Model::functionKey(def);
  if (auto it = model.functions.find(key); it != model.functions.end())
    return importFunction(it->second, def, inputs, key);
  Node node(*this, state, def, inputs, locationOf(def));
  if (std::string wrong = checkInputTypes(def, types); !wrong.empty())
    return node.error(wrong);
  Rule rule = allRules().find(def.qualified(), def.version);
  if (!rule) {
    std::vector<Attribute> attributes;
    for (const Attribute &attribute : def.attributes)
      if (const Attribute *value = resolve(&attribute)) {
        attributes.push_back(*value);
        attributes.back().name = attribute.name;
      }
    auto body = functionBody(def, types, attributes);
    if (!body)
      return node.error("the operator is not supported");
    bodies.push_back(std::make_unique<Function>(std::move(*body)));
    return importFunction(*bodies.back(), def, inputs, key);
  }
  bool onHost = evaluateOnHost(node);
  if (!onHost && (failed(rule(node)) || node.bad())) {
    if (!state.failed)
      (void)node.error("the operator cannot be imported in this form");
    return failure();
  }
  for (auto [i, name] : llvm::enumerate(def.outputs)) {
    Slot &result = node.results()[i];
    if (name.empty())
      continue;
    if (result.kind == Slot::absent)
      return node.error("output " + Twine(i) + " ('" + name + "') is not supported");
    if (!onHost && !result.host && result.kind == Slot::tensor && hasHostForm(def.op)) {
      auto recipe = std::make_shared<Recipe>();
      recipe->def = &def;
      recipe->output = i;
      recipe->frame = frame;
      for (Slot *input : inputs)
        recipe->inputs.push_back(input ? *input : Slot());
      result.recipe = recipe;
    }
    scope->values[name] = std::move(result);
  }
  return success();
}

LogicalResult Importer::importNodes(const std::vector<NodeDef> &nodes) {
  bool ok = true;
  for (const NodeDef &def : nodes)
    ok &= succeeded(importNode(def));
  return success(ok);
}

LogicalResult Importer::importFunction(const Function &function, const NodeDef &def, ArrayRef<Slot *> inputs, const std::string &key) {
  for (Frame *f = frame; f; f = f->outer)
    if (f->key == key && model.functions.count(key))
      return emitError(locationOf(def)) << "node '" << def.name << "': function " << function.name << " calls itself", failure();
  if (inputs.size() > function.inputs.size() || def.outputs.size() > function.outputs.size())
    return emitError(locationOf(def)) << "node '" << def.name << "': function " << function.name << " has " << function.inputs.size()
                                      << " inputs and " << function.outputs.size() << " outputs, found " << inputs.size() << " and "
                                      << def.outputs.size(), failure();
  frames.push_back(std::make_unique<Frame>());
  Frame &inner = *frames.back();
  inner.key = key;
  inner.outer = frame;
  for (const Attribute &attribute : function.defaults)
    inner.attributes[attribute.name] = attribute;
  for (const Attribute &attribute : def.attributes)
    if (const Attribute *value = resolve(&attribute))
      inner.attributes[attribute.name] = *value;
  for (auto &[name, attribute] : inner.attributes)
    attribute.refName.clear();
  Scope body;
  for (auto [i, name] : llvm::enumerate(function.inputs))
    body.values[name] = i < inputs.size() && inputs[i] ? *inputs[i] : Slot();
  Scope *outerScope = std::exchange(scope, &body);
  Frame *outerFrame = std::exchange(frame, &inner);
  LogicalResult result = importNodes(function.nodes);
  scope = outerScope;
  frame = outerFrame;
  for (auto [i, name] : llvm::enumerate(def.outputs))
    if (Slot *value = name.empty() ? nullptr : body.find(function.outputs[i]))
      scope->values[name] = *value;
    else if (!name.empty() && succeeded(result))
      result = (state.failed = true, emitError(locationOf(def)) << "node '" << def.name << "': output " << i << " is not supported");
  return result;
}

LogicalResult Importer::importBody(const Graph &graph, ArrayRef<Slot> inputs, std::vector<Slot> &outputs, Location loc) {
  Scope body;
  body.outer = scope;
  if (inputs.size() != graph.inputs.size())
    return emitError(loc) << "the subgraph '" << graph.name << "' must have " << inputs.size() << " inputs, found " << graph.inputs.size(), failure();
  for (const Tensor &tensor : graph.initializers)
    body.values[tensor.name] = constantSlot(tensor);
  for (auto [slot, input] : llvm::zip(inputs, graph.inputs))
    body.values[input.name] = slot;
  Scope *outer = std::exchange(scope, &body);
  LogicalResult result = importNodes(graph.nodes);
  for (const ValueInfo &output : graph.outputs)
    if (Slot *slot = body.find(output.name))
      outputs.push_back(*slot);
    else
      result = failure();
  scope = outer;
  return result;
}

//===----------------------------------------------------------------------===//
// The whole model
//===----------------------------------------------------------------------===//

void Importer::reportUnsupported(const std::vector<NodeDef> &nodes, llvm::StringSet<> &functions) {
  for (const NodeDef &def : nodes) {
    for (const Attribute &attribute : def.attributes)
      for (const auto &graph : attribute.graphs)
        reportUnsupported(graph->nodes, functions);
    std::string key = Model::functionKey(def);
    if (auto it = model.functions.find(key); it != model.functions.end()) {
      if (functions.insert(key).second)
        reportUnsupported(it->second.nodes, functions);
      continue;
    }
    if (allRules().find(def.qualified(), def.version) || hasFunctionBody(def))
      continue;
    state.failed = true;
    auto diagnostic = emitError(locationOf(def)) << "node '" << def.name << "': operator " << def.qualified();
    if (def.version)
      diagnostic << " (version " << def.version << ") is not supported";
    else if (isKnownOperator(def.domain, def.op))
      diagnostic << " does not exist in opset " << def.opset << ", which the model imports; a newer opset has it";
    else if (def.domain.empty() || def.domain.rfind("ai.onnx", 0) == 0)
      diagnostic << " is unknown: ONNX defines no operator of this name";
    else
      diagnostic << " of domain '" << def.domain << "' is unknown; give it as a function in the model, or export without it";
  }
}

LogicalResult Importer::makeArguments(func::FuncOp func) {
  Block *block = &func.getBody().front();
  for (auto [i, input] : llvm::enumerate(model.graph.inputs)) {
    const TypeInfo &info = input.type;
    Type element = info.kind == TypeInfo::tensor ? toType(info.element, context) : Type();
    if (!element || !info.hasShape) {
      error("graph input '" + input.name + "' must be a tensor of numbers with known rank" +
            (element ? ", but its rank is unknown" : info.kind == TypeInfo::tensor ? ", found element type " + spell(info.element) : ""));
      continue;
    }
    Dims dims;
    for (auto [k, dim] : llvm::enumerate(info.dims)) {
      dims.push_back(dim.value >= 0 ? symbols.constant(dim.value) : symbols.inputDim(i, k, dim.name));
    }
    Value argument = block->addArgument(getTensorType(dims, element), NameLoc::get(StringAttr::get(context, input.name)));
    Slot slot = Slot::of(argument);
    slot.argument = i;
    scope->values[input.name] = slot;
  }
  return success(!state.failed);
}

static DictionaryAttr interfaceAttrs(const ValueInfo &info, int64_t rank, MLIRContext *context) {
  SmallVector<mlir::Attribute> names;
  bool fits = int64_t(info.type.dims.size()) == rank;
  for (int64_t i = 0; i < rank; ++i)
    names.push_back(StringAttr::get(context, fits ? info.type.dims[i].name : ""));
  return DictionaryAttr::get(context, {NamedAttribute(StringAttr::get(context, "weft.dim_names"), ArrayAttr::get(context, names)),
                                       NamedAttribute(StringAttr::get(context, "weft.name"), StringAttr::get(context, info.name))});
}

LogicalResult Importer::makeResults(func::FuncOp func) {
  SmallVector<Value> values;
  for (const ValueInfo &output : model.graph.outputs) {
    Slot *slot = scope->find(output.name);
    if (!slot || slot->kind != Slot::tensor) {
      error("graph output '" + output.name + "' is not a tensor of numbers; only such outputs are supported");
      continue;
    }
    Value value = materialize(*slot, NameLoc::get(StringAttr::get(context, output.name)));
    Type declared = toType(output.type.element, context);
    if (output.type.kind == TypeInfo::tensor && declared && declared != slot->elementType)
      error("graph output '" + output.name + "' is declared as " + spell(output.type.element) + ", but its node gives " +
            spell(fromType(slot->elementType)));
    values.push_back(value);
  }
  if (state.failed)
    return failure();
  func::ReturnOp::create(state.builder, func.getLoc(), values);
  Block &block = func.getBody().front();
  func.setType(FunctionType::get(context, block.getArgumentTypes(), ValueRange(values).getTypes()));
  for (auto [i, input] : llvm::enumerate(model.graph.inputs))
    func.setArgAttrs(i, interfaceAttrs(input, GraphBuilder::rankOf(block.getArgument(i)), context));
  for (auto [i, input] : llvm::enumerate(model.graph.inputs))
    for (const Tensor &tensor : model.graph.initializers)
      if (tensor.name == input.name)
        func.setArgAttr(i, "weft.default", constantAttr(tensor));
  for (auto [i, output] : llvm::enumerate(model.graph.outputs))
    func.setResultAttrs(i, interfaceAttrs(output, GraphBuilder::rankOf(values[i]), context));
  return success();
}

/// Erases pure operations that nothing uses, users before producers.
static void eraseDead(func::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

LogicalResult Importer::run() {
  llvm::StringSet<> functions;
  reportUnsupported(model.graph.nodes, functions);
  if (state.failed)
    return failure();
  Location loc = FileLineColLoc::get(context, model.path, 0, 0);
  state.builder.setInsertionPointToEnd(module.getBody());
  auto func = func::FuncOp::create(state.builder, loc, "main", FunctionType::get(context, {}, {}));
  state.entry = func.addEntryBlock();
  state.builder.setInsertionPointToEnd(state.entry);
  Scope main;
  scope = &main;
  if (failed(makeArguments(func)))
    return failure();
  for (const Tensor &tensor : model.graph.initializers)
    if (!model.graph.defaults.count(tensor.name))
      main.values[tensor.name] = constantSlot(tensor);
  if (failed(importNodes(model.graph.nodes)) || state.failed || failed(makeResults(func)))
    return failure();
  for (Operation *op : discarded)
    op->erase();
  eraseDead(func);
  symbols.commit();
  return success();
}

OwningOpRef<ModuleOp> importModel(StringRef path, MLIRContext &context, const ImportOptions &options) {
  context.loadDialect<GraphDialect, func::FuncDialect>();
  Errors errors;
  std::shared_ptr<Model> model = loadModel(path.str(), errors);
  Location loc = FileLineColLoc::get(&context, path, 0, 0);
  for (const LoadError &e : errors) {
    if (e.node.empty())
      emitError(loc) << e.message;
    else
      emitError(NameLoc::get(StringAttr::get(&context, e.node), loc)) << "node '" << e.node << "': " << e.message;
  }
  if (!model || !errors.empty())
    return {};
  auto build = [&]() -> OwningOpRef<ModuleOp> {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc, llvm::sys::path::stem(path));
    Importer importer(*model, *module);
    return failed(importer.run()) || failed(verify(*module)) ? OwningOpRef<ModuleOp>() : std::move(module);
  };
  if (!model->graph.defaults.empty()) {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    if (OwningOpRef<ModuleOp> module = build())
      return module;
    // Some rule needs a default value at compile time: they become constants.
    llvm::erase_if(model->graph.inputs, [&](const ValueInfo &input) { return model->graph.defaults.count(input.name) != 0; });
    model->graph.defaults.clear();
  }
  return build();
}

void printOperators(raw_ostream &os) {
  os << "# ONNX operators with a rule of their own\n\nGenerated by `weft-import --print-operators`. Operators that ONNX "
        "defines by a function body need none.\n\n| operator | from version |\n| --- | --- |\n";
  for (const auto &[name, versions] : allRules().all()) {
    os << "| " << name << " | ";
    llvm::interleaveComma(versions, os, [&](auto &entry) { os << entry.first; });
    os << " |\n";
  }
}

} // namespace weft::onnx
