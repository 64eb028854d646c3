// RUN: weft-opt %s -assign-lifetimes | FileCheck %s

// A buffer lives from the instruction that writes it to the last that reads it, also through a view or inside a branch;
// a buffer of a branch is counted in the branch's own block.
// CHECK: %[[A:.*]] = plan.alloc live 0 to 2 : tensor<4xf32>
// CHECK: %[[V:.*]] = plan.view %[[A]]
// CHECK: %[[B:.*]] = plan.alloc live 1 to 1 : tensor<4xf32>
// CHECK: plan.if
// CHECK: plan.alloc live 0 to 1 : tensor<2x2xf32>
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %o = plan.output 0 : tensor<4xf32>
    %a = plan.alloc : tensor<4xf32>
    plan.copy %x to %a : tensor<4xf32> to tensor<4xf32>
    %v = plan.view %a at <[0]> : tensor<4xf32> -> tensor<2x2xf32>
    %b = plan.alloc : tensor<4xf32>
    plan.copy %x to %b : tensor<4xf32> to tensor<4xf32>
    plan.if <[1]> {
      %c = plan.alloc : tensor<2x2xf32>
      plan.copy %v to %c : tensor<2x2xf32> to tensor<2x2xf32>
      plan.copy %c to %o : tensor<2x2xf32> to tensor<4xf32>
    } else {
      plan.fill %o with 0 : tensor<4xf32>
    }
    return %o : tensor<4xf32>
  }
}
