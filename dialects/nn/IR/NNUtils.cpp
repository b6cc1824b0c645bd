//===- NNUtils.cpp - what the families of nn ops share --------------------===//

#include "dialects/nn/IR/NNUtils.h"
#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace mlir;

namespace pdc::nn {

LogicalResult verifyInferredTypes(Operation *op, TypeRange inferred) {
  if (inferred.size() != op->getNumResults())
    return op->emitOpError("expected ") << inferred.size() << " results, found " << op->getNumResults();
  for (auto [index, expected, found] : llvm::enumerate(inferred, op->getResultTypes()))
    if (expected != found)
      return op->emitOpError("expected type ") << expected << " for result #" << index << ", found " << found;
  return success();
}

//===----------------------------------------------------------------------===//
// Types and messages
//===----------------------------------------------------------------------===//

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleave(
      shape, [&](int64_t size) { ShapedType::isDynamic(size) ? stream << '?' : stream << size; },
      [&] { stream << 'x'; });
  stream << ']';
  return text;
}

std::optional<SmallVector<int64_t>> broadcastShapes(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  SmallVector<int64_t> shape(lhs);
  size_t lead = lhs.size() - rhs.size();
  for (auto [index, size] : llvm::enumerate(rhs)) {
    int64_t &common = shape[lead + index];
    if (common == 1)
      common = size;
    else if (size != 1 && size != common)
      return std::nullopt;
  }
  return shape;
}

int64_t staticElementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (!ShapedType::isDynamic(size) && llvm::MulOverflow(count, size, count))
      count = std::numeric_limits<int64_t>::max();
  return count;
}

Type computeType(Type elementType) {
  return elementType.isBF16() || elementType.isF16() ? Float32Type::get(elementType.getContext())
                                                     : elementType;
}

//===----------------------------------------------------------------------===//
// Ops that gradients and decompositions are made of
//===----------------------------------------------------------------------===//

DenseElementsAttr splatAttr(RankedTensorType type, double value) {
  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return DenseElementsAttr::get(type, FloatAttr::get(element, value));
  return DenseElementsAttr::get(type, IntegerAttr::get(element, static_cast<int64_t>(value)));
}

Value splatConstant(OpBuilder &builder, Location loc, RankedTensorType type, double value) {
  return ConstantOp::create(builder, loc, type, splatAttr(type, value));
}

Value scalarConstant(OpBuilder &builder, Location loc, Value like, double value) {
  return splatConstant(builder, loc, RankedTensorType::get({}, getElementTypeOrSelf(like.getType())), value);
}

Value zeros(OpBuilder &builder, Location loc, Type type) {
  return splatConstant(builder, loc, cast<RankedTensorType>(type), 0.0);
}

Value castTo(OpBuilder &builder, Location loc, Value value, Type elementType) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == elementType)
    return value;
  return CastOp::create(builder, loc, type.clone(elementType), value);
}

Value reshapeTo(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return ReshapeOp::create(builder, loc, type.clone(shape), value);
}

Value broadcastTo(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return BroadcastOp::create(builder, loc, type.clone(shape), value);
}

Value reduceToShape(OpBuilder &builder, Location loc, Value value, Type type) {
  auto from = cast<RankedTensorType>(value.getType());
  auto to = cast<RankedTensorType>(type);
  int64_t lead = from.getRank() - to.getRank();
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < from.getRank(); ++axis)
    if (axis < lead || (to.getDimSize(axis - lead) == 1 && from.getDimSize(axis) != 1))
      axes.push_back(axis);
  if (!axes.empty())
    value = ReduceSumOp::create(builder, loc, value, axes);
  return castTo(builder, loc, reshapeTo(builder, loc, value, to.getShape()), to.getElementType());
}

Value biasOfFirstPart(OpBuilder &builder, Location loc, Value bias, Value start) {
  Value first =
      CompareOp::create(builder, loc, ComparePredicate::eq, start, scalarConstant(builder, loc, start, 0.0));
  return SelectOp::create(builder, loc, first, bias, scalarConstant(builder, loc, bias, 0.0));
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

ValueFactors addFactors(ShardingRule &rule, Type type, StringRef prefix, FactorKind kind) {
  ValueFactors value;
  for (auto [index, size] : llvm::enumerate(cast<RankedTensorType>(type).getShape())) {
    value.emplace_back();
    if (size != 1)
      value.back().push_back(rule.addFactor((prefix + Twine(index)).str(), size, kind));
  }
  return value;
}

ShardingRule elementwiseRule(TypeRange operands, TypeRange results) {
  ShardingRule rule;
  ValueFactors result = addFactors(rule, results.front(), "dim");
  for (Type type : operands) {
    auto tensor = cast<RankedTensorType>(type);
    size_t lead = result.size() - tensor.getRank();
    ValueFactors operand;
    for (auto [index, size] : llvm::enumerate(tensor.getShape()))
      operand.push_back(size == 1 ? DimFactors() : result[lead + index]);
    rule.operands.push_back(std::move(operand));
  }
  rule.results.assign(results.size(), result);
  return rule;
}

ShardingRule replicatedRule(TypeRange operands, TypeRange results) {
  ShardingRule rule;
  for (auto [index, type] : llvm::enumerate(operands))
    rule.operands.push_back(
        addFactors(rule, type, ("operand" + Twine(index) + "_").str(), FactorKind::Replicated));
  for (auto [index, type] : llvm::enumerate(results))
    rule.results.push_back(
        addFactors(rule, type, ("result" + Twine(index) + "_").str(), FactorKind::Replicated));
  return rule;
}

} // namespace pdc::nn
