// Where the executor's tensors lie: see Executor.h.
#include "runtime/Executor.h"
#include "runtime/Session.h"
#include <algorithm>

namespace weft {

Status Executor::bytesOf(uint32_t tensor, uint64_t &bytes) {
  int64_t value;
  WEFT_TRY(exprs.get(plan.tensors()->Get(tensor)->bytes(), value));
  auto *name = plan.tensors()->Get(tensor)->name();
  if (value < 0)
    return Status::invalid("tensor " + (name && name->size() ? "'" + name->str() + "'" : std::to_string(tensor)) + " would have a negative size (" +
                           std::to_string(value) + " bytes)");
  bytes = uint64_t(value);
  return Status::success();
}

Status Executor::layout() {
  std::fill(inArena.begin(), inArena.end(), -1);
  arenaTensors.clear();
  foldSymbols(plan, exprs);
  std::vector<PackItem> items;
  for (uint32_t t : blockTensors[0]) {
    uint64_t bytes;
    if (device.checks())
      break;
    if (!bytesOf(t, bytes).ok()) {
      if (straight) // every size must be known: say what is wrong
        return bytesOf(t, bytes);
      continue;
    }
    items.push_back({bytes, plan.tensors()->Get(t)->first_use(), plan.tensors()->Get(t)->last_use()});
    arenaTensors.push_back(t);
  }
  uint64_t total = 0;
  for (const PackItem &item : items)
    if (__builtin_add_overflow(total, item.size + 512, &total) || total > (uint64_t(1) << 62))
      return Status::machine("the model's tensors have more bytes than any memory");
  arenaPacking = pack(items);
  for (size_t i = 0; i < items.size(); ++i) {
    inArena[arenaTensors[i]] = int64_t(arenaPacking.offsets[i]);
    arenaCapacity[arenaTensors[i]] = items[i].size;
  }
  return Status::success();
}

Status Executor::own(Memory &memory, uint64_t bytes, std::vector<CUdeviceptr> &owner) {
  // What it had before stays until its owner's end: it may still be read. So growth is generous.
  uint64_t wanted = memory.address && !device.checks() && bytes < (uint64_t(1) << 62) ? bytes + bytes / 2 : bytes;
  WEFT_TRY(pool.take(wanted, memory.address));
  memory.bytes = wanted;
  owner.push_back(memory.address);
  return Status::success();
}

void Executor::release(uint32_t block) {
  for (CUdeviceptr address : blockMemory[block])
    pool.give(address);
  blockMemory[block].clear();
  for (uint32_t t : blockTensors[block])
    places[t] = {};
}

/// Packs the tensors of a block that have no place yet and whose sizes are known into one block of the pool.
Status Executor::placeSegment(uint32_t block) {
  std::vector<PackItem> items;
  std::vector<uint32_t> numbers;
  uint64_t total = 0;
  for (uint32_t t : blockTensors[block]) {
    uint64_t bytes;
    if (places[t].address || inArena[t] >= 0 || !bytesOf(t, bytes).ok() || __builtin_add_overflow(total, bytes + 512, &total) || total > (uint64_t(1) << 62))
      continue;
    items.push_back({bytes, plan.tensors()->Get(t)->first_use(), plan.tensors()->Get(t)->last_use()});
    numbers.push_back(t);
  }
  Packing packing = pack(items);
  Memory segment;
  WEFT_TRY(own(segment, packing.peak, blockMemory[block]));
  for (size_t i = 0; i < items.size(); ++i)
    places[numbers[i]] = {segment.address + packing.offsets[i], items[i].size};
  return Status::success();
}

Status Executor::prepare(uint32_t tensor) {
  while (plan.tensors()->Get(tensor)->storage() == plan::Storage::view)
    tensor = plan.tensors()->Get(tensor)->index();
  const plan::Tensor &t = *plan.tensors()->Get(tensor);
  uint64_t bytes;
  switch (t.storage()) {
  case plan::Storage::input: case plan::Storage::constant: case plan::Storage::view: return Status::success();
  case plan::Storage::output: {
    WEFT_TRY(bytesOf(tensor, bytes));
    Memory &memory = outputs[t.index()];
    if (memory.address && memory.bytes >= bytes)
      return Status::success();
    bool isOurs = !memory.address || std::find(outputMemory.begin(), outputMemory.end(), memory.address) != outputMemory.end();
    if (!isOurs)
      return Status::invalid("output '" + plan.outputs()->Get(t.index())->name()->str() + "' has " + std::to_string(bytes) +
                             " bytes, more than the memory given for it (" + std::to_string(memory.bytes) + ")");
    return own(memory, bytes, outputMemory);
  }
  case plan::Storage::arena: break;
  }
  WEFT_TRY(bytesOf(tensor, bytes));
  if (places[tensor].address) {
    if (places[tensor].bytes >= bytes)
      return Status::success();
  } else if (inArena[tensor] >= 0) {
    if (arenaCapacity[tensor] >= bytes)
      return Status::success();
  } else if (!device.checks()) {
    WEFT_TRY(placeSegment(t.block()));
    if (places[tensor].address)
      return Status::success();
  }
  return own(places[tensor], bytes, blockMemory[t.block()]); // it has grown, or has a block of its own
}

Status Executor::address(uint32_t tensor, CUdeviceptr &out) {
  const plan::Tensor &t = *plan.tensors()->Get(tensor);
  switch (t.storage()) {
  case plan::Storage::input: out = inputs[t.index()].address; return Status::success();
  case plan::Storage::constant: out = model.constant(t.index()); return Status::success();
  case plan::Storage::view: {
    int64_t offset;
    uint64_t bytes, base, end;
    WEFT_TRY(address(t.index(), out));
    WEFT_TRY(exprs.get(t.offset(), offset));
    WEFT_TRY(bytesOf(tensor, bytes));
    WEFT_TRY(bytesOf(t.index(), base));
    if (offset < 0 || __builtin_add_overflow(uint64_t(offset), bytes, &end) || end > base)
      return Status::invalid("a view of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) + " lies outside its tensor of " +
                             std::to_string(base) + " bytes");
    out += uint64_t(offset);
    return Status::success();
  }
  case plan::Storage::output:
    if (!outputs[t.index()].address)
      WEFT_TRY(prepare(tensor));
    out = outputs[t.index()].address;
    return Status::success();
  case plan::Storage::arena: break;
  }
  if (!places[tensor].address && inArena[tensor] < 0)
    WEFT_TRY(prepare(tensor));
  out = places[tensor].address ? places[tensor].address : arena + uint64_t(inArena[tensor]);
  return Status::success();
}

} // namespace weft
