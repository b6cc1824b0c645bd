//===- Convolution.cpp - conv2d and its gradients -------------------------===//

#include "dialects/nn/IR/NN.h"
#include "dialects/nn/IR/Windows.h"

using namespace mlir;
using namespace pdc::nn;

/// The result of conv2d, for the op OpT (conv2d or one of its gradients) that has its attributes.
template <typename OpT, typename AttributesT>
static FailureOr<RankedTensorType> inferConvolution(std::optional<Location> location, RankedTensorType input,
                                                    RankedTensorType weight, AttributesT op) {
  if (failed(checkRank<OpT>(location, "input", input, 4, "[n, c, h, w]")) ||
      failed(checkStaticButBatch<OpT>(location, "input", input)) ||
      failed(checkRank<OpT>(location, "weight", weight, 4, "[out, c / groups, kh, kw]")) ||
      failed(checkStaticButBatch<OpT>(location, "weight", weight)) ||
      failed(checkSameElementType<OpT>(location, "input", input, "weight", weight)))
    return failure();
  int64_t groups = static_cast<int64_t>(op.getGroups()), channels = input.getDimSize(1),
          out = weight.getDimSize(0);
  if (groups < 1 || channels % groups != 0 || out % groups != 0)
    return inferError<OpT>(location, "expected groups that divide the ", channels, " channels of the input ",
                           input, " and the ", out, " of the weight ", weight, ", found groups = ", groups);
  if (weight.getDimSize(1) != channels / groups)
    return inferError<OpT>(location,
                           "expected weight [out, c / groups, kh, kw] with c / groups = ", channels / groups,
                           " for the input ", input, " and groups = ", groups, ", found ", weight);
  return inferWindows<OpT>(
      location, input, out,
      {weight.getShape().drop_front(2), op.getStride(), op.getPadding(), op.getDilation()});
}

/// A multiply-add per element of the result, input channel of its group and kernel position; padding counts.
static double convolutionFlops(RankedTensorType result, RankedTensorType weight) {
  return 2 * static_cast<double>(staticElementCount(result.getShape())) *
         static_cast<double>(staticElementCount(weight.getShape().drop_front()));
}

template <typename OpT> static LibraryCall convolutionCall(OpT op, StringRef name) {
  LibraryCall call;
  call.name = name.str();
  auto add = [&](const char *attribute, ArrayRef<int64_t> values) {
    call.integers.push_back({attribute, llvm::to_vector(values)});
  };
  add("stride", op.getStride());
  add("padding", op.getPadding());
  add("dilation", op.getDilation());
  add("groups", {static_cast<int64_t>(op.getGroups())});
  return call;
}

namespace {
/// The loops of a convolution. Channels of a grouped convolution are not split: a part of the channels of one
/// value is not the same part of those of another.
struct ConvolutionFactors {
  ConvolutionFactors(ShardingRule &rule, RankedTensorType input, RankedTensorType weight,
                     RankedTensorType result, uint64_t groups)
      : rule(rule), grouped(groups != 1), n(rule.addFactor("batch", input.getDimSize(0))),
        out(rule.addFactor("out", result.getDimSize(1))), in(rule.addFactor("in", input.getDimSize(1))),
        h(rule.addFactor("h", result.getDimSize(2), FactorKind::Halo)),
        w(rule.addFactor("w", result.getDimSize(3), FactorKind::Halo)),
        kh(rule.addFactor("kh", weight.getDimSize(2), FactorKind::Replicated)),
        kw(rule.addFactor("kw", weight.getDimSize(3), FactorKind::Replicated)) {
    if (grouped) {
      setKind({out, in}, FactorKind::Replicated);
      weightIn = rule.addFactor("in_of_group", weight.getDimSize(1), FactorKind::Replicated);
    } else {
      weightIn = in;
    }
  }

  /// Factors that cannot be split stay so.
  void setKind(ArrayRef<int> factors, FactorKind kind) {
    for (int factor : factors)
      if (rule.factors[factor].kind != FactorKind::Replicated)
        rule.factors[factor].kind = kind;
  }
  ValueFactors input() const { return {{n}, {in}, {h}, {w}}; }
  ValueFactors weight() const { return {{out}, {weightIn}, {kh}, {kw}}; }
  ValueFactors result() const { return {{n}, {out}, {h}, {w}}; }

  ShardingRule &rule;
  bool grouped;
  int n, out, in, weightIn, h, w, kh, kw;
};
} // namespace

//===----------------------------------------------------------------------===//
// conv2d
//===----------------------------------------------------------------------===//

LogicalResult Conv2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType weight = tensorType(op.getWeight());
  FailureOr<RankedTensorType> result =
      inferConvolution<Conv2dOp>(location, tensorType(op.getInput()), weight, op);
  if (failed(result))
    return failure();
  if (op.getBias()) {
    RankedTensorType bias = tensorType(op.getBias());
    RankedTensorType expected = RankedTensorType::get({weight.getDimSize(0)}, weight.getElementType());
    if (bias != expected)
      return inferError<Conv2dOp>(location, "expected bias ", expected, " for the weight ", weight,
                                  ", found ", bias);
  }
  types.push_back(*result);
  return success();
}

LogicalResult Conv2dOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  operandGradients.push_back(Conv2dGradInputOp::create(builder, getLoc(), getInput().getType(), grad,
                                                       getWeight(), getStride(), getPadding(), getDilation(),
                                                       getGroups()));
  operandGradients.push_back(Conv2dGradWeightOp::create(builder, getLoc(), getWeight().getType(), grad,
                                                        getInput(), getStride(), getPadding(), getDilation(),
                                                        getGroups()));
  if (getBias())
    operandGradients.push_back(ReduceSumOp::create(builder, getLoc(), grad, ArrayRef<int64_t>{0, 2, 3}));
  return success();
}

ShardingRule Conv2dOp::getShardingRule() {
  ShardingRule rule;
  ConvolutionFactors factors(rule, getInput().getType(), getWeight().getType(), getType(), getGroups());
  // Each part of a split sum would add the bias: with one, the sum must stay whole.
  factors.setKind({factors.in}, getBias() ? FactorKind::Replicated : FactorKind::ReductionSum);
  rule.operands = {factors.input(), factors.weight()};
  if (getBias())
    rule.operands.push_back({{factors.out}});
  rule.results = {factors.result()};
  return rule;
}

OpCost Conv2dOp::getCost() {
  double flops = convolutionFlops(getType(), getWeight().getType());
  return withFlops(streamingCost(*this), flops + (getBias() ? elements(getResult()) : 0));
}

LibraryCall Conv2dOp::getLibraryCall() { return convolutionCall(*this, "conv2d"); }

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Fails unless `grad` is the result of the convolution of `input` and `weight`.
template <typename OpT>
static LogicalResult verifyConvolutionGradient(OpT op, RankedTensorType input, RankedTensorType weight,
                                               RankedTensorType grad) {
  FailureOr<RankedTensorType> result = inferConvolution<OpT>(op.getLoc(), input, weight, op);
  if (failed(result))
    return failure();
  if (*result == grad)
    return success();
  return op.emitOpError("expected grad ")
         << *result << ", the result of conv2d of " << input << " with " << weight << ", found " << grad;
}

LogicalResult Conv2dGradInputOp::verify() {
  return verifyConvolutionGradient(*this, getType(), getWeight().getType(), getGrad().getType());
}

ShardingRule Conv2dGradInputOp::getShardingRule() {
  ShardingRule rule;
  ConvolutionFactors factors(rule, getType(), getWeight().getType(), getGrad().getType(), getGroups());
  factors.setKind({factors.out}, FactorKind::ReductionSum);
  rule.operands = {factors.result(), factors.weight()};
  rule.results = {factors.input()};
  return rule;
}

OpCost Conv2dGradInputOp::getCost() {
  return withFlops(streamingCost(*this), convolutionFlops(getGrad().getType(), getWeight().getType()));
}

LibraryCall Conv2dGradInputOp::getLibraryCall() { return convolutionCall(*this, "conv2d_grad_input"); }

LogicalResult Conv2dGradWeightOp::verify() {
  return verifyConvolutionGradient(*this, getInput().getType(), getType(), getGrad().getType());
}

ShardingRule Conv2dGradWeightOp::getShardingRule() {
  ShardingRule rule;
  ConvolutionFactors factors(rule, getInput().getType(), getType(), getGrad().getType(), getGroups());
  factors.setKind({factors.n}, FactorKind::ReductionSum);
  // A sum over space whose parts need their neighbours' borders: not split.
  factors.setKind({factors.h, factors.w}, FactorKind::Replicated);
  ValueFactors input = factors.input();
  input[2] = {rule.addFactor("input_h", getInput().getType().getDimSize(2), FactorKind::Replicated)};
  input[3] = {rule.addFactor("input_w", getInput().getType().getDimSize(3), FactorKind::Replicated)};
  rule.operands = {factors.result(), input};
  rule.results = {factors.weight()};
  return rule;
}

OpCost Conv2dGradWeightOp::getCost() {
  return withFlops(streamingCost(*this), convolutionFlops(getGrad().getType(), getType()));
}

LibraryCall Conv2dGradWeightOp::getLibraryCall() {
  LibraryCall call = convolutionCall(*this, "conv2d_grad_weight");
  // Input first.
  for (unsigned value : {1, 0, 2})
    call.operands.push_back({value, {{0}, {1}, {2}, {3}}});
  return call;
}
