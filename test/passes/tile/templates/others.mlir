// RUN: weft-opt %s --pass-pipeline='builtin.module(emit-kernels)' --split-input-file | FileCheck %s
//
// Pooling, recurrent layers, scans, selection.

// A small window is unrolled.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK-COUNT-9: tile.load %arg0
// CHECK-NOT: tile.load
// CHECK: tile.store
func.func @main(%a0: tensor<2x3x9x11xf32>) -> (tensor<2x3x5x6xf32>) {
  %r = graph.kernel "k" %a0 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<2x3x9x11xf32>):
    %y0 = graph.pool max %x0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = #graph.dims<[1, 1]>, pads_high = #graph.dims<[1, 1]>} : tensor<2x3x9x11xf32> -> tensor<2x3x5x6xf32>
    graph.yield %y0 : tensor<2x3x5x6xf32>
  } : (tensor<2x3x9x11xf32>) -> (tensor<2x3x5x6xf32>)
  return %r : tensor<2x3x5x6xf32>
}

// -----

// The state stays in shared memory: 7 arrays of 128.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK: tile.shared 896 x f32
// CHECK: scf.for
// CHECK: tile.load %arg1{{.*}} -> vector<4xf32>
// CHECK: tile.barrier
// CHECK: math.tanh
func.func @main(%a0: tensor<1x7x3x512xf32>, %a1: tensor<1x512x128xf32>) -> (tensor<7x1x3x128xf32>) {
  %r = graph.kernel "k" %a0, %a1 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<1x7x3x512xf32>, %x1: tensor<1x512x128xf32>):
    %y0, %y1, %y2 = graph.recurrent lstm %x0, %x1 {activations = ["Sigmoid", "Tanh", "Tanh"], alphas = array<f32: 0.0, 0.0, 0.0>, betas = array<f32: 0.0, 0.0, 0.0>, reverse = array<i1: false>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0>} : (tensor<1x7x3x512xf32>, tensor<1x512x128xf32>) -> (tensor<7x1x3x128xf32>, tensor<1x3x128xf32>, tensor<1x3x128xf32>)
    graph.yield %y0 : tensor<7x1x3x128xf32>
  } : (tensor<1x7x3x512xf32>, tensor<1x512x128xf32>) -> (tensor<7x1x3x128xf32>)
  return %r : tensor<7x1x3x128xf32>
}

// -----

// A long row is scanned in pieces that carry the running value.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK: scf.for {{.*}} iter_args
// CHECK: tile.shuffle up
// CHECK: tile.barrier
// CHECK: tile.store
func.func @main(%a0: tensor<2x3000xf32>) -> (tensor<2x3000xf32>) {
  %r = graph.kernel "k" %a0 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<2x3000xf32>):
    %y0 = graph.scan sum %x0 {axis = 1 : i64} : tensor<2x3000xf32> -> tensor<2x3000xf32>
    graph.yield %y0 : tensor<2x3000xf32>
  } : (tensor<2x3000xf32>) -> (tensor<2x3000xf32>)
  return %r : tensor<2x3000xf32>
}

// -----

// A short row is sorted in shared memory.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK: tile.shared 512 x f32
// CHECK: tile.shared 512 x i32
// CHECK: tile.barrier
func.func @main(%a0: tensor<5x300xf32>) -> (tensor<5x20xf32>, tensor<5x20xi64>) {
  %r:2 = graph.kernel "k" %a0 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<5x300xf32>):
    %y0, %y1 = graph.topk %x0 {axis = 1 : i64} : tensor<5x300xf32> -> tensor<5x20xf32>, tensor<5x20xi64>
    graph.yield %y0, %y1 : tensor<5x20xf32>, tensor<5x20xi64>
  } : (tensor<5x300xf32>) -> (tensor<5x20xf32>, tensor<5x20xi64>)
  return %r#0, %r#1 : tensor<5x20xf32>, tensor<5x20xi64>
}

// -----

// One CTA compacts; the count comes last.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK-SAME: array<i64: 1024, 1, 1>
// CHECK: scf.for
// CHECK: tile.store {{.*}} : i64
// CHECK: tile.return
func.func @main(%a0: tensor<5x700xf32>) -> (tensor<i64>, tensor<2x3500xi64>) {
  %r:2 = graph.kernel "k" %a0 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<5x700xf32>):
    %y0, %y1 = graph.nonzero %x0 : tensor<5x700xf32> -> tensor<i64>, tensor<2x3500xi64>
    graph.yield %y0, %y1 : tensor<i64>, tensor<2x3500xi64>
  } : (tensor<5x700xf32>) -> (tensor<i64>, tensor<2x3500xi64>)
  return %r#0, %r#1 : tensor<i64>, tensor<2x3500xi64>
}
