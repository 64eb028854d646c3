// The graph dialect: what is computed. Values are ranked tensors; every dimension is known as a symbolic expression.
#ifndef WEFT_GRAPH_BASE_TD
#define WEFT_GRAPH_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::weft::graph";
  let summary = "Tensor computations: a closed set of primitives that ONNX operators become";
  let description = [{
    Element types: `i1` is bool, `iN` signed, `uiN` unsigned, `fN`/`bf16`/`f8...` floating point.

    A tensor type with unknown dimensions carries `#graph.dims<[...]>` as its encoding: one affine expression per
    dimension over the module's symbols `s0, s1, ...`. Equal expressions are equal dimensions. A tensor whose
    dimensions are all constants has no encoding. `dialects/graph/Dims.h` makes and reads such types.

    The module attribute `graph.symbols` says what each symbol is: see `#graph.symbol`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let usePropertiesForAttributes = 1;
  let hasConstantMaterializer = 1;
}

class Graph_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<Graph_Dialect, name, traits> {
  let mnemonic = mnem;
}

def Graph_DimsAttr : Graph_Attr<"Dims", "dims"> {
  let summary = "a list of symbolic host scalars, e.g. the dimensions of a tensor";
  let parameters = (ins ArrayRefParameter<"::mlir::AffineExpr", "expressions over s0, s1, ...">:$exprs);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    size_t size() const { return getExprs().size(); }
    ::mlir::AffineExpr operator[](size_t i) const { return getExprs()[i]; }
  }];
}

class Graph_Enum<string name, string summary, list<string> names>
    : I32EnumAttr<name, summary, !listconcat([], !foreach(i, !range(!size(names)), I32EnumAttrCase<names[i], i>))> {
  let cppNamespace = "::weft::graph";
  let genSpecializedAttr = 0;
}
class Graph_EnumAttr<EnumAttrInfo info, string mnem> : EnumAttr<Graph_Dialect, info, mnem>;

def Graph_SymbolKind : Graph_Enum<"SymbolKind", "where a symbol's value comes from",
  ["input_dim", "input_element", "defined", "function", "fconstant"]>;
// Functions that affine expressions do not have. f...: on doubles. `ftoi` truncates; `f32round` rounds to single.
def Graph_SymbolFn : Graph_Enum<"SymbolFn", "the function of a derived symbol",
  ["none", "min", "max", "eq", "ne", "lt", "le", "logical_and", "logical_or", "logical_not", "select", "mul", "floordiv", "mod",
   "fadd", "fsub", "fmul", "fdiv", "fmin", "fmax", "fneg", "ffloor", "fceil", "fround_even", "fsqrt", "feq", "flt", "fle",
   "f32round", "itof", "ftoi", "fselect"]>;

def Graph_SymbolAttr : Graph_Attr<"Symbol", "symbol"> {
  let summary = "one host scalar that expressions refer to as s<number>";
  let description = [{
    `input_dim`: dimension `index` of function argument `input`; `name` is ONNX's dim_param or "".
    `input_element`: element `index` (row-major) of argument `input`.
    `defined`: set at run time by a `graph.read_back`, a loop's iteration number, a data-dependent result.
    `function`: `fn` of `operands`; two symbols never have the same definition. `fconstant`: `value`, a double.
    Function symbols come after the symbols that they use.
  }];
  let parameters = (ins
    StringRefParameter<"name">:$name,
    "SymbolKind":$kind,
    DefaultValuedParameter<"unsigned", "0">:$input,
    DefaultValuedParameter<"unsigned", "0">:$index,
    DefaultValuedParameter<"SymbolFn", "SymbolFn::none">:$fn,
    OptionalParameter<"DimsAttr">:$operands,
    OptionalParameter<"::mlir::FloatAttr">:$value,
    DefaultValuedParameter<"bool", "false">:$isFloat);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_Tensor : AnyTypeOf<[AnyRankedTensor], "a ranked tensor", "::mlir::RankedTensorType">;

def Graph_ElementOp : OpInterface<"ElementOp"> {
  let cppNamespace = "::weft::graph";
  let description = [{
    An operation whose result elements can be computed one by one (or in short runs) from elements of its operands.
    This one rule gives fusion of any chain, prologues and epilogues of templates, and a slow reference for every root.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the code for `count` elements of result number `result`: those at `index` and at the `count - 1` next positions
      along the innermost dimension (`count` is 1 for rank 0). Returns one value per element, of the type that
      `ElementEmitter::valueType` gives for the result's element type. Must be emitted at the builder's current point.
    }], "::llvm::SmallVector<::mlir::Value>", "emitElements",
      (ins "::weft::graph::ElementEmitter &":$emitter, "unsigned":$result, "const ::weft::graph::ElementIndex &":$index,
       "unsigned":$count)>,
    InterfaceMethod<[{
      About how many instructions one element costs beside reading operands; fusion duplicates only cheap operations.
    }], "int64_t", "elementCost", (ins), "", "return 1;">,
    InterfaceMethod<[{
      How often one element of the result reads elements of operand `operand` (1 for elementwise; a window's size for pooling).
    }], "int64_t", "readsPerElement", (ins "unsigned":$operand), "", "return 1;">,
    InterfaceMethod<[{
      How many trailing dimensions of the result a run of elements may cross as if they were one dimension; `operandRunDims` says the
      same of an operand. Elementwise operations allow what all of their operands allow, others one unless they say more.
    }], "unsigned", "runDims", (ins "::llvm::function_ref<unsigned(::mlir::Value)>":$operandRunDims), "",
      "return ::weft::graph::defaultRunDims($_op, operandRunDims);">,
    InterfaceMethod<[{
      True for an operation with a template of its own (reduction, contraction, convolution, sort, recurrent cell): it is
      the root of a kernel and never recomputed inside another.
    }], "bool", "isRoot", (ins), "", "return false;">
  ];
}

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}
// A pure operation with an element rule, at the default cost or (Costly) with its own `elementCost`.
class Graph_CostlyElementOpBase<string mnemonic, list<Trait> traits = []>
  : Graph_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<Graph_ElementOp, ["elementCost"]>], traits)>;
class Graph_ElementOpBase<string mnemonic, list<Trait> traits = []>
  : Graph_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<Graph_ElementOp>], traits)>;
// One whose runs may cross dimensions (`runDims`).
class Graph_RunElementOpBase<string mnemonic, list<Trait> traits = []>
  : Graph_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<Graph_ElementOp, ["runDims"]>], traits)>;
// One that also reads several operand elements for each of its own.
class Graph_WindowOpBase<string mnemonic, list<Trait> traits = []>
  : Graph_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<Graph_ElementOp, ["elementCost", "readsPerElement"]>], traits)>;
class Graph_RootOp<string mnemonic, list<Trait> traits = []>
  : Graph_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<Graph_ElementOp, ["isRoot", "readsPerElement"]>], traits)>;

#endif
