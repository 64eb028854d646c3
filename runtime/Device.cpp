// Devices: see Device.h.
#include "runtime/Device.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace weft {

static bool parseInt(std::string_view text, int &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

static Status parseEmulator(std::string_view text, std::string_view rest, DeviceSpec &spec) {
  spec.kind = DeviceSpec::emulator;
  size_t at = rest.find('@');
  if (at != std::string_view::npos) {
    spec.sm = std::string(rest.substr(at + 1));
    rest = rest.substr(0, at);
    if (spec.sm.rfind("sm_", 0) != 0)
      return Status::invalid("--device=" + std::string(text) + ": expected an architecture such as sm_80 after '@'");
  }
  if (rest.empty())
    return Status::success();
  if (rest[0] != ':' || !parseInt(rest.substr(1), spec.count) || spec.count < 1 || spec.count > 64)
    return Status::invalid("--device=" + std::string(text) + ": expected a count from 1 to 64 after 'emulator:'");
  return Status::success();
}

Status parseDeviceSpec(std::string_view text, DeviceSpec &spec) {
  spec = {};
  if (text == "auto")
    return Status::success();
  if (text.rfind("emulator", 0) == 0)
    return parseEmulator(text, text.substr(8), spec);
  if (text.rfind("cuda", 0) == 0 && (text.size() == 4 || text[4] == ':')) {
    spec.kind = DeviceSpec::cuda;
    for (size_t begin = 5; begin < text.size() + 1 && text.size() > 4;) {
      size_t end = std::min(text.find(',', begin), text.size());
      int ordinal;
      if (!parseInt(text.substr(begin, end - begin), ordinal))
        return Status::invalid("--device=" + std::string(text) + ": expected device numbers after 'cuda:'");
      spec.ordinals.push_back(ordinal);
      begin = end + 1;
    }
    return Status::success();
  }
  return Status::invalid("--device=" + std::string(text) + ": expected auto, cuda[:ORDINAL,...] or emulator[:N][@sm_XX]");
}

/// The emulator's library: WEFT_EMULATOR_LIBRARY, or beside the running program.
static std::string emulatorLibrary() {
  if (const char *path = std::getenv("WEFT_EMULATOR_LIBRARY"))
    return path;
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path().parent_path() / "lib" / "emulator" / "libcuda.so.1").string();
}

Status Device::open(const DeviceOptions &options, std::unique_ptr<Device> &out) {
  std::unique_ptr<Device> device(new Device);
  const char *library = std::getenv("WEFT_CUDA_LIBRARY");
  if (options.spec.kind != DeviceSpec::emulator) {
    Status status = Driver::load(library ? library : "libcuda.so.1", device->api);
    int count = 0;
    if (status.ok())
      status = device->api->check(device->api->cuInit(0), "cuInit");
    if (status.ok())
      status = device->api->check(device->api->cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (status.ok() && count == 0)
      status = Status::machine("the CUDA driver finds no device");
    if (status.ok() || options.spec.kind == DeviceSpec::cuda) {
      WEFT_TRY(status);
      device->ordinal = options.spec.ordinals.empty() ? 0 : options.spec.ordinals[0];
      if (device->ordinal >= count)
        return Status::machine("there is no CUDA device " + std::to_string(device->ordinal) + ": the driver finds " + std::to_string(count));
      WEFT_TRY(device->start(options));
      out = std::move(device);
      return Status::success();
    }
  }
  device.reset(new Device);
  device->emulated = true;
  device->checking = options.check;
  WEFT_TRY(Driver::load(emulatorLibrary(), device->api));
  auto configure = reinterpret_cast<int (*)(const char *, const char *)>(device->api->find("weftEmuConfigure"));
  if (!configure)
    return Status::machine(device->api->library() + " is not the emulator");
  std::string sm = !options.spec.sm.empty() ? options.spec.sm : options.defaultSm;
  // Settings hold for the process; a second device in it keeps those of the first.
  bool bad = false;
  if (!sm.empty())
    bad = configure("sm", sm.c_str());
  configure("devices", std::to_string(options.spec.count).c_str());
  configure("check", options.check ? "1" : "0");
  if (options.counters)
    configure("counters", "1");
  WEFT_CUDA(*device->api, cuInit, 0);
  WEFT_TRY(device->start(options));
  (void)bad;
  if (!options.spec.sm.empty() && device->name.find(options.spec.sm + ")") == std::string::npos)
    return Status::machine("the emulator has no architecture " + options.spec.sm);
  out = std::move(device);
  return Status::success();
}

Status Device::start(const DeviceOptions &) {
  CUdevice number = 0;
  WEFT_CUDA(*api, cuDeviceGet, &number, ordinal);
  char text[256] = {};
  WEFT_CUDA(*api, cuDeviceGetName, text, sizeof text, number);
  name = text;
  WEFT_CUDA(*api, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, number);
  WEFT_CUDA(*api, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, number);
  WEFT_CUDA(*api, cuDevicePrimaryCtxRetain, &context, number);
  return enter();
}

Device::~Device() {
  if (context)
    (void)api->cuDevicePrimaryCtxRelease(ordinal);
}

std::string Device::description() const { return emulated ? name : name + " (sm_" + std::to_string(capability()) + ")"; }
Status Device::enter() const { return api->check(api->cuCtxSetCurrent(context), "cuCtxSetCurrent"); }

static Status readText(const Driver &driver, const char *function, std::string &text) {
  auto read = reinterpret_cast<int (*)(char *, size_t *)>(driver.find(function));
  if (!read)
    return Status::machine(std::string("only the emulator has ") + function);
  size_t size = 0;
  read(nullptr, &size);
  text.resize(size);
  read(text.data(), &size);
  text.resize(size ? size - 1 : 0);
  return Status::success();
}
Status Device::countersJson(std::string &json) const { return readText(*api, "weftEmuCountersJson", json); }
Status Device::findings(std::string &text) const { return readText(*api, "weftEmuFindings", text); }
void Device::resetCounters() const {
  if (auto reset = reinterpret_cast<void (*)()>(api->find("weftEmuResetCounters")))
    reset();
}
Status Device::explain(Status status) const {
  std::string text;
  if (!status.ok() && emulated && readText(*api, "weftEmuLastError", text).ok() && !text.empty())
    status.message += ": " + text;
  return status;
}

} // namespace weft
