// Every operation of the tile dialect reads back as it was written.
// RUN: weft-opt %s | weft-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @all(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: i32, %arg3: f64)
// CHECK-SAME: block = array<i64: 128, 1, 1>, index_bits = 32 : i64, min_blocks = 2 : i64, nodes = "Add"
tile.kernel @all(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32, %s: f64) attributes {block = array<i64: 128, 1, 1>, index_bits = 32 : i64, nodes = "Add", min_blocks = 2 : i64} {
  // CHECK: tile.thread_id x
  %t = tile.thread_id x
  // CHECK: tile.block_id y
  %b = tile.block_id y
  // CHECK: tile.block_dim z
  %d = tile.block_dim z
  // CHECK: tile.grid_dim x
  %g = tile.grid_dim x
  // CHECK: tile.load %arg0[%{{.*}}] {alignment = 16 : i64, nontemporal} : <1>, i32 -> vector<4xf32>
  %v = tile.load %x[%t] {alignment = 16, nontemporal} : <1>, i32 -> vector<4xf32>
  // CHECK: tile.load %arg0[%{{.*}}] {invariant} : <1>, i32 -> i1
  %c = tile.load %x[%t] {invariant} : <1>, i32 -> i1
  // CHECK: tile.shared 32 x f32
  %m = tile.shared 32 x f32
  // CHECK: tile.dynamic_shared
  %k = tile.dynamic_shared
  %f = vector.extract %v[0] : f32 from vector<4xf32>
  // CHECK: tile.shuffle bfly %{{.*}}, %{{.*}} : f32
  %o = tile.shuffle bfly %f, %b : f32
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}] : f32, <3>, i32
  tile.store %o, %m[%t] : f32, <3>, i32
  // CHECK: tile.barrier
  tile.barrier
  // CHECK: tile.store %{{.*}}, %arg1[%{{.*}}] {alignment = 16 : i64} : vector<4xf32>, <1>, i32
  tile.store %v, %y[%t] {alignment = 16} : vector<4xf32>, <1>, i32
  // CHECK: tile.return
  tile.return
}
