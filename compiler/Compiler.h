// From a model to an artifact: the way of the data, stage by stage.
#ifndef WEFT_COMPILER_COMPILER_H
#define WEFT_COMPILER_COMPILER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace weft {
struct Options;

enum class ExitCode { done = 0, modelWrong = 1, commandLine = 2, machine = 3 };

/// Compiles as `options` say. Messages go to `errors`, a stage's text without -o to `out`; `progress` (may be null) hears
/// about long steps. Never ends the process, never leaves half an output file.
ExitCode compile(const Options &options, llvm::raw_ostream &out, llvm::raw_ostream &errors,
                 llvm::function_ref<void(llvm::StringRef)> progress);

} // namespace weft
#endif
