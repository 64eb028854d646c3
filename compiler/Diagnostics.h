// What the user reads about a compilation: errors of all parts in one form, and the remarks of the passes.
#ifndef WEFT_COMPILER_DIAGNOSTICS_H
#define WEFT_COMPILER_DIAGNOSTICS_H

#include "codegen/artifact/SerializePlan.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace weft {

/// While it lives, errors in `context` are printed as `weftc: error: FILE: node 'NAME': ...`, and remarks are collected.
class Diagnostics {
public:
  Diagnostics(mlir::MLIRContext &context, llvm::StringRef file, llvm::raw_ostream &out);
  /// An error that no operation is to blame for.
  void error(const llvm::Twine &message);
  std::vector<Remark> &getRemarks() { return remarks; }

private:
  void print(mlir::Diagnostic &diagnostic);
  std::string file;
  llvm::raw_ostream &out;
  std::vector<Remark> remarks;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace weft
#endif
