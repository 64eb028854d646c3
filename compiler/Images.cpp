// PTX and machine code of a module's kernels, and the file that holds all: see Images.h.
#include "compiler/Images.h"
#include "codegen/nvptx/Nvptx.h"
#include "compiler/Options.h"
#include "dialects/plan/Plan.h"
#include "dialects/tile/Tile.h"
#include "runtime/artifact/Writer.h"

using namespace mlir;

namespace weft {

void registerDialects(DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, plan::PlanDialect, tile::TileDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect,
                  scf::SCFDialect, cf::ControlFlowDialect, vector::VectorDialect, LLVM::LLVMDialect>();
}

/// "7.0" of ".version 7.0".
static std::string isaOf(StringRef ptx) {
  size_t at = ptx.find(".version ");
  return at == StringRef::npos ? "" : ptx.substr(at + 9).take_while([](char c) { return llvm::isDigit(c) || c == '.'; }).str();
}

/// The oldest driver that reads this PTX ISA (CUDA's release notes, table of PTX ISA versions), in the driver API's numbering.
static uint32_t driverFor(StringRef isa) {
  static constexpr std::pair<StringLiteral, uint32_t> releases[] = {
      {"7.0", 11000}, {"7.1", 11010}, {"7.2", 11020}, {"7.3", 11030}, {"7.4", 11040}, {"7.5", 11050}, {"7.6", 11060}, {"7.7", 11070}, {"7.8", 11080},
      {"8.0", 12000}, {"8.1", 12010}, {"8.2", 12020}, {"8.3", 12030}, {"8.4", 12040}, {"8.5", 12050}, {"8.6", 12070}, {"8.7", 12080}, {"8.8", 12090},
      {"9.0", 13000}, {"9.1", 13010}};
  for (auto [version, driver] : releases)
    if (isa == version)
      return driver;
  return 0;
}

ExitCode addPtx(ModuleOp module, ArrayRef<std::string> targets, const Options &options, std::vector<Image> &images) {
  auto texts = nvptx::translateToPtx(module, targets, {options.cudaPath});
  if (failed(texts))
    return ExitCode::machine;
  for (auto [text, target] : llvm::zip_equal(*texts, targets)) {
    Image image;
    image.target = target;
    image.bytes = std::move(text);
    image.isa = isaOf(image.bytes);
    image.driver = driverFor(image.isa);
    images.push_back(std::move(image));
  }
  return ExitCode::done;
}

ExitCode addCubins(ArrayRef<std::string> targets, const Options &options, std::vector<Image> &images, raw_ostream &errors) {
  nvptx::Tools tools{options.cudaPath};
  std::vector<std::string> texts;
  for (const std::string &target : targets)
    texts.push_back(llvm::find_if(images, [&](const Image &image) { return image.target == target && !image.isCubin; })->bytes);
  std::string version = nvptx::assemblerVersion(tools);
  for (auto [cubin, target] : llvm::zip_equal(nvptx::assemble(texts, targets, tools), targets)) {
    if (!cubin.error.empty()) {
      errors << "weftc: error: " << cubin.error << "\n";
      return ExitCode::machine;
    }
    Image image;
    image.target = target;
    image.isCubin = true;
    image.bytes.assign(cubin.bytes.begin(), cubin.bytes.end());
    image.assembler = version;
    images.push_back(std::move(image));
  }
  return ExitCode::done;
}

static std::span<const uint8_t> asBytes(StringRef text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

ExitCode writeArtifact(ModuleOp module, const Options &options, StringRef path, std::vector<Image> &images, ArrayRef<Remark> remarks,
                       raw_ostream &errors) {
  ArtifactWriter writer;
  for (Image &image : images)
    image.offset = writer.addImage(asBytes(image.bytes));
  FailureOr<SerializedPlan> plan = serializePlan(module, options.targets, images, remarks);
  if (failed(plan))
    return ExitCode::modelWrong;
  for (const Constants::Entry &entry : plan->constants.getEntries())
    if (writer.addConstant(asBytes(entry.bytes)) != entry.offset) {
      errors << "weftc: error: the constants' layout of plan and file differ\n";
      return ExitCode::machine;
    }
  writer.setPlan({plan->plan.begin(), plan->plan.end()});
  if (Status status = writer.write(path.str()); !status.ok()) {
    errors << "weftc: error: " << status.message << "\n";
    return ExitCode::machine;
  }
  return ExitCode::done;
}

} // namespace weft
