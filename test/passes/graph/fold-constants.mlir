// RUN: weft-opt %s -fold-constants -split-input-file | FileCheck %s

// Movement and exact arithmetic on constants; a function that the GPU approximates stays.
// CHECK-LABEL: @arithmetic
// CHECK-DAG: %[[T:.*]] = graph.constant dense<{{\[\[}}1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]>
// CHECK-DAG: %[[S:.*]] = graph.constant dense<{{\[\[}}2.000000e+00, 4.000000e+00, 6.000000e+00], [8.000000e+00, 1.000000e+01, 1.200000e+01]]>
// CHECK-DAG: %[[E:.*]] = graph.unary exp
// CHECK: return %[[T]], %[[S]], %[[E]]
module @arithmetic {
  func.func @main() -> (tensor<3x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
    %c = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32> : tensor<2x3xf32>
    %t = graph.transpose %c [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    %s = graph.binary add %c, %c : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    %e = graph.unary exp %c : tensor<2x3xf32> -> tensor<2x3xf32>
    return %t, %s, %e : tensor<3x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }
}

// -----

// Indices, casts, concat, slices with negative steps.
// CHECK-LABEL: @movement
// CHECK-DAG: %[[G:.*]] = graph.constant dense<[30, 10]> : tensor<2xi64>
// CHECK-DAG: %[[C:.*]] = graph.constant dense<[3.000000e+01, 2.000000e+01, 1.000000e+01]> : tensor<3xf32>
// CHECK-DAG: %[[J:.*]] = graph.constant dense<[10, 20, 30, 30, 10]> : tensor<5xi64>
// CHECK: return %[[G]], %[[C]], %[[J]]
module @movement {
  func.func @main() -> (tensor<2xi64>, tensor<3xf32>, tensor<5xi64>) {
    %x = graph.constant dense<[10, 20, 30]> : tensor<3xi64> : tensor<3xi64>
    %i = graph.constant dense<[-1, 0]> : tensor<2xi64> : tensor<2xi64>
    %g = graph.gather %x, %i {axis = 0 : i64} : tensor<3xi64>, tensor<2xi64> -> tensor<2xi64>
    %r = graph.slice %x starts <[2]> steps [-1] : tensor<3xi64> -> tensor<3xi64>
    %c = graph.cast %r : tensor<3xi64> -> tensor<3xf32>
    %j = graph.concat %x, %g {axis = 0 : i64} : (tensor<3xi64>, tensor<2xi64>) -> tensor<5xi64>
    return %g, %c, %j : tensor<2xi64>, tensor<3xf32>, tensor<5xi64>
  }
}

// -----

// A constant that would grow by megabytes stays small: the kernel repeats its elements.
// CHECK-LABEL: @bounded
// CHECK: graph.broadcast
module @bounded {
  func.func @main() -> tensor<1024x1024x2xf32> {
    %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
    %b = graph.broadcast %c [2] : tensor<2xf32> -> tensor<1024x1024x2xf32>
    return %b : tensor<1024x1024x2xf32>
  }
}
