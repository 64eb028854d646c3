// Devices: a GPU, or the emulator.
#ifndef WEFT_RUNTIME_DEVICE_H
#define WEFT_RUNTIME_DEVICE_H

#include "runtime/driver/Driver.h"
#include <string_view>
#include <vector>

namespace weft {

/// What --device says: auto | cuda[:ORDINAL,...] | emulator[:N][@sm_XX].
struct DeviceSpec {
  enum Kind { automatic, cuda, emulator } kind = automatic;
  std::vector<int> ordinals; // cuda; empty: 0
  int count = 1;             // emulator
  std::string sm;            // emulator; empty: the artifact's newest target
};
Status parseDeviceSpec(std::string_view text, DeviceSpec &spec);

struct DeviceOptions {
  DeviceSpec spec;
  bool check = false, counters = false; // emulator only
  std::string defaultSm;                // for an emulator without @sm_XX
};

/// One device with its primary context. Shared by models and sessions; safe to use from several threads.
class Device {
public:
  static Status open(const DeviceOptions &options, std::unique_ptr<Device> &out);
  ~Device();

  /// "emulator, A100-SXM4-80GB, sm_80"
  std::string description() const;
  bool isEmulator() const { return emulated; }
  bool checks() const { return checking; }
  /// 80 for sm_80.
  int capability() const { return major * 10 + minor; }
  Driver &driver() const { return *api; }
  CUcontext handle() const { return context; }
  /// Makes the device's context current on the calling thread.
  Status enter() const;
  /// The emulator's counters (contract: launches, kernels) and findings of --check, one per line.
  Status countersJson(std::string &json) const;
  Status findings(std::string &text) const;
  void resetCounters() const;
  /// Adds the emulator's account of a failed launch (kernel, PTX line, thread) to a driver error.
  Status explain(Status status) const;

private:
  Status start(const DeviceOptions &options);
  std::unique_ptr<Driver> api;
  bool emulated = false, checking = false;
  int ordinal = 0, major = 0, minor = 0;
  std::string name;
  CUcontext context = nullptr;
};

} // namespace weft
#endif
