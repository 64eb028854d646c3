// The graph dialect: everything that users of it include.
#ifndef WEFT_DIALECTS_GRAPH_GRAPH_H
#define WEFT_DIALECTS_GRAPH_GRAPH_H

#include "dialects/graph/Dims.h"
#include "dialects/graph/ElementEmitter.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/graph/GraphDialect.h.inc"
#include "dialects/graph/GraphEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.h.inc"
#include "dialects/graph/GraphInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.h.inc"

#endif
