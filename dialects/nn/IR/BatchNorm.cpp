//===- BatchNorm.cpp - batch_norm -----------------------------------------===//

#include "dialects/nn/IR/BatchStatistics.h"
#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/IR/OpWriter.h"

using namespace mlir;
using namespace pdc::nn;

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  if (failed(checkRankAtLeast<BatchNormOp>(location, "input", input, 2, "[n, c, ...]")) ||
      failed(checkStaticButBatch<BatchNormOp>(location, "input", input)))
    return failure();
  std::pair<StringRef, Value> channelOperands[] = {{"scale", op.getScale()},
                                                   {"bias", op.getBias()},
                                                   {"running_mean", op.getRunningMean()},
                                                   {"running_var", op.getRunningVar()}};
  for (auto [name, value] : channelOperands)
    if (failed(checkScale<BatchNormOp>(location, name, tensorType(value), input.getDimSize(1), input)))
      return failure();
  types.push_back(input);
  return success();
}

ShardingRule BatchNormOp::getShardingRule() {
  ShardingRule rule;
  // The statistics of a part are not those of the batch: only channels are independent. The sums over the
  // batch that they are made of can be split.
  ValueFactors image;
  RankedTensorType type = getType();
  int channels = -1;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    int factor = i == 1 ? rule.addFactor("channels", type.getDimSize(i))
                        : rule.addFactor(i == 0 ? "batch" : "d" + std::to_string(i), type.getDimSize(i),
                                         FactorKind::Decomposed);
    channels = i == 1 ? factor : channels;
    image.push_back({factor});
  }
  rule.operands = {image, {{channels}}, {{channels}}, {{channels}}, {{channels}}};
  rule.results = {image};
  return rule;
}

OpCost BatchNormOp::getCost() {
  // Two passes for the statistics, one to normalize.
  return withFlops(streamingCost(*this), (getInference() ? 2 : 7) * elements(getInput()));
}

namespace {
/// Moves a running statistic towards the batch's.
void moveRunning(OpWriter &w, Value running, Value batch, double momentum) {
  Value moved = w.add(w.mul(w.compute(running), 1 - momentum), w.mul(batch, momentum));
  AssignOp::create(w.builder, w.loc, running, w.cast(moved, tensorType(running).getElementType()));
}
} // namespace

FailureOr<SmallVector<Value>> BatchNormOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  RankedTensorType type = getType();
  double epsilon = getEpsilon().convertToDouble();
  int64_t channels = type.getDimSize(1);
  // [c] against [n, c, ...].
  SmallVector<int64_t> perChannel(type.getRank(), 1);
  perChannel[1] = channels;
  auto channelwise = [&](Value value) { return w.reshape(w.compute(value), perChannel); };
  Value x = w.compute(getInput());

  if (getInference()) {
    Value factor = w.mul(w.compute(getScale()), w.rsqrt(w.add(w.compute(getRunningVar()), epsilon)));
    Value offset = w.sub(w.compute(getBias()), w.mul(w.compute(getRunningMean()), factor));
    Value result = w.add(w.mul(x, channelwise(factor)), channelwise(offset));
    return SmallVector<Value>{w.cast(result, type.getElementType())};
  }

  if (!type.hasStaticShape())
    return emitOpError("expected a static batch, whose elements are counted, found ")
           << type << "; give --batch=N";
  for (Value running : {getRunningMean(), getRunningVar()})
    if (!running.getDefiningOp<StateOp>())
      return emitOpError(
          "expected running_mean and running_var to be `nn.state` values, which training assigns");
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != 1)
      axes.push_back(i);
  // Of the whole batch: when the sums are split over ranks, the counts are not.
  double count = static_cast<double>(type.getNumElements() / channels);
  auto average = [&](Value value) {
    Value sum = w.sum(value, axes, /*keepDims=*/true);
    sum.getDefiningOp()->setAttr(kBatchStatisticsAttr, builder.getUnitAttr());
    return w.mul(sum, 1 / count);
  };
  Value mean = average(x);
  Value centered = w.sub(x, mean);
  Value variance = average(w.square(centered));
  Value normalized = w.mul(centered, w.rsqrt(w.add(variance, epsilon)));
  Value result = w.add(w.mul(normalized, channelwise(getScale())), channelwise(getBias()));

  double momentum = getMomentum().convertToDouble();
  moveRunning(w, getRunningMean(), w.reshape(mean, {channels}), momentum);
  double unbiased = count / std::max(count - 1, 1.0);
  moveRunning(w, getRunningVar(), w.mul(w.reshape(variance, {channels}), unbiased), momentum);
  return SmallVector<Value>{w.cast(result, type.getElementType())};
}
