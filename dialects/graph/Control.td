// Control flow, host reads, and the kernel that FormKernels makes.
#ifndef WEFT_GRAPH_CONTROL_TD
#define WEFT_GRAPH_CONTROL_TD
include "dialects/graph/GraphBase.td"

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a region with its results";
  let arguments = (ins Variadic<AnyRankedTensor>:$xs);
  let assemblyFormat = "($xs^ `:` type($xs))? attr-dict";
}

def Graph_ReadBackOp : Graph_Op<"read_back"> {
  let summary = "reads a small device tensor to the host: defines one symbol per element, row-major";
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$symbols);
  let assemblyFormat = "$x $symbols attr-dict `:` type($x)";
}

def Graph_CheckOp : Graph_Op<"check"> {
  let summary = "stops the run with `message` where the host condition (0 or 1) is false";
  let arguments = (ins Graph_DimsAttr:$condition, StrAttr:$message);
  let assemblyFormat = "$condition $message attr-dict";
}

def Graph_NonZeroOp : Graph_Op<"nonzero"> {
  let summary = "ONNX NonZero in two steps: the count (i64, rank 0) and all positions, of which the first `count` columns are valid";
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$count, Graph_Tensor:$positions);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($count) `,` type($positions)";
}

def Graph_IfOp : Graph_Op<"if", [SingleBlock, NoRegionArguments]> {
  let summary = "runs one of two regions by a host condition";
  let description = [{ Regions may use values from outside. A result dimension that differs between the branches is a symbol, set by the branch taken
    (`set`: for each result dimension that is such a symbol, listed in order, the symbols; each branch's yield operand gives the value). }];
  let arguments = (ins Graph_DimsAttr:$condition);
  let results = (outs Variadic<AnyRankedTensor>:$ys);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = "$condition $then_region `else` $else_region attr-dict (`:` type($ys)^)?";
}

def Graph_LoopOp : Graph_Op<"loop", [SingleBlock]> {
  let summary = "ONNX Loop";
  let description = [{
    `trip_count`: one expression, or empty for unbounded. `condition`: one expression evaluated before the first iteration, or empty. The body's
    arguments are the carried tensors; `iteration` is a symbol. The body yields first the carried values, then the scan outputs of this
    iteration; `body_condition` (a symbol defined inside the body by read_back, or an expression) says whether to go on, or is empty.
    Results: final carried values, then stacked scan outputs, whose first dimension is the symbol `trips`, the number of iterations run.
    A carried value whose dimensions change has symbols of its own as the argument's dimensions, set at each iteration.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inits, Graph_DimsAttr:$trip_count, Graph_DimsAttr:$condition, Graph_DimsAttr:$body_condition,
    I64Attr:$iteration, I64Attr:$trips);
  let results = (outs Variadic<AnyRankedTensor>:$ys);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inits attr-dict-with-keyword $body `:` functional-type($inits, $ys)";
}

def Graph_KernelOp : Graph_Op<"kernel", [IsolatedFromAbove, SingleBlock]> {
  let summary = "operations that become one GPU kernel";
  let description = [{
    Made by the pass form-kernels. Block arguments stand for the operands; the body holds element operations and at most one
    kind of root (template); `graph.yield` names the values that are stored. `name` is unique in the module; `nodes` lists the ONNX nodes.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, StrAttr:$name, StrAttr:$nodes);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name $inputs attr-dict-with-keyword $body `:` functional-type($inputs, $outputs)";
}
#endif
