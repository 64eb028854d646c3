// Reads an ONNX file with ONNX's library, checks it and makes plain data of it.
//
// No exception leaves these functions, and none of them asserts on its input: what is wrong is described by errors that
// name the node, tensor or field. Only the .cpp files behind this header see ONNX's and protobuf's headers.
#ifndef WEFT_FRONTENDS_ONNX_LOAD_H
#define WEFT_FRONTENDS_ONNX_LOAD_H

#include "frontends/onnx/Model.h"
#include <functional>
#include <optional>

namespace weft::onnx {

struct LoadError {
  std::string node;    // a node's name, or empty
  std::string message; // what was expected and what was found
};
using Errors = std::vector<LoadError>;

/// Reads `.onnx` (binary) or `.onnxtext` (text). Null and at least one error where it is not a valid model.
std::shared_ptr<Model> loadModel(const std::string &path, Errors &errors);

/// Whether ONNX's library knows the operator at all in some version of its domain, for messages.
bool isKnownOperator(const std::string &domain, const std::string &op);
/// Whether ONNX defines the operator of this node by a function body.
bool hasFunctionBody(const NodeDef &node);
/// That body for this node; `inputs` are the types of its inputs (kind none where absent), `attributes` the values of its
/// attributes, which inside a function may come from the call.
std::optional<Function> functionBody(const NodeDef &node, const std::vector<TypeInfo> &inputs, const std::vector<Attribute> &attributes);
/// What is wrong with these input types by the operator's schema (type not allowed, types that must agree), or "".
std::string checkInputTypes(const NodeDef &node, const std::vector<TypeInfo> &inputs);

} // namespace weft::onnx
#endif
