// Settings: see Settings.h.
#include "emulator/driver/Settings.h"
#include <cctype>
#include <cerrno>
#include <cstdlib>

namespace weft::emu {

static const GpuInfo gpuTable[] = {
#define WEFT_GPU(target, major, minor, name, sms, threads, blocks, registers, sharedSm, sharedBlock, l2, memory, clock, memoryClock, bus, ptx) \
  {#target, name, major, minor, sms, threads, blocks, registers, sharedSm, sharedBlock, l2, memory, clock, memoryClock, bus, ptx},
#include "hardware/Gpus.def"
};

const GpuInfo *findGpu(std::string_view target) {
  for (const GpuInfo &gpu : gpuTable)
    if (target == gpu.target)
      return &gpu;
  return nullptr;
}

Settings::Settings() : gpus{findGpu("sm_80")} {
  for (const char *key : {"devices", "sm", "memory", "check", "counters", "order", "step_limit", "threads", "eager", "poison"}) {
    std::string name = "WEFT_EMULATOR_";
    for (const char *c = key; *c; ++c)
      name += char(std::toupper(static_cast<unsigned char>(*c)));
    const char *value = std::getenv(name.c_str());
    if (value && *value && !set(key, value))
      bad += (bad.empty() ? "" : "; ") + name + "=" + value + " is not a valid setting";
  }
}

static bool parseNumber(std::string_view text, uint64_t &value) {
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos)
    return false;
  errno = 0;
  value = std::strtoull(std::string(text).c_str(), nullptr, 10);
  return errno == 0;
}

static bool parseFlag(const std::string &text, bool &flag) {
  if (text != "0" && text != "1")
    return false;
  flag = text == "1";
  return true;
}

/// "forward", "reverse" or "random:SEED".
static bool parseOrder(const std::string &text, LaunchOptions &options) {
  uint64_t seed = 0;
  if (text == "forward")
    options.order = BlockOrder::Forward;
  else if (text == "reverse")
    options.order = BlockOrder::Reverse;
  else if (text.rfind("random:", 0) == 0 && parseNumber(std::string_view(text).substr(7), seed))
    options.order = BlockOrder::Random;
  else
    return false;
  options.seed = seed;
  return true;
}

/// "sm_90a", or a list of targets for devices that differ: "sm_80,sm_90a".
static bool parseGpus(std::string_view text, std::vector<const GpuInfo *> &gpus) {
  std::vector<const GpuInfo *> found;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    const GpuInfo *gpu = findGpu(text.substr(begin, end - begin));
    if (!gpu)
      return false;
    found.push_back(gpu);
    begin = end + 1;
  }
  gpus = std::move(found);
  return true;
}

bool Settings::set(std::string_view key, const std::string &value) {
  if (key == "sm")
    return parseGpus(value, gpus);
  if (key == "order")
    return parseOrder(value, launch);
  if (key == "check")
    return parseFlag(value, check);
  if (key == "eager")
    return parseFlag(value, launch.eager);
  if (key == "poison")
    return parseFlag(value, poison);
  if (key == "counters") { // 0, 1, or the file that gets them at exit
    counters = value != "0";
    countersFile = value == "0" || value == "1" ? "" : value;
    return true;
  }
  uint64_t number = 0;
  if (!parseNumber(value, number))
    return false;
  if (key == "devices") {
    if (number < 1 || number > 64)
      return false;
    devices = int(number);
  } else if (key == "memory") {
    memory = number;
  } else if (key == "step_limit") {
    launch.stepLimit = number;
  } else if (key == "threads") {
    if (number > 1024)
      return false;
    launch.hostThreads = unsigned(number);
  } else {
    return false;
  }
  return true;
}

} // namespace weft::emu
