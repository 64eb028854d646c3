// Operations that compute each element from the elements at the same index of operands of the same dimensions.
#ifndef WEFT_GRAPH_ELEMENTWISE_TD
#define WEFT_GRAPH_ELEMENTWISE_TD
include "dialects/graph/GraphBase.td"

def Graph_UnaryKind : Graph_Enum<"UnaryKind", "function of one element", [
  "abs", "neg", "sign", "floor", "ceil", "round_even", "sqrt", "rsqrt", "reciprocal", "exp", "expm1", "log", "log1p", "sin", "cos",
  "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "softplus", "relu", "logical_not",
  "bitwise_not", "isnan", "isinf", "isinf_pos", "isinf_neg"]>;
def Graph_UnaryKindAttr : Graph_EnumAttr<Graph_UnaryKind, "unary_kind">;

def Graph_UnaryOp : Graph_CostlyElementOpBase<"unary", [Elementwise]> {
  let summary = "a function of each element";
  let description = [{
    ONNX semantics of the operator of that name; relu propagates NaN. Integers wrap. `isnan` and `isinf*` give i1.
    f16, bf16 and fp8 are computed in f32 and rounded once.
  }];
  let arguments = (ins Graph_UnaryKindAttr:$kind, Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;

}

def Graph_BinaryKind : Graph_Enum<"BinaryKind", "function of two elements", [
  "add", "sub", "mul", "div", "pow", "mod", "fmod", "min", "max", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
  "bitwise_xor", "shift_left", "shift_right"]>;
def Graph_BinaryKindAttr : Graph_EnumAttr<Graph_BinaryKind, "binary_kind">;

def Graph_BinaryOp : Graph_CostlyElementOpBase<"binary", [Elementwise]> {
  let summary = "a function of two elements";
  let description = [{
    Both operands and the result have the same dimensions and element type (`pow`: the exponent may have another).
    Integer `div` truncates (ONNX Div), `mod` takes the divisor's sign (ONNX Mod fmod=0), `fmod` the dividend's; division by
    zero gives an unspecified value but no trap. `min` and `max` propagate NaN.
  }];
  let arguments = (ins Graph_BinaryKindAttr:$kind, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($y)";
  let hasFolder = 1;
}

def Graph_CompareKind : Graph_Enum<"CompareKind", "ordering of two elements", ["eq", "ne", "lt", "le", "gt", "ge"]>;
def Graph_CompareKindAttr : Graph_EnumAttr<Graph_CompareKind, "compare_kind">;

def Graph_CompareOp : Graph_ElementOpBase<"compare", [Elementwise]> {
  let summary = "compares elements; comparisons with NaN are false, `ne` true";
  let arguments = (ins Graph_CompareKindAttr:$kind, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($y)";
  let hasFolder = 1;
}

def Graph_SelectOp : Graph_ElementOpBase<"select", [Elementwise]> {
  let summary = "condition ? lhs : rhs";
  let arguments = (ins Graph_Tensor:$condition, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` type($lhs) `,` type($rhs) `->` type($y)";
  let hasFolder = 1;
}

def Graph_CastOp : Graph_ElementOpBase<"cast", [Elementwise]> {
  let summary = "converts the element type (ONNX Cast)";
  let description = [{
    Float to integer truncates. Out of range ONNX leaves the value open: integers below 32 bits wrap (as numpy and ONNX Runtime do),
    wider ones saturate, NaN gives 0. Integer to narrower integer wraps. To bool: non-zero. Float to float rounds half to even; to fp8
    with `saturate` a value out of range becomes the largest finite one, else what ONNX Cast's table says (NaN or infinity).
  }];
  let arguments = (ins Graph_Tensor:$x, DefaultValuedAttr<BoolAttr, "true">:$saturate);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}
#endif
