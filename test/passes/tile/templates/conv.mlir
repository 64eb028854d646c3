// RUN: weft-opt %s --pass-pipeline='builtin.module(emit-kernels)' --split-input-file | FileCheck %s
//
// Convolutions as implicit products; a channel per group directly.

// No buffer for unfolded input: elements outside count as zero, by a select.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK: arith.cmpi ult
// CHECK: tile.load %arg0
// CHECK: arith.select
// CHECK: math.fma {{.*}} : vector<4xf32>
func.func @main(%a0: tensor<1x8x9x11xf32>, %a1: tensor<32x8x3x3xf32>) -> (tensor<1x32x9x11xf32>) {
  %r = graph.kernel "k" %a0, %a1 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<1x8x9x11xf32>, %x1: tensor<32x8x3x3xf32>):
    %y0 = graph.conv %x0, %x1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = #graph.dims<[1, 1]>, group = 1 : i64} : tensor<1x8x9x11xf32>, tensor<32x8x3x3xf32> -> tensor<1x32x9x11xf32>
    graph.yield %y0 : tensor<1x32x9x11xf32>
  } : (tensor<1x8x9x11xf32>, tensor<32x8x3x3xf32>) -> (tensor<1x32x9x11xf32>)
  return %r : tensor<1x32x9x11xf32>
}

// -----

// Pointwise: a plain product, input and weights in 16-byte loads.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK-NOT: arith.cmpi ult
// CHECK-DAG: tile.load %arg1{{.*}} {alignment = 16
// CHECK-DAG: tile.load %arg0{{.*}} {alignment = 16
func.func @main(%a0: tensor<1x64x8x8xf32>, %a1: tensor<64x64x1x1xf32>) -> (tensor<1x64x8x8xf32>) {
  %r = graph.kernel "k" %a0, %a1 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<1x64x8x8xf32>, %x1: tensor<64x64x1x1xf32>):
    %y0 = graph.conv %x0, %x1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = #graph.dims<[0, 0]>, group = 1 : i64} : tensor<1x64x8x8xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x8x8xf32>
    graph.yield %y0 : tensor<1x64x8x8xf32>
  } : (tensor<1x64x8x8xf32>, tensor<64x64x1x1xf32>) -> (tensor<1x64x8x8xf32>)
  return %r : tensor<1x64x8x8xf32>
}

// -----

// Depthwise: nine terms in a row, no shared memory.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK-NOT: tile.shared
// CHECK-COUNT-9: math.fma
// CHECK-NOT: math.fma
// CHECK: tile.return
func.func @main(%a0: tensor<1x6x9x11xf32>, %a1: tensor<6x1x3x3xf32>) -> (tensor<1x6x9x11xf32>) {
  %r = graph.kernel "k" %a0, %a1 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<1x6x9x11xf32>, %x1: tensor<6x1x3x3xf32>):
    %y0 = graph.conv %x0, %x1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = #graph.dims<[1, 1]>, group = 6 : i64} : tensor<1x6x9x11xf32>, tensor<6x1x3x3xf32> -> tensor<1x6x9x11xf32>
    graph.yield %y0 : tensor<1x6x9x11xf32>
  } : (tensor<1x6x9x11xf32>, tensor<6x1x3x3xf32>) -> (tensor<1x6x9x11xf32>)
  return %r : tensor<1x6x9x11xf32>
}
