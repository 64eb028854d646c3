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
