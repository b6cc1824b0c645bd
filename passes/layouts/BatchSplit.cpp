//===- BatchSplit.cpp - what of a step has the batch ----------------------===//

#include "passes/layouts/BatchSplit.h"
#include "mlir/IR/Builders.h"
#include "passes/layouts/OpLayouts.h"
#include "passes/layouts/Reshard.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

static StringRef textOf(DictionaryAttr attributes, StringRef key, StringRef fallback) {
  auto attr = attributes ? attributes.getAs<StringAttr>(key) : StringAttr();
  return attr ? attr.getValue() : fallback;
}

static bool isWhole(LayoutAttr layout) { return layout.isReplicated(); }

LayoutAttr BatchSplit::layoutOf(Value value) const {
  auto known = layouts.find(value);
  if (known != layouts.end())
    return known->second;
  return LayoutAttr::getReplicated(value.getContext(), cast<RankedTensorType>(value.getType()).getRank());
}

bool BatchSplit::splits(Operation *op) const {
  if (isa<dist::AlikeOp>(op))
    return false; // a hint
  auto has = [&](Value value) { return isSplit(value); };
  return llvm::any_of(op->getOperands(), has) || llvm::any_of(op->getResults(), has);
}

SmallVector<int64_t> BatchSplit::shapeOfPart(Value value, int64_t part) const {
  LayoutAttr layout = layoutOf(value);
  SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
  for (auto [dim, size] : llvm::enumerate(shape))
    if (layout.isSplit(dim))
      size = dist::shardSize(size, layout.getBlocks()[dim], axis.parts, part);
  return shape;
}

SmallVector<int64_t> BatchSplit::leastShapeOf(Value value) const { return shapeOfPart(value, axis.parts - 1); }

/// The first part has most samples, the last fewest. Where a layout has blocks of several samples, either may be none.
bool BatchSplit::partsFit(Value value, LayoutAttr layout, dist::MeshOp mesh) const {
  return llvm::all_of(std::array<int64_t, 2>{0, axis.parts - 1}, [&](int64_t part) {
    return checkFits(layout, shapeOfPart(value, part), mesh).empty();
  });
}

LogicalResult BatchSplit::run() {
  return success(succeeded(splitInputs()) && succeeded(propagate()) && succeeded(checkArguments()) &&
                 succeeded(checkResults()));
}

LogicalResult BatchSplit::splitInputs() {
  int64_t batch = -1;
  for (BlockArgument argument : step.getBody().getArguments()) {
    DictionaryAttr attributes = step.getArgAttrDict(argument.getArgNumber());
    if (textOf(attributes, "nn.role", "") != "input")
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    StringRef name = textOf(attributes, "nn.name", "?");
    if (type.getRank() == 0 || type.isDynamicDim(0))
      return step.emitOpError() << "input '" << name << "' has type " << type
                                << ", expected the batch, bound to a number, as dimension 0";
    if (batch != -1 && type.getDimSize(0) != batch)
      return step.emitOpError() << "input '" << name << "' has " << type.getDimSize(0)
                                << " samples, other inputs have " << batch;
    batch = type.getDimSize(0);
    if (batch < axis.parts)
      return step.emitOpError() << "has a batch of " << batch << " for " << axis.parts << " " << axis.inParts
                                << ": every " << axis.part
                                << " needs at least one sample; use a larger batch or fewer " << axis.inParts;
    if (axis.evenIfOne && batch == 1)
      return step.emitOpError("has a batch of one sample, which cannot be told from other dimensions of size "
                              "one: use a larger batch");
    if (axis.parts > 1 || axis.evenIfOne)
      layouts[argument] = LayoutAttr::getSplit(step.getContext(), type.getRank(), 0, {axis.name});
  }
  return success();
}

/// Takes `layout` for `value` where it splits what was whole.
bool BatchSplit::update(Value value, LayoutAttr layout) {
  if (layoutOf(value) == layout)
    return false;
  layouts[value] = layout;
  return true;
}

/// Carries splits through ops in both directions until nothing changes. A factor that one value splits is
/// split in all values of its op, so layouts only ever gain axes, and this ends.
LogicalResult BatchSplit::propagate() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation &op : step.getBody().front())
      if (failed(propagateThrough(&op, changed)))
        return failure();
    // Backward too, so that chains of ops whose result alone has the batch are not walked once per link.
    for (Operation &op : llvm::reverse(step.getBody().front()))
      if (failed(propagateThrough(&op, changed)))
        return failure();
  }
  return success();
}

LogicalResult BatchSplit::propagateThrough(Operation *op, bool &changed) {
  if (op->hasTrait<OpTrait::IsTerminator>() || !splits(op))
    return success();
  // Where a value lies on other axes is nothing to this one.
  if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
    Value input = reshard.getInput(), result = reshard.getResult();
    if (isWhole(layoutOf(input)))
      changed |= update(input, layoutOf(result));
    else
      changed |= update(result, layoutOf(input));
    return success();
  }
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  if (!shardable)
    return op->emitOpError("works on values that are split over the batch and has no sharding rule");
  OpLayouts known;
  for (Value operand : op->getOperands())
    known.operands.push_back(layoutOf(operand));
  for (Value result : op->getResults())
    known.results.push_back(layoutOf(result));
  FailureOr<OpLayouts> all = completeLayouts(shardable, known);
  if (failed(all))
    return failure();
  for (auto [operand, layout] : llvm::zip(op->getOperands(), all->operands))
    changed |= update(operand, layout);
  for (auto [result, layout] : llvm::zip(op->getResults(), all->results)) {
    if (layout.isPartial())
      partial[result] = layout;
    ArrayAttr none = ArrayAttr::get(op->getContext(), {});
    changed |= update(result,
                      LayoutAttr::get(op->getContext(), layout.getDims(), layout.getBlocks(), none, none));
  }
  return success();
}

LogicalResult BatchSplit::checkArguments() {
  for (BlockArgument argument : step.getBody().getArguments()) {
    DictionaryAttr attributes = step.getArgAttrDict(argument.getArgNumber());
    StringRef role = textOf(attributes, "nn.role", "");
    if (role != "input" && !isWhole(layoutOf(argument)))
      return step.emitOpError() << role << " '" << textOf(attributes, "nn.name", "?")
                                << "' is used together with the batch, dimension by dimension, and would "
                                   "have to be split with it; data parallelism keeps it whole";
  }
  return success();
}

LogicalResult BatchSplit::checkResults() {
  for (OpOperand &operand : step.getBody().front().getTerminator()->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    DictionaryAttr attributes = step.getResultAttrDict(index);
    StringRef role = textOf(attributes, "nn.role", "no role");
    if (!isWhole(layoutOf(operand.get())) && role != "output")
      return step.emitOpError() << "result " << index << " (" << role << " '"
                                << textOf(attributes, "nn.name", "?")
                                << "') is split over the batch; only an output may be";
  }
  return success();
}
