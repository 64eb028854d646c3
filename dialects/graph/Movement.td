// Operations that move elements: each result element is one operand element (or a fixed value).
#ifndef WEFT_GRAPH_MOVEMENT_TD
#define WEFT_GRAPH_MOVEMENT_TD
include "dialects/graph/GraphBase.td"

def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike]> {
  let summary = "a tensor known at compile time";
  let description = [{
    Small values and splats are DenseElementsAttr; weights are DenseResourceElementsAttr whose blob may be a mapped file.
    bool tensors are tensor<...xi1>; a resource blob holds one byte per bool, little-endian elements otherwise.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "attr-dict $value `:` type($y)";
  let hasFolder = 1;
}

def Graph_HostOp : Graph_ElementOpBase<"host"> {
  let summary = "a small tensor of host scalars: rank 0 or 1, one expression per element";
  let description = [{
    How shape arithmetic reaches the device (or an output). The element type is an integer, i1, or a float where the
    expressions are float symbols; values are converted to it.
  }];
  let arguments = (ins Graph_DimsAttr:$values);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$values attr-dict `:` type($y)";
}

def Graph_IotaOp : Graph_ElementOpBase<"iota"> {
  let summary = "each element is its own index along `axis`";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "attr-dict `:` type($y)";
}

def Graph_BroadcastOp : Graph_RunElementOpBase<"broadcast"> {
  let summary = "repeats elements: operand dimension i becomes result dimension map[i]";
  let description = [{
    `map` is strictly increasing. An operand dimension equals the result dimension, or is 1, or (where neither is provable) is checked
    at run time to be one of the two.
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$map);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $map attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}

def Graph_ReshapeOp : Graph_RunElementOpBase<"reshape"> {
  let summary = "the same elements in row-major order under other dimensions";
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_ElementOpBase<"transpose"> {
  let summary = "result dimension i is operand dimension perm[i]";
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $perm attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_ElementOpBase<"slice"> {
  let summary = "result element i of a dimension is operand element starts + i * steps";
  let description = [{ Bounds are already clamped: every index is in range. Steps may be negative. }];
  let arguments = (ins Graph_Tensor:$x, Graph_DimsAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `starts` $starts `steps` $steps attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
}

def Graph_PadMode : Graph_Enum<"PadMode", "what padding holds", ["constant", "reflect", "edge", "wrap"]>;
def Graph_PadModeAttr : Graph_EnumAttr<Graph_PadMode, "pad_mode">;

def Graph_PadOp : Graph_ElementOpBase<"pad"> {
  let summary = "adds (or, where negative, removes) elements at both ends; the high side follows from the result's dimensions";
  let description = [{ Mode `constant` reads `value`, a rank-0 tensor of the element type; the other modes have no `value`. }];
  let arguments = (ins Graph_Tensor:$x, Optional<AnyRankedTensor>:$value, Graph_DimsAttr:$low, Graph_PadModeAttr:$mode);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$mode $x (`value` $value^ `:` type($value))? `low` $low attr-dict `:` type($x) `->` type($y)";
}

def Graph_ConcatOp : Graph_ElementOpBase<"concat"> {
  let summary = "operands one behind the other along `axis`";
  let arguments = (ins Variadic<AnyRankedTensor>:$xs, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$xs attr-dict `:` functional-type($xs, $y)";
}

def Graph_GatherOp : Graph_ElementOpBase<"gather"> {
  let summary = "ONNX Gather: y = x[..., indices, ...] along `axis`; negative indices count from the end";
  let description = [{ An index out of range reads the nearest valid element (no access leaves the tensor). }];
  let arguments = (ins Graph_Tensor:$x, Graph_Tensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $indices attr-dict `:` type($x) `,` type($indices) `->` type($y)";
}

def Graph_GatherElementsOp : Graph_ElementOpBase<"gather_elements"> {
  let summary = "ONNX GatherElements along `axis`";
  let arguments = (ins Graph_Tensor:$x, Graph_Tensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $indices attr-dict `:` type($x) `,` type($indices) `->` type($y)";
}

def Graph_GatherNDOp : Graph_ElementOpBase<"gather_nd"> {
  let summary = "ONNX GatherND with `batch_dims`";
  let arguments = (ins Graph_Tensor:$x, Graph_Tensor:$indices, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $indices attr-dict `:` type($x) `,` type($indices) `->` type($y)";
}

def Graph_ScatterReduction : Graph_Enum<"ScatterReduction", "what a scatter does where an element exists",
  ["none", "add", "mul", "min", "max"]>;
def Graph_ScatterReductionAttr : Graph_EnumAttr<Graph_ScatterReduction, "scatter_reduction">;

def Graph_ScatterElementsOp : Graph_RootOp<"scatter_elements"> {
  let summary = "ONNX ScatterElements along `axis`; duplicates are applied in row-major order of the indices";
  let arguments = (ins Graph_Tensor:$x, Graph_Tensor:$indices, Graph_Tensor:$updates, I64Attr:$axis,
    Graph_ScatterReductionAttr:$reduction);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$reduction $x `,` $indices `,` $updates attr-dict `:` type($x) `,` type($indices) `,` type($updates) `->` type($y)";
}
def Graph_ScatterNDOp : Graph_RootOp<"scatter_nd"> {
  let summary = "ONNX ScatterND; duplicates are applied in row-major order of the indices";
  let arguments = (ins Graph_Tensor:$x, Graph_Tensor:$indices, Graph_Tensor:$updates, Graph_ScatterReductionAttr:$reduction);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$reduction $x `,` $indices `,` $updates attr-dict `:` type($x) `,` type($indices) `,` type($updates) `->` type($y)";
}

def Graph_ResizeMode : Graph_Enum<"ResizeMode", "interpolation", ["nearest", "linear", "cubic"]>;
def Graph_ResizeModeAttr : Graph_EnumAttr<Graph_ResizeMode, "resize_mode">;
def Graph_ResizeCoord : Graph_Enum<"ResizeCoord", "coordinate_transformation_mode of ONNX Resize",
  ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]>;
def Graph_ResizeCoordAttr : Graph_EnumAttr<Graph_ResizeCoord, "resize_coord">;
def Graph_ResizeNearest : Graph_Enum<"ResizeNearest", "nearest_mode of ONNX Resize",
  ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]>;
def Graph_ResizeNearestAttr : Graph_EnumAttr<Graph_ResizeNearest, "resize_nearest">;

def Graph_ResizeOp : Graph_WindowOpBase<"resize"> {
  let summary = "ONNX Resize; `scales` holds one float symbol (or integer expression) per dimension";
  let description = [{ `roi`: 2 * rank float host scalars, only for tf_crop_and_resize. `antialias` is not supported here. }];
  let arguments = (ins Graph_Tensor:$x, Graph_ResizeModeAttr:$mode, Graph_ResizeCoordAttr:$coord, Graph_ResizeNearestAttr:$nearest,
    Graph_DimsAttr:$scales, OptionalAttr<Graph_DimsAttr>:$roi, DefaultValuedAttr<F32Attr, "-0.75f">:$cubic_coeff,
    DefaultValuedAttr<BoolAttr, "false">:$exclude_outside, DefaultValuedAttr<F32Attr, "0.0f">:$extrapolation);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$mode $coord $nearest $x `scales` $scales attr-dict `:` type($x) `->` type($y)";
}
#endif
