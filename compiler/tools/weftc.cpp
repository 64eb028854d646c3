// weftc: ONNX models to artifacts. The command line is compiler/Options.h; exit codes are ExitCode's.
#include "compiler/Compiler.h"
#include "compiler/Options.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

using namespace weft;

/// Runs one command line.
static ExitCode runOne(llvm::ArrayRef<std::string> arguments, llvm::raw_ostream &out, llvm::raw_ostream &errors,
                       llvm::function_ref<void(llvm::StringRef)> progress, std::string *batch = nullptr) {
  std::string wrong;
  std::optional<Options> options = parseOptions(arguments, wrong);
  if (!options) {
    errors << "weftc: error: " << wrong << "\n";
    return ExitCode::commandLine;
  }
  if (options->help)
    out << helpText();
  else if (options->version)
    out << "weftc 0.1.0\n";
  else if (batch && !options->batch.empty())
    *batch = options->batch;
  else
    return compile(*options, out, errors, progress);
  return ExitCode::done;
}

/// Runs each line of a file; a line on standard output says how each went.
static ExitCode runBatch(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    llvm::errs() << "weftc: error: cannot read '" << path << "': " << file.getError().message() << "\n";
    return ExitCode::commandLine;
  }
  llvm::SmallVector<llvm::StringRef> lines;
  (*file)->getBuffer().split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef> words;
    line.split(words, ' ', -1, false);
    std::vector<std::string> arguments(words.begin(), words.end());
    std::string text;
    llvm::raw_string_ostream errors(text);
    ExitCode code = runOne(arguments, llvm::outs(), errors, nullptr);
    llvm::outs() << "rc=" << int(code) << "\t" << llvm::StringRef(text).split('\n').first << "\n";
    llvm::outs().flush();
  }
  return ExitCode::done;
}

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  bool terminal = llvm::sys::Process::StandardErrIsDisplayed();
  auto progress = [](llvm::StringRef step) { llvm::errs() << "\r\x1b[K[weftc] " << step << " ..."; };
  auto clear = [&] {
    if (terminal)
      llvm::errs() << "\r\x1b[K";
  };
  std::string batch, text;
  llvm::raw_string_ostream errors(text);
  llvm::function_ref<void(llvm::StringRef)> hear = nullptr;
  if (terminal)
    hear = progress;
  ExitCode code = runOne(arguments, llvm::outs(), errors, hear, &batch);
  clear();
  llvm::errs() << text;
  if (!batch.empty())
    code = runBatch(batch);
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::outs().clear_error();
    llvm::errs() << "weftc: error: cannot write to standard output\n";
    return int(ExitCode::machine);
  }
  return int(code);
}
