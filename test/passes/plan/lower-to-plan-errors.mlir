// RUN: weft-opt %s -lower-to-plan -split-input-file -verify-diagnostics

// A module without the function that is the model.
// expected-error@+1 {{expected a function named main}}
module {
}

// -----

// An operation that form-kernels has not seen.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no form in a plan; run form-kernels first}}
  %0 = graph.unary relu %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A kernel for which no code was made.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no launches; run emit-kernels first}}
  %0 = graph.kernel "k" %x attributes {nodes = "n"} {
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Scan outputs need room that is known before the loop.
module attributes {graph.symbols = [#graph.symbol<name = "i", kind = defined>, #graph.symbol<name = "n", kind = defined>]} {
func.func @main(%x: tensor<4xf32>) -> tensor<?x4xf32, #graph.dims<[s1, 4]>> {
  // expected-error@+1 {{stacks 1 scan outputs over a number of iterations that is not known before; give it a trip count}}
  %r:2 = graph.loop %x attributes {trip_count = #graph.dims<[]>, condition = #graph.dims<[1]>, body_condition = #graph.dims<[]>, iteration = 0 : i64, trips = 1 : i64} {
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #graph.dims<[s1, 4]>>)
  return %r#1 : tensor<?x4xf32, #graph.dims<[s1, 4]>>
}
}
