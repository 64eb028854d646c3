// Recurrent layers: one operation per layer with both directions.
#ifndef WEFT_GRAPH_RECURRENT_TD
#define WEFT_GRAPH_RECURRENT_TD
include "dialects/graph/GraphBase.td"

def Graph_CellKind : Graph_Enum<"CellKind", "recurrent cell", ["lstm", "gru", "rnn"]>;
def Graph_CellKindAttr : Graph_EnumAttr<Graph_CellKind, "cell_kind">;

def Graph_RecurrentOp : Graph_RootOp<"recurrent", [AttrSizedOperandSegments]> {
  let summary = "ONNX LSTM, GRU or RNN over x [seq, batch, input]";
  let description = [{
    gates: the input's part of every gate, computed beforehand as a contraction with W and both biases added where that is
    exact: [directions, seq, batch, G * hidden] (G = 4, 3, 1). R: [directions, G * hidden, hidden]. recurrent_bias: [directions, G * hidden] or
    absent (needed apart only by GRU with linear_before_reset). `activations`, `alphas`, `betas` and `clip` as in ONNX, resolved: one entry per direction and
    activation. Results: y [seq, directions, batch, hidden], y_h and y_c [directions, batch, hidden] (y_c only lstm).
  }];
  let arguments = (ins Graph_CellKindAttr:$kind, Graph_Tensor:$gates, Graph_Tensor:$r, Optional<AnyRankedTensor>:$recurrent_bias,
    Optional<AnyRankedTensor>:$sequence_lens, Optional<AnyRankedTensor>:$initial_h, Optional<AnyRankedTensor>:$initial_c,
    Optional<AnyRankedTensor>:$peepholes, StrArrayAttr:$activations, DenseF32ArrayAttr:$alphas, DenseF32ArrayAttr:$betas,
    OptionalAttr<F32Attr>:$clip, DenseBoolArrayAttr:$reverse, DefaultValuedAttr<BoolAttr, "false">:$linear_before_reset,
    DefaultValuedAttr<BoolAttr, "false">:$input_forget);
  let results = (outs Graph_Tensor:$y, Graph_Tensor:$y_h, Optional<AnyRankedTensor>:$y_c);
  let assemblyFormat = "$kind operands attr-dict `:` functional-type(operands, results)";
}
#endif
