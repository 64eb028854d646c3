// Short names for templates: see Kit.h.
#include "passes/tile/templates/Kit.h"

using namespace mlir;
namespace weft::tile {

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value Kit::constantLike(Value like, int64_t value) {
  return arith::ConstantOp::create(b, loc(), b.getIntegerAttr(like.getType(), value));
}
Value Kit::i32(int64_t value) { return arith::ConstantOp::create(b, loc(), b.getI32IntegerAttr(value)); }
Value Kit::boolean(bool value) { return arith::ConstantOp::create(b, loc(), b.getBoolAttr(value)); }

Value Kit::toIndex(Value value) {
  if (value.getType() == indexType)
    return value;
  if (auto attr = IntegerAttr(); matchPattern(value, m_Constant(&attr)))
    return index(attr.getInt());
  return arith::ExtSIOp::create(b, loc(), indexType, value);
}

Value Kit::toI32(Value value) {
  if (value.getType().isInteger(32))
    return value;
  return arith::TruncIOp::create(b, loc(), b.getI32Type(), value);
}

// The emitter's constants have the index type; thread numbers have not, where that is i64.
Value Kit::add(Value x, Value y) { return x.getType() == indexType ? e.add(x, y) : b.createOrFold<arith::AddIOp>(loc(), x, y); }
Value Kit::sub(Value x, Value y) { return x.getType() == indexType ? e.sub(x, y) : b.createOrFold<arith::SubIOp>(loc(), x, y); }
Value Kit::mul(Value x, Value y) { return x.getType() == indexType ? e.mul(x, y) : b.createOrFold<arith::MulIOp>(loc(), x, y); }
Value Kit::div(Value x, Value y) { return x.getType() == indexType ? e.divU(x, y) : b.createOrFold<arith::DivUIOp>(loc(), x, y); }
Value Kit::rem(Value x, Value y) { return x.getType() == indexType ? e.remU(x, y) : b.createOrFold<arith::RemUIOp>(loc(), x, y); }
Value Kit::add(Value x, int64_t y) { return add(x, constantLike(x, y)); }
Value Kit::mul(Value x, int64_t y) { return mul(x, constantLike(x, y)); }
Value Kit::div(Value x, int64_t y) { return div(x, constantLike(x, y)); }
Value Kit::rem(Value x, int64_t y) { return rem(x, constantLike(x, y)); }
Value Kit::min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(loc(), x, y); }
Value Kit::max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(loc(), x, y); }
Value Kit::offset(Value x, Value y) {
  if (matchPattern(x, m_Zero()))
    return y;
  if (matchPattern(y, m_Zero()))
    return x;
  auto flags = arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  return arith::AddIOp::create(b, loc(), x, y, flags);
}
Value Kit::ceilDiv(Value x, int64_t y) { return div(add(x, y - 1), y); }

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

Value Kit::cmp(arith::CmpIPredicate predicate, Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc(), predicate, x, y);
}
Value Kit::both(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return b.createOrFold<arith::AndIOp>(loc(), x, y);
}
Value Kit::either(Value x, Value y) { return b.createOrFold<arith::OrIOp>(loc(), x, y); }
Value Kit::negate(Value x) { return arith::XOrIOp::create(b, loc(), x, boolean(true)); }
Value Kit::select(Value condition, Value x, Value y) { return b.createOrFold<arith::SelectOp>(loc(), condition, x, y); }

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Values Kit::loop(Value from, Value to, Value step, ValueRange carried, llvm::function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc(), from, to, step, carried);
  OpBuilder::InsertionGuard guard(b);
  if (carried.empty()) {
    b.setInsertionPoint(loop.getBody()->getTerminator());
    body(loop.getInductionVar(), {});
    return {};
  }
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, loc(), body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop.getResults();
}

Values Kit::unrolledLoop(Value from, Value to, Value step, unsigned unroll, ValueRange carried,
                         llvm::function_ref<Values(Value, ValueRange)> body) {
  // Whole groups: the last body of a group begins before `to`.
  Value group = mul(step, unroll), lastBegin = sub(to, mul(step, unroll - 1));
  Value groups = max(div(add(max(sub(lastBegin, from), constantLike(from, 0)), sub(group, constantLike(from, 1))), group), constantLike(from, 0));
  Values state = loop(constantLike(from, 0), groups, constantLike(from, 1), carried, [&](Value g, ValueRange args) {
    Value i = add(from, mul(g, group));
    Values next(args);
    for (unsigned u = 0; u < unroll; ++u)
      next = body(add(i, mul(step, u)), next);
    return next;
  });
  return loop(add(from, mul(groups, group)), to, step, state, body);
}

void Kit::loop(Value from, Value to, Value step, llvm::function_ref<void(Value)> body) {
  loop(from, to, step, ValueRange(), [&](Value iv, ValueRange) {
    body(iv);
    return Values();
  });
}

Values Kit::whileLoop(ValueRange carried, llvm::function_ref<Value(ValueRange)> condition,
                      llvm::function_ref<Values(ValueRange)> body) {
  TypeRange types = carried.getTypes();
  SmallVector<Location> locs(types.size(), loc());
  auto loop = scf::WhileOp::create(b, loc(), types, carried);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  b.setInsertionPointToStart(before);
  scf::ConditionOp::create(b, loc(), condition(before->getArguments()), before->getArguments());
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  b.setInsertionPointToStart(after);
  scf::YieldOp::create(b, loc(), body(after->getArguments()));
  return loop.getResults();
}

Values Kit::ifElse(Value condition, TypeRange types, llvm::function_ref<Values()> then, llvm::function_ref<Values()> otherwise) {
  auto branch = scf::IfOp::create(b, loc(), types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (bool isThen : {true, false}) {
    Block *block = isThen ? branch.thenBlock() : branch.elseBlock();
    if (!block->empty())
      block->getTerminator()->erase();
    b.setInsertionPointToEnd(block);
    Values values = isThen ? then() : otherwise();
    scf::YieldOp::create(b, loc(), values);
  }
  return branch.getResults();
}

void Kit::ifThen(Value condition, llvm::function_ref<void()> then) {
  auto branch = scf::IfOp::create(b, loc(), condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  then();
}

//===----------------------------------------------------------------------===//
// Threads and shared memory
//===----------------------------------------------------------------------===//

Value Kit::thread() { return threadId(b, loc(), Dim::x, b.getI32Type()); }
Value Kit::lane() { return rem(thread(), 32); }
Value Kit::warp() { return div(thread(), 32); }
Value Kit::block() { return blockId(b, loc(), Dim::x, indexType); }
void Kit::barrier() { tile::barrier(b, loc()); }
Value Kit::shuffleUp(Value value, unsigned delta) { return shuffle(b, loc(), ShuffleKind::up, value, delta); }

SharedArray Kit::shared(Type elementType, int64_t count) { return {tile::shared(b, loc(), count, elementType), elementType}; }
Value Kit::load(const SharedArray &array, Value offset) { return tile::load(b, loc(), array.elementType, array.pointer, offset); }

static int64_t vectorAlignment(Type elementType, unsigned width) {
  return std::min<int64_t>(16, width * memoryBytes(elementType));
}
Value Kit::loadVector(const SharedArray &array, Value offset, unsigned width) {
  Type type = VectorType::get(width, array.elementType);
  return tile::load(b, loc(), type, array.pointer, offset, vectorAlignment(array.elementType, width));
}
void Kit::store(const SharedArray &array, Value offset, Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  tile::store(b, loc(), value, array.pointer, offset, type ? vectorAlignment(array.elementType, type.getNumElements()) : 0);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value Kit::splat(Value scalar, unsigned width) {
  return vector::BroadcastOp::create(b, loc(), VectorType::get(width, scalar.getType()), scalar);
}
Value Kit::extract(Value vector, unsigned position) {
  return vector::ExtractOp::create(b, loc(), vector, ArrayRef<int64_t>(position));
}
Value Kit::fromElements(ValueRange scalars) {
  return vector::FromElementsOp::create(b, loc(), VectorType::get(scalars.size(), scalars[0].getType()), scalars);
}
Values Kit::flatten(ValueRange values) {
  Values result;
  for (Value value : values) {
    auto type = dyn_cast<VectorType>(value.getType());
    for (int64_t i = 0, n = type ? type.getNumElements() : 0; i < n; ++i)
      result.push_back(extract(value, i));
    if (!type)
      result.push_back(value);
  }
  return result;
}

} // namespace weft::tile
