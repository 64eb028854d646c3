// Host expressions: values, rounding, errors, laziness.
#include "runtime/artifact/Expr.h"
#include "test/runtime/PlanBuilder.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;
using fp::ExprOp;

namespace {
struct ExprTest : ::testing::Test {
  /// Value of the last expression, or the message.
  std::string value(uint32_t expr) {
    bytes = b.finish();
    Exprs exprs(*fp::GetPlan(bytes.data()));
    int64_t result = 0;
    Status status = exprs.get(expr, result);
    return status.ok() ? std::to_string(result) : status.message;
  }
  std::string of(ExprOp op, int64_t x, int64_t y) {
    b = PlanBuilder();
    uint32_t p = b.number(x), q = b.number(y);
    return value(b.node(op, p, q));
  }
  PlanBuilder b;
  std::vector<uint8_t> bytes;
};
constexpr int64_t most = INT64_MAX, least = INT64_MIN;
const char *overflows = "a dimension or size overflows 64 bits";
const char *byZero = "a shape computation divides by zero";
} // namespace

TEST_F(ExprTest, dividesTowardsMinusInfinity) {
  for (int64_t x : {-7, -6, -1, 0, 1, 6, 7})
    for (int64_t y : {-3, -2, -1, 1, 2, 3}) {
      int64_t floor = int64_t(std::floor(double(x) / double(y)));
      EXPECT_EQ(of(ExprOp::floordiv, x, y), std::to_string(floor)) << x << " " << y;
      EXPECT_EQ(of(ExprOp::ceildiv, x, y), std::to_string(int64_t(std::ceil(double(x) / double(y))))) << x << " " << y;
      EXPECT_EQ(of(ExprOp::mod, x, y), std::to_string(x - floor * y)) << x << " " << y;
    }
}

TEST_F(ExprTest, reportsOverflow) {
  EXPECT_EQ(of(ExprOp::add, most, 1), overflows);
  EXPECT_EQ(of(ExprOp::sub, least, 1), overflows);
  EXPECT_EQ(of(ExprOp::mul, most, 2), overflows);
  EXPECT_EQ(of(ExprOp::floordiv, least, -1), overflows);
  EXPECT_EQ(of(ExprOp::neg, least, 0), overflows);
  EXPECT_EQ(of(ExprOp::mod, least, -1), "0");
  EXPECT_EQ(of(ExprOp::floordiv, 1, 0), byZero);
  EXPECT_EQ(of(ExprOp::ceildiv, 1, 0), byZero);
  EXPECT_EQ(of(ExprOp::mod, 1, 0), byZero);
}

TEST_F(ExprTest, computesOnlyWhatIsNeeded) {
  uint32_t zero = b.number(0), one = b.number(1), bad = b.node(ExprOp::floordiv, one, zero);
  uint32_t select = b.node(ExprOp::select, one, one, bad), other = b.node(ExprOp::select, zero, bad, zero);
  uint32_t conjunction = b.node(ExprOp::logical_and, zero, bad), disjunction = b.node(ExprOp::logical_or, one, bad);
  uint32_t needed = b.node(ExprOp::logical_and, one, bad);
  bytes = b.finish();
  Exprs exprs(*fp::GetPlan(bytes.data()));
  for (auto [expr, expected] : {std::pair<uint32_t, int64_t>{select, 1}, {other, 0}, {conjunction, 0}, {disjunction, 1}}) {
    int64_t result = -1;
    EXPECT_EQ(exprs.get(expr, result).message, "");
    EXPECT_EQ(result, expected);
  }
  int64_t result;
  EXPECT_EQ(exprs.get(needed, result).message, byZero);
}

TEST_F(ExprTest, followsItsSymbols) {
  uint32_t n = b.symbol("n", fp::SymbolKind::defined), expr = b.node(ExprOp::mul, b.symbolExpr(n), b.number(3));
  bytes = b.finish();
  Exprs exprs(*fp::GetPlan(bytes.data()));
  int64_t result;
  EXPECT_FALSE(exprs.isKnown(expr));
  EXPECT_EQ(exprs.get(expr, result).message, "the value of symbol 0 ('n') is not known");
  exprs.setSymbol(n, {5, 0});
  EXPECT_TRUE(exprs.get(expr, result).ok());
  EXPECT_EQ(result, 15);
  exprs.setSymbol(n, {6, 0});
  EXPECT_TRUE(exprs.get(expr, result).ok());
  EXPECT_EQ(result, 18);
  exprs.clearSymbol(n);
  EXPECT_FALSE(exprs.get(expr, result).ok());
}

TEST_F(ExprTest, computesReals) {
  uint32_t x = b.real(2.5), y = b.real(NAN), expr = b.node(ExprOp::fround_even, x);
  uint32_t integer = b.node(ExprOp::ftoi, b.node(ExprOp::fmul, x, b.real(-3))), bad = b.node(ExprOp::ftoi, y), root = b.node(ExprOp::fsqrt, b.real(2));
  uint32_t single = b.node(ExprOp::f32round, root), back = b.node(ExprOp::feq, single, root);
  bytes = b.finish();
  Exprs exprs(*fp::GetPlan(bytes.data()));
  double real;
  int64_t result;
  EXPECT_TRUE(exprs.getFloat(expr, real).ok());
  EXPECT_EQ(real, 2.0);
  EXPECT_TRUE(exprs.get(integer, result).ok());
  EXPECT_EQ(result, -7);
  EXPECT_EQ(exprs.get(bad, result).message, "a shape computation converts a float that does not fit an integer");
  EXPECT_TRUE(exprs.getFloat(single, real).ok());
  EXPECT_EQ(real, double(std::sqrt(2.0f)));
  EXPECT_TRUE(exprs.get(back, result).ok());
  EXPECT_EQ(result, 0);
}

TEST_F(ExprTest, isLinearInSharedNodes) {
  uint32_t at = b.number(1);
  for (int i = 0; i < 60; ++i)
    at = b.node(ExprOp::add, at, at);
  EXPECT_EQ(value(at), std::to_string(int64_t(1) << 60));
}
