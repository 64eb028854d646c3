// Element types and constants between ONNX and MLIR.
#include "frontends/onnx/Importer.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::onnx {

Type toType(DataType type, MLIRContext *context) {
  auto integer = [&](unsigned width, bool isUnsigned = false) -> Type {
    return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (type) {
  case DataType::f32: return Float32Type::get(context);
  case DataType::f64: return Float64Type::get(context);
  case DataType::f16: return Float16Type::get(context);
  case DataType::bf16: return BFloat16Type::get(context);
  case DataType::f8e4m3fn: return Float8E4M3FNType::get(context);
  case DataType::f8e4m3fnuz: return Float8E4M3FNUZType::get(context);
  case DataType::f8e5m2: return Float8E5M2Type::get(context);
  case DataType::f8e5m2fnuz: return Float8E5M2FNUZType::get(context);
  case DataType::f8e8m0: return Float8E8M0FNUType::get(context);
  case DataType::f4e2m1: return Float4E2M1FNType::get(context);
  case DataType::boolean: return integer(1);
  case DataType::i2: return integer(2);
  case DataType::i4: return integer(4);
  case DataType::i8: return integer(8);
  case DataType::i16: return integer(16);
  case DataType::i32: return integer(32);
  case DataType::i64: return integer(64);
  case DataType::u2: return integer(2, true);
  case DataType::u4: return integer(4, true);
  case DataType::u8: return integer(8, true);
  case DataType::u16: return integer(16, true);
  case DataType::u32: return integer(32, true);
  case DataType::u64: return integer(64, true);
  case DataType::undefined: case DataType::string: case DataType::c64: case DataType::c128: return {};
  }
  return {};
}

DataType fromType(Type type) {
  for (int i = 1; type && i <= int(DataType::i2); ++i)
    if (toType(DataType(i), type.getContext()) == type)
      return DataType(i);
  return DataType::undefined;
}

static int64_t readInteger(const char *data, unsigned bytes, bool isUnsigned) {
  uint64_t raw = 0;
  memcpy(&raw, data, bytes);
  unsigned shift = 64 - 8 * bytes;
  return isUnsigned ? int64_t(raw) : int64_t(raw << shift) >> shift;
}

/// One element of a stored tensor of an integer type.
static APInt elementBits(const Tensor &tensor, int64_t i, unsigned width) {
  unsigned bytes = storedBits(tensor.type) / 8;
  return APInt(width, uint64_t(readInteger(tensor.data + i * bytes, bytes, true)), false, /*implicitTrunc=*/true);
}

ElementsAttr Importer::constantAttr(const Tensor &tensor) {
  Type element = toType(tensor.type, context);
  auto type = RankedTensorType::get(tensor.dims, element);
  unsigned bytes = storedBits(tensor.type) / 8, width = element.getIntOrFloatBitWidth();
  int64_t count = tensor.elements();
  if (count <= 64 || width < 8) {
    if (auto real = dyn_cast<FloatType>(element)) {
      SmallVector<APFloat> values;
      for (int64_t i = 0; i < count; ++i)
        values.emplace_back(real.getFloatSemantics(), elementBits(tensor, i, width));
      return DenseElementsAttr::get(type, values);
    }
    SmallVector<APInt> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(elementBits(tensor, i, width));
    return DenseElementsAttr::get(type, values);
  }
  // The blob is the model's own memory; the deleter's owner keeps it alive.
  auto blob = UnmanagedAsmResourceBlob::allocateWithAlign(ArrayRef<char>(tensor.data, tensor.size), bytes,
                                                          [owner = tensor.owner](void *, size_t, size_t) {});
  return DenseResourceElementsAttr::get(type, tensor.name.empty() ? "constant" : tensor.name, std::move(blob));
}

/// Small tensors as host values: integers, bool, f32 and f64.
static std::shared_ptr<HostTensor> readHost(const Tensor &tensor, Type element) {
  auto host = std::make_shared<HostTensor>();
  host->elementType = element;
  host->shape.assign(tensor.dims.begin(), tensor.dims.end());
  unsigned bytes = storedBits(tensor.type) / 8;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i) {
    const char *at = tensor.data + i * bytes;
    if (element.isF32()) {
      float value;
      memcpy(&value, at, 4);
      host->values.push_back(Scalar::ofReal(value));
    } else if (element.isF64()) {
      double value;
      memcpy(&value, at, 8);
      host->values.push_back(Scalar::ofReal(value));
    } else {
      host->values.push_back(Scalar::of(readInteger(at, bytes, cast<IntegerType>(element).isUnsigned() || element.isInteger(1))));
    }
  }
  return host;
}

const HostTensor *Importer::peekHost(Slot &slot) {
  if (slot.host || !slot.constant)
    return slot.host.get();
  const Tensor &tensor = *slot.constant;
  Type element = toType(tensor.type, context);
  auto integer = dyn_cast_or_null<IntegerType>(element);
  bool fits = integer ? (integer.getWidth() == 1 || integer.getWidth() >= 8) : element && (element.isF32() || element.isF64());
  if (!fits || tensor.elements() > (integer ? maxHostElements : 64))
    return nullptr;
  slot.host = readHost(tensor, element);
  return slot.host.get();
}

Value Importer::constantValue(const Tensor &tensor) {
  Value &value = constants[&tensor];
  if (!value) {
    GraphBuilder builder(state, NameLoc::get(StringAttr::get(context, tensor.name.empty() ? "constant" : tensor.name)));
    value = builder.constant(constantAttr(tensor));
  }
  return value;
}

} // namespace weft::onnx
