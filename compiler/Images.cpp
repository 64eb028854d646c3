// PTX and machine code of a module's kernels, and the file that holds all: see Images.h.
#include "compiler/Images.h"
#include "compiler/Options.h"
#include "dialects/plan/Plan.h"
#include "runtime/artifact/Writer.h"
#if __has_include("dialects/tile/Tile.h")
#include "dialects/tile/Tile.h"
#endif

using namespace mlir;

namespace weft {

void registerDialects(DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, plan::PlanDialect, func::FuncDialect>();
#if __has_include("dialects/tile/Tile.h")
  registry.insert<tile::TileDialect>();
#endif
}

ExitCode addPtx(ModuleOp module, StringRef target, const Options &options, std::vector<Image> &images, raw_ostream &errors) {
  Image image;
  image.target = target.str();
  images.push_back(std::move(image));
  return ExitCode::done;
}

ExitCode addCubin(Image ptx, StringRef target, const Options &options, std::vector<Image> &images, raw_ostream &errors) {
  ptx.isCubin = true;
  images.push_back(std::move(ptx));
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
