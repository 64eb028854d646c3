// PTX and machine code of a module's kernels, and the file that holds all.
#ifndef WEFT_COMPILER_IMAGES_H
#define WEFT_COMPILER_IMAGES_H

#include "codegen/artifact/SerializePlan.h"
#include "compiler/Compiler.h"
#include "mlir/IR/DialectRegistry.h"

namespace weft {

/// All dialects that any stage may hold.
void registerDialects(mlir::DialectRegistry &registry);
/// Adds the PTX of `module`'s kernels for `target` ("sm_80", "compute_80"). `module` stays as it is.
ExitCode addPtx(mlir::ModuleOp module, llvm::StringRef target, const Options &options, std::vector<Image> &images,
                llvm::raw_ostream &errors);
/// Adds the machine code of the PTX in `ptx`.
ExitCode addCubin(Image ptx, llvm::StringRef target, const Options &options, std::vector<Image> &images, llvm::raw_ostream &errors);
/// Writes the artifact of a planned module.
ExitCode writeArtifact(mlir::ModuleOp module, const Options &options, llvm::StringRef path, std::vector<Image> &images,
                       llvm::ArrayRef<Remark> remarks, llvm::raw_ostream &errors);

} // namespace weft
#endif
