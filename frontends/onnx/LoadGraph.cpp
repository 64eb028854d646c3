// Graphs, nodes and functions from protobuf to plain data: names, order, duplicates, cycles. See LoadInternal.h.
#include "frontends/onnx/LoadInternal.h"
#include <deque>

namespace weft::onnx {
using NodeProtos = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

static std::string quote(const std::string &name) { return "'" + name + "'"; }

static NodeDef convertNode(const ::onnx::NodeProto &proto, int index, const Names &scope, LoadContext &context) {
  NodeDef node;
  node.op = proto.op_type();
  node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  node.overload = proto.overload();
  node.name = proto.name().empty() ? node.op + "_" + std::to_string(index) : proto.name();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  node.proto = &proto;
  checkSchema(proto, node, context);
  std::set<std::string> seen;
  for (const auto &attribute : proto.attribute()) {
    if (!seen.insert(attribute.name()).second)
      context.error(node.name, "attribute " + quote(attribute.name()) + " is given twice");
    Attribute a = convertAttribute(attribute, node.name, context);
    if (a.kind == Attribute::g && a.refName.empty())
      a.graphs.push_back(std::make_shared<Graph>(convertGraph(attribute.g(), &scope, context)));
    for (const auto &graph : attribute.graphs())
      a.graphs.push_back(std::make_shared<Graph>(convertGraph(graph, &scope, context)));
    node.attributes.push_back(std::move(a));
  }
  while (!node.inputs.empty() && node.inputs.back().empty())
    node.inputs.pop_back(); // a trailing empty name is an absent input
  return node;
}

/// The names from outside that a node reads, those of its subgraphs too.
static void collectUses(const NodeDef &node, std::set<std::string> &uses) {
  uses.insert(node.inputs.begin(), node.inputs.end());
  for (const Attribute &attribute : node.attributes)
    for (const auto &graph : attribute.graphs) {
      std::set<std::string> inner, defined;
      for (const NodeDef &n : graph->nodes) {
        collectUses(n, inner);
        defined.insert(n.outputs.begin(), n.outputs.end());
      }
      for (const ValueInfo &value : graph->outputs)
        inner.insert(value.name);
      for (const ValueInfo &value : graph->inputs)
        defined.insert(value.name);
      for (const Tensor &tensor : graph->initializers)
        defined.insert(tensor.name);
      for (const std::string &name : inner)
        if (!defined.count(name))
          uses.insert(name);
    }
  uses.erase("");
}

/// Sorts nodes so that each stands behind those whose outputs it reads; keeps the order where it is right already.
static void sortNodes(std::vector<NodeDef> &nodes, LoadContext &context) {
  std::map<std::string, size_t> producer;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string &output : nodes[i].outputs)
      producer[output] = i;
  std::vector<unsigned> missing(nodes.size());
  std::vector<std::vector<size_t>> users(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::set<std::string> uses;
    collectUses(nodes[i], uses);
    std::set<size_t> sources;
    for (const std::string &use : uses)
      if (auto it = producer.find(use); it != producer.end())
        sources.insert(it->second);
    missing[i] = sources.size();
    for (size_t source : sources)
      users[source].push_back(i);
  }
  std::set<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!missing[i])
      ready.insert(i);
  std::vector<NodeDef> sorted;
  sorted.reserve(nodes.size());
  std::vector<bool> done(nodes.size());
  while (!ready.empty()) {
    size_t i = *ready.begin();
    ready.erase(ready.begin());
    done[i] = true;
    for (size_t user : users[i])
      if (--missing[user] == 0)
        ready.insert(user);
    sorted.push_back(std::move(nodes[i]));
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!done[i]) {
      context.error(nodes[i].name, nodes[i].op + " is part of a cycle: it needs, over other nodes, its own output " +
                                       quote(nodes[i].outputs.empty() ? "" : nodes[i].outputs[0]));
      break; // one message for one fault
    }
  nodes = std::move(sorted);
}

/// Converts the nodes of a graph or function whose inputs and initializers are in `scope`, and adds their outputs to it.
static std::vector<NodeDef> convertNodes(const NodeProtos &protos, Names &scope, LoadContext &context) {
  for (int i = 0; i < protos.size(); ++i)
    for (const std::string &output : protos[i].output())
      if (!output.empty() && !scope.names.insert(output).second)
        context.error(protos[i].name(), protos[i].op_type() + ": output " + quote(output) +
                                            " is already the name of another value; names must be unique");
  std::vector<NodeDef> nodes;
  for (int i = 0; i < protos.size(); ++i) {
    nodes.push_back(convertNode(protos[i], i, scope, context));
    for (const std::string &input : nodes.back().inputs)
      if (!input.empty() && !scope.contains(input))
        context.error(nodes.back().name, nodes.back().op + ": input " + quote(input) +
                                             " is undefined: no graph input, initializer or node output has this name");
  }
  sortNodes(nodes, context);
  return nodes;
}

static ValueInfo convertValue(const ::onnx::ValueInfoProto &proto, LoadContext &context) {
  ValueInfo value{proto.name(), convertType(proto.type())};
  int64_t count = 1;
  for (const Dimension &dim : value.type.dims)
    if (dim.value != -1 && (dim.value < 0 || __builtin_mul_overflow(count, std::max<int64_t>(dim.value, 1), &count) ||
                            count > (int64_t(1) << 55))) {
      context.error("", "value " + quote(value.name) + ": dimension " + std::to_string(dim.value) +
                            (dim.value < 0 ? " is negative" : " makes the number of elements overflow"));
      break;
    }
  for (const auto &dim : proto.type().tensor_type().shape().dim())
    if (dim.has_dim_value() && dim.dim_value() < -1) // -1 is how some exporters write an unknown dimension
      context.error("", "value " + quote(value.name) + ": dimension " + std::to_string(dim.dim_value()) + " is negative");
  return value;
}

/// Whether a tensor has the declared element type and dimensions.
static bool fits(const Tensor &tensor, const TypeInfo &type) {
  if (type.kind != TypeInfo::tensor || type.element != tensor.type || tensor.type == DataType::string || !type.hasShape ||
      type.dims.size() != tensor.dims.size())
    return false;
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    if (type.dims[i].value != -1 && type.dims[i].value != tensor.dims[i])
      return false;
  return true;
}

static void convertInitializers(const ::onnx::GraphProto &proto, Graph &graph, LoadContext &context) {
  std::set<std::string> seen;
  auto check = [&](const std::string &name) {
    if (name.empty())
      context.error("", "graph " + quote(proto.name()) + ": an initializer has no name");
    else if (!seen.insert(name).second)
      context.error("", "initializer " + quote(name) + " is defined twice in graph " + quote(proto.name()));
  };
  for (const auto &tensor : proto.initializer()) {
    check(tensor.name());
    graph.initializers.push_back(convertTensor(tensor, "", "initializer " + quote(tensor.name()), context));
  }
  for (const auto &tensor : proto.sparse_initializer()) {
    check(tensor.values().name());
    graph.initializers.push_back(convertSparse(tensor, "", "initializer " + quote(tensor.values().name()), context));
  }
}

/// Whether initializers that are also inputs are defaults that a run may override. Below IR version 4 every initializer had to be
/// listed; some exporters still list all weights. Those are constants, so that they fold.
static bool areDefaults(const ::onnx::GraphProto &proto, const Graph &graph, const LoadContext &context) {
  constexpr int64_t most = 1024; // elements of all together
  std::set<std::string> inputs;
  for (const auto &input : proto.input())
    inputs.insert(input.name());
  int64_t elements = 0;
  for (const Tensor &tensor : graph.initializers)
    elements += inputs.count(tensor.name) ? std::min(tensor.elements(), most + 1) : 0;
  return context.irVersion >= 4 && elements <= most;
}

Graph convertGraph(const ::onnx::GraphProto &proto, const Names *outer, LoadContext &context) {
  Graph graph;
  graph.name = proto.name();
  Names scope{{}, outer};
  convertInitializers(proto, graph, context);
  std::set<std::string> inputs;
  bool defaults = !outer && areDefaults(proto, graph, context);
  for (const auto &input : proto.input()) {
    ValueInfo value = convertValue(input, context);
    if (value.name.empty() || !inputs.insert(value.name).second)
      context.error("", "graph " + quote(proto.name()) + ": input " + quote(value.name) +
                            (value.name.empty() ? " has no name" : " is listed twice"));
    const Tensor *initializer = nullptr;
    for (const Tensor &tensor : graph.initializers)
      if (tensor.name == value.name)
        initializer = &tensor;
    if (initializer && outer)
      context.error("", "input " + quote(value.name) + " of subgraph " + quote(proto.name()) + " is also an initializer");
    if (initializer && defaults && fits(*initializer, value.type))
      graph.defaults.insert(value.name);
    if (!initializer || outer || graph.defaults.count(value.name))
      graph.inputs.push_back(std::move(value));
  }
  for (const ValueInfo &value : graph.inputs)
    scope.names.insert(value.name);
  for (const Tensor &tensor : graph.initializers)
    scope.names.insert(tensor.name);
  graph.nodes = convertNodes(proto.node(), scope, context);
  for (const auto &output : proto.output()) {
    graph.outputs.push_back(convertValue(output, context));
    if (!scope.contains(output.name()))
      context.error("", "output " + quote(output.name()) + " of graph " + quote(proto.name()) + " is produced by no node");
  }
  for (const auto &entry : proto.metadata_props())
    graph.metadata[entry.key()] = entry.value();
  return graph;
}

Function convertFunction(const ::onnx::FunctionProto &proto, LoadContext &context) {
  Function function;
  function.name = proto.name();
  function.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  function.overload = proto.overload();
  function.inputs.assign(proto.input().begin(), proto.input().end());
  function.outputs.assign(proto.output().begin(), proto.output().end());
  auto outerOpsets = context.opsets;
  for (const auto &import : proto.opset_import())
    context.opsets[import.domain() == "ai.onnx" ? "" : import.domain()] = import.version();
  for (const auto &attribute : proto.attribute_proto())
    function.defaults.push_back(convertAttribute(attribute, proto.name(), context));
  Names scope{{proto.input().begin(), proto.input().end()}, nullptr};
  function.nodes = convertNodes(proto.node(), scope, context);
  for (const std::string &output : function.outputs)
    if (!scope.contains(output) && !context.isLibrary)
      context.error("", "output " + quote(output) + " of function " + quote(function.name) + " is produced by no node");
  context.opsets = outerOpsets;
  return function;
}

} // namespace weft::onnx
