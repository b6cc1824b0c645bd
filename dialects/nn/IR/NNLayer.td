//===- NNLayer.td - normalization, attention, dropout, losses -*- tablegen -*-===//
#ifndef PDC_DIALECTS_NN_IR_NNLAYER_TD
#define PDC_DIALECTS_NN_IR_NNLAYER_TD

include "dialects/nn/IR/NNBase.td"

defvar LayerTraits = [DeclareOpInterfaceMethods<NN_DecomposableOpInterface>,
                      DeclareOpInterfaceMethods<NN_CostOpInterface, ["getCost"]>];
class NN_DecomposedOp<string mnemonic, string stage, list<Trait> traits = []>
    : NN_InferredOp<mnemonic, LayerTraits # traits> {
  let extraClassDefinition = [{
    ::pdc::nn::DecomposeStage $cppClass::getDecomposeStage() { return ::pdc::nn::DecomposeStage::}] # stage # [{; }
  }];
}
/// Decomposed before autodiff, so that the gradient is that of its parts.
class NN_CompositeOp<string mnemonic, list<Trait> traits = []> : NN_DecomposedOp<mnemonic, "BeforeAutodiff", traits> {
  let results = (outs NN_FloatTensor:$result);
}
/// Decomposed before fusion; its gradient is an op of its own kind.
class NN_LayerOp<string mnemonic, list<Trait> traits = []> : NN_DecomposedOp<mnemonic, "BeforeFusion", traits # [
    DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let results = (outs NN_FloatTensor:$result);
}
class NN_LayerGradOp<string mnemonic> : NN_DecomposedOp<mnemonic, "BeforeFusion">;

def NN_BatchNormOp : NN_CompositeOp<"batch_norm", [NN_MixedPrecisionOpInterface]> {
  let summary = "Batch normalization (Ioffe and Szegedy 2015) over all dimensions but 1";
  let description = [{
    input [n, c, ...]; scale, bias, running_mean, running_var [c]. The last two are `nn.state` values. Training uses the
    statistics of the whole batch, over all ranks, and moves the running ones by
    running = (1 - momentum) running + momentum batch (variance: the unbiased estimate), as PyTorch does.
    Evaluation uses the running ones. The result has the input's type; with a bf16 input the other operands are f32
    and statistics are computed in f32.
  }];
  let arguments = (ins NN_FloatTensor:$input, NN_FloatTensor:$scale, NN_FloatTensor:$bias,
    NN_FloatTensor:$running_mean, NN_FloatTensor:$running_var,
    DefaultValuedAttr<F64Attr, "1e-5">:$epsilon, DefaultValuedAttr<F64Attr, "0.1">:$momentum,
    UnitAttr:$inference);
}

def NN_LayerNormOp : NN_LayerOp<"layer_norm", [NN_MixedPrecisionOpInterface]> {
  let summary = "Layer normalization (Ba et al. 2016) over the last dimension";
  let description = [{ The result has the input's type; scale and bias may be f32 where the input is bf16. }];
  let arguments = (ins NN_FloatTensor:$input, NN_FloatTensor:$scale, Optional<NN_FloatTensor>:$bias,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
}
def NN_LayerNormGradOp : NN_LayerGradOp<"layer_norm_grad"> {
  let summary = "(grad, input, scale) -> gradients of input, scale and bias";
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$input, NN_FloatTensor:$scale, F64Attr:$epsilon);
  let results = (outs NN_FloatTensor:$grad_input, NN_FloatTensor:$grad_scale, NN_FloatTensor:$grad_bias);
}
def NN_RmsNormOp : NN_LayerOp<"rms_norm", [NN_MixedPrecisionOpInterface]> {
  let summary = "Root-mean-square normalization (Zhang and Sennrich 2019) over the last dimension";
  let description = [{ The result has the input's type; scale may be f32 where the input is bf16. }];
  let arguments = (ins NN_FloatTensor:$input, NN_FloatTensor:$scale, DefaultValuedAttr<F64Attr, "1e-6">:$epsilon);
}
def NN_RmsNormGradOp : NN_LayerGradOp<"rms_norm_grad"> {
  let summary = "(grad, input, scale) -> gradients of input and scale";
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$input, NN_FloatTensor:$scale, F64Attr:$epsilon);
  let results = (outs NN_FloatTensor:$grad_input, NN_FloatTensor:$grad_scale);
}

def NN_SoftmaxOp : NN_LayerOp<"softmax", [BuiltLocally]> {
  let summary = "softmax(scale * x) over the last dimension, computed in f32";
  let description = [{ With `causal`, element [..., i, j] takes part only if j <= i + (columns - rows); needs columns >= rows. }];
  let arguments = (ins NN_FloatTensor:$input, DefaultValuedAttr<F64Attr, "1.0">:$scale, UnitAttr:$causal);
}
def NN_SoftmaxGradOp : NN_LayerGradOp<"softmax_grad"> {
  let summary = "(grad, result of softmax) -> gradient of its input; elements masked in the result get zero";
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$value, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs NN_FloatTensor:$grad_input);
}

def NN_AttentionOp : NN_CompositeOp<"attention"> {
  let summary = "Scaled dot-product attention (Vaswani et al. 2017)";
  let description = [{
    query [b, tq, heads, d], key [b, tk, heads, d], value [b, tk, heads, e] -> [b, tq, heads, e]:
    softmax(scale * query key^T) value per head. `scale` defaults to 1 / sqrt(d). `causal`: no look ahead.
  }];
  let arguments = (ins NN_FloatTensor:$query, NN_FloatTensor:$key, NN_FloatTensor:$value,
                       OptionalAttr<F64Attr>:$scale, UnitAttr:$causal);
}

def NN_DropoutOp : NN_CompositeOp<"dropout"> {
  let summary = "Dropout (Srivastava et al. 2014), scaled by 1 / (1 - rate) in training; nothing otherwise";
  let description = [{
    `stream` tells uses apart and is given by `specialize`. In training it becomes a multiplication by
    `nn.dropout_mask` of the step's seed (see `nn.step_seed`).
  }];
  let arguments = (ins NN_FloatTensor:$input, F64Attr:$rate, OptionalAttr<I64Attr>:$stream, UnitAttr:$inference);
}
def NN_StepSeedOp : NN_Op<"step_seed", [Pure, NN_CostOpInterface,
    DeclareOpInterfaceMethods<NN_ShardableOpInterface, ["getShardingRule"]>]> {
  let summary = "The seed of this step, another one each step; becomes an argument of the step";
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def NN_CrossEntropyOp : NN_CompositeOp<"cross_entropy", [NN_MixedPrecisionOpInterface, DeclareOpInterfaceMethods<NN_IdOpInterface>]> {
  let summary = "Mean of -log softmax(logits)[label] over the labels that are not `ignore_index`";
  let description = [{ logits [..., classes], labels [...] -> scalar f32 (f64 of f64); zero where every label is ignored. }];
  let arguments = (ins NN_FloatTensor:$logits, NN_IdTensor:$labels, DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
}
def NN_CrossEntropyRowsOp : NN_LayerOp<"cross_entropy_rows"> {
  let summary = "-log softmax(logits)[label] per row in f32, zero for ignored labels: [..., classes], [...] -> [...]";
  let arguments = (ins NN_FloatTensor:$logits, NN_IdTensor:$labels, I64Attr:$ignore_index);
}
def NN_CrossEntropyRowsGradOp : NN_LayerGradOp<"cross_entropy_rows_grad"> {
  let summary = "(grad [...], logits, labels) -> gradient of the logits: grad * (softmax - onehot)";
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$logits, NN_IdTensor:$labels, I64Attr:$ignore_index);
  let results = (outs NN_FloatTensor:$grad_logits);
}
def NN_MseOp : NN_CompositeOp<"mse", [NN_MixedPrecisionOpInterface]> {
  let summary = "Mean of (x - y)^2 over all elements: scalar f32 (f64 of f64)";
  let arguments = (ins NN_FloatTensor:$prediction, NN_FloatTensor:$target);
  let extraClassDeclaration = [{ bool keepsFullPrecision(unsigned operand) { return true; } }];
}
def NN_AccuracyOp : NN_CompositeOp<"accuracy", [NN_MixedPrecisionOpInterface, DeclareOpInterfaceMethods<NN_IdOpInterface>]> {
  let summary = "Share of labels (not ignored) whose logit is the largest, the first of equals: scalar f32, no gradient";
  let arguments = (ins NN_FloatTensor:$logits, NN_IdTensor:$labels, DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
}

#endif // PDC_DIALECTS_NN_IR_NNLAYER_TD
