// Memory of the virtual devices and host memory that devices may reach.
//
// Guarantees: device addresses lie in [kDeviceBegin, kDeviceEnd), above every address that a host program can have, so a host
// dereference faults. Allocations are 512-byte aligned, at least 4 KiB of unmapped addresses follow each, and addresses are
// never used twice: stale pointers stay invalid. Bytes of a freed allocation go back to the system only by `collect`, which the
// caller runs while no kernel does. All classes may be used from several threads.
#ifndef WEFT_EMULATOR_DRIVER_MEMORY_H
#define WEFT_EMULATOR_DRIVER_MEMORY_H

#include "emulator/exec/Core.h"
#include "runtime/driver/CudaApi.h"
#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

namespace weft::emu {

inline constexpr uint64_t kDeviceBegin = 0x0000'8000'0000'0000; // beyond 47 bits: no user address on x86-64
inline constexpr uint64_t kDeviceSpan = uint64_t(1) << 40;      // addresses per device
inline constexpr uint64_t kDeviceEnd = kDeviceBegin + 64 * kDeviceSpan;
static_assert(kDeviceEnd <= kWindowsBegin);

inline bool isDeviceAddress(uint64_t address) { return address >= kDeviceBegin && address < kDeviceEnd; }
inline unsigned deviceOf(uint64_t address) { return unsigned((address - kDeviceBegin) / kDeviceSpan); }

/// What the driver knows of an address.
struct AllocationInfo {
  uint64_t begin = 0, size = 0, id = 0;
  const void *owner = nullptr; // the context
  bool pooled = false;         // from cuMemAllocAsync
  bool leaving = false;        // a cuMemFreeAsync is queued
};

class DeviceMemory {
public:
  DeviceMemory(unsigned device, uint64_t capacity, bool shadow, bool poison)
      : next(kDeviceBegin + device * kDeviceSpan), end(next + kDeviceSpan), capacity(capacity), shadow(shadow), poison(poison) {}
  ~DeviceMemory();

  bool lookup(uint64_t address, Memory::Range &out) const;
  bool find(uint64_t address, AllocationInfo &out) const;
  /// CUDA_ERROR_OUT_OF_MEMORY beyond the capacity.
  CUresult allocate(uint64_t size, const void *owner, bool pooled, CUdeviceptr &out);
  /// `address` must be the begin of a live allocation.
  bool free(uint64_t address);
  /// Notes that a free of the live allocation that begins at `address` is queued.
  void leave(uint64_t address);
  void freeOwnedBy(const void *owner);
  /// Host bytes of [address, address + size), or null where that is not inside one live allocation.
  uint8_t *host(uint64_t address, uint64_t size) const;
  /// The flags "was written" of the same bytes; null without --check.
  uint8_t *written(uint64_t address, uint64_t size) const;
  uint64_t used() const;
  uint64_t total() const { return capacity; }
  void collect();

private:
  struct Block {
    uint64_t size, padded, id;
    uint8_t *bytes, *initialized;
    const void *owner;
    bool pooled, leaving = false;
  };
  void release(Block &block);
  const Block *blockOf(uint64_t address, uint64_t &begin) const; // needs the lock
  mutable std::shared_mutex mutex;
  std::map<uint64_t, Block> blocks; // by begin
  std::vector<Block> retired;
  uint64_t next, end, capacity, usedBytes = 0;
  bool shadow, poison;
};

/// Pinned, registered and managed host memory: the ranges whose host addresses devices may use.
class HostMemory {
public:
  enum Kind { Pinned, Registered, Managed };
  struct Range {
    uint64_t begin = 0, size = 0;
    Kind kind = Pinned;
    unsigned flags = 0;
    const void *owner = nullptr;
  };
  CUresult allocate(uint64_t size, Kind kind, unsigned flags, const void *owner, void **out);
  CUresult add(void *pointer, uint64_t size, unsigned flags, const void *owner);
  /// Forgets the range that begins at `pointer`; its bytes are given back unless they were only registered.
  bool remove(void *pointer, Kind kind);
  bool find(uint64_t address, Range &out) const;

private:
  mutable std::shared_mutex mutex;
  std::map<uint64_t, Range> ranges;
};

/// Memory as the kernels of one context see it: its device, peers it has enabled, and pinned host memory.
class ContextMemory : public Memory {
public:
  ContextMemory(const std::vector<std::unique_ptr<DeviceMemory>> &devices, const HostMemory &hostMemory, unsigned device)
      : devices(devices), hostMemory(hostMemory), reachable(uint64_t(1) << device) {}
  bool lookup(uint64_t address, Range &out) override;
  void setPeer(unsigned device, bool enabled) { enabled ? reachable |= uint64_t(1) << device : reachable &= ~(uint64_t(1) << device); }
  bool reaches(unsigned device) const { return reachable >> device & 1; }

private:
  const std::vector<std::unique_ptr<DeviceMemory>> &devices;
  const HostMemory &hostMemory;
  std::atomic<uint64_t> reachable;
};

} // namespace weft::emu
#endif
