// Plans that decide as they run: branches, loops, sizes read back, checks.
#include "test/runtime/Fixture.h"

using namespace weft;
using namespace weft::test;

class ControlFlowTest : public SessionFixture, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Check, ControlFlowTest, ::testing::Bool(), [](auto &info) { return info.param ? "checked" : "plain"; });

TEST_P(ControlFlowTest, branches) {
  PlanBuilder b;
  buildBranch(b);
  load(b, GetParam());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(run({{"x", vectorOf({0, 2, 3})}}), (std::vector<float>{0, 4, 6})) << error;
    EXPECT_EQ(run({{"x", vectorOf({1, 2, 3})}}), (std::vector<float>{10, 20, 30})) << error;
    EXPECT_EQ(run({{"x", vectorOf({1, 2, 3, 4, 5})}}), (std::vector<float>{10, 20, 30, 40, 50})) << error;
  }
}

TEST_P(ControlFlowTest, loops) {
  PlanBuilder b;
  buildLoop(b, 10);
  load(b, GetParam());
  EXPECT_EQ(run({{"x", vectorOf({30, 1})}}), (std::vector<float>{120, 4})) << error;   // the condition ends it
  EXPECT_EQ(run({{"x", vectorOf({0, 1})}}), (std::vector<float>{0, 1024})) << error;   // the trip count ends it
  EXPECT_EQ(run({{"x", vectorOf({100, 1})}}), (std::vector<float>{100, 1})) << error;  // no iteration
}

TEST_P(ControlFlowTest, findsSizesOut) {
  PlanBuilder b;
  buildCounted(b);
  load(b, GetParam());
  Array count;
  count.type = fp::ElementType::int64;
  count.bytes.assign(8, 0);
  for (uint8_t k : {2, 0, 4, 1}) {
    count.bytes[0] = k;
    std::vector<float> expected{2, 4, 6, 8};
    expected.resize(k);
    EXPECT_EQ(run({{"x", vectorOf({1, 2, 3, 4})}, {"count", count}}), expected) << error;
    ASSERT_EQ(outputs.size(), 1u) << error;
    EXPECT_EQ(outputs[0].second.shape, std::vector<int64_t>{k});
  }
  count.bytes[0] = 9;
  Status status = session->run({{"x", vectorOf({1, 2, 3, 4})}, {"count", count}}, outputs);
  EXPECT_EQ(status.code, Code::invalid);
  EXPECT_EQ(status.message, "node Slice_7: count is more than x has elements");
  count.bytes[7] = 0x80; // negative
  status = session->run({{"x", vectorOf({1, 2, 3, 4})}, {"count", count}}, outputs);
  EXPECT_EQ(status.code, Code::invalid);
  EXPECT_NE(status.message, "");
}

TEST_P(ControlFlowTest, growsWhatALoopCarries) {
  // y = []; for i < 5: y = zeros(i + 1) filled with i + 1 by a fill; z = y. The size of y is a symbol that the body sets.
  PlanBuilder b;
  uint32_t one = b.number(1), zero = b.number(0), five = b.number(5), four = b.number(4);
  uint32_t length = b.symbol("length", fp::SymbolKind::defined), iteration = b.symbol("i", fp::SymbolKind::defined);
  uint32_t l = b.symbolExpr(length), bytes = b.node(fp::ExprOp::mul, l, four);
  uint32_t next = b.node(fp::ExprOp::add, b.symbolExpr(iteration), one), nextBytes = b.node(fp::ExprOp::mul, next, four);
  b.input("x", {one}, four);
  uint32_t y = b.arena({l}, bytes, 0, 3), t = b.arena({next}, nextBytes, 0, 2, 1);
  uint32_t z = b.output("z", {l}, bytes);
  uint32_t main = b.block(), body = b.block();
  b.setSymbol(main, length, zero);
  b.fill(main, y, 1);
  b.loop(main, int32_t(five), -1, iteration, body);
  b.copy(main, y, z);
  b.fill(body, t, 0);
  b.setSymbol(body, length, next);
  b.copy(body, t, y);
  load(b, GetParam());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(run({{"x", vectorOf({1})}}), std::vector<float>(5, 0.0f)) << error;
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].second.shape, std::vector<int64_t>{5});
  }
}

TEST_P(ControlFlowTest, refusesALoopWithoutEnd) {
  PlanBuilder b;
  uint32_t one = b.number(1), four = b.number(4), iteration = b.symbol("i", fp::SymbolKind::defined);
  uint32_t x = b.input("x", {one}, four);
  b.outputOf("z", {one}, x);
  uint32_t main = b.block(), body = b.block();
  b.loop(main, -1, -1, iteration, body);
  load(b, GetParam());
  run({{"x", vectorOf({1})}});
  EXPECT_NE(error.find("would never end"), std::string::npos) << error;
}

TEST_P(ControlFlowTest, knowsSizesThatTheHostDecides) {
  // h = n / 2 by a SetSymbol in a branch on n; z = x[0 : h] * 3, by way of the arena. Known before the run: described and laid out.
  PlanBuilder b;
  uint32_t n = b.dim("n", 0, 0), four = b.number(4), two = b.number(2), bytes = b.node(fp::ExprOp::mul, n, four);
  uint32_t half = b.symbol("half", fp::SymbolKind::defined), h = b.symbolExpr(half), halfBytes = b.node(fp::ExprOp::mul, h, four);
  uint32_t grid = b.node(fp::ExprOp::ceildiv, h, b.number(128)), large = b.node(fp::ExprOp::lt, two, n);
  uint32_t x = b.input("x", {n}, bytes), t = b.arena({h}, halfBytes, 1, 2), z = b.output("z", {h}, halfBytes);
  uint32_t scale = b.kernel("scale", {{"scale", grid}});
  uint32_t main = b.block(), yes = b.block(), no = b.block();
  b.branch(main, large, yes, no);
  b.setSymbol(yes, half, b.node(fp::ExprOp::floordiv, n, two));
  b.setSymbol(no, half, n);
  b.launch(main, scale, {b.in(x), b.out(t), b.scalar(h), b.scalar(b.real(3), fp::ScalarType::f32)});
  b.copy(main, t, z);
  b.module(kernelsPtx);
  load(b, GetParam());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(run({{"x", vectorOf({1, 2, 3, 4, 5})}}), (std::vector<float>{3, 6})) << error;
    EXPECT_EQ(run({{"x", vectorOf({1, 2})}}), (std::vector<float>{3, 6})) << error;
  }
  uint64_t arena, live;
  std::vector<std::vector<int64_t>> shapes;
  ASSERT_EQ(describeShapes(model->plan(), {{"x", {200}}}, arena, live, shapes).message, "");
  EXPECT_EQ(shapes, (std::vector<std::vector<int64_t>>{{100}}));
  EXPECT_EQ(arena, 512u);
}
