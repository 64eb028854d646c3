// Runs a plan's instructions: see Executor.h.
#include "runtime/Executor.h"
#include "runtime/Array.h"
#include "runtime/artifact/Packer.h"
#include <algorithm>

namespace weft {

DeviceBuffer::~DeviceBuffer() {
  if (base && device.enter().ok())
    (void)device.driver().cuMemFree(base);
}

Status DeviceBuffer::reserve(uint64_t bytes, bool &grown) {
  grown = false;
  if (base && bytes <= capacity)
    return Status::success();
  if (base)
    (void)device.driver().cuMemFree(base);
  base = 0;
  capacity = std::max<uint64_t>(bytes, 256);
  grown = true;
  CUresult result = device.driver().cuMemAlloc(&base, capacity);
  if (result == CUDA_SUCCESS)
    return Status::success();
  base = 0;
  return Status::machine("no room on the device for " + std::to_string(capacity) + " bytes of tensors: " + device.driver().check(result, "cuMemAlloc").message);
}

Executor::Executor(Model &model, CUstream stream, Exprs &exprs)
    : model(model), plan(model.plan()), device(model.device()), stream(stream), exprs(exprs), places(plan.tensors()->size()),
      inputs(plan.inputs()->size(), 0) {}

Executor::~Executor() {
  for (Place &place : places)
    if (place.kind == Place::owned)
      (void)device.driver().cuMemFree(place.address);
  for (CUdeviceptr address : retired)
    (void)device.driver().cuMemFree(address);
}

bool Executor::isStraight(const plan::Plan &plan) {
  for (const plan::Instruction *instruction : *plan.blocks()->Get(0)->instructions()) {
    plan::Op op = instruction->op_type();
    if (op != plan::Op::Launch && op != plan::Op::Copy && op != plan::Op::Fill && op != plan::Op::Check)
      return false;
  }
  return true;
}

Status Executor::bytesOf(uint32_t tensor, uint64_t &bytes) {
  int64_t value;
  WEFT_TRY(exprs.get(plan.tensors()->Get(tensor)->bytes(), value));
  if (value < 0)
    return Status::invalid("tensor " + std::to_string(tensor) + " has a negative dimension");
  bytes = uint64_t(value);
  return Status::success();
}

Status Executor::layout(uint64_t &arenaBytes) {
  std::vector<PackItem> items;
  std::vector<uint32_t> numbers;
  allStatic = !device.checks();
  uint32_t end = plan.blocks()->Get(0)->instructions()->size();
  for (uint32_t t = 0; t < plan.tensors()->size() && !device.checks(); ++t) {
    const plan::Tensor &tensor = *plan.tensors()->Get(t);
    bool isOutput = tensor.storage() == plan::Storage::output;
    if (!isOutput && tensor.storage() != plan::Storage::arena)
      continue;
    uint64_t bytes;
    if ((!isOutput && tensor.block() != 0) || !bytesOf(t, bytes).ok()) {
      allStatic = false;
      continue;
    }
    items.push_back({bytes, isOutput ? 0 : tensor.first_use(), isOutput ? end : tensor.last_use()});
    numbers.push_back(t);
  }
  // Outputs stand behind the arena: they are the caller's, not the arena's.
  std::vector<PackItem> arenaItems;
  for (size_t i = 0; i < items.size(); ++i)
    if (plan.tensors()->Get(numbers[i])->storage() == plan::Storage::arena)
      arenaItems.push_back(items[i]);
  Packing packing = pack(arenaItems);
  uint64_t top = packing.peak;
  size_t next = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    Place &place = places[numbers[i]];
    place.kind = Place::packed;
    if (plan.tensors()->Get(numbers[i])->storage() == plan::Storage::arena) {
      place.offset = packing.offsets[next++];
      continue;
    }
    place.offset = top;
    top += (items[i].size + 255) / 256 * 256;
  }
  arenaBytes = top;
  return Status::success();
}

Status Executor::own(uint32_t tensor, uint64_t bytes) {
  Place &place = places[tensor];
  if (place.kind == Place::owned && place.capacity >= bytes && !(device.checks() && place.capacity != std::max<uint64_t>(bytes, 1)))
    return Status::success();
  if (place.kind == Place::owned)
    retired.push_back(place.address);
  place.kind = Place::none;
  uint64_t wanted = std::max<uint64_t>(bytes, 1);
  CUresult result = device.driver().cuMemAlloc(&place.address, wanted);
  if (result != CUDA_SUCCESS)
    return Status::machine("no room on the device for a tensor of " + std::to_string(wanted) + " bytes: " + device.driver().check(result, "cuMemAlloc").message);
  place.kind = Place::owned;
  place.capacity = wanted;
  return Status::success();
}

Status Executor::prepare(uint32_t tensor) {
  while (plan.tensors()->Get(tensor)->storage() == plan::Storage::view)
    tensor = plan.tensors()->Get(tensor)->index();
  const plan::Tensor &t = *plan.tensors()->Get(tensor);
  if ((t.storage() != plan::Storage::arena && t.storage() != plan::Storage::output) || places[tensor].kind == Place::packed)
    return Status::success();
  uint64_t bytes;
  WEFT_TRY(bytesOf(tensor, bytes));
  return own(tensor, bytes);
}

Status Executor::address(uint32_t tensor, CUdeviceptr &out) {
  const plan::Tensor &t = *plan.tensors()->Get(tensor);
  switch (t.storage()) {
  case plan::Storage::input: out = inputs[t.index()]; return Status::success();
  case plan::Storage::constant: out = model.constant(t.index()); return Status::success();
  case plan::Storage::view: {
    int64_t offset;
    WEFT_TRY(address(t.index(), out));
    WEFT_TRY(exprs.get(t.offset(), offset));
    out += uint64_t(offset);
    return Status::success();
  }
  case plan::Storage::arena: case plan::Storage::output: break;
  }
  if (places[tensor].kind == Place::packed) {
    out = arena + places[tensor].offset;
    return Status::success();
  }
  WEFT_TRY(prepare(tensor));
  out = places[tensor].address;
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Status Executor::run() { return block(0); }

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
    uint64_t bytes;
    CUdeviceptr target;
    WEFT_TRY(prepare(op->target()));
    WEFT_TRY(address(op->target(), target));
    WEFT_TRY(bytesOf(op->target(), bytes));
    return bytes ? device.driver().check(device.driver().cuMemsetD8Async(target, op->byte(), bytes, stream), "cuMemsetD8Async") : Status::success();
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
    return block(condition ? op->then_block() : op->else_block());
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
    }
    exprs.setSymbol(op.iteration(), {i, 0});
    WEFT_TRY(block(op.body()));
  }
  return Status::success();
}

Status Executor::copy(uint32_t source, uint32_t target) {
  uint64_t bytes;
  CUdeviceptr from, to;
  WEFT_TRY(bytesOf(target, bytes));
  WEFT_TRY(address(source, from));
  WEFT_TRY(prepare(target));
  WEFT_TRY(address(target, to));
  if (bytes == 0 || from == to)
    return Status::success();
  return device.driver().check(device.driver().cuMemcpyDtoDAsync(to, from, bytes, stream), "cuMemcpyDtoDAsync");
}

Status Executor::readBack(const plan::ReadBack &op) {
  uint64_t bytes;
  CUdeviceptr source;
  WEFT_TRY(bytesOf(op.source(), bytes));
  WEFT_TRY(address(op.source(), source));
  plan::ElementType type = plan.tensors()->Get(op.source())->type();
  if (bytes != byteSize(type, op.symbols()->size()))
    return Status::invalid("a value read back has " + std::to_string(bytes) + " bytes, expected " + std::to_string(byteSize(type, op.symbols()->size())));
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

Status Executor::tryVariant(const plan::Launch &op, uint32_t number, const std::vector<CUdeviceptr> &pointers, bool &used) {
  const plan::Kernel &kernel = *plan.kernels()->Get(op.kernel());
  const plan::Variant &variant = *kernel.variants()->Get(number);
  int64_t guard = 1;
  if (variant.guard() >= 0 && (!exprs.get(uint32_t(variant.guard()), guard).ok() || !guard))
    return Status::success();
  for (uint32_t i = 0; variant.aligned() && i < variant.aligned()->size(); ++i)
    if (pointers[variant.aligned()->Get(i)] % 16)
      return Status::success();

  std::vector<uint64_t> values(pointers.begin(), pointers.end());
  for (uint32_t i = 0; i < values.size(); ++i) {
    const plan::Arg &arg = *op.args()->Get(i);
    if (arg.kind() == plan::ArgKind::tensor)
      continue;
    if (arg.type() == plan::ScalarType::f32 || arg.type() == plan::ScalarType::f64) {
      double real;
      WEFT_TRY(exprs.getFloat(arg.expr(), real));
      float single = float(real);
      if (arg.type() == plan::ScalarType::f64)
        __builtin_memcpy(&values[i], &real, 8);
      else
        __builtin_memcpy(&values[i], &single, 4);
      continue;
    }
    int64_t value;
    WEFT_TRY(exprs.get(arg.expr(), value));
    if (variant.index32() && value != int64_t(int32_t(value)))
      return Status::success(); // does not fit this variant
    values[i] = uint64_t(value);
  }
  int64_t grid[3], shared;
  WEFT_TRY(exprs.get(variant.grid_x(), grid[0]));
  WEFT_TRY(exprs.get(variant.grid_y(), grid[1]));
  WEFT_TRY(exprs.get(variant.grid_z(), grid[2]));
  WEFT_TRY(exprs.get(variant.dynamic_shared(), shared));
  used = true;
  if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0)
    return Status::success();
  if (grid[0] > 2147483647 || grid[1] > 65535 || grid[2] > 65535)
    return Status::machine("kernel " + variant.entry()->str() + " would need a grid of " + std::to_string(grid[0]) + " x " + std::to_string(grid[1]) + " x " +
                           std::to_string(grid[2]) + " blocks");
  CUfunction function = model.function(op.kernel(), number);
  if (shared > 48 << 10)
    WEFT_CUDA(device.driver(), cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(shared));
  std::vector<void *> params;
  for (uint64_t &value : values)
    params.push_back(&value);
  CUresult result = device.driver().cuLaunchKernel(function, unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2]), variant.block_x(), variant.block_y(),
                                                   variant.block_z(), unsigned(shared), stream, params.data(), nullptr);
  Status status = device.explain(device.driver().check(result, "cuLaunchKernel"));
  if (!status.ok())
    status.message = "kernel " + variant.entry()->str() + (kernel.node() && kernel.node()->size() ? " (node " + kernel.node()->str() + ")" : "") + ": " + status.message;
  return status;
}

} // namespace weft
