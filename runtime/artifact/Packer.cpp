// Where tensors lie in the arena: greedy best fit in several orders, the best one improved by hill climbing (see Packer.h).
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

enum class Fit { best, lowest };

/// Places items in `order`; each goes into the smallest gap that fits between items alive with it, or into the lowest, else on top.
static uint64_t place(std::span<const PackItem> items, const std::vector<uint64_t> &sizes, const std::vector<uint32_t> &order,
                      std::vector<uint64_t> &offsets, uint64_t limit, Fit fit) {
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
        if (fit == Fit::lowest)
          break;
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

/// Hill climbing on the order: an item that ends at the peak is moved forward, and the new order kept unless it is worse. The
/// idea is that of the allocator in Arm's Vela compiler. Steps are bounded by the number of items; the random numbers are
/// fixed, so that the result depends on the items alone.
static void climb(std::span<const PackItem> items, const std::vector<uint64_t> &sizes, std::vector<uint32_t> order, Fit fit, Packing &best) {
  uint32_t random = 12345;
  auto below = [&](size_t n) { // xorshift32
    random ^= random << 13, random ^= random >> 17, random ^= random << 5;
    return size_t(random) % n;
  };
  std::vector<uint64_t> current = best.offsets;
  uint64_t peak = best.peak;
  size_t steps = std::clamp<size_t>(8'000'000 / (items.size() * items.size() + 1), 40, 1000);
  for (size_t step = 0; step < steps && best.peak > best.lowerBound + best.lowerBound / 100; ++step) {
    std::vector<size_t> atPeak, positions;
    for (size_t position = 0; position < order.size(); ++position)
      if (current[order[position]] + sizes[order[position]] == peak)
        atPeak.push_back(position);
    size_t from = atPeak[below(atPeak.size())];
    // Moved before one that lives at the same time, or anywhere now and then.
    for (size_t position = 0; position < from; ++position)
      if (sizes[order[position]] && overlap(items[order[position]], items[order[from]]))
        positions.push_back(position);
    if (positions.empty() && from == 0)
      from = below(order.size());
    size_t to = !positions.empty() && step % 4 ? positions[below(positions.size())] : below(from + 1);
    std::vector<uint32_t> tried = order;
    if (step % 3 == 0)
      std::swap(tried[from], tried[to]);
    else
      std::rotate(tried.begin() + ptrdiff_t(to), tried.begin() + ptrdiff_t(from), tried.begin() + ptrdiff_t(from) + 1);
    std::vector<uint64_t> offsets(items.size(), 0);
    uint64_t reached = place(items, sizes, tried, offsets, peak + 1, fit);
    if (reached > peak)
      continue;
    order = std::move(tried);
    current = std::move(offsets);
    peak = reached;
    if (peak < best.peak) {
      best.peak = peak;
      best.offsets = current;
    }
  }
}

Packing pack(std::span<const PackItem> items, uint64_t alignment) {
  Packing result;
  std::vector<uint64_t> sizes;
  for (const PackItem &item : items)
    sizes.push_back((item.size + alignment - 1) / alignment * alignment);
  result.lowerBound = largestLiveSum(items, sizes);
  result.peak = UINT64_MAX;

  std::vector<uint32_t> order(items.size()), bestOrder;
  Fit bestFit = Fit::best;
  auto attempt = [&](auto key) {
    if (result.peak == result.lowerBound)
      return;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    for (Fit fit : {Fit::best, Fit::lowest}) {
      std::vector<uint64_t> offsets(items.size(), 0);
      uint64_t peak = place(items, sizes, order, offsets, result.peak, fit);
      if (peak < result.peak) {
        result.peak = peak;
        result.offsets = std::move(offsets);
        bestOrder = order;
        bestFit = fit;
      }
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
  else
    climb(items, sizes, std::move(bestOrder), bestFit, result);
  return result;
}

} // namespace weft
