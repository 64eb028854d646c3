// RUN: weft-opt %s -form-kernels -split-input-file | FileCheck %s

// An elementwise chain with a diamond is one kernel; the intermediate value is never stored.
// CHECK-LABEL: @diamond
// CHECK: %[[K:.*]] = graph.kernel "mul_0" %{{.*}} attributes
// CHECK: graph.unary sigmoid
// CHECK: graph.binary mul
// CHECK: return %[[K]]
module @diamond {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %s = graph.unary sigmoid %x : tensor<8xf32> -> tensor<8xf32>
    %y = graph.binary mul %x, %s : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
}

// -----

// Bias and activation behind a reshape are the contraction's epilogue; the bias' broadcast is computed inside; the weight's
// transpose is the prologue.
// CHECK-LABEL: @contraction
// CHECK: %[[V:.*]] = graph.reshape %{{.*}} : tensor<2x3x8xf32> -> tensor<6x8xf32>
// CHECK: %[[K:.*]] = graph.kernel "contract_add_relu_0" %[[V]], %{{.*}}, %{{.*}}
// CHECK: graph.transpose
// CHECK: graph.contract
// CHECK: graph.reshape
// CHECK: graph.broadcast
// CHECK: %[[R:.*]] = graph.unary relu
// CHECK: graph.yield %[[R]]
// CHECK-NOT: graph.kernel
// CHECK: return %[[K]]
module @contraction {
  func.func @main(%x: tensor<2x3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xf32> {
    %x2 = graph.reshape %x : tensor<2x3x8xf32> -> tensor<6x8xf32>
    %wt = graph.transpose %w [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    %c = graph.contract %x2, %wt : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
    %c3 = graph.reshape %c : tensor<6x4xf32> -> tensor<2x3x4xf32>
    %bb = graph.broadcast %b [2] : tensor<4xf32> -> tensor<2x3x4xf32>
    %s = graph.binary add %c3, %bb : tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %r = graph.unary relu %s : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    return %r : tensor<2x3x4xf32>
  }
}

// -----

// The residual sum is an epilogue of the second contraction only: the first one's kernel would wait for itself.
// CHECK-LABEL: @residual
// CHECK: %[[A:.*]] = graph.kernel "contract_relu_0"
// CHECK: %[[B:.*]] = graph.kernel "contract_add_1" %[[A]]
// CHECK: return %[[B]]
module @residual {
  func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %a = graph.contract %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %r = graph.unary relu %a : tensor<8x8xf32> -> tensor<8x8xf32>
    %c = graph.contract %r, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %s = graph.binary add %r, %c : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    return %s : tensor<8x8xf32>
  }
}

// -----

// A sum that a normalisation and the residual path read is a second result of the normalisation's kernel.
// CHECK-LABEL: @prenorm
// CHECK: %[[N:.*]]:2 = graph.kernel "normalize_add_0"
// CHECK: %[[C:.*]] = graph.kernel "contract_add_1" %[[N]]#
// CHECK: return %[[C]]
module @prenorm {
  func.func @main(%x: tensor<8x8xf32>, %p: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %s = graph.binary add %x, %p : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %n, %m, %i = graph.normalize %s [1] {epsilon = 1.0e-5} : tensor<8x8xf32> -> tensor<8x8xf32>, tensor<8x1xf32>, tensor<8x1xf32>
    %c = graph.contract %n, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %y = graph.binary add %s, %c : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    return %y : tensor<8x8xf32>
  }
}

// -----

// Scale, mask and softmax are one kernel; a literal stands inside it.
// CHECK-LABEL: @attention
// CHECK: graph.kernel "contract_mul_add_0"
// CHECK: graph.constant dense<5.000000e-01>
// CHECK: graph.kernel "softmax_1"
// CHECK-NOT: graph.kernel
module @attention {
  func.func @main(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %mask: tensor<4xf32>) -> tensor<2x4x4xf32> {
    %kt = graph.transpose %k [0, 2, 1] : tensor<2x4x8xf32> -> tensor<2x8x4xf32>
    %s = graph.contract %q, %kt : tensor<2x4x8xf32>, tensor<2x8x4xf32> -> tensor<2x4x4xf32>
    %h = graph.constant dense<0.5> : tensor<2x4x4xf32> : tensor<2x4x4xf32>
    %t = graph.binary mul %s, %h : tensor<2x4x4xf32>, tensor<2x4x4xf32> -> tensor<2x4x4xf32>
    %m = graph.broadcast %mask [2] : tensor<4xf32> -> tensor<2x4x4xf32>
    %a = graph.binary add %t, %m : tensor<2x4x4xf32>, tensor<2x4x4xf32> -> tensor<2x4x4xf32>
    %y = graph.softmax %a {axis = 2 : i64} : tensor<2x4x4xf32> -> tensor<2x4x4xf32>
    return %y : tensor<2x4x4xf32>
  }
}

// -----

// What a returned reshape looks at must be in memory.
// CHECK-LABEL: @view
// CHECK: %[[K:.*]] = graph.kernel "slice_0"
// CHECK: %[[V:.*]] = graph.reshape %[[K]]
// CHECK: return %[[V]]
module @view {
  func.func @main(%x: tensor<4x2xf32>) -> tensor<4xf32> {
    %s = graph.slice %x starts <[0, 1]> steps [1, 1] : tensor<4x2xf32> -> tensor<4x1xf32>
    %y = graph.reshape %s : tensor<4x1xf32> -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
