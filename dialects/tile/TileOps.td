// The tile dialect: how one kernel computes. Kernels are functions over raw pointers and scalars; their bodies are
// structured control flow (scf) and arithmetic (arith, math, vector extract/insert) around the operations defined here.
#ifndef WEFT_TILE_OPS_TD
#define WEFT_TILE_OPS_TD

include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::weft::tile";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let summary = "How one GPU kernel computes its results";
  let description = [{
    Pointers are `!llvm.ptr<1>` (global memory) and `!llvm.ptr<3>` (shared memory). Elements in memory are stored as their
    own type; `i1` takes one byte, 0 or 1. Registers hold signless integers, `i1` and floating point of any width.
  }];
  let useDefaultAttributePrinterParser = 1;
  let usePropertiesForAttributes = 1;
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

class Tile_Enum<string name, string summary, list<string> names>
    : I32EnumAttr<name, summary, !foreach(i, !range(!size(names)), I32EnumAttrCase<names[i], i>)> {
  let cppNamespace = "::weft::tile";
  let genSpecializedAttr = 0;
}
class Tile_EnumAttr<EnumAttrInfo info, string mnem> : EnumAttr<Tile_Dialect, info, mnem>;

def Tile_Dim : Tile_Enum<"Dim", "a dimension of the grid or the block", ["x", "y", "z"]>;
def Tile_DimAttr : Tile_EnumAttr<Tile_Dim, "dim">;
def Tile_ShuffleKind : Tile_Enum<"ShuffleKind", "which lane a shuffle reads", ["bfly", "down", "up", "idx"]>;
def Tile_ShuffleKindAttr : Tile_EnumAttr<Tile_ShuffleKind, "shuffle_kind">;

def Tile_Pointer : Type<CPred<[{
    ::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self) &&
    (::llvm::cast<::mlir::LLVM::LLVMPointerType>($_self).getAddressSpace() == 1 ||
     ::llvm::cast<::mlir::LLVM::LLVMPointerType>($_self).getAddressSpace() == 3)}]>,
  "a pointer to global (1) or shared (3) memory", "::mlir::LLVM::LLVMPointerType">;
def Tile_SharedPointer : Type<CPred<[{
    ::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self) &&
    ::llvm::cast<::mlir::LLVM::LLVMPointerType>($_self).getAddressSpace() == 3}]>,
  "a pointer to shared memory", "::mlir::LLVM::LLVMPointerType">,
  BuildableType<"::mlir::LLVM::LLVMPointerType::get($_builder.getContext(), 3)">;
def Tile_Index : AnyTypeOf<[I32, I64], "an index: i32 or i64">;
def Tile_Scalar : AnyTypeOf<[AnySignlessInteger, AnyFloat], "a number">;
def Tile_Value : AnyTypeOf<[Tile_Scalar, FixedVectorOfRankAndType<[1], [AnySignlessInteger, AnyFloat]>], "a number or a vector of numbers">;

def Tile_KernelOp : Tile_Op<"kernel", [FunctionOpInterface, IsolatedFromAbove, Symbol]> {
  let summary = "one entry of a GPU module";
  let description = [{
    Parameters: pointers to global memory, then scalars (i32, i64 or f64). `block` is the block's size in threads (x, y, z), at
    most 1024; `index_bits` the width of its indices; `nodes` the ONNX nodes it computes, for messages. `min_blocks`: at least so
    many blocks shall fit on a multiprocessor (limits registers).

    ```mlir
    tile.kernel @add(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32) attributes {block = array<i64: 256, 1, 1>, index_bits = 32 : i64, nodes = "Add"} {
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, DenseI64ArrayAttr:$block,
    I64Attr:$index_bits, StrAttr:$nodes, OptionalAttr<I64Attr>:$min_blocks, OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    int64_t threads() { return getBlock()[0] * getBlock()[1] * getBlock()[2]; }
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, Terminator, ReturnLike, HasParent<"KernelOp">]> {
  let summary = "ends a kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_LoadOp : Tile_Op<"load"> {
  let summary = "reads one element, or the elements of a vector that stand side by side";
  let description = [{
    `index` counts elements of the result's element type from the pointer. `alignment` is in bytes (default: the element's size); a
    vector of 16 bytes needs 16 to be one access. `nontemporal`: not to be kept in the cache. `invariant`: nobody writes the memory
    while the kernel runs (the read-only path may be used). Pure when invariant.
  }];
  let arguments = (ins Arg<Tile_Pointer, "", [MemRead]>:$pointer, Tile_Index:$index, OptionalAttr<I64Attr>:$alignment,
    UnitAttr:$nontemporal, UnitAttr:$invariant);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$pointer `[` $index `]` attr-dict `:` type($pointer) `,` type($index) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store"> {
  let summary = "writes one element, or the elements of a vector side by side";
  let arguments = (ins Tile_Value:$value, Arg<Tile_Pointer, "", [MemWrite]>:$pointer, Tile_Index:$index, OptionalAttr<I64Attr>:$alignment,
    UnitAttr:$nontemporal);
  let assemblyFormat = "$value `,` $pointer `[` $index `]` attr-dict `:` type($value) `,` type($pointer) `,` type($index)";
  let hasVerifier = 1;
}

def Tile_SharedOp : Tile_Op<"shared", [MemoryEffects<[MemAlloc]>]> {
  let summary = "an array in shared memory, 16-byte aligned, one per operation and kernel";
  let arguments = (ins I64Attr:$count, TypeAttr:$element_type);
  let results = (outs Tile_SharedPointer:$result);
  let assemblyFormat = "$count `x` $element_type attr-dict";
  let hasVerifier = 1;
}

def Tile_DynamicSharedOp : Tile_Op<"dynamic_shared", [Pure]> {
  let summary = "the start of the shared memory that the launch asks for, 16-byte aligned";
  let results = (outs Tile_SharedPointer:$result);
  let assemblyFormat = "attr-dict";
}

class Tile_PositionOp<string mnemonic, string what> : Tile_Op<mnemonic, [Pure]> {
  let summary = what;
  let arguments = (ins Tile_DimAttr:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict";
}
def Tile_ThreadIdOp : Tile_PositionOp<"thread_id", "the thread's position in its block">;
def Tile_BlockIdOp : Tile_PositionOp<"block_id", "the block's position in the grid">;
def Tile_BlockDimOp : Tile_PositionOp<"block_dim", "the block's size in threads">;
def Tile_GridDimOp : Tile_PositionOp<"grid_dim", "the grid's size in blocks">;

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until all threads of the block are here and their accesses are seen by all";
  let assemblyFormat = "attr-dict";
}

def Tile_ShuffleOp : Tile_Op<"shuffle", [AllTypesMatch<["value", "result"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the value that another lane of the warp holds; all 32 lanes take part";
  let description = [{
    `bfly`: lane ^ amount; `down`: lane + amount and `up`: lane - amount (outside the warp: the own value); `idx`: lane amount.
  }];
  let arguments = (ins Tile_ShuffleKindAttr:$kind, Tile_Scalar:$value, I32:$amount);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$kind $value `,` $amount attr-dict `:` type($value)";
  let hasVerifier = 1;
}

#endif
