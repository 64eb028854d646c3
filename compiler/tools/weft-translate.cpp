// weft-translate: the kernels of a .tile.mlir file as PTX, for tests and for the curious.
//
// usage: weft-translate FILE [--target=sm_80] [--check]     (--check: also assembles it, and reports registers and spills)
#include "codegen/nvptx/Nvptx.h"
#include "dialects/graph/Graph.h"
#include "dialects/tile/Tile.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

static int check(const std::string &ptx, const std::string &target, const weft::nvptx::Tools &tools) {
  weft::nvptx::Cubin cubin = weft::nvptx::assemble(ptx, target, tools)[0];
  if (!cubin.error.empty()) {
    llvm::errs() << cubin.error << "\n";
    return 1;
  }
  for (const weft::nvptx::KernelUse &use : cubin.use)
    llvm::outs() << "// " << use.kernel << ": " << use.registers << " registers, " << use.spillStores + use.spillLoads << " bytes spilled, "
                 << use.sharedBytes << " bytes shared\n";
  return 0;
}

int main(int argc, char **argv) {
  std::string input = "-", target = "sm_80";
  bool assembles = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--check")
      assembles = true;
    else if (argument.consume_front("--target="))
      target = argument.str();
    else
      input = argument.str();
  }
  if (!weft::nvptx::isTarget(target)) {
    llvm::errs() << "weft-translate: error: there is no target '" << target << "'\n";
    return 2;
  }
  DialectRegistry registry;
  registry.insert<weft::graph::GraphDialect, weft::tile::TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                  vector::VectorDialect, LLVM::LLVMDialect, func::FuncDialect, cf::ControlFlowDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = parseSourceFile<ModuleOp>(input, sources, &context);
  if (!module)
    return 1;
  weft::nvptx::Tools tools;
  auto ptx = weft::nvptx::translateToPtx(*module, target, tools);
  if (failed(ptx))
    return 1;
  llvm::outs() << (*ptx)[0];
  return assembles ? check((*ptx)[0], target, tools) : 0;
}
