// The order of all passes, each with its reason.
#include "compiler/Pipeline.h"
#include "compiler/Options.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/tile/Passes.h"

using namespace mlir;

namespace weft {

void buildKernelPipeline(OpPassManager &pm, const Options &options) {
  // Frontends write what operators mean, one by one: merge the seams, then compute every value once.
  pm.addPass(createSimplify());
  // What depends on constants only is known now, transposed weights too; that opens more to merge.
  pm.addPass(createFoldConstants());
  // Batch normalisation behind a convolution costs one addition then.
  pm.addPass(createFoldAffine());
  pm.addPass(createSimplify());
  pm.addPass(createCSEPass());
  // One kernel instead of three wherever a normalisation is written out in parts.
  pm.addPass(createMatchNormalize());
  // Every operation that can be kept in a kernel saves a launch and a trip through memory.
  pm.addPass(createFormKernels());
  // Templates and element rules write the code of each kernel and its launches.
  pm.addPass(createEmitKernels());
}

void buildPlanPipeline(OpPassManager &pm, const Options &options) {
  // Values become buffers, control flow becomes blocks.
  pm.addPass(createLowerToPlan());
  // The packer places buffers by their lifetimes.
  pm.addPass(createAssignLifetimes());
}

} // namespace weft
