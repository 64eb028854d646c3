// The way of the data: see Compiler.h. One function per stage; Pipeline.cpp has the passes within.
#include "compiler/Compiler.h"
#include "codegen/artifact/SerializePlan.h"
#include "compiler/Diagnostics.h"
#include "compiler/Files.h"
#include "compiler/Images.h"
#include "compiler/Options.h"
#include "compiler/Pipeline.h"
#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "frontends/onnx/Import.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace weft {
namespace {

/// A file name's stage; nothing where its ending says none.
std::optional<Stage> stageOf(StringRef path) {
  if (path.ends_with(".graph.mlir"))
    return Stage::graph;
  if (path.ends_with(".tile.mlir"))
    return Stage::tile;
  if (path.ends_with(".plan.mlir"))
    return Stage::plan;
  if (path.ends_with(".mlir"))
    return std::nullopt;
  return Stage::onnx;
}

/// The file's name without folder and stage.
std::string stemOf(StringRef path) {
  StringRef name = llvm::sys::path::filename(path);
  for (StringRef ending : {".graph.mlir", ".tile.mlir", ".plan.mlir", ".onnxtext", ".onnx"})
    if (name.consume_back(ending))
      break;
  return name.str();
}

/// One compilation.
class Compilation {
public:
  Compilation(const Options &options, raw_ostream &out, raw_ostream &errors, function_ref<void(StringRef)> progress)
      : options(options), out(out), errors(errors), progress(progress), context(MLIRContext::Threading::DISABLED),
        diagnostics(context, options.input, errors), stem(stemOf(options.input)) {}
  ExitCode run();

private:
  ExitCode read();
  ExitCode runPasses(Stage stage, void (*build)(OpPassManager &, const Options &));
  ExitCode makeImages();
  ExitCode writeArtifact();
  ExitCode reached(Stage stage, StringRef text, StringRef fileName, bool &stop);
  ExitCode moduleReached(Stage stage, bool &stop);
  ExitCode writeRemarks();
  ExitCode fail(ExitCode code, const Twine &message) {
    errors << "weftc: error: " << message << "\n";
    return code;
  }
  void say(const Twine &step) {
    if (progress)
      progress(step.str());
  }

  const Options &options;
  raw_ostream &out, &errors;
  function_ref<void(StringRef)> progress;
  MLIRContext context;
  Diagnostics diagnostics;
  std::string stem;
  OwningOpRef<ModuleOp> module;
  std::vector<Image> images;
};

/// Reads the model, in whichever stage it is.
ExitCode Compilation::read() {
  std::optional<Stage> stage = stageOf(options.input);
  if (!stage)
    return fail(ExitCode::modelWrong, options.input + ": the file's name does not end with .graph.mlir, .tile.mlir or .plan.mlir");
  if (!llvm::sys::fs::exists(options.input))
    return fail(ExitCode::modelWrong, options.input + ": there is no such file");
  if (!options.output.empty() && llvm::sys::fs::equivalent(options.input, options.output))
    return fail(ExitCode::commandLine, "-o " + options.output + " would replace the model itself");
  if (*stage == Stage::onnx) {
    module = onnx::importModel(options.input, context);
  } else {
    module = parseSourceFile<ModuleOp>(options.input, ParserConfig(&context));
  }
  if (!module)
    return ExitCode::modelWrong;
  if (!module->getName())
    module->setName(stem);
  return ExitCode::done;
}

ExitCode Compilation::runPasses(Stage stage, void (*build)(OpPassManager &, const Options &)) {
  PassManager pm(&context);
  build(pm, options);
  return succeeded(pm.run(*module)) ? ExitCode::done : ExitCode::modelWrong;
}

/// Dumps and prints a stage as asked. `stop` is set where the compilation ends with it.
ExitCode Compilation::reached(Stage stage, StringRef text, StringRef fileName, bool &stop) {
  if (!options.dump.empty()) {
    if (std::error_code code = llvm::sys::fs::create_directories(options.dump))
      return fail(ExitCode::machine, "cannot make the folder '" + options.dump + "': " + code.message());
    SmallString<128> path(options.dump);
    llvm::sys::path::append(path, fileName);
    if (std::string wrong = writeFile(path, [&](raw_ostream &os) { os << text; }); !wrong.empty())
      return fail(ExitCode::machine, wrong);
  }
  stop = options.stopAfter == stage;
  if (!stop)
    return ExitCode::done;
  if (options.output.empty()) {
    out << text;
    return ExitCode::done;
  }
  std::string wrong = writeFile(options.output, [&](raw_ostream &os) { os << text; });
  return wrong.empty() ? ExitCode::done : fail(ExitCode::machine, wrong);
}

ExitCode Compilation::moduleReached(Stage stage, bool &stop) {
  if (options.dump.empty() && options.stopAfter != stage)
    return ExitCode::done;
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().enableDebugInfo());
  os << "\n";
  return reached(stage, text, stem + "." + stageName(stage).str() + ".mlir", stop);
}

ExitCode Compilation::makeImages() {
  // sm_80's PTX runs on every later GPU; without it PTX for compute_80 is the fallback.
  std::vector<std::string> targets = options.targets;
  if (options.stopAfter == Stage::artifact && !llvm::is_contained(targets, "sm_80"))
    targets.push_back("compute_80");
  say("PTX for " + llvm::join(targets, ", "));
  if (ExitCode code = addPtx(*module, targets, options, images); code != ExitCode::done)
    return code;
  bool stop = false;
  for (size_t i = 0; i < images.size(); ++i)
    if (ExitCode code = reached(Stage::ptx, images[i].bytes, stem + "." + images[i].target + ".ptx", stop); stop || code != ExitCode::done)
      return code;
  if (!options.cubins && options.stopAfter != Stage::cubin)
    return ExitCode::done;
  say("machine code for " + llvm::join(options.targets, ", "));
  if (ExitCode code = addCubins(options.targets, options, images, errors); code != ExitCode::done)
    return code;
  for (const Image &image : images)
    if (image.isCubin)
      if (ExitCode code = reached(Stage::cubin, image.bytes, stem + "." + image.target + ".cubin", stop); stop || code != ExitCode::done)
        return code;
  return ExitCode::done;
}

ExitCode Compilation::writeArtifact() {
  std::string path = options.output.empty() ? stem + ".weft" : options.output;
  say("writing " + path);
  return weft::writeArtifact(*module, options, path, images, diagnostics.getRemarks(), errors);
}

ExitCode Compilation::writeRemarks() {
  if (options.remarks.empty())
    return ExitCode::done;
  std::string wrong = writeFile(options.remarks, [&](raw_ostream &os) {
    for (const Remark &remark : diagnostics.getRemarks())
      os << remark.kind << ": " << (remark.node.empty() ? "" : remark.node + ": ") << remark.message << "\n";
  });
  return wrong.empty() ? ExitCode::done : fail(ExitCode::machine, wrong);
}

ExitCode Compilation::run() {
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  say("reading " + options.input);
  if (ExitCode code = read(); code != ExitCode::done)
    return code;
  Stage start = std::max(stageOf(options.input).value_or(Stage::onnx), Stage::graph);
  bool stop = false;
  for (Stage stage : {Stage::graph, Stage::tile, Stage::plan}) {
    bool codeOnly = options.stopAfter == Stage::ptx || options.stopAfter == Stage::cubin;
    if (stage < start || (stage == Stage::plan && codeOnly)) // kernels alone, without a model, may be compiled too
      continue;
    if (stage != start) {
      say(stage == Stage::tile ? "making kernels" : "planning");
      ExitCode code = runPasses(stage, stage == Stage::tile ? buildKernelPipeline : buildPlanPipeline);
      if (code != ExitCode::done)
        return code;
    }
    if (ExitCode code = moduleReached(stage, stop); stop || code != ExitCode::done)
      return code;
  }
  if (ExitCode code = makeImages(); code != ExitCode::done || options.stopAfter == Stage::ptx || options.stopAfter == Stage::cubin)
    return code;
  if (ExitCode code = writeRemarks(); code != ExitCode::done)
    return code;
  return writeArtifact();
}
} // namespace

ExitCode compile(const Options &options, raw_ostream &out, raw_ostream &errors, function_ref<void(StringRef)> progress) {
  return Compilation(options, out, errors, progress).run();
}

} // namespace weft
