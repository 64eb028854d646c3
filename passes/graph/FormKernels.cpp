// Groups operations into kernels (pass form-kernels).
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/graph/Passes.h.inc"

namespace {
struct FormKernels : impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;
  void runOnOperation() override {}
};
} // namespace
} // namespace weft
