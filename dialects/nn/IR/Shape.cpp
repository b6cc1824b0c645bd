//===- Shape.cpp - reshape, transpose, broadcast, slice, pad, concat ------===//

#include "dialects/nn/IR/OpWriter.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace pdc::nn;

/// A splat constant with another shape, null for everything else.
static Attribute resizedSplat(Attribute attribute, RankedTensorType type) {
  auto elements = dyn_cast_if_present<DenseElementsAttr>(attribute);
  return elements && elements.isSplat() && type.hasStaticShape() ? elements.resizeSplat(type) : Attribute();
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError("changes the element type from ")
           << from.getElementType() << " to " << to.getElementType()
           << ": expected the same; nn.cast changes it";
  if (from.getNumDynamicDims() > 1 || to.getNumDynamicDims() > 1)
    return emitOpError("expected at most one dimension `?`, found ") << from << " and " << to;
  int64_t fromCount = staticElementCount(from.getShape()), toCount = staticElementCount(to.getShape());
  bool fromDynamic = !from.hasStaticShape(), toDynamic = !to.hasStaticShape();
  if (!fromDynamic && !toDynamic && fromCount != toCount)
    return emitOpError("makes ") << toCount << " elements of " << fromCount
                                 << ": expected as many in the result's shape " << shapeText(to.getShape())
                                 << " as in the input's " << shapeText(from.getShape());
  if (fromDynamic && !toDynamic)
    return emitOpError("makes the static shape ")
           << shapeText(to.getShape()) << " of " << shapeText(from.getShape())
           << ": expected `?` in the result too";
  if (toDynamic && !fromDynamic)
    return emitOpError("makes the shape ") << shapeText(to.getShape()) << " of the static "
                                           << shapeText(from.getShape()) << ": expected a static result";
  if (fromDynamic && toDynamic && fromCount % toCount != 0 && toCount % fromCount != 0)
    return emitOpError("cannot make ") << shapeText(to.getShape()) << " of " << shapeText(from.getShape())
                                       << ": expected the static dimensions' product " << toCount
                                       << " to divide " << fromCount << " or the other way round";
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return resizedSplat(adaptor.getInput(), getResult().getType());
}

LogicalResult ReshapeOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      reshapeTo(builder, getLoc(), resultGradients.front(), getInput().getType().getShape()));
  return success();
}

/// Products of the last 0, 1, 2, ... sizes.
static SmallVector<int64_t> suffixProducts(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> products = {1};
  for (int64_t size : llvm::reverse(sizes))
    products.push_back(products.back() * size);
  return products;
}

/// The factors of the dimensions `sizes`, major to minor, where factor number `first` + t stretches from
/// boundary t to boundary t + 1 of the row-major index.
static void addDimensions(ArrayRef<int64_t> sizes, ArrayRef<int64_t> boundaries, int first,
                          ValueFactors &value) {
  SmallVector<int64_t> products = suffixProducts(sizes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t low = products[sizes.size() - 1 - i], high = products[sizes.size() - i];
    DimFactors &dim = value.emplace_back();
    for (int t = static_cast<int>(boundaries.size()) - 2; t >= 0; --t)
      if (boundaries[t] >= low && boundaries[t + 1] <= high)
        dim.push_back(first + t);
  }
}

/// Factors of the dimensions `from` and `to`, which have as many elements: every place where a dimension
/// begins in either is a border of factors. [6, 4] -> [4, 6] has none such that each factor is a whole
/// number: those dimensions cannot be split.
static void addReshapeFactors(ShardingRule &rule, ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                              ValueFactors &operand, ValueFactors &result) {
  SmallVector<int64_t> boundaries = suffixProducts(from);
  boundaries.append(suffixProducts(to));
  llvm::sort(boundaries);
  boundaries.erase(llvm::unique(boundaries), boundaries.end());
  bool divides = true;
  for (size_t t = 0; t + 1 < boundaries.size(); ++t)
    divides &= boundaries[t + 1] % boundaries[t] == 0;
  if (divides) {
    int first = static_cast<int>(rule.factors.size());
    for (size_t t = 0; t + 1 < boundaries.size(); ++t)
      rule.addFactor("dim" + std::to_string(first + t), boundaries[t + 1] / boundaries[t]);
    addDimensions(from, boundaries, first, operand);
    addDimensions(to, boundaries, first, result);
    return;
  }
  auto replicate = [&](ArrayRef<int64_t> sizes, ValueFactors &value) {
    for (int64_t size : sizes) {
      DimFactors &dim = value.emplace_back();
      if (size != 1)
        dim.push_back(
            rule.addFactor("whole" + std::to_string(rule.factors.size()), size, FactorKind::Replicated));
    }
  };
  replicate(from, operand);
  replicate(to, result);
}

ShardingRule ReshapeOp::getShardingRule() {
  ArrayRef<int64_t> from = getInput().getType().getShape(), to = getResult().getType().getShape();
  if (llvm::is_contained(from, 0))
    return replicatedRule(getInput().getType(), getResult().getType());
  ShardingRule rule;
  ValueFactors operand, result;
  if (!getInput().getType().hasStaticShape()) {
    bool sameBatch = ShapedType::isDynamic(from.front()) && ShapedType::isDynamic(to.front()) &&
                     staticElementCount(from) == staticElementCount(to);
    if (!sameBatch)
      return replicatedRule(getInput().getType(), getResult().getType());
    int batch = rule.addFactor("batch", ShapedType::kDynamic);
    operand.push_back({batch});
    result.push_back({batch});
    from = from.drop_front();
    to = to.drop_front();
  }
  // Pieces with equal products are independent of each other.
  while (!from.empty() && !to.empty()) {
    size_t fromCount = 1, toCount = 1;
    int64_t fromProduct = from[0], toProduct = to[0];
    while (fromProduct != toProduct)
      if (fromProduct < toProduct)
        fromProduct *= from[fromCount++];
      else
        toProduct *= to[toCount++];
    addReshapeFactors(rule, from.take_front(fromCount), to.take_front(toCount), operand, result);
    from = from.drop_front(fromCount);
    to = to.drop_front(toCount);
  }
  // What is left has size one.
  addReshapeFactors(rule, from, to, operand, result);
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  ArrayRef<int64_t> permutation = op.getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, input.getRank())))
    return inferError<TransposeOp>(loc, "has permutation [", llvm::interleaved(permutation).str(),
                                   "]: expected every dimension of ", input, " once, counted from 0");
  SmallVector<int64_t> shape;
  for (int64_t dimension : permutation)
    shape.push_back(input.getDimSize(dimension));
  types.push_back(input.clone(shape));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size())))
    return getInput();
  if (auto inner = getInput().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t dimension : getPermutation())
      composed.push_back(inner.getPermutation()[dimension]);
    setPermutation(composed);
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return resizedSplat(adaptor.getInput(), getResult().getType());
}

LogicalResult TransposeOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [index, dimension] : llvm::enumerate(getPermutation()))
    inverse[dimension] = index;
  operandGradients.push_back(TransposeOp::create(builder, getLoc(), resultGradients.front(), inverse));
  return success();
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRule rule;
  rule.operands.push_back(addFactors(rule, getInput().getType(), "dim"));
  ValueFactors result;
  for (int64_t dimension : getPermutation())
    result.push_back(rule.operands[0][dimension]);
  rule.results.push_back(result);
  return rule;
}

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError("changes the element type from ")
           << from.getElementType() << " to " << to.getElementType()
           << ": expected the same; nn.cast changes it";
  std::optional<SmallVector<int64_t>> common = broadcastShapes(from.getShape(), to.getShape());
  if (!common || ArrayRef<int64_t>(*common) != to.getShape())
    return emitOpError("cannot stretch ")
           << shapeText(from.getShape()) << " to " << shapeText(to.getShape())
           << ": expected equal sizes, or size 1 in the input, counted from the "
           << "last dimension";
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return resizedSplat(adaptor.getInput(), getResult().getType());
}

LogicalResult BroadcastOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(reduceToShape(builder, getLoc(), resultGradients.front(), getInput().getType()));
  return success();
}

ShardingRule BroadcastOp::getShardingRule() {
  return elementwiseRule(getInput().getType(), getResult().getType());
}

Value BroadcastOp::buildScalar(OpBuilder &, ValueRange elements, ValueRange) { return elements.front(); }
