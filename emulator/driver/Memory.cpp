// Memory of the virtual devices: see Memory.h.
#include "emulator/driver/Memory.h"
#include <algorithm>
#include <cstring>
#include <mutex>
#include <sys/mman.h>

namespace weft::emu {

static constexpr uint64_t kAlignment = 512, kGuard = 4096;
/// Fresh memory is filled with 0xff (NaN in every float type) up to this size; larger allocations start as zeros, untouched.
static constexpr uint64_t kPoisonLimit = uint64_t(64) << 20;

static uint8_t *mapPages(uint64_t size) {
  void *bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return bytes == MAP_FAILED ? nullptr : static_cast<uint8_t *>(bytes);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

const DeviceMemory::Block *DeviceMemory::blockOf(uint64_t address, uint64_t &begin) const {
  auto it = blocks.upper_bound(address);
  if (it == blocks.begin())
    return nullptr;
  --it;
  begin = it->first;
  return address - begin < it->second.size ? &it->second : nullptr;
}

bool DeviceMemory::lookup(uint64_t address, Memory::Range &out) const {
  std::shared_lock lock(mutex);
  uint64_t begin;
  const Block *block = blockOf(address, begin);
  if (block)
    out = {begin, begin + block->size, block->bytes, block->initialized};
  return block;
}

bool DeviceMemory::find(uint64_t address, AllocationInfo &out) const {
  std::shared_lock lock(mutex);
  uint64_t begin;
  const Block *block = blockOf(address, begin);
  if (block)
    out = {begin, block->size, block->id, block->owner, block->pooled, block->leaving};
  return block;
}

CUresult DeviceMemory::allocate(uint64_t size, const void *owner, bool pooled, CUdeviceptr &out) {
  std::unique_lock lock(mutex);
  uint64_t padded = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (padded < size || padded > capacity - usedBytes || padded + kGuard > end - next)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // The end is rounded up, so that wide host accesses stay inside.
  uint8_t *bytes = mapPages(padded), *initialized = bytes && shadow ? mapPages(padded) : nullptr;
  if (!bytes || (shadow && !initialized)) {
    if (bytes)
      munmap(bytes, padded);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (poison && padded <= kPoisonLimit)
    std::memset(bytes, 0xff, padded);
  static std::atomic<uint64_t> ids{0};
  out = next;
  blocks.emplace(next, Block{size, padded, ++ids, bytes, initialized, owner, pooled});
  next += (padded + kGuard + kAlignment - 1) / kAlignment * kAlignment;
  usedBytes += padded;
  return CUDA_SUCCESS;
}

bool DeviceMemory::free(uint64_t address) {
  std::unique_lock lock(mutex);
  auto it = blocks.find(address);
  if (it == blocks.end())
    return false;
  usedBytes -= it->second.padded;
  retired.push_back(it->second);
  blocks.erase(it);
  return true;
}

void DeviceMemory::leave(uint64_t address) {
  std::unique_lock lock(mutex);
  blocks.at(address).leaving = true;
}

void DeviceMemory::freeOwnedBy(const void *owner) {
  std::unique_lock lock(mutex);
  std::erase_if(blocks, [&](auto &entry) {
    if (entry.second.owner != owner)
      return false;
    usedBytes -= entry.second.padded;
    retired.push_back(entry.second);
    return true;
  });
}

uint8_t *DeviceMemory::host(uint64_t address, uint64_t size) const {
  Memory::Range range;
  return lookup(address, range) && size <= range.end - address ? range.host + (address - range.begin) : nullptr;
}

uint8_t *DeviceMemory::written(uint64_t address, uint64_t size) const {
  Memory::Range range;
  bool inside = lookup(address, range) && size <= range.end - address && range.initialized;
  return inside ? range.initialized + (address - range.begin) : nullptr;
}

uint64_t DeviceMemory::used() const {
  std::shared_lock lock(mutex);
  return usedBytes;
}

void DeviceMemory::release(Block &block) {
  munmap(block.bytes, block.padded);
  if (block.initialized)
    munmap(block.initialized, block.padded);
}

void DeviceMemory::collect() {
  std::unique_lock lock(mutex);
  for (Block &block : retired)
    release(block);
  retired.clear();
}

DeviceMemory::~DeviceMemory() {
  collect();
  for (auto &[begin, block] : blocks)
    release(block);
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

static uint64_t pages(uint64_t size) { return (size + 4095) / 4096 * 4096; }

CUresult HostMemory::allocate(uint64_t size, Kind kind, unsigned flags, const void *owner, void **out) {
  if (pages(size) < size)
    return CUDA_ERROR_OUT_OF_MEMORY;
  uint8_t *bytes = mapPages(pages(size));
  if (!bytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::unique_lock lock(mutex);
  ranges[reinterpret_cast<uint64_t>(bytes)] = {reinterpret_cast<uint64_t>(bytes), size, kind, flags, owner};
  *out = bytes;
  return CUDA_SUCCESS;
}

CUresult HostMemory::add(void *pointer, uint64_t size, unsigned flags, const void *owner) {
  uint64_t begin = reinterpret_cast<uint64_t>(pointer);
  std::unique_lock lock(mutex);
  auto it = ranges.lower_bound(begin + size);
  if (it != ranges.begin() && std::prev(it)->second.begin + std::prev(it)->second.size > begin)
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  ranges[begin] = {begin, size, Registered, flags, owner};
  return CUDA_SUCCESS;
}

bool HostMemory::remove(void *pointer, Kind kind) {
  std::unique_lock lock(mutex);
  auto it = ranges.find(reinterpret_cast<uint64_t>(pointer));
  if (it == ranges.end() || it->second.kind != kind)
    return false;
  if (kind != Registered)
    munmap(pointer, pages(it->second.size));
  ranges.erase(it);
  return true;
}

bool HostMemory::find(uint64_t address, Range &out) const {
  std::shared_lock lock(mutex);
  auto it = ranges.upper_bound(address);
  if (it == ranges.begin() || address - std::prev(it)->first >= std::prev(it)->second.size)
    return false;
  out = std::prev(it)->second;
  return true;
}

bool ContextMemory::lookup(uint64_t address, Range &out) {
  if (isDeviceAddress(address)) {
    unsigned device = deviceOf(address);
    return device < devices.size() && reaches(device) && devices[device]->lookup(address, out);
  }
  HostMemory::Range range;
  if (!hostMemory.find(address, range))
    return false;
  out = {range.begin, range.begin + range.size, reinterpret_cast<uint8_t *>(range.begin), nullptr};
  return true;
}

} // namespace weft::emu
