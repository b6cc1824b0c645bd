//===- FusePass.td - groups of ops become kernels -----------*- tablegen -*-===//
#ifndef PDC_PASSES_FUSE_FUSEPASS_TD
#define PDC_PASSES_FUSE_FUSEPASS_TD

include "mlir/Pass/PassBase.td"

def FusePass : Pass<"fuse", "::mlir::ModuleOp"> {
  let summary = "Groups elementwise ops, reductions and constants into the kernels that they become";
  let description = [{
    In each `nn.step`, composite ops are decomposed and what can be generated code is grouped into `nn.fusion` ops, each
    of which becomes one kernel. Outside of them remain library calls, reshapes, transposes, slices, pads, concats and
    collectives.

    An op joins the groups of its producers where all of it can run over one set of loops, so that values between them
    are never stored: a softmax or layer normalization with what follows it is one kernel over rows, a bias gradient with
    what precedes it is one over columns. A join must not

    - make a cycle through an op outside the group;
    - delay a value that an op outside needs (a gradient's all_reduce starts where it did);
    - keep larger values alive than it saves.

    Numbers of type tensor<i64>, which say where the part begins that an op works on, are operands: kernels that differ in
    nothing else are one, as those of the micro-batches are, and the numbers constants of the program.

    Values that cost less to compute again than to load (dropout masks, casts, broadcast scalars, a normalized input
    given its mean and deviation) are computed in every group that uses them. An update of a parameter and its optimizer
    state is one group, and runs in their memory (`donate`), after every other use of the old values.

    ```mlir
    %0 = nn.mul %x, %scale : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %1 = nn.relu %0 : tensor<4x8xf32>
    ```

    becomes

    ```mlir
    %1 = nn.fusion(%a = %x : tensor<4x8xf32>, %b = %scale : tensor<8xf32>) -> tensor<4x8xf32>
        attributes {label = "mul relu"} {
      %2 = nn.mul %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
      %3 = nn.relu %2 : tensor<4x8xf32>
      nn.yield %3 : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::pdc::nn::NNDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // PDC_PASSES_FUSE_FUSEPASS_TD
