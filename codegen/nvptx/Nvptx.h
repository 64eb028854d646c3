// From tile kernels to PTX and machine code.
//
// Guarantees: f32 and f64 arithmetic is rounded as IEEE says, operation by operation (no contraction, denormals kept);
// functions keep to the table Math.def; the same module and target give the same bytes; a fatal error inside LLVM becomes a
// diagnostic. Leaves to the caller: which targets, and where images are stored.
#ifndef WEFT_CODEGEN_NVPTX_NVPTX_H
#define WEFT_CODEGEN_NVPTX_NVPTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <string>
#include <vector>

namespace weft::nvptx {

/// Where ptxas and libdevice are. Empty: searched in the environment (WEFT_PTXAS, WEFT_LIBDEVICE), below `cudaPath`, beside the
/// executable, and where they were when Weft was built.
struct Tools {
  std::string cudaPath;
  std::string ptxas() const;
  std::string libdevice() const;
};

/// True for a name of hardware/Gpus.def or "compute_80".
bool isTarget(llvm::StringRef target);

/// PTX of all tile.kernels of `module`, one text per target ("sm_80", "sm_90a", "compute_80", ...). `module` is not changed.
llvm::FailureOr<std::vector<std::string>> translateToPtx(mlir::ModuleOp module, llvm::ArrayRef<std::string> targets, const Tools &tools);

/// What ptxas says about one kernel.
struct KernelUse {
  std::string kernel;
  unsigned registers = 0, spillStores = 0, spillLoads = 0, sharedBytes = 0; // spills in bytes
};
struct Cubin {
  std::vector<char> bytes;
  std::vector<KernelUse> use;
  std::string error; // what ptxas said and how to run it again; empty when it succeeded
};
/// Assembles each PTX text for its target, `jobs` at a time.
std::vector<Cubin> assemble(llvm::ArrayRef<std::string> ptx, llvm::ArrayRef<std::string> targets, const Tools &tools, unsigned jobs = 2);
/// First line of `ptxas --version` that names a version, e.g. "13.1.80"; empty where there is no ptxas.
std::string assemblerVersion(const Tools &tools);

/// Lowers the kernels of `module` (a module of tile.kernels only) in place to the LLVM and NVVM dialects.
llvm::LogicalResult lowerToLLVM(mlir::ModuleOp module);

} // namespace weft::nvptx
#endif
