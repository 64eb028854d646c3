// Hands finished elements to the epilogue: see RootResults.h.
#include "passes/tile/templates/RootResults.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {

/// The first of the root's results that `value` is computed from; 0 where it is from none.
static std::optional<unsigned> findSource(Value value, Operation *root, DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return std::nullopt;
  if (value.getDefiningOp() == root)
    return cast<OpResult>(value).getResultNumber();
  if (Operation *op = value.getDefiningOp())
    for (Value operand : op->getOperands())
      if (auto source = findSource(operand, root, seen))
        return source;
  return std::nullopt;
}

RootResults::RootResults(Kit &kit, Operation *root) : kit(kit), root(root) {
  for (Value value : kit.e.source().getBody().front().getTerminator()->getOperands()) {
    DenseSet<Value> seen;
    outputs.push_back(value);
    sources.push_back(findSource(value, root, seen).value_or(0));
  }
}

bool RootResults::isUsed(unsigned result) const { return llvm::is_contained(sources, result); }

/// How far `index` is behind `base` along the innermost dimension, as far as the code that computes it tells.
static std::optional<int64_t> distance(Value index, Value base) {
  if (!index || !base)
    return std::nullopt;
  if (index == base)
    return 0;
  IntegerAttr a, b;
  if (matchPattern(index, m_Constant(&a)) && matchPattern(base, m_Constant(&b)))
    return a.getInt() - b.getInt();
  if (auto add = index.getDefiningOp<arith::AddIOp>())
    if (add.getLhs() == base && matchPattern(add.getRhs(), m_Constant(&a)))
      return a.getInt();
  // base = x + c, index = x + c + d, folded.
  auto left = index.getDefiningOp<arith::AddIOp>(), right = base.getDefiningOp<arith::AddIOp>();
  if (left && right && left.getLhs() == right.getLhs() && matchPattern(left.getRhs(), m_Constant(&a)) &&
      matchPattern(right.getRhs(), m_Constant(&b)))
    return a.getInt() - b.getInt();
  return std::nullopt;
}

/// The `count` of `values` that stand at `at`; they begin at `base`.
static Elements pick(Kit &kit, ArrayRef<Value> values, const ElementIndex &base, const ElementIndex &at, unsigned count) {
  if (values.size() == count)
    return Elements(values.begin(), values.end());
  auto inner = [](const ElementIndex &index) { return index.hasMulti && !index.multi.empty() ? index.multi.back() : Value(); };
  std::optional<int64_t> first = distance(inner(at), inner(base));
  if (!first)
    first = distance(at.linear, base.linear);
  if (first && *first >= 0 && *first + count <= values.size())
    return Elements(values.begin() + *first, values.begin() + *first + count);
  Elements result;
  Value offset = inner(at) && inner(base) ? kit.sub(inner(at), inner(base)) : kit.sub(at.linear, base.linear);
  for (unsigned k = 0; k < count; ++k) {
    Value chosen = values[0];
    for (unsigned i = 1; i < values.size(); ++i)
      chosen = kit.select(kit.eq(kit.add(offset, int64_t(k)), kit.index(i)), values[i], chosen);
    result.push_back(chosen);
  }
  return result;
}

/// True where a run of `value` may cross the innermost dimension, as the run of the root's own elements does.
static bool runsAcross(Kit &kit, Value value, Value rootValue) {
  std::function<unsigned(Value)> runDims = [&](Value from) -> unsigned {
    if (from == rootValue)
      return cast<RankedTensorType>(from.getType()).getRank();
    auto op = from.getDefiningOp<ElementOp>();
    return op && !isa<ConstantOp>(op) && !kit.e.isBound(from) ? op.runDims(runDims) : kit.e.runDims(from);
  };
  return int64_t(runDims(value)) >= cast<RankedTensorType>(value.getType()).getRank();
}

void RootResults::storeOutput(unsigned output, Value rootValue, const ElementIndex &index, ValueRange values) {
  auto rootType = cast<RankedTensorType>(rootValue.getType()), type = cast<RankedTensorType>(outputs[output].getType());
  if (outputs[output] == rootValue)
    return kit.e.store(output, index, Elements(values));
  bool mayCross = false; // a row of several dimensions is walked in runs of its own length
  if (auto normalize = dyn_cast<NormalizeOp>(root))
    mayCross = index.linear && normalize.getAxes().size() > 1 && values.size() > 1 && !getDims(type).back().isMultipleOf(values.size());
  if (sameDims(rootType, type) && (!mayCross || runsAcross(kit, outputs[output], rootValue)))
    return kit.e.store(output, index, kit.e.elements(outputs[output], index, values.size()));
  // Behind reshapes, and where a run would end in another row of a dimension: the same place in row-major order.
  ElementIndex linear = ElementEmitter::atLinear(index.linear);
  Elements elements;
  for (unsigned i = 0; i < values.size(); ++i)
    elements.push_back(kit.e.element(outputs[output], kit.e.advance(linear, i)));
  kit.e.store(output, linear, elements);
}

void RootResults::store(unsigned result, const ElementIndex &index, ValueRange values) {
  Value rootValue = root->getResult(result);
  auto type = cast<RankedTensorType>(rootValue.getType());
  Elements held(values);
  ElementIndex base = index;
  // Behind a reshape elements are asked for by their linear place: computed once, so that `pick` recognises it.
  bool isReshaped = false;
  for (auto [output, source] : llvm::zip(outputs, sources))
    isReshaped |= source == result && !sameDims(type, cast<RankedTensorType>(output.getType()));
  if (isReshaped)
    base.linear = kit.e.linear(index, getDims(type));
  kit.e.bind(rootValue, [this, type, held, base](const ElementIndex &at, unsigned count) mutable {
    if (!base.linear && !(at.hasMulti && base.hasMulti))
      base.linear = kit.e.linear(base, getDims(type));
    return pick(kit, held, base, at, count);
  });
  for (auto [output, source] : llvm::enumerate(sources))
    if (source == result)
      storeOutput(output, rootValue, base, values);
}

} // namespace weft::tile
