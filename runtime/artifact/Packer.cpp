// Where tensors lie in the arena: greedy best fit in several orders, the best one wins (see Packer.h).
#include "runtime/artifact/Packer.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace weft {

namespace {
struct Placed {
  uint64_t begin, end;
};
} // namespace

static bool overlap(const PackItem &a, const PackItem &b) { return a.first <= b.last && b.first <= a.last; }

/// Places items in `order`; each goes into the smallest gap that fits between items alive with it, else on top.
static uint64_t place(std::span<const PackItem> items, const std::vector<uint64_t> &sizes, const std::vector<uint32_t> &order,
                      std::vector<uint64_t> &offsets, uint64_t limit) {
  std::vector<uint32_t> placed;
  std::vector<Placed> busy;
  uint64_t peak = 0;
  for (uint32_t i : order) {
    if (sizes[i] == 0) {
      offsets[i] = 0;
      continue;
    }
    busy.clear();
    for (uint32_t j : placed)
      if (overlap(items[i], items[j]))
        busy.push_back({offsets[j], offsets[j] + sizes[j]});
    std::sort(busy.begin(), busy.end(), [](const Placed &a, const Placed &b) { return a.begin < b.begin; });
    uint64_t top = 0, best = UINT64_MAX, bestGap = UINT64_MAX;
    for (const Placed &p : busy) {
      if (p.begin > top && p.begin - top >= sizes[i] && p.begin - top < bestGap) {
        bestGap = p.begin - top;
        best = top;
      }
      top = std::max(top, p.end);
    }
    offsets[i] = best == UINT64_MAX ? top : best;
    peak = std::max(peak, offsets[i] + sizes[i]);
    if (peak >= limit)
      return UINT64_MAX;
    placed.push_back(i);
  }
  return peak;
}

static uint64_t largestLiveSum(std::span<const PackItem> items, const std::vector<uint64_t> &sizes) {
  std::map<uint64_t, int64_t> change;
  for (size_t i = 0; i < items.size(); ++i) {
    change[items[i].first] += int64_t(sizes[i]);
    change[uint64_t(items[i].last) + 1] -= int64_t(sizes[i]);
  }
  int64_t live = 0, largest = 0;
  for (auto [time, delta] : change) {
    live += delta;
    largest = std::max(largest, live);
  }
  return uint64_t(largest);
}

Packing pack(std::span<const PackItem> items, uint64_t alignment) {
  Packing result;
  std::vector<uint64_t> sizes;
  for (const PackItem &item : items)
    sizes.push_back((item.size + alignment - 1) / alignment * alignment);
  result.lowerBound = largestLiveSum(items, sizes);
  result.peak = UINT64_MAX;

  std::vector<uint32_t> order(items.size());
  auto attempt = [&](auto key) {
    if (result.peak == result.lowerBound)
      return;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    std::vector<uint64_t> offsets(items.size(), 0);
    uint64_t peak = place(items, sizes, order, offsets, result.peak);
    if (peak < result.peak) {
      result.peak = peak;
      result.offsets = std::move(offsets);
    }
  };
  auto length = [&](uint32_t i) { return uint64_t(items[i].last) - items[i].first + 1; };
  using Key = std::pair<uint64_t, uint64_t>;
  attempt([&](uint32_t i) { return Key(~sizes[i], items[i].first); });
  attempt([&](uint32_t i) { return Key(items[i].first, ~sizes[i]); });
  attempt([&](uint32_t i) { return Key(~length(i), ~sizes[i]); });
  attempt([&](uint32_t i) { return Key(~(sizes[i] * length(i)), items[i].first); });
  attempt([&](uint32_t i) { return Key(UINT64_MAX - items[i].last, ~sizes[i]); });
  // Around the busiest moment first: its items cannot avoid one another.
  uint64_t busiest = 0, most = 0;
  for (const PackItem &item : items) {
    uint64_t live = 0;
    for (size_t j = 0; j < items.size(); ++j)
      if (items[j].first <= item.first && item.first <= items[j].last)
        live += sizes[j];
    if (live > most) {
      most = live;
      busiest = item.first;
    }
  }
  auto atBusiest = [&](uint32_t i) { return items[i].first <= busiest && busiest <= items[i].last; };
  attempt([&](uint32_t i) { return Key(!atBusiest(i), atBusiest(i) ? ~length(i) : ~sizes[i]); });
  if (items.empty())
    result.peak = 0;
  return result;
}

} // namespace weft
