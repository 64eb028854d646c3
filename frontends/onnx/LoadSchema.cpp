// What ONNX's operator schemas say about nodes: see Load.h and LoadInternal.h. ONNX throws; here exceptions end.
#include "frontends/onnx/LoadInternal.h"
#include "onnx/defs/schema.h"
#include <set>

namespace weft::onnx {
using ::onnx::OpSchema;
using ::onnx::OpSchemaRegistry;

static std::string trim(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text;
}

int newestOpset() {
  return ::onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(::onnx::ONNX_DOMAIN).second;
}

static const OpSchema *schemaOf(const NodeDef &node) {
  return node.opset ? OpSchemaRegistry::Schema(node.op, node.opset, node.domain) : nullptr;
}

bool isKnownOperator(const std::string &domain, const std::string &op) {
  return OpSchemaRegistry::Schema(op, domain == "ai.onnx" ? "" : domain) != nullptr;
}

void checkSchema(const ::onnx::NodeProto &proto, NodeDef &node, LoadContext &context) {
  auto opset = context.opsets.find(node.domain);
  if (opset == context.opsets.end()) {
    if (!isKnownOperator(node.domain, node.op))
      return; // reported as unsupported where no rule knows it
    return context.error(node.name, "the model imports no opset for domain '" + node.domain + "', which the operator " +
                                        node.op + " needs");
  }
  node.opset = opset->second;
  try {
    const OpSchema *schema = schemaOf(node);
    if (!schema)
      return;
    node.version = schema->SinceVersion();
    if (schema->Deprecated())
      return context.error(node.name, node.op + " is deprecated in opset " + std::to_string(node.opset));
    schema->Verify(proto);
    for (size_t i = 0; i < schema->inputs().size() && i < node.inputs.size(); ++i)
      if (schema->inputs()[i].GetOption() == OpSchema::Single && node.inputs[i].empty())
        context.error(node.name, node.op + ": input " + std::to_string(i) + " ('" + schema->inputs()[i].GetName() +
                                     "') is required, but its name is empty");
  } catch (const std::exception &e) {
    context.error(node.name, node.op + ": " + trim(e.what()));
  }
}

bool hasFunctionBody(const NodeDef &node) {
  const OpSchema *schema = schemaOf(node);
  return schema && (schema->HasFunction() || schema->HasContextDependentFunction());
}

static void makeType(const TypeInfo &type, ::onnx::TypeProto &proto) {
  switch (type.kind) {
  case TypeInfo::tensor: {
    auto *tensor = proto.mutable_tensor_type();
    tensor->set_elem_type(static_cast<int>(type.element));
    if (!type.hasShape)
      return;
    tensor->mutable_shape();
    for (const Dimension &dim : type.dims) {
      auto *d = tensor->mutable_shape()->add_dim();
      if (dim.value >= 0)
        d->set_dim_value(dim.value);
      else if (!dim.name.empty())
        d->set_dim_param(dim.name);
    }
    return;
  }
  case TypeInfo::sequence: return makeType(*type.inner, *proto.mutable_sequence_type()->mutable_elem_type());
  case TypeInfo::optional: return makeType(*type.inner, *proto.mutable_optional_type()->mutable_elem_type());
  case TypeInfo::none: case TypeInfo::other: return;
  }
}

/// The node with attributes that refer to a function's replaced by their values, or left out where there are none.
static ::onnx::NodeProto resolveAttributes(const NodeDef &node, const std::vector<Attribute> &values) {
  ::onnx::NodeProto proto = *static_cast<const ::onnx::NodeProto *>(node.proto);
  auto *attributes = proto.mutable_attribute();
  for (int k = attributes->size() - 1; k >= 0; --k) {
    auto &attribute = *attributes->Mutable(k);
    if (attribute.ref_attr_name().empty())
      continue;
    const Attribute *value = nullptr;
    for (const Attribute &v : values)
      value = v.name == attribute.name() ? &v : value;
    if (!value) {
      attributes->DeleteSubrange(k, 1);
      continue;
    }
    attribute.clear_ref_attr_name();
    attribute.set_f(float(value->real));
    attribute.set_i(value->integer);
    attribute.set_s(value->string);
    attribute.mutable_ints()->Assign(value->integers.begin(), value->integers.end());
    attribute.mutable_floats()->Assign(value->floats.begin(), value->floats.end());
  }
  return proto;
}

std::optional<Function> functionBody(const NodeDef &node, const std::vector<TypeInfo> &inputs, const std::vector<Attribute> &attributes) {
  const OpSchema *schema = schemaOf(node);
  if (!schema)
    return std::nullopt;
  try {
    auto proto = std::make_shared<::onnx::FunctionProto>();
    std::vector<::onnx::TypeProto> types(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i)
      makeType(inputs[i], types[i]);
    if (schema->HasFunction()) {
      const ::onnx::FunctionProto *body = schema->GetFunction(node.opset);
      if (!body)
        body = schema->GetFunction();
      if (!body)
        return std::nullopt;
      *proto = *body;
    } else {
      ::onnx::NodeProto resolved = resolveAttributes(node, attributes);
      ::onnx::FunctionBodyBuildContextImpl build(resolved, types);
      if (!schema->BuildContextDependentFunction(build, *proto, node.opset) &&
          !schema->BuildContextDependentFunction(build, *proto))
        return std::nullopt;
    }
    Errors errors;
    LoadContext context{errors, ExternalFiles("."), proto, {}, true};
    for (const auto &import : proto->opset_import())
      context.opsets[import.domain()] = import.version();
    if (!context.opsets.count(""))
      context.opsets[""] = node.opset;
    Function function = convertFunction(*proto, context);
    function.owner = proto;
    if (!errors.empty())
      return std::nullopt;
    for (const auto &attribute : schema->attributes())
      if (attribute.second.default_value.type() != ::onnx::AttributeProto::UNDEFINED)
        function.defaults.push_back(convertAttribute(attribute.second.default_value, node.name, context));
    return function;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

static std::string spellType(const TypeInfo &type) {
  switch (type.kind) {
  case TypeInfo::tensor: return "tensor(" + spell(type.element) + ")";
  case TypeInfo::sequence: return "seq(" + spellType(*type.inner) + ")";
  case TypeInfo::optional: return "optional(" + spellType(*type.inner) + ")";
  case TypeInfo::none: case TypeInfo::other: return "";
  }
  return "";
}

std::string checkInputTypes(const NodeDef &node, const std::vector<TypeInfo> &inputs) {
  const OpSchema *schema = schemaOf(node);
  if (!schema || schema->inputs().empty())
    return "";
  std::map<std::string, std::pair<size_t, std::string>> bound;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto &formal = schema->inputs()[std::min(i, schema->inputs().size() - 1)];
    std::string found = spellType(inputs[i]);
    if (found.empty())
      continue;
    bool allowed = formal.GetTypes().empty();
    for (::onnx::DataType type : formal.GetTypes())
      allowed |= *type == found;
    if (!allowed)
      return "input " + std::to_string(i) + " ('" + formal.GetName() + "') must not be " + found;
    if (formal.GetOption() == OpSchema::Variadic && !formal.GetIsHomogeneous())
      continue;
    bool isVariable = false;
    for (const auto &constraint : schema->typeConstraintParams())
      isVariable |= constraint.type_param_str == formal.GetTypeStr();
    if (!isVariable)
      continue;
    auto [it, isNew] = bound.try_emplace(formal.GetTypeStr(), i, found);
    if (!isNew && it->second.second != found)
      return "inputs " + std::to_string(it->second.first) + " and " + std::to_string(i) +
             " must have the same type, found " + it->second.second + " and " + found;
  }
  return "";
}

} // namespace weft::onnx
