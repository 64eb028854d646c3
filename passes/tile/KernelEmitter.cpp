// Walks the producers inside a kernel and loads at its edge: see KernelEmitter.h.
#include "passes/tile/KernelEmitter.h"
#include "dialects/graph/ConstantData.h"
#include "dialects/graph/Scalar.h"
#include "dialects/tile/Build.h"

using namespace mlir;
using namespace weft::graph;

namespace weft {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

KernelEmitter::KernelEmitter(OpBuilder &builder, KernelOp source, tile::KernelOp target, Variant variant, Symbols &symbols,
                             KernelScalars &scalars, SmallVectorImpl<Type> &workspaceTypes)
    : ElementEmitter(builder, builder.getIntegerType(variant.indexBits)), variant(variant), symbols(symbols), kernel(source),
      function(target), scalars(scalars), workspaceTypes(workspaceTypes) {
  currentLoc = source.getLoc();
}

AffineExpr KernelEmitter::numElements(RankedTensorType type) {
  AffineExpr result = symbols.constant(1);
  for (AffineExpr dim : getDims(type))
    result = symbols.mul(result, dim);
  return result;
}

//===----------------------------------------------------------------------===//
// Remembering: a value at an index is computed once per block
//===----------------------------------------------------------------------===//

/// True where what stands in `block` may be used at the builder's point: kernels are emitted in program order.
bool KernelEmitter::isVisible(Block *block) {
  for (Block *here = b.getInsertionBlock(); here; here = here->getParentOp() ? here->getParentOp()->getBlock() : nullptr) {
    if (here == block)
      return true;
    if (here == &function.getBody().front())
      return false;
  }
  return false;
}

/// A value that equals `value` and was emitted first, so that equal indices compare equal.
Value KernelEmitter::canonical(Value value, unsigned depth) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || op->getNumResults() != 1 || op->getNumRegions() != 0 || depth > 6 || !isMemoryEffectFree(op))
    return value;
  SmallVector<Value, 3> operands;
  for (Value operand : op->getOperands())
    operands.push_back(canonical(operand, depth + 1));
  Attribute attributes = op->getPropertiesAsAttribute();
  auto hash = llvm::hash_combine(op->getName().getAsOpaquePointer(), attributes.getAsOpaquePointer(), value.getType().getAsOpaquePointer(),
                                 llvm::hash_combine_range(operands.begin(), operands.end()));
  auto &candidates = numbering[hash];
  for (Value candidate : candidates) {
    Operation *other = candidate.getDefiningOp();
    if (candidate == value)
      return value;
    if (other->getName() != op->getName() || candidate.getType() != value.getType() || !isVisible(other->getBlock()) ||
        other->getPropertiesAsAttribute() != attributes)
      continue;
    bool same = llvm::all_of(llvm::zip_equal(other->getOperands(), operands),
                             [&](auto pair) { return canonical(std::get<0>(pair), depth + 1) == std::get<1>(pair); });
    if (same)
      return candidate;
  }
  candidates.push_back(value);
  return value;
}

void KernelEmitter::bind(Value value, Callback callback) {
  bindings[value] = std::move(callback);
  forget();
}

Elements KernelEmitter::elements(Value value, const ElementIndex &index, unsigned count) {
  ElementIndex at = index;
  SmallVector<Value, 5> key;
  for (Value &position : at.multi)
    key.push_back(position = canonical(position));
  key.push_back(at.linear = canonical(at.linear));
  for (Known &known : memo[value])
    if (known.key == key && known.count == count && isVisible(known.block))
      return known.elements;
  Block *block = b.getInsertionBlock();
  Elements result = compute(value, at, count);
  memo[value].push_back({value, key, count, result, block});
  return result;
}

Elements KernelEmitter::compute(Value value, const ElementIndex &index, unsigned count) {
  if (auto it = bindings.find(value); it != bindings.end())
    return it->second(index, count);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return loadInput(argument, index, count);
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return constantElements(constant, index, count);
  Operation *outer = current;
  Location outerLoc = currentLoc;
  current = op;
  currentLoc = op->getLoc();
  Elements result = cast<ElementOp>(op).emitElements(*this, cast<OpResult>(value).getResultNumber(), index, count);
  current = outer;
  currentLoc = outerLoc;
  return result;
}

/// A splat, or a few values that are selected by their linear index.
Elements KernelEmitter::constantElements(ConstantOp op, const ElementIndex &index, unsigned count) {
  auto dense = cast<DenseElementsAttr>(op.getValue()); // form-kernels leaves larger ones in memory
  Type type = valueType(dense.getElementType());
  auto literal = [&](Attribute attr) -> Value {
    if (auto integer = dyn_cast<IntegerAttr>(attr))
      attr = IntegerAttr::get(type, integer.getValue());
    return arith::ConstantOp::create(b, op.getLoc(), cast<TypedAttr>(attr));
  };
  if (dense.isSplat())
    return Elements(count, literal(dense.getSplatValue<Attribute>()));
  Elements result;
  auto values = llvm::to_vector(dense.getValues<Attribute>());
  for (unsigned k = 0; k < count; ++k) {
    Value position = linear(advance(index, k), getDims(op.getY()));
    Value chosen = literal(values[0]);
    for (size_t i = 1; i < values.size(); ++i)
      chosen = select(equal(position, constant(i)), literal(values[i]), chosen);
    result.push_back(chosen);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// ElementEmitter
//===----------------------------------------------------------------------===//

Elements KernelEmitter::operand(unsigned number, const ElementIndex &index, unsigned count) {
  return elements(current->getOperand(number), index, count);
}

bool KernelEmitter::isMemory(unsigned number) {
  Value value = current->getOperand(number);
  return !bindings.count(value) && (isa<BlockArgument>(value) || int64_t(runDims(value)) >= typeOf(value).getRank());
}

Value KernelEmitter::host(AffineExpr expr) {
  if (auto value = getConstant(expr))
    return constant(*value);
  bool isFloat = symbols.isFloat(expr);
  if (auto value = symbols.getFloatConstant(expr))
    return arith::ConstantOp::create(b, loc(), b.getF64FloatAttr(*value));
  if (Value known = hostValues.lookup(expr))
    return known;
  scalars.insert(expr);
  Type type = isFloat ? Type(b.getF64Type()) : indexType;
  unsigned first = kernel.getInputs().size() + kernel.getOutputs().size() + workspaces;
  unsigned number = llvm::find(scalars, expr) - scalars.begin();
  Block &entry = function.getBody().front();
  for (unsigned i = entry.getNumArguments() - first; i <= number; ++i)
    entry.addArgument(symbols.isFloat(scalars[i]) ? Type(b.getF64Type()) : indexType, kernel.getLoc());
  (void)type;
  return hostValues[expr] = entry.getArgument(first + number);
}

Value KernelEmitter::host64(AffineExpr expr) {
  auto value = getConstant(expr);
  if (value)
    return arith::ConstantOp::create(b, loc(), b.getI64IntegerAttr(*value));
  if (!llvm::is_contained(wideScalars, expr))
    wideScalars.push_back(expr);
  return ElementEmitter::host64(expr);
}

unsigned KernelEmitter::runDims(Value value) {
  if (bindings.count(value))
    return std::min<int64_t>(typeOf(value).getRank(), 1);
  if (isa<BlockArgument>(value) || value.getDefiningOp<ConstantOp>())
    return typeOf(value).getRank();
  return cast<ElementOp>(value.getDefiningOp()).runDims([&](Value operand) { return runDims(operand); });
}

//===----------------------------------------------------------------------===//
// What is known about divisibility
//===----------------------------------------------------------------------===//

static constexpr int64_t maxMultiple = 256;
static int64_t powerOfTwoIn(int64_t value) { return value == 0 ? maxMultiple : std::min<int64_t>(value & -value, maxMultiple); }

int64_t KernelEmitter::knownMultiple(AffineExpr expr) {
  for (auto [known, n] : exprMultiples)
    if (known == expr)
      return std::max(n, powerOfTwoIn(expr.getLargestKnownDivisor()));
  return powerOfTwoIn(expr.getLargestKnownDivisor());
}

int64_t KernelEmitter::knownMultiple(Value value, unsigned depth) {
  if (auto it = multiples.find(value); it != multiples.end())
    return it->second;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    for (auto [expr, known] : hostValues)
      if (known == value)
        return knownMultiple(expr);
    // A loop from 0 in steps of a multiple.
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()); loop && argument == loop.getInductionVar() && depth < 8)
      return std::min(knownMultiple(loop.getLowerBound(), depth + 1), knownMultiple(loop.getStep(), depth + 1));
    return 1;
  }
  Operation *op = value.getDefiningOp();
  IntegerAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return powerOfTwoIn(constant.getInt());
  if (depth > 8)
    return 1;
  auto of = [&](unsigned i) { return knownMultiple(op->getOperand(i), depth + 1); };
  if (isa<arith::AddIOp, arith::SubIOp, arith::RemUIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return std::min(of(0), of(1));
  if (isa<arith::MulIOp>(op))
    return std::min(of(0) * of(1), maxMultiple);
  if (isa<arith::SelectOp>(op))
    return std::min(of(1), of(2));
  if (isa<arith::ExtSIOp, arith::ExtUIOp>(op))
    return of(0);
  IntegerAttr amount;
  if (isa<arith::ShLIOp>(op) && matchPattern(op->getOperand(1), m_Constant(&amount)) && amount.getInt() < 9)
    return std::min(of(0) << amount.getInt(), maxMultiple);
  if (isa<arith::DivUIOp>(op) && matchPattern(op->getOperand(1), m_Constant(&amount)) && llvm::isPowerOf2_64(amount.getInt()))
    return std::max<int64_t>(of(0) / amount.getInt(), 1);
  return 1;
}

bool KernelEmitter::requireMultiple(AffineExpr expr, int64_t n) {
  if (knownMultiple(expr) >= n)
    return true;
  if (getConstant(expr))
    return false;
  AffineExpr condition = symbols.function(SymbolFn::eq, {symbols.mod(expr, symbols.constant(n)), symbols.constant(0)});
  if (isConstant(condition, 0))
    return false;
  require(condition);
  exprMultiples.emplace_back(expr, n);
  return true;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelEmitter::workspace(RankedTensorType type) {
  unsigned number = kernel.getInputs().size() + kernel.getOutputs().size() + workspaces++;
  if (workspaces > workspaceTypes.size())
    workspaceTypes.push_back(type);
  return function.getBody().front().insertArgument(number, LLVM::LLVMPointerType::get(b.getContext(), 1), kernel.getLoc());
}

/// Bytes of the widest access that starts at `linear` and stays within `count` elements.
static int64_t accessBytes(KernelEmitter &e, Value pointer, Value linear, unsigned count, int64_t bytes) {
  bool shared = cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() == 3;
  if (count == 1 || !(e.variant.wide || shared))
    return bytes;
  int64_t aligned = std::min<int64_t>(16, e.knownMultiple(linear) * bytes);
  while (aligned > bytes && (aligned / bytes > count || count % (aligned / bytes) != 0))
    aligned /= 2;
  return aligned;
}

unsigned KernelEmitter::elementsPerByte(Type elementType) {
  unsigned bits = storedBits(elementType);
  return bits < 8 ? 8 / bits : 1;
}

/// One element narrower than a byte: the first lies in the lowest bits.
static Value loadPacked(KernelEmitter &e, Value pointer, Type type, Value linear, bool readOnly) {
  OpBuilder &b = e.b;
  unsigned bits = type.getIntOrFloatBitWidth(), perByte = 8 / bits;
  Type byteType = b.getI8Type();
  Value byte = tile::LoadOp::create(b, e.loc(), byteType, pointer, e.divU(linear, e.constant(perByte)), IntegerAttr(), false, readOnly);
  Value shift = e.mul(e.remU(linear, e.constant(perByte)), e.constant(bits));
  byte = arith::ShRUIOp::create(b, e.loc(), byte, arith::TruncIOp::create(b, e.loc(), byteType, shift));
  Value value = arith::TruncIOp::create(b, e.loc(), b.getIntegerType(bits), byte);
  return isa<FloatType>(type) ? Value(arith::BitcastOp::create(b, e.loc(), type, value)) : value;
}

void KernelEmitter::storeByte(Value pointer, Value linear, ArrayRef<Value> elements) {
  Type byteType = b.getI8Type();
  unsigned bits = elements[0].getType().getIntOrFloatBitWidth();
  Value byte;
  for (auto [k, element] : llvm::enumerate(elements)) {
    Value part = arith::ExtUIOp::create(b, loc(), byteType, element);
    Value shift = arith::ConstantOp::create(b, loc(), b.getI8IntegerAttr(k * bits));
    part = arith::ShLIOp::create(b, loc(), part, shift);
    byte = byte ? Value(arith::OrIOp::create(b, loc(), byte, part)) : part;
  }
  tile::StoreOp::create(b, loc(), byte, pointer, divU(linear, constant(elements.size())), IntegerAttr());
}

Elements KernelEmitter::load(Value pointer, Type elementType, Value linear, unsigned count, bool readOnly) {
  Type type = valueType(elementType);
  if (elementsPerByte(elementType) > 1) {
    Elements result;
    for (unsigned k = 0; k < count; ++k)
      result.push_back(loadPacked(*this, pointer, type, add(linear, constant(k)), readOnly));
    return result;
  }
  int64_t bytes = tile::memoryBytes(type), access = accessBytes(*this, pointer, linear, count, bytes), lanes = access / bytes;
  Elements result;
  for (unsigned k = 0; k < count; k += lanes) {
    Value at = add(linear, constant(k));
    Type accessType = lanes == 1 ? type : Type(VectorType::get({lanes}, type));
    Value loaded = tile::LoadOp::create(b, loc(), accessType, pointer, at, lanes == 1 ? IntegerAttr() : b.getI64IntegerAttr(access), false, readOnly);
    if (lanes == 1)
      result.push_back(loaded);
    else
      for (int64_t lane = 0; lane < lanes; ++lane)
        result.push_back(vector::ExtractOp::create(b, loc(), loaded, lane));
  }
  return result;
}

void KernelEmitter::storeTo(Value pointer, Value linear, ArrayRef<Value> elements) {
  Type type = elements[0].getType();
  int64_t bytes = tile::memoryBytes(type), access = accessBytes(*this, pointer, linear, elements.size(), bytes), lanes = access / bytes;
  for (unsigned k = 0; k < elements.size(); k += lanes) {
    Value at = add(linear, constant(k)), value = elements[k];
    if (lanes > 1)
      value = vector::FromElementsOp::create(b, loc(), VectorType::get({lanes}, type), elements.slice(k, lanes));
    tile::StoreOp::create(b, loc(), value, pointer, at, lanes == 1 ? IntegerAttr() : b.getI64IntegerAttr(access));
  }
}

Elements KernelEmitter::loadInput(BlockArgument argument, const ElementIndex &index, unsigned count) {
  Location outer = currentLoc;
  if (!current)
    currentLoc = argument.getLoc();
  Value at = linear(index, getDims(argument));
  Elements result = load(input(argument.getArgNumber()), typeOf(argument).getElementType(), at, count); // not read-only: a result may share an operand's memory
  currentLoc = outer;
  return result;
}

void KernelEmitter::store(unsigned result, const ElementIndex &index, ArrayRef<Value> elements) {
  storeTo(output(result), linear(index, getDims(kernel.getOutputs()[result])), elements);
}

void KernelEmitter::storeResults(const ElementIndex &index, unsigned count) {
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getXs()))
    store(i, index, elements(value, index, count));
}

} // namespace weft
