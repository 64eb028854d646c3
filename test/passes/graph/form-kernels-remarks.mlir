// RUN: weft-opt %s -form-kernels --remarks-filter=form-kernels --remark-policy=all 2>&1 | FileCheck %s

// Every decision says why.
// CHECK: unary 'act' is an epilogue of contract 'gemm'
// CHECK: binary 'sum' starts a kernel: its result is needed in memory
module @remarks {
  func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %a = graph.contract %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("gemm")
    %r = graph.unary relu %a : tensor<8x8xf32> -> tensor<8x8xf32> loc("act")
    %s = graph.binary add %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("sum")
    return %r, %s : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
