// An ONNX model as plain data, without protobuf types: what Load makes and Import reads.
//
// Guarantees (by Load): names are unique per scope, every input of a node is defined, nodes stand in topological order,
// nodes fit their operator's schema (counts, attribute names and types), and every tensor has exactly as many bytes as its
// dimensions ask for. Element types are ONNX's numbers (TensorProto.DataType).
#ifndef WEFT_FRONTENDS_ONNX_MODEL_H
#define WEFT_FRONTENDS_ONNX_MODEL_H

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace weft::onnx {

/// Numbers of TensorProto.DataType.
enum class DataType : int32_t {
  undefined = 0, f32 = 1, u8 = 2, i8 = 3, u16 = 4, i16 = 5, i32 = 6, i64 = 7, string = 8, boolean = 9, f16 = 10, f64 = 11,
  u32 = 12, u64 = 13, c64 = 14, c128 = 15, bf16 = 16, f8e4m3fn = 17, f8e4m3fnuz = 18, f8e5m2 = 19, f8e5m2fnuz = 20, u4 = 21,
  i4 = 22, f4e2m1 = 23, f8e8m0 = 24, u2 = 25, i2 = 26
};
/// "float", "int64", ...: ONNX's spelling.
std::string spell(DataType type);
/// Bits per element as stored in `Tensor::data`: types narrower than a byte are stored one per byte.
unsigned storedBits(DataType type);

struct Tensor {
  std::string name;
  DataType type = DataType::undefined;
  std::vector<int64_t> dims;
  const char *data = nullptr; // little-endian elements, one byte per bool and per narrow integer
  size_t size = 0;            // bytes
  std::vector<std::string> strings;
  std::shared_ptr<const void> owner; // keeps `data` alive: the protobuf, a mapped file, or a copy
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : dims)
      n *= d;
    return n;
  }
};

struct Dimension {
  int64_t value = -1; // -1: unknown
  std::string name;   // dim_param, or empty
};

struct TypeInfo {
  enum Kind { none, tensor, sequence, optional, other } kind = none;
  DataType element = DataType::undefined;
  bool hasShape = false;
  std::vector<Dimension> dims;
  std::shared_ptr<TypeInfo> inner; // of a sequence or optional
};

struct ValueInfo {
  std::string name;
  TypeInfo type;
};

struct Graph;
struct Attribute {
  enum Kind { undefined, f, i, s, t, g, fs, is, ss, ts, gs, type } kind = undefined;
  std::string name;
  std::string refName; // inside a function: the function's attribute whose value this is
  double real = 0;
  int64_t integer = 0;
  std::string string;
  std::vector<float> floats;
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
  std::vector<Tensor> tensors;
  std::vector<std::shared_ptr<Graph>> graphs;
  TypeInfo typeInfo;
};

struct NodeDef {
  std::string name; // the ONNX node's name, or <OpType>_<index>
  std::string op, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;
  int version = 0;              // the operator's since_version at the opset in force; 0: not an operator of the library
  int opset = 0;                // the opset in force for its domain
  const void *proto = nullptr;  // its NodeProto, which lives as long as the model
  const Attribute *find(const std::string &attribute) const {
    for (const Attribute &a : attributes)
      if (a.name == attribute)
        return &a;
    return nullptr;
  }
  std::string qualified() const { return domain.empty() ? op : domain + "::" + op; }
};

struct Graph {
  std::string name;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<Tensor> initializers;
  std::set<std::string> defaults; // inputs whose value, where none is given, is the initializer of the same name
  std::vector<NodeDef> nodes;
  std::map<std::string, std::string> metadata;
};

/// A function of the model, or an operator's body of ONNX's library.
struct Function {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> defaults; // attributes with default values
  std::vector<NodeDef> nodes;
  std::shared_ptr<const void> owner;
};

struct Model {
  std::string path;
  int64_t irVersion = 0;
  std::map<std::string, int64_t> opsets;
  Graph graph;
  std::map<std::string, Function> functions; // by domain + "::" + name + ":" + overload
  std::map<std::string, std::string> metadata;
  std::shared_ptr<const void> owner;
  static std::string functionKey(const NodeDef &n) { return n.domain + "::" + n.op + ":" + n.overload; }
};

} // namespace weft::onnx
#endif
