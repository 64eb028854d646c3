// weft-opt: any pass on any level of Weft's IR, from text to text.
#include "dialects/graph/Graph.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/Passes.h"
#if __has_include("dialects/tile/Tile.h")
#include "dialects/tile/Tile.h"
#endif
#if __has_include("passes/tile/Passes.h")
#include "passes/tile/Passes.h"
#endif
#if __has_include("passes/plan/Passes.h")
#include "dialects/plan/Plan.h"
#include "passes/plan/Passes.h"
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry.insert<weft::graph::GraphDialect>();
  mlir::registerTransformsPasses();
  weft::registerWeftGraphPasses();
#if __has_include("dialects/tile/Tile.h")
  registry.insert<weft::tile::TileDialect>();
#endif
#if __has_include("passes/tile/Passes.h")
  weft::registerWeftTilePasses();
#endif
#if __has_include("passes/plan/Passes.h")
  registry.insert<weft::plan::PlanDialect>();
  weft::registerWeftPlanPasses();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Weft's optimiser driver\n", registry));
}
