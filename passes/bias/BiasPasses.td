//===- BiasPasses.td - biases apart from products -----------*- tablegen -*-===//
#ifndef PDC_PASSES_BIAS_BIASPASSES_TD
#define PDC_PASSES_BIAS_BIASPASSES_TD

include "mlir/Pass/PassBase.td"

def ExposeBiasPass : Pass<"expose-bias", "::mlir::ModuleOp"> {
  let summary = "Takes the biases out of linear and conv2d, so that the sums in them can be split";
  let description = [{
    A product whose inner dimension is split over ranks is a partial sum on each of them, to which a bias must not be
    added by all. Apart from its product, it is added once, to the sum. `fold-bias` puts back those that nothing came in
    between of.

    ```mlir
    %y = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    ```

    becomes

    ```mlir
    %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %y = nn.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    ```
  }];
  let dependentDialects = ["::pdc::nn::NNDialect"];
}

def FoldBiasPass : Pass<"fold-bias", "::mlir::ModuleOp"> {
  let summary = "Has linear and conv2d add the bias that is added to their result and to nothing else";
  let description = [{
    The inverse of `expose-bias`, after `partition`: the library call adds a bias while the product is in registers. The
    product must have no other use.

    ```mlir
    %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %y = nn.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    ```

    becomes

    ```mlir
    %y = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    ```
  }];
  let dependentDialects = ["::pdc::nn::NNDialect"];
}

#endif // PDC_PASSES_BIAS_BIASPASSES_TD
