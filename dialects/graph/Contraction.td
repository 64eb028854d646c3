// Roots that multiply and add: matrix products and convolutions.
#ifndef WEFT_GRAPH_CONTRACTION_TD
#define WEFT_GRAPH_CONTRACTION_TD
include "dialects/graph/GraphBase.td"

def Graph_ContractOp : Graph_RootOp<"contract"> {
  let summary = "[B..., M, K] x [B..., K, N] -> [B..., M, N]";
  let description = [{
    Batch dimensions are equal on both sides (broadcasts and transposes are separate operations and fuse as prologues).
    f16 and bf16 accumulate in f32, i8/u8 inputs are cast before; integers wrap.
  }];
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($y)";
}

def Graph_ConvOp : Graph_RootOp<"conv"> {
  let summary = "[N, C, spatial...] * [M, C / group, kernel...] -> [N, M, spatial...]";
  let description = [{ Output position o reads o * stride + k * dilation - pad_low; outside is zero. No bias: it fuses as an epilogue. }];
  let arguments = (ins Graph_Tensor:$x, Graph_Tensor:$w, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
    Graph_DimsAttr:$pads_low, I64Attr:$group);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($y)";
}

def Graph_ConvTransposeOp : Graph_RootOp<"conv_transpose"> {
  let summary = "[N, C, spatial...] * [C, M / group, kernel...] -> [N, M, spatial...]";
  let description = [{ Input position i adds to output i * stride + k * dilation - pad_low. }];
  let arguments = (ins Graph_Tensor:$x, Graph_Tensor:$w, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
    Graph_DimsAttr:$pads_low, I64Attr:$group);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($y)";
}
#endif
