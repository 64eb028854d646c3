// RUN: weft-opt %s -simplify -match-normalize -split-input-file | FileCheck %s

// Layer normalisation in parts, as exporters write it.
// CHECK-LABEL: @layer
// CHECK: graph.normalize %{{.*}} [1] {epsilon = 9.99999974
// CHECK-NOT: graph.reduce
// CHECK: return
module @layer {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %n = graph.constant dense<8.0> : tensor<4x1xf32> : tensor<4x1xf32>
    %two = graph.constant dense<2.0> : tensor<4x8xf32> : tensor<4x8xf32>
    %eps = graph.constant dense<1.0e-5> : tensor<4x1xf32> : tensor<4x1xf32>
    %s = graph.reduce sum %x [1] : tensor<4x8xf32> -> tensor<4xf32>
    %s1 = graph.reshape %s : tensor<4xf32> -> tensor<4x1xf32>
    %m = graph.binary div %s1, %n : tensor<4x1xf32>, tensor<4x1xf32> -> tensor<4x1xf32>
    %mb = graph.broadcast %m [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
    %d = graph.binary sub %x, %mb : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %q = graph.binary pow %d, %two : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %v = graph.reduce sum %q [1] : tensor<4x8xf32> -> tensor<4xf32>
    %v1 = graph.reshape %v : tensor<4xf32> -> tensor<4x1xf32>
    %var = graph.binary div %v1, %n : tensor<4x1xf32>, tensor<4x1xf32> -> tensor<4x1xf32>
    %ve = graph.binary add %var, %eps : tensor<4x1xf32>, tensor<4x1xf32> -> tensor<4x1xf32>
    %r = graph.unary sqrt %ve : tensor<4x1xf32> -> tensor<4x1xf32>
    %rb = graph.broadcast %r [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
    %y = graph.binary div %d, %rb : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}

// -----

// Not over the same elements: the variance of another tensor.
// CHECK-LABEL: @other
// CHECK-NOT: graph.normalize
// CHECK: return
module @other {
  func.func @main(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %n = graph.constant dense<8.0> : tensor<4x1xf32> : tensor<4x1xf32>
    %eps = graph.constant dense<1.0e-5> : tensor<4x1xf32> : tensor<4x1xf32>
    %q = graph.binary mul %z, %z : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %v = graph.reduce sum %q [1] : tensor<4x8xf32> -> tensor<4xf32>
    %v1 = graph.reshape %v : tensor<4xf32> -> tensor<4x1xf32>
    %var = graph.binary div %v1, %n : tensor<4x1xf32>, tensor<4x1xf32> -> tensor<4x1xf32>
    %ve = graph.binary add %var, %eps : tensor<4x1xf32>, tensor<4x1xf32> -> tensor<4x1xf32>
    %r = graph.unary sqrt %ve : tensor<4x1xf32> -> tensor<4x1xf32>
    %rb = graph.broadcast %r [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
    %y = graph.binary div %x, %rb : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}

// -----

// Softmax as JAX writes it: the maximum starts from -inf in an operation of its own.
// CHECK-LABEL: @softmax
// CHECK: graph.softmax %arg0 {axis = 1 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>
// CHECK-NOT: graph.unary
// CHECK: return
module @softmax {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %least = graph.constant dense<0xFF800000> : tensor<4xf32> : tensor<4xf32>
    %m = graph.reduce max %x [1] : tensor<4x8xf32> -> tensor<4xf32>
    %mm = graph.binary max %least, %m : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %m1 = graph.reshape %mm : tensor<4xf32> -> tensor<4x1xf32>
    %mb = graph.broadcast %m1 [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
    %d = graph.binary sub %x, %mb : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %e = graph.unary exp %d : tensor<4x8xf32> -> tensor<4x8xf32>
    %s = graph.reduce sum %e [1] : tensor<4x8xf32> -> tensor<4xf32>
    %s1 = graph.reshape %s : tensor<4xf32> -> tensor<4x1xf32>
    %sb = graph.broadcast %s1 [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
    %y = graph.binary div %e, %sb : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}

// -----

// The maximum of another tensor.
// CHECK-LABEL: @other_maximum
// CHECK-NOT: graph.softmax
// CHECK: return
module @other_maximum {
  func.func @main(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %m = graph.reduce max %z [1] : tensor<4x8xf32> -> tensor<4xf32>
    %m1 = graph.reshape %m : tensor<4xf32> -> tensor<4x1xf32>
    %mb = graph.broadcast %m1 [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
    %d = graph.binary sub %x, %mb : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %e = graph.unary exp %d : tensor<4x8xf32> -> tensor<4x8xf32>
    %s = graph.reduce sum %e [1] : tensor<4x8xf32> -> tensor<4xf32>
    %s1 = graph.reshape %s : tensor<4xf32> -> tensor<4x1xf32>
    %sb = graph.broadcast %s1 [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
    %y = graph.binary div %e, %sb : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}
