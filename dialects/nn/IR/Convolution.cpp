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
/// The loops of a convolution. Of the channels of a grouped one, the groups are split: a part of the channels of
/// every group is not contiguous.
struct ConvolutionFactors {
  ConvolutionFactors(ShardingRule &rule, RankedTensorType input, RankedTensorType weight,
                     RankedTensorType result, int64_t groups)
      : rule(rule), n(rule.addFactor("batch", input.getDimSize(0))),
        h(rule.addFactor("h", result.getDimSize(2), FactorKind::Halo)),
        w(rule.addFactor("w", result.getDimSize(3), FactorKind::Halo)),
        kh(rule.addFactor("kh", weight.getDimSize(2), FactorKind::Replicated)),
        kw(rule.addFactor("kw", weight.getDimSize(3), FactorKind::Replicated)) {
    int64_t channels = input.getDimSize(1), filters = result.getDimSize(1);
    if (groups == 1) {
      in = rule.addFactor("in", channels);
      out = rule.addFactor("out", filters);
      return;
    }
    group = rule.addFactor("groups", groups);
    in = rule.addFactor("in_of_group", channels / groups, FactorKind::Replicated);
    out = rule.addFactor("out_of_group", filters / groups, FactorKind::Replicated);
  }

  /// Factors that cannot be split stay so.
  void setKind(int factor, FactorKind kind) {
    if (rule.factors[factor].kind != FactorKind::Replicated)
      rule.factors[factor].kind = kind;
  }
  DimFactors ofGroups(int factor) const { return group < 0 ? DimFactors{factor} : DimFactors{group, factor}; }
  ValueFactors input() const { return {{n}, ofGroups(in), {h}, {w}}; }
  ValueFactors weight() const { return {ofGroups(out), {in}, {kh}, {kw}}; }
  ValueFactors result() const { return {{n}, ofGroups(out), {h}, {w}}; }

  ShardingRule &rule;
  int n, h, w, kh, kw, in, out, group = -1;
};

constexpr const char *axisNames[] = {"h", "w"};
} // namespace

/// The windows of `op` along the factor "h" or "w".
template <typename OpT>
static WindowAxis axisOf(OpT op, unsigned factor, RankedTensorType input, RankedTensorType weight) {
  Windows windows{weight.getShape().drop_front(2), op.getStride(), op.getPadding(), op.getDilation()};
  int number = factor == findFactor(op.getShardingRule(), axisNames[0]) ? 0 : 1;
  return {windows, number, input.getDimSize(2 + number)};
}

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
  factors.setKind(factors.in, FactorKind::ReductionSum);
  // Of the parts of a split sum, the first adds the bias.
  rule.factors[factors.in].needsStart = getBias() != nullptr;
  rule.operands = {factors.input(), factors.weight()};
  if (getBias())
    rule.operands.push_back({factors.ofGroups(factors.out)});
  rule.results = {factors.result()};
  return rule;
}

SmallVector<Interval> Conv2dOp::getHalo(unsigned factor, const HaloPart &part) {
  SmallVector<Interval> needed = llvm::to_vector(part.operands);
  needed[0] = axisOf(*this, factor, getInput().getType(), getWeight().getType()).inImage(part.results[0]);
  return needed;
}

SmallVector<Value> Conv2dOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  ShardingRule rule = getShardingRule();
  SmallVector<int64_t, 4> padding(getPadding());
  for (int number : {0, 1}) {
    unsigned factor = findFactor(rule, axisNames[number]);
    const HaloPart &halo = part.halos[factor];
    if (!halo.results.empty())
      axisOf(*this, factor, getInput().getType(), getWeight().getType())
          .pad(padding, number, halo.results[0], halo.operands[0]);
  }
  int64_t groups = tensorType(part.operands[0]).getDimSize(1) / tensorType(part.operands[1]).getDimSize(1);
  Value bias = getBias() ? part.operands[2] : Value();
  for (auto [factor, start] : llvm::zip_equal(rule.factors, part.starts))
    if (bias && start && factor.needsStart)
      bias = biasOfFirstPart(builder, getLoc(), bias, start);
  return {Conv2dOp::create(builder, getLoc(), part.operands[0], part.operands[1], bias, getStride(), padding,
                           getDilation(), groups)};
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
  factors.setKind(factors.out, FactorKind::ReductionSum);
  rule.operands = {factors.result(), factors.weight()};
  rule.results = {factors.input()};
  return rule;
}

SmallVector<Interval> Conv2dGradInputOp::getHalo(unsigned factor, const HaloPart &part) {
  SmallVector<Interval> needed = llvm::to_vector(part.operands);
  needed[0] = axisOf(*this, factor, getType(), getWeight().getType()).touching(part.results[0]);
  return needed;
}

SmallVector<Value> Conv2dGradInputOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  ShardingRule rule = getShardingRule();
  auto type = cast<RankedTensorType>(part.resultTypes.front());
  SmallVector<int64_t, 4> shape(type.getShape());
  int64_t groups = type.getDimSize(1) / tensorType(part.operands[1]).getDimSize(1);
  SmallVector<int64_t, 4> padding(getPadding());
  Interval has[2], wanted[2];
  for (int number : {0, 1}) {
    unsigned factor = findFactor(rule, axisNames[number]);
    const HaloPart &halo = part.halos[factor];
    has[number] = wanted[number] = {0, shape[2 + number]};
    if (halo.results.empty())
      continue;
    WindowAxis axis = axisOf(*this, factor, getType(), getWeight().getType());
    Interval covered = axis.covered(halo.operands[0]);
    has[number] = wanted[number] = halo.results[0];
    // Where the part's elements are not what some padding makes of its windows, all that they cover.
    if (covered.begin > wanted[number].begin || covered.end <= wanted[number].end - axis.stride)
      has[number] = covered;
    shape[2 + number] = has[number].size();
    axis.pad(padding, number, halo.operands[0], has[number]);
  }
  Value result = Conv2dGradInputOp::create(builder, getLoc(), type.clone(shape), part.operands[0],
                                           part.operands[1], getStride(), padding, getDilation(), groups);
  for (int number : {0, 1})
    result = cutOrPad(builder, getLoc(), result, 2 + number, has[number], wanted[number]);
  return {result};
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
  factors.setKind(factors.n, FactorKind::ReductionSum);
  rule.operands = {factors.result(), factors.input()};
  rule.results = {factors.weight()};
  return rule;
}

SmallVector<Interval> Conv2dGradWeightOp::getHalo(unsigned factor, const HaloPart &part) {
  SmallVector<Interval> needed = llvm::to_vector(part.operands);
  needed[1] = axisOf(*this, factor, getInput().getType(), getType()).inImage(part.operands[0]);
  return needed;
}

SmallVector<Value> Conv2dGradWeightOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  ShardingRule rule = getShardingRule();
  auto type = cast<RankedTensorType>(part.resultTypes.front());
  SmallVector<int64_t, 4> padding(getPadding());
  for (int number : {0, 1}) {
    unsigned factor = findFactor(rule, axisNames[number]);
    const HaloPart &halo = part.halos[factor];
    if (!halo.operands.empty())
      axisOf(*this, factor, getInput().getType(), getType())
          .pad(padding, number, halo.operands[0], halo.operands[1]);
  }
  int64_t groups = tensorType(part.operands[1]).getDimSize(1) / type.getDimSize(1);
  return {Conv2dGradWeightOp::create(builder, getLoc(), type, part.operands[0], part.operands[1], getStride(),
                                     padding, getDilation(), groups)};
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
