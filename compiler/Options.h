// What a run of the compiler is asked to do, and the command line that says so.
//
// A flag is one member of Options and one row of the table in Options.cpp.
#ifndef WEFT_COMPILER_OPTIONS_H
#define WEFT_COMPILER_OPTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// Stages in order; each is a file type.
enum class Stage { onnx, graph, tile, plan, ptx, cubin, artifact };
llvm::StringRef stageName(Stage stage);

struct Options {
  std::string input;
  std::string output;                          // -o; empty: beside the input, or standard output for a stage
  std::vector<std::string> targets{"sm_80"};   // --target, in the order given, each once
  bool cubins = true;                          // --emit=both
  Stage stopAfter = Stage::artifact;           // --stop-after
  std::string dump;                            // --dump
  std::string cudaPath;                        // --cuda-path
  std::string remarks;                         // --remarks
  std::string batch;                           // --batch
  bool help = false, version = false;
};

/// Reads a command line without the program's name. Nothing, and a sentence in `error`, where it is wrong.
std::optional<Options> parseOptions(llvm::ArrayRef<std::string> arguments, std::string &error);
/// The text of --help.
std::string helpText();

} // namespace weft
#endif
