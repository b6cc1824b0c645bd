//===- LowerPass.td - from steps to rank programs -----------*- tablegen -*-===//
#ifndef PDC_PASSES_LOWER_LOWERPASS_TD
#define PDC_PASSES_LOWER_LOWERPASS_TD

include "mlir/Pass/PassBase.td"

def LowerPass : Pass<"lower", "::mlir::ModuleOp"> {
  let summary = "Turns steps on local shapes into lists of instructions over buffers";
  let description = [{
    Values become buffers or views of buffers:

    - reshape, transpose and slice are views where strides allow; a consumer that cannot take them gets a dense copy;
    - the parts of a concat are computed in its buffer, and what is all-reduced is computed in one piece of shared
      memory per all-reduce, so that one collective covers a whole bucket of gradients;
    - a result that a fusion computes in an operand's place (`donate`) takes the operand's buffer where nothing else
      needs it any more; new values of parameters, optimizer state and state end in the buffers of the old ones;
    - an all-reduce starts where its last operand exists and ends right before the first use of a result;
    - of an optimization barrier nothing is left: the order of the ops is that of the instructions.

    An nn.fusion becomes an `rt.define`, once per body and memory layout, and an `rt.kernel`; a library op becomes an
    `rt.library` with the views that the op asks for.

    ```mlir
    %1 = nn.linear %x, %w, %b : (tensor<4x784xf32>, tensor<784x512xf32>, tensor<512xf32>) -> tensor<4x512xf32>
    ```

    becomes

    ```mlir
    %1 = rt.buffer activation private "fc1 matmul" : memref<4x512xf32>
    rt.library "matmul" "fc1 matmul" reads(%x, %w, %b : ...) writes(%1 : memref<4x512xf32>) integers {} floats {}
    ```
  }];
  let dependentDialects = ["::pdc::rt::RtDialect"];
}

#endif // PDC_PASSES_LOWER_LOWERPASS_TD
