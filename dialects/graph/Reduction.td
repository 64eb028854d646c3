// Roots that combine many elements along dimensions.
#ifndef WEFT_GRAPH_REDUCTION_TD
#define WEFT_GRAPH_REDUCTION_TD
include "dialects/graph/GraphBase.td"

def Graph_ReduceKind : Graph_Enum<"ReduceKind", "how elements are combined",
  ["sum", "prod", "max", "min", "argmax", "argmin", "logical_and", "logical_or"]>;
def Graph_ReduceKindAttr : Graph_EnumAttr<Graph_ReduceKind, "reduce_kind">;

def Graph_ReduceOp : Graph_RootOp<"reduce"> {
  let summary = "combines the elements along `axes`; these dimensions vanish from the result";
  let description = [{
    f16 and bf16 accumulate in f32. `max` and `min` propagate NaN; of an empty range they give -inf / +inf or the type's
    limit. argmax/argmin: exactly one axis, i64 result, the first of equals (the last with `select_last`).
  }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_Tensor:$x, DenseI64ArrayAttr:$axes,
    DefaultValuedAttr<BoolAttr, "false">:$select_last);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind $x $axes attr-dict `:` type($x) `->` type($y)";
}

def Graph_SoftmaxOp : Graph_RootOp<"softmax"> {
  let summary = "softmax along one axis: exp(x - max) / sum; with `log` x - max - log(sum)";
  let arguments = (ins Graph_Tensor:$x, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$log);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}

def Graph_NormalizeOp : Graph_RootOp<"normalize"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) over `axes`; with `rms` x / sqrt(mean(x*x) + epsilon)";
  let description = [{
    Statistics in f32 (f64 for f64), variance by two passes over the elements held on chip. Scale and bias are separate
    elementwise operations (they fuse). `mean` and `inv_std` keep the reduced dimensions as 1; unused results cost nothing.
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$axes, F64Attr:$epsilon, DefaultValuedAttr<BoolAttr, "false">:$rms);
  let results = (outs Graph_Tensor:$y, Graph_Tensor:$mean, Graph_Tensor:$inv_std);
  let assemblyFormat = "$x $axes attr-dict `:` type($x) `->` type($y) `,` type($mean) `,` type($inv_std)";
}

def Graph_PoolKind : Graph_Enum<"PoolKind", "how a window is combined", ["max", "average", "lp", "sum"]>;
def Graph_PoolKindAttr : Graph_EnumAttr<Graph_PoolKind, "pool_kind">;

def Graph_PoolOp : Graph_RootOp<"pool"> {
  let summary = "windows over the spatial dimensions of [N, C, spatial...]";
  let description = [{
    Window element k of output position o reads o * stride + k * dilation - pad_low; positions outside are skipped. `average`
    divides by the number of positions inside (of the padded extent too with `count_include_pad`; `pads_high` bounds it). `indices`
    (used only by max): row-major position in the whole operand, or column-major spatial with `storage_order` 1.
  }];
  let arguments = (ins Graph_PoolKindAttr:$kind, Graph_Tensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$dilations, Graph_DimsAttr:$pads_low, Graph_DimsAttr:$pads_high, DefaultValuedAttr<BoolAttr, "false">:$count_include_pad,
    DefaultValuedAttr<I64Attr, "0">:$storage_order, DefaultValuedAttr<I64Attr, "2">:$p);
  let results = (outs Graph_Tensor:$y, Optional<AnyRankedTensor>:$indices);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($y) (`,` type($indices)^)?";
}

def Graph_ScanOp : Graph_RootOp<"scan"> {
  let summary = "running sum or product along `axis` (ONNX CumSum, CumProd)";
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_Tensor:$x, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$exclusive,
    DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($y)";
}

def Graph_TopKOp : Graph_RootOp<"topk"> {
  let summary = "the k largest (smallest) elements along `axis`, in order; equal elements by lower index";
  let arguments = (ins Graph_Tensor:$x, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "true">:$largest);
  let results = (outs Graph_Tensor:$values, Graph_Tensor:$indices);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($values) `,` type($indices)";
}
#endif
