// RUN: weft-opt %s -fold-affine | FileCheck %s

// Bias, then batch normalisation: the scale goes into the weights, one shift stays.
// CHECK: %[[S:.*]] = graph.constant dense<[3.500000e+00, 1.100000e+01]> : tensor<2xf32>
// CHECK: %[[W:.*]] = graph.constant dense<{{.*}}2.000000e+00{{.*}}6.000000e+00{{.*}}> : tensor<2x1x1x1xf32>
// CHECK: %[[C:.*]] = graph.conv %{{.*}}, %[[W]]
// CHECK: %[[B:.*]] = graph.broadcast %[[S]]
// CHECK: %[[Y:.*]] = graph.binary add %[[C]], %[[B]]
// CHECK: return %[[Y]]
module @norm {
  func.func @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
    %w = graph.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32> : tensor<2x1x1x1xf32>
    %b = graph.constant dense<[1.0, 3.0]> : tensor<2xf32> : tensor<2xf32>
    %s = graph.constant dense<[2.0, 3.0]> : tensor<2xf32> : tensor<2xf32>
    %t = graph.constant dense<[1.5, 2.0]> : tensor<2xf32> : tensor<2xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = #graph.dims<[0, 0]>, group = 1 : i64} : tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32> -> tensor<1x2x4x4xf32>
    %bb = graph.broadcast %b [1] : tensor<2xf32> -> tensor<1x2x4x4xf32>
    %sb = graph.broadcast %s [1] : tensor<2xf32> -> tensor<1x2x4x4xf32>
    %tb = graph.broadcast %t [1] : tensor<2xf32> -> tensor<1x2x4x4xf32>
    %1 = graph.binary add %c, %bb : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
    %2 = graph.binary mul %1, %sb : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
    %3 = graph.binary add %2, %tb : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
    return %3 : tensor<1x2x4x4xf32>
  }
}
