// Registration, attributes and the printing of `#graph.dims`.
#include "dialects/graph/Graph.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::graph;

#include "dialects/graph/GraphDialect.cpp.inc"
#include "dialects/graph/GraphEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.cpp.inc"
#include "dialects/graph/GraphInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.cpp.inc"

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/GraphOps.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  if (auto elements = dyn_cast<ElementsAttr>(value))
    return ConstantOp::create(builder, loc, type, elements);
  return nullptr;
}

static constexpr unsigned maxSymbols = 1u << 20;

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  // Symbols are written s0, s1, ...; their number is not known beforehand, so names are made as far as needed.
  SmallVector<AffineExpr> exprs;
  SmallVector<std::string> names;
  SmallVector<std::pair<StringRef, AffineExpr>> symbols;
  unsigned known = 4096;
  names.reserve(known);
  for (unsigned i = 0; i < known; ++i)
    names.push_back("s" + std::to_string(i));
  for (unsigned i = 0; i < known; ++i)
    symbols.emplace_back(names[i], getAffineSymbolExpr(i, parser.getContext()));
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        AffineExpr expr;
        if (parser.parseAffineExpr(symbols, expr))
          return failure();
        exprs.push_back(expr);
        return success();
      }) || parser.parseGreater())
    return {};
  return DimsAttr::get(parser.getContext(), exprs);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getExprs(), printer, [&](AffineExpr expr) { printer.getStream() << expr; });
  printer << "]>";
}
