// Output files of the compiler: see Files.h.
#include "compiler/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

namespace weft {

std::string writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::string temporary = (path + ".tmp" + llvm::Twine(llvm::sys::Process::getProcessId())).str();
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
  if (!code)
    code = llvm::sys::fs::rename(temporary, path);
  if (!code)
    return "";
  llvm::sys::fs::remove(temporary);
  return ("cannot write '" + path + "': " + code.message()).str();
}

} // namespace weft
