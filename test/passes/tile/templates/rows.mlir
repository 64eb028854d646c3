// RUN: weft-opt %s --pass-pipeline='builtin.module(emit-kernels)' --split-input-file | FileCheck %s
//
// Reductions, softmax and normalisation: one launch, each element read once.

// A short row: a warp, no barrier.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK: tile.load %arg0{{.*}} -> vector<4xf32>
// CHECK-COUNT-5: tile.shuffle bfly
// CHECK-NOT: tile.barrier
// CHECK: tile.return
func.func @main(%a0: tensor<33x256xf32>) -> (tensor<33xf32>) {
  %r = graph.kernel "k" %a0 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<33x256xf32>):
    %y0 = graph.reduce sum %x0 [1] : tensor<33x256xf32> -> tensor<33xf32>
    graph.yield %y0 : tensor<33xf32>
  } : (tensor<33x256xf32>) -> (tensor<33xf32>)
  return %r : tensor<33xf32>
}

// -----

// Rows across memory: lanes side by side, warps share the positions.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK: tile.shared 256 x f32
// CHECK: tile.barrier
// CHECK: tile.store
func.func @main(%a0: tensor<500x33xf32>) -> (tensor<33xf32>) {
  %r = graph.kernel "k" %a0 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<500x33xf32>):
    %y0 = graph.reduce max %x0 [0] : tensor<500x33xf32> -> tensor<33xf32>
    graph.yield %y0 : tensor<33xf32>
  } : (tensor<500x33xf32>) -> (tensor<33xf32>)
  return %r : tensor<33xf32>
}

// -----

// Softmax of a row that fits in registers: loads before the first shuffle only.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK-COUNT-2: tile.load %arg0
// CHECK-COUNT-10: tile.shuffle
// CHECK-NOT: tile.load
// CHECK-COUNT-2: tile.store
// CHECK-NOT: tile.store
// CHECK: tile.return
func.func @main(%a0: tensor<33x256xf32>) -> (tensor<33x256xf32>) {
  %r = graph.kernel "k" %a0 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<33x256xf32>):
    %y0 = graph.softmax %x0 {axis = 1 : i64} : tensor<33x256xf32> -> tensor<33x256xf32>
    graph.yield %y0 : tensor<33x256xf32>
  } : (tensor<33x256xf32>) -> (tensor<33x256xf32>)
  return %r : tensor<33x256xf32>
}

// -----

// Normalisation with its unused statistics: only y is stored.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK: tile.load %arg0
// CHECK-COUNT-10: tile.shuffle
// CHECK-NOT: tile.load
// CHECK-COUNT-2: tile.store
// CHECK-NOT: tile.store
// CHECK: tile.return
func.func @main(%a0: tensor<33x256xf32>) -> (tensor<33x256xf32>) {
  %r = graph.kernel "k" %a0 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<33x256xf32>):
    %y0, %m, %i = graph.normalize %x0 [1] {epsilon = 1.0e-5 : f64} : tensor<33x256xf32> -> tensor<33x256xf32>, tensor<33x1xf32>, tensor<33x1xf32>
    graph.yield %y0 : tensor<33x256xf32>
  } : (tensor<33x256xf32>) -> (tensor<33x256xf32>)
  return %r : tensor<33x256xf32>
}
