//===- ShapeParts.cpp - slice, pad, concat, split -------------------------===//

#include "dialects/nn/IR/OpWriter.h"

using namespace mlir;
using namespace pdc::nn;

/// One factor for each dimension whose size stays; a dimension that is cut or joined is a factor of its own
/// on either side, which cannot be split, since parts of it would need elements of their neighbours.
static void addPartFactors(ShardingRule &rule, RankedTensorType whole, RankedTensorType part,
                           llvm::function_ref<bool(int64_t)> stays, ValueFactors &wholeFactors,
                           ValueFactors &partFactors) {
  auto own = [&](StringRef name, int64_t dimension, int64_t size, FactorKind kind) {
    return size == 1 ? DimFactors() : DimFactors{rule.addFactor((name + Twine(dimension)).str(), size, kind)};
  };
  for (int64_t i = 0; i < whole.getRank(); ++i) {
    if (stays(i)) {
      wholeFactors.push_back(own("dim", i, whole.getDimSize(i), FactorKind::Parallel));
      partFactors.push_back(wholeFactors.back());
    } else {
      wholeFactors.push_back(own("whole", i, whole.getDimSize(i), FactorKind::Replicated));
      partFactors.push_back(own("part", i, part.getDimSize(i), FactorKind::Replicated));
    }
  }
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

static int64_t strideOf(ArrayRef<int64_t> strides, int64_t dimension) {
  return strides.empty() ? 1 : strides[dimension];
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  ArrayRef<int64_t> offsets = op.getOffsets(), sizes = op.getSizes(), strides = op.getStrides();
  size_t rank = input.getRank();
  if (offsets.size() != rank || sizes.size() != rank || (!strides.empty() && strides.size() != rank))
    return inferError<SliceOp>(loc, "has ", offsets.size(), " offsets, ", sizes.size(), " sizes and ",
                               strides.size(), " strides: expected ", rank,
                               " of each (strides may be left out) for ", input);
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i) {
    int64_t size = input.getDimSize(i), stride = strideOf(strides, i);
    if (sizes[i] == -1) {
      if (offsets[i] != 0 || stride != 1)
        return inferError<SliceOp>(loc, "takes all of dimension ", i, " (size -1) from offset ", offsets[i],
                                   " by stride ", stride, ": expected offset 0 and stride 1");
      shape.push_back(size);
      continue;
    }
    if (ShapedType::isDynamic(size))
      return inferError<SliceOp>(loc, "cuts dimension ", i, " of ", input,
                                 ": expected size -1, all of it, since it is the batch");
    // In a form that does not overflow.
    if (offsets[i] < 0 || stride < 1 || sizes[i] < 1 || offsets[i] >= size ||
        sizes[i] - 1 > (size - 1 - offsets[i]) / stride)
      return inferError<SliceOp>(loc, "takes ", sizes[i], " elements from ", offsets[i], " by stride ",
                                 stride, " of dimension ", i, ": expected to stay within its size ", size);
    shape.push_back(sizes[i]);
  }
  types.push_back(input.clone(shape));
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  auto splat = dyn_cast_if_present<DenseElementsAttr>(adaptor.getInput());
  return splat && splat.isSplat() ? OpFoldResult(splat.resizeSplat(getResult().getType())) : OpFoldResult();
}

/// `value` with `stride` - 1 zeros behind each element of a dimension.
static Value dilate(OpWriter &w, Value value, int64_t dimension, int64_t stride) {
  SmallVector<int64_t> shape(tensorType(value).getShape());
  SmallVector<int64_t> split(shape);
  split.insert(split.begin() + dimension + 1, 1);
  SmallVector<int64_t> low(split.size(), 0), high(split.size(), 0);
  high[dimension + 1] = stride - 1;
  Value spread = PadOp::create(w.builder, w.loc, w.reshape(value, split), low, high, APFloat(0.0));
  shape[dimension] *= stride;
  return w.reshape(spread, shape);
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                     SmallVectorImpl<Value> &operandGradients) {
  RankedTensorType input = getInput().getType();
  if (!isa<FloatType>(input.getElementType())) {
    operandGradients.push_back(Value());
    return success();
  }
  OpWriter w(builder, getLoc());
  Value grad = resultGradients.front();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < input.getRank(); ++i) {
    int64_t stride = strideOf(getStrides(), i);
    if (stride > 1)
      grad = dilate(w, grad, i, stride);
    // The zeros behind the last element may reach beyond the input's end.
    int64_t room = ShapedType::isDynamic(input.getDimSize(i)) ? 0 : input.getDimSize(i) - getOffsets()[i];
    RankedTensorType type = tensorType(grad);
    if (stride > 1 && type.getDimSize(i) > room) {
      SmallVector<int64_t> offsets(input.getRank(), 0), sizes(input.getRank(), -1);
      sizes[i] = room;
      grad = SliceOp::create(builder, getLoc(), grad, offsets, sizes);
      type = tensorType(grad);
    }
    low.push_back(getOffsets()[i]);
    high.push_back(type.isDynamicDim(i) ? 0 : room - type.getDimSize(i));
  }
  operandGradients.push_back(PadOp::create(builder, getLoc(), grad, low, high, APFloat(0.0)));
  return success();
}

ShardingRule SliceOp::getShardingRule() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  ShardingRule rule;
  ValueFactors operand, part;
  addPartFactors(
      rule, input, result, [&](int64_t i) { return input.getDimSize(i) == result.getDimSize(i); }, operand,
      part);
  rule.operands = {operand};
  rule.results = {part};
  return rule;
}

SmallVector<Value> SliceOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  // All of a dimension stays all of it, whatever its local size.
  SmallVector<int64_t> sizes(getSizes());
  for (auto [index, size] : llvm::enumerate(sizes))
    if (getInput().getType().getDimSize(index) == getResult().getType().getDimSize(index))
      size = -1;
  return {SliceOp::create(builder, getLoc(), part.resultTypes, part.operands.front(), getOffsets(), sizes,
                          getStrides())};
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

/// So that sums of padding and size cannot overflow.
static constexpr int64_t kMaxPadding = int64_t{1} << 46;

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  ArrayRef<int64_t> low = op.getLow(), high = op.getHigh();
  size_t rank = input.getRank();
  if (low.size() != rank || high.size() != rank)
    return inferError<PadOp>(loc, "has ", low.size(), " numbers in `low` and ", high.size(),
                             " in `high`: expected ", rank, " of each for ", input);
  SmallVector<int64_t> shape(input.getShape());
  for (size_t i = 0; i < rank; ++i) {
    if (low[i] < 0 || high[i] < 0)
      return inferError<PadOp>(loc, "pads dimension ", i, " by ", low[i], " and ", high[i],
                               ": expected 0 or more; nn.slice takes elements away");
    if (low[i] > kMaxPadding || high[i] > kMaxPadding)
      return inferError<PadOp>(loc, "pads dimension ", i, " by ", low[i], " and ", high[i],
                               ": expected 2^46 at most");
    if (low[i] + high[i] == 0)
      continue;
    if (ShapedType::isDynamic(shape[i]))
      return inferError<PadOp>(loc, "pads dimension ", i, " of ", input,
                               ": expected 0, since it is the batch");
    shape[i] += low[i] + high[i];
  }
  types.push_back(input.clone(shape));
  return success();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

LogicalResult PadOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                   SmallVectorImpl<Value> &operandGradients) {
  RankedTensorType input = getInput().getType();
  if (!isa<FloatType>(input.getElementType())) {
    operandGradients.push_back(Value());
    return success();
  }
  SmallVector<int64_t> sizes;
  for (int64_t i = 0; i < input.getRank(); ++i)
    sizes.push_back(getLow()[i] + getHigh()[i] == 0 ? -1 : input.getDimSize(i));
  operandGradients.push_back(SliceOp::create(builder, getLoc(), resultGradients.front(), getLow(), sizes));
  return success();
}

ShardingRule PadOp::getShardingRule() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  ShardingRule rule;
  ValueFactors operand, padded;
  addPartFactors(
      rule, input, result, [&](int64_t i) { return getLow()[i] + getHigh()[i] == 0; }, operand, padded);
  rule.operands = {operand};
  rule.results = {padded};
  return rule;
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                         SmallVectorImpl<Type> &types) {
  if (op.getInputs().empty())
    return inferError<ConcatOp>(loc, "has no operand: expected at least one");
  RankedTensorType first = tensorType(op.getInputs().front());
  int64_t axis = op.getAxis();
  if (!isAxis(axis, first.getRank()))
    return inferError<ConcatOp>(loc, "joins along dimension ", axis, ": expected 0 to ", first.getRank() - 1,
                                " for ", first);
  if (first.isDynamicDim(axis))
    return inferError<ConcatOp>(loc, "joins along dimension ", axis, " of ", first,
                                ": expected another one, since it is the batch");
  SmallVector<int64_t> shape(first.getShape());
  for (auto [index, input] : llvm::enumerate(op.getInputs().drop_front())) {
    RankedTensorType type = tensorType(input);
    SmallVector<int64_t> expected(first.getShape()), found(type.getShape());
    if (type.getRank() == first.getRank())
      expected[axis] = found[axis] = 0;
    if (expected != found || type.getElementType() != first.getElementType() || type.isDynamicDim(axis))
      return inferError<ConcatOp>(loc, "joins ", first, " and operand #", index + 1, " of type ", type,
                                  ": expected types that differ in dimension ", axis, " only");
    shape[axis] += type.getDimSize(axis);
  }
  types.push_back(first.clone(shape));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs().front()) : OpFoldResult();
}

/// The part of `value` from `offset` along a dimension.
static Value partAlong(OpBuilder &builder, Location loc, Value value, int64_t axis, int64_t offset,
                       int64_t size) {
  int64_t rank = tensorType(value).getRank();
  SmallVector<int64_t> offsets(rank, 0), sizes(rank, -1);
  offsets[axis] = offset;
  if (size != tensorType(value).getDimSize(axis))
    sizes[axis] = size;
  return SliceOp::create(builder, loc, value, offsets, sizes);
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  bool differentiable = isa<FloatType>(getResult().getType().getElementType());
  int64_t offset = 0;
  for (Value input : getInputs()) {
    int64_t size = tensorType(input).getDimSize(getAxis());
    operandGradients.push_back(
        differentiable ? partAlong(builder, getLoc(), resultGradients.front(), getAxis(), offset, size)
                       : Value());
    offset += size;
  }
  return success();
}

/// The rule of joining `parts` to `whole`, or of cutting it.
static ShardingRule alongAxisRule(TypeRange parts, RankedTensorType whole, int64_t axis, bool join) {
  ShardingRule rule;
  ValueFactors wholeFactors = addFactors(rule, whole, "dim");
  for (int factor : wholeFactors[axis])
    rule.factors[factor].kind = FactorKind::Replicated;
  SmallVector<ValueFactors, 4> partFactors;
  for (auto [index, type] : llvm::enumerate(parts)) {
    ValueFactors part = wholeFactors;
    int64_t size = cast<RankedTensorType>(type).getDimSize(axis);
    part[axis].clear();
    if (size != 1)
      part[axis].push_back(rule.addFactor("part" + std::to_string(index), size, FactorKind::Replicated));
    partFactors.push_back(part);
  }
  if (join) {
    rule.operands.append(partFactors.begin(), partFactors.end());
    rule.results.push_back(wholeFactors);
  } else {
    rule.operands.push_back(wholeFactors);
    rule.results.append(partFactors.begin(), partFactors.end());
  }
  return rule;
}

ShardingRule ConcatOp::getShardingRule() {
  return alongAxisRule(getInputs().getTypes(), getResult().getType(), getAxis(), /*join=*/true);
}

//===----------------------------------------------------------------------===//
// split
//===----------------------------------------------------------------------===//

LogicalResult SplitOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  int64_t axis = op.getAxis();
  if (!isAxis(axis, input.getRank()))
    return inferError<SplitOp>(loc, "cuts along dimension ", axis, ": expected 0 to ", input.getRank() - 1,
                               " for ", input);
  if (input.isDynamicDim(axis))
    return inferError<SplitOp>(loc, "cuts along dimension ", axis, " of ", input,
                               ": expected another one, since it is the batch");
  int64_t sum = 0;
  SmallVector<int64_t> shape(input.getShape());
  for (int64_t size : op.getSizes()) {
    if (size < 1)
      return inferError<SplitOp>(loc, "has a part of size ", size, ": expected at least 1");
    sum += size;
    shape[axis] = size;
    types.push_back(input.clone(shape));
  }
  if (sum != input.getDimSize(axis))
    return inferError<SplitOp>(loc, "has parts of ", sum, " elements in all: expected ",
                               input.getDimSize(axis), ", the size of dimension ", axis, " of ", input);
  return success();
}

DecomposeStage SplitOp::getDecomposeStage() { return DecomposeStage::BeforeFusion; }

FailureOr<SmallVector<Value>> SplitOp::decompose(OpBuilder &builder) {
  SmallVector<Value> parts;
  int64_t offset = 0;
  for (int64_t size : getSizes()) {
    parts.push_back(partAlong(builder, getLoc(), getInput(), getAxis(), offset, size));
    offset += size;
  }
  return parts;
}

LogicalResult SplitOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                     SmallVectorImpl<Value> &operandGradients) {
  if (!isa<FloatType>(getInput().getType().getElementType())) {
    operandGradients.push_back(Value());
    return success();
  }
  SmallVector<Value> parts;
  for (auto [grad, result] : llvm::zip_equal(resultGradients, getResults()))
    parts.push_back(grad ? grad : zeros(builder, getLoc(), result.getType()));
  operandGradients.push_back(ConcatOp::create(builder, getLoc(), parts, getAxis()));
  return success();
}

ShardingRule SplitOp::getShardingRule() {
  return alongAxisRule(getResults().getTypes(), getInput().getType(), getAxis(), /*join=*/false);
}
