// Operations of the plan dialect.
#ifndef WEFT_PLAN_OPS_TD
#define WEFT_PLAN_OPS_TD
include "dialects/plan/PlanBase.td"

// --- Buffers ----------------------------------------------------------------------------------------------------------

def Plan_ConstantOp : Plan_Op<"constant", [Pure]> {
  let summary = "a buffer in the artifact's constants section";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "attr-dict $value `:` type($y)";
}

def Plan_OutputOp : Plan_Op<"output"> {
  let summary = "the buffer of the model's output number `index`";
  let arguments = (ins I64Attr:$index);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$index attr-dict `:` type($y)";
}

def Plan_AllocOp : Plan_Op<"alloc"> {
  let summary = "a buffer in the arena, live from instruction `first` to `last` of its block, both included";
  let arguments = (ins OptionalAttr<I64Attr>:$first, OptionalAttr<I64Attr>:$last);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "(`live` $first^ `to` $last)? attr-dict `:` type($y)";
}

def Plan_ViewOp : Plan_Op<"view", [Pure]> {
  let summary = "part of a buffer: starts `offset` bytes behind the start of `base`";
  let arguments = (ins AnyRankedTensor:$base, Graph_DimsAttr:$offset);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$base `at` $offset attr-dict `:` type($base) `->` type($y)";
}

// --- Kernels ----------------------------------------------------------------------------------------------------------

def Plan_KernelOp : Plan_Op<"kernel", [Symbol]> {
  let summary = "a kernel with its variants, tried in order";
  let description = [{
    Each variant is a dictionary: `entry`, `guard` (absent: always), `aligned` (numbers of pointer arguments that must be
    16-byte aligned), `index32`, `vector`, `grid` (three expressions), `block` (three numbers), `shared` (bytes).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$nodes, ArrayAttr:$launches);
  let assemblyFormat = "$sym_name `of` $nodes $launches attr-dict";
}

// --- Instructions -----------------------------------------------------------------------------------------------------

def Plan_LaunchOp : Plan_InstructionOp<"launch", [AttrSizedOperandSegments]> {
  let summary = "runs a kernel; parameters are inputs, outputs, workspace, then scalars";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs, Variadic<AnyRankedTensor>:$outputs,
    Variadic<AnyRankedTensor>:$workspace, Graph_DimsAttr:$scalars);
  let assemblyFormat = [{
    $kernel `(` ($inputs^ `:` type($inputs))? `)` `->` `(` ($outputs^ `:` type($outputs))? `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? `scalars` $scalars attr-dict
  }];
}

def Plan_CopyOp : Plan_InstructionOp<"copy"> {
  let summary = "copies all bytes of a buffer to one of equal size";
  let arguments = (ins AnyRankedTensor:$source, AnyRankedTensor:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `to` type($target)";
}

def Plan_FillOp : Plan_InstructionOp<"fill"> {
  let summary = "sets every byte of a buffer";
  let arguments = (ins AnyRankedTensor:$target, I64Attr:$byte);
  let assemblyFormat = "$target `with` $byte attr-dict `:` type($target)";
}

def Plan_ReadBackOp : Plan_InstructionOp<"read_back"> {
  let summary = "waits, and reads one symbol per element";
  let arguments = (ins AnyRankedTensor:$source, DenseI64ArrayAttr:$symbols);
  let assemblyFormat = "$source $symbols attr-dict `:` type($source)";
}

def Plan_SetSymbolOp : Plan_InstructionOp<"set_symbol"> {
  let summary = "gives a symbol the value of an expression";
  let arguments = (ins I64Attr:$symbol, Graph_DimsAttr:$value);
  let assemblyFormat = "$symbol `to` $value attr-dict";
}

def Plan_CheckOp : Plan_InstructionOp<"check"> {
  let summary = "stops the run with `message` where the expression is 0";
  let arguments = (ins Graph_DimsAttr:$condition, StrAttr:$message, StrAttr:$node);
  let assemblyFormat = "$condition $message `node` $node attr-dict";
}

def Plan_IfOp : Plan_InstructionOp<"if", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "runs one block or the other";
  let arguments = (ins Graph_DimsAttr:$condition);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = "$condition $then_region `else` $else_region attr-dict";
}

def Plan_LoopOp : Plan_InstructionOp<"loop", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "runs `body` while iteration < trip_count (where given) and the symbol `condition` (where given) is not 0";
  let arguments = (ins Graph_DimsAttr:$trip_count, OptionalAttr<I64Attr>:$condition, I64Attr:$iteration);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`trips` $trip_count (`condition` $condition^)? `iteration` $iteration $body attr-dict";
}
#endif
