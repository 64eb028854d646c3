// Runs over host memory: copies in through page-locked memory, a run, copies out.
#include "runtime/SessionImpl.h"
#include <algorithm>
#include <chrono>
#include <cstring>

namespace weft {

/// The value of an input that a run leaves out: its default, where it has one.
Status Session::Impl::defaultOf(const plan::InputOutput &input, const Array *&array) {
  if (input.default_constant() < 0)
    return Status::invalid("input '" + input.name()->str() + "' is missing");
  std::span<const uint8_t> bytes;
  WEFT_TRY(model.readConstant(uint32_t(input.default_constant()), bytes));
  Array &value = defaults[input.name()->str()];
  value.type = input.type();
  if (input.default_dims())
    value.shape.assign(input.default_dims()->begin(), input.default_dims()->end());
  value.bytes.assign(bytes.begin(), bytes.end());
  array = &value;
  return Status::success();
}

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
    std::string name = input->name()->str();
    auto it = inputs.find(name);
    const Array *given = it == inputs.end() ? nullptr : &it->second;
    if (!given)
      WEFT_TRY(defaultOf(*input, given));
    const Array &array = *given;
    if (array.type != input->type())
      return Status::invalid("input '" + name + "': expected tensor(" + ortTypeName(input->type()) + "), found tensor(" + ortTypeName(array.type) + ")");
    if (input->type() == plan::ElementType::string)
      return Status::invalid("input '" + name + "': string tensors are not supported yet");
    uint64_t count;
    WEFT_TRY(elementCount(array.shape, count));
    if (array.bytes.size() != byteSize(array.type, count))
      return Status::invalid("input '" + name + "': shape " + shapeText(array.shape) + " needs " + std::to_string(byteSize(array.type, count)) + " bytes, found " +
                             std::to_string(array.bytes.size()));
    ordered.push_back(&array);
  }
  return Status::success();
}

static uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

Status Session::Impl::upload(const std::vector<const Array *> &inputs, std::vector<DeviceArray> &arrays) {
  uint64_t total = 0;
  for (const Array *input : inputs)
    total += aligned(input->bytes.size());
  WEFT_TRY(staging.reserve(total));
  if (!device.checks())
    WEFT_TRY(inputMemory.reserve(total, current));
  uint64_t offset = 0;
  for (const Array *input : inputs) {
    DeviceArray array{inputMemory.address() + offset, input->shape, input->bytes.data()};
    size_t bytes = input->bytes.size();
    if (device.checks()) {
      WEFT_TRY(pool.take(bytes, array.address));
      ownInputs.push_back(array.address);
    }
    if (bytes) {
      std::memcpy(staging.data() + offset, input->bytes.data(), bytes);
      WEFT_CUDA(device.driver(), cuMemcpyHtoDAsync, array.address, staging.data() + offset, bytes, current);
    }
    offset += aligned(bytes);
    arrays.push_back(std::move(array));
  }
  return Status::success();
}

void Session::Impl::dropOwnInputs() {
  for (CUdeviceptr address : ownInputs)
    pool.give(address);
  ownInputs.clear();
}

Status Session::Impl::download(std::vector<std::pair<std::string, Array>> &outputs) {
  uint64_t total = 0;
  std::vector<uint64_t> offsets;
  for (uint32_t n = 0; n < plan.outputs()->size(); ++n) {
    const plan::InputOutput &output = *plan.outputs()->Get(n);
    if (output.type() == plan::ElementType::string)
      return Status::invalid("output '" + output.name()->str() + "': string tensors are not supported yet");
    Array array;
    array.type = output.type();
    uint64_t bytes;
    WEFT_TRY(outputShape(n, array.shape, bytes));
    CUdeviceptr address;
    if (bytes) // the device has that much memory, or there would be no address: so has, in all likelihood, the host
      WEFT_TRY(ran->executor->address(output.tensor(), address));
    offsets.push_back(total);
    total += aligned(bytes);
    array.bytes.resize(bytes);
    outputs.emplace_back(output.name()->str(), std::move(array));
  }
  // The staging area still holds the inputs, which may be on their way.
  WEFT_TRY(device.explain(device.driver().check(device.driver().cuStreamSynchronize(current), "cuStreamSynchronize")));
  WEFT_TRY(staging.reserve(total));
  for (uint32_t n = 0; n < outputs.size(); ++n) {
    CUdeviceptr address;
    if (size_t bytes = outputs[n].second.bytes.size()) {
      WEFT_TRY(ran->executor->address(plan.outputs()->Get(n)->tensor(), address));
      WEFT_CUDA(device.driver(), cuMemcpyDtoHAsync, staging.data() + offsets[n], address, bytes, current);
    }
  }
  WEFT_TRY(device.explain(device.driver().check(device.driver().cuStreamSynchronize(current), "cuStreamSynchronize")));
  for (uint32_t n = 0; n < outputs.size(); ++n)
    if (Array &array = outputs[n].second; !array.bytes.empty())
      std::memcpy(array.bytes.data(), staging.data() + offsets[n], array.bytes.size());
  return Status::success();
}

Status Session::run(const std::map<std::string, Array> &inputs, std::vector<std::pair<std::string, Array>> &outputs, RunStats *stats) {
  Impl &s = *impl;
  std::vector<const Array *> ordered;
  WEFT_TRY(s.orderInputs(inputs, ordered));
  WEFT_TRY(s.start());
  s.current = s.stream;
  auto begin = std::chrono::steady_clock::now();
  std::vector<DeviceArray> arrays;
  std::vector<std::pair<std::string, Array>> results;
  Status status = s.upload(ordered, arrays);
  if (status.ok())
    status = s.enqueue(arrays, {}, {});
  if (status.ok())
    status = s.download(results);
  else
    (void)s.device.driver().cuStreamSynchronize(s.current); // copies from the staging area may be on their way
  s.dropOwnInputs();
  if (status.code == Code::machine)
    status.message = model().withNode(std::move(status.message));
  if (stats && status.ok()) {
    stats->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    stats->arenaBytes = s.ran->executor->arenaBytes();
    if (s.profiling)
      status = s.readEvents(stats->events);
  }
  WEFT_TRY(status);
  outputs = std::move(results);
  return Status::success();
}

} // namespace weft
