// Verifiers and element rules of the operations that work on elements of one index.
//
// Guarantees: IEEE arithmetic without contraction; f16, bf16 and fp8 are computed in f32 and rounded once; integers wrap;
// integer division by zero never traps.
#include "dialects/graph/Graph.h"
#include "dialects/graph/Scalar.h"

using namespace mlir;
using namespace weft::graph;

/// [elementwise_c1] All operands and the result have the same dimensions.
static LogicalResult verifySameDims(Operation *op, RankedTensorType expected) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (auto type = cast<RankedTensorType>(operand.getType()); !sameDims(type, expected))
      return op->emitOpError("[elementwise_c1] operand ") << i << " has type " << type << ", but the result has the dimensions of " << expected;
  return success();
}

/// The elements of every operand at the rule's index: `operands[i][k]` is element k of operand i.
static SmallVector<Elements> readOperands(ElementEmitter &emitter, Operation *op, const ElementIndex &index, unsigned count) {
  SmallVector<Elements> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    operands.push_back(emitter.operand(i, index, count));
  return operands;
}

static Type elementType(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

//===----------------------------------------------------------------------===//
// UnaryOp
//===----------------------------------------------------------------------===//

LogicalResult UnaryOp::verify() {
  Type in = elementType(getX()), out = elementType(getY());
  bool isTest = getKind() == UnaryKind::isnan || getKind() == UnaryKind::isinf || getKind() == UnaryKind::isinf_pos ||
                getKind() == UnaryKind::isinf_neg;
  if (isTest ? !out.isInteger(1) : in != out)
    return emitOpError("[unary_c1] result element type is ") << out << ", expected " << (isTest ? IntegerType::get(getContext(), 1) : in);
  return verifySameDims(*this, getY().getType());
}

OpFoldResult UnaryOp::fold(FoldAdaptor) { return {}; }

Elements UnaryOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Elements results;
  Type type = elementType(getX());
  for (Value x : emitter.operand(0, index, count))
    results.push_back(scalar::unary(emitter.b, emitter.loc(), getKind(), x, type));
  return results;
}

int64_t UnaryOp::elementCost() { return scalar::unaryCost(getKind()); }

//===----------------------------------------------------------------------===//
// BinaryOp
//===----------------------------------------------------------------------===//

LogicalResult BinaryOp::verify() {
  Type lhs = elementType(getLhs()), rhs = elementType(getRhs()), out = elementType(getY());
  if (lhs != out)
    return emitOpError("[binary_c1] result element type is ") << out << ", expected " << lhs;
  if (lhs != rhs && getKind() != BinaryKind::pow)
    return emitOpError("[binary_c2] operand element types differ: ") << lhs << " and " << rhs;
  return verifySameDims(*this, getY().getType());
}

OpFoldResult BinaryOp::fold(FoldAdaptor) { return {}; }

Elements BinaryOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  auto operands = readOperands(emitter, *this, index, count);
  Elements results;
  for (unsigned k = 0; k < count; ++k)
    results.push_back(scalar::binary(emitter.b, emitter.loc(), getKind(), operands[0][k], operands[1][k], elementType(getLhs()),
                                     elementType(getRhs())));
  return results;
}

int64_t BinaryOp::elementCost() { return getKind() == BinaryKind::pow ? 60 : getKind() == BinaryKind::div ? 8 : 1; }

//===----------------------------------------------------------------------===//
// CompareOp
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::verify() {
  if (elementType(getLhs()) != elementType(getRhs()))
    return emitOpError("[compare_c1] operand element types differ: ") << elementType(getLhs()) << " and " << elementType(getRhs());
  if (!elementType(getY()).isInteger(1))
    return emitOpError("[compare_c2] result element type is ") << elementType(getY()) << ", expected i1";
  return verifySameDims(*this, getY().getType());
}

OpFoldResult CompareOp::fold(FoldAdaptor) { return {}; }

Elements CompareOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  auto operands = readOperands(emitter, *this, index, count);
  Elements results;
  for (unsigned k = 0; k < count; ++k)
    results.push_back(scalar::compare(emitter.b, emitter.loc(), getKind(), operands[0][k], operands[1][k], elementType(getLhs())));
  return results;
}

//===----------------------------------------------------------------------===//
// SelectOp
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::verify() {
  if (!elementType(getCondition()).isInteger(1))
    return emitOpError("[select_c1] condition element type is ") << elementType(getCondition()) << ", expected i1";
  if (elementType(getLhs()) != elementType(getRhs()) || elementType(getLhs()) != elementType(getY()))
    return emitOpError("[select_c2] element types differ: ") << elementType(getLhs()) << ", " << elementType(getRhs()) << " and "
                                                             << elementType(getY());
  return verifySameDims(*this, getY().getType());
}

OpFoldResult SelectOp::fold(FoldAdaptor) {
  if (getLhs() == getRhs())
    return getLhs();
  return {};
}

Elements SelectOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  auto operands = readOperands(emitter, *this, index, count);
  Elements results;
  for (unsigned k = 0; k < count; ++k)
    results.push_back(arith::SelectOp::create(emitter.b, emitter.loc(), operands[0][k], operands[1][k], operands[2][k]));
  return results;
}

//===----------------------------------------------------------------------===//
// CastOp
//===----------------------------------------------------------------------===//

LogicalResult CastOp::verify() { return verifySameDims(*this, getY().getType()); }

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getY().getType())
    return getX();
  return {};
}

Elements CastOp::emitElements(ElementEmitter &emitter, unsigned, const ElementIndex &index, unsigned count) {
  Elements results;
  for (Value x : emitter.operand(0, index, count))
    results.push_back(scalar::cast(emitter.b, emitter.loc(), x, elementType(getX()), elementType(getY()), getSaturate()));
  return results;
}
