// Plans changed at random behind a right hash, then run: an error or a result, never a crash, whatever is in them.
#include "test/runtime/Fixture.h"
#include <random>

using namespace weft;
using namespace weft::test;

TEST(HostileTest, runsMutatedPlans) {
  useEmulator();
  ::setenv("WEFT_EMULATOR_MEMORY", "67108864", 1);
  ::setenv("WEFT_EMULATOR_STEP_LIMIT", "200000", 1);
  TempDir dir;
  DeviceOptions options;
  options.spec.kind = DeviceSpec::emulator;
  std::unique_ptr<Device> device;
  ASSERT_EQ(Device::open(options, device).message, "");
  std::mt19937 random(5);
  Array count;
  count.type = fp::ElementType::int64;
  count.bytes.assign(8, 0);
  count.bytes[0] = 3;
  int opened = 0, ran = 0;
  // No loops here: a loop may legitimately go on for ever.
  for (int round = 0; round < 900; ++round) {
    PlanBuilder b;
    round % 3 == 0 ? buildChain(b) : round % 3 == 1 ? buildBranch(b) : buildCounted(b);
    std::vector<uint8_t> plan = b.finish();
    for (int i = 0, n = 1 + int(random() % 4); i < n; ++i)
      plan[random() % plan.size()] = random() % 3 ? uint8_t(random()) : uint8_t(random() % 4);
    b.writer.setPlan(plan);
    ASSERT_TRUE(b.writer.write(dir.file("m.weft")).ok());
    std::unique_ptr<Artifact> artifact;
    if (!Artifact::open(dir.file("m.weft"), artifact).ok())
      continue;
    ++opened;
    for (uint32_t e = 0; e < artifact->plan().expressions()->size(); ++e)
      (void)exprToString(artifact->plan(), e);
    uint64_t arena, live;
    std::vector<std::vector<int64_t>> shapes;
    (void)describeShapes(artifact->plan(), {{"x", {4}}}, arena, live, shapes);
    std::unique_ptr<Model> model;
    if (!Model::load(*artifact, *device, model).ok())
      continue;
    Session session(*model);
    std::map<std::string, Array> inputs{{"x", vectorOf({1, 2, 3, 4})}};
    if (artifact->plan().inputs()->size() == 2)
      inputs["count"] = count;
    for (int i = 0; i < 2; ++i) {
      std::vector<std::pair<std::string, Array>> outputs;
      ran += session.run(inputs, outputs).ok();
    }
  }
  EXPECT_GT(opened, 100);
  EXPECT_GT(ran, 50);
}
