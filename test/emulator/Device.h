//===- Device.h - A little device for tests of the emulator's core -*- C++ -*-===//
//
// Guarantees: allocations lie 1 MiB apart at least, so that every access beyond one is noticed.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_EMULATOR_DEVICE_H
#define WEFT_TEST_EMULATOR_DEVICE_H

#include "exec/Core.h"

#include <cstring>
#include <deque>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace weft::emu::test {

class Device : public Memory {
public:
  explicit Device(bool shadow = false) : shadow(shadow) {}

  template <class T> uint64_t put(const std::vector<T> &data) {
    uint64_t address = reserve(data.size() * sizeof(T));
    std::memcpy(allocations.back().bytes.data(), data.data(), data.size() * sizeof(T));
    std::fill(allocations.back().written.begin(), allocations.back().written.end(), uint8_t(1));
    return address;
  }
  /// Poisoned, and unwritten as far as --check is concerned.
  uint64_t reserve(size_t bytes) {
    Allocation a;
    a.begin = next;
    a.bytes.assign(bytes, 0xcd);
    a.written.assign(bytes, 0);
    next = (next + bytes + (2u << 20)) & ~uint64_t((1u << 20) - 1);
    allocations.push_back(std::move(a));
    return allocations.back().begin;
  }
  template <class T> std::vector<T> get(uint64_t address, size_t count) {
    std::vector<T> out(count);
    Range r;
    EXPECT_TRUE(lookup(address, r));
    std::memcpy(out.data(), r.host + (address - r.begin), count * sizeof(T));
    return out;
  }
  bool lookup(uint64_t address, Range &out) override {
    for (Allocation &a : allocations)
      if (address >= a.begin && address < a.begin + a.bytes.size()) {
        out = {a.begin, a.begin + a.bytes.size(), a.bytes.data(), shadow ? a.written.data() : nullptr};
        return true;
      }
    return false;
  }

private:
  struct Allocation {
    uint64_t begin;
    std::vector<uint8_t> bytes, written;
  };
  std::deque<Allocation> allocations;
  uint64_t next = 0x7000'0000'0000;
  bool shadow;
};

/// A kernel's parameters, laid out as it declares them.
class Params {
public:
  template <class T> Params &add(T value) {
    size_t at = (bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    bytes.resize(at + sizeof(T));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
    return *this;
  }
  std::vector<uint8_t> bytes;
};

inline std::string readFile(const std::string &path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

/// Parses, places globals, runs. Fails the test on a parse error.
inline LaunchResult runKernel(const std::string &ptx, const std::string &kernel, unsigned sm, Dim3 grid, Dim3 block, uint32_t shared,
                              Params params, Device &device, LaunchOptions options = {}) {
  Diagnostic d;
  auto module = parseModule(ptx, sm, d);
  if (!module) {
    ADD_FAILURE() << "line " << d.line << ": " << d.message;
    return {};
  }
  std::vector<uint64_t> globals;
  for (const GlobalInfo &g : module->globals()) {
    std::vector<uint8_t> bytes = g.init;
    bytes.resize(g.size ? g.size : 1);
    globals.push_back(device.put(bytes));
  }
  int index = module->findKernel(kernel);
  EXPECT_GE(index, 0) << "no kernel " << kernel;
  params.bytes.resize(std::max<size_t>(params.bytes.size(), module->kernels()[size_t(index)].paramBytes));
  return launch(*module, unsigned(index), grid, block, shared, params.bytes.data(), device, globals, options);
}

} // namespace weft::emu::test

#endif // WEFT_TEST_EMULATOR_DEVICE_H
