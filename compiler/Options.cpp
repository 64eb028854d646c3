// The command line of weftc: see Options.h. docs: contract.md.
#include "compiler/Options.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

namespace weft {

llvm::StringRef stageName(Stage stage) {
  switch (stage) {
  case Stage::onnx: return "onnx";
  case Stage::graph: return "graph";
  case Stage::tile: return "tile";
  case Stage::plan: return "plan";
  case Stage::ptx: return "ptx";
  case Stage::cubin: return "cubin";
  case Stage::artifact: return "artifact";
  }
  llvm_unreachable("unknown stage");
}

namespace {
/// Targets that exist, from the table of GPUs.
constexpr llvm::StringLiteral knownTargets[] = {
#define WEFT_GPU(NAME, ...) #NAME,
#include "hardware/Gpus.def"
#undef WEFT_GPU
};

/// One flag; `set` returns what is wrong with the value, or "".
struct Flag {
  llvm::StringLiteral name, value, help;
  std::string (*set)(Options &, llvm::StringRef value);
};

std::string setTargets(Options &o, llvm::StringRef value) {
  o.targets.clear();
  llvm::SmallVector<llvm::StringRef> names;
  value.split(names, ',');
  for (llvm::StringRef name : names) {
    name = name.trim();
    if (!llvm::is_contained(knownTargets, name))
      return ("unknown target '" + name + "'; known are " + llvm::join(llvm::ArrayRef(knownTargets), ", ")).str();
    if (!llvm::is_contained(o.targets, name))
      o.targets.push_back(name.str());
  }
  return "";
}

std::string setEmit(Options &o, llvm::StringRef value) {
  if (value != "ptx" && value != "both")
    return ("--emit is 'ptx' or 'both', not '" + value + "'").str();
  o.cubins = value == "both";
  return "";
}

std::string setStage(Options &o, llvm::StringRef value) {
  for (Stage stage : {Stage::graph, Stage::tile, Stage::plan, Stage::ptx, Stage::cubin})
    if (value == stageName(stage)) {
      o.stopAfter = stage;
      return "";
    }
  return ("--stop-after is one of graph, tile, plan, ptx, cubin, not '" + value + "'").str();
}

template <std::string Options::*Member> std::string setText(Options &o, llvm::StringRef value) {
  o.*Member = value.str();
  return value.empty() ? "is empty" : "";
}
template <bool Options::*Member> std::string setTrue(Options &o, llvm::StringRef) {
  o.*Member = true;
  return "";
}

constexpr Flag flags[] = {
    {"-o", "FILE", "the artifact (default: the model's name with .weft), or the stage's text", setText<&Options::output>},
    {"--target", "sm_80,...", "GPUs to compile for (default sm_80)", setTargets},
    {"--emit", "ptx|both", "machine code too (both, the default), or PTX only", setEmit},
    {"--stop-after", "STAGE", "print graph, tile, plan, ptx or cubin instead of writing an artifact", setStage},
    {"--dump", "DIR", "write one file per stage into DIR", setText<&Options::dump>},
    {"--cuda-path", "DIR", "take ptxas and libdevice from this toolkit", setText<&Options::cudaPath>},
    {"--remarks", "FILE", "write every decision of the passes to FILE", setText<&Options::remarks>},
    {"--batch", "FILE", "run each line of FILE as a command line; prints rc=N and the first error of each", setText<&Options::batch>},
    {"--help", "", "this text", setTrue<&Options::help>},
    {"--version", "", "the version", setTrue<&Options::version>},
};

/// What the flags say together.
std::string findConflict(Options &o) {
  if (o.help || o.version || !o.batch.empty())
    return "";
  if (o.input.empty())
    return "no model is named; usage: weftc MODEL -o FILE (see --help)";
  bool perTarget = o.stopAfter == Stage::ptx || o.stopAfter == Stage::cubin;
  if (perTarget && o.targets.size() > 1)
    return "--stop-after=" + stageName(o.stopAfter).str() + " needs one target, not " + std::to_string(o.targets.size());
  if (o.stopAfter == Stage::cubin && o.output.empty())
    return "--stop-after=cubin needs -o FILE";
  return "";
}
} // namespace

std::optional<Options> parseOptions(llvm::ArrayRef<std::string> arguments, std::string &error) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (!argument.starts_with("-") || argument == "-") {
      if (!options.input.empty()) {
        error = ("two models are named: '" + options.input + "' and '" + argument + "'").str();
        return std::nullopt;
      }
      options.input = argument.str();
      continue;
    }
    auto [name, value] = argument.split('=');
    auto flag = llvm::find_if(flags, [&, name = name](const Flag &f) { return f.name == name; });
    if (flag == std::end(flags)) {
      error = ("unknown flag '" + argument + "' (see --help)").str();
      return std::nullopt;
    }
    bool hasValue = argument.contains('='), takesValue = !flag->value.empty();
    if (hasValue && !takesValue) {
      error = (name + " takes no value").str();
      return std::nullopt;
    }
    if (takesValue && !hasValue && i + 1 < arguments.size())
      value = arguments[++i];
    if (std::string wrong = flag->set(options, value); !wrong.empty()) {
      error = wrong == "is empty" ? (name + " needs a value: " + flag->value).str() : wrong;
      return std::nullopt;
    }
  }
  error = findConflict(options);
  if (!error.empty())
    return std::nullopt;
  return options;
}

std::string helpText() {
  std::string text = "weftc compiles an ONNX model into one file for NVIDIA GPUs.\n\n"
                     "usage: weftc MODEL [flags]   MODEL: .onnx, .onnxtext, .graph.mlir, .tile.mlir or .plan.mlir\n\n";
  for (const Flag &flag : flags) {
    std::string left = "  " + flag.name.str() + (flag.value.empty() ? "" : (flag.name.starts_with("--") ? "=" : " ") + flag.value.str());
    left.resize(std::max<size_t>(left.size() + 1, 26), ' ');
    text += left + flag.help.str() + "\n";
  }
  return text + "\nExit codes: 0 done, 1 the model is wrong, 2 wrong command line, 3 the machine cannot.\n";
}

} // namespace weft
