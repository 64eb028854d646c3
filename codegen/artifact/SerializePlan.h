// The plan dialect as the artifact's FlatBuffers plan.
//
// Guarantees: the same module gives the same bytes. Leaves to others: writing the file (runtime/artifact/Writer.h).
#ifndef WEFT_CODEGEN_ARTIFACT_SERIALIZEPLAN_H
#define WEFT_CODEGEN_ARTIFACT_SERIALIZEPLAN_H

#include "codegen/artifact/Constants.h"
#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// One module of kernels for one target in one form.
struct Image {
  std::string target;    // "sm_80", "compute_80"
  bool isCubin = false;
  std::string bytes;     // PTX text or ELF
  std::string isa;       // "7.0"
  std::string assembler; // ptxas' version; "" for PTX
  uint32_t driver = 0;   // least driver, 0 unknown
  uint64_t offset = 0;   // within the images section
};

struct Remark {
  std::string kind, node, message;
};

struct SerializedPlan {
  std::string plan;     // FlatBuffers bytes
  Constants constants;  // refer to blobs of the module: it must outlive this
};

/// `module` holds `main` in plan operations with lifetimes, and the kernels. An error has been reported where it fails.
mlir::FailureOr<SerializedPlan> serializePlan(mlir::ModuleOp module, llvm::ArrayRef<std::string> targets,
                                              llvm::ArrayRef<Image> images, llvm::ArrayRef<Remark> remarks);

} // namespace weft
#endif
