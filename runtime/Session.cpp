// Running a model: see Session.h.
//
// A plan that is a straight line is captured once per tuple of input shapes (and host-read input elements) as a CUDA graph;
// a run then is copies in, one graph launch, copies out.
#include "runtime/Session.h"
#include "runtime/Executor.h"
#include <algorithm>
#include <chrono>
#include <list>

namespace weft {

namespace {
/// What is kept for one tuple of symbol values.
struct Prepared {
  std::vector<int64_t> key;
  std::unique_ptr<Exprs> exprs;
  std::unique_ptr<Executor> executor;
  uint64_t arenaBytes = 0, totalBytes = 0;
  std::vector<uint64_t> inputOffsets;
  CUgraphExec graph = nullptr;
};
constexpr size_t maxPrepared = 16;
} // namespace

struct Session::Impl {
  explicit Impl(Model &model) : model(model), device(model.device()), plan(model.plan()), memory(model.device()) {}
  ~Impl() {
    if (!device.enter().ok())
      return;
    dropGraphs();
    prepared.clear();
    if (stream)
      (void)device.driver().cuStreamDestroy(stream);
  }

  void dropGraph(Prepared &p) {
    if (p.graph)
      (void)device.driver().cuGraphExecDestroy(p.graph);
    p.graph = nullptr;
  }
  void dropGraphs() {
    for (Prepared &p : prepared)
      dropGraph(p);
  }

  Status orderInputs(const std::map<std::string, Array> &inputs, std::vector<const Array *> &ordered);
  Status bind(const std::vector<const Array *> &inputs, Exprs &exprs, std::vector<int64_t> &key);
  Status find(const std::vector<const Array *> &inputs, Prepared *&out);
  Status start(Prepared &p, const std::vector<const Array *> &inputs);
  Status capture(Prepared &p);
  Status readOutputs(Prepared &p, std::vector<std::pair<std::string, Array>> &outputs);

  Model &model;
  Device &device;
  const plan::Plan &plan;
  CUstream stream = nullptr;
  DeviceBuffer memory;
  std::list<Prepared> prepared; // most recently used first
  std::vector<CUdeviceptr> ownInputs; // --check: one allocation each
};

Session::Session(Model &model) : impl(std::make_unique<Impl>(model)) {}
Session::~Session() = default;

Status Session::Impl::orderInputs(const std::map<std::string, Array> &inputs, std::vector<const Array *> &ordered) {
  std::string names;
  for (const plan::InputOutput *input : *plan.inputs())
    names += (names.empty() ? "" : ", ") + input->name()->str();
  for (auto &[name, array] : inputs) {
    bool known = std::any_of(plan.inputs()->begin(), plan.inputs()->end(), [&](auto *input) { return input->name()->str() == name; });
    if (!known)
      return Status::invalid("the model has no input named '" + name + "'; its inputs are: " + names);
  }
  for (const plan::InputOutput *input : *plan.inputs()) {
    auto it = inputs.find(input->name()->str());
    if (it == inputs.end())
      return Status::invalid("input '" + input->name()->str() + "' is missing");
    if (it->second.type != input->type())
      return Status::invalid("input '" + input->name()->str() + "': expected tensor(" + ortTypeName(input->type()) + "), found tensor(" +
                             ortTypeName(it->second.type) + ")");
    if (input->type() == plan::ElementType::string)
      return Status::invalid("input '" + input->name()->str() + "': string tensors are not supported yet");
    ordered.push_back(&it->second);
  }
  return Status::success();
}

static uint64_t elements(const std::vector<int64_t> &shape) {
  uint64_t count = 1;
  for (int64_t dim : shape)
    count *= uint64_t(dim);
  return count;
}

Status Session::Impl::bind(const std::vector<const Array *> &inputs, Exprs &exprs, std::vector<int64_t> &key) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Array *input : inputs) {
    shapes.push_back(input->shape);
    key.insert(key.end(), input->shape.begin(), input->shape.end());
  }
  WEFT_TRY(bindShapes(plan, shapes, exprs));
  for (uint32_t s = 0; s < plan.symbols()->size(); ++s) {
    const plan::Symbol &symbol = *plan.symbols()->Get(s);
    if (symbol.kind() != plan::SymbolKind::input_element)
      continue;
    const Array &input = *inputs[symbol.input()];
    ExprValue value;
    if (symbol.index() >= elements(input.shape) || !readScalar(input.type, input.bytes.data(), symbol.index(), value.i, value.f))
      return Status::invalid("input '" + plan.inputs()->Get(symbol.input())->name()->str() + "' has no element " + std::to_string(symbol.index()) +
                             " that could be read as a number (shape " + shapeText(input.shape) + ")");
    exprs.setSymbol(s, value);
    int64_t bits;
    __builtin_memcpy(&bits, &value.f, 8);
    key.push_back(isFloat(input.type) ? bits : value.i);
  }
  return Status::success();
}

Status Session::Impl::find(const std::vector<const Array *> &inputs, Prepared *&out) {
  Prepared fresh;
  fresh.exprs = std::make_unique<Exprs>(plan);
  WEFT_TRY(bind(inputs, *fresh.exprs, fresh.key));
  bool reusable = Executor::isStraight(plan) && !device.checks();
  auto it = std::find_if(prepared.begin(), prepared.end(), [&](const Prepared &p) { return p.key == fresh.key; });
  if (it != prepared.end() && reusable) {
    prepared.splice(prepared.begin(), prepared, it);
    out = &prepared.front();
    return Status::success();
  }
  if (it != prepared.end()) {
    dropGraph(*it);
    prepared.erase(it);
  }
  fresh.executor = std::make_unique<Executor>(model, stream, *fresh.exprs);
  WEFT_TRY(fresh.executor->layout(fresh.arenaBytes));
  fresh.totalBytes = fresh.arenaBytes;
  for (const Array *input : inputs) {
    fresh.inputOffsets.push_back(fresh.totalBytes);
    fresh.totalBytes += (input->bytes.size() + 255) / 256 * 256;
  }
  if (prepared.size() >= maxPrepared) {
    dropGraph(prepared.back());
    prepared.pop_back();
  }
  prepared.push_front(std::move(fresh));
  out = &prepared.front();
  return Status::success();
}

Status Session::Impl::start(Prepared &p, const std::vector<const Array *> &inputs) {
  bool grown = false;
  WEFT_TRY(memory.reserve(p.totalBytes, grown));
  if (grown)
    dropGraphs();
  p.executor->setArena(memory.address());
  for (size_t i = 0; i < inputs.size(); ++i) {
    CUdeviceptr address = memory.address() + p.inputOffsets[i];
    if (device.checks()) {
      WEFT_CUDA(device.driver(), cuMemAlloc, &address, std::max<size_t>(inputs[i]->bytes.size(), 1));
      ownInputs.push_back(address);
    }
    p.executor->setInput(uint32_t(i), address);
    if (!inputs[i]->bytes.empty())
      WEFT_CUDA(device.driver(), cuMemcpyHtoDAsync, address, inputs[i]->bytes.data(), inputs[i]->bytes.size(), stream);
  }
  return Status::success();
}

Status Session::Impl::capture(Prepared &p) {
  WEFT_CUDA(device.driver(), cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  Status status = p.executor->run();
  CUgraph graph = nullptr;
  Status ended = device.driver().check(device.driver().cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  if (status.ok())
    status = ended;
  if (status.ok())
    status = device.driver().check(device.driver().cuGraphInstantiate(&p.graph, graph, 0), "cuGraphInstantiateWithFlags");
  if (graph)
    (void)device.driver().cuGraphDestroy(graph);
  return status;
}

Status Session::Impl::readOutputs(Prepared &p, std::vector<std::pair<std::string, Array>> &outputs) {
  for (const plan::InputOutput *output : *plan.outputs()) {
    Array array;
    array.type = output->type();
    for (uint32_t d = 0; output->dims() && d < output->dims()->size(); ++d) {
      int64_t dim;
      WEFT_TRY(p.exprs->get(output->dims()->Get(d), dim));
      if (dim < 0)
        return Status::invalid("output '" + output->name()->str() + "': dimension " + std::to_string(d) + " is negative (" + std::to_string(dim) + ")");
      array.shape.push_back(dim);
    }
    array.bytes.resize(byteSize(array.type, elements(array.shape)));
    if (!array.bytes.empty()) {
      CUdeviceptr source;
      WEFT_TRY(p.executor->address(output->tensor(), source));
      WEFT_CUDA(device.driver(), cuMemcpyDtoHAsync, array.bytes.data(), source, array.bytes.size(), stream);
    }
    outputs.emplace_back(output->name()->str(), std::move(array));
  }
  return device.explain(device.driver().check(device.driver().cuStreamSynchronize(stream), "cuStreamSynchronize"));
}

Status Session::run(const std::map<std::string, Array> &inputs, std::vector<std::pair<std::string, Array>> &outputs, RunStats *stats) {
  Impl &s = *impl;
  WEFT_TRY(s.device.enter());
  std::vector<const Array *> ordered;
  WEFT_TRY(s.orderInputs(inputs, ordered));
  if (!s.stream)
    WEFT_CUDA(s.device.driver(), cuStreamCreate, &s.stream, CU_STREAM_NON_BLOCKING);
  Prepared *p = nullptr;
  WEFT_TRY(s.find(ordered, p));
  auto begin = std::chrono::steady_clock::now();
  Status status = s.start(*p, ordered);
  if (status.ok() && Executor::isStraight(s.plan) && p->executor->isStatic()) {
    if (!p->graph)
      status = s.capture(*p);
    if (status.ok())
      status = s.device.explain(s.device.driver().check(s.device.driver().cuGraphLaunch(p->graph, s.stream), "cuGraphLaunch"));
  } else if (status.ok()) {
    status = p->executor->run();
  }
  std::vector<std::pair<std::string, Array>> results;
  if (status.ok())
    status = s.readOutputs(*p, results);
  for (CUdeviceptr address : s.ownInputs)
    (void)s.device.driver().cuMemFree(address);
  s.ownInputs.clear();
  WEFT_TRY(status);
  outputs = std::move(results);
  if (stats) {
    stats->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    stats->arenaBytes = p->arenaBytes;
  }
  return Status::success();
}

} // namespace weft
