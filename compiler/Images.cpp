// PTX and machine code of a module's kernels, and the file that holds all: see Images.h.
#include "compiler/Images.h"
#include "compiler/Options.h"
#include "dialects/plan/Plan.h"
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

void writeArtifactTo(const SerializedPlan &plan, ArrayRef<Image> images, raw_ostream &out) { out << plan.plan; }

} // namespace weft
