//===- DecomposePass.td - composite ops become simpler ones -*- tablegen -*-===//
#ifndef PDC_PASSES_DECOMPOSE_DECOMPOSEPASS_TD
#define PDC_PASSES_DECOMPOSE_DECOMPOSEPASS_TD

include "mlir/Pass/PassBase.td"

def DecomposePass : Pass<"decompose", "::mlir::ModuleOp"> {
  let summary = "Replaces composite ops by the simpler ops that they stand for";
  let description = [{
    Each op knows its parts and the stage at which it is replaced (DecomposableOpInterface). At `before-autodiff` those
    go whose gradient is that of their parts: attention, batch normalization, dropout, losses. `before-fusion` replaces
    all others too: softmax, layer normalization and their gradients, whose parts become one generated kernel.

    ```mlir
    %y = nn.reduce_mean %x {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```

    With `stage=before-fusion`:

    ```mlir
    %0 = nn.reduce_sum %x {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    %1 = nn.constant dense<1.250000e-01> : tensor<f32>
    %y = nn.mul %0, %1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    ```
  }];
  let options = [
    Option<"stage", "stage", "::pdc::nn::DecomposeStage", /*default=*/"::pdc::nn::DecomposeStage::BeforeAutodiff",
           "Which ops are replaced", [{::llvm::cl::values(
             clEnumValN(::pdc::nn::DecomposeStage::BeforeAutodiff, "before-autodiff",
                        "those whose gradient is that of their parts"),
             clEnumValN(::pdc::nn::DecomposeStage::BeforeFusion, "before-fusion", "all"))}]>
  ];
  let dependentDialects = ["::pdc::nn::NNDialect"];
}

#endif // PDC_PASSES_DECOMPOSE_DECOMPOSEPASS_TD
