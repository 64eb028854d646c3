// The plan dialect as FlatBuffers: see SerializePlan.h.
#include "codegen/artifact/SerializePlan.h"
#include "codegen/artifact/Expressions.h"
#include "dialects/graph/ConstantData.h"
#include "dialects/graph/NodeName.h"
#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {
namespace {
class Serializer {
public:
  Serializer(ModuleOp module, func::FuncOp main, Constants &constants)
      : module(module), main(main), constants(constants), expressions(module) {}
  LogicalResult run();
  std::string finish(ArrayRef<std::string> targets, ArrayRef<Image> images, ArrayRef<Remark> remarks);

private:
  LogicalResult addBuffer(Operation &op, unsigned block);
  uint32_t addTensor(Value value, plan::Storage storage, uint32_t index, StringRef name = "");
  void addInputs();
  void addOutputs();
  void addKernel(plan::KernelOp kernel);
  std::unique_ptr<plan::VariantT> makeVariant(DictionaryAttr launch);
  LogicalResult addBlock(Block &block, unsigned number);
  LogicalResult addInstruction(Operation &op, plan::BlockT &block);
  LogicalResult nested(Region &region, uint32_t &number);
  std::unique_ptr<plan::InputOutputT> describe(RankedTensorType type, DictionaryAttr attributes, StringRef fallback);
  std::vector<uint32_t> nodesOf(ArrayRef<AffineExpr> exprs) {
    std::vector<uint32_t> result;
    for (AffineExpr expr : exprs)
      result.push_back(expressions.node(expr));
    return result;
  }

  ModuleOp module;
  func::FuncOp main;
  Constants &constants;
  Expressions expressions;
  plan::PlanT made;
  DenseMap<Value, uint32_t> tensors;
  DenseMap<StringAttr, uint32_t> kernels;
};

plan::ElementType elementTypeOf(Type type) {
  using E = plan::ElementType;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1: return E::bool_;
    case 2: return isUnsigned ? E::uint2 : E::int2;
    case 4: return isUnsigned ? E::uint4 : E::int4;
    case 8: return isUnsigned ? E::uint8 : E::int8;
    case 16: return isUnsigned ? E::uint16 : E::int16;
    case 32: return isUnsigned ? E::uint32 : E::int32;
    case 64: return isUnsigned ? E::uint64 : E::int64;
    }
    return E::undefined;
  }
  return TypeSwitch<Type, E>(type)
      .Case<Float32Type>([](auto) { return E::float32; })
      .Case<Float64Type>([](auto) { return E::float64; })
      .Case<Float16Type>([](auto) { return E::float16; })
      .Case<BFloat16Type>([](auto) { return E::bfloat16; })
      .Case<Float8E4M3FNType>([](auto) { return E::float8e4m3fn; })
      .Case<Float8E4M3FNUZType>([](auto) { return E::float8e4m3fnuz; })
      .Case<Float8E5M2Type>([](auto) { return E::float8e5m2; })
      .Case<Float8E5M2FNUZType>([](auto) { return E::float8e5m2fnuz; })
      .Case<Float8E8M0FNUType>([](auto) { return E::float8e8m0; })
      .Case<Float4E2M1FNType>([](auto) { return E::float4e2m1; })
      .Default(E::undefined);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

uint32_t Serializer::addTensor(Value value, plan::Storage storage, uint32_t index, StringRef name) {
  auto type = cast<RankedTensorType>(value.getType());
  auto tensor = std::make_unique<plan::TensorT>();
  Dims dims = getDims(type);
  unsigned bits = storedBits(type.getElementType());
  AffineExpr count = product(dims, module.getContext());
  tensor->name = name.empty() ? nodeName(value.getLoc()) : name.str();
  tensor->type = elementTypeOf(type.getElementType());
  tensor->dims = nodesOf(dims);
  tensor->bytes = expressions.node(bits >= 8 ? count * int64_t(bits / 8) : (count * int64_t(bits)).ceilDiv(8));
  tensor->storage = storage;
  tensor->index = index;
  tensor->offset = expressions.constant(0);
  made.tensors.push_back(std::move(tensor));
  return tensors[value] = made.tensors.size() - 1;
}

LogicalResult Serializer::addBuffer(Operation &op, unsigned block) {
  if (auto constant = dyn_cast<plan::ConstantOp>(op)) {
    int64_t number = constants.add(constant.getValue(), nodeName(op.getLoc()));
    if (number < 0)
      return constant.emitOpError("has elements that cannot be read");
    addTensor(constant.getY(), plan::Storage::constant, number);
  } else if (auto output = dyn_cast<plan::OutputOp>(op)) {
    addTensor(output.getY(), plan::Storage::output, output.getIndex(), made.outputs[output.getIndex()]->name);
    made.outputs[output.getIndex()]->tensor = tensors[output.getY()];
  } else if (auto alloc = dyn_cast<plan::AllocOp>(op)) {
    if (!alloc.getFirst())
      return alloc.emitOpError("has no lifetime; run assign-lifetimes first");
    plan::TensorT &tensor = *made.tensors[addTensor(alloc.getY(), plan::Storage::arena, 0)];
    tensor.first_use = *alloc.getFirst();
    tensor.last_use = *alloc.getLast();
    tensor.block = block;
  } else if (auto view = dyn_cast<plan::ViewOp>(op)) {
    // Views of views are views of the buffer at the bottom.
    Value base = view.getBase();
    AffineExpr offset = view.getOffset()[0];
    while (auto inner = base.getDefiningOp<plan::ViewOp>()) {
      offset = offset + inner.getOffset()[0];
      base = inner.getBase();
    }
    plan::TensorT &tensor = *made.tensors[addTensor(view.getY(), plan::Storage::view, tensors.lookup(base))];
    tensor.offset = expressions.node(offset);
  }
  return success();
}

std::unique_ptr<plan::InputOutputT> Serializer::describe(RankedTensorType type, DictionaryAttr attributes, StringRef fallback) {
  auto result = std::make_unique<plan::InputOutputT>();
  auto name = attributes ? attributes.getAs<StringAttr>("weft.name") : StringAttr();
  result->name = name ? name.str() : fallback.str();
  result->type = elementTypeOf(type.getElementType());
  Dims dims = getDims(type);
  result->dims = nodesOf(dims);
  auto names = attributes ? attributes.getAs<ArrayAttr>("weft.dim_names") : ArrayAttr();
  for (unsigned i = 0; i < dims.size(); ++i) {
    auto text = names && i < names.size() ? dyn_cast<StringAttr>(names[i]) : StringAttr();
    result->dim_names.push_back(text ? text.str() : "");
  }
  result->alias_input = -1;
  return result;
}

void Serializer::addInputs() {
  for (BlockArgument argument : main.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto input = describe(cast<RankedTensorType>(argument.getType()), main.getArgAttrDict(i), "input_" + std::to_string(i));
    input->tensor = addTensor(argument, plan::Storage::input, i, input->name);
    if (auto value = main.getArgAttrOfType<ElementsAttr>(i, "weft.default")) {
      input->default_constant = int32_t(constants.add(value, input->name));
      input->default_dims.assign(value.getShapedType().getShape().begin(), value.getShapedType().getShape().end());
    }
    made.inputs.push_back(std::move(input));
  }
}

void Serializer::addOutputs() {
  for (auto [i, type] : llvm::enumerate(main.getResultTypes()))
    made.outputs.push_back(describe(cast<RankedTensorType>(type), main.getResultAttrDict(i), "output_" + std::to_string(i)));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

std::unique_ptr<plan::VariantT> Serializer::makeVariant(DictionaryAttr launch) {
  auto variant = std::make_unique<plan::VariantT>();
  auto exprs = [&](StringRef name) { return launch.getAs<DimsAttr>(name); };
  if (auto entry = launch.getAs<StringAttr>("entry"))
    variant->entry = entry.str();
  variant->guard = -1;
  if (DimsAttr guard = exprs("guard"); guard && guard.size())
    variant->guard = expressions.node(guard[0]);
  if (auto aligned = launch.getAs<DenseI64ArrayAttr>("aligned"))
    variant->aligned.assign(aligned.asArrayRef().begin(), aligned.asArrayRef().end());
  if (auto index32 = launch.getAs<BoolAttr>("index32"))
    variant->index32 = index32.getValue();
  if (auto vector = launch.getAs<IntegerAttr>("vector"))
    variant->vector_elements = vector.getInt();
  uint32_t one = expressions.constant(1);
  uint32_t grid[3] = {one, one, one};
  if (DimsAttr dims = exprs("grid"))
    for (unsigned i = 0; i < std::min<size_t>(dims.size(), 3); ++i)
      grid[i] = expressions.node(dims[i]);
  uint32_t block[3] = {1, 1, 1};
  if (auto sizes = launch.getAs<DenseI64ArrayAttr>("block"))
    for (unsigned i = 0; i < std::min<size_t>(sizes.size(), 3); ++i)
      block[i] = sizes[i];
  std::tie(variant->grid_x, variant->grid_y, variant->grid_z) = std::tie(grid[0], grid[1], grid[2]);
  std::tie(variant->block_x, variant->block_y, variant->block_z) = std::tie(block[0], block[1], block[2]);
  DimsAttr shared = exprs("shared");
  variant->dynamic_shared = shared && shared.size() ? expressions.node(shared[0]) : expressions.constant(0);
  return variant;
}

void Serializer::addKernel(plan::KernelOp op) {
  auto kernel = std::make_unique<plan::KernelT>();
  kernel->name = op.getSymName().str();
  kernel->node = op.getNodes().str();
  for (auto launch : op.getLaunches().getAsRange<DictionaryAttr>())
    kernel->variants.push_back(makeVariant(launch));
  kernels[op.getSymNameAttr()] = made.kernels.size();
  made.kernels.push_back(std::move(kernel));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

LogicalResult Serializer::nested(Region &region, uint32_t &number) {
  number = made.blocks.size();
  made.blocks.push_back(std::make_unique<plan::BlockT>());
  return addBlock(region.front(), number);
}

LogicalResult Serializer::addBlock(Block &block, unsigned number) {
  auto instructions = std::make_unique<plan::BlockT>();
  for (Operation &op : block) {
    if (failed(addBuffer(op, number)))
      return failure();
    if (isa<plan::InstructionOpInterface>(op) && failed(addInstruction(op, *instructions)))
      return failure();
  }
  made.blocks[number] = std::move(instructions);
  return success();
}

LogicalResult Serializer::addInstruction(Operation &op, plan::BlockT &block) {
  auto instruction = std::make_unique<plan::InstructionT>();
  auto set = [&](auto value) { instruction->op.Set(std::move(value)); };
  LogicalResult result = success();
  if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
    plan::LaunchT made;
    auto it = kernels.find(launch.getKernelAttr().getAttr());
    if (it == kernels.end())
      return launch.emitOpError("launches @") << launch.getKernel() << ", which the module does not hold";
    made.kernel = it->second;
    auto pass = [&](ValueRange values, bool written) {
      for (Value value : values) {
        auto arg = std::make_unique<plan::ArgT>();
        arg->kind = plan::ArgKind::tensor;
        arg->tensor = tensors.lookup(value);
        arg->written = written;
        made.args.push_back(std::move(arg));
      }
    };
    pass(launch.getInputs(), false);
    pass(launch.getOutputs(), true);
    pass(launch.getWorkspace(), true);
    for (AffineExpr scalar : launch.getScalars().getExprs()) {
      auto arg = std::make_unique<plan::ArgT>();
      arg->kind = plan::ArgKind::scalar;
      arg->expr = expressions.node(scalar);
      arg->type = expressions.isFloat(scalar) ? plan::ScalarType::f64 : plan::ScalarType::i64;
      made.args.push_back(std::move(arg));
    }
    set(std::move(made));
  } else if (auto copy = dyn_cast<plan::CopyOp>(op)) {
    plan::CopyT made;
    made.source = tensors.lookup(copy.getSource());
    made.target = tensors.lookup(copy.getTarget());
    set(std::move(made));
  } else if (auto fill = dyn_cast<plan::FillOp>(op)) {
    plan::FillT made;
    made.target = tensors.lookup(fill.getTarget());
    made.byte = fill.getByte();
    set(std::move(made));
  } else if (auto read = dyn_cast<plan::ReadBackOp>(op)) {
    plan::ReadBackT made;
    made.source = tensors.lookup(read.getSource());
    for (int64_t symbol : read.getSymbols())
      made.symbols.push_back(expressions.symbol(symbol));
    set(std::move(made));
  } else if (auto assign = dyn_cast<plan::SetSymbolOp>(op)) {
    plan::SetSymbolT made;
    made.symbol = expressions.symbol(assign.getSymbol());
    made.expr = expressions.node(assign.getValue()[0]);
    set(std::move(made));
  } else if (auto check = dyn_cast<plan::CheckOp>(op)) {
    plan::CheckT made;
    made.expr = expressions.node(check.getCondition()[0]);
    made.message = check.getMessage().str();
    made.node = check.getNode().str();
    set(std::move(made));
  } else if (auto branch = dyn_cast<plan::IfOp>(op)) {
    plan::IfT made;
    made.condition = expressions.node(branch.getCondition()[0]);
    if (failed(nested(branch.getThenRegion(), made.then_block)) || failed(nested(branch.getElseRegion(), made.else_block)))
      return failure();
    set(std::move(made));
  } else if (auto loop = dyn_cast<plan::LoopOp>(op)) {
    plan::LoopT made;
    made.trip_count = loop.getTripCount().size() ? int32_t(expressions.node(loop.getTripCount()[0])) : -1;
    made.condition = loop.getCondition() ? int32_t(expressions.symbol(*loop.getCondition())) : -1;
    made.iteration = expressions.symbol(loop.getIteration());
    if (failed(nested(loop.getBody(), made.body)))
      return failure();
    set(std::move(made));
  }
  block.instructions.push_back(std::move(instruction));
  return result;
}

LogicalResult Serializer::run() {
  made.blocks.push_back(std::make_unique<plan::BlockT>());
  addInputs();
  addOutputs();
  for (auto kernel : module.getOps<plan::KernelOp>())
    addKernel(kernel);
  return addBlock(main.getBody().front(), 0);
}

std::string Serializer::finish(ArrayRef<std::string> targets, ArrayRef<Image> images, ArrayRef<Remark> remarks) {
  made.producer = "weft 0.1.0";
  made.model = module.getName().value_or("").str();
  made.targets.assign(targets.begin(), targets.end());
  made.expressions.assign(expressions.getNodes().begin(), expressions.getNodes().end());
  made.symbols = expressions.getSymbols();
  for (const Constants::Entry &entry : constants.getEntries()) {
    auto constant = std::make_unique<plan::ConstantT>();
    constant->name = entry.name;
    constant->offset = entry.offset;
    constant->bytes = entry.bytes.size();
    made.constants.push_back(std::move(constant));
  }
  for (const Image &image : images) {
    auto record = std::make_unique<plan::ImageT>();
    record->target = image.target;
    record->kind = image.isCubin ? plan::ImageKind::cubin : plan::ImageKind::ptx;
    record->offset = image.offset;
    record->bytes = image.bytes.size();
    record->isa = image.isa;
    record->assembler = image.assembler;
    record->driver = image.driver;
    made.images.push_back(std::move(record));
  }
  for (const Remark &remark : remarks) {
    auto record = std::make_unique<plan::RemarkT>();
    record->kind = remark.kind;
    record->node = remark.node;
    record->message = remark.message;
    made.remarks.push_back(std::move(record));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Plan::Pack(builder, &made), plan::PlanIdentifier());
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
}
} // namespace

FailureOr<SerializedPlan> serializePlan(ModuleOp module, ArrayRef<std::string> targets, ArrayRef<Image> images,
                                        ArrayRef<Remark> remarks) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return module.emitError("expected a function named main");
  SerializedPlan result;
  Serializer serializer(module, main, result.constants);
  if (failed(serializer.run()))
    return failure();
  result.plan = serializer.finish(targets, images, remarks);
  return result;
}

} // namespace weft
