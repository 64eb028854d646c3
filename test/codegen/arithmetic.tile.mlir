// Arithmetic is rounded by name, operation by operation: nothing that ptxas may contract, no approximation outside the table.
// REQUIRES: compiler
// RUN: weftc %s --stop-after=ptx | FileCheck %s
// RUN: weftc %s --stop-after=ptx | FileCheck %s --check-prefix=POLICY
// RUN: weftc %s --stop-after=cubin -o %t.cubin

// POLICY-NOT: {{(add|sub|mul)\.f(32|64)}}
// POLICY-NOT: {{\.approx\.(ftz\.)?f64}}
// POLICY-NOT: {{[^r]sqrt\.approx|div\.full}}

// CHECK-LABEL: .entry rounded
// CHECK: .reqntid 256, 1, 1
// CHECK: ld.global.v4.b32
// CHECK-DAG: mul.rn.f32
// CHECK-DAG: add.rn.f32
// CHECK-DAG: sub.rn.f32
// CHECK-DAG: div.rn.f32
// CHECK-DAG: sqrt.rn.f32
// CHECK-DAG: fma.rn.f32
// CHECK-DAG: max.NaN.f32
// CHECK: st.global.v4.b32
tile.kernel @rounded(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32) attributes {block = array<i64: 256, 1, 1>, index_bits = 32 : i64, nodes = ""} {
  %t = tile.thread_id x
  %four = arith.constant 4 : i32
  %i = arith.muli %t, %four : i32
  %v = tile.load %x[%i] {alignment = 16} : <1>, i32 -> vector<4xf32>
  %a = vector.extract %v[0] : f32 from vector<4xf32>
  %b = vector.extract %v[1] : f32 from vector<4xf32>
  %c = vector.extract %v[2] : f32 from vector<4xf32>
  %d = vector.extract %v[3] : f32 from vector<4xf32>
  %0 = arith.mulf %a, %b : f32
  %1 = arith.addf %0, %c : f32
  %2 = arith.subf %1, %d : f32
  %3 = arith.divf %2, %a : f32
  %4 = math.sqrt %3 : f32
  %5 = math.fma %a, %b, %4 : f32
  %6 = arith.maximumf %5, %c : f32
  %w = vector.from_elements %1, %3, %5, %6 : vector<4xf32>
  tile.store %w, %y[%i] {alignment = 16} : vector<4xf32>, <1>, i32
  tile.return
}

// Functions come from libdevice, in its IEEE mode.
// CHECK-LABEL: .entry functions
// CHECK-NOT: call
// CHECK: st.global.b32
tile.kernel @functions(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {block = array<i64: 32, 1, 1>, index_bits = 64 : i64, nodes = ""} {
  %t = tile.thread_id x
  %i = arith.extui %t : i32 to i64
  %v = tile.load %x[%i] : <1>, i64 -> f32
  %0 = math.exp %v : f32
  %1 = math.tanh %0 : f32
  %2 = math.erf %1 : f32
  %3 = math.powf %2, %v : f32
  %4 = math.log1p %3 : f32
  %5 = arith.remf %4, %v : f32
  tile.store %5, %y[%i] : f32, <1>, i64
  tile.return
}
