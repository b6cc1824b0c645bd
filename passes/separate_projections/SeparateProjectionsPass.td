//===- SeparateProjectionsPass.td - parts of a projection ---*- tablegen -*-===//
#ifndef PDC_PASSES_SEPARATE_PROJECTIONS_SEPARATEPROJECTIONSPASS_TD
#define PDC_PASSES_SEPARATE_PROJECTIONS_SEPARATEPROJECTIONSPASS_TD

include "mlir/Pass/PassBase.td"

def SeparateProjectionsPass : Pass<"separate-projections", "::mlir::ModuleOp"> {
  let summary = "Gives the parts of a merged projection a dimension of their own, so that each of them can be split";
  let description = [{
    Queries, keys and values are often one product with a weight [in, 3 n], of which each takes n columns; so are the two
    halves of a gated unit with [in, 2 n]. A rank that takes some of the heads would need columns of each part, and a
    layout gives it one piece. With the weight as [in, parts, n], the same bytes, that is a split of the last dimension.

    It applies to an nn.linear whose weight, and whose bias if it has one, are parameters that nothing else uses, and whose
    result is only cut into two or more equal parts along its last dimension, none left out, by nn.split or nn.slice. The
    parameters keep their declared shape for initial values, weight decay and checkpoints; names of dimensions stay with
    the dimension of n. It remains one product.

    ```mlir
    %w = nn.param "qkv.weight" init(xavier) dims("model", "qkv") : tensor<8x12xf32>
    %y = nn.linear %x, %w : (tensor<2x8xf32>, tensor<8x12xf32>) -> tensor<2x12xf32>
    %q, %k, %v = nn.split %y {axis = 1 : i64, sizes = array<i64: 4, 4, 4>}
        : (tensor<2x12xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    ```

    becomes

    ```mlir
    %w = nn.param "qkv.weight" init(xavier) dims("model", "", "qkv") {declared_shape = array<i64: 8, 12>} : tensor<8x3x4xf32>
    %y = nn.linear %x, %w : (tensor<2x8xf32>, tensor<8x3x4xf32>) -> tensor<2x3x4xf32>
    %0:3 = nn.split %y {axis = 1 : i64, sizes = array<i64: 1, 1, 1>}
        : (tensor<2x3x4xf32>) -> (tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>)
    %q = nn.reshape %0#0 : tensor<2x1x4xf32> to tensor<2x4xf32>
    %k = nn.reshape %0#1 : tensor<2x1x4xf32> to tensor<2x4xf32>
    %v = nn.reshape %0#2 : tensor<2x1x4xf32> to tensor<2x4xf32>
    ```
  }];
  let dependentDialects = ["::pdc::nn::NNDialect"];
}

#endif // PDC_PASSES_SEPARATE_PROJECTIONS_SEPARATEPROJECTIONSPASS_TD
