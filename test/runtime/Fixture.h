// Runs hand-built plans on the emulator.
#ifndef WEFT_TEST_RUNTIME_FIXTURE_H
#define WEFT_TEST_RUNTIME_FIXTURE_H

#include "runtime/Session.h"
#include "test/runtime/Models.h"
#include <gtest/gtest.h>

namespace weft::test {

/// The tests' executable does not lie where weft-run does; without a GPU's driver.
inline void useEmulator() { ::setenv("WEFT_EMULATOR_LIBRARY", WEFT_TEST_EMULATOR, 1); }

inline Array floats(std::vector<float> values, std::vector<int64_t> shape) {
  Array array;
  array.type = fp::ElementType::float32;
  array.shape = std::move(shape);
  array.bytes.resize(values.size() * 4);
  if (!values.empty())
    __builtin_memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}
inline Array vectorOf(std::vector<float> values) {
  int64_t n = int64_t(values.size());
  return floats(std::move(values), {n});
}
inline std::vector<float> valuesOf(const Array &array) {
  std::vector<float> values(array.bytes.size() / 4);
  if (!values.empty())
    __builtin_memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

class SessionFixture : public ::testing::Test {
protected:
  void SetUp() override { useEmulator(); }
  /// Writes, opens and loads what `b` holds.
  void load(PlanBuilder &b, bool check = false) {
    std::string path = dir.file("model.weft");
    ASSERT_EQ(b.write(path).message, "");
    ASSERT_EQ(Artifact::open(path, artifact).message, "");
    DeviceOptions options;
    options.spec.kind = DeviceSpec::emulator;
    options.check = check;
    options.counters = true;
    ASSERT_EQ(Device::open(options, device).message, "");
    ASSERT_EQ(Model::load(*artifact, *device, model).message, "");
    session = std::make_unique<Session>(*model);
  }
  std::vector<float> run(const std::map<std::string, Array> &inputs) {
    outputs.clear();
    error = session->run(inputs, outputs, &stats).message;
    return error.empty() && !outputs.empty() ? valuesOf(outputs[0].second) : std::vector<float>();
  }
  TempDir dir;
  std::unique_ptr<Artifact> artifact;
  std::unique_ptr<Device> device;
  std::unique_ptr<Model> model;
  std::unique_ptr<Session> session;
  std::vector<std::pair<std::string, Array>> outputs;
  RunStats stats;
  std::string error;
};

} // namespace weft::test
#endif
