// RUN: weft-opt %s -simplify -split-input-file | FileCheck %s

// Two transposes are one, and one that only moves a dimension of 1 is a reshape.
// CHECK-LABEL: @transposes
// CHECK: graph.transpose %{{.*}} [2, 0, 1]
// CHECK-NOT: graph.transpose
// CHECK: graph.reshape %{{.*}} : tensor<1x4xf32> -> tensor<4x1xf32>
module @transposes {
  func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<1x4xf32>) -> (tensor<4x2x3xf32>, tensor<4x1xf32>) {
    %a = graph.transpose %x [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
    %b = graph.transpose %a [1, 2, 0] : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
    %c = graph.transpose %y [1, 0] : tensor<1x4xf32> -> tensor<4x1xf32>
    return %b, %c : tensor<4x2x3xf32>, tensor<4x1xf32>
  }
}

// -----

// x * 1 is x; x + 0 is not (-0 + 0 is +0), x - 0 is.
// CHECK-LABEL: @neutral
// CHECK: func.func @main(%[[X:.*]]: tensor
// CHECK: %[[A:.*]] = graph.binary add %[[X]]
// CHECK: return %[[X]], %[[A]], %[[X]]
module @neutral {
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
    %ones = graph.broadcast %one [] : tensor<f32> -> tensor<4xf32>
    %zero = graph.constant dense<0.0> : tensor<4xf32> : tensor<4xf32>
    %a = graph.binary mul %x, %ones : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %b = graph.binary add %x, %zero : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %c = graph.binary sub %x, %zero : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// A weight that all batches share makes one product with all rows.
// CHECK-LABEL: @batch
// CHECK: %[[X:.*]] = graph.reshape %{{.*}} : tensor<?x3x8xf32, #graph.dims<[s0, 3, 8]>> -> tensor<?x8xf32, #graph.dims<[s0 * 3, 8]>>
// CHECK: graph.contract %[[X]], %{{.*}} : {{.*}}, tensor<8x4xf32>
module @batch attributes {graph.symbols = [#graph.symbol<name = "n", kind = input_dim>]} {
  func.func @main(%x: tensor<?x3x8xf32, #graph.dims<[s0, 3, 8]>>, %w: tensor<8x4xf32>) -> tensor<?x3x4xf32, #graph.dims<[s0, 3, 4]>> {
    %b = graph.broadcast %w [1, 2] : tensor<8x4xf32> -> tensor<?x8x4xf32, #graph.dims<[s0, 8, 4]>>
    %y = graph.contract %x, %b : tensor<?x3x8xf32, #graph.dims<[s0, 3, 8]>>, tensor<?x8x4xf32, #graph.dims<[s0, 8, 4]>> -> tensor<?x3x4xf32, #graph.dims<[s0, 3, 4]>>
    return %y : tensor<?x3x4xf32, #graph.dims<[s0, 3, 4]>>
  }
}
