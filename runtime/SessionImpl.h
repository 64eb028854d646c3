// Inside a session: shared by Session.cpp and HostRun.cpp.
#ifndef WEFT_RUNTIME_SESSIONIMPL_H
#define WEFT_RUNTIME_SESSIONIMPL_H

#include "runtime/Commands.h"
#include "runtime/Executor.h"
#include "runtime/Memory.h"
#include "runtime/Session.h"
#include <list>

namespace weft {

/// What is kept for one tuple of symbol values.
struct Prepared {
  std::vector<int64_t> key;
  std::unique_ptr<Exprs> exprs;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Graph> graph;
  std::vector<CUdeviceptr> addresses; // that the graph was made with
};

struct Session::Impl {
  explicit Impl(Model &model);
  ~Impl();

  Status start();
  Status bind(std::span<const DeviceArray> inputs, Exprs &exprs, std::vector<int64_t> &key);
  Status find(std::span<const DeviceArray> inputs, Prepared *&out);
  Status checkInput(Prepared &p, uint32_t number, const DeviceArray &input, uint64_t &bytes);
  Status setOutputs(Prepared &p, std::span<const DeviceMemory> outputs);
  Status enqueue(std::span<const DeviceArray> inputs, std::span<const DeviceMemory> outputs, const DeviceMemory &givenArena);
  Status runGraph(Prepared &p, std::vector<CUdeviceptr> addresses);
  Status runCommands(Prepared &p);
  void dropEvents();
  Status readEvents(std::vector<ProfileEvent> &out);
  Status outputShape(uint32_t number, std::vector<int64_t> &shape, uint64_t &bytes);

  Status defaultOf(const plan::InputOutput &input, const Array *&array);
  Status orderInputs(const std::map<std::string, Array> &inputs, std::vector<const Array *> &ordered);
  Status upload(const std::vector<const Array *> &inputs, std::vector<DeviceArray> &arrays);
  Status download(std::vector<std::pair<std::string, Array>> &outputs);
  void dropOwnInputs();

  struct Event {
    std::string name;
    CUevent begin = nullptr, end = nullptr;
  };

  Model &model;
  Device &device;
  const plan::Plan &plan;
  CUstream stream = nullptr;  // the session's own
  CUstream current = nullptr; // of the run that is being enqueued
  CUstream last = nullptr;    // of the last run
  CUevent done = nullptr;     // recorded behind the last run
  Pool pool;
  DeviceBuffer arena, outputMemory, inputMemory;
  PinnedBuffer staging;
  std::list<std::unique_ptr<Prepared>> prepared; // most recently used first
  Prepared *ran = nullptr;                       // of the last successful run
  std::vector<CUdeviceptr> ownInputs;            // --check: one block each
  bool profiling = false;
  std::vector<Event> events;
  std::map<std::string, Array> defaults; // of inputs that runs left out
};

/// Number of elements; an error where it overflows or a dimension is negative.
Status elementCount(const std::vector<int64_t> &shape, uint64_t &count);

} // namespace weft
#endif
