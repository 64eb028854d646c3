// Runs a plan's instructions: see Executor.h. Where tensors lie stands in Placement.cpp.
#include "runtime/Executor.h"
#include "runtime/Array.h"

namespace weft {

static bool isStraightLine(const plan::Plan &plan) {
  for (const plan::Instruction *instruction : *plan.blocks()->Get(0)->instructions())
    switch (instruction->op_type()) {
    case plan::Op::Launch: case plan::Op::Copy: case plan::Op::Fill: case plan::Op::Check: case plan::Op::SetSymbol: break;
    case plan::Op::ReadBack: case plan::Op::If: case plan::Op::Loop: case plan::Op::NONE: return false;
    }
  return true;
}

Executor::Executor(Model &model, Exprs &exprs, Pool &pool)
    : model(model), plan(model.plan()), device(model.device()), exprs(exprs), pool(pool), straight(isStraightLine(plan) && !device.checks()),
      inputs(plan.inputs()->size()), outputs(plan.outputs()->size()), places(plan.tensors()->size()), inArena(plan.tensors()->size(), -1),
      arenaCapacity(plan.tensors()->size(), 0), blockTensors(plan.blocks()->size()), blockMemory(plan.blocks()->size()) {
  for (uint32_t t = 0; t < plan.tensors()->size(); ++t)
    if (plan.tensors()->Get(t)->storage() == plan::Storage::arena)
      blockTensors[plan.tensors()->Get(t)->block()].push_back(t);
}

Executor::~Executor() { begin(); }

void Executor::begin() {
  for (uint32_t b = 0; b < blockMemory.size(); ++b)
    release(b);
  for (CUdeviceptr address : outputMemory)
    pool.give(address);
  outputMemory.clear();
  for (uint32_t s = 0; s < plan.symbols()->size(); ++s)
    if (plan.symbols()->Get(s)->kind() == plan::SymbolKind::defined)
      exprs.clearSymbol(s);
}

Status Executor::run(CUstream onStream, const Sink &to) {
  stream = onStream;
  sink = &to;
  Status status = block(0);
  if (status.ok())
    status = copyOutputs();
  sink = nullptr;
  return status;
}

Status Executor::block(uint32_t number) {
  for (const plan::Instruction *op : *plan.blocks()->Get(number)->instructions())
    WEFT_TRY(instruction(*op));
  return Status::success();
}

Status Executor::instruction(const plan::Instruction &instruction) {
  switch (instruction.op_type()) {
  case plan::Op::Launch: return launch(*instruction.op_as_Launch());
  case plan::Op::Copy: return copy(instruction.op_as_Copy()->source(), instruction.op_as_Copy()->target());
  case plan::Op::Fill: {
    auto *op = instruction.op_as_Fill();
    Command command;
    command.kind = Command::fill;
    command.byte = op->byte();
    WEFT_TRY(prepare(op->target()));
    WEFT_TRY(address(op->target(), command.target));
    WEFT_TRY(bytesOf(op->target(), command.bytes));
    return command.bytes ? (*sink)(std::move(command)) : Status::success();
  }
  case plan::Op::ReadBack: return readBack(*instruction.op_as_ReadBack());
  case plan::Op::SetSymbol: {
    auto *op = instruction.op_as_SetSymbol();
    ExprValue value;
    bool isReal = plan.symbols()->Get(op->symbol())->is_float();
    WEFT_TRY(isReal ? exprs.getFloat(op->expr(), value.f) : exprs.get(op->expr(), value.i));
    exprs.setSymbol(op->symbol(), value);
    return Status::success();
  }
  case plan::Op::Check: {
    auto *op = instruction.op_as_Check();
    int64_t holds;
    WEFT_TRY(exprs.get(op->expr(), holds));
    std::string node = op->node() && op->node()->size() ? "node " + op->node()->str() + ": " : "";
    return holds ? Status::success() : Status::invalid(node + (op->message() ? op->message()->str() : "a check failed"));
  }
  case plan::Op::If: {
    auto *op = instruction.op_as_If();
    int64_t condition;
    WEFT_TRY(exprs.get(op->condition(), condition));
    uint32_t taken = condition ? op->then_block() : op->else_block();
    WEFT_TRY(block(taken));
    release(taken);
    return Status::success();
  }
  case plan::Op::Loop: return loop(*instruction.op_as_Loop());
  case plan::Op::NONE: break;
  }
  return Status::invalid("an unknown instruction");
}

Status Executor::loop(const plan::Loop &op) {
  int64_t trips = -1;
  if (op.trip_count() >= 0)
    WEFT_TRY(exprs.get(uint32_t(op.trip_count()), trips));
  for (int64_t i = 0; op.trip_count() < 0 || i < trips; ++i) {
    if (op.condition() >= 0) {
      if (!exprs.isSet(uint32_t(op.condition())))
        return Status::invalid("a loop's condition has no value");
      if (!exprs.symbol(uint32_t(op.condition())).i)
        break;
    } else if (op.trip_count() < 0) {
      return Status::invalid("a loop has neither a trip count nor a condition: it would never end");
    }
    exprs.setSymbol(op.iteration(), {i, 0});
    WEFT_TRY(block(op.body()));
    release(op.body());
  }
  return Status::success();
}

Status Executor::copy(uint32_t source, uint32_t target) {
  Command command;
  command.kind = Command::copy;
  uint64_t available;
  WEFT_TRY(bytesOf(target, command.bytes));
  WEFT_TRY(bytesOf(source, available));
  if (available != command.bytes)
    return Status::invalid("the plan copies " + std::to_string(available) + " bytes into a tensor of " + std::to_string(command.bytes));
  WEFT_TRY(address(source, command.source));
  WEFT_TRY(prepare(target));
  WEFT_TRY(address(target, command.target));
  return command.bytes == 0 || command.source == command.target ? Status::success() : (*sink)(std::move(command));
}

/// Outputs that are no buffers of their own (an input, a constant) go where the caller wants them.
Status Executor::copyOutputs() {
  for (uint32_t n = 0; n < outputs.size(); ++n) {
    uint32_t tensor = plan.outputs()->Get(n)->tensor();
    const plan::Tensor &t = *plan.tensors()->Get(tensor);
    if (!outputs[n].address || (t.storage() == plan::Storage::output && t.index() == n))
      continue;
    Command command;
    command.kind = Command::copy;
    command.target = outputs[n].address;
    WEFT_TRY(bytesOf(tensor, command.bytes));
    WEFT_TRY(address(tensor, command.source));
    if (command.bytes > outputs[n].bytes)
      return Status::invalid("output '" + plan.outputs()->Get(n)->name()->str() + "' has " + std::to_string(command.bytes) +
                             " bytes, more than the memory given for it");
    if (command.bytes && command.source != command.target)
      WEFT_TRY((*sink)(std::move(command)));
  }
  return Status::success();
}

Status Executor::readBack(const plan::ReadBack &op) {
  uint64_t bytes;
  CUdeviceptr source;
  WEFT_TRY(bytesOf(op.source(), bytes));
  WEFT_TRY(address(op.source(), source));
  plan::ElementType type = plan.tensors()->Get(op.source())->type();
  uint64_t expected = byteSize(type, op.symbols()->size());
  if (bytes != expected || bytes == 0)
    return Status::invalid("a value read back has " + std::to_string(bytes) + " bytes, expected " + std::to_string(expected));
  std::vector<uint8_t> data(bytes);
  WEFT_CUDA(device.driver(), cuMemcpyDtoHAsync, data.data(), source, bytes, stream);
  WEFT_TRY(device.explain(device.driver().check(device.driver().cuStreamSynchronize(stream), "cuStreamSynchronize")));
  for (uint32_t i = 0; i < op.symbols()->size(); ++i) {
    ExprValue value;
    if (!readScalar(type, data.data(), i, value.i, value.f))
      return Status::invalid(std::string("a value of type ") + ortTypeName(type) + " cannot be read back");
    exprs.setSymbol(op.symbols()->Get(i), value);
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

Status Executor::launch(const plan::Launch &op) {
  std::vector<CUdeviceptr> pointers(op.args() ? op.args()->size() : 0, 0);
  // Sources first: a target that grows must not be confused with what is read.
  for (bool written : {false, true})
    for (uint32_t i = 0; i < pointers.size(); ++i)
      if (const plan::Arg &arg = *op.args()->Get(i); arg.kind() == plan::ArgKind::tensor && arg.written() == written) {
        if (written)
          WEFT_TRY(prepare(arg.tensor()));
        WEFT_TRY(address(arg.tensor(), pointers[i]));
      }
  const plan::Kernel &kernel = *plan.kernels()->Get(op.kernel());
  for (uint32_t number = 0; number < kernel.variants()->size(); ++number) {
    bool used = false;
    WEFT_TRY(tryVariant(op, number, pointers, used));
    if (used)
      return Status::success();
  }
  return Status::machine("kernel " + (kernel.name() ? kernel.name()->str() : "") + " has no variant for these shapes");
}

Status Executor::scalarArg(const plan::Arg &arg, bool index32, uint64_t &bits, bool &fits) {
  bits = 0;
  fits = true;
  switch (arg.type()) {
  case plan::ScalarType::f32: case plan::ScalarType::f64: {
    double real;
    WEFT_TRY(exprs.getFloat(arg.expr(), real));
    float single = float(real);
    if (arg.type() == plan::ScalarType::f64)
      __builtin_memcpy(&bits, &real, 8);
    else
      __builtin_memcpy(&bits, &single, 4);
    return Status::success();
  }
  case plan::ScalarType::i32: case plan::ScalarType::i64: {
    int64_t value;
    WEFT_TRY(exprs.get(arg.expr(), value));
    fits = !index32 || value == int64_t(int32_t(value));
    bits = uint64_t(value);
    return Status::success();
  }
  }
  return Status::invalid("a kernel argument has an unknown type");
}

Status Executor::tryVariant(const plan::Launch &op, uint32_t number, const std::vector<CUdeviceptr> &pointers, bool &used) {
  const plan::Kernel &kernel = *plan.kernels()->Get(op.kernel());
  const plan::Variant &variant = *kernel.variants()->Get(number);
  int64_t guard = 1;
  if (variant.guard() >= 0 && (!exprs.get(uint32_t(variant.guard()), guard).ok() || !guard))
    return Status::success();
  for (uint32_t i = 0; variant.aligned() && i < variant.aligned()->size(); ++i)
    if (pointers[variant.aligned()->Get(i)] % 16)
      return Status::success();

  Command command;
  command.params.assign(pointers.begin(), pointers.end());
  for (uint32_t i = 0; i < command.params.size(); ++i) {
    bool fits = true;
    if (const plan::Arg &arg = *op.args()->Get(i); arg.kind() == plan::ArgKind::scalar)
      WEFT_TRY(scalarArg(arg, variant.index32(), command.params[i], fits));
    if (!fits)
      return Status::success();
  }
  int64_t grid[3], shared;
  WEFT_TRY(exprs.get(variant.grid_x(), grid[0]));
  WEFT_TRY(exprs.get(variant.grid_y(), grid[1]));
  WEFT_TRY(exprs.get(variant.grid_z(), grid[2]));
  WEFT_TRY(exprs.get(variant.dynamic_shared(), shared));
  used = true;
  if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0)
    return Status::success();
  command.name = "kernel " + variant.entry()->str() + (kernel.node() && kernel.node()->size() ? " (node " + kernel.node()->str() + ")" : "");
  if (grid[0] > 2147483647 || grid[1] > 65535 || grid[2] > 65535)
    return Status::machine(command.name + " would need a grid of " + std::to_string(grid[0]) + " x " + std::to_string(grid[1]) + " x " +
                           std::to_string(grid[2]) + " blocks; 2147483647 x 65535 x 65535 is the most");
  if (shared < 0 || shared > (1 << 20))
    return Status::machine(command.name + " would need " + std::to_string(shared) + " bytes of shared memory");
  command.function = model.function(op.kernel(), number);
  command.shared = unsigned(shared);
  command.grid = {unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2])};
  command.block = {variant.block_x(), variant.block_y(), variant.block_z()};
  if (shared > 48 << 10) // more than any kernel may have without asking
    WEFT_CUDA(device.driver(), cuFuncSetAttribute, command.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(shared));
  return (*sink)(std::move(command));
}

} // namespace weft
