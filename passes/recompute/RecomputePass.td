//===- RecomputePass.td - activations that are not kept -----*- tablegen -*-===//
#ifndef PDC_PASSES_RECOMPUTE_RECOMPUTEPASS_TD
#define PDC_PASSES_RECOMPUTE_RECOMPUTEPASS_TD

include "mlir/Pass/PassBase.td"

def RecomputePass : Pass<"recompute", "::mlir::ModuleOp"> {
  let summary = "Lets backward passes compute again what forward passes do not keep";
  let description = [{
    Takes planned steps, of a pipeline's stages or whole, of a module that says what each stage computes again
    (`dist.recompute`), `none`, `full` or `selective`. Where a backward op needs a value of its micro-batch's forward pass that
    is not kept, copies of the ops that make it from kept values stand before it, behind a `dist.optimization_barrier`.

    - `full` cuts the forward pass into segments and keeps what is alive at their borders, the borders chosen for the least
      memory: what is kept, for all micro-batches that the schedule has in flight, and what the backward pass needs of one
      segment. Where a micro-batch's backward follows its forward pass at once, the last segment is not computed again.
    - `selective` keeps the least of which all that is needed can be made without products with parameters and without
      communication: of a transformer, the attention core, normalizations and activations are computed again.

    ```mlir
    %1 = nn.gelu %0 : tensor<4x8xf32>
    %2 = nn.linear %1, %w2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    ...
    %dw2 = nn.linear_grad_weight %1, %d2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %d0 = nn.gelu_grad %d1, %0 : tensor<4x8xf32>
    ```

    becomes

    ```mlir
    %1 = nn.gelu %0 : tensor<4x8xf32>
    %2 = nn.linear %1, %w2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    ...
    %3:2 = dist.optimization_barrier %0, %d2 : tensor<4x8xf32>, tensor<4x8xf32>
    %4 = nn.gelu %3#0 : tensor<4x8xf32>
    %dw2 = nn.linear_grad_weight %4, %d2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %d0 = nn.gelu_grad %d1, %3#0 : tensor<4x8xf32>
    ```

    A copy has the operands and attributes of its original: a dropout mask is drawn from the same stream at the same places,
    weights have the version that the forward pass met. What is no part of the backward pass, as the running statistics of
    batch_norm, is not copied. Copied collectives stand in the same order on all ranks.

    Of a step of kind "gradient" a copy is left with `dist.reference`, for `verify`, unless there is one.
  }];
  let dependentDialects = ["::pdc::dist::DistDialect", "::pdc::nn::NNDialect"];
}

#endif // PDC_PASSES_RECOMPUTE_RECOMPUTEPASS_TD
