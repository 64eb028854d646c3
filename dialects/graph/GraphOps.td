// The graph dialect's operations, one included file per family.
#ifndef WEFT_GRAPH_OPS_TD
#define WEFT_GRAPH_OPS_TD
include "dialects/graph/GraphBase.td"
include "dialects/graph/Elementwise.td"
include "dialects/graph/Movement.td"
include "dialects/graph/Reduction.td"
include "dialects/graph/Contraction.td"
include "dialects/graph/Recurrent.td"
include "dialects/graph/Control.td"
#endif
