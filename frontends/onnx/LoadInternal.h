// Shared by the files that read protobuf: Load.cpp, LoadTensor.cpp, LoadSchema.cpp. Nothing else includes this.
#ifndef WEFT_FRONTENDS_ONNX_LOADINTERNAL_H
#define WEFT_FRONTENDS_ONNX_LOADINTERNAL_H

#include "frontends/onnx/ExternalData.h"
#include "frontends/onnx/Load.h"
#include "onnx/onnx_pb.h"
#include <set>

namespace weft::onnx {

/// The value names of a graph and of those around it.
struct Names {
  std::set<std::string> names;
  const Names *outer = nullptr;
  bool contains(const std::string &name) const { return names.count(name) || (outer && outer->contains(name)); }
};

/// Where conversion puts what it finds wrong, and what it needs to know about the file.
struct LoadContext {
  Errors &errors;
  ExternalFiles files;
  std::shared_ptr<const void> owner; // the protobuf
  std::map<std::string, int64_t> opsets;
  bool isLibrary = false; // a body from ONNX's library, which leaves out optional outputs that the node does not want
  int64_t irVersion = 0;
  void error(const std::string &node, const std::string &message) { errors.push_back({node, message}); }
};

/// `what` names the tensor in messages.
Tensor convertTensor(const ::onnx::TensorProto &proto, const std::string &node, const std::string &what, LoadContext &context);
Tensor convertSparse(const ::onnx::SparseTensorProto &proto, const std::string &node, const std::string &what,
                     LoadContext &context);
TypeInfo convertType(const ::onnx::TypeProto &proto);
Attribute convertAttribute(const ::onnx::AttributeProto &proto, const std::string &node, LoadContext &context);
/// `outer` is null for the model's own graph.
Graph convertGraph(const ::onnx::GraphProto &proto, const Names *outer, LoadContext &context);
Function convertFunction(const ::onnx::FunctionProto &proto, LoadContext &context);
/// Finds the schema of the node and checks it; sets `version` and `opset`.
void checkSchema(const ::onnx::NodeProto &proto, NodeDef &node, LoadContext &context);
/// The newest opset version of ONNX's own domain that the library knows.
int newestOpset();
/// Checks that dims are not negative and that their product fits; the number of elements.
bool countElements(const std::vector<int64_t> &dims, int64_t &count, std::string &error);

} // namespace weft::onnx
#endif
