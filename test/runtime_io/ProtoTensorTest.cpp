// TensorProto files: every data field, packed and one by one, and each refusal with the field's name.
#include "runtime/io/ProtoTensor.h"
#include "Builders.h"
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;
using plan::ElementType;

namespace {
enum : uint32_t {
  dims = 1,
  dataType,
  segment,
  floatData,
  int32Data,
  stringData,
  int64Data,
  name,
  rawData,
  doubleData,
  uint64Data,
  docString,
  externalData,
  dataLocation
};

/// A tensor of one dimension.
Proto vectorOf(ElementType type, int64_t count) {
  Proto proto;
  proto.number(dims, count).number(dataType, int64_t(type)).content(name, {'t'});
  return proto;
}
Bytes parse(const Proto &proto, ElementType type, std::vector<std::string> *strings = nullptr) {
  Array array;
  Status status = parseProtoTensor(proto.bytes, type, array);
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(array.type, type);
  if (strings)
    *strings = array.strings;
  return array.bytes;
}
void expectRefusal(const Proto &proto, ElementType type, const std::string &part) {
  Array array;
  Status status = parseProtoTensor(proto.bytes, type, array);
  EXPECT_EQ(status.code, Code::invalid);
  EXPECT_NE(status.message.find(part), std::string::npos) << status.message;
}
} // namespace

TEST(ProtoTensor, RawData) {
  EXPECT_EQ(parse(vectorOf(ElementType::float32, 2).content(rawData, bytesOf<float>({1, 2})), ElementType::float32),
            bytesOf<float>({1, 2}));
  EXPECT_EQ(parse(vectorOf(ElementType::int4, 3).content(rawData, {0x21, 0xF3}), ElementType::int4),
            (Bytes{0x21, 0x03}));
  EXPECT_EQ(parse(vectorOf(ElementType::bool_, 2).content(rawData, {0, 7}), ElementType::bool_), (Bytes{0, 1}));
}

TEST(ProtoTensor, FloatData) {
  EXPECT_EQ(parse(vectorOf(ElementType::float32, 2).content(floatData, bytesOf<float>({1, 2})), ElementType::float32),
            bytesOf<float>({1, 2}));
  EXPECT_EQ(parse(vectorOf(ElementType::float32, 2).fixed(floatData, 3.f).fixed(floatData, 4.f), ElementType::float32),
            bytesOf<float>({3, 4}));
  EXPECT_EQ(
      parse(vectorOf(ElementType::complex64, 1).content(floatData, bytesOf<float>({1, 2})), ElementType::complex64),
      bytesOf<float>({1, 2}));
}

TEST(ProtoTensor, Int32Data) {
  EXPECT_EQ(parse(vectorOf(ElementType::int32, 2).packed(int32Data, {-1, 7}), ElementType::int32),
            bytesOf<int32_t>({-1, 7}));
  EXPECT_EQ(parse(vectorOf(ElementType::int8, 2).packed(int32Data, {-128, 127}), ElementType::int8),
            bytesOf<int8_t>({-128, 127}));
  EXPECT_EQ(parse(vectorOf(ElementType::uint8, 1).number(int32Data, 255), ElementType::uint8), Bytes{255});
  EXPECT_EQ(parse(vectorOf(ElementType::int16, 1).packed(int32Data, {-2}), ElementType::int16), bytesOf<int16_t>({-2}));
  EXPECT_EQ(parse(vectorOf(ElementType::uint16, 1).packed(int32Data, {65535}), ElementType::uint16),
            bytesOf<uint16_t>({65535}));
  EXPECT_EQ(parse(vectorOf(ElementType::bool_, 2).packed(int32Data, {1, 0}), ElementType::bool_), (Bytes{1, 0}));
  EXPECT_EQ(parse(vectorOf(ElementType::float16, 1).packed(int32Data, {0x3C00}), ElementType::float16),
            bytesOf<uint16_t>({0x3C00}));
  EXPECT_EQ(parse(vectorOf(ElementType::bfloat16, 1).packed(int32Data, {0x3F80}), ElementType::bfloat16),
            bytesOf<uint16_t>({0x3F80}));
  EXPECT_EQ(parse(vectorOf(ElementType::float8e4m3fn, 1).packed(int32Data, {0xB8}), ElementType::float8e4m3fn),
            Bytes{0xB8});
  EXPECT_EQ(parse(vectorOf(ElementType::uint4, 3).packed(int32Data, {0x21, 0x03}), ElementType::uint4),
            (Bytes{0x21, 0x03}));
  expectRefusal(vectorOf(ElementType::int8, 1).packed(int32Data, {300}), ElementType::int8, "int32_data holds 300");
}

TEST(ProtoTensor, WideData) {
  EXPECT_EQ(parse(vectorOf(ElementType::int64, 2).packed(int64Data, {-5, INT64_MAX}), ElementType::int64),
            bytesOf<int64_t>({-5, INT64_MAX}));
  EXPECT_EQ(parse(vectorOf(ElementType::float64, 1).content(doubleData, bytesOf<double>({0.1})), ElementType::float64),
            bytesOf<double>({0.1}));
  EXPECT_EQ(parse(vectorOf(ElementType::float64, 1).fixed(doubleData, 0.2), ElementType::float64),
            bytesOf<double>({0.2}));
  EXPECT_EQ(
      parse(vectorOf(ElementType::complex128, 1).content(doubleData, bytesOf<double>({1, 2})), ElementType::complex128),
      bytesOf<double>({1, 2}));
  EXPECT_EQ(parse(vectorOf(ElementType::uint64, 1).packed(uint64Data, {-1}), ElementType::uint64),
            bytesOf<uint64_t>({UINT64_MAX}));
  EXPECT_EQ(parse(vectorOf(ElementType::uint32, 1).packed(uint64Data, {4294967295}), ElementType::uint32),
            bytesOf<uint32_t>({4294967295u}));
}

TEST(ProtoTensor, StringData) {
  std::vector<std::string> strings;
  parse(vectorOf(ElementType::string, 2).content(stringData, {'a', 'b'}).content(stringData, {}), ElementType::string,
        &strings);
  EXPECT_EQ(strings, (std::vector<std::string>{"ab", ""}));
  expectRefusal(vectorOf(ElementType::string, 1).content(rawData, {'a'}), ElementType::string,
                "raw_data holds no strings");
}

TEST(ProtoTensor, DimensionsPackedAndEmpty) {
  Array array;
  Proto packed = Proto().packed(dims, {2, 0, 3}).number(dataType, 1);
  ASSERT_TRUE(parseProtoTensor(packed.bytes, ElementType::float32, array).ok());
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 0, 3}));
  Proto scalar = Proto().number(dataType, 7).packed(int64Data, {3});
  ASSERT_TRUE(parseProtoTensor(scalar.bytes, ElementType::int64, array).ok());
  EXPECT_TRUE(array.shape.empty());
}

TEST(ProtoTensor, Refusals) {
  const ElementType f32 = ElementType::float32;
  expectRefusal(vectorOf(f32, -1), f32, "dims[0] is -1");
  expectRefusal(Proto().packed(dims, {1ll << 40, 1ll << 40}).number(dataType, 1), f32, "TensorProto.dims");
  expectRefusal(vectorOf(f32, 3).content(rawData, Bytes(8)), f32, "raw_data has 8 bytes, shape [3] of float needs 12");
  expectRefusal(vectorOf(f32, 3).content(floatData, Bytes(8)), f32, "float_data has 2 values");
  expectRefusal(vectorOf(f32, 3), f32, "needs 12");
  expectRefusal(vectorOf(f32, 1).packed(int64Data, {1}), f32, "int64_data does not belong");
  expectRefusal(vectorOf(f32, 1).content(floatData, Bytes(4)).content(rawData, Bytes(4)), f32, "raw_data");
  expectRefusal(vectorOf(f32, 1).content(floatData, Bytes(4)).packed(int32Data, {1}), f32,
                "both float_data and int32_data");
  expectRefusal(vectorOf(f32, 1).content(floatData, Bytes(3)), f32, "float_data is malformed");
  expectRefusal(vectorOf(f32, 1).content(externalData, {}), f32, "external_data");
  expectRefusal(vectorOf(f32, 1).number(dataLocation, 1), f32, "external_data");
  expectRefusal(vectorOf(f32, 1).content(segment, {}), f32, "segment");
  expectRefusal(vectorOf(ElementType::int64, 1).packed(int64Data, {1}), f32,
                "expected tensor(float), TensorProto.data_type is tensor(int64)");
  expectRefusal(Proto().number(dataType, 99), f32, "data_type 99");
  expectRefusal(Proto().raw(rawData << 3 | 2).raw(100), f32, "breaks off");
  expectRefusal(Proto().raw(5 << 3 | 3), f32, "breaks off"); // a group
}
