//===- NNElementwise.td - elementwise operations ------------*- tablegen -*-===//
#ifndef PDC_DIALECTS_NN_IR_NNELEMENTWISE_TD
#define PDC_DIALECTS_NN_IR_NNELEMENTWISE_TD

include "dialects/nn/IR/NNBase.td"

class NN_ElementwiseOp<string mnemonic, list<Trait> traits = []> : NN_InferredOp<mnemonic, traits # [
    DeclareOpInterfaceMethods<NN_ElementwiseOpInterface>, NN_CostOpInterface]>;

/// An elementwise op of operands and a result of one type.
class NN_SameTypeOp<string mnemonic, list<Trait> traits = []> : NN_Op<mnemonic, traits # [
    Pure, SameOperandsAndResultType, NN_CostOpInterface, DeclareOpInterfaceMethods<NN_ElementwiseOpInterface>,
    DeclareOpInterfaceMethods<NN_ShardableOpInterface, ["getShardingRule"]>]>;

/// y = f(x), with a gradient.
class NN_UnaryOp<string mnemonic> : NN_SameTypeOp<mnemonic, [
    DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let arguments = (ins NN_FloatTensor:$input);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def NN_ReluOp    : NN_UnaryOp<"relu">    { let summary = "max(x, 0)"; }
def NN_SiluOp    : NN_UnaryOp<"silu">    { let summary = "x * sigmoid(x)"; }
def NN_TanhOp    : NN_UnaryOp<"tanh">    { let summary = "tanh(x)"; }
def NN_SigmoidOp : NN_UnaryOp<"sigmoid"> { let summary = "1 / (1 + exp(-x))"; }
def NN_ExpOp     : NN_UnaryOp<"exp">     { let summary = "exp(x)"; }
def NN_LogOp     : NN_UnaryOp<"log">     { let summary = "Natural logarithm"; }
def NN_SqrtOp    : NN_UnaryOp<"sqrt">    { let summary = "Square root"; }
def NN_RsqrtOp   : NN_UnaryOp<"rsqrt">   { let summary = "1 / sqrt(x)"; }
def NN_NegOp     : NN_UnaryOp<"neg">     { let summary = "-x"; }
def NN_AbsOp     : NN_UnaryOp<"abs">     { let summary = "|x|"; }
def NN_SquareOp  : NN_UnaryOp<"square">  { let summary = "x * x"; }
def NN_GeluOp    : NN_UnaryOp<"gelu"> {
  let summary = "Gaussian error linear unit (Hendrycks and Gimpel 2016)";
  let description = [{ x * Phi(x); with `tanh`, its approximation 0.5x(1 + tanh(sqrt(2/pi)(x + 0.044715x^3))). }];
  let arguments = (ins NN_FloatTensor:$input, UnitAttr:$tanh);
}

/// The gradient of an activation: (gradient of the result, input or result of the activation) -> gradient of the input.
class NN_ActivationGradOp<string mnemonic> : NN_SameTypeOp<mnemonic> {
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$value);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $value attr-dict `:` type($grad)";
}

def NN_ReluGradOp    : NN_ActivationGradOp<"relu_grad">    { let summary = "grad where the result is positive, else 0"; }
def NN_SiluGradOp    : NN_ActivationGradOp<"silu_grad">    { let summary = "Gradient of silu from its input"; }
def NN_TanhGradOp    : NN_ActivationGradOp<"tanh_grad">    { let summary = "Gradient of tanh from its result"; }
def NN_SigmoidGradOp : NN_ActivationGradOp<"sigmoid_grad"> { let summary = "Gradient of sigmoid from its result"; }
def NN_GeluGradOp    : NN_ActivationGradOp<"gelu_grad"> {
  let summary = "Gradient of gelu from its input";
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$value, UnitAttr:$tanh);
}

/// z = f(x, y), broadcast as in numpy: shapes are right-aligned, size one stretches.
class NN_BinaryOp<string mnemonic, list<Trait> traits = []> : NN_ElementwiseOp<mnemonic, traits # [
    DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Tensor:$result);
}

def NN_AddOp : NN_BinaryOp<"add", [Commutative]> { let summary = "x + y"; let hasFolder = 1; }
def NN_SubOp : NN_BinaryOp<"sub"> { let summary = "x - y"; let hasFolder = 1; }
def NN_MulOp : NN_BinaryOp<"mul", [Commutative]> { let summary = "x * y"; let hasFolder = 1; }
def NN_DivOp : NN_BinaryOp<"div"> { let summary = "x / y, of floating-point tensors"; let hasFolder = 1; }
def NN_MaxOp : NN_BinaryOp<"max", [Commutative]> { let summary = "The larger; the gradient goes to x where equal"; }
def NN_MinOp : NN_BinaryOp<"min", [Commutative]> { let summary = "The smaller; the gradient goes to x where equal"; }

def NN_ComparePredicate : I32EnumAttr<"ComparePredicate", "a comparison", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
    I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::pdc::nn";
}

def NN_CompareOp : NN_ElementwiseOp<"compare"> {
  let summary = "Compares elements: i1";
  let arguments = (ins NN_ComparePredicate:$predicate, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def NN_SelectOp : NN_ElementwiseOp<"select", [DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "x where the condition holds, else y; broadcast";
  let arguments = (ins NN_BoolTensor:$condition, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Tensor:$result);
}

def NN_CastOp : NN_TypedOp<"cast", [DeclareOpInterfaceMethods<NN_ElementwiseOpInterface>, NN_CostOpInterface, NN_ForwardsIds,
    DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Changes the element type; float to integer truncates towards zero, i1 to float gives 0 or 1";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def NN_ConstantOp : NN_Op<"constant", [Pure, ConstantLike, NN_CostOpInterface, AllTypesMatch<["value", "result"]>,
    BuiltLocally]> {
  let summary = "A constant tensor";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let builders = [
    // A splat.
    OpBuilder<(ins "::mlir::RankedTensorType":$type, "double":$value)>
  ];
}

def NN_IotaOp : NN_Op<"iota", [Pure, DeclareOpInterfaceMethods<NN_ElementwiseOpInterface>, NN_CostOpInterface,
    BuiltLocally]> {
  let summary = "The index along a dimension";
  let description = [{
    Inside fusions: what masks and one-hot comparisons are made of. Counts from `start`, zero where it is missing.
  }];
  let arguments = (ins I64Attr:$dimension, Optional<NN_Start>:$start);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$dimension (`from` $start^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_DropoutMaskOp : NN_Op<"dropout_mask", [Pure, NN_CostOpInterface,
    DeclareOpInterfaceMethods<NN_ElementwiseOpInterface>,
    BuiltLocally]> {
  let summary = "0 with probability `rate`, else 1 / (1 - rate): a pure function of seed, stream and position";
  let description = [{
    Counter-based, so that the bits are the same on any number of ranks and in the forward and backward pass, and no
    mask is ever stored. All arithmetic is on unsigned 32-bit integers and wraps around; with the finalizer of
    MurmurHash3,

        mix(h): h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13; h *= 0xc2b2ae35; h ^= h >> 16

    and i the element's row-major index in `global_shape`, whose low and high halves are i.low and i.high (likewise of
    the seed; of the stream, the low half counts),

        key0 = mix(seed.low ^ mix(seed.high ^ mix(stream + 0x9e3779b9)))
        key1 = mix(key0 + 0x9e3779b9)
        h    = mix(mix(i.low ^ key0) ^ i.high ^ key1)

    An element is dropped where h < floor(rate * 2^32). For each key, h takes every value once as i.low does.

    `starts` say where this part begins in the global tensor: one scalar for each of `start_dimensions`, zero in other
    dimensions.
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$seed, Variadic<RankedTensorOf<[I64]>>:$starts, F64Attr:$rate,
                       I64Attr:$stream, DenseI64ArrayAttr:$global_shape, DenseI64ArrayAttr:$start_dimensions);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // PDC_DIALECTS_NN_IR_NNELEMENTWISE_TD
