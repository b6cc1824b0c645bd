//===- Loss.cpp - cross_entropy, mse, accuracy ----------------------------===//

#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/IR/OpWriter.h"

using namespace mlir;
using namespace pdc::nn;

/// Fails unless the labels are one per row of the logits.
template <typename OpT>
static LogicalResult checkLabels(std::optional<Location> location, RankedTensorType logits,
                                 RankedTensorType labels) {
  if (failed(checkRankAtLeast<OpT>(location, "logits", logits, 1, "[..., classes]")) ||
      failed(checkStaticButBatch<OpT>(location, "logits", logits)))
    return failure();
  if (ShapedType::isDynamic(logits.getShape().back()))
    return inferError<OpT>(location, "expected logits [..., classes] with static classes, found ", logits);
  if (labels.getShape() != logits.getShape().drop_back())
    return inferError<OpT>(location, "expected labels ", rowsType(logits, labels.getElementType()),
                           ", one per row of the logits ", logits, ", found ", labels);
  return success();
}

/// A scalar of what kernels compute in.
static RankedTensorType scalarType(RankedTensorType like) {
  return RankedTensorType::get({}, computeType(like.getElementType()));
}

/// Losses are means over the whole batch, whose parts are not parts of the loss; the sums that they are made
/// of can be split.
static ShardingRule lossRule(RankedTensorType values, RankedTensorType targets) {
  ShardingRule rule;
  ValueFactors factors = addFactors(rule, values, "dim", FactorKind::Decomposed);
  rule.operands = {factors, ValueFactors(ArrayRef(factors).take_front(targets.getRank()))};
  rule.results.emplace_back();
  return rule;
}

/// Every dimension of `x`.
static SmallVector<int64_t, 4> allAxes(Value x) { return leadingDims(tensorType(x).getRank()); }

static Value isCounted(OpWriter &w, Value labels, int64_t ignored) {
  // As an attribute, not a double: labels may be 64 bits wide.
  auto type = RankedTensorType::get({}, tensorType(labels).getElementType());
  Value value = ConstantOp::create(
      w.builder, w.loc,
      DenseElementsAttr::get(type, w.builder.getIntegerAttr(type.getElementType(), ignored)));
  return w.compare(ComparePredicate::ne, labels, value);
}

/// 1 / max(1, labels that count).
static Value reciprocalCount(OpWriter &w, Value counted, Type element) {
  Value count = w.sum(w.cast(counted, element), allAxes(counted));
  return w.reciprocal(w.max(count, 1));
}

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType logits = tensorType(op.getLogits());
  if (failed(checkLabels<CrossEntropyOp>(location, logits, tensorType(op.getLabels()))))
    return failure();
  types.push_back(scalarType(logits));
  return success();
}

ShardingRule CrossEntropyOp::getShardingRule() {
  return lossRule(getLogits().getType(), getLabels().getType());
}

/// Labels of `logits`' classes.
static std::optional<IdRange> labelRange(Value logits, int64_t ignored) {
  return IdRange{tensorType(logits).getShape().back(), ignored};
}

std::optional<IdRange> CrossEntropyOp::getIdRange(unsigned operand) {
  return operand == 1 ? labelRange(getLogits(), getIgnoreIndex()) : std::nullopt;
}

OpCost CrossEntropyOp::getCost() { return withFlops(streamingCost(*this), 5 * elements(getLogits())); }

FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  Value rows = CrossEntropyRowsOp::create(builder, getLoc(), getLogits(), getLabels(), getIgnoreIndexAttr());
  Value counted = isCounted(w, getLabels(), getIgnoreIndexAttr().getInt());
  Value mean = w.mul(w.sum(rows, allAxes(rows)), reciprocalCount(w, counted, getType().getElementType()));
  return SmallVector<Value>{mean};
}

LogicalResult CrossEntropyRowsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                   Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType logits = tensorType(op.getLogits());
  if (failed(checkLabels<CrossEntropyRowsOp>(location, logits, tensorType(op.getLabels()))))
    return failure();
  types.push_back(rowsType(logits, computeType(logits.getElementType())));
  return success();
}

LogicalResult CrossEntropyRowsOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(CrossEntropyRowsGradOp::create(builder, getLoc(), resultGradients.front(),
                                                            getLogits(), getLabels(), getIgnoreIndexAttr()));
  operandGradients.push_back(Value());
  return success();
}

ShardingRule CrossEntropyRowsOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors rows = addRowFactors(rule, getLabels().getType().getShape());
  int classes = rule.addFactor("classes", getLogits().getType().getShape().back(), FactorKind::Decomposed);
  rule.operands = {withFactor(rows, classes), rows};
  rule.results = {rows};
  return rule;
}

OpCost CrossEntropyRowsOp::getCost() { return withFlops(streamingCost(*this), 5 * elements(getLogits())); }

/// Where the class is the row's label.
static Value isLabel(OpWriter &w, Value logits, Value labels) {
  Value classes = w.iota(logits, tensorType(logits).getRank() - 1, tensorType(labels).getElementType());
  return w.compare(ComparePredicate::eq, classes, w.asColumn(labels));
}

FailureOr<SmallVector<Value>> CrossEntropyRowsOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  Value logits = w.compute(getLogits());
  Value shifted = w.sub(logits, w.rowMax(logits));
  // log(sum(exp(x - max))) - (x[label] - max)
  Value picked = w.rowSum(w.select(isLabel(w, shifted, getLabels()), shifted, 0.0));
  Value loss = w.sub(w.log(w.rowSum(w.exp(shifted))), picked);
  Value counted = isCounted(w, w.asColumn(getLabels()), getIgnoreIndexAttr().getInt());
  return SmallVector<Value>{w.reshape(w.select(counted, loss, 0.0), getType().getShape())};
}

LogicalResult CrossEntropyRowsGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                       Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType logits = tensorType(op.getLogits());
  if (failed(checkLabels<CrossEntropyRowsGradOp>(location, logits, tensorType(op.getLabels()))))
    return failure();
  RankedTensorType expected = rowsType(logits, computeType(logits.getElementType()));
  if (tensorType(op.getGrad()) != expected)
    return inferError<CrossEntropyRowsGradOp>(location, "expected grad ", expected,
                                              ", one per row of the logits ", logits, ", found ",
                                              op.getGrad().getType());
  types.push_back(logits);
  return success();
}

ShardingRule CrossEntropyRowsGradOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors rows = addRowFactors(rule, getLabels().getType().getShape());
  int classes = rule.addFactor("classes", getLogits().getType().getShape().back(), FactorKind::Decomposed);
  rule.operands = {rows, withFactor(rows, classes), rows};
  rule.results = {withFactor(rows, classes)};
  return rule;
}

OpCost CrossEntropyRowsGradOp::getCost() {
  return withFlops(streamingCost(*this), 6 * elements(getLogits()));
}

FailureOr<SmallVector<Value>> CrossEntropyRowsGradOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  Value logits = w.compute(getLogits());
  Value powers = w.exp(w.sub(logits, w.rowMax(logits)));
  Value softmax = w.mul(powers, w.reciprocal(w.rowSum(powers)));
  Value oneHot = w.cast(isLabel(w, logits, getLabels()), tensorType(logits).getElementType());
  Value counted = isCounted(w, w.asColumn(getLabels()), getIgnoreIndexAttr().getInt());
  Value grad = w.select(counted, w.asColumn(getGrad()), 0.0);
  return SmallVector<Value>{
      w.cast(w.mul(w.sub(softmax, oneHot), grad), getLogits().getType().getElementType())};
}

//===----------------------------------------------------------------------===//
// mse
//===----------------------------------------------------------------------===//

LogicalResult MseOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType prediction = tensorType(op.getPrediction()), target = tensorType(op.getTarget());
  if (prediction.getShape() != target.getShape())
    return inferError<MseOp>(location, "expected prediction and target of one shape, found ", prediction,
                             " and ", target);
  if (computeType(prediction.getElementType()) != computeType(target.getElementType()))
    return inferError<MseOp>(location, "expected prediction and target both f64 or neither, found ",
                             prediction, " and ", target, "; convert one with `nn.cast`");
  types.push_back(scalarType(prediction));
  return success();
}

ShardingRule MseOp::getShardingRule() { return lossRule(getPrediction().getType(), getTarget().getType()); }

OpCost MseOp::getCost() { return withFlops(streamingCost(*this), 3 * elements(getPrediction())); }

FailureOr<SmallVector<Value>> MseOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  RankedTensorType type = getPrediction().getType();
  if (!type.hasStaticShape())
    return emitOpError("expected a static batch, whose elements are counted, found ")
           << type << "; give --batch=N";
  Value squares = w.square(w.sub(w.compute(getPrediction()), w.compute(getTarget())));
  Value mean = w.mul(w.sum(squares, allAxes(squares)), 1.0 / static_cast<double>(type.getNumElements()));
  return SmallVector<Value>{mean};
}

//===----------------------------------------------------------------------===//
// accuracy
//===----------------------------------------------------------------------===//

LogicalResult AccuracyOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor op,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType logits = tensorType(op.getLogits());
  if (failed(checkLabels<AccuracyOp>(location, logits, tensorType(op.getLabels()))))
    return failure();
  // Indices of classes are compared in f32, which holds integers up to 2^24.
  constexpr int64_t mostClasses = 1 << 24;
  if (logits.getShape().back() > mostClasses)
    return inferError<AccuracyOp>(location, "expected at most ", mostClasses, " classes, found ", logits);
  types.push_back(RankedTensorType::get({}, Float32Type::get(context)));
  return success();
}

ShardingRule AccuracyOp::getShardingRule() { return lossRule(getLogits().getType(), getLabels().getType()); }

std::optional<IdRange> AccuracyOp::getIdRange(unsigned operand) {
  return operand == 1 ? labelRange(getLogits(), getIgnoreIndex()) : std::nullopt;
}

OpCost AccuracyOp::getCost() { return withFlops(streamingCost(*this), 3 * elements(getLogits())); }

FailureOr<SmallVector<Value>> AccuracyOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  Type f32 = builder.getF32Type(), labelElement = getLabels().getType().getElementType();
  Value logits = w.compute(getLogits());
  RankedTensorType type = tensorType(logits);
  double classes = static_cast<double>(type.getShape().back());
  // The first of the largest is the smallest index among them: -max(-index).
  Value isLargest = w.compare(ComparePredicate::eq, logits, w.rowMax(logits));
  Value negated = w.select(isLargest, w.neg(w.iota(logits, type.getRank() - 1, f32)), -classes);
  Value first = w.cast(w.neg(w.rowMax(negated)), labelElement);
  Value labels = w.asColumn(getLabels());
  Value hit = w.cast(w.compare(ComparePredicate::eq, first, labels), f32);
  Value counted = isCounted(w, labels, getIgnoreIndexAttr().getInt());
  Value hits = w.select(counted, hit, 0.0);
  return SmallVector<Value>{w.mul(w.sum(hits, allAxes(hits)), reciprocalCount(w, counted, f32))};
}
