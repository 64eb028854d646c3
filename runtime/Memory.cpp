// Memory of a session: see Memory.h.
#include "runtime/Memory.h"
#include <algorithm>

namespace weft {

static Status allocateOnDevice(Device &device, uint64_t bytes, CUdeviceptr &address) {
  CUresult result = device.driver().cuMemAlloc(&address, bytes);
  if (result == CUDA_SUCCESS)
    return Status::success();
  address = 0;
  size_t free = 0, total = 0;
  std::string room;
  if (device.driver().cuMemGetInfo(&free, &total) == CUDA_SUCCESS)
    room = " (" + std::to_string(free) + " of " + std::to_string(total) + " bytes are free)";
  return Status::machine("no room on the device for " + std::to_string(bytes) + " bytes of tensors" + room + ": " +
                         device.driver().check(result, "cuMemAlloc").message);
}

DeviceBuffer::~DeviceBuffer() {
  if (base && device.enter().ok())
    (void)device.driver().cuMemFree(base);
}

Status DeviceBuffer::reserve(uint64_t bytes, CUstream stream) {
  if (base && bytes <= capacity)
    return Status::success();
  if (base) {
    WEFT_CUDA(device.driver(), cuStreamSynchronize, stream);
    (void)device.driver().cuMemFree(base);
  }
  base = 0;
  capacity = std::max<uint64_t>(bytes, 256);
  return allocateOnDevice(device, capacity, base);
}

PinnedBuffer::~PinnedBuffer() {
  if (base && device.enter().ok())
    (void)device.driver().cuMemFreeHost(base);
}

Status PinnedBuffer::reserve(uint64_t bytes) {
  if (base && bytes <= capacity)
    return Status::success();
  if (base)
    (void)device.driver().cuMemFreeHost(base);
  base = nullptr;
  capacity = std::max<uint64_t>(bytes, 4096);
  void *memory = nullptr;
  CUresult result = device.driver().cuMemAllocHost(&memory, capacity);
  if (result != CUDA_SUCCESS)
    return Status::machine("no page-locked host memory for " + std::to_string(capacity) + " bytes: " +
                           device.driver().check(result, "cuMemAllocHost").message);
  base = static_cast<uint8_t *>(memory);
  return Status::success();
}

Pool::~Pool() {
  if (!device.enter().ok())
    return;
  for (Block &block : blocks)
    (void)device.driver().cuMemFree(block.address);
}

Status Pool::take(uint64_t bytes, CUdeviceptr &address) {
  uint64_t wanted = std::max<uint64_t>(bytes, 1);
  if (!device.checks()) {
    wanted = (wanted + 511) / 512 * 512;
    Block *best = nullptr;
    for (Block &block : blocks)
      if (!block.taken && block.capacity >= wanted && (!best || block.capacity < best->capacity))
        best = &block;
    if (best) {
      best->taken = true;
      address = best->address;
      return Status::success();
    }
  }
  WEFT_TRY(allocate(wanted, address));
  blocks.push_back({address, wanted, true});
  return Status::success();
}

Status Pool::allocate(uint64_t bytes, CUdeviceptr &address) {
  Status status = allocateOnDevice(device, bytes, address);
  if (status.ok())
    return status;
  // What lies idle may be in the way. (cuMemFree waits for the device.)
  std::erase_if(blocks, [&](const Block &block) { return !block.taken && device.driver().cuMemFree(block.address) == CUDA_SUCCESS; });
  return allocateOnDevice(device, bytes, address);
}

void Pool::give(CUdeviceptr address) {
  auto it = std::find_if(blocks.begin(), blocks.end(), [&](const Block &block) { return block.address == address; });
  if (it == blocks.end())
    return;
  it->taken = false;
  if (device.checks()) {
    (void)device.driver().cuMemFree(address);
    blocks.erase(it);
  }
}

} // namespace weft
