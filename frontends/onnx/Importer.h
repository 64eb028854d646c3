// The walk over a loaded model: scopes, functions, constants, control-flow bodies. Rules reach it through Node::importer.
#ifndef WEFT_FRONTENDS_ONNX_IMPORTER_H
#define WEFT_FRONTENDS_ONNX_IMPORTER_H

#include "frontends/onnx/Node.h"
#include "llvm/ADT/StringSet.h"

namespace weft::onnx {

/// The names of one graph or function body.
struct Scope {
  llvm::StringMap<Slot> values;
  Scope *outer = nullptr; // null for the model's graph and for functions, which see nothing from outside
  Slot *find(StringRef name) {
    auto it = values.find(name);
    return it != values.end() ? &it->second : outer ? outer->find(name) : nullptr;
  }
};

/// Attributes of the function call that is being inlined.
struct Frame {
  std::map<std::string, Attribute> attributes;
  std::string key; // of the function, to find recursion
  Frame *outer = nullptr;
};

class Importer {
public:
  Importer(const Model &model, mlir::ModuleOp module);
  LogicalResult run();

  /// The device value of a tensor slot at the builder's point; made from host values or a constant where needed.
  Value materialize(Slot &slot, mlir::Location loc);
  /// Its host values where they are known (small constants, shape arithmetic), else null.
  const HostTensor *peekHost(Slot &slot);
  /// As above; also elements of small graph inputs and what the host can compute from such. Null: only the device knows.
  const HostTensor *deriveHost(Slot &slot, int depth = 0);
  /// Imports a subgraph at the builder's point with these inputs.
  LogicalResult importBody(const Graph &graph, ArrayRef<Slot> inputs, std::vector<Slot> &outputs, mlir::Location loc);
  const Attribute *resolve(const Attribute *attribute) const;
  TypeInfo typeInfo(const Slot &slot);
  Slot constantSlot(const Tensor &tensor);
  mlir::Location locationOf(const NodeDef &def) const;
  mlir::MLIRContext *context;
  /// Operations to erase at the end: trial bodies of loops, whose values slots may still name.
  SmallVector<mlir::Operation *> discarded;

private:
  void reportUnsupported(const std::vector<NodeDef> &nodes, llvm::StringSet<> &functions);
  LogicalResult makeArguments(mlir::func::FuncOp func);
  LogicalResult makeResults(mlir::func::FuncOp func);
  LogicalResult importNode(const NodeDef &def);
  LogicalResult importFunction(const Function &function, const NodeDef &def, ArrayRef<Slot *> inputs, const std::string &key);
  LogicalResult importNodes(const std::vector<NodeDef> &nodes);
  Value constantValue(const Tensor &tensor);
  mlir::ElementsAttr constantAttr(const Tensor &tensor);
  mlir::InFlightDiagnostic error(const Twine &message);

  const Model &model;
  mlir::ModuleOp module;
  graph::Symbols symbols;
  BuildState state;
  Scope *scope = nullptr;
  Frame *frame = nullptr;
  llvm::DenseMap<const Tensor *, Value> constants;
  std::vector<std::unique_ptr<Frame>> frames;    // live as long as constants that come from their attributes
  std::vector<std::unique_ptr<Function>> bodies; // operators' function bodies that have been inlined
};

Type toType(DataType type, mlir::MLIRContext *context); // null for strings and complex numbers
DataType fromType(Type type);

} // namespace weft::onnx
#endif
