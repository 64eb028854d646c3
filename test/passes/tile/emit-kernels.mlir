// RUN: weft-opt %s -emit-kernels | FileCheck %s

// A kernel over a caller's memory of unknown length: 16 bytes per thread where addresses allow, and two scalar forms.
// CHECK: graph.symbol<name = "", kind = function, fn = lt, operands = <[s0, 2146435072]>>
// CHECK-LABEL: graph.kernel "add"
// CHECK-SAME: {aligned = array<i64: 0, 1, 2>, block = array<i64: 256, 1, 1>, entry = "add_wide", grid = #graph.dims<[-((-s0) floordiv 1024), 1, 1]>, guard = #graph.dims<[s1]>, index32 = true, shared = #graph.dims<[0]>, vector = 4 : i64}
// CHECK-SAME: {aligned = array<i64>, {{.*}}entry = "add_scalar", {{.*}}guard = #graph.dims<[s1]>, index32 = true
// CHECK-SAME: {aligned = array<i64>, {{.*}}entry = "add_i64", grid = #graph.dims<[-((-s0) floordiv 256), 1, 1]>, index32 = false
// CHECK-SAME: scalars = #graph.dims<[s0]>
// Between kernels everything is aligned and every shape here is known: one form is enough. Its twin shares it.
// CHECK-LABEL: graph.kernel "first"
// CHECK-SAME: launches = [{{[^}]*}}entry = "first_wide"{{.*}}vector = 4 : i64{{.}}], nodes
// CHECK-LABEL: graph.kernel "second"
// CHECK-SAME: launches = [{{[^}]*}}entry = "first_wide"{{.*}}vector = 4 : i64{{.}}], nodes

// CHECK-LABEL: tile.kernel @add_wide(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr<1>, %[[Y:.*]]: !llvm.ptr<1>, %[[Z:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32)
// CHECK: scf.if
// CHECK: tile.load %[[X]][%[[I:.*]]] {alignment = 16 : i64} : <1>, i32 -> vector<4xf32>
// CHECK: tile.load %[[Y]][%[[I]]] {alignment = 16 : i64}
// CHECK-COUNT-4: arith.addf
// CHECK: tile.store %{{.*}}, %[[Z]][%[[I]]] {alignment = 16 : i64} : vector<4xf32>
// The ragged end, element by element.
// CHECK: scf.for
// CHECK: tile.load %[[X]]{{.*}} -> f32
// CHECK-LABEL: tile.kernel @add_scalar
// CHECK-LABEL: tile.kernel @add_i64
// CHECK-SAME: i64)
// CHECK-LABEL: tile.kernel @first_wide
// Values that are used twice are computed once; 1024 elements leave no ragged end.
// CHECK-COUNT-4: math.exp
// CHECK-NOT: math.exp
// CHECK-NOT: scf.for
// CHECK-NOT: tile.kernel @first_scalar
// CHECK-NOT: tile.kernel @second
module attributes {graph.symbols = [#graph.symbol<name = "n", kind = input_dim>]} {
  func.func @main(%x: tensor<?xf32, #graph.dims<[s0]>>, %y: tensor<?xf32, #graph.dims<[s0]>>) -> tensor<?xf32, #graph.dims<[s0]>> {
    %0 = graph.kernel "add" %x, %y attributes {nodes = "Add"} {
    ^bb0(%a: tensor<?xf32, #graph.dims<[s0]>>, %b: tensor<?xf32, #graph.dims<[s0]>>):
      %c = graph.binary add %a, %b : tensor<?xf32, #graph.dims<[s0]>>, tensor<?xf32, #graph.dims<[s0]>> -> tensor<?xf32, #graph.dims<[s0]>>
      graph.yield %c : tensor<?xf32, #graph.dims<[s0]>>
    } : (tensor<?xf32, #graph.dims<[s0]>>, tensor<?xf32, #graph.dims<[s0]>>) -> tensor<?xf32, #graph.dims<[s0]>>
    %w = graph.constant dense<2.0> : tensor<1024xf32> : tensor<1024xf32>
    %1 = graph.kernel "first" %w attributes {nodes = "a"} {
    ^bb0(%a: tensor<1024xf32>):
      %e = graph.unary exp %a : tensor<1024xf32> -> tensor<1024xf32>
      %c = graph.binary mul %e, %e : tensor<1024xf32>, tensor<1024xf32> -> tensor<1024xf32>
      graph.yield %c : tensor<1024xf32>
    } : (tensor<1024xf32>) -> tensor<1024xf32>
    %2 = graph.kernel "second" %1 attributes {nodes = "b"} {
    ^bb0(%a: tensor<1024xf32>):
      %e = graph.unary exp %a : tensor<1024xf32> -> tensor<1024xf32>
      %c = graph.binary mul %e, %e : tensor<1024xf32>, tensor<1024xf32> -> tensor<1024xf32>
      graph.yield %c : tensor<1024xf32>
    } : (tensor<1024xf32>) -> tensor<1024xf32>
    return %0 : tensor<?xf32, #graph.dims<[s0]>>
  }
}
