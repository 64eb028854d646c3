// Output files of the compiler.
//
// Guarantees: a file is either whole or as it was before: it is written under a temporary name, then renamed.
#ifndef WEFT_COMPILER_FILES_H
#define WEFT_COMPILER_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace weft {

/// Calls `write` with a stream to a temporary file beside `path` and renames it to `path`. "" or what went wrong.
std::string writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace weft
#endif
