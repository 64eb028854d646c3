// The command line of weft-run. Parsing has no effect outside its result; what is wrong is a sentence for exit code 2.
#ifndef WEFT_RUNTIME_TOOLS_OPTIONS_H
#define WEFT_RUNTIME_TOOLS_OPTIONS_H

#include "runtime/Device.h"
#include <cstdint>
#include <string>
#include <vector>

namespace weft::tools {

struct Options {
  std::string artifact;
  DeviceSpec device;
  std::vector<std::string> inputs; // NAME=FILE as given: a name may contain '='
  struct Shape {
    std::string name;
    std::vector<int64_t> dims;
  };
  std::vector<Shape> shapes;
  std::string output, counters, profile, batch;
  uint64_t repeat = 1;
  bool check = false, describe = false, json = false, help = false;
};

/// Arguments without the program's name. The empty string: `options` is complete; else what is wrong.
std::string parseOptions(const std::vector<std::string> &arguments, Options &options);
std::string helpText();

/// Splits a line of a batch file into words: blanks separate; '...' is literal; in "..." and outside, a backslash takes
/// the next character as it is. False where a quote is not closed.
bool splitLine(const std::string &line, std::vector<std::string> &words);

} // namespace weft::tools
#endif
