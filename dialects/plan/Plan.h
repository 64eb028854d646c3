// The plan dialect: everything that users of it include.
#ifndef WEFT_DIALECTS_PLAN_PLAN_H
#define WEFT_DIALECTS_PLAN_PLAN_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/plan/PlanDialect.h.inc"
#include "dialects/plan/PlanInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.h.inc"
#endif
