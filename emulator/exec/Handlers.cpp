//===- Handlers.cpp - The handler table of this machine -------------------===//
//
// Guarantees: rows come from the widest instruction set variant that the processor has; they are gathered once.
//
//===----------------------------------------------------------------------===//
#include "exec/Machine.h"

#include <unordered_map>

namespace weft::emu {

struct RowRange {
  const HandlerRow *begin, *end;
};
#define WEFT_VARIANT(ISA)                                                                                               \
  namespace ISA {                                                                                                       \
  struct Rows {                                                                                                         \
    const HandlerRow *begin, *end;                                                                                      \
  };                                                                                                                    \
  Rows aluRows();                                                                                                       \
  Rows convertRows();                                                                                                   \
  Rows memoryRows();                                                                                                    \
  Rows warpRows();                                                                                                      \
  Rows matrixRows();                                                                                                    \
  inline std::vector<RowRange> all() {                                                                                  \
    std::vector<RowRange> v;                                                                                            \
    for (Rows r : {aluRows(), convertRows(), memoryRows(), warpRows(), matrixRows()})                                   \
      v.push_back({r.begin, r.end});                                                                                    \
    return v;                                                                                                           \
  }                                                                                                                     \
  }
WEFT_VARIANT(v3)
WEFT_VARIANT(v4)
#undef WEFT_VARIANT

namespace {

bool hasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2"); }
bool hasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}

using Table = std::unordered_multimap<std::string_view, const HandlerRow *>;

Table gather() {
  Table table;
  if (!hasAvx2())
    return table;
  for (RowRange r : hasAvx512() ? v4::all() : v3::all())
    for (const HandlerRow *row = r.begin; row != r.end; ++row) {
      std::string_view keys = row->key;
      while (!keys.empty()) {
        size_t bar = keys.find('|');
        table.emplace(keys.substr(0, bar), row);
        keys.remove_prefix(bar == keys.npos ? keys.size() : bar + 1);
      }
    }
  return table;
}

const Table &handlerTable() {
  static const Table t = gather();
  return t;
}

int arityOf(const HandlerRow &row) {
  int n = 0;
  while (n < 4 && row.s[n] != LaneType::None)
    ++n;
  return n;
}

} // namespace

bool isMachineSupported() { return hasAvx2(); }

const HandlerRow *findHandler(std::string_view key, int arity) {
  auto [it, end] = handlerTable().equal_range(key);
  for (; it != end; ++it)
    if (arity < 0 || arityOf(*it->second) == arity)
      return it->second;
  return nullptr;
}

} // namespace weft::emu
