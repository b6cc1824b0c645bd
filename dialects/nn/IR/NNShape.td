//===- NNShape.td - shapes and reductions -------------------*- tablegen -*-===//
#ifndef PDC_DIALECTS_NN_IR_NNSHAPE_TD
#define PDC_DIALECTS_NN_IR_NNSHAPE_TD

include "dialects/nn/IR/NNBase.td"

defvar ShapeTraits = [NN_CostOpInterface, NN_ForwardsIds, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>];

def NN_ReshapeOp : NN_TypedOp<"reshape", ShapeTraits> {
  let summary = "The same elements in row-major order under another shape; costs nothing";
  let description = [{ At most one dimension may be `?`: it follows from the number of elements. }];
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_TransposeOp : NN_InferredOp<"transpose", ShapeTraits> {
  let summary = "Permutes dimensions: result dimension i is input dimension permutation[i]";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs NN_Tensor:$result);
  let hasFolder = 1;
}

def NN_BroadcastOp : NN_TypedOp<"broadcast", ShapeTraits # [DeclareOpInterfaceMethods<NN_ElementwiseOpInterface>]> {
  let summary = "Stretches dimensions of size one, and adds leading ones, as in numpy";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_SliceOp : NN_InferredOp<"slice", [NN_CostOpInterface, NN_ForwardsIds,
    DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>,
    BuiltLocally]> {
  let summary = "A part of a tensor";
  let description = [{
    Per dimension: `offsets`, `sizes` (-1: the whole dimension, the only choice for the batch), `strides` (default 1).
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$sizes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides);
  let results = (outs NN_Tensor:$result);
  let hasFolder = 1;
}

def NN_PadOp : NN_InferredOp<"pad", ShapeTraits> {
  let summary = "Adds `low` and `high` elements of `value` at the ends of each dimension";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs NN_Tensor:$result);
  let hasFolder = 1;
}

def NN_ConcatOp : NN_InferredOp<"concat", ShapeTraits> {
  let summary = "Joins tensors along a dimension";
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let hasFolder = 1;
}

def NN_SplitOp : NN_InferredOp<"split", [NN_CostOpInterface, NN_ForwardsIds,
    DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<NN_DecomposableOpInterface>]> {
  let summary = "Cuts a tensor along a dimension into parts of `sizes`; becomes slices";
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis, DenseI64ArrayAttr:$sizes);
  let results = (outs Variadic<NN_Tensor>:$results);
}

/// Over `axes`; the reduced dimensions are dropped, or kept with size one under `keep_dims`.
class NN_ReductionOp<string mnemonic, list<Trait> traits = []> : NN_InferredOp<mnemonic, traits # [
    DeclareOpInterfaceMethods<NN_CostOpInterface>, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let arguments = (ins NN_FloatTensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keep_dims);
  let results = (outs NN_FloatTensor:$result);
}
def NN_ReduceSumOp : NN_ReductionOp<"reduce_sum"> {
  let summary = "Sum over dimensions; bf16 and f16 add in f32";
  let hasFolder = 1;
}
def NN_ReduceMaxOp : NN_ReductionOp<"reduce_max"> {
  let summary = "Largest over dimensions; the gradient is shared equally between equal largest elements";
  let hasFolder = 1;
}
def NN_ReduceMeanOp : NN_ReductionOp<"reduce_mean", [DeclareOpInterfaceMethods<NN_DecomposableOpInterface>]> {
  let summary = "Mean over dimensions; becomes a sum and a multiplication";
}
def NN_GlobalAvgPool2dOp : NN_InferredOp<"global_avg_pool2d", [NN_CostOpInterface,
    DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<NN_DecomposableOpInterface>]> {
  let summary = "Mean over height and width: [n, c, h, w] -> [n, c]";
  let arguments = (ins NN_FloatTensor:$input);
  let results = (outs NN_FloatTensor:$result);
}

#endif // PDC_DIALECTS_NN_IR_NNSHAPE_TD
