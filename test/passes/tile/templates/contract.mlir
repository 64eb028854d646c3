// RUN: weft-opt %s --pass-pipeline='builtin.module(emit-kernels)' --split-input-file | FileCheck %s
//
// The matrix product engine and its small forms.

// Divisible extents: 16-byte loads from memory, 16-byte loads of both panels, one barrier per step, fused multiply-add on vectors.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK: tile.shared 2176 x f32
// CHECK: tile.shared 2176 x f32
// CHECK: tile.load %arg0[{{.*}}] {alignment = 16 : i64{{.*}}} : <1>, i32 -> vector<4xf32>
// CHECK: tile.barrier
// CHECK: scf.for
// CHECK: tile.load {{.*}} {alignment = 16 : i64} : <3>, i32 -> vector<4xf32>
// CHECK: math.fma {{.*}} : vector<4xf32>
// CHECK: tile.barrier
// CHECK: tile.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, <1>, i32
func.func @main(%a0: tensor<1024x512xf32>, %a1: tensor<512x1024xf32>) -> (tensor<1024x1024xf32>) {
  %r = graph.kernel "k" %a0, %a1 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<1024x512xf32>, %x1: tensor<512x1024xf32>):
    %y0 = graph.contract %x0, %x1 : tensor<1024x512xf32>, tensor<512x1024xf32> -> tensor<1024x1024xf32>
    graph.yield %y0 : tensor<1024x1024xf32>
  } : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> (tensor<1024x1024xf32>)
  return %r : tensor<1024x1024xf32>
}

// -----

// A small product: four groups of threads share K and are added in order through shared memory.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK-COUNT-2: tile.shared 2304 x f32
// CHECK: tile.shared 3072 x f32
// CHECK: arith.addf {{.*}} : vector<4xf32>
func.func @main(%a0: tensor<33x512xf32>, %a1: tensor<512x40xf32>) -> (tensor<33x40xf32>) {
  %r = graph.kernel "k" %a0, %a1 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<33x512xf32>, %x1: tensor<512x40xf32>):
    %y0 = graph.contract %x0, %x1 : tensor<33x512xf32>, tensor<512x40xf32> -> tensor<33x40xf32>
    graph.yield %y0 : tensor<33x40xf32>
  } : (tensor<33x512xf32>, tensor<512x40xf32>) -> (tensor<33x40xf32>)
  return %r : tensor<33x40xf32>
}

// -----

// One row: no panels; lanes take neighbouring columns and the warps share K.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK-NOT: tile.shared
// CHECK: tile.load %arg1
// CHECK: math.fma {{.*}} : f32
// CHECK: tile.shared 256 x f32
// CHECK: tile.barrier
func.func @main(%a0: tensor<1x512xf32>, %a1: tensor<512x40xf32>) -> (tensor<1x40xf32>) {
  %r = graph.kernel "k" %a0, %a1 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<1x512xf32>, %x1: tensor<512x40xf32>):
    %y0 = graph.contract %x0, %x1 : tensor<1x512xf32>, tensor<512x40xf32> -> tensor<1x40xf32>
    graph.yield %y0 : tensor<1x40xf32>
  } : (tensor<1x512xf32>, tensor<512x40xf32>) -> (tensor<1x40xf32>)
  return %r : tensor<1x40xf32>
}

// -----

// One row and a matrix transposed in memory: a warp per column, lanes along K in 16-byte loads.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK-NOT: tile.shared
// CHECK: tile.load %arg1{{.*}} {alignment = 16
// CHECK: tile.shuffle bfly
func.func @main(%a0: tensor<1x512xf32>, %a1: tensor<40x512xf32>) -> (tensor<1x40xf32>) {
  %r = graph.kernel "k" %a0, %a1 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<1x512xf32>, %x1: tensor<40x512xf32>):
    %t = graph.transpose %x1 [1, 0] : tensor<40x512xf32> -> tensor<512x40xf32>
    %y0 = graph.contract %x0, %t : tensor<1x512xf32>, tensor<512x40xf32> -> tensor<1x40xf32>
    graph.yield %y0 : tensor<1x40xf32>
  } : (tensor<1x512xf32>, tensor<40x512xf32>) -> (tensor<1x40xf32>)
  return %r : tensor<1x40xf32>
}

// -----

// Half precision is multiplied and added up in f32 and rounded once.
// CHECK-LABEL: tile.kernel @k_wide
// CHECK: arith.extf {{.*}} : f16 to f32
// CHECK: math.fma {{.*}} : vector<4xf32>
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @main(%a0: tensor<64x64xf16>, %a1: tensor<64x64xf16>) -> (tensor<64x64xf16>) {
  %r = graph.kernel "k" %a0, %a1 attributes {nodes = "n"} {
  ^bb0(%x0: tensor<64x64xf16>, %x1: tensor<64x64xf16>):
    %y0 = graph.contract %x0, %x1 : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
    graph.yield %y0 : tensor<64x64xf16>
  } : (tensor<64x64xf16>, tensor<64x64xf16>) -> (tensor<64x64xf16>)
  return %r : tensor<64x64xf16>
}
