// Memory of a session: one growing device buffer, a pool of device blocks, a pinned host buffer.
#ifndef WEFT_RUNTIME_MEMORY_H
#define WEFT_RUNTIME_MEMORY_H

#include "runtime/Device.h"
#include <vector>

namespace weft {

/// Device memory that only grows. A growth changes the address; the old memory must no longer be in use.
class DeviceBuffer {
public:
  explicit DeviceBuffer(Device &device) : device(device) {}
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer &) = delete;
  /// At least `bytes`. `stream` is waited for before memory is given back to the driver.
  Status reserve(uint64_t bytes, CUstream stream);
  CUdeviceptr address() const { return base; }

private:
  Device &device;
  CUdeviceptr base = 0;
  uint64_t capacity = 0;
};

/// Page-locked host memory that only grows: copies from and to it do not block.
class PinnedBuffer {
public:
  explicit PinnedBuffer(Device &device) : device(device) {}
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer &) = delete;
  Status reserve(uint64_t bytes);
  uint8_t *data() const { return base; }

private:
  Device &device;
  uint8_t *base = nullptr;
  uint64_t capacity = 0;
};

/// Device blocks that are taken and given back in the order of one stream, and kept for the next taker: a run like the last
/// one allocates nothing. Under --check every block has its exact size and none is used twice, so that accesses outside
/// a tensor and reads of what nobody wrote are seen.
class Pool {
public:
  explicit Pool(Device &device) : device(device) {}
  ~Pool();
  Pool(const Pool &) = delete;
  Status take(uint64_t bytes, CUdeviceptr &address);
  void give(CUdeviceptr address);

private:
  struct Block {
    CUdeviceptr address;
    uint64_t capacity;
    bool taken;
  };
  Status allocate(uint64_t bytes, CUdeviceptr &address);
  Device &device;
  std::vector<Block> blocks;
};

} // namespace weft
#endif
