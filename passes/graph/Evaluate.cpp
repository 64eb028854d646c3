// Operations on constants: see Evaluate.h.
//
// Movement copies bytes by index; arithmetic is IEEE and rounded after each operation, as in the kernels. Functions that the GPU computes
// by approximations of its own (exp, tanh, ...) are left to it.
#include "passes/graph/Evaluate.h"
#include "dialects/graph/ConstantData.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace weft::graph;

namespace weft {
namespace {
SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

/// result[i0, i1, ...] = source[base + sum(i_k * step_k)], elements of `size` bytes.
std::string copyStrided(StringRef source, ArrayRef<int64_t> shape, ArrayRef<int64_t> steps, int64_t base, unsigned size) {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  std::string result(count * size, 0);
  if (count == 0)
    return result;
  unsigned rank = shape.size();
  SmallVector<int64_t> index(rank, 0);
  int64_t from = base;
  for (int64_t to = 0; to < count; ++to) {
    std::memcpy(result.data() + to * size, source.data() + from * size, size);
    for (unsigned d = rank; d-- > 0;) {
      from += steps[d];
      if (++index[d] < shape[d])
        break;
      from -= steps[d] * shape[d];
      index[d] = 0;
    }
  }
  return result;
}

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

std::optional<std::string> move(Operation *op, ArrayRef<StringRef> operands) {
  RankedTensorType to = typeOf(op->getResult(0));
  if (isa<ReshapeOp>(op))
    return operands[0].str();
  unsigned bits = storedBits(to.getElementType()), size = bits / 8;
  if (bits < 8)
    return std::nullopt;
  ArrayRef<int64_t> from = typeOf(op->getOperand(0)).getShape();
  SmallVector<int64_t> strides = stridesOf(from), steps(to.getRank(), 0);
  int64_t base = 0;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [i, p] : llvm::enumerate(transpose.getPerm()))
      steps[i] = strides[p];
  } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    for (auto [i, m] : llvm::enumerate(broadcast.getMap()))
      steps[m] = from[i] == 1 ? 0 : strides[i];
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    for (auto [i, start] : llvm::enumerate(slice.getStarts().getExprs())) {
      auto first = getConstant(start);
      if (!first)
        return std::nullopt;
      base += *first * strides[i];
      steps[i] = slice.getSteps()[i] * strides[i];
    }
  } else {
    return std::nullopt;
  }
  return copyStrided(operands[0], to.getShape(), steps, base, size);
}

std::optional<std::string> concat(ConcatOp op, ArrayRef<StringRef> operands) {
  RankedTensorType to = op.getType();
  unsigned bits = storedBits(to.getElementType());
  if (bits < 8)
    return std::nullopt;
  int64_t outer = 1, inner = bits / 8;
  for (int64_t i = 0; i < to.getRank(); ++i)
    (i < int64_t(op.getAxis()) ? outer : inner) *= i == int64_t(op.getAxis()) ? 1 : to.getDimSize(i);
  std::string result;
  for (int64_t i = 0; i < outer; ++i)
    for (auto [x, bytes] : llvm::zip_equal(op.getXs(), operands)) {
      int64_t row = typeOf(x).getDimSize(op.getAxis()) * inner;
      result += bytes.substr(i * row, row);
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

template <typename T> T readAt(StringRef bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}
template <typename T> void append(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

template <typename T> std::optional<T> binaryFloat(BinaryKind kind, T x, T y) {
  switch (kind) {
  case BinaryKind::add: return x + y;
  case BinaryKind::sub: return x - y;
  case BinaryKind::mul: return x * y;
  case BinaryKind::div: return x / y;
  case BinaryKind::min: return std::isnan(x) || std::isnan(y) ? T(NAN) : std::fmin(x, y);
  case BinaryKind::max: return std::isnan(x) || std::isnan(y) ? T(NAN) : std::fmax(x, y);
  default: return std::nullopt;
  }
}

std::optional<int64_t> binaryInteger(BinaryKind kind, int64_t x, int64_t y) {
  switch (kind) {
  case BinaryKind::add: return int64_t(uint64_t(x) + uint64_t(y));
  case BinaryKind::sub: return int64_t(uint64_t(x) - uint64_t(y));
  case BinaryKind::mul: return int64_t(uint64_t(x) * uint64_t(y));
  case BinaryKind::min: return std::min(x, y);
  case BinaryKind::max: return std::max(x, y);
  case BinaryKind::logical_and: case BinaryKind::bitwise_and: return x & y;
  case BinaryKind::logical_or: case BinaryKind::bitwise_or: return x | y;
  case BinaryKind::logical_xor: case BinaryKind::bitwise_xor: return x ^ y;
  default: return std::nullopt; // divisions by zero and shifts are the GPU's
  }
}

template <typename T> std::optional<T> unaryFloat(UnaryKind kind, T x) {
  switch (kind) {
  case UnaryKind::abs: return std::fabs(x);
  case UnaryKind::neg: return -x;
  case UnaryKind::floor: return std::floor(x);
  case UnaryKind::ceil: return std::ceil(x);
  case UnaryKind::round_even: return std::nearbyint(x);
  case UnaryKind::sqrt: return std::sqrt(x);
  case UnaryKind::reciprocal: return T(1) / x;
  default: return std::nullopt;
  }
}

template <typename T> bool compare(CompareKind kind, T x, T y) {
  switch (kind) {
  case CompareKind::eq: return x == y;
  case CompareKind::ne: return x != y;
  case CompareKind::lt: return x < y;
  case CompareKind::le: return x <= y;
  case CompareKind::gt: return x > y;
  case CompareKind::ge: return x >= y;
  }
  llvm_unreachable("unknown CompareKind");
}

/// Calls `run` with a value of the C++ type of `type`; false where there is none.
bool withType(Type type, auto run) {
  if (type.isF32())
    return run(float()), true;
  if (type.isF64())
    return run(double()), true;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return false;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1: return run(uint8_t()), true;
  case 8: return isUnsigned ? run(uint8_t()) : run(int8_t()), true;
  case 16: return isUnsigned ? run(uint16_t()) : run(int16_t()), true;
  case 32: return isUnsigned ? run(uint32_t()) : run(int32_t()), true;
  case 64: return isUnsigned ? run(uint64_t()) : run(int64_t()), true;
  }
  return false;
}

std::optional<std::string> evaluateBinary(BinaryOp op, StringRef x, StringRef y) {
  Type type = op.getType().getElementType();
  if (typeOf(op.getRhs()).getElementType() != type || (isa<IntegerType>(type) && type.isUnsignedInteger(64)))
    return std::nullopt;
  std::string result;
  bool known = true;
  bool typed = withType(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, n = op.getType().getNumElements(); i < n && known; ++i) {
      std::optional<T> value;
      if constexpr (std::is_floating_point_v<T>)
        value = binaryFloat<T>(op.getKind(), readAt<T>(x, i), readAt<T>(y, i));
      else if (auto wide = binaryInteger(op.getKind(), int64_t(readAt<T>(x, i)), int64_t(readAt<T>(y, i))))
        value = T(*wide);
      known = value.has_value();
      append<T>(result, value.value_or(T(0)));
    }
  });
  if (!typed || !known)
    return std::nullopt;
  return result;
}

std::optional<std::string> evaluateUnary(UnaryOp op, StringRef x) {
  Type type = op.getType().getElementType();
  std::string result;
  bool known = true;
  if (type.isInteger(1) && op.getKind() == UnaryKind::logical_not) {
    for (char c : x)
      result.push_back(!c);
    return result;
  }
  if (!type.isF32() && !type.isF64())
    return std::nullopt;
  withType(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      for (int64_t i = 0, n = op.getType().getNumElements(); i < n && known; ++i) {
        std::optional<T> value = unaryFloat<T>(op.getKind(), readAt<T>(x, i));
        known = value.has_value();
        append<T>(result, value.value_or(T(0)));
      }
  });
  if (!known)
    return std::nullopt;
  return result;
}

std::optional<std::string> evaluateCompare(CompareOp op, StringRef x, StringRef y) {
  std::string result;
  bool typed = withType(typeOf(op.getLhs()).getElementType(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, n = op.getType().getNumElements(); i < n; ++i)
      result.push_back(compare<T>(op.getKind(), readAt<T>(x, i), readAt<T>(y, i)));
  });
  return typed ? std::optional(result) : std::nullopt;
}

/// Casts that are exact or rounded by the C++ conversion as on the GPU: between integers, integer to float, f32 and f64, to bool.
std::optional<std::string> evaluateCast(CastOp op, StringRef x) {
  Type from = typeOf(op.getX()).getElementType(), to = op.getType().getElementType();
  if (isa<FloatType>(from) && isa<IntegerType>(to) && !to.isInteger(1))
    return std::nullopt;
  std::string result;
  int64_t n = op.getType().getNumElements();
  bool typed = false;
  bool known = withType(from, [&](auto zero) {
    using From = decltype(zero);
    typed = withType(to, [&](auto target) {
      using To = decltype(target);
      for (int64_t i = 0; i < n; ++i) {
        From value = readAt<From>(x, i);
        append<To>(result, to.isInteger(1) ? To(value != From(0)) : To(value));
      }
    });
  });
  if (!known || !typed)
    return std::nullopt;
  return result;
}

std::optional<std::string> evaluateSelect(SelectOp op, ArrayRef<StringRef> operands) {
  unsigned size = storedBits(op.getType().getElementType()) / 8;
  if (size == 0)
    return std::nullopt;
  std::string result;
  for (int64_t i = 0, n = op.getType().getNumElements(); i < n; ++i)
    result += operands[operands[0][i] ? 1 : 2].substr(i * size, size);
  return result;
}

/// ONNX Gather on whole slices; an index out of range is left to run time.
std::optional<std::string> evaluateGather(GatherOp op, StringRef x, StringRef indices) {
  RankedTensorType from = typeOf(op.getX()), at = typeOf(op.getIndices());
  unsigned size = storedBits(from.getElementType()) / 8;
  if (size == 0)
    return std::nullopt;
  int64_t outer = 1, inner = size, extent = from.getDimSize(op.getAxis());
  for (int64_t i = 0; i < from.getRank(); ++i)
    if (i != int64_t(op.getAxis()))
      (i < int64_t(op.getAxis()) ? outer : inner) *= from.getDimSize(i);
  SmallVector<int64_t> rows;
  bool inRange = true;
  if (!withType(at.getElementType(), [&](auto zero) {
        for (int64_t i = 0, n = at.getNumElements(); i < n; ++i) {
          int64_t row = int64_t(readAt<decltype(zero)>(indices, i));
          row += row < 0 ? extent : 0;
          inRange &= row >= 0 && row < extent;
          rows.push_back(row);
        }
      }) || !inRange)
    return std::nullopt;
  std::string result;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t row : rows)
      result += x.substr((o * extent + row) * inner, inner);
  return result;
}
} // namespace

std::optional<std::string> evaluate(Operation *op, ArrayRef<StringRef> operands) {
  return TypeSwitch<Operation *, std::optional<std::string>>(op)
      .Case<ReshapeOp, TransposeOp, BroadcastOp, SliceOp>([&](auto) { return move(op, operands); })
      .Case<ConcatOp>([&](ConcatOp typed) { return concat(typed, operands); })
      .Case<UnaryOp>([&](UnaryOp typed) { return evaluateUnary(typed, operands[0]); })
      .Case<BinaryOp>([&](BinaryOp typed) { return evaluateBinary(typed, operands[0], operands[1]); })
      .Case<CompareOp>([&](CompareOp typed) { return evaluateCompare(typed, operands[0], operands[1]); })
      .Case<CastOp>([&](CastOp typed) { return evaluateCast(typed, operands[0]); })
      .Case<SelectOp>([&](SelectOp typed) { return evaluateSelect(typed, operands); })
      .Case<GatherOp>([&](GatherOp typed) { return evaluateGather(typed, operands[0], operands[1]); })
      .Default(std::nullopt);
}

} // namespace weft
