// The objects behind the driver's handles, and the one lock that guards them.
//
// Guarantees: handles are numbers that no host pointer can have and that are never given twice, so a stale one is always found
// out. `State::mutex` guards every field here; it is free while work runs, so kernels of different devices run in parallel
// (where different threads wait for them). Objects live as long as queued work needs them.
#ifndef WEFT_EMULATOR_DRIVER_STATE_H
#define WEFT_EMULATOR_DRIVER_STATE_H

#include "emulator/driver/Memory.h"
#include "emulator/driver/Settings.h"
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

namespace weft::emu {

struct Capture;
struct Context;
struct Event;
struct Function;
struct Graph;
struct Node;
struct Stream;

/// The live objects of one kind by handle.
template <class T> class Handles {
public:
  /// Bits above the 48th keep handles apart from every pointer; `kind` keeps them apart from each other.
  explicit Handles(unsigned kind) : next(uintptr_t(0x7000 | kind) << 48) {}
  std::shared_ptr<T> add(std::shared_ptr<T> object) {
    next += 16;
    object->handle = reinterpret_cast<void *>(next);
    live.emplace(next, object);
    return object;
  }
  std::shared_ptr<T> find(const void *handle) const {
    auto it = live.find(reinterpret_cast<uintptr_t>(handle));
    return it == live.end() ? nullptr : it->second;
  }
  bool erase(const void *handle) { return live.erase(reinterpret_cast<uintptr_t>(handle)); }
  template <class F> void eraseIf(F test) {
    std::erase_if(live, [&](auto &entry) { return test(*entry.second); });
  }
  template <class F> void forEach(F visit) const {
    for (auto &[number, object] : live)
      visit(object);
  }

private:
  std::unordered_map<uintptr_t, std::shared_ptr<T>> live;
  uintptr_t next;
};

struct Device {
  unsigned ordinal = 0;
  const GpuInfo *gpu = nullptr;
  bool busy = false; // some thread runs work of this device
  std::shared_ptr<Context> primary;
  unsigned retained = 0, primaryFlags = 0;
  std::shared_ptr<struct Pool> defaultPool, currentPool;
};

struct Pool {
  void *handle = nullptr;
  unsigned device = 0;
  uint64_t attributes[9] = {};
};

struct Context {
  void *handle = nullptr;
  Device *device = nullptr;
  bool primary = false;
  unsigned flags = 0;
  CUresult sticky = CUDA_SUCCESS; // an illegal access poisons the context
  std::unique_ptr<ContextMemory> memory;
  std::shared_ptr<Stream> legacy; // stream 0 and 1
  std::unordered_map<std::thread::id, std::shared_ptr<Stream>> perThread;
  std::vector<std::shared_ptr<Stream>> streams; // all, in order of creation; [0] is `legacy`
  uint64_t limits[7] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};
};

/// PTX loaded into one context.
struct LoadedModule {
  void *handle = nullptr;
  std::weak_ptr<Context> context;
  std::shared_ptr<Module> code;
  std::vector<uint64_t> globals;
  std::unordered_map<unsigned, std::shared_ptr<Function>> functions; // by kernel
};

struct Function {
  void *handle = nullptr;
  std::shared_ptr<Module> code;
  std::weak_ptr<LoadedModule> module;
  std::weak_ptr<Context> context;
  std::vector<uint64_t> globals;
  unsigned kernel = 0;
  int maxDynamicShared = 0, carveout = -1;
  const KernelInfo &info() const { return code->kernels()[kernel]; }
};

struct Library {
  void *handle = nullptr;
  std::shared_ptr<Module> code;
  std::string target;
  std::unordered_map<void *, std::shared_ptr<LoadedModule>> modules; // by context handle
};

struct Kernel {
  void *handle = nullptr;
  std::weak_ptr<Library> library;
  unsigned kernel = 0;
};

/// A unit of work, queued or kept in a graph.
struct Work {
  enum class Kind { Kernel, Copy, Set, Host, Empty, Record, Wait, Free, Graph };
  Kind kind = Kind::Empty;
  std::shared_ptr<Context> context; // whose memory it sees and which it poisons
  // Kernel
  std::shared_ptr<Function> function;
  Dim3 grid, block;
  uint32_t dynamicShared = 0;
  std::vector<uint8_t> params;
  // Copy, Set (in rows)
  CUDA_MEMCPY3D copy{};
  std::shared_ptr<std::vector<uint8_t>> staged; // what `copy.srcHost` points to, if taken at call time
  CUDA_MEMSET_NODE_PARAMS set{};
  std::function<void(CUresult)> host;
  CUDA_HOST_NODE_PARAMS hostParams{};
  std::shared_ptr<Event> event;                  // Record and Wait nodes of graphs
  std::shared_ptr<struct Stamp> stamp;           // Record
  CUdeviceptr address = 0;                       // Free
  std::shared_ptr<const std::vector<Work>> graph; // in order of execution
};

/// A moment of a stream: reached when `stream` has finished its first `count` pieces of work.
struct Moment {
  std::shared_ptr<Stream> stream;
  uint64_t count = 0;
  bool reached() const;
};

struct Stream {
  void *handle = nullptr;
  std::shared_ptr<Context> context;
  bool blocking = true; // ordered with the legacy stream
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0, queued = 0, done = 0;
  bool running = false; // some thread runs the front
  struct Entry {
    Work work;
    std::vector<Moment> after;
  };
  std::deque<Entry> queue;
  std::shared_ptr<Capture> capture;
  std::vector<Node *> tips; // captured nodes that the next one depends on
  bool idle() const { return done == queued; }
};

inline bool Moment::reached() const { return !stream || stream->done >= count; }

struct Stamp {
  std::chrono::steady_clock::time_point time;
  bool done = false;
};

struct Event {
  void *handle = nullptr;
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  Moment moment;                // of the latest record
  std::shared_ptr<Stamp> stamp; // null: never recorded
  std::shared_ptr<Capture> capture;
  std::vector<Node *> tips;
};

struct Node {
  void *handle = nullptr;
  Graph *graph = nullptr;
  Work work;
  std::vector<Node *> after;
  std::shared_ptr<Graph> child;
  std::vector<void *> paramPointers; // into work.params, for cuGraphKernelNodeGetParams
};

struct Graph {
  void *handle = nullptr;
  std::vector<std::shared_ptr<Node>> nodes; // in order of creation
};

/// A graph with its children put in place of their nodes.
struct FlatGraph {
  std::vector<void *> handles; // of the nodes
  std::vector<Work> work;
  std::vector<std::vector<size_t>> after;
};

struct GraphExec {
  void *handle = nullptr;
  FlatGraph shape; // without work, in order of creation
  std::shared_ptr<std::vector<Work>> work;           // in order of execution; copied when changed while queued
  std::unordered_map<void *, size_t> place;          // node handle -> index in *work
  std::vector<size_t> order;                         // index in shape -> index in *work
  Moment last; // launches of one executable graph do not overlap
};

struct Capture {
  std::shared_ptr<Graph> graph;
  std::weak_ptr<Stream> origin;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  uint64_t id = 0;
  bool invalid = false;
  std::vector<std::weak_ptr<Stream>> members;
};

struct KernelRecord {
  std::string name;
  unsigned device;
  Dim3 grid, block;
  LaunchCounters counters;
};

struct State {
  static State &get(); // never destroyed: threads may still call at exit
  std::mutex mutex;
  std::condition_variable changed; // some work has ended
  Settings settings;
  bool initialized = false;
  unsigned running = 0; // threads that run work
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<DeviceMemory>> memories; // by ordinal; constant after cuInit
  HostMemory hostMemory;
  Handles<Context> contexts{1};
  Handles<LoadedModule> modules{2};
  Handles<Function> functions{3};
  Handles<Library> libraries{4};
  Handles<Kernel> kernels{5};
  Handles<Stream> streams{6};
  Handles<Event> events{7};
  Handles<Graph> graphs{8};
  Handles<Node> nodes{9};
  Handles<GraphExec> execs{10};
  Handles<Pool> pools{11};
  std::vector<std::shared_ptr<Capture>> captures; // running
  uint64_t nextId = 0;
  // What weftEmu* reports.
  std::vector<KernelRecord> records;
  uint64_t launches = 0;
  std::vector<std::string> findings;
  std::unordered_set<std::string> knownFindings;
  std::string lastMessage; // of the last failed launch or load

  CUresult initialize();
  void addFinding(std::string text);
  std::string countersJson() const;
};

using Lock = std::unique_lock<std::mutex>;

// Context.cpp
std::shared_ptr<Context> makeContext(State &state, Device &device);
/// Runs what is queued, then frees the context's memory, modules, streams and events.
void destroyContext(State &state, Lock &lock, std::shared_ptr<Context> context);
/// The calling thread's current context; null without one.
std::shared_ptr<Context> currentContext();
/// True while the calling thread runs a host function, which must not call the API.
bool insideHostFunction();

// Queue.cpp
/// The stream behind a handle, 0, 1 and 2 included; null for a stale one.
std::shared_ptr<Stream> findStream(State &state, const std::shared_ptr<Context> &context, CUstream handle);
/// Queues `work`, or adds it to the graph that the stream captures. `after`: more that must be over first.
CUresult enqueue(State &state, const std::shared_ptr<Stream> &stream, Work work, std::vector<Moment> after = {}, Moment *at = nullptr);
/// Runs queued work until `goal` is reached, in an order that `settings.launch.order` chooses.
void runUntil(State &state, Lock &lock, Moment goal);
void runStream(State &state, Lock &lock, const std::shared_ptr<Stream> &stream);
void runContext(State &state, Lock &lock, const std::shared_ptr<Context> &context);
void runAll(State &state, Lock &lock);
/// Indices 0..count-1 in the order that the settings ask for; `salt` makes calls differ.
std::vector<size_t> permuted(const State &state, size_t count, uint64_t salt);

// Work.cpp
/// Runs `work` and gives back the error that it puts into its context. The lock is not held.
CUresult execute(State &state, const Work &work);
CUresult checkCopy(State &state, Context &context, const CUDA_MEMCPY3D &copy);
CUresult checkSet(State &state, Context &context, const CUDA_MEMSET_NODE_PARAMS &set);
/// Is every byte of the copy's host side known to the driver (pinned, registered, managed) or on a device?
bool isPageable(State &state, const void *host, CUmemorytype type, CUdeviceptr address);
/// Takes the bytes of a copy from pageable memory now.
void stageSource(Work &work);

// Modules.cpp
/// Checks limits and packs parameters.
CUresult makeKernelWork(State &state, const std::shared_ptr<Context> &context, const void *function, Dim3 grid, Dim3 block, uint32_t shared,
                        void **params, void **extra, Work &work);
/// A CUfunction, or a CUkernel in `context`.
CUresult findFunction(State &state, const std::shared_ptr<Context> &context, const void *handle, std::shared_ptr<Function> &out);
CUresult parseImage(State &state, const void *image, const GpuInfo &gpu, std::shared_ptr<Module> &code, std::string &target, std::string &message);
CUresult checkTarget(const GpuInfo &gpu, const std::string &target);
CUresult loadModule(State &state, const std::shared_ptr<Context> &context, std::shared_ptr<Module> code, std::shared_ptr<LoadedModule> &out);
std::shared_ptr<Function> functionOf(State &state, const std::shared_ptr<LoadedModule> &module, unsigned kernel);

// Graphs.cpp
std::shared_ptr<Graph> makeGraph(State &state);
Node *addNode(State &state, Graph &graph, std::vector<Node *> after, Work work);
void dropGraph(State &state, Graph &graph);
FlatGraph flatten(const Graph &graph);
/// An order in which work may run, chosen by the settings; empty where there is a cycle.
std::vector<size_t> scheduleOf(const State &state, const FlatGraph &flat);
void invalidateCapture(Capture &capture);
/// An error where a running capture forbids a call that touches all of the context.
CUresult checkUncaptured(State &state);

} // namespace weft::emu
#endif
