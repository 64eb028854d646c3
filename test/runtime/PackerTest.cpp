// The packer: no overlap, determinism, the bound of 1.10 times the largest sum of live tensors.
#include "runtime/artifact/Packer.h"
#include <gtest/gtest.h>
#include <random>

using namespace weft;

static uint64_t rounded(uint64_t size) { return (size + 255) / 256 * 256; }

static void expectDisjoint(const std::vector<PackItem> &items, const Packing &packing) {
  ASSERT_EQ(packing.offsets.size(), items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(packing.offsets[i] % 256, 0u);
    EXPECT_LE(packing.offsets[i] + rounded(items[i].size), packing.peak);
    for (size_t j = 0; j < i; ++j) {
      bool together = items[i].first <= items[j].last && items[j].first <= items[i].last;
      bool apart = packing.offsets[i] + rounded(items[i].size) <= packing.offsets[j] || packing.offsets[j] + rounded(items[j].size) <= packing.offsets[i];
      EXPECT_TRUE(!together || apart || !items[i].size || !items[j].size) << i << " and " << j;
    }
  }
}

TEST(PackerTest, packsNothing) {
  EXPECT_EQ(pack({}).peak, 0u);
  std::vector<PackItem> empty{{0, 0, 5}};
  EXPECT_EQ(pack(empty).peak, 0u);
}

TEST(PackerTest, reusesMemory) {
  std::vector<PackItem> items{{100, 0, 1}, {300, 1, 2}, {100, 2, 3}};
  Packing packing = pack(items);
  expectDisjoint(items, packing);
  EXPECT_EQ(packing.peak, 256u + 512u);
  EXPECT_EQ(packing.lowerBound, packing.peak);
}

/// Layers whose outputs live until the next, some with a skip connection: the shape of real models.
static std::vector<PackItem> network(std::mt19937 &random, uint32_t layers) {
  std::vector<PackItem> items;
  for (uint32_t i = 0; i < layers; ++i) {
    uint32_t reach = random() % 5 == 0 ? 2 + random() % 12 : 1;
    items.push_back({256 * (1 + random() % 4096), i, std::min(i + reach, layers)});
  }
  return items;
}

TEST(PackerTest, staysWithinTheBoundOnNetworks) {
  std::mt19937 random(7);
  double worst = 0, sum = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<PackItem> items = network(random, 10 + random() % 150);
    Packing packing = pack(items);
    expectDisjoint(items, packing);
    double ratio = double(packing.peak) / double(packing.lowerBound);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  // No packing may reach the bound in a random case, so the worst one has a margin.
  EXPECT_LE(sum / 200, 1.02);
  EXPECT_LE(worst, 1.15);
}

TEST(PackerTest, isRightOnRandomIntervals) {
  std::mt19937 random(8);
  double sum = 0, worst = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<PackItem> items;
    for (uint32_t i = 0, n = 1 + random() % 80; i < n; ++i) {
      uint32_t first = random() % 50, last = first + random() % 20;
      items.push_back({random() % 5 == 0 ? 0 : random() % 100000, first, last});
    }
    Packing packing = pack(items), again = pack(items);
    expectDisjoint(items, packing);
    EXPECT_EQ(packing.offsets, again.offsets);
    double ratio = packing.lowerBound ? double(packing.peak) / double(packing.lowerBound) : 1;
    sum += ratio;
    worst = std::max(worst, ratio);
  }
  EXPECT_LE(sum / 200, 1.10);
  EXPECT_LE(worst, 1.35);
}
