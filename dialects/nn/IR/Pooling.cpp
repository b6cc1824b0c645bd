//===- Pooling.cpp - max_pool2d, avg_pool2d and their gradients -----------===//

#include "dialects/nn/IR/NN.h"
#include "dialects/nn/IR/Windows.h"

using namespace mlir;
using namespace pdc::nn;

/// The result of pooling, for the op OpT (a pooling or its gradient) that has its attributes.
template <typename OpT, typename AttributesT>
static FailureOr<RankedTensorType> inferPooling(std::optional<Location> location, RankedTensorType input,
                                                AttributesT op) {
  if (failed(checkRank<OpT>(location, "input", input, 4, "[n, c, h, w]")) ||
      failed(checkStaticButBatch<OpT>(location, "input", input)))
    return failure();
  static constexpr int64_t dense[] = {1, 1};
  Windows windows{op.getKernel(), op.getStride(), op.getPadding(), dense};
  FailureOr<RankedTensorType> result = inferWindows<OpT>(location, input, input.getDimSize(1), windows);
  if (failed(result))
    return failure();
  // A window of nothing but padding has no largest element and no mean.
  for (int side : {0, 1, 2, 3})
    if (windows.padding[side] >= windows.kernel[side % 2])
      return inferError<OpT>(location, "expected padding smaller than the kernel, found padding ",
                             windows.padding[side], " for a kernel of ", windows.kernel[side % 2],
                             " along the ", side % 2 == 0 ? "height" : "width");
  return result;
}

template <typename OpT>
static LogicalResult inferPoolingTypes(std::optional<Location> location, typename OpT::Adaptor op,
                                       SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> result = inferPooling<OpT>(location, tensorType(op.getInput()), op);
  if (failed(result))
    return failure();
  types.push_back(*result);
  return success();
}

/// Fails unless `grad` is the result of pooling the gradient's result.
template <typename OpT> static LogicalResult verifyPoolingGradient(OpT op) {
  FailureOr<RankedTensorType> result = inferPooling<OpT>(op.getLoc(), op.getType(), op);
  if (failed(result))
    return failure();
  RankedTensorType grad = op.getGrad().getType();
  if (*result == grad)
    return success();
  return op.emitOpError("expected grad ")
         << *result << ", the result of pooling " << op.getType() << ", found " << grad;
}

/// Images before and after pooling have the same factors; their sizes along h and w are those after it.
static ShardingRule poolingRule(RankedTensorType pooled, unsigned operands) {
  ShardingRule rule;
  int n = rule.addFactor("batch", pooled.getDimSize(0));
  int c = rule.addFactor("channels", pooled.getDimSize(1));
  int h = rule.addFactor("h", pooled.getDimSize(2), FactorKind::Halo);
  int w = rule.addFactor("w", pooled.getDimSize(3), FactorKind::Halo);
  rule.operands.assign(operands, ValueFactors{{n}, {c}, {h}, {w}});
  rule.results.assign(1, ValueFactors{{n}, {c}, {h}, {w}});
  return rule;
}

/// The windows of `op` along the factor "h" or "w", over an image of `type`.
template <typename OpT> static WindowAxis axisOf(OpT op, unsigned factor, RankedTensorType type) {
  static constexpr int64_t dense[] = {1, 1};
  Windows windows{op.getKernel(), op.getStride(), op.getPadding(), dense};
  int number = factor == findFactor(op.getShardingRule(), "h") ? 0 : 1;
  return {windows, number, type.getDimSize(2 + number)};
}

template <typename OpT>
static SmallVector<Interval> poolingHalo(OpT op, unsigned factor, const HaloPart &part) {
  return {axisOf(op, factor, op.getInput().getType()).inImage(part.results[0])};
}

/// The gradient of a part of the image: from the windows that touch it, and all of the image under them.
template <typename OpT>
static SmallVector<Interval> poolingGradHalo(OpT op, unsigned factor, const HaloPart &part) {
  WindowAxis axis = axisOf(op, factor, op.getType());
  SmallVector<Interval> needed(part.operands.size());
  needed[0] = axis.touching(part.results[0]);
  if (needed.size() == 2)
    needed[1] = axis.inImage(needed[0]);
  return needed;
}

template <typename OpT>
static SmallVector<Value> localPooling(OpT op, OpBuilder &builder, const LocalPart &part) {
  ShardingRule rule = op.getShardingRule();
  SmallVector<int64_t, 4> padding(op.getPadding());
  for (int number : {0, 1}) {
    unsigned factor = findFactor(rule, number == 0 ? "h" : "w");
    const HaloPart &halo = part.halos[factor];
    if (!halo.results.empty())
      axisOf(op, factor, op.getInput().getType()).pad(padding, number, halo.results[0], halo.operands[0]);
  }
  auto local = cast<OpT>(builder.clone(*op.getOperation()));
  local->setDiscardableAttrs(ArrayRef<NamedAttribute>{});
  local->setOperands(part.operands);
  local.setPadding(padding);
  local.getResult().setType(cast<RankedTensorType>(part.resultTypes.front()));
  return {local.getResult()};
}

template <typename OpT>
static SmallVector<Value> localPoolingGrad(OpT op, OpBuilder &builder, const LocalPart &part) {
  ShardingRule rule = op.getShardingRule();
  SmallVector<int64_t, 4> padding(op.getPadding());
  auto type = cast<RankedTensorType>(part.resultTypes.front());
  SmallVector<int64_t, 4> shape(type.getShape());
  Interval has[2], wanted[2];
  for (int number : {0, 1}) {
    unsigned factor = findFactor(rule, number == 0 ? "h" : "w");
    const HaloPart &halo = part.halos[factor];
    has[number] = wanted[number] = {0, shape[2 + number]};
    if (halo.results.empty())
      continue;
    WindowAxis axis = axisOf(op, factor, op.getType());
    has[number] = axis.inImage(halo.operands[0]);
    wanted[number] = halo.results[0];
    axis.pad(padding, number, halo.operands[0], has[number]);
    shape[2 + number] = has[number].size();
  }
  auto local = cast<OpT>(builder.clone(*op.getOperation()));
  local->setDiscardableAttrs(ArrayRef<NamedAttribute>{});
  local->setOperands(part.operands);
  local.setPadding(padding);
  local.getResult().setType(type.clone(shape));
  Value result = local.getResult();
  for (int number : {0, 1})
    result = cutOrPad(builder, op.getLoc(), result, 2 + number, has[number], wanted[number]);
  return {result};
}

template <typename OpT> static OpCost poolingCost(OpT op, Value pooled) {
  double window = static_cast<double>(op.getKernel()[0] * op.getKernel()[1]);
  return withFlops(streamingCost(op), elements(pooled) * window);
}

template <typename OpT> static LibraryCall poolingCall(OpT op, StringRef name) {
  LibraryCall call;
  call.name = name.str();
  call.integers.push_back({"kernel", llvm::to_vector(op.getKernel())});
  call.integers.push_back({"stride", llvm::to_vector(op.getStride())});
  call.integers.push_back({"padding", llvm::to_vector(op.getPadding())});
  if constexpr (requires { op.getCountIncludePad(); })
    call.integers.push_back({"count_include_pad", {op.getCountIncludePad() ? 1 : 0}});
  return call;
}

//===----------------------------------------------------------------------===//
// max_pool2d
//===----------------------------------------------------------------------===//

LogicalResult MaxPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  return inferPoolingTypes<MaxPool2dOp>(location, op, types);
}
LogicalResult MaxPool2dOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(MaxPool2dGradOp::create(builder, getLoc(), getInput().getType(),
                                                     resultGradients.front(), getInput(), getKernel(),
                                                     getStride(), getPadding()));
  return success();
}
ShardingRule MaxPool2dOp::getShardingRule() { return poolingRule(getType(), 1); }
SmallVector<Interval> MaxPool2dOp::getHalo(unsigned factor, const HaloPart &part) {
  return poolingHalo(*this, factor, part);
}
SmallVector<Value> MaxPool2dOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  return localPooling(*this, builder, part);
}
OpCost MaxPool2dOp::getCost() { return poolingCost(*this, getResult()); }
LibraryCall MaxPool2dOp::getLibraryCall() { return poolingCall(*this, "max_pool2d"); }

LogicalResult MaxPool2dGradOp::verify() {
  if (getInput().getType() != getType())
    return emitOpError("expected the result to have the input's type ")
           << getInput().getType() << ", found " << getType();
  return verifyPoolingGradient(*this);
}
ShardingRule MaxPool2dGradOp::getShardingRule() { return poolingRule(getGrad().getType(), 2); }
SmallVector<Interval> MaxPool2dGradOp::getHalo(unsigned factor, const HaloPart &part) {
  return poolingGradHalo(*this, factor, part);
}
SmallVector<Value> MaxPool2dGradOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  return localPoolingGrad(*this, builder, part);
}
OpCost MaxPool2dGradOp::getCost() { return poolingCost(*this, getGrad()); }
LibraryCall MaxPool2dGradOp::getLibraryCall() { return poolingCall(*this, "max_pool2d_grad"); }

//===----------------------------------------------------------------------===//
// avg_pool2d
//===----------------------------------------------------------------------===//

LogicalResult AvgPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  return inferPoolingTypes<AvgPool2dOp>(location, op, types);
}
LogicalResult AvgPool2dOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(AvgPool2dGradOp::create(builder, getLoc(), getInput().getType(),
                                                     resultGradients.front(), getKernel(), getStride(),
                                                     getPadding(), getCountIncludePad()));
  return success();
}
ShardingRule AvgPool2dOp::getShardingRule() { return poolingRule(getType(), 1); }
SmallVector<Interval> AvgPool2dOp::getHalo(unsigned factor, const HaloPart &part) {
  return poolingHalo(*this, factor, part);
}
SmallVector<Value> AvgPool2dOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  return localPooling(*this, builder, part);
}
OpCost AvgPool2dOp::getCost() { return poolingCost(*this, getResult()); }
LibraryCall AvgPool2dOp::getLibraryCall() { return poolingCall(*this, "avg_pool2d"); }

LogicalResult AvgPool2dGradOp::verify() { return verifyPoolingGradient(*this); }
ShardingRule AvgPool2dGradOp::getShardingRule() { return poolingRule(getGrad().getType(), 1); }
SmallVector<Interval> AvgPool2dGradOp::getHalo(unsigned factor, const HaloPart &part) {
  return poolingGradHalo(*this, factor, part);
}
SmallVector<Value> AvgPool2dGradOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  return localPoolingGrad(*this, builder, part);
}
OpCost AvgPool2dGradOp::getCost() { return poolingCost(*this, getGrad()); }
LibraryCall AvgPool2dGradOp::getLibraryCall() { return poolingCall(*this, "avg_pool2d_grad"); }
