// The elementwise template: each thread computes a run of neighbouring elements of every result.
//
// Guarantees: wide variants compute 16 bytes of the widest type per thread, with a scalar loop at the ragged end; runs never
// cross a dimension that an operation treats apart. Results narrower than a byte are computed by whole bytes. Roots without a template of their own are computed by their rule, one
// element per thread.
#include "passes/tile/templates/Templates.h"
#include "dialects/graph/Loops.h"
#include "dialects/tile/Build.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {

namespace {
constexpr int64_t blockSize = 256;

/// Results of equal element counts are computed together, those narrower than a byte apart.
struct OutputGroup {
  AffineExpr count;
  unsigned perByte;
  SmallVector<unsigned> results;
};
} // namespace

static ValueRange yielded(KernelEmitter &e) { return cast<YieldOp>(e.source().getBody().front().getTerminator()).getXs(); }
static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static SmallVector<OutputGroup> groupOutputs(KernelEmitter &e) {
  SmallVector<OutputGroup> groups;
  for (auto [i, value] : llvm::enumerate(yielded(e))) {
    AffineExpr count = e.numElements(typeOf(value));
    unsigned perByte = KernelEmitter::elementsPerByte(typeOf(value).getElementType());
    auto it = llvm::find_if(groups, [&](OutputGroup &group) { return group.count == count && group.perByte == perByte; });
    if (it == groups.end())
      it = groups.insert(groups.end(), {count, perByte, {}});
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
    Dims dims = getDims(type);
    for (AffineExpr dim : ArrayRef(dims).take_back(run))
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

/// `width` elements from `first` on, by whole bytes: what lies behind the last element is 0.
static void computeBytes(KernelEmitter &e, const OutputGroup &group, Value first, unsigned width) {
  Value count = e.host(group.count), last = e.sub(count, e.constant(1));
  for (unsigned i : group.results)
    for (unsigned at = 0; at < width; at += group.perByte) {
      Value begin = e.add(first, e.constant(at));
      ifThen(e, e.lessSigned(begin, count), {}, [&] {
        SmallVector<Value> elements;
        for (unsigned k = 0; k < group.perByte; ++k) {
          Value linear = e.add(begin, e.constant(k)), within = arith::MinSIOp::create(e.b, e.loc(), linear, last);
          Value value = e.element(yielded(e)[i], indexOf(typeOf(yielded(e)[i]), within));
          Type bits = e.b.getIntegerType(value.getType().getIntOrFloatBitWidth());
          if (value.getType() != bits)
            value = arith::BitcastOp::create(e.b, e.loc(), bits, value);
          Value zero = arith::ConstantOp::create(e.b, e.loc(), e.b.getIntegerAttr(bits, 0));
          elements.push_back(e.select(e.lessSigned(linear, count), value, zero));
        }
        e.storeByte(e.output(i), begin, elements);
        return LoopValues();
      });
    }
}

/// `run`: the longest run that may be computed at once.
static void computeGroup(KernelEmitter &e, const OutputGroup &group, Value first, unsigned width, unsigned run) {
  if (group.perByte > 1)
    return computeBytes(e, group, first, width);
  Value count = e.host(group.count);
  auto when = [&](Value condition, llvm::function_ref<void()> body) {
    ifThen(e, condition, {}, [&] { return body(), LoopValues(); });
  };
  if (run < width) {
    Value end = arith::MinSIOp::create(e.b, e.loc(), e.add(first, e.constant(width)), count);
    auto loop = scf::ForOp::create(e.b, e.loc(), first, end, e.constant(1));
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(loop.getBody());
    computeRun(e, group, loop.getInductionVar(), 1);
    return;
  }
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
    auto groups = groupOutputs(e);
    int64_t run = chooseWidth(e, context.root), width = run;
    for (const OutputGroup &group : groups)
      width = std::max<int64_t>(width, group.perByte);
    if (e.variant.wide && (run == 1 || run < width)) {
      e.launch.skip = true;
      return success();
    }
    AffineExpr most = groups[0].count;
    for (const OutputGroup &group : ArrayRef(groups).drop_front())
      most = e.symbols.max(most, group.count);
    e.launch.block = {blockSize, 1, 1};
    e.launch.grid = {e.symbols.ceilDiv(most, e.symbols.constant(blockSize * width))};
    e.launch.vector = width;
    Value thread = tile::threadId(e.b, e.loc(), tile::Dim::x, e.indexType), block = tile::blockId(e.b, e.loc(), tile::Dim::x, e.indexType);
    Value first = e.mul(e.add(e.mul(block, e.constant(blockSize)), thread), e.constant(width));
    for (OutputGroup &group : groups)
      computeGroup(e, group, first, width, run);
    return success();
  });
}

} // namespace weft
