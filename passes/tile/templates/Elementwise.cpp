// The elementwise template: each thread computes a run of neighbouring elements of every result.
//
// Guarantees: wide variants compute 16 bytes of the widest type per thread, with a scalar loop at the ragged end; runs never
// cross a dimension that an operation treats apart. Roots without a template of their own are computed by their rule, one
// element per thread.
#include "passes/tile/templates/Templates.h"
#include "dialects/graph/Loops.h"
#include "dialects/tile/Build.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {

namespace {
constexpr int64_t blockSize = 256;

/// Results of equal element counts are computed together.
struct OutputGroup {
  AffineExpr count;
  SmallVector<unsigned> results;
};
} // namespace

static ValueRange yielded(KernelEmitter &e) { return cast<YieldOp>(e.source().getBody().front().getTerminator()).getXs(); }
static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static SmallVector<OutputGroup> groupOutputs(KernelEmitter &e) {
  SmallVector<OutputGroup> groups;
  for (auto [i, value] : llvm::enumerate(yielded(e))) {
    AffineExpr count = e.numElements(typeOf(value));
    auto it = llvm::find_if(groups, [&](OutputGroup &group) { return group.count == count; });
    if (it == groups.end())
      it = groups.insert(groups.end(), {count, {}});
    it->results.push_back(i);
  }
  return groups;
}

/// Elements per thread that make 16 bytes of the widest type that the kernel reads or writes.
static int64_t fullWidth(KernelOp kernel) {
  int64_t bytes = 1;
  for (Type type : llvm::concat<const Type>(kernel->getOperandTypes(), kernel->getResultTypes()))
    bytes = std::max(bytes, tile::memoryBytes(cast<RankedTensorType>(type).getElementType()));
  return std::max<int64_t>(16 / bytes, 1);
}

/// The run length that every result allows; adds guards where it depends on dimensions.
static int64_t chooseWidth(KernelEmitter &e, Operation *root) {
  if (!e.variant.wide || root)
    return 1;
  int64_t width = fullWidth(e.source());
  for (Value value : yielded(e)) {
    auto type = typeOf(value);
    unsigned run = e.runDims(value);
    if (type.getRank() == 0)
      return 1;
    if (int64_t(run) == type.getRank())
      continue;
    AffineExpr extent = e.symbols.constant(1);
    for (AffineExpr dim : ArrayRef(getDims(type)).take_back(run))
      extent = e.symbols.mul(extent, dim);
    while (width > 1 && !e.requireMultiple(extent, width))
      width /= 2;
  }
  return width;
}

/// The index of element `linear` of a result.
static ElementIndex indexOf(RankedTensorType type, Value linear) {
  ElementIndex index = ElementEmitter::atLinear(linear);
  if (type.getRank() <= 1) {
    index.hasMulti = true;
    if (type.getRank() == 1)
      index.multi.push_back(linear);
  }
  return index;
}

static void computeRun(KernelEmitter &e, const OutputGroup &group, Value linear, unsigned width) {
  SmallVector<Elements> results;
  for (unsigned i : group.results)
    results.push_back(e.elements(yielded(e)[i], indexOf(typeOf(yielded(e)[i]), linear), width));
  for (auto [i, elements] : llvm::zip_equal(group.results, results))
    e.storeTo(e.output(i), linear, elements);
}

static void computeGroup(KernelEmitter &e, const OutputGroup &group, Value first, unsigned width) {
  Value count = e.host(group.count);
  auto when = [&](Value condition, llvm::function_ref<void()> body) {
    ifThen(e, condition, {}, [&] { return body(), LoopValues(); });
  };
  if (e.knownMultiple(group.count) >= int64_t(width)) {
    when(e.lessSigned(first, count), [&] { computeRun(e, group, first, width); });
    return;
  }
  Value next = e.add(first, e.constant(width));
  Value whole = arith::CmpIOp::create(e.b, e.loc(), arith::CmpIPredicate::sle, next, count);
  auto ifOp = scf::IfOp::create(e.b, e.loc(), whole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(ifOp.thenBlock());
  computeRun(e, group, first, width);
  e.b.setInsertionPointToStart(ifOp.elseBlock());
  auto loop = scf::ForOp::create(e.b, e.loc(), first, count, e.constant(1));
  e.b.setInsertionPointToStart(loop.getBody());
  computeRun(e, group, loop.getInductionVar(), 1);
}

LogicalResult emitElementwise(KernelContext &context) {
  return context.emit([&](KernelEmitter &e) {
    int64_t width = chooseWidth(e, context.root);
    if (e.variant.wide && width == 1) {
      e.launch.skip = true;
      return success();
    }
    auto groups = groupOutputs(e);
    AffineExpr most = groups[0].count;
    for (const OutputGroup &group : ArrayRef(groups).drop_front())
      most = e.symbols.max(most, group.count);
    e.launch.block = {blockSize, 1, 1};
    e.launch.grid = {e.symbols.ceilDiv(most, e.symbols.constant(blockSize * width))};
    e.launch.vector = width;
    Value thread = tile::threadId(e.b, e.loc(), tile::Dim::x, e.indexType), block = tile::blockId(e.b, e.loc(), tile::Dim::x, e.indexType);
    Value first = e.mul(e.add(e.mul(block, e.constant(blockSize)), thread), e.constant(width));
    for (OutputGroup &group : groups)
      computeGroup(e, group, first, width);
    return success();
  });
}

} // namespace weft
