// Builders of tile operations: see Build.h.
#include "dialects/tile/Build.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
namespace weft::tile {

static Value widen(OpBuilder &b, Location loc, Value value, Type type) {
  return value.getType() == type ? value : Value(arith::ExtUIOp::create(b, loc, type, value));
}

Value threadId(OpBuilder &b, Location loc, Dim dim, Type type) { return widen(b, loc, ThreadIdOp::create(b, loc, b.getI32Type(), dim), type); }
Value blockId(OpBuilder &b, Location loc, Dim dim, Type type) { return widen(b, loc, BlockIdOp::create(b, loc, b.getI32Type(), dim), type); }
Value gridDim(OpBuilder &b, Location loc, Dim dim, Type type) { return widen(b, loc, GridDimOp::create(b, loc, b.getI32Type(), dim), type); }

static IntegerAttr alignmentAttr(OpBuilder &b, int64_t alignment) { return alignment ? b.getI64IntegerAttr(alignment) : IntegerAttr(); }

Value load(OpBuilder &b, Location loc, Type type, Value pointer, Value index, int64_t alignment) {
  return LoadOp::create(b, loc, type, pointer, index, alignmentAttr(b, alignment));
}

void store(OpBuilder &b, Location loc, Value value, Value pointer, Value index, int64_t alignment) {
  StoreOp::create(b, loc, value, pointer, index, alignmentAttr(b, alignment));
}

Value shared(OpBuilder &b, Location loc, int64_t count, Type elementType) { 
  return SharedOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext(), 3), count, elementType);
 }
void barrier(OpBuilder &b, Location loc) { BarrierOp::create(b, loc); }

static Value i32(OpBuilder &b, Location loc, int64_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); }

Value shuffle(OpBuilder &b, Location loc, ShuffleKind kind, Value value, int64_t amount) {
  return ShuffleOp::create(b, loc, value.getType(), kind, value, i32(b, loc, amount));
}

Values warpReduce(OpBuilder &b, Location loc, ValueRange values, Combine combine, int64_t width) {
  Values result(values);
  for (int64_t offset = width / 2; offset > 0; offset /= 2) {
    Values others;
    for (Value value : result)
      others.push_back(shuffle(b, loc, ShuffleKind::bfly, value, offset));
    result = combine(result, others);
  }
  return result;
}

Values blockReduce(OpBuilder &b, Location loc, ValueRange values, Combine combine, int64_t threads) {
  Values result = warpReduce(b, loc, values, combine);
  int64_t warps = threads / 32;
  if (warps <= 1)
    return result;
  Value thread = ThreadIdOp::create(b, loc, b.getI32Type(), Dim::x);
  Value warp = arith::ShRUIOp::create(b, loc, thread, i32(b, loc, 5));
  // Every lane of a warp writes the same value to the warp's place: no branch is needed.
  Values memory;
  for (Value value : result) {
    memory.push_back(shared(b, loc, warps, value.getType()));
    store(b, loc, value, memory.back(), warp);
  }
  barrier(b, loc);
  auto read = [&](int64_t w) {
    Values loaded;
    for (auto [pointer, value] : llvm::zip_equal(memory, result))
      loaded.push_back(load(b, loc, value.getType(), pointer, i32(b, loc, w)));
    return loaded;
  };
  Values total = read(0);
  for (int64_t w = 1; w < warps; ++w)
    total = combine(total, read(w));
  barrier(b, loc); // the memory may be written again
  return total;
}

} // namespace weft::tile
