// Passes from graph kernels to tile kernels.
#ifndef WEFT_PASSES_TILE_TD
#define WEFT_PASSES_TILE_TD
include "mlir/Pass/PassBase.td"

def EmitKernels : Pass<"emit-kernels", "mlir::ModuleOp"> {
  let summary = "gives every graph.kernel its tile.kernels";
  let description = [{
    Starts from `graph.kernel` (made by form-kernels). A template, chosen by the kernel's root, emits up to three variants:
    16-byte accesses with 32-bit indices, scalar accesses with 32-bit indices, scalar with 64-bit ones; those that static shapes
    or known alignments make unnecessary are left out. Equal kernels share their variants.

    Afterwards each graph.kernel has `launches` (in order of preference: entry, guard, aligned, index32, vector, grid, block,
    shared), `scalars` (the host scalars that every variant takes behind its pointers) and `workspace` (types of temporaries).
    Parameters of a tile.kernel: inputs, outputs, workspace, scalars. Example: test/passes/tile/emit-kernels.mlir.
  }];
  let dependentDialects = ["::weft::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}
#endif
