// The plan dialect: when and where. Values are buffers, written as the type of the tensor that they hold.
#ifndef WEFT_PLAN_BASE_TD
#define WEFT_PLAN_BASE_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/graph/GraphBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::weft::plan";
  let summary = "What the runtime does for one run of a model";
  let description = [{
    Mirrors runtime/artifact/Plan.fbs. The function `main` takes the inputs' buffers and returns the outputs'. Operations
    that only name a buffer (constant, output, alloc, view) take no time; every other one is an instruction, executed in
    order. Scalars are `#graph.dims` expressions over the module's `graph.symbols`.
  }];
  let usePropertiesForAttributes = 1;
  let dependentDialects = ["::weft::graph::GraphDialect"];
}

def Plan_Instruction : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::weft::plan";
  let description = [{ An operation that the runtime executes; it has a number within its block. }];
  let methods = [];
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;
class Plan_InstructionOp<string mnemonic, list<Trait> traits = []>
  : Plan_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<Plan_Instruction>], traits)>;
#endif
