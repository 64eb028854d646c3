// What templates write kernels with: a thin layer of short names over arith, scf, vector and tile.
//
// Guarantees: constants fold, every operation takes the location of the root, loops and conditions keep the builder's
// insertion point balanced. Two kinds of integers: "index" values have the kernel variant's index type (i32 or i64),
// thread numbers and shared-memory offsets are always i32.
#ifndef WEFT_PASSES_TILE_TEMPLATES_KIT_H
#define WEFT_PASSES_TILE_TEMPLATES_KIT_H

#include "dialects/graph/Graph.h"
#include "dialects/graph/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "dialects/tile/Build.h"
#include "passes/tile/KernelEmitter.h"

namespace weft::tile {

/// An array in shared memory; offsets count elements from its start.
struct SharedArray {
  mlir::Value pointer;
  mlir::Type elementType;
};

class Kit {
public:
  explicit Kit(KernelEmitter &e) : e(e), b(e.b), indexType(e.indexType) {}

  KernelEmitter &e;
  mlir::OpBuilder &b;
  mlir::Type indexType;
  mlir::Location loc() const { return e.loc(); }

  // Integers of either kind.
  mlir::Value i32(int64_t value);
  mlir::Value index(int64_t value) { return e.constant(value); }
  mlir::Value toIndex(mlir::Value i32Value);
  mlir::Value toI32(mlir::Value indexValue);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, int64_t y);
  mlir::Value rem(mlir::Value x, mlir::Value y);
  mlir::Value rem(mlir::Value x, int64_t y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  /// x + y of two offsets that are not negative and do not wrap: constants end up in the address of the access.
  mlir::Value offset(mlir::Value x, mlir::Value y);
  mlir::Value ceilDiv(mlir::Value x, int64_t y);
  /// The constant `value` of the type of `like`.
  mlir::Value constantLike(mlir::Value like, int64_t value);

  // Conditions.
  mlir::Value cmp(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value lt(mlir::Value x, mlir::Value y) { return cmp(mlir::arith::CmpIPredicate::slt, x, y); }
  mlir::Value le(mlir::Value x, mlir::Value y) { return cmp(mlir::arith::CmpIPredicate::sle, x, y); }
  mlir::Value ge(mlir::Value x, mlir::Value y) { return cmp(mlir::arith::CmpIPredicate::sge, x, y); }
  mlir::Value eq(mlir::Value x, mlir::Value y) { return cmp(mlir::arith::CmpIPredicate::eq, x, y); }
  /// 0 <= x < bound in one comparison; `bound` is not negative.
  mlir::Value inRange(mlir::Value x, mlir::Value bound) { return cmp(mlir::arith::CmpIPredicate::ult, x, bound); }
  /// Conjunction; null operands are true.
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value either(mlir::Value x, mlir::Value y);
  mlir::Value negate(mlir::Value x);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);

  // Scalars of any type.
  mlir::Value scalar(mlir::Type type, double value) { return graph::scalar::constant(b, loc(), type, value); }
  mlir::Value boolean(bool value);

  // Control flow. `body` yields the next values of what is carried.
  Values loop(mlir::Value from, mlir::Value to, mlir::Value step, mlir::ValueRange carried,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  void loop(mlir::Value from, mlir::Value to, mlir::Value step, llvm::function_ref<void(mlir::Value)> body);
  /// The same with `unroll` bodies per iteration where as many are left. `from` differs between threads.
  Values unrolledLoop(mlir::Value from, mlir::Value to, mlir::Value step, unsigned unroll, mlir::ValueRange carried,
                      llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  /// Carries on while `condition` of the carried values holds.
  Values whileLoop(mlir::ValueRange carried, llvm::function_ref<mlir::Value(mlir::ValueRange)> condition,
                   llvm::function_ref<Values(mlir::ValueRange)> body);
  Values ifElse(mlir::Value condition, mlir::TypeRange types, llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> then);

  // Threads: numbers within the CTA, all i32 and one-dimensional.
  mlir::Value thread();
  mlir::Value lane();
  mlir::Value warp();
  mlir::Value block(); // of a one-dimensional grid, as an index value
  void barrier();
  /// `value` of the lane `delta` below; its own where there is none.
  mlir::Value shuffleUp(mlir::Value value, unsigned delta);

  // Shared memory.
  SharedArray shared(mlir::Type elementType, int64_t count);
  mlir::Value load(const SharedArray &array, mlir::Value offset);
  mlir::Value loadVector(const SharedArray &array, mlir::Value offset, unsigned width);
  void store(const SharedArray &array, mlir::Value offset, mlir::Value scalarOrVector);

  // Vectors in registers.
  mlir::Value splat(mlir::Value scalar, unsigned width);
  mlir::Value extract(mlir::Value vector, unsigned position);
  mlir::Value fromElements(mlir::ValueRange scalars);
  /// The scalars of `values`, each a vector or a scalar.
  Values flatten(mlir::ValueRange values);
};

} // namespace weft::tile
#endif
