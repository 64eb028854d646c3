// weft-opt: any pass on any level of Weft's IR, from text to text.
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"
#include "dialects/tile/Tile.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/tile/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry.insert<weft::graph::GraphDialect, weft::plan::PlanDialect, weft::tile::TileDialect>();
  mlir::registerTransformsPasses();
  weft::registerWeftGraphPasses();
  weft::registerWeftPlanPasses();
  weft::registerWeftTilePasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Weft's optimiser driver\n", registry));
}
