// The driver's state object, and what it reports: counters, findings, the last failure (emulator/Emulator.h).
#include "emulator/Emulator.h"
#include "emulator/driver/Api.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::emu {

State &State::get() {
  static State *state = new State;
  return *state;
}

static void writeCounters() {
  State &state = State::get();
  Lock lock(state.mutex);
  std::string json = state.countersJson();
  std::FILE *file = std::fopen(state.settings.countersFile.c_str(), "w");
  bool good = file && std::fwrite(json.data(), 1, json.size(), file) == json.size();
  if (file)
    good &= std::fclose(file) == 0;
  if (!good) // nobody is left to return an error to
    std::fprintf(stderr, "emulator: cannot write %s\n", state.settings.countersFile.c_str());
}

CUresult State::initialize() {
  if (initialized)
    return CUDA_SUCCESS;
  if (!settings.bad.empty()) {
    lastMessage = settings.bad;
    return CUDA_ERROR_INVALID_VALUE;
  }
  initialized = true;
  settings.launch.check = settings.check;
  settings.launch.counters = settings.counters;
  for (int i = 0; i < settings.devices; ++i) {
    const GpuInfo *gpu = settings.gpus[i % settings.gpus.size()];
    memories.push_back(std::make_unique<DeviceMemory>(i, settings.memory ? settings.memory : gpu->memory, settings.check, settings.poison));
    devices.push_back(std::make_unique<Device>(Device{}));
    Device &device = *devices.back();
    device.ordinal = unsigned(i);
    device.gpu = gpu;
    device.defaultPool = device.currentPool = pools.add(std::make_shared<Pool>(Pool{nullptr, unsigned(i)}));
  }
  if (!settings.countersFile.empty())
    std::atexit(writeCounters);
  return CUDA_SUCCESS;
}

void State::addFinding(std::string text) {
  if (knownFindings.insert(text).second)
    findings.push_back(std::move(text));
}

static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "\"";
}

static std::string toJson(const Dim3 &d) { return "[" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + "]"; }

static std::string toJson(const KernelRecord &record) {
  const LaunchCounters &c = record.counters;
  std::string json = "{\"kernel\": " + quoted(record.name) + ", \"device\": " + std::to_string(record.device) + ", \"grid\": " + toJson(record.grid) +
                     ", \"block\": " + toJson(record.block);
  auto field = [&](const char *name, uint64_t value) { json += std::string(", \"") + name + "\": " + std::to_string(value); };
  field("instructions", c.instructions);
  field("thread_instructions", c.threadInstructions);
  field("global_bytes", c.globalLoadBytes + c.globalStoreBytes);
  field("global_load_bytes", c.globalLoadBytes);
  field("global_store_bytes", c.globalStoreBytes);
  field("global_accesses", c.globalAccesses);
  field("sectors", c.globalSectors);
  field("shared_bytes", c.sharedBytes);
  field("shared_accesses", c.sharedAccesses);
  field("bank_conflicts", c.bankConflicts);
  field("atomics", c.atomics);
  field("barriers", c.barriers);
  json += ", \"mix\": {";
  const char *separator = "";
  for (auto &[opcode, count] : c.mix) {
    json += separator + quoted(opcode) + ": " + std::to_string(count);
    separator = ", ";
  }
  return json + "}}";
}

std::string State::countersJson() const {
  std::string json = "{\"launches\": " + std::to_string(launches) + ", \"kernels\": [";
  const char *separator = "\n  ";
  for (const KernelRecord &record : records) {
    json += separator + toJson(record);
    separator = ",\n  ";
  }
  return json + "]}\n";
}

} // namespace weft::emu

using namespace weft::emu;

static int give(const std::string &text, char *buffer, size_t *size) {
  size_t capacity = *size;
  *size = text.size() + 1;
  if (!buffer || capacity < *size)
    return 1;
  std::memcpy(buffer, text.c_str(), *size);
  return 0;
}

WEFT_EXPORT int weftEmuConfigure(const char *key, const char *value) {
  State &state = State::get();
  Lock lock(state.mutex);
  return state.initialized || !key || !value || !state.settings.set(key, value);
}

WEFT_EXPORT int weftEmuCountersJson(char *buffer, size_t *size) {
  State &state = State::get();
  Lock lock(state.mutex);
  return give(state.countersJson(), buffer, size);
}

WEFT_EXPORT void weftEmuResetCounters(void) {
  State &state = State::get();
  Lock lock(state.mutex);
  state.records.clear();
  state.launches = 0;
}

WEFT_EXPORT int weftEmuFindings(char *buffer, size_t *size) {
  State &state = State::get();
  Lock lock(state.mutex);
  std::string text;
  for (const std::string &finding : state.findings)
    text += finding + "\n";
  return give(text, buffer, size);
}

WEFT_EXPORT void weftEmuResetFindings(void) {
  State &state = State::get();
  Lock lock(state.mutex);
  state.findings.clear();
  state.knownFindings.clear();
}

WEFT_EXPORT int weftEmuLastError(char *buffer, size_t *size) {
  State &state = State::get();
  Lock lock(state.mutex);
  return give(state.lastMessage, buffer, size);
}
