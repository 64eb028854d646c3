// The C API over the C++ classes: see weft_runtime.h. Checks what a caller may get wrong, converts, and nothing else.
#include "runtime/Session.h"
#include "runtime/weft_runtime.h"
#include <algorithm>
#include <cstring>
#include <new>

using namespace weft;

struct weft_status {
  int code;
  std::string message;
};

namespace {
struct Info {
  std::vector<int64_t> dims;
  std::vector<const char *> names;
};
/// Everything that a session needs to outlive its model's handle.
struct Loaded {
  std::unique_ptr<Artifact> artifact;
  std::unique_ptr<Device> device;
  std::unique_ptr<Model> model;
  std::string description;
  std::vector<Info> inputs, outputs;
};

weft_status *fail(int code, std::string message) { return new weft_status{code, std::move(message)}; }
weft_status *usage(std::string message) { return fail(WEFT_USAGE, std::move(message)); }
weft_status *convert(Status status) { return status.ok() ? nullptr : fail(int(status.code), std::move(status.message)); }
} // namespace

struct weft_model {
  std::shared_ptr<Loaded> loaded;
};
struct weft_session {
  std::shared_ptr<Loaded> loaded;
  Session session;
  std::vector<std::pair<std::string, Array>> results;
};

#define WEFT_NOT_NULL(pointer)                                                                                         \
  if (!(pointer))                                                                                                      \
  return usage(std::string(__func__) + ": " #pointer " is null")

uint32_t weft_runtime_abi_version(void) { return WEFT_RUNTIME_ABI_VERSION; }
int weft_status_code(const weft_status *status) { return status ? status->code : WEFT_OK; }
const char *weft_status_message(const weft_status *status) { return status ? status->message.c_str() : ""; }
void weft_status_free(weft_status *status) { delete status; }

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static std::vector<Info> infosOf(const plan::Plan &plan, const flatbuffers::Vector<flatbuffers::Offset<plan::InputOutput>> &ends) {
  std::vector<Info> infos;
  Exprs exprs(plan);
  for (const plan::InputOutput *end : ends) {
    Info info;
    for (uint32_t d = 0; end->dims() && d < end->dims()->size(); ++d) {
      int64_t value;
      info.dims.push_back(exprs.get(end->dims()->Get(d), value).ok() ? value : -1);
      info.names.push_back(end->dim_names() && d < end->dim_names()->size() ? end->dim_names()->Get(d)->c_str() : "");
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

weft_status *weft_model_load(const char *path, const weft_device_options *options, weft_model **model) {
  WEFT_NOT_NULL(path);
  WEFT_NOT_NULL(model);
  *model = nullptr;
  weft_device_options chosen = {};
  if (options) {
    if (options->size < offsetof(weft_device_options, log) || options->size > 4096)
      return usage("weft_model_load: options->size is not the size of weft_device_options");
    std::memcpy(&chosen, options, std::min(options->size, sizeof chosen));
  }
  if (chosen.kind < WEFT_DEVICE_CUDA || chosen.kind > WEFT_DEVICE_AUTO || chosen.ordinal < 0)
    return usage("weft_model_load: there is no such kind or number of device");
  auto loaded = std::make_shared<Loaded>();
  if (Status status = Artifact::open(path, loaded->artifact); !status.ok())
    return convert(std::move(status));
  const plan::Plan &plan = loaded->artifact->plan();
  DeviceOptions device;
  device.spec.kind = chosen.kind == WEFT_DEVICE_CUDA ? DeviceSpec::cuda : chosen.kind == WEFT_DEVICE_EMULATOR ? DeviceSpec::emulator : DeviceSpec::automatic;
  device.spec.ordinals = {chosen.ordinal};
  device.spec.count = std::min(chosen.ordinal, 63) + 1;
  if (chosen.emulator_sm)
    device.spec.sm = chosen.emulator_sm;
  if (plan.targets()->size())
    device.defaultSm = plan.targets()->Get(plan.targets()->size() - 1)->str();
  if (Status status = Device::open(device, loaded->device); !status.ok())
    return convert(std::move(status));
  if (Status status = Model::load(*loaded->artifact, *loaded->device, loaded->model); !status.ok())
    return convert(std::move(status));
  loaded->description = loaded->device->description();
  loaded->inputs = infosOf(plan, *plan.inputs());
  loaded->outputs = infosOf(plan, *plan.outputs());
  if (chosen.log)
    chosen.log(chosen.log_data, (std::string(path) + ": on " + loaded->description + ", image " + loaded->model->imageUsed()).c_str());
  *model = new weft_model{std::move(loaded)};
  return nullptr;
}

void weft_model_free(weft_model *model) { delete model; }
const char *weft_model_device(const weft_model *model) { return model ? model->loaded->description.c_str() : ""; }
const char *weft_model_image(const weft_model *model) { return model ? model->loaded->model->imageUsed().c_str() : ""; }
size_t weft_model_input_count(const weft_model *model) { return model ? model->loaded->inputs.size() : 0; }
size_t weft_model_output_count(const weft_model *model) { return model ? model->loaded->outputs.size() : 0; }

static void describe(const plan::InputOutput &end, const Info &info, weft_tensor_info *out) {
  out->name = end.name()->c_str();
  out->type = int(end.type());
  out->rank = info.dims.size();
  out->dims = info.dims.data();
  out->dim_names = info.names.data();
  out->alias_input = end.alias_input();
}

weft_status *weft_model_input(const weft_model *model, size_t number, weft_tensor_info *info) {
  WEFT_NOT_NULL(model);
  WEFT_NOT_NULL(info);
  if (number >= model->loaded->inputs.size())
    return usage("the model has no input " + std::to_string(number));
  describe(*model->loaded->model->plan().inputs()->Get(uint32_t(number)), model->loaded->inputs[number], info);
  return nullptr;
}

weft_status *weft_model_output(const weft_model *model, size_t number, weft_tensor_info *info) {
  WEFT_NOT_NULL(model);
  WEFT_NOT_NULL(info);
  if (number >= model->loaded->outputs.size())
    return usage("the model has no output " + std::to_string(number));
  describe(*model->loaded->model->plan().outputs()->Get(uint32_t(number)), model->loaded->outputs[number], info);
  return nullptr;
}

static weft_status *shapesOf(const Loaded &loaded, const weft_shape *inputs, size_t count, std::vector<std::vector<int64_t>> &shapes) {
  if (count != loaded.inputs.size())
    return usage("the model has " + std::to_string(loaded.inputs.size()) + " inputs, given are " + std::to_string(count));
  if (count && !inputs)
    return usage("inputs is null");
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i].rank && !inputs[i].dims)
      return usage("the shape of input " + std::to_string(i) + " is null");
    shapes.emplace_back(inputs[i].dims, inputs[i].dims + inputs[i].rank);
  }
  return nullptr;
}

static weft_status *giveShape(const std::vector<int64_t> &shape, int64_t *dims, size_t *rank) {
  size_t room = *rank;
  *rank = shape.size();
  if (room < shape.size() || (!dims && !shape.empty()))
    return usage("the output has rank " + std::to_string(shape.size()) + ", there is room for " + std::to_string(dims ? room : 0));
  std::copy(shape.begin(), shape.end(), dims);
  return nullptr;
}

static weft_status *describeFor(const weft_model *model, const weft_shape *inputs, size_t count, uint64_t &arena, std::vector<std::vector<int64_t>> &outputs) {
  std::vector<std::vector<int64_t>> shapes;
  if (weft_status *status = shapesOf(*model->loaded, inputs, count, shapes))
    return status;
  const plan::Plan &plan = model->loaded->model->plan();
  std::map<std::string, std::vector<int64_t>> named;
  for (size_t i = 0; i < count; ++i)
    named[plan.inputs()->Get(uint32_t(i))->name()->str()] = shapes[i];
  uint64_t live;
  return convert(describeShapes(plan, named, arena, live, outputs));
}

weft_status *weft_model_output_shape(const weft_model *model, const weft_shape *inputs, size_t input_count, size_t number, int64_t *dims, size_t *rank) {
  WEFT_NOT_NULL(model);
  WEFT_NOT_NULL(rank);
  if (number >= model->loaded->outputs.size())
    return usage("the model has no output " + std::to_string(number));
  uint64_t arena;
  std::vector<std::vector<int64_t>> outputs;
  if (weft_status *status = describeFor(model, inputs, input_count, arena, outputs))
    return status;
  return giveShape(outputs[number], dims, rank);
}

weft_status *weft_model_arena_bytes(const weft_model *model, const weft_shape *inputs, size_t input_count, uint64_t *bytes) {
  WEFT_NOT_NULL(model);
  WEFT_NOT_NULL(bytes);
  std::vector<std::vector<int64_t>> outputs;
  return describeFor(model, inputs, input_count, *bytes, outputs);
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

weft_status *weft_session_create(weft_model *model, weft_session **session) {
  WEFT_NOT_NULL(model);
  WEFT_NOT_NULL(session);
  *session = new weft_session{model->loaded, Session(*model->loaded->model), {}};
  return nullptr;
}
void weft_session_free(weft_session *session) { delete session; }

weft_status *weft_session_run(weft_session *session, const weft_host_tensor *inputs, size_t input_count) {
  WEFT_NOT_NULL(session);
  const plan::Plan &plan = session->loaded->model->plan();
  std::vector<weft_shape> given;
  for (size_t i = 0; inputs && i < input_count; ++i)
    given.push_back(inputs[i].shape);
  std::vector<std::vector<int64_t>> shapes;
  if (weft_status *status = shapesOf(*session->loaded, inputs ? given.data() : nullptr, input_count, shapes))
    return status;
  std::map<std::string, Array> arrays;
  for (size_t i = 0; i < input_count; ++i) {
    const plan::InputOutput &end = *plan.inputs()->Get(uint32_t(i));
    if (!inputs[i].data && !inputs[i].bytes && !inputs[i].shape.rank && end.default_constant() >= 0)
      continue;
    if (inputs[i].bytes && !inputs[i].data)
      return usage("the data of input " + std::to_string(i) + " is null");
    auto *data = static_cast<const uint8_t *>(inputs[i].data);
    Array &array = arrays[end.name()->str()];
    array.type = end.type();
    array.shape = shapes[i];
    array.bytes.assign(data, data + inputs[i].bytes);
  }
  session->results.clear();
  return convert(session->session.run(arrays, session->results));
}

weft_status *weft_session_result(const weft_session *session, size_t number, weft_host_tensor *tensor) {
  WEFT_NOT_NULL(session);
  WEFT_NOT_NULL(tensor);
  if (number >= session->results.size())
    return usage("there is no output " + std::to_string(number) + " of a run over host memory");
  const Array &array = session->results[number].second;
  *tensor = {array.bytes.data(), array.bytes.size(), {array.shape.size(), array.shape.data()}};
  return nullptr;
}

weft_status *weft_session_enqueue(weft_session *session, const weft_device_tensor *inputs, size_t input_count, const weft_device_memory *outputs,
                                  size_t output_count, const weft_enqueue_options *options) {
  WEFT_NOT_NULL(session);
  weft_enqueue_options chosen = {};
  if (options) {
    if (options->size < offsetof(weft_enqueue_options, arena) || options->size > 4096)
      return usage("weft_session_enqueue: options->size is not the size of weft_enqueue_options");
    std::memcpy(&chosen, options, std::min(options->size, sizeof chosen));
  }
  std::vector<weft_shape> given;
  for (size_t i = 0; inputs && i < input_count; ++i)
    given.push_back(inputs[i].shape);
  std::vector<std::vector<int64_t>> shapes;
  if (weft_status *status = shapesOf(*session->loaded, inputs ? given.data() : nullptr, input_count, shapes))
    return status;
  if (outputs && output_count != session->loaded->outputs.size())
    return usage("the model has " + std::to_string(session->loaded->outputs.size()) + " outputs, given are " + std::to_string(output_count));
  std::vector<DeviceArray> arrays;
  for (size_t i = 0; i < input_count; ++i)
    arrays.push_back({inputs[i].address, std::move(shapes[i]), static_cast<const uint8_t *>(inputs[i].host)});
  std::vector<DeviceMemory> memory;
  for (size_t i = 0; outputs && i < output_count; ++i)
    memory.push_back({outputs[i].address, outputs[i].bytes});
  session->results.clear();
  return convert(session->session.enqueue(arrays, memory, {static_cast<CUstream>(chosen.stream), {chosen.arena.address, chosen.arena.bytes}}));
}

weft_status *weft_session_output(weft_session *session, size_t number, weft_device_memory *memory, int64_t *dims, size_t *rank) {
  WEFT_NOT_NULL(session);
  WEFT_NOT_NULL(memory);
  WEFT_NOT_NULL(rank);
  DeviceMemory found;
  std::vector<int64_t> shape;
  if (number > UINT32_MAX)
    return usage("the model has no output " + std::to_string(number));
  if (Status status = session->session.output(uint32_t(number), found, shape); !status.ok())
    return convert(std::move(status));
  *memory = {found.address, found.bytes};
  return giveShape(shape, dims, rank);
}

weft_status *weft_session_synchronize(weft_session *session) {
  WEFT_NOT_NULL(session);
  return convert(session->session.synchronize());
}
