// A channel's bias: runs stay within one channel, whose number takes one division over the merged inner dimensions.
// RUN: weft-opt %s -emit-kernels | FileCheck %s

// 14 is no multiple of 4, but 14 * 14 is: the wide form needs no guard for it.
// CHECK-LABEL: graph.kernel "static"
// CHECK-SAME: entry = "static_wide"
// CHECK-SAME: scalars = #graph.dims<[]>
// An unknown width: the wide form is used where it is a multiple of 4.
// CHECK-LABEL: graph.kernel "dynamic"
// CHECK-SAME: entry = "dynamic_wide"{{[^}]*}}guard = #graph.dims
// CHECK-SAME: entry = "dynamic_scalar"

// CHECK-LABEL: tile.kernel @static_wide
// CHECK: %[[SIZE:.*]] = arith.constant 196 : i32
// CHECK: %[[CHANNEL:.*]] = arith.divui %{{.*}}, %[[SIZE]]
// CHECK: tile.load %arg1[%{{.*}}] : <1>, i32 -> f32
// CHECK-COUNT-4: arith.mulf
// CHECK-LABEL: tile.kernel @dynamic_wide
module attributes {graph.symbols = [#graph.symbol<name = "w", kind = input_dim>]} {
  func.func @main(%x: tensor<2x8x14x14xf32>, %b: tensor<8xf32>, %d: tensor<8x?xf32, #graph.dims<[8, s0]>>) -> (tensor<2x8x14x14xf32>, tensor<8x?xf32, #graph.dims<[8, s0]>>) {
    %0 = graph.kernel "static" %x, %b attributes {nodes = ""} {
    ^bb0(%a: tensor<2x8x14x14xf32>, %s: tensor<8xf32>):
      %r = graph.broadcast %s [1] : tensor<8xf32> -> tensor<2x8x14x14xf32>
      %c = graph.binary mul %a, %r : tensor<2x8x14x14xf32>, tensor<2x8x14x14xf32> -> tensor<2x8x14x14xf32>
      graph.yield %c : tensor<2x8x14x14xf32>
    } : (tensor<2x8x14x14xf32>, tensor<8xf32>) -> tensor<2x8x14x14xf32>
    %1 = graph.kernel "dynamic" %d, %b attributes {nodes = ""} {
    ^bb0(%a: tensor<8x?xf32, #graph.dims<[8, s0]>>, %s: tensor<8xf32>):
      %r = graph.broadcast %s [0] : tensor<8xf32> -> tensor<8x?xf32, #graph.dims<[8, s0]>>
      %c = graph.binary mul %a, %r : tensor<8x?xf32, #graph.dims<[8, s0]>>, tensor<8x?xf32, #graph.dims<[8, s0]>> -> tensor<8x?xf32, #graph.dims<[8, s0]>>
      graph.yield %c : tensor<8x?xf32, #graph.dims<[8, s0]>>
    } : (tensor<8x?xf32, #graph.dims<[8, s0]>>, tensor<8xf32>) -> tensor<8x?xf32, #graph.dims<[8, s0]>>
    return %0, %1 : tensor<2x8x14x14xf32>, tensor<8x?xf32, #graph.dims<[8, s0]>>
  }
}
