// Settings of the emulated driver and the table of GPUs.
//
// Guarantees: read once, from WEFT_EMULATOR_<KEY> and weftEmuConfigure (docs/emulator.md); constant after cuInit. A bad value
// from the environment makes cuInit fail, it is never ignored.
#ifndef WEFT_EMULATOR_DRIVER_SETTINGS_H
#define WEFT_EMULATOR_DRIVER_SETTINGS_H

#include "emulator/exec/Core.h"
#include <string>
#include <string_view>
#include <vector>

namespace weft::emu {

/// A row of hardware/Gpus.def; sizes in bytes, clocks in kHz.
struct GpuInfo {
  const char *target, *name;
  int major, minor, sms, threadsPerSm, blocksPerSm, registersPerSm;
  uint64_t sharedPerSm, sharedPerBlockOptin, l2, memory;
  int clock, memoryClock, busBits, leastPtx;
  int capability() const { return major * 10 + minor; }
};

/// The table's row for "sm_80", ...; null for an unknown target.
const GpuInfo *findGpu(std::string_view target);

struct Settings {
  int devices = 1;
  std::vector<const GpuInfo *> gpus; // device i is gpus[i % size]
  uint64_t memory = 0;               // bytes per device; 0: the GPU's
  bool check = false, counters = false, poison = true;
  std::string countersFile;
  LaunchOptions launch;
  std::string bad; // settings from the environment that were refused

  Settings();
  /// False for an unknown key or a bad value; then nothing changes.
  bool set(std::string_view key, const std::string &value);
};

} // namespace weft::emu
#endif
