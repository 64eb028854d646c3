// Runs over device memory: see Session.h. Runs over host memory stand in HostRun.cpp.
//
// What a run needs besides its data is prepared once per tuple of symbol values (input shapes, and the input elements that the
// host reads), and kept; the least recently used goes first. A straight plan becomes one CUDA graph: a run like an
// earlier one is one launch, and where addresses differ the graph's nodes are updated.
#include "runtime/SessionImpl.h"
#include <algorithm>

namespace weft {

static constexpr size_t maxPrepared = 16;

Session::Impl::Impl(Model &model)
    : model(model), device(model.device()), plan(model.plan()), pool(device), arena(device), outputMemory(device), inputMemory(device), staging(device) {}

Session::Impl::~Impl() {
  if (!device.enter().ok())
    return;
  if (stream)
    (void)device.driver().cuStreamSynchronize(stream);
  if (last && last != stream && done)
    (void)device.driver().cuEventSynchronize(done);
  dropEvents();
  prepared.clear();
  if (done)
    (void)device.driver().cuEventDestroy(done);
  if (stream)
    (void)device.driver().cuStreamDestroy(stream);
}

Status Session::Impl::start() {
  WEFT_TRY(device.enter());
  if (!stream)
    WEFT_CUDA(device.driver(), cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  if (!done)
    WEFT_CUDA(device.driver(), cuEventCreate, &done, CU_EVENT_DISABLE_TIMING);
  return Status::success();
}

Status elementCount(const std::vector<int64_t> &shape, uint64_t &count) {
  count = 1;
  bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (int64_t dim : shape)
    if (dim < 0 || (!empty && (__builtin_mul_overflow(count, uint64_t(dim), &count) || count > (uint64_t(1) << 56))))
      return Status::invalid("shape " + shapeText(shape) + " has more elements than fit any memory");
  if (empty)
    count = 0;
  return Status::success();
}

/// Values of the symbols that stand for elements of inputs. `key` tells one tuple of symbol values from another.
Status Session::Impl::bind(std::span<const DeviceArray> inputs, Exprs &exprs, std::vector<int64_t> &key) {
  std::vector<std::vector<int64_t>> shapes;
  for (const DeviceArray &input : inputs) {
    shapes.push_back(input.shape);
    key.insert(key.end(), input.shape.begin(), input.shape.end());
  }
  WEFT_TRY(bindShapes(plan, shapes, exprs));
  for (uint32_t s = 0; s < plan.symbols()->size(); ++s) {
    const plan::Symbol &symbol = *plan.symbols()->Get(s);
    if (symbol.kind() != plan::SymbolKind::input_element)
      continue;
    const DeviceArray &input = inputs[symbol.input()];
    const plan::InputOutput &end = *plan.inputs()->Get(symbol.input());
    uint64_t count, width = bitWidth(end.type()) / 8;
    WEFT_TRY(elementCount(input.shape, count));
    ExprValue value;
    uint8_t bytes[16] = {};
    bool readable = symbol.index() < count && width;
    if (readable && input.host) {
      std::copy_n(input.host + symbol.index() * width, width, bytes);
    } else if (readable) {
      WEFT_CUDA(device.driver(), cuMemcpyDtoHAsync, bytes, input.address + symbol.index() * width, width, current);
      WEFT_CUDA(device.driver(), cuStreamSynchronize, current);
    }
    if (!readable || !readScalar(end.type(), bytes, 0, value.i, value.f))
      return Status::invalid("input '" + end.name()->str() + "' has no element " + std::to_string(symbol.index()) +
                             " that could be read as a number (shape " + shapeText(input.shape) + ")");
    exprs.setSymbol(s, value);
    int64_t bits;
    __builtin_memcpy(&bits, &value.f, 8);
    key.push_back(isFloat(end.type()) ? bits : value.i);
  }
  return Status::success();
}

Status Session::Impl::find(std::span<const DeviceArray> inputs, Prepared *&out) {
  auto fresh = std::make_unique<Prepared>();
  fresh->exprs = std::make_unique<Exprs>(plan);
  WEFT_TRY(bind(inputs, *fresh->exprs, fresh->key));
  auto it = std::find_if(prepared.begin(), prepared.end(), [&](auto &p) { return p->key == fresh->key; });
  if (it != prepared.end()) {
    prepared.splice(prepared.begin(), prepared, it);
    out = prepared.front().get();
    return Status::success();
  }
  fresh->executor = std::make_unique<Executor>(model, *fresh->exprs, pool);
  WEFT_TRY(fresh->executor->layout());
  fresh->graph = std::make_unique<Graph>(device);
  if (prepared.size() >= maxPrepared)
    prepared.pop_back();
  prepared.push_front(std::move(fresh));
  out = prepared.front().get();
  return Status::success();
}

/// The kernels will read as many bytes as the plan says; the input must have them.
Status Session::Impl::checkInput(Prepared &p, uint32_t number, const DeviceArray &input, uint64_t &bytes) {
  const plan::InputOutput &end = *plan.inputs()->Get(number);
  uint64_t count, planned;
  WEFT_TRY(elementCount(input.shape, count));
  WEFT_TRY(p.executor->bytesOf(end.tensor(), planned));
  bytes = byteSize(end.type(), count);
  if (planned > bytes)
    return Status::invalid("input '" + end.name()->str() + "' has " + std::to_string(bytes) + " bytes, the plan reads " + std::to_string(planned));
  return Status::success();
}

Status Session::Impl::setOutputs(Prepared &p, std::span<const DeviceMemory> outputs) {
  uint64_t total = 0;
  std::vector<uint64_t> offsets(plan.outputs()->size(), UINT64_MAX), sizes(offsets.size(), 0);
  for (uint32_t n = 0; n < offsets.size(); ++n) {
    uint32_t tensor = plan.outputs()->Get(n)->tensor();
    if ((n < outputs.size() && outputs[n].address) || plan.tensors()->Get(tensor)->storage() != plan::Storage::output || device.checks())
      continue;
    // Of a size that only the run can tell: the executor finds memory.
    if (!p.executor->bytesOf(tensor, sizes[n]).ok())
      continue;
    if (sizes[n] > (uint64_t(1) << 56))
      return Status::machine("output '" + plan.outputs()->Get(n)->name()->str() + "' has more bytes than any memory");
    offsets[n] = total;
    total += (sizes[n] + 255) / 256 * 256;
  }
  if (total)
    WEFT_TRY(outputMemory.reserve(total, current));
  for (uint32_t n = 0; n < offsets.size(); ++n) {
    if (offsets[n] != UINT64_MAX)
      p.executor->setOutput(n, outputMemory.address() + offsets[n], sizes[n]);
    else
      p.executor->setOutput(n, n < outputs.size() ? outputs[n].address : 0, n < outputs.size() ? outputs[n].bytes : 0);
    uint64_t bytes;
    uint32_t tensor = plan.outputs()->Get(n)->tensor();
    if (n < outputs.size() && outputs[n].address && p.executor->bytesOf(tensor, bytes).ok() && bytes > outputs[n].bytes)
      return Status::invalid("output '" + plan.outputs()->Get(n)->name()->str() + "' has " + std::to_string(bytes) +
                             " bytes, more than the memory given for it (" + std::to_string(outputs[n].bytes) + ")");
  }
  return Status::success();
}

Status Session::Impl::enqueue(std::span<const DeviceArray> inputs, std::span<const DeviceMemory> outputs, const DeviceMemory &givenArena) {
  if (inputs.size() != plan.inputs()->size())
    return Status::invalid("the model has " + std::to_string(plan.inputs()->size()) + " inputs, given are " + std::to_string(inputs.size()));
  if (!outputs.empty() && outputs.size() != plan.outputs()->size())
    return Status::invalid("the model has " + std::to_string(plan.outputs()->size()) + " outputs, memory is given for " + std::to_string(outputs.size()));
  // The session's memory is used in the order of its runs.
  if (last && last != current)
    WEFT_CUDA(device.driver(), cuStreamWaitEvent, current, done, 0);
  ran = nullptr;
  Prepared *p = nullptr;
  WEFT_TRY(find(inputs, p));
  for (auto &other : prepared) // their memory may be needed, and what they found out is of no use
    if (!other->executor->isStraight())
      other->executor->begin();
  CUdeviceptr base = givenArena.address;
  if (!base) {
    WEFT_TRY(arena.reserve(p->executor->arenaBytes(), current));
    base = arena.address();
  } else if (givenArena.bytes < p->executor->arenaBytes() || base % 256) {
    return Status::invalid("the arena given has " + std::to_string(givenArena.bytes) + " bytes, this run needs " +
                           std::to_string(p->executor->arenaBytes()) + " aligned to 256");
  }
  p->executor->setArena(base);
  std::vector<CUdeviceptr> addresses{base, arena.address(), outputMemory.address()};
  for (uint32_t n = 0; n < inputs.size(); ++n) {
    uint64_t bytes;
    WEFT_TRY(checkInput(*p, n, inputs[n], bytes));
    p->executor->setInput(n, inputs[n].address, bytes);
    addresses.push_back(inputs[n].address);
  }
  WEFT_TRY(setOutputs(*p, outputs));
  addresses[2] = outputMemory.address();
  for (const DeviceMemory &output : outputs)
    addresses.push_back(output.address);
  Status status = profiling || !p->executor->isStraight() ? runCommands(*p) : runGraph(*p, std::move(addresses));
  last = current;
  (void)device.driver().cuEventRecord(done, current);
  WEFT_TRY(status);
  ran = p;
  return Status::success();
}

Status Session::Impl::runGraph(Prepared &p, std::vector<CUdeviceptr> addresses) {
  if (!p.graph->isSet() || p.addresses != addresses) {
    std::vector<Command> commands;
    WEFT_TRY(p.executor->run(current, [&](Command &&command) {
      commands.push_back(std::move(command));
      return Status::success();
    }));
    WEFT_TRY(p.graph->set(std::move(commands)));
    p.addresses = std::move(addresses);
  }
  return p.graph->launch(current);
}

Status Session::Impl::runCommands(Prepared &p) {
  dropEvents();
  return p.executor->run(current, [&](Command &&command) {
    if (!profiling)
      return issue(device, current, command);
    CUevent begin = nullptr, end = nullptr;
    WEFT_CUDA(device.driver(), cuEventCreate, &begin, CU_EVENT_DEFAULT);
    events.push_back({command.name.empty() ? (command.kind == Command::copy ? "copy" : "fill") : command.name, begin, nullptr});
    WEFT_CUDA(device.driver(), cuEventRecord, begin, current);
    WEFT_TRY(issue(device, current, command));
    WEFT_CUDA(device.driver(), cuEventCreate, &end, CU_EVENT_DEFAULT);
    events.back().end = end;
    return device.driver().check(device.driver().cuEventRecord(end, current), "cuEventRecord");
  });
}

void Session::Impl::dropEvents() {
  for (Event &event : events)
    for (CUevent e : {event.begin, event.end})
      if (e)
        (void)device.driver().cuEventDestroy(e);
  events.clear();
}

Status Session::Impl::readEvents(std::vector<ProfileEvent> &out) {
  for (Event &event : events) {
    float begin = 0, duration = 0;
    WEFT_CUDA(device.driver(), cuEventElapsedTime, &begin, events.front().begin, event.begin);
    WEFT_CUDA(device.driver(), cuEventElapsedTime, &duration, event.begin, event.end);
    out.push_back({event.name, begin, duration});
  }
  return Status::success();
}

Status Session::Impl::outputShape(uint32_t number, std::vector<int64_t> &shape, uint64_t &bytes) {
  const plan::InputOutput &output = *plan.outputs()->Get(number);
  shape.clear();
  for (uint32_t d = 0; output.dims() && d < output.dims()->size(); ++d) {
    int64_t dim;
    WEFT_TRY(ran->exprs->get(output.dims()->Get(d), dim));
    if (dim < 0)
      return Status::invalid("output '" + output.name()->str() + "': dimension " + std::to_string(d) + " is negative (" + std::to_string(dim) + ")");
    shape.push_back(dim);
  }
  uint64_t count, held;
  WEFT_TRY(elementCount(shape, count));
  WEFT_TRY(ran->executor->bytesOf(output.tensor(), held));
  bytes = byteSize(output.type(), count);
  if (bytes > held)
    return Status::invalid("output '" + output.name()->str() + "' of shape " + shapeText(shape) + " has more bytes than its tensor (" + std::to_string(held) + ")");
  return Status::success();
}

//===----------------------------------------------------------------------===//
// The public class
//===----------------------------------------------------------------------===//

Session::Session(Model &model) : impl(std::make_unique<Impl>(model)) {}
Session::~Session() = default;
void Session::setProfiling(bool on) { impl->profiling = on; }
Model &Session::model() const { return impl->model; }

Status Session::enqueue(std::span<const DeviceArray> inputs, std::span<const DeviceMemory> outputs, const EnqueueOptions &options) {
  WEFT_TRY(impl->start());
  impl->current = options.stream ? options.stream : impl->stream;
  return impl->enqueue(inputs, outputs, options.arena);
}

Status Session::output(uint32_t number, DeviceMemory &memory, std::vector<int64_t> &shape) {
  if (!impl->ran)
    return Status::invalid("the session has not run");
  if (number >= impl->plan.outputs()->size())
    return Status::invalid("the model has no output " + std::to_string(number));
  WEFT_TRY(impl->device.enter());
  WEFT_TRY(impl->outputShape(number, shape, memory.bytes));
  memory.address = 0;
  return memory.bytes ? impl->ran->executor->address(impl->plan.outputs()->Get(number)->tensor(), memory.address) : Status::success();
}

Status Session::synchronize() {
  Impl &s = *impl;
  if (!s.last)
    return Status::success();
  WEFT_TRY(s.device.enter());
  Status status = s.device.explain(s.device.driver().check(s.device.driver().cuStreamSynchronize(s.last), "cuStreamSynchronize"));
  if (!status.ok())
    status.message = s.model.withNode(std::move(status.message));
  return status;
}

Status Session::arenaBytes(const std::vector<std::vector<int64_t>> &shapes, uint64_t &bytes) {
  Exprs exprs(impl->plan);
  if (shapes.size() != impl->plan.inputs()->size())
    return Status::invalid("the model has " + std::to_string(impl->plan.inputs()->size()) + " inputs, given are " + std::to_string(shapes.size()) + " shapes");
  WEFT_TRY(bindShapes(impl->plan, shapes, exprs));
  Executor executor(impl->model, exprs, impl->pool);
  WEFT_TRY(executor.layout());
  bytes = executor.arenaBytes();
  return Status::success();
}

} // namespace weft
