// .npy files: every type and order that is read, what is written, and what is refused with which words.
#include "runtime/io/Npy.h"
#include "Builders.h"
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;
using plan::ElementType;

static Array parse(const Bytes &file, ElementType type) {
  Array array;
  Status status = parseNpy(file, type, array);
  EXPECT_TRUE(status.ok()) << status.message;
  return array;
}
static std::string refusal(const Bytes &file, ElementType type) {
  Array array;
  Status status = parseNpy(file, type, array);
  EXPECT_EQ(status.code, Code::invalid);
  return status.message;
}
static bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// The header may stand in any version, with a Python 2 number and keys in another order.
TEST(Npy, ReadsEveryVersion) {
  for (int version : {1, 2, 3}) {
    Array array = parse(npyFile(npyHeader("<f4", "(2,)"), bytesOf<float>({1.5f, -2}), version), ElementType::float32);
    EXPECT_EQ(array.shape, std::vector<int64_t>{2});
    EXPECT_EQ(array.bytes, bytesOf<float>({1.5f, -2}));
  }
  std::string odd = "{ \"shape\":(1L , 2), \"descr\" : '=i2','fortran_order':False}";
  EXPECT_EQ(parse(npyFile(odd, bytesOf<int16_t>({7, 8})), ElementType::int16).shape, (std::vector<int64_t>{1, 2}));
}

TEST(Npy, ScalarsAndEmptyArrays) {
  EXPECT_TRUE(parse(npyFile(npyHeader("<i8", "()"), bytesOf<int64_t>({5})), ElementType::int64).shape.empty());
  Array empty = parse(npyFile(npyHeader("<f4", "(3, 0, 9223372036854775807)"), {}), ElementType::float32);
  EXPECT_EQ(empty.shape, (std::vector<int64_t>{3, 0, INT64_MAX}));
  EXPECT_TRUE(empty.bytes.empty());
}

TEST(Npy, BigEndianIsSwappedByPart) {
  EXPECT_EQ(parse(npyFile(npyHeader(">i4", "(2,)"), {0, 0, 1, 2, 0xFF, 0xFF, 0xFF, 0xFE}), ElementType::int32).bytes,
            bytesOf<int32_t>({258, -2}));
  EXPECT_EQ(parse(npyFile(npyHeader(">c8", "()"), {0x3F, 0x80, 0, 0, 0x40, 0, 0, 0}), ElementType::complex64).bytes,
            bytesOf<float>({1, 2}));
}

// [2, 3] stored column by column.
TEST(Npy, FortranOrder) {
  Array array =
      parse(npyFile(npyHeader("<i2", "(2, 3)", true), bytesOf<int16_t>({1, 4, 2, 5, 3, 6})), ElementType::int16);
  EXPECT_EQ(array.bytes, bytesOf<int16_t>({1, 2, 3, 4, 5, 6}));
}

TEST(Npy, BooleansBecomeZeroOrOne) {
  EXPECT_EQ(parse(npyFile(npyHeader("|b1", "(3,)"), {0, 1, 255}), ElementType::bool_).bytes, (Bytes{0, 1, 1}));
}

// bfloat16 arrives as raw bits, as numpy.save writes ml_dtypes' arrays, and by name.
TEST(Npy, RawBitTypes) {
  for (const char *descr : {"<u2", "<V2", "|V2", "bfloat16"})
    EXPECT_EQ(parse(npyFile(npyHeader(descr, "(1,)"), {0x80, 0x3F}), ElementType::bfloat16).bytes, (Bytes{0x80, 0x3F}))
        << descr;
  for (const char *descr : {"|u1", "<V1", "<f1", "float8_e5m2"})
    EXPECT_EQ(parse(npyFile(npyHeader(descr, "(1,)"), {0x3C}), ElementType::float8e5m2).bytes, Bytes{0x3C}) << descr;
  EXPECT_TRUE(has(refusal(npyFile(npyHeader("float8_e5m2", "(1,)"), {0}), ElementType::float8e4m3fn), "float8e4m3fn"));
}

// One value per byte in the file, packed from the low bits in memory; both spellings of -1.
TEST(Npy, FourAndTwoBitValues) {
  Array four = parse(npyFile(npyHeader("|u1", "(3,)"), {0x0F, 0x07, 0xFF}), ElementType::int4);
  EXPECT_EQ(four.bytes, (Bytes{0x7F, 0x0F}));
  EXPECT_EQ(parse(npyFile(npyHeader("<V1", "(5,)"), {3, 2, 1, 0, 3}), ElementType::uint2).bytes, (Bytes{0x1B, 0x03}));
  EXPECT_TRUE(has(refusal(npyFile(npyHeader("|u1", "(1,)"), {16}), ElementType::uint4), "16"));
  Bytes file;
  ASSERT_TRUE(encodeNpy(four, file).ok());
  EXPECT_EQ(Bytes(file.end() - 3, file.end()), (Bytes{0x0F, 0x07, 0x0F}));
}

TEST(Npy, Strings) {
  Bytes data = bytesOf<uint32_t>({'a', 0xE9, 0x1F600, 0, 0, 0});
  EXPECT_EQ(parse(npyFile(npyHeader("<U3", "(2,)"), data), ElementType::string).strings,
            (std::vector<std::string>{"a\xC3\xA9\xF0\x9F\x98\x80", ""}));
  EXPECT_EQ(parse(npyFile(npyHeader(">U1", "()"), {0, 0, 0, 'z'}), ElementType::string).strings,
            std::vector<std::string>{"z"});
  EXPECT_TRUE(has(refusal(npyFile(npyHeader("<U1", "()"), {0, 0xD8, 0, 0}), ElementType::string), "Unicode"));
  EXPECT_TRUE(has(refusal(npyFile(npyHeader("|O", "()"), {1}), ElementType::string), "pickle"));
}

TEST(Npy, Refusals) {
  auto f32 = [](const std::string &shape, size_t bytes) { return npyFile(npyHeader("<f4", shape), Bytes(bytes)); };
  EXPECT_TRUE(has(refusal({}, ElementType::float32), "not a .npy file"));
  EXPECT_TRUE(has(refusal(npyFile(npyHeader("<f4", "(1,)"), Bytes(4), 4), ElementType::float32), "version 4.0"));
  EXPECT_TRUE(has(refusal(f32("(5,)", 14), ElementType::float32), "needs 20 bytes of data, the file holds 14"));
  EXPECT_TRUE(has(refusal(f32("(1,)", 8), ElementType::float32), "needs 4 bytes"));
  EXPECT_TRUE(has(refusal(f32("(-1,)", 4), ElementType::float32), "'shape'"));
  EXPECT_TRUE(has(refusal(f32("(4294967296, 4294967296)", 4), ElementType::float32), "too many elements"));
  EXPECT_TRUE(has(refusal(f32("(99999999999999999999,)", 4), ElementType::float32), "'shape'"));
  EXPECT_TRUE(
      has(refusal(f32("(1,)", 4), ElementType::int64), "expected tensor(int64) as '<i8', the file holds '<f4'"));
  EXPECT_TRUE(has(refusal(npyFile("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", Bytes(4)),
                          ElementType::float32),
                  "structured"));
  EXPECT_TRUE(has(refusal(npyFile("{'descr': '<f4', 'shape': ()}", Bytes(4)), ElementType::float32), "fortran_order"));
  EXPECT_TRUE(has(refusal(npyFile("{'descr': '<f4'", {}), ElementType::float32), "malformed"));
  EXPECT_TRUE(has(refusal(npyFile(npyHeader("<U0", "(1000000000000,)"), {}), ElementType::string), "no bytes"));
}

// What is written is what NumPy writes for the same array: np.save of np.array([[1, 2, 3]], np.float32).
TEST(Npy, WritesAsNumpyDoes) {
  Bytes file;
  ASSERT_TRUE(encodeNpy({ElementType::float32, {1, 3}, bytesOf<float>({1, 2, 3}), {}}, file).ok());
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
  header.resize(117, ' ');
  EXPECT_EQ(file, npyFile(header + "\n", bytesOf<float>({1, 2, 3})));
}

TEST(Npy, RoundTripsOfEveryType) {
  for (int number = 1; number <= int(ElementType::MAX); ++number) {
    Array array;
    array.type = ElementType(number);
    array.shape = {3, 1, 5};
    if (array.type == ElementType::string)
      array.strings.assign(15, "w\xC3\xB6rd");
    for (uint64_t i = 0; i < byteSize(array.type, 15); ++i)
      array.bytes.push_back(array.type == ElementType::bool_ ? i % 2 : uint8_t(i * 37 + 11));
    if (bitWidth(array.type) == 4)
      array.bytes.back() &= 0x0F; // 15 values: the last byte is half used
    if (bitWidth(array.type) == 2)
      array.bytes.back() &= 0x3F;
    Bytes file;
    ASSERT_TRUE(encodeNpy(array, file).ok());
    Array back = parse(file, array.type);
    EXPECT_EQ(back.type, array.type);
    EXPECT_EQ(back.shape, array.shape);
    EXPECT_EQ(back.bytes, array.bytes) << ortTypeName(array.type);
    EXPECT_EQ(back.strings, array.strings);
  }
}

TEST(Npy, StringsThatAreNotUtf8AreNotWritten) {
  for (const char *text : {"\xFF", "\xC0\x80", "\xED\xA0\x80", "\xE2\x82"}) {
    Bytes file;
    EXPECT_TRUE(has(encodeNpy({ElementType::string, {}, {}, {text}}, file).message, "not UTF-8"));
  }
}
