// ONNX models to the graph dialect.
//
// The module has `func.func @main` with one argument per graph input and one result per graph output (attributes
// `weft.name` and `weft.dim_names`) and the symbols of all unknown dimensions (`graph.symbols`). Every operation's location
// is a NameLoc of its ONNX node. An initializer that is also listed as a graph input (a default value) becomes a constant and
// is no argument: giving such an input at run time is an error, not silently ignored.
#ifndef WEFT_FRONTENDS_ONNX_IMPORT_H
#define WEFT_FRONTENDS_ONNX_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class raw_ostream;
}
namespace weft::onnx {

struct ImportOptions {};

/// Null where the model is wrong or has unsupported operators; each fault has been emitted as a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef path, mlir::MLIRContext &context, const ImportOptions &options = {});

/// The table of operators that have rules, as Markdown (docs/generated/operators.md).
void printOperators(llvm::raw_ostream &os);

} // namespace weft::onnx
#endif
