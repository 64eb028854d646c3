module @add attributes {graph.symbols = [#graph.symbol<name = "n", kind = input_dim>]} {
  func.func @main(%a: tensor<?xf32, #graph.dims<[s0]>> {weft.name = "a", weft.dim_names = ["n"]}, %b: tensor<?xf32, #graph.dims<[s0]>> {weft.name = "b", weft.dim_names = ["n"]}) -> (tensor<?xf32, #graph.dims<[s0]>> {weft.name = "c", weft.dim_names = ["n"]}) {
    %0 = graph.binary add %a, %b : tensor<?xf32, #graph.dims<[s0]>>, tensor<?xf32, #graph.dims<[s0]>> -> tensor<?xf32, #graph.dims<[s0]>> loc("add")
    return %0 : tensor<?xf32, #graph.dims<[s0]>>
  }
}
