//===- Normalization.cpp - layer_norm and rms_norm ------------------------===//

#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/IR/OpWriter.h"

using namespace mlir;
using namespace pdc::nn;

/// Floating-point operations per element, a fair estimate: these ops are bound by memory.
static constexpr double flopsPerElement = 8, gradientFlopsPerElement = 14;

namespace {
/// Rows are independent; a split row has means to reduce. Scale and bias have the factor of the features only, so that
/// their gradients are partial sums when rows are split.
struct RowFactors {
  RowFactors(ShardingRule &rule, RankedTensorType input)
      : rows(addRowFactors(rule, input.getShape().drop_back())),
        features(rule.addFactor("features", input.getShape().back(), FactorKind::Decomposed)) {}
  ValueFactors whole() const { return withFactor(rows, features); }
  ValueFactors scale() const { return {{features}}; }
  ValueFactors rows;
  int features;
};
} // namespace

template <typename OpT>
static LogicalResult checkNormalized(std::optional<Location> location, RankedTensorType input,
                                     RankedTensorType scale) {
  if (failed(checkRankAtLeast<OpT>(location, "input", input, 2, "[..., features]")) ||
      failed(checkStaticButBatch<OpT>(location, "input", input)))
    return failure();
  return checkScale<OpT>(location, "scale", scale, input.getShape().back(), input);
}

template <typename OpT>
static LogicalResult checkNormalizedGradient(std::optional<Location> location, RankedTensorType grad,
                                             RankedTensorType input, RankedTensorType scale) {
  if (grad != input)
    return inferError<OpT>(location, "expected grad of the input's type ", input, ", found ", grad);
  return checkNormalized<OpT>(location, input, scale);
}

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput()), scale = tensorType(op.getScale());
  if (failed(checkNormalized<LayerNormOp>(location, input, scale)))
    return failure();
  if (op.getBias() && tensorType(op.getBias()) != scale)
    return inferError<LayerNormOp>(location, "expected bias of the scale's type ", scale, ", found ",
                                   op.getBias().getType());
  types.push_back(input);
  return success();
}

LogicalResult LayerNormOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  auto grads = LayerNormGradOp::create(builder, getLoc(), resultGradients.front(), getInput(), getScale(),
                                       getEpsilonAttr());
  operandGradients.append({grads.getGradInput(), grads.getGradScale()});
  if (getBias())
    operandGradients.push_back(grads.getGradBias());
  return success();
}

ShardingRule LayerNormOp::getShardingRule() {
  ShardingRule rule;
  RowFactors factors(rule, getInput().getType());
  rule.operands = {factors.whole(), factors.scale()};
  if (getBias())
    rule.operands.push_back(factors.scale());
  rule.results = {factors.whole()};
  return rule;
}

OpCost LayerNormOp::getCost() {
  return withFlops(streamingCost(*this), flopsPerElement * elements(getInput()));
}

namespace {
/// The parts of x's normalization that value and gradient share.
struct LayerStatistics {
  LayerStatistics(OpWriter &w, Value x, double epsilon) {
    centered = w.sub(x, w.rowMean(x));
    // The variance from centered values: the mean of squares minus the square of the mean cancels.
    reciprocalDeviation = w.rsqrt(w.add(w.rowMean(w.square(centered)), epsilon));
    normalized = w.mul(centered, reciprocalDeviation);
  }
  Value centered, reciprocalDeviation, normalized;
};
} // namespace

FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  LayerStatistics x(w, w.compute(getInput()), getEpsilon().convertToDouble());
  Value result = w.mul(x.normalized, w.compute(getScale()));
  if (getBias())
    result = w.add(result, w.compute(getBias()));
  return SmallVector<Value>{w.cast(result, getType().getElementType())};
}

LogicalResult LayerNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                                SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput()), scale = tensorType(op.getScale());
  if (failed(checkNormalizedGradient<LayerNormGradOp>(location, tensorType(op.getGrad()), input, scale)))
    return failure();
  types.append({input, scale, scale});
  return success();
}

ShardingRule LayerNormGradOp::getShardingRule() {
  ShardingRule rule;
  RowFactors factors(rule, getInput().getType());
  rule.operands = {factors.whole(), factors.whole(), factors.scale()};
  rule.results = {factors.whole(), factors.scale(), factors.scale()};
  return rule;
}

OpCost LayerNormGradOp::getCost() {
  return withFlops(streamingCost(*this), gradientFlopsPerElement * elements(getInput()));
}

FailureOr<SmallVector<Value>> LayerNormGradOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  Value grad = w.compute(getGrad());
  LayerStatistics x(w, w.compute(getInput()), getEpsilon().convertToDouble());
  Value scaled = w.mul(grad, w.compute(getScale()));
  // dx = (g - mean(g) - y mean(g y)) / deviation, for y the normalized input and g = dy * scale.
  Value along = w.mul(x.normalized, w.rowMean(w.mul(scaled, x.normalized)));
  Value gradInput = w.mul(w.sub(w.sub(scaled, w.rowMean(scaled)), along), x.reciprocalDeviation);
  SmallVector<int64_t, 4> rows = leadingDims(getInput().getType().getRank() - 1);
  Value gradScale = w.sum(w.mul(grad, x.normalized), rows), gradBias = w.sum(grad, rows);
  Type scaleElement = getScale().getType().getElementType();
  return SmallVector<Value>{w.cast(gradInput, getInput().getType().getElementType()),
                            w.cast(gradScale, scaleElement), w.cast(gradBias, scaleElement)};
}

//===----------------------------------------------------------------------===//
// rms_norm
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  if (failed(checkNormalized<RmsNormOp>(location, input, tensorType(op.getScale()))))
    return failure();
  types.push_back(input);
  return success();
}

LogicalResult RmsNormOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  auto grads = RmsNormGradOp::create(builder, getLoc(), resultGradients.front(), getInput(), getScale(),
                                     getEpsilonAttr());
  operandGradients.append({grads.getGradInput(), grads.getGradScale()});
  return success();
}

ShardingRule RmsNormOp::getShardingRule() {
  ShardingRule rule;
  RowFactors factors(rule, getInput().getType());
  rule.operands = {factors.whole(), factors.scale()};
  rule.results = {factors.whole()};
  return rule;
}

OpCost RmsNormOp::getCost() {
  return withFlops(streamingCost(*this), flopsPerElement * elements(getInput()));
}

/// 1 / the root of the mean square of each row.
static Value reciprocalRms(OpWriter &w, Value x, double epsilon) {
  return w.rsqrt(w.add(w.rowMean(w.square(x)), epsilon));
}

FailureOr<SmallVector<Value>> RmsNormOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  Value x = w.compute(getInput());
  Value normalized = w.mul(x, reciprocalRms(w, x, getEpsilon().convertToDouble()));
  return SmallVector<Value>{w.cast(w.mul(normalized, w.compute(getScale())), getType().getElementType())};
}

LogicalResult RmsNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                              SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput()), scale = tensorType(op.getScale());
  if (failed(checkNormalizedGradient<RmsNormGradOp>(location, tensorType(op.getGrad()), input, scale)))
    return failure();
  types.append({input, scale});
  return success();
}

ShardingRule RmsNormGradOp::getShardingRule() {
  ShardingRule rule;
  RowFactors factors(rule, getInput().getType());
  rule.operands = {factors.whole(), factors.whole(), factors.scale()};
  rule.results = {factors.whole(), factors.scale()};
  return rule;
}

OpCost RmsNormGradOp::getCost() {
  return withFlops(streamingCost(*this), gradientFlopsPerElement * elements(getInput()));
}

FailureOr<SmallVector<Value>> RmsNormGradOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  Value grad = w.compute(getGrad()), x = w.compute(getInput());
  Value reciprocal = reciprocalRms(w, x, getEpsilon().convertToDouble());
  Value normalized = w.mul(x, reciprocal), scaled = w.mul(grad, w.compute(getScale()));
  // dx = (g - y mean(g y)) / rms, for y the normalized input and g = dy * scale.
  Value along = w.mul(normalized, w.rowMean(w.mul(scaled, normalized)));
  Value gradInput = w.mul(w.sub(scaled, along), reciprocal);
  Value gradScale = w.sum(w.mul(grad, normalized), leadingDims(getInput().getType().getRank() - 1));
  return SmallVector<Value>{w.cast(gradInput, getInput().getType().getElementType()),
                            w.cast(gradScale, getScale().getType().getElementType())};
}
