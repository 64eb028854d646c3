// The C API: see weft_compiler.h.
#include "compiler/Compiler.h"
#include "compiler/Options.h"
#include "compiler/weft_compiler.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <cstring>

using namespace weft;

static void give(char **where, const std::string &text) {
  if (!where)
    return;
  *where = static_cast<char *>(std::malloc(text.size() + 1));
  if (*where)
    std::memcpy(*where, text.c_str(), text.size() + 1);
}

extern "C" int weft_compiler_abi(void) { return WEFT_COMPILER_ABI; }

extern "C" void weft_compiler_free(char *text) { std::free(text); }

extern "C" weft_compiler_status weft_compile(int argc, const char *const *argv, char **output, char **messages) {
  std::string printed, errors, wrong;
  llvm::raw_string_ostream out(printed), err(errors);
  std::optional<Options> options = parseOptions(std::vector<std::string>(argv, argv + argc), wrong);
  ExitCode code = ExitCode::commandLine;
  if (!options)
    err << "weftc: error: " << wrong << "\n";
  else
    code = compile(*options, out, err, nullptr);
  give(output, printed);
  give(messages, errors);
  return static_cast<weft_compiler_status>(code);
}
