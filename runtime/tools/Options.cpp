// The command line of weft-run: see Options.h.
#include "runtime/tools/Options.h"
#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

namespace weft::tools {

namespace {
/// One flag; `set` returns what is wrong with the value, or "". A flag with an empty `value` takes none.
struct Flag {
  std::string_view name, value, help;
  std::string (*set)(Options &, const std::string &value);
};

std::string setDevice(Options &options, const std::string &value) {
  Status status = parseDeviceSpec(value, options.device);
  return status.ok() ? "" : status.message;
}

std::string addInput(Options &options, const std::string &value) {
  if (value.find('=') == std::string::npos)
    return "--input is NAME=FILE, not '" + value + "'";
  options.inputs.push_back(value);
  return "";
}

template <typename Number> bool parseNumber(std::string_view text, Number &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string addShape(Options &options, const std::string &value) {
  size_t equals = value.rfind('='); // a shape has no '=', a name may
  std::string wrong = "--shape is NAME=1x3x640x640, not '" + value + "'";
  if (equals == std::string::npos)
    return wrong;
  Options::Shape shape{value.substr(0, equals), {}};
  std::string_view text = std::string_view(value).substr(equals + 1);
  while (!text.empty()) { // nothing behind '=': a scalar
    size_t cross = text.find('x');
    int64_t dim;
    if (!parseNumber(text.substr(0, cross), dim) || dim < 0 || cross == text.size() - 1)
      return wrong;
    shape.dims.push_back(dim);
    text = cross == std::string_view::npos ? "" : text.substr(cross + 1);
  }
  options.shapes.push_back(std::move(shape));
  return "";
}

std::string setRepeat(Options &options, const std::string &value) {
  bool good = parseNumber(value, options.repeat) && options.repeat > 0;
  return good ? "" : "--repeat takes a number from 1, not '" + value + "'";
}

template <std::string Options::*Member> std::string setText(Options &options, const std::string &value) {
  options.*Member = value;
  return value.empty() ? "is empty" : "";
}
template <bool Options::*Member> std::string setTrue(Options &options, const std::string &) {
  options.*Member = true;
  return "";
}

constexpr Flag flags[] = {
    {"--input", "NAME=FILE", "an input, from a .npy file or a .pb file with an ONNX TensorProto; once per input",
     addInput},
    {"--output", "DIR", "folder for the outputs, one NAME.npy each; made where it is missing",
     setText<&Options::output>},
    {"--device", "DEVICE", "auto (default) | cuda[:ORDINAL,...] | emulator[:COUNT][@sm_XX]", setDevice},
    {"--repeat", "N", "run N times and report the times", setRepeat},
    {"--profile", "FILE", "write the phases as a trace that Perfetto and chrome://tracing open",
     setText<&Options::profile>},
    {"--counters", "FILE", "write what the emulator counted, as JSON", setText<&Options::counters>},
    {"--check", "", "let the emulator look for bad accesses and races; findings end the run with code 1",
     setTrue<&Options::check>},
    {"--describe", "", "print what the artifact holds and run nothing", setTrue<&Options::describe>},
    {"--json", "", "with --describe: as JSON", setTrue<&Options::json>},
    {"--shape", "NAME=1x3x640", "with --describe: the shape of an input; once per input", addShape},
    {"--batch", "FILE", "run each line of the file as a command line, and print rc=CODE and the error of each",
     setText<&Options::batch>},
    {"--help", "", "print this", setTrue<&Options::help>},
};

/// What is wrong with flags that do not go together.
std::string checkTogether(const Options &options) {
  if (!options.batch.empty())
    return options.artifact.empty() ? "" : "--batch takes no artifact: each line of its file names one";
  if (options.artifact.empty())
    return "no artifact given; see --help";
  if (!options.describe && (options.json || !options.shapes.empty()))
    return std::string(options.json ? "--json" : "--shape") + " goes with --describe";
  if (options.device.kind == DeviceSpec::cuda && (options.check || !options.counters.empty()))
    return std::string(options.check ? "--check" : "--counters") +
           " needs the emulator: a GPU does not report it; use --device=emulator";
  return "";
}
} // namespace

std::string parseOptions(const std::vector<std::string> &arguments, Options &options) {
  bool flagsEnded = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    if (!flagsEnded && argument == "--") {
      flagsEnded = true;
      continue;
    }
    if (flagsEnded || argument.empty() || argument[0] != '-') {
      if (!options.artifact.empty())
        return "two artifacts given: '" + options.artifact + "' and '" + argument + "'";
      if (argument.empty())
        return "the artifact's name is empty";
      options.artifact = argument;
      continue;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    auto flag = std::ranges::find(flags, std::string_view(name), &Flag::name);
    if (flag == std::end(flags))
      return "unknown flag '" + name + "'; see --help";
    std::string value;
    if (flag->value.empty() && equals != std::string::npos)
      return name + " takes no value";
    if (!flag->value.empty() && equals == std::string::npos && i + 1 == arguments.size())
      return name + " needs a value: " + std::string(flag->value);
    if (!flag->value.empty())
      value = equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1);
    std::string wrong = flag->set(options, value);
    if (!wrong.empty())
      return wrong.starts_with("--") ? wrong : name + ": " + wrong;
  }
  return options.help ? "" : checkTogether(options);
}

std::string helpText() {
  std::string text = "usage: weft-run MODEL.weft --input NAME=FILE ... --output DIR [flags]\n"
                     "       weft-run MODEL.weft --describe [--json] [--shape NAME=1x3x640 ...]\n\n";
  for (const Flag &flag : flags) {
    std::string left = "  " + std::string(flag.name) + (flag.value.empty() ? "" : " ") + std::string(flag.value);
    left.resize(std::max<size_t>(left.size() + 1, 24), ' ');
    text += left + std::string(flag.help) + "\n";
  }
  return text + "\nExit codes: 0 done; 1 the model or an input is wrong; 2 the command line; 3 the machine cannot.\n";
}

bool splitLine(const std::string &line, std::vector<std::string> &words) {
  words.clear();
  bool inWord = false;
  char quote = 0;
  std::string word;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? 0 : c;
      inWord = true;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
      inWord = true;
    } else if (!quote && (c == ' ' || c == '\t' || c == '\r')) {
      if (inWord)
        words.push_back(std::move(word));
      word.clear();
      inWord = false;
    } else {
      word += c;
      inWord = true;
    }
  }
  if (inWord)
    words.push_back(std::move(word));
  return quote == 0;
}

} // namespace weft::tools
