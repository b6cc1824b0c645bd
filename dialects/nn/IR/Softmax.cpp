//===- Softmax.cpp - softmax and its gradient -----------------------------===//

#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/IR/OpWriter.h"

using namespace mlir;
using namespace pdc::nn;

/// Below every logit and still finite: masked elements must not make the maximum or the difference to it NaN.
static constexpr double lowest = -3.0e38;

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  if (failed(checkRankAtLeast<SoftmaxOp>(location, "input", input, op.getCausal() ? 2 : 1,
                                         op.getCausal() ? "[..., rows, columns] (`causal`)"
                                                        : "[..., columns]")) ||
      failed(checkStaticButBatch<SoftmaxOp>(location, "input", input)))
    return failure();
  if (op.getCausal()) {
    int64_t rows = input.getDimSize(input.getRank() - 2), columns = input.getShape().back();
    // Otherwise the first rows would have no column at all.
    if (ShapedType::isDynamic(rows) || columns < rows)
      return inferError<SoftmaxOp>(
          location, "expected at least as many columns as rows, static, for `causal`, found ", input);
  }
  types.push_back(input);
  return success();
}

LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      SoftmaxGradOp::create(builder, getLoc(), resultGradients.front(), getResult(), getScaleAttr()));
  return success();
}

/// Rows are independent, except that a causal mask depends on the row's index. Split columns have a maximum
/// and sums to reduce.
static ValueFactors softmaxFactors(ShardingRule &rule, RankedTensorType type, bool causal) {
  ValueFactors rows = addRowFactors(rule, type.getShape().drop_back());
  if (causal)
    rule.factors.back().needsStart = true;
  return withFactor(rows, rule.addFactor("columns", type.getShape().back(), FactorKind::Decomposed));
}

ShardingRule SoftmaxOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors factors = softmaxFactors(rule, getType(), getCausal());
  rule.operands = {factors};
  rule.results = {factors};
  return rule;
}

OpCost SoftmaxOp::getCost() {
  // Scale, maximum, difference, exponential, sum, product: a fair estimate.
  return withFlops(streamingCost(*this), 6 * elements(getInput()));
}

/// Where a causal softmax sees something: column <= row + diagonal, with rows counted from `rowStart`.
static Value causalMask(OpWriter &w, Value x, int64_t diagonal, Value rowStart) {
  int64_t rank = tensorType(x).getRank();
  Type index = w.builder.getI32Type();
  Value last = w.iota(x, rank - 2, index, rowStart);
  if (diagonal != 0)
    last = w.add(last, static_cast<double>(diagonal));
  return w.compare(ComparePredicate::le, w.iota(x, rank - 1, index), last);
}

/// The softmax of `input`, which is the operand of `op` or a part of its rows.
static Value softmaxInParts(SoftmaxOp op, OpBuilder &builder, Value input, Value rowStart) {
  OpWriter w(builder, op.getLoc());
  Value x = w.mul(w.compute(input), op.getScale().convertToDouble()), mask;
  if (op.getCausal()) {
    ArrayRef<int64_t> whole = op.getType().getShape().take_back(2);
    mask = causalMask(w, x, whole[1] - whole[0], rowStart);
    x = w.select(mask, x, lowest);
  }
  Value powers = w.exp(w.sub(x, w.rowMax(x)));
  // Again: an approximate exponential need not be zero there.
  if (mask)
    powers = w.select(mask, powers, 0.0);
  Value result = w.mul(powers, w.reciprocal(w.rowSum(powers)));
  return w.cast(result, op.getType().getElementType());
}

FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &builder) {
  return SmallVector<Value>{softmaxInParts(*this, builder, getInput(), /*rowStart=*/Value())};
}

/// Rows of a causal softmax that begin elsewhere are no softmax of the dialect, but have the same parts.
SmallVector<Value> SoftmaxOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  int64_t rank = getType().getRank();
  Value rowStart = getCausal() ? part.starts[rank - 2] : Value();
  if (!rowStart)
    return cloneLocal(*this, builder, part);
  return {softmaxInParts(*this, builder, part.operands.front(), rowStart)};
}

LogicalResult SoftmaxGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                              SmallVectorImpl<Type> &types) {
  RankedTensorType value = tensorType(op.getValue());
  if (failed(checkRankAtLeast<SoftmaxGradOp>(location, "value", value, 1, "[..., columns]")))
    return failure();
  if (tensorType(op.getGrad()) != value)
    return inferError<SoftmaxGradOp>(location, "expected grad of the type of softmax's result, ", value,
                                     ", found ", op.getGrad().getType());
  types.push_back(value);
  return success();
}

ShardingRule SoftmaxGradOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors factors = softmaxFactors(rule, getValue().getType(), /*causal=*/false);
  rule.operands = {factors, factors};
  rule.results = {factors};
  return rule;
}

OpCost SoftmaxGradOp::getCost() { return withFlops(streamingCost(*this), 5 * elements(getValue())); }

FailureOr<SmallVector<Value>> SoftmaxGradOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  Value grad = w.compute(getGrad()), value = w.compute(getValue());
  // dx = scale * y (g - sum(g y)); y is zero where masked.
  Value result = w.mul(value, w.sub(grad, w.rowSum(w.mul(grad, value))));
  result = w.mul(result, getScale().convertToDouble());
  return SmallVector<Value>{w.cast(result, getValue().getType().getElementType())};
}
