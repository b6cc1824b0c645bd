//===- NNContraction.td - matmul, convolution, pooling, embedding -*- tablegen -*-===//
//
// Operations that run as library calls.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_IR_NNCONTRACTION_TD
#define PDC_DIALECTS_NN_IR_NNCONTRACTION_TD

include "dialects/nn/IR/NNBase.td"

defvar LibraryTraits = [DeclareOpInterfaceMethods<NN_LibraryOpInterface>,
                        DeclareOpInterfaceMethods<NN_CostOpInterface, ["getCost"]>];
class NN_LibraryOp<string mnemonic, list<Trait> traits = []> : NN_InferredOp<mnemonic, traits # LibraryTraits>;
class NN_TypedLibraryOp<string mnemonic, list<Trait> traits = []> : NN_TypedOp<mnemonic, traits # LibraryTraits> {
  let hasVerifier = 1;
}
defvar Differentiable = DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>;

def NN_LinearOp : NN_LibraryOp<"linear", [Differentiable, BuiltLocally]> {
  let summary = "x W + b over the last dimension, or the last few";
  let description = [{
    x: [..., in]; weight: [in, out], or [out, in] with `transpose_weight` (as PyTorch stores it; lets a language model's
    head share the embedding); bias: [out] -> [..., out].

    `in` and `out` may be several dimensions each: the last `inner_dims` ones of x are summed over, all others of the
    weight are dimensions of the result. Row-major, it is the product of the flattened matrices. Queries, keys and values
    of one projection are so a dimension of their own, beside that of the heads, which can be split:

    ```mlir
    %qkv = nn.linear %x, %w, %b : (tensor<8x64x128xf32>, tensor<128x3x128xf32>, tensor<3x128xf32>) -> tensor<8x64x3x128xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$input, NN_FloatTensor:$weight, Optional<NN_FloatTensor>:$bias,
                       UnitAttr:$transpose_weight, DefaultValuedAttr<I64Attr, "1">:$inner_dims);
  let results = (outs NN_FloatTensor:$result);
  let extraClassDeclaration = [{
    /// How many dimensions of the result are the weight's.
    int64_t getOuterDims() { return getWeight().getType().getRank() - static_cast<int64_t>(getInnerDims()); }
  }];
}

def NN_LinearGradWeightOp : NN_LibraryOp<"linear_grad_weight"> {
  let summary = "Gradient of linear's weight: x^T dy over all leading dimensions";
  let description = [{
    x: [..., in], grad: [..., out] -> [in, out], or [out, in] with `transpose_weight`. `in`, the last `inner_dims`
    dimensions of x, and `out` may be several, as those of `nn.linear`.
  }];
  let arguments = (ins NN_FloatTensor:$input, NN_FloatTensor:$grad, UnitAttr:$transpose_weight,
                       DefaultValuedAttr<I64Attr, "1">:$inner_dims);
  let results = (outs NN_FloatTensor:$result);
}

class NN_MatmulLikeOp<string mnemonic> : NN_LibraryOp<mnemonic, [Differentiable]> {
  let arguments = (ins NN_FloatTensor:$lhs, NN_FloatTensor:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs NN_FloatTensor:$result);
}
def NN_MatmulOp : NN_MatmulLikeOp<"matmul"> {
  let summary = "[m, k] x [k, n] -> [m, n]; a transposed operand is stored the other way round";
}
def NN_BatchMatmulOp : NN_MatmulLikeOp<"batch_matmul"> {
  let summary = "[b..., m, k] x [b..., k, n] -> [b..., m, n], batch dimensions equal";
}

/// stride [h, w]; padding [top, left, bottom, right]; dilation [h, w], 1 is dense.
class NN_ConvOp<string mnemonic, dag tensors, list<Trait> traits = []> : NN_TypedLibraryOp<mnemonic, traits # [BuiltWithHalo]> {
  let arguments = !con(tensors, (ins
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$stride,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilation,
    DefaultValuedAttr<I64Attr, "1">:$groups));
  let results = (outs NN_FloatTensor:$result);
}
def NN_Conv2dOp : NN_LibraryOp<"conv2d", [Differentiable, BuiltWithHalo]> {
  let summary = "2-D convolution (cross-correlation, as in all frameworks)";
  let description = [{
    input [n, c, h, w], weight [out, c / groups, kh, kw], bias [out] -> [n, out, h', w'] with
    h' = (h + top + bottom - dilation (kh - 1) - 1) / stride + 1, rounded down.
    stride [h, w]; padding [top, left, bottom, right]; dilation [h, w], 1 is dense.
  }];
  let arguments = (ins NN_FloatTensor:$input, NN_FloatTensor:$weight, Optional<NN_FloatTensor>:$bias,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$stride,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilation,
    DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs NN_FloatTensor:$result);
}
def NN_Conv2dGradInputOp : NN_ConvOp<"conv2d_grad_input", (ins NN_FloatTensor:$grad, NN_FloatTensor:$weight)> {
  let summary = "Gradient of conv2d's input: (grad of result, weight) -> input's type";
}
def NN_Conv2dGradWeightOp : NN_ConvOp<"conv2d_grad_weight", (ins NN_FloatTensor:$grad, NN_FloatTensor:$input)> {
  let summary = "Gradient of conv2d's weight: (grad of result, input) -> weight's type";
}

defvar PoolWindow = (ins DenseI64ArrayAttr:$kernel,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$stride,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding);
class NN_PoolOp<string mnemonic, dag attributes> : NN_LibraryOp<mnemonic, [Differentiable, BuiltWithHalo]> {
  let arguments = !con((ins NN_FloatTensor:$input), attributes);
  let results = (outs NN_FloatTensor:$result);
}
def NN_MaxPool2dOp : NN_PoolOp<"max_pool2d", PoolWindow> {
  let summary = "Largest value of each window; [n, c, h, w]";
}
def NN_AvgPool2dOp : NN_PoolOp<"avg_pool2d", !con(PoolWindow, (ins UnitAttr:$count_include_pad))> {
  let summary = "Mean of each window; padding counts only with `count_include_pad`";
}
def NN_MaxPool2dGradOp : NN_TypedLibraryOp<"max_pool2d_grad", [BuiltWithHalo]> {
  let summary = "Gradient of max_pool2d: (grad of result, input) -> input's type; goes to the first largest of a window";
  let arguments = !con((ins NN_FloatTensor:$grad, NN_FloatTensor:$input), PoolWindow);
  let results = (outs NN_FloatTensor:$result);
}
def NN_AvgPool2dGradOp : NN_TypedLibraryOp<"avg_pool2d_grad", [BuiltWithHalo]> {
  let summary = "Gradient of avg_pool2d: (grad of result) -> input's type";
  let arguments = !con((ins NN_FloatTensor:$grad), PoolWindow, (ins UnitAttr:$count_include_pad));
  let results = (outs NN_FloatTensor:$result);
}

def NN_EmbeddingOp : NN_LibraryOp<"embedding", [Differentiable, NN_MixedPrecisionOpInterface, BuiltLocally,
    DeclareOpInterfaceMethods<NN_IdOpInterface>]> {
  let summary = "Rows of a table: table [v, d], ids [...] -> [..., d]";
  let description = [{
    `start` and `vocabulary` belong to a part of a split table, which `partition` makes: row 0 of `table` is that of the
    id `start` of `vocabulary`; ids of other parts' rows give zeros.
  }];
  let arguments = (ins NN_FloatTensor:$table, NN_IdTensor:$ids, Optional<NN_Start>:$start,
                       OptionalAttr<I64Attr>:$vocabulary);
  let results = (outs NN_FloatTensor:$result);
  // In f32, so that the gradients of a frequent row add up in f32.
  let extraClassDeclaration = [{ bool keepsFullPrecision(unsigned operand) { return true; } }];
}
def NN_EmbeddingGradOp : NN_TypedLibraryOp<"embedding_grad", [BuiltLocally]> {
  let summary = "Gradient of embedding's table: (grad [..., d], ids [...]) -> [v, d]; adds rows in order";
  let description = [{ `start` and `vocabulary` as those of `nn.embedding`; ids of other parts' rows are skipped. }];
  let arguments = (ins NN_FloatTensor:$grad, NN_IdTensor:$ids, Optional<NN_Start>:$start,
                       OptionalAttr<I64Attr>:$vocabulary);
  let results = (outs NN_FloatTensor:$result);
}

#endif // PDC_DIALECTS_NN_IR_NNCONTRACTION_TD
