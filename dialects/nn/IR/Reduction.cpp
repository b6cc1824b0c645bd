//===- Reduction.cpp - sums, maxima and means over dimensions -------------===//

#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/IR/OpWriter.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace pdc::nn;

//===----------------------------------------------------------------------===//
// What reductions share
//===----------------------------------------------------------------------===//

template <typename OpT>
static LogicalResult inferReduction(std::optional<Location> loc, typename OpT::Adaptor op,
                                    SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  ArrayRef<int64_t> axes = op.getAxes();
  if (axes.empty())
    return inferError<OpT>(loc, "has no axes: expected at least one dimension to reduce");
  for (auto [index, axis] : llvm::enumerate(axes))
    if (!isAxis(axis, input.getRank()) || (index && axis <= axes[index - 1]))
      return inferError<OpT>(loc, "has axes [", llvm::interleaved(axes).str(),
                             "]: expected different ones in ascending order, from 0 to ", input.getRank() - 1,
                             ", for ", input);
  SmallVector<int64_t> shape;
  for (auto [index, size] : llvm::enumerate(input.getShape())) {
    bool reduced = llvm::is_contained(axes, static_cast<int64_t>(index));
    if (!reduced || op.getKeepDims())
      shape.push_back(reduced ? 1 : size);
  }
  types.push_back(input.clone(shape));
  return success();
}

/// The input's shape with size one in reduced dimensions: what the result broadcasts from.
static SmallVector<int64_t> keptShape(RankedTensorType input, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> shape(input.getShape());
  for (int64_t axis : axes)
    shape[axis] = 1;
  return shape;
}

/// Reduced dimensions are factors of `kind`; the others are parallel.
static ShardingRule reductionRule(RankedTensorType input, ArrayRef<int64_t> axes, bool keepDims,
                                  FactorKind kind) {
  ShardingRule rule;
  ValueFactors operand = addFactors(rule, input, "dim"), result;
  for (auto [index, factors] : llvm::enumerate(operand)) {
    bool reduced = llvm::is_contained(axes, static_cast<int64_t>(index));
    for (int factor : factors)
      if (reduced)
        rule.factors[factor].kind = kind;
    if (!reduced)
      result.push_back(factors);
    else if (keepDims)
      result.emplace_back();
  }
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

/// The input itself where every reduced dimension has size one and is kept.
template <typename OpT> static OpFoldResult foldReduction(OpT op) {
  return op.getInput().getType() == op.getResult().getType() ? OpFoldResult(op.getInput()) : OpFoldResult();
}

/// Elements that are reduced to one, or failure where the batch is not bound.
static FailureOr<double> reducedCount(Operation *op, RankedTensorType input, ArrayRef<int64_t> axes) {
  double count = 1;
  for (int64_t axis : axes) {
    if (input.isDynamicDim(axis))
      return op->emitOpError("is over the batch of ") << input << ": expected it to be bound; give --batch=N";
    count *= static_cast<double>(input.getDimSize(axis));
  }
  return count;
}

/// `grad` of a reduction's result, in the input's shape.
static Value spread(OpBuilder &builder, Location loc, Value grad, RankedTensorType input,
                    ArrayRef<int64_t> axes) {
  return broadcastTo(builder, loc, reshapeTo(builder, loc, grad, keptShape(input, axes)), input.getShape());
}

/// sum * (1 / count). The count is that of the whole tensor: this stands before anything is split.
static FailureOr<SmallVector<Value>> meanAsSum(Operation *op, OpBuilder &builder, Value input,
                                               ArrayRef<int64_t> axes, bool keepDims) {
  FailureOr<double> count = reducedCount(op, tensorType(input), axes);
  if (failed(count))
    return failure();
  OpWriter w(builder, op->getLoc());
  return SmallVector<Value>{w.mul(w.sum(input, axes, keepDims), 1.0 / *count)};
}

static LogicalResult meanGradient(Operation *op, OpBuilder &builder, Value grad, Value input,
                                  ArrayRef<int64_t> axes, SmallVectorImpl<Value> &operandGradients) {
  FailureOr<double> count = reducedCount(op, tensorType(input), axes);
  if (failed(count))
    return failure();
  OpWriter w(builder, op->getLoc());
  operandGradients.push_back(
      spread(builder, op->getLoc(), w.mul(grad, 1.0 / *count), tensorType(input), axes));
  return success();
}

//===----------------------------------------------------------------------===//
// reduce_sum
//===----------------------------------------------------------------------===//

LogicalResult ReduceSumOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  return inferReduction<ReduceSumOp>(loc, op, types);
}

OpFoldResult ReduceSumOp::fold(FoldAdaptor) { return foldReduction(*this); }

LogicalResult ReduceSumOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      spread(builder, getLoc(), resultGradients.front(), getInput().getType(), getAxes()));
  return success();
}

ShardingRule ReduceSumOp::getShardingRule() {
  return reductionRule(getInput().getType(), getAxes(), getKeepDims(), FactorKind::ReductionSum);
}

//===----------------------------------------------------------------------===//
// reduce_max
//===----------------------------------------------------------------------===//

LogicalResult ReduceMaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  return inferReduction<ReduceMaxOp>(loc, op, types);
}

OpFoldResult ReduceMaxOp::fold(FoldAdaptor) { return foldReduction(*this); }

LogicalResult ReduceMaxOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  OpWriter w(builder, getLoc());
  RankedTensorType input = getInput().getType();
  SmallVector<int64_t> kept = keptShape(input, getAxes());
  Value isLargest = w.compare(ComparePredicate::eq, getInput(), w.reshape(getResult(), kept));
  Value one = w.select(isLargest, w.scalar(getInput(), 1.0), 0.0);
  Value share = w.div(w.reshape(resultGradients.front(), kept), w.sum(one, getAxes(), /*keepDims=*/true));
  operandGradients.push_back(w.select(isLargest, share, 0.0));
  return success();
}

ShardingRule ReduceMaxOp::getShardingRule() {
  return reductionRule(getInput().getType(), getAxes(), getKeepDims(), FactorKind::ReductionMax);
}

//===----------------------------------------------------------------------===//
// reduce_mean
//===----------------------------------------------------------------------===//

LogicalResult ReduceMeanOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                             SmallVectorImpl<Type> &types) {
  return inferReduction<ReduceMeanOp>(loc, op, types);
}

DecomposeStage ReduceMeanOp::getDecomposeStage() { return DecomposeStage::BeforeAutodiff; }

FailureOr<SmallVector<Value>> ReduceMeanOp::decompose(OpBuilder &builder) {
  return meanAsSum(*this, builder, getInput(), getAxes(), getKeepDims());
}

LogicalResult ReduceMeanOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                          SmallVectorImpl<Value> &operandGradients) {
  return meanGradient(*this, builder, resultGradients.front(), getInput(), getAxes(), operandGradients);
}

ShardingRule ReduceMeanOp::getShardingRule() {
  // Partial means do not add up to the mean; the sum that it becomes can be split.
  return reductionRule(getInput().getType(), getAxes(), getKeepDims(), FactorKind::Decomposed);
}

//===----------------------------------------------------------------------===//
// global_avg_pool2d
//===----------------------------------------------------------------------===//

static constexpr int64_t heightAndWidth[] = {2, 3};

LogicalResult GlobalAvgPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                                  SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  if (failed(checkRank<GlobalAvgPool2dOp>(loc, "input", input, 4, "[n, c, h, w]")))
    return failure();
  types.push_back(input.clone(input.getShape().take_front(2)));
  return success();
}

DecomposeStage GlobalAvgPool2dOp::getDecomposeStage() { return DecomposeStage::BeforeAutodiff; }

FailureOr<SmallVector<Value>> GlobalAvgPool2dOp::decompose(OpBuilder &builder) {
  return meanAsSum(*this, builder, getInput(), heightAndWidth, /*keepDims=*/false);
}

LogicalResult GlobalAvgPool2dOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                               SmallVectorImpl<Value> &operandGradients) {
  return meanGradient(*this, builder, resultGradients.front(), getInput(), heightAndWidth, operandGradients);
}

ShardingRule GlobalAvgPool2dOp::getShardingRule() {
  return reductionRule(getInput().getType(), heightAndWidth, /*keepDims=*/false, FactorKind::Decomposed);
}
