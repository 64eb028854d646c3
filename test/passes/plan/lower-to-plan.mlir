// RUN: weft-opt %s -lower-to-plan -assign-lifetimes -split-input-file | FileCheck %s

// A returned kernel result is written to the output at once, also through a reshape; an input that is returned is copied.
// CHECK-LABEL: @outputs
// CHECK: %[[O:.*]] = plan.output 0 : tensor<4xf32>
// CHECK: %[[V:.*]] = plan.view %[[O]] at <[0]> : tensor<4xf32> -> tensor<2x2xf32>
// CHECK: %[[P:.*]] = plan.output 1
// CHECK: plan.launch @k(%{{.*}} : tensor<2x2xf32>) -> (%[[V]] : tensor<2x2xf32>) scalars <[2]>
// CHECK: plan.copy %{{.*}} to %[[P]]
// CHECK: return %[[O]], %[[P]]
// CHECK: plan.kernel @k of "n" [{entry = "k_v"}]
module @outputs {
  func.func @main(%x: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
    %0 = graph.kernel "k" %x attributes {nodes = "n", launches = [{entry = "k_v"}], scalars = #graph.dims<[2]>} {
    ^bb0(%a: tensor<2x2xf32>):
      graph.yield %a : tensor<2x2xf32>
    } : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = graph.reshape %0 : tensor<2x2xf32> -> tensor<4xf32>
    return %1, %x : tensor<4xf32>, tensor<2x2xf32>
  }
}

// -----

// An intermediate value lives in the arena; a use in a branch counts for the instruction that holds it.
// CHECK-LABEL: @branch
// CHECK: %[[O:.*]] = plan.output 0
// CHECK: %[[A:.*]] = plan.alloc live 0 to 1 : tensor<4xf32>
// CHECK: plan.launch @k
// CHECK: plan.if <[s0]>
// CHECK: plan.launch @l(%[[A]] : tensor<4xf32>) -> (%[[O]] : tensor<4xf32>)
// CHECK: else
// CHECK: plan.copy %{{.*}} to %[[O]]
module @branch attributes {graph.symbols = [#graph.symbol<name = "", kind = input_element, input = 1>]} {
  func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
    %0 = graph.kernel "k" %x attributes {nodes = "n", launches = [], scalars = #graph.dims<[]>} {
    ^bb0(%a: tensor<4xf32>):
      graph.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %1 = graph.if #graph.dims<[s0]> {
      %2 = graph.kernel "l" %0 attributes {nodes = "n", launches = [], scalars = #graph.dims<[]>} {
      ^bb0(%a: tensor<4xf32>):
        graph.yield %a : tensor<4xf32>
      } : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %2 : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    } : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// A loop's state is a buffer that each iteration overwrites at its end; swapped values go through copies; scan rows stack up.
// CHECK-LABEL: @loop
// CHECK-DAG: %[[S0:.*]] = plan.alloc live 0 to [[#]]
// CHECK: plan.copy %{{.*}} to %[[S0]]
// CHECK: %[[S1:.*]] = plan.alloc
// CHECK: %[[ST:.*]] = plan.alloc {{.*}} : tensor<5x4xf32>
// CHECK: plan.set_symbol 1 to <[0]>
// CHECK: plan.loop trips <[5]> iteration 0 {
// CHECK: plan.view %[[ST]] at <[s0 * 16]>
// CHECK: plan.copy %[[S1]] to %[[T0:.*]] : {{.*}}
// CHECK: plan.copy %[[S0]] to %[[T1:.*]] : {{.*}}
// CHECK: plan.copy %[[T0]] to %[[S0]]
// CHECK: plan.copy %[[T1]] to %[[S1]]
// CHECK: plan.set_symbol 1 to <[s0 + 1]>
module @loop attributes {graph.symbols = [#graph.symbol<name = "i", kind = defined>, #graph.symbol<name = "n", kind = defined>]} {
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32, #graph.dims<[s1, 4]>>) {
    %r:3 = graph.loop %x, %y attributes {trip_count = #graph.dims<[5]>, condition = #graph.dims<[]>, body_condition = #graph.dims<[]>, iteration = 0 : i64, trips = 1 : i64} {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      graph.yield %b, %a, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    } : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32, #graph.dims<[s1, 4]>>)
    return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32, #graph.dims<[s1, 4]>>
  }
}

// -----

// What is read back from a constant is known before the run: symbols are set, and nothing waits for the device.
// CHECK-LABEL: @read_constant
// CHECK-NOT: plan.read_back
// CHECK: plan.set_symbol 0 to <[7]>
// CHECK: plan.set_symbol 1 to <[-2]>
module @read_constant attributes {graph.symbols = [#graph.symbol<name = "a", kind = defined>, #graph.symbol<name = "b", kind = defined>]} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c = graph.constant dense<[7, -2]> : tensor<2xi64> : tensor<2xi64>
    graph.read_back %c [0, 1] : tensor<2xi64>
    return %x : tensor<4xf32>
  }
}
