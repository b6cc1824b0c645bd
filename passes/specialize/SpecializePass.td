//===- SpecializePass.td - binds the batch, expands blocks --*- tablegen -*-===//
#ifndef PDC_PASSES_SPECIALIZE_SPECIALIZEPASS_TD
#define PDC_PASSES_SPECIALIZE_SPECIALIZEPASS_TD

include "mlir/Pass/PassBase.td"

def SpecializePass : Pass<"specialize", "::mlir::ModuleOp"> {
  let summary = "Binds the batch dimension and expands blocks, so that every shape and every parameter is known";
  let description = [{
    `?` becomes the batch in the arguments of each `nn.model`, every result type is inferred again, and `nn.call` and
    `nn.repeat` are replaced by the body of their block, with their prefix before the names of its parameters. Each
    `nn.dropout` gets a `stream` of its own, counted from 0 in program order.

    ```mlir
    nn.block @layer(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %w = nn.param "fc.weight" init(kaiming) : tensor<8x8xf32>
      %y = nn.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
      nn.return %y : tensor<?x8xf32>
    }
    nn.model @m(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %h = nn.repeat 2 @layer "h" (%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
      nn.return %h : tensor<?x8xf32>
    }
    ```

    With `batch=4`:

    ```mlir
    nn.model @m(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = nn.param "h0.fc.weight" init(kaiming) : tensor<8x8xf32>
      %1 = nn.linear %x, %0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %2 = nn.param "h1.fc.weight" init(kaiming) : tensor<8x8xf32>
      %3 = nn.linear %1, %2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      nn.return %3 : tensor<4x8xf32>
    }
    ```

    The location of each op names the part of the model that it belongs to (a NameLoc; see dialects/nn/Utils/Labels.h):
    the prefix of its block, or, where it uses a parameter, that parameter's name without the last component ("h0.fc").
    A `?` that is not the batch itself, as after a reshape to `[?, 8]` that joins batch and sequence, follows from the
    number of elements. Afterwards no `nn.block`, `nn.call` or `nn.repeat` remains.
  }];
  let options = [
    Option<"batch", "batch", "int64_t", /*default=*/"::mlir::ShapedType::kDynamic",
           "Samples of one step over all ranks; may be left out where the model has no `?`">
  ];
  let dependentDialects = ["::pdc::nn::NNDialect"];
}

#endif // PDC_PASSES_SPECIALIZE_SPECIALIZEPASS_TD
