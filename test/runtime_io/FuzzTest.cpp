// Mutated files are read or refused, never more: no crash, no read outside the bytes (AddressSanitizer's build of this
// test sees it), and whatever is accepted has as much data as its shape says. Fixed seed.
#include "Builders.h"
#include "runtime/io/Npy.h"
#include "runtime/io/ProtoTensor.h"
#include <gtest/gtest.h>
#include <random>

using namespace weft;
using namespace weft::test;
using plan::ElementType;

namespace {
constexpr int rounds = 20'000;

Bytes mutate(Bytes data, std::mt19937 &random) {
  auto below = [&](size_t limit) { return size_t(random() % std::max<size_t>(limit, 1)); };
  for (size_t i = 1 + below(4); i > 0 && !data.empty(); --i) {
    size_t at = below(data.size()), length = std::min(1 + below(8), data.size() - at);
    auto place = data.begin() + ptrdiff_t(at);
    switch (below(5)) {
    case 0:
      data[at] = uint8_t(random());
      break;
    case 1:
      data[at] ^= uint8_t(1 << below(8));
      break;
    case 2:
      data.erase(place, place + ptrdiff_t(length));
      break;
    case 3: {
      Bytes copy(place, place + ptrdiff_t(length));
      data.insert(place, copy.begin(), copy.end());
      break;
    }
    case 4:
      data.resize(at);
      break;
    }
  }
  return data;
}

void expectWhole(const Array &array) {
  uint64_t count = 1;
  for (int64_t dim : array.shape)
    count = dim == 0 ? 0 : count * uint64_t(dim);
  if (array.type == ElementType::string)
    EXPECT_EQ(array.strings.size(), std::ranges::count(array.shape, 0) ? 0 : count);
  else
    EXPECT_EQ(array.bytes.size(), std::ranges::count(array.shape, 0) ? 0 : byteSize(array.type, count));
}

template <typename Parse> void fuzz(const std::vector<std::pair<Bytes, ElementType>> &seeds, Parse parse) {
  std::mt19937 random(20240607);
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto &[seed, type] = seeds[random() % seeds.size()];
    // An allocation of exactly the file's size, so that a read past its end is seen.
    Bytes file = mutate(seed, random);
    file.shrink_to_fit();
    Array array;
    Status status = parse(file, random() % 4 ? type : ElementType::undefined, array);
    EXPECT_TRUE(status.ok() || (status.code == Code::invalid && !status.message.empty()));
    if (status.ok()) {
      ++accepted;
      expectWhole(array);
    }
  }
  EXPECT_GT(accepted, rounds / 200); // the mutations reach beyond the first check
}
} // namespace

TEST(Fuzz, Npy) {
  fuzz({{npyFile(npyHeader("<f4", "(2, 3)"), Bytes(24, 1)), ElementType::float32},
        {npyFile(npyHeader(">i8", "(2, 1, 2)", true), Bytes(32, 2), 2), ElementType::int64},
        {npyFile(npyHeader("|b1", "(4,)"), Bytes(4, 1), 3), ElementType::bool_},
        {npyFile(npyHeader("<U2", "(2,)"), bytesOf<uint32_t>({'a', 'b', 0x20AC, 0})), ElementType::string},
        {npyFile(npyHeader("|u1", "(3, 3)", true), Bytes(9, 7)), ElementType::int4},
        {npyFile(npyHeader("bfloat16", "()"), Bytes(2, 7)), ElementType::bfloat16}},
       parseNpy);
}

TEST(Fuzz, ProtoTensor) {
  auto tensor = [](ElementType type, int64_t count) {
    return Proto().number(1, count).number(2, int64_t(type)).content(8, {'n'});
  };
  fuzz({{tensor(ElementType::float32, 4).content(9, Bytes(16, 3)).bytes, ElementType::float32},
        {tensor(ElementType::float32, 2).content(4, Bytes(8, 3)).bytes, ElementType::float32},
        {tensor(ElementType::float16, 3).packed(5, {1, 2, 0x3C00}).bytes, ElementType::float16},
        {tensor(ElementType::uint4, 5).packed(5, {0x21, 0x43, 5}).bytes, ElementType::uint4},
        {tensor(ElementType::int64, 2).packed(7, {-1, 1ll << 60}).bytes, ElementType::int64},
        {tensor(ElementType::string, 2).content(6, {'a'}).content(6, {'b', 'c'}).bytes, ElementType::string},
        {tensor(ElementType::complex128, 1).fixed(10, 1.0).fixed(10, 2.0).bytes, ElementType::complex128}},
       parseProtoTensor);
}
