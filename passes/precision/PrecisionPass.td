//===- PrecisionPass.td - the type that a model computes in -*- tablegen -*-===//
#ifndef PDC_PASSES_PRECISION_PRECISIONPASS_TD
#define PDC_PASSES_PRECISION_PRECISIONPASS_TD

include "mlir/Pass/PassBase.td"

def PrecisionPass : Pass<"precision", "::mlir::ModuleOp"> {
  let summary = "Lets a model compute in bf16, with parameters, statistics and losses in f32";
  let description = [{
    Mixed precision (Micikevicius et al. 2018; bf16 has the exponents of f32 and needs no loss scale). Runs before
    autodiff: gradients flow through the casts, so that each parameter's gradient is f32, as the parameter is.

    - Parameters and states stay f32; a parameter that is used in bf16 is cast once.
    - Inputs in f32 are cast where they are used in bf16. Results of the model keep their types.
    - An op with operands that need f32 says so (MixedPrecisionOpInterface): scale, bias and running statistics of
      normalizations, tables of embeddings, both operands of mse.
    - Any other op whose results are all scalars, such as a loss written by hand, computes in f32.
    - Everything else computes in bf16.

    ```mlir
    nn.model @m(%x: tensor<4x8xf32>) -> (loss: tensor<f32>) {
      %w = nn.param "fc.weight" init(kaiming) : tensor<8x8xf32>
      %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
      nn.return %loss : tensor<f32>
    }
    ```

    With `type=bf16`:

    ```mlir
    nn.model @m(%x: tensor<4x8xf32>) -> (loss: tensor<f32>) {
      %0 = nn.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
      %w = nn.param "fc.weight" init(kaiming) : tensor<8x8xf32>
      %1 = nn.cast %w : tensor<8x8xf32> to tensor<8x8xbf16>
      %y = nn.linear %0, %1 : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
      %2 = nn.cast %y : tensor<4x8xbf16> to tensor<4x8xf32>
      %loss = nn.reduce_sum %2 {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
      nn.return %loss : tensor<f32>
    }
    ```

    `type=f32` changes nothing: models are written in f32.
  }];
  let options = [
    Option<"type", "type", "::pdc::passes::ComputeType", /*default=*/"::pdc::passes::ComputeType::F32",
           "What most ops compute in", [{::llvm::cl::values(
             clEnumValN(::pdc::passes::ComputeType::F32, "f32", "single precision"),
             clEnumValN(::pdc::passes::ComputeType::BF16, "bf16", "bfloat16, with f32 parameters"))}]>
  ];
  let dependentDialects = ["::pdc::nn::NNDialect"];
}

#endif // PDC_PASSES_PRECISION_PRECISIONPASS_TD
