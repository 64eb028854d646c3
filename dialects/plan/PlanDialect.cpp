// Registration of the plan dialect. Its operations are made by passes/plan from verified graph operations.
#include "dialects/plan/Plan.h"

using namespace mlir;
using namespace weft::plan;

#include "dialects/plan/PlanDialect.cpp.inc"
#include "dialects/plan/PlanInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/PlanOps.cpp.inc"
      >();
}
