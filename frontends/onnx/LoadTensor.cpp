// Tensors and attributes from protobuf to plain data: see LoadInternal.h. Bytes are not copied where they already stand in
// memory as Weft wants them.
#include "frontends/onnx/LoadInternal.h"
#include <bit>
#include <cstring>

namespace weft::onnx {
static_assert(std::endian::native == std::endian::little, "tensor bytes are used as they stand in the file");

std::string spell(DataType type) {
  static const char *names[] = {"undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool",
                                "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16",
                                "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4",
                                "float4e2m1", "float8e8m0", "uint2", "int2"};
  auto number = static_cast<size_t>(type);
  return number < std::size(names) ? names[number] : "type " + std::to_string(number);
}

static unsigned fileBits(DataType type) {
  switch (type) {
  case DataType::undefined: case DataType::string: return 0;
  case DataType::u2: case DataType::i2: return 2;
  case DataType::u4: case DataType::i4: case DataType::f4e2m1: return 4;
  case DataType::u8: case DataType::i8: case DataType::boolean: case DataType::f8e4m3fn: case DataType::f8e4m3fnuz:
  case DataType::f8e5m2: case DataType::f8e5m2fnuz: case DataType::f8e8m0: return 8;
  case DataType::u16: case DataType::i16: case DataType::f16: case DataType::bf16: return 16;
  case DataType::f32: case DataType::i32: case DataType::u32: return 32;
  case DataType::f64: case DataType::i64: case DataType::u64: case DataType::c64: return 64;
  case DataType::c128: return 128;
  }
  return 0;
}
unsigned storedBits(DataType type) {
  unsigned bits = fileBits(type);
  return bits && bits < 8 ? 8 : bits;
}

bool countElements(const std::vector<int64_t> &dims, int64_t &count, std::string &error) {
  count = 1;
  for (int64_t dim : dims) {
    if (dim < 0) {
      error = "dims must not be negative, found " + std::to_string(dim);
      return false;
    }
    if (__builtin_mul_overflow(count, dim, &count) || count > (int64_t(1) << 55)) {
      error = "the product of dims overflows";
      return false;
    }
  }
  return true;
}

static void own(Tensor &tensor, std::string bytes) {
  auto copy = std::make_shared<std::string>(std::move(bytes));
  tensor.data = copy->data();
  tensor.size = copy->size();
  tensor.owner = copy;
}

/// One element per byte (sign not extended: the low bits count) from a packed little-endian array.
static std::string unpack(const char *data, int64_t count, unsigned bits) {
  std::string out(count, 0);
  unsigned perByte = 8 / bits;
  for (int64_t i = 0; i < count; ++i)
    out[i] = (static_cast<unsigned char>(data[i / perByte]) >> (bits * (i % perByte))) & ((1u << bits) - 1);
  return out;
}

template <typename To, typename From> static std::string narrow(const From &values) {
  std::string out(values.size() * sizeof(To), 0);
  for (int i = 0; i < values.size(); ++i) {
    To value = static_cast<To>(values[i]);
    std::memcpy(out.data() + i * sizeof(To), &value, sizeof(To));
  }
  return out;
}

/// The bytes of a tensor that has no raw_data, from the field that its type prescribes.
static std::string typedBytes(const ::onnx::TensorProto &p, DataType type, const char *&field) {
  switch (type) {
  case DataType::f32: case DataType::c64: field = "float_data"; return narrow<float>(p.float_data());
  case DataType::f64: case DataType::c128: field = "double_data"; return narrow<double>(p.double_data());
  case DataType::i64: field = "int64_data"; return narrow<int64_t>(p.int64_data());
  case DataType::u64: field = "uint64_data"; return narrow<uint64_t>(p.uint64_data());
  case DataType::u32: field = "uint64_data"; return narrow<uint32_t>(p.uint64_data());
  case DataType::i32: field = "int32_data"; return narrow<int32_t>(p.int32_data());
  case DataType::u16: case DataType::i16: case DataType::f16: case DataType::bf16:
    field = "int32_data";
    return narrow<uint16_t>(p.int32_data());
  default: field = "int32_data"; return narrow<uint8_t>(p.int32_data());
  }
}

static std::string fill(Tensor &tensor, const ::onnx::TensorProto &proto, LoadContext &context) {
  int64_t count = 0;
  std::string error;
  if (!countElements(tensor.dims, count, error))
    return error;
  unsigned bits = fileBits(tensor.type);
  if (tensor.type == DataType::string) {
    tensor.strings.assign(proto.string_data().begin(), proto.string_data().end());
    if (proto.has_raw_data() || int64_t(tensor.strings.size()) != count)
      return "string_data holds " + std::to_string(tensor.strings.size()) + " strings, dims ask for " + std::to_string(count);
    return "";
  }
  if (!bits)
    return "data_type " + std::to_string(proto.data_type()) + " is not a type of tensor elements";
  size_t bytes = (size_t(count) * bits + 7) / 8;
  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const auto &entry : proto.external_data())
      entries.emplace_back(entry.key(), entry.value());
    auto found = context.files.find(entries, bytes);
    if (!found.error.empty())
      return found.error;
    tensor.data = found.data, tensor.size = bytes, tensor.owner = found.owner;
  } else if (proto.has_raw_data()) {
    if (proto.raw_data().size() != bytes)
      return "raw_data has " + std::to_string(proto.raw_data().size()) + " bytes, but type " + spell(tensor.type) +
             " and dims need " + std::to_string(bytes);
    tensor.data = proto.raw_data().data(), tensor.size = bytes, tensor.owner = context.owner;
  } else {
    const char *field = "";
    std::string data = typedBytes(proto, tensor.type, field);
    // Narrow integers stand packed in bytes, in int32_data as in raw_data.
    if (data.size() != bytes)
      return std::string(field) + " holds " + std::to_string(data.size()) + " bytes, but type " + spell(tensor.type) +
             " and dims need " + std::to_string(bytes);
    own(tensor, std::move(data));
  }
  if (bits < 8) {
    own(tensor, unpack(tensor.data, count, bits));
  } else if (tensor.type == DataType::boolean) {
    for (size_t i = 0; i < tensor.size; ++i)
      if (tensor.data[i] & ~1) { // anything but 0 is true
        std::string copy(tensor.data, tensor.size);
        for (char &c : copy)
          c = c != 0;
        own(tensor, std::move(copy));
        break;
      }
  } else if (reinterpret_cast<uintptr_t>(tensor.data) % (bits / 8) != 0) {
    own(tensor, std::string(tensor.data, tensor.size)); // element access needs alignment
  }
  return "";
}

Tensor convertTensor(const ::onnx::TensorProto &proto, const std::string &node, const std::string &what, LoadContext &context) {
  Tensor tensor;
  tensor.name = proto.name();
  tensor.type = static_cast<DataType>(proto.data_type());
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  std::string error = proto.has_segment() ? "segments are not supported" : fill(tensor, proto, context);
  if (!error.empty()) {
    context.error(node, what + ": " + error);
    tensor = {};
    tensor.name = proto.name();
  }
  return tensor;
}

Tensor convertSparse(const ::onnx::SparseTensorProto &proto, const std::string &node, const std::string &what,
                     LoadContext &context) {
  Tensor values = convertTensor(proto.values(), node, what + " (values)", context);
  Tensor indices = convertTensor(proto.indices(), node, what + " (indices)", context);
  Tensor dense;
  dense.name = values.name;
  dense.type = values.type;
  dense.dims.assign(proto.dims().begin(), proto.dims().end());
  int64_t count = 0;
  std::string error;
  int64_t n = values.dims.size() == 1 ? values.dims[0] : 0, rank = dense.dims.size();
  bool flat = indices.dims.size() == 1;
  if (countElements(dense.dims, count, error) && (count > (int64_t(1) << 31)))
    error = "a sparse tensor of more than 2^31 elements is not supported";
  else if (values.type == DataType::undefined || indices.type != DataType::i64 || indices.elements() != (flat ? n : n * rank))
    error = "values and indices do not fit";
  if (error.empty()) {
    size_t width = storedBits(dense.type) / 8;
    std::string bytes(count * width, 0);
    auto *index = reinterpret_cast<const int64_t *>(indices.data);
    for (int64_t i = 0; i < n && error.empty(); ++i) {
      int64_t at = flat ? index[i] : 0;
      for (int64_t d = 0; !flat && d < rank; ++d) {
        if (index[i * rank + d] < 0 || index[i * rank + d] >= dense.dims[d])
          error = "an index is out of range";
        at = at * dense.dims[d] + index[i * rank + d];
      }
      if (at < 0 || at >= count)
        error = "an index is out of range";
      else
        std::memcpy(bytes.data() + at * width, values.data + i * width, width);
    }
    own(dense, std::move(bytes));
  }
  if (!error.empty())
    context.error(node, what + ": " + error);
  return dense;
}

TypeInfo convertType(const ::onnx::TypeProto &proto) {
  TypeInfo type;
  auto tensor = [&](const auto &t) {
    type.kind = TypeInfo::tensor;
    type.element = static_cast<DataType>(t.elem_type());
    type.hasShape = t.has_shape();
    for (const auto &dim : t.shape().dim()) {
      // Exporters write "?" or "None" for dimensions without a name: equal names there do not mean equal dimensions.
      bool isNamed = dim.dim_param() != "?" && dim.dim_param() != "None" && dim.dim_param() != "-1";
      type.dims.push_back({dim.has_dim_value() ? dim.dim_value() : -1, isNamed ? dim.dim_param() : std::string()});
    }
  };
  if (proto.has_tensor_type()) {
    tensor(proto.tensor_type());
  } else if (proto.has_sequence_type()) {
    type.kind = TypeInfo::sequence;
    type.inner = std::make_shared<TypeInfo>(convertType(proto.sequence_type().elem_type()));
  } else if (proto.has_optional_type()) {
    type.kind = TypeInfo::optional;
    type.inner = std::make_shared<TypeInfo>(convertType(proto.optional_type().elem_type()));
  } else if (proto.value_case() != ::onnx::TypeProto::VALUE_NOT_SET) {
    type.kind = TypeInfo::other;
  }
  return type;
}

Attribute convertAttribute(const ::onnx::AttributeProto &p, const std::string &node, LoadContext &context) {
  Attribute a;
  a.name = p.name();
  a.refName = p.ref_attr_name();
  std::string what = "attribute '" + a.name + "'";
  using P = ::onnx::AttributeProto;
  switch (p.type()) {
  case P::FLOAT: a.kind = Attribute::f; a.real = p.f(); break;
  case P::INT: a.kind = Attribute::i; a.integer = p.i(); break;
  case P::STRING: a.kind = Attribute::s; a.string = p.s(); break;
  case P::TENSOR: a.kind = Attribute::t; if (a.refName.empty()) a.tensors.push_back(convertTensor(p.t(), node, what, context)); break;
  case P::SPARSE_TENSOR: a.kind = Attribute::t; a.tensors.push_back(convertSparse(p.sparse_tensor(), node, what, context)); break;
  case P::FLOATS: a.kind = Attribute::fs; a.floats.assign(p.floats().begin(), p.floats().end()); break;
  case P::INTS: a.kind = Attribute::is; a.integers.assign(p.ints().begin(), p.ints().end()); break;
  case P::STRINGS: a.kind = Attribute::ss; a.strings.assign(p.strings().begin(), p.strings().end()); break;
  case P::TENSORS:
    a.kind = Attribute::ts;
    for (const auto &t : p.tensors())
      a.tensors.push_back(convertTensor(t, node, what, context));
    break;
  case P::TYPE_PROTO: a.kind = Attribute::type; a.typeInfo = convertType(p.tp()); break;
  case P::GRAPH: case P::GRAPHS: // the caller converts graphs: they see the names around the node
    a.kind = p.type() == P::GRAPH ? Attribute::g : Attribute::gs;
    break;
  default: context.error(node, what + " has a type that is not supported"); break;
  }
  return a;
}

} // namespace weft::onnx
