// The template of graph.contract: [B..., M, K] x [B..., K, N] by the matrix product engine.
//
// Guarantees: what Gemm.h guarantees, for every batch; operands that are transposed in memory are read along memory.
#include "passes/tile/templates/Gemm.h"
#include "passes/tile/templates/RootResults.h"
#include "passes/tile/templates/Roots.h"
#include "passes/tile/templates/View.h"

using namespace mlir;
using namespace weft::graph;
namespace weft::tile {
namespace {

/// One operand of a contraction; `rowDim` and `kDim` are the last two dimensions, in the operand's order.
class ContractSource : public GemmSource {
public:
  ContractSource(View view, SmallVectorImpl<Value> &batch, bool isLhs, unsigned width) : view(std::move(view)), batch(batch) {
    unsigned rank = this->view.rank();
    rowDim = isLhs ? rank - 2 : rank - 1;
    kDim = isLhs ? rank - 1 : rank - 2;
    alongK = this->view.fastest() == int(kDim);
    run = alongK || this->view.fastest() == int(rowDim) ? this->view.runLength(width) : 1;
    if (run < width) // the panels store whole register-tile vectors or scalars
      run = 1;
  }
  /// For emitGemv: rows one at a time.
  void readSingleRows() { run = alongK ? run : 1; }
  Values prepare(Kit &, Value row) override { return {row}; }
  Values load(Kit &kit, ValueRange prepared, Value k) override {
    SmallVector<Value, 4> at(batch.begin(), batch.end());
    at.resize(view.rank());
    at[rowDim] = prepared[0];
    at[kDim] = k;
    return view.read(kit, at, run);
  }

private:
  View view;
  SmallVectorImpl<Value> &batch;
  unsigned rowDim, kDim;
};

AffineExpr batchCount(Symbols &symbols, ArrayRef<AffineExpr> dims) {
  AffineExpr batches = symbols.constant(1);
  for (AffineExpr dim : dims.drop_back(2))
    batches = symbols.mul(batches, dim);
  return batches;
}

/// One row on the left (`isRow`) or one column on the right.
void emitVectorProduct(KernelEmitter &e, ContractOp op, bool isRow, unsigned threads) {
  Kit kit(e);
  RootResults results(kit, op);
  Dims y = getDims(op.getY());
  AffineExpr extent = isRow ? y.back() : y[y.size() - 2];
  GemmProblem problem;
  problem.element = op.getLhs().getType().getElementType();
  problem.accumulator = gemmAccumulator(problem.element);
  problem.k = e.host(getDims(op.getLhs()).back());
  unsigned width = gemmWidth(problem.accumulator);
  SmallVector<Value, 4> batch;
  ContractSource lhs(View(op.getLhs()), batch, /*isLhs=*/true, width), rhs(View(op.getRhs()), batch, /*isLhs=*/false, width);
  lhs.readSingleRows();
  rhs.readSingleRows();
  ContractSource &matrix = isRow ? rhs : lhs, &vector = isRow ? lhs : rhs;

  unsigned perCta = gemvRowsPerCta(matrix, threads);
  e.launch.block = {threads, 1, 1};
  e.launch.grid = {e.symbols.mul(e.symbols.ceilDiv(extent, e.symbols.constant(perCta)), batchCount(e.symbols, y))};
  Value rows = e.host(extent), tiles = kit.ceilDiv(rows, perCta);
  batch = kit.e.multi(ElementEmitter::atLinear(kit.div(kit.block(), tiles)), ArrayRef(y).drop_back(2));
  Type type = op.getY().getType().getElementType();
  emitGemv(kit, problem, matrix, vector, 1, rows, kit.rem(kit.block(), tiles), threads, [&](Value row, unsigned, Value sum) {
    SmallVector<Value, 4> index(batch);
    index.append({isRow ? kit.index(0) : row, isRow ? row : kit.index(0)});
    results.store(0, ElementEmitter::at(index), scalar::cast(kit.b, kit.loc(), sum, problem.accumulator, type));
  });
}

GemmTile tileOf(ContractOp op) {
  Dims y = getDims(op.getY());
  auto known = [](AffineExpr expr) { return getConstant(expr).value_or(-1); };
  int64_t batches = 1, rank = y.size();
  for (AffineExpr dim : ArrayRef(y).drop_back(2))
    batches = batches < 0 || known(dim) < 0 ? -1 : batches * known(dim);
  return chooseGemmTile(known(y[rank - 2]), known(y[rank - 1]), known(getDims(op.getLhs()).back()), batches,
                        gemmAccumulator(op.getLhs().getType().getElementType()));
}

/// One CTA per tile of the result.
void emitTiles(KernelEmitter &e, ContractOp op) {
  Kit kit(e);
  RootResults results(kit, op);
  Symbols &symbols = e.symbols;
  Dims lhs = getDims(op.getLhs()), y = getDims(op.getY());
  unsigned rank = y.size();
  AffineExpr m = y[rank - 2], n = y[rank - 1], k = lhs[rank - 1], batches = batchCount(symbols, y);

  GemmProblem problem;
  problem.element = op.getLhs().getType().getElementType();
  problem.accumulator = gemmAccumulator(problem.element);
  unsigned width = gemmWidth(problem.accumulator);
  GemmTile tile = tileOf(op);
  problem.m = e.host(m);
  problem.n = e.host(n);
  problem.k = e.host(k);
  problem.kDivides = k.isMultipleOf(tile.k);
  problem.columnRun = n.isMultipleOf(width) ? width : 1;
  launchGemm(e, tile, m, n, batches);

  GemmPosition at = gemmPosition(kit, tile, problem);
  SmallVector<Value, 4> batch = kit.e.multi(ElementEmitter::atLinear(at.batch), ArrayRef(y).drop_back(2));
  ContractSource a(View(op.getLhs()), batch, /*isLhs=*/true, width), b(View(op.getRhs()), batch, /*isLhs=*/false, width);
  problem.a = &a;
  problem.b = &b;
  Type type = op.getY().getType().getElementType();
  emitGemm(kit, tile, problem, at.tileM, at.tileN, [&](Value row, Value column, ValueRange sums) {
    SmallVector<Value, 4> index(batch);
    index.append({row, column});
    Values values;
    for (Value sum : sums)
      values.push_back(scalar::cast(kit.b, kit.loc(), sum, problem.accumulator, type));
    results.store(0, ElementEmitter::at(index), values);
  });
}

LogicalResult emitVariant(KernelEmitter &e, ContractOp op) {
  Dims y = getDims(op.getY());
  AffineExpr m = y[y.size() - 2], n = y.back();
  if (isConstant(m, 1) || isConstant(n, 1)) {
    emitVectorProduct(e, op, isConstant(m, 1), 256);
    return success();
  }
  if (getConstant(m)) {
    emitTiles(e, op);
    return success();
  }
  // An unknown number of rows is often one (a decoder's step): both forms, in CTAs of one size.
  Kit kit(e);
  Dims grids;
  auto form = [&](bool isRow) {
    isRow ? emitVectorProduct(e, op, /*isRow=*/true, tileOf(op).threads()) : emitTiles(e, op);
    grids.push_back(e.launch.grid[0]);
    return Values();
  };
  kit.ifElse(kit.eq(e.host(m), kit.index(1)), TypeRange(), [&] { return form(true); }, [&] { return form(false); });
  Symbols &symbols = e.symbols;
  AffineExpr isOne = symbols.function(SymbolFn::eq, {m, symbols.constant(1)});
  e.launch.grid = {symbols.select(isOne, grids[0], grids[1])};
  return success();
}

} // namespace

LogicalResult emitContract(KernelContext &context) {
  return context.emit([&](KernelEmitter &e) { return emitVariant(e, cast<ContractOp>(context.root)); });
}

} // namespace weft::tile
