// PTX and machine code of a module's kernels, and the file that holds all.
#ifndef WEFT_COMPILER_IMAGES_H
#define WEFT_COMPILER_IMAGES_H

#include "codegen/artifact/SerializePlan.h"
#include "compiler/Compiler.h"
#include "mlir/IR/DialectRegistry.h"

namespace weft {

/// All dialects that any stage may hold.
void registerDialects(mlir::DialectRegistry &registry);
/// Adds the PTX of `module`'s kernels for each target. `module` stays as it is.
ExitCode addPtx(mlir::ModuleOp module, llvm::ArrayRef<std::string> targets, const Options &options, std::vector<Image> &images);
/// Adds the machine code of every PTX image for one of `targets`.
ExitCode addCubins(llvm::ArrayRef<std::string> targets, const Options &options, std::vector<Image> &images, llvm::raw_ostream &errors);
/// Writes the artifact of a planned module.
ExitCode writeArtifact(mlir::ModuleOp module, const Options &options, llvm::StringRef path, std::vector<Image> &images,
                       llvm::ArrayRef<Remark> remarks, llvm::raw_ostream &errors);

} // namespace weft
#endif
