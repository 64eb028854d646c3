// Output files of the compiler: see Files.h.
#include "compiler/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

namespace weft {

std::string writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  // A device or a pipe (/dev/stdout) cannot be replaced: it is written in place.
  bool inPlace = llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path) && !llvm::sys::fs::is_directory(path);
  std::string temporary = inPlace ? path.str() : (path + ".tmp" + llvm::Twine(llvm::sys::Process::getProcessId())).str();
  std::error_code code;
  {
    llvm::raw_fd_ostream file(temporary, code);
    if (code)
      return ("cannot write '" + path + "': " + code.message()).str();
    write(file);
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (!code && !inPlace)
    code = llvm::sys::fs::rename(temporary, path);
  if (!code)
    return "";
  if (!inPlace)
    llvm::sys::fs::remove(temporary);
  return ("cannot write '" + path + "': " + code.message()).str();
}

} // namespace weft
