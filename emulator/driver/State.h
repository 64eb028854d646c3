// The emulated driver's state: devices, memory, contexts, modules, streams, graphs.
//
// Guarantees: one lock guards everything (`State::get().mutex`); handles are checked before use, a stale one gives
// CUDA_ERROR_INVALID_HANDLE / INVALID_CONTEXT. Work runs in the order in which it was enqueued, when it is enqueued: a legal
// order for every program that synchronises what it depends on.
#ifndef WEFT_EMULATOR_DRIVER_STATE_H
#define WEFT_EMULATOR_DRIVER_STATE_H

#include "emulator/exec/Core.h"
#include "runtime/driver/CudaApi.h"
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace weft::emu {

struct GpuInfo {
  const char *target, *name;
  int major, minor, sms, threadsPerSm, blocksPerSm, registersPerSm;
  uint64_t sharedPerSm, sharedPerBlockOptin, l2, memory;
  int clock, memoryClock, busBits, leastPtx;
};
/// The table's row for "sm_80", ...; null for an unknown target.
const GpuInfo *findGpu(std::string_view target);

/// Settings, from environment variables WEFT_EMULATOR_<KEY> and weftEmuConfigure (docs/emulator.md).
struct Settings {
  int devices = 1;
  const GpuInfo *gpu = nullptr;
  uint64_t memory = 0; // bytes per device; 0: the GPU's
  bool check = false, counters = false;
  std::string countersFile;
  LaunchOptions launch;
  bool set(std::string_view key, const std::string &value);
};

/// One device's memory: allocations at addresses that are no host pointers, with unmapped gaps between them.
class DeviceMemory : public Memory {
public:
  DeviceMemory(unsigned device, uint64_t capacity, bool shadow)
      : next((uint64_t(device) + 1) << 40), capacity(capacity), shadow(shadow) {}
  bool lookup(uint64_t addr, Range &out) override;
  CUresult allocate(uint64_t size, CUdeviceptr &out);
  CUresult free(CUdeviceptr ptr);
  /// Host bytes of [ptr, ptr + size), or null where that is not inside one live allocation. `written` marks them initialised.
  uint8_t *host(CUdeviceptr ptr, uint64_t size, bool written);
  bool find(CUdeviceptr ptr, CUdeviceptr &base, uint64_t &size) const;
  uint64_t used() const { return usedBytes; }
  uint64_t total() const { return capacity; }
  ~DeviceMemory() override;

private:
  struct Block {
    uint64_t size;
    uint8_t *bytes;
    std::unique_ptr<uint8_t[]> initialized;
  };
  std::map<uint64_t, Block> blocks; // by begin
  uint64_t next, capacity, usedBytes = 0;
  bool shadow;
};

struct KernelRecord {
  std::string name;
  Dim3 grid, block;
  LaunchCounters counters;
};

struct Device;
struct FunctionState;

struct ModuleState {
  Device *device;
  std::unique_ptr<Module> module;
  std::vector<uint64_t> globals;
  std::vector<std::unique_ptr<FunctionState>> functions;
};

struct FunctionState {
  ModuleState *module;
  unsigned kernel;
  int maxDynamicShared = 48 << 10;
};

/// A unit of work, enqueued or kept in a graph.
struct Work {
  enum Kind { Kernel, Copy, Set, Host, Empty } kind = Empty;
  // Kernel
  FunctionState *function = nullptr;
  Dim3 grid, block;
  uint32_t dynamicShared = 0;
  std::vector<uint8_t> params;
  // Copy (rows of `width` bytes; depth folded into rows) and Set
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS set{};
  CUhostFn host = nullptr;
  void *hostData = nullptr;
};

struct GraphState;
struct NodeState {
  GraphState *graph;
  size_t number;
};
struct GraphState {
  std::vector<Work> work;
  std::vector<std::vector<size_t>> dependencies;
  std::vector<std::unique_ptr<NodeState>> nodes;
};
struct GraphExecState {
  std::vector<Work> work;
  std::vector<size_t> order;
  std::unordered_set<const NodeState *> nodes;
};

struct StreamState {
  Device *device;
  GraphState *capture = nullptr;
};
struct EventState {
  Device *device;
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};

struct Device {
  unsigned ordinal;
  std::unique_ptr<DeviceMemory> memory;
  unsigned retained = 0;
  CUresult sticky = CUDA_SUCCESS; // an illegal access poisons the context
};

struct State {
  static State &get();
  std::recursive_mutex mutex;
  Settings settings;
  bool initialized = false;
  std::vector<std::unique_ptr<Device>> devices;
  std::set<void *> contexts; // Device* of live contexts
  std::map<void *, std::unique_ptr<ModuleState>> modules;
  std::unordered_set<void *> functions;
  std::map<void *, std::unique_ptr<StreamState>> streams;
  std::map<void *, std::unique_ptr<EventState>> events;
  std::map<void *, std::unique_ptr<GraphState>> graphs;
  std::map<void *, std::unique_ptr<GraphExecState>> execs;
  std::unordered_set<void *> nodes;
  std::map<void *, std::unique_ptr<uint8_t[]>> pinned;
  std::vector<KernelRecord> records;
  uint64_t launches = 0;
  std::vector<std::string> findings;
  std::string lastMessage; // of the last failed launch
  void configure();
  std::string countersJson() const;
};

/// The context that the calling thread has current, as its device; null without one.
Device *currentDevice();
void setCurrentDevice(Device *device, bool push, bool pop);

/// Runs `work` on `device` now.
CUresult execute(Device &device, const Work &work);
/// Enqueues on a stream: runs it now, or adds it to the graph that the stream is capturing.
CUresult enqueue(CUstream stream, Work work);
/// Checks limits and packs parameters.
CUresult makeKernelWork(CUfunction function, Dim3 grid, Dim3 block, uint32_t shared, void **params, void **extra, Work &work);

} // namespace weft::emu
#endif
