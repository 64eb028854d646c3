// Memory and lanes: bools are bytes, shared arrays are the kernel's own, 64-bit values cross lanes in two halves.
// REQUIRES: compiler
// RUN: weftc %s --stop-after=ptx | FileCheck %s
// RUN: weftc %s --stop-after=cubin --target=sm_90a -o %t.cubin

// CHECK: .target sm_80
// CHECK: .extern .shared .align 16 .b8 dynamic_shared[]
// CHECK-LABEL: .entry lanes
// CHECK: .minnctapersm 2
// CHECK: .shared .align 16 .b8 shared_0[256]
// CHECK: ld.global.b8
// CHECK: shfl.sync.bfly.b32
// CHECK: shfl.sync.bfly.b32
// CHECK: st.shared.b64
// CHECK: bar.sync 0
// CHECK: st.global.b8
tile.kernel @lanes(%x: !llvm.ptr<1>, %c: !llvm.ptr<1>, %n: i32) attributes {block = array<i64: 32, 1, 1>, index_bits = 32 : i64, nodes = "", min_blocks = 2 : i64} {
  %t = tile.thread_id x
  %b = tile.load %c[%t] : <1>, i32 -> i1
  %v = tile.load %x[%t] : <1>, i32 -> f64
  %two = arith.constant 2 : i32
  %o = tile.shuffle bfly %v, %two : f64
  %m = tile.shared 32 x f64
  %z = arith.constant 0.0 : f64
  %s = arith.select %b, %o, %z : f64
  tile.store %s, %m[%t] : f64, <3>, i32
  tile.barrier
  %r = tile.load %m[%n] : <3>, i32 -> f64
  %d = tile.dynamic_shared
  tile.store %r, %d[%t] : f64, <3>, i32
  %q = arith.cmpf olt, %r, %v : f64
  tile.store %q, %c[%t] : i1, <1>, i32
  tile.return
}
