// Artifacts: what is written is read; whatever is changed is refused; a plan that lies is refused, never followed.
#include "runtime/artifact/Reader.h"
#include "test/runtime/Models.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace weft;
using namespace weft::test;

namespace {
struct ReaderTest : ::testing::Test {
  std::vector<uint8_t> read(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string openBytes(const std::vector<uint8_t> &bytes) {
    std::string path = dir.file("changed.weft");
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
    return openPath(path);
  }
  /// The message of opening and verifying all; "" where it is fine.
  std::string openPath(const std::string &path) {
    std::unique_ptr<Artifact> artifact;
    Status status = Artifact::open(path, artifact);
    if (status.ok())
      status = artifact->verifyAll();
    EXPECT_TRUE(status.ok() || status.code == Code::invalid);
    return status.message;
  }
  std::vector<uint8_t> sample() {
    PlanBuilder b;
    buildChain(b);
    EXPECT_TRUE(b.write(dir.file("a.weft")).ok());
    return read(dir.file("a.weft"));
  }
  TempDir dir;
};
} // namespace

TEST_F(ReaderTest, readsWhatWasWritten) {
  sample();
  std::unique_ptr<Artifact> artifact;
  ASSERT_EQ(Artifact::open(dir.file("a.weft"), artifact).message, "");
  ASSERT_EQ(artifact->verifyAll().message, "");
  ASSERT_EQ(artifact->constantBytes(), 16u);
  float values[4];
  std::memcpy(values, artifact->constant(0).data(), 16);
  EXPECT_EQ(values[3], 40);
  EXPECT_EQ(artifact->image(*artifact->plan().images()->Get(0)).size(), std::strlen(kernelsPtx));
}

TEST_F(ReaderTest, sameInputSameBytes) {
  std::vector<uint8_t> first = sample();
  EXPECT_EQ(first, sample());
}

TEST_F(ReaderTest, refusesEveryFlippedByte) {
  std::vector<uint8_t> bytes = sample();
  std::fstream file(dir.file("a.weft"), std::ios::binary | std::ios::in | std::ios::out);
  auto put = [&](size_t at, uint8_t byte) {
    file.seekp(std::streamoff(at));
    file.put(char(byte));
    file.flush();
  };
  for (size_t i = 0; i < bytes.size(); ++i) {
    put(i, bytes[i] ^ uint8_t(1u << (i % 8)));
    ASSERT_NE(openPath(dir.file("a.weft")), "") << "byte " << i;
    put(i, bytes[i]);
  }
  EXPECT_EQ(openPath(dir.file("a.weft")), "");
}

TEST_F(ReaderTest, refusesEveryTruncation) {
  std::vector<uint8_t> bytes = sample();
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 50)
    ASSERT_NE(openBytes({bytes.begin(), bytes.begin() + ptrdiff_t(size)}), "") << size;
  bytes.push_back(0);
  EXPECT_NE(openBytes(bytes).find("truncated or extended"), std::string::npos);
}

TEST_F(ReaderTest, saysWhatIsWrong) {
  std::vector<uint8_t> bytes = sample(), other = bytes;
  other[8] = 99;
  EXPECT_NE(openBytes(other).find("artifact format version is 99, this runtime reads version 1"), std::string::npos) << openBytes(other);
  std::string text = "this is a text file, and it is long enough to hold a header: .............................................................................";
  EXPECT_NE(openBytes({text.begin(), text.end()}).find("not a Weft artifact"), std::string::npos);
  EXPECT_NE(openPath(dir.file("absent.weft")).find("absent.weft"), std::string::npos);
  EXPECT_NE(openPath(dir.path), "");
}

/// Random plans behind a right hash: validation alone stands between them and the executor.
TEST_F(ReaderTest, survivesMutatedPlans) {
  std::mt19937 random(3);
  int accepted = 0;
  for (int model = 0; model < 3; ++model)
    for (int round = 0; round < 500; ++round) {
      PlanBuilder b;
      model == 0 ? buildChain(b) : model == 1 ? buildLoop(b, 5) : buildBranch(b);
      std::vector<uint8_t> plan = b.finish();
      for (int i = 0, n = 1 + int(random() % 4); i < n; ++i)
        plan[random() % plan.size()] = random() % 3 ? uint8_t(random()) : uint8_t(random() % 4);
      b.writer.setPlan(plan);
      ASSERT_TRUE(b.writer.write(dir.file("m.weft")).ok());
      accepted += openPath(dir.file("m.weft")).empty();
    }
  EXPECT_GT(accepted, 0);
}

TEST_F(ReaderTest, refusesPlansThatLie) {
  auto refused = [&](auto build) {
    PlanBuilder b;
    uint32_t one = b.number(1), four = b.number(4);
    uint32_t x = b.input("x", {one}, four);
    b.outputOf("z", {one}, x);
    build(b, x, one);
    EXPECT_TRUE(b.write(dir.file("lie.weft")).ok());
    return openPath(dir.file("lie.weft"));
  };
  EXPECT_EQ(refused([](PlanBuilder &b, uint32_t, uint32_t) { b.block(); }), "");
  EXPECT_NE(refused([](PlanBuilder &, uint32_t, uint32_t) {}), ""); // no block
  EXPECT_NE(refused([](PlanBuilder &b, uint32_t, uint32_t) { b.node(fp::ExprOp::add, 77, 0), b.block(); }), "");
  EXPECT_NE(refused([](PlanBuilder &b, uint32_t, uint32_t) { b.node(fp::ExprOp::symbol, 0, 0, 0, 5), b.block(); }), "");
  EXPECT_NE(refused([](PlanBuilder &b, uint32_t x, uint32_t) { b.copy(b.block(), x, 99); }), "");
  EXPECT_NE(refused([](PlanBuilder &b, uint32_t, uint32_t one) { b.branch(b.block(), one, 0, 0); }), ""); // a cycle of blocks
  EXPECT_NE(refused([](PlanBuilder &b, uint32_t x, uint32_t) { b.launch(b.block(), 0, {b.in(x)}); }), "");
  EXPECT_NE(refused([](PlanBuilder &b, uint32_t, uint32_t one) { b.tensor(fp::Storage::view, {one}, one, 2), b.tensor(fp::Storage::view, {one}, one, 1), b.block(); }), "");
  EXPECT_NE(refused([](PlanBuilder &b, uint32_t, uint32_t one) { b.arena({one}, one, 3, 2), b.block(); }), "");
  EXPECT_NE(refused([](PlanBuilder &b, uint32_t, uint32_t one) { b.arena({one}, one, 0, 99), b.block(); }), "");
  EXPECT_NE(refused([](PlanBuilder &b, uint32_t x, uint32_t) { b.readBack(b.block(), x, {0}); }), "");
}
