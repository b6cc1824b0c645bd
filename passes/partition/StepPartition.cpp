//===- StepPartition.cpp - one step on local shapes -----------------------===//

#include "passes/partition/StepPartition.h"
#include "mlir/IR/IRMapping.h"
#include "passes/layouts/OpLayouts.h"
#include <map>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult checkOp(Operation *op) {
  if (isa<dist::ReshardOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return success();
  OpLayouts stated;
  for (Value operand : op->getOperands())
    stated.operands.push_back(dist::getLayout(operand));
  for (Value result : op->getResults())
    stated.results.push_back(dist::getLayout(result));
  for (auto [index, layout] : llvm::enumerate(stated.operands))
    if (layout.isPartial())
      return op->emitOpError() << "operand " << index << " is a partial result, " << layout
                               << "; reshard it before it is used";
  auto whole = [](LayoutAttr layout) { return layout.isReplicated(); };
  if (llvm::all_of(stated.operands, whole) && llvm::all_of(stated.results, whole))
    return success();
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  if (!shardable)
    return op->emitOpError("has split operands or results and no sharding rule");
  FailureOr<OpLayouts> needed = completeLayouts(shardable, stated);
  if (failed(needed))
    return failure();
  for (auto [index, have, need] : llvm::enumerate(stated.operands, needed->operands))
    if (have != need)
      return op->emitOpError() << "operand " << index << " has layout " << have << ", but this split needs "
                               << need << "; reshard it before";
  for (auto [index, have, need] : llvm::enumerate(stated.results, needed->results))
    if (have != need)
      return op->emitOpError() << "result " << index << " has layout " << have << ", but this split gives "
                               << need;
  return success();
}

static LogicalResult checkSize(Operation *op, Value value, dist::MeshOp mesh) {
  LayoutAttr layout = dist::getLayout(value);
  auto type = cast<RankedTensorType>(value.getType());
  if (layout.getRank() != type.getRank())
    return op->emitOpError() << "has layout " << layout << " for a value of type " << type;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!layout.isSplit(d))
      continue;
    for (StringRef axis : layout.getAxes(d).getAsValueRange<StringAttr>())
      if (mesh.findAxis(axis) < 0)
        return op->emitOpError() << "has layout " << layout << ", but mesh @" << mesh.getSymName()
                                 << " has no axis \"" << axis << "\"";
    int64_t size = type.getDimSize(d), block = layout.getBlocks()[d],
            parts = mesh.getParts(layout.getAxes(d));
    if (size % block != 0 || size / block < parts)
      return op->emitOpError() << "splits dimension " << d << " of " << type << " in blocks of " << block
                               << " over " << parts << " ranks; every rank needs at least one whole block";
  }
  return success();
}

LogicalResult passes::checkLayouts(nn::StepOp step) {
  auto name = step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr);
  auto mesh = name ? SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(step, name) : dist::MeshOp();
  if (!mesh)
    return step.emitOpError("has no mesh: expected the attribute dist.mesh to name a dist.mesh");
  for (Value argument : step.getBody().getArguments())
    if (failed(checkSize(step, argument, mesh)))
      return failure();
  for (Operation &op : step.getBody().front()) {
    for (Value result : op.getResults())
      if (failed(checkSize(&op, result, mesh)))
        return failure();
    if (failed(checkOp(&op)))
      return failure();
  }
  for (OpOperand &operand : step.getBody().front().getTerminator()->getOpOperands()) {
    auto stated = step.getResultAttrOfType<LayoutAttr>(operand.getOperandNumber(), dist::kLayoutAttr);
    LayoutAttr layout = dist::getLayout(operand.get());
    if (layout.isPartial() || (stated ? stated != layout : !layout.isReplicated()))
      return step.emitOpError() << "result " << operand.getOperandNumber() << " has layout " << layout
                                << ", the step states "
                                << (stated ? stated
                                           : LayoutAttr::getReplicated(step.getContext(), layout.getRank()));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

SmallVector<SmallVector<int64_t>> passes::findVariants(nn::StepOp step, dist::MeshOp mesh) {
  // What decides over local shapes: how many blocks are split over which axes.
  SmallVector<std::pair<ArrayAttr, int64_t>> splits;
  auto add = [&](Value value) {
    LayoutAttr layout = dist::getLayout(value);
    for (int64_t d = 0; d < layout.getRank(); ++d) {
      if (!layout.isSplit(d))
        continue;
      int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(d);
      std::pair<ArrayAttr, int64_t> split(layout.getAxes(d), size / layout.getBlocks()[d]);
      if (!llvm::is_contained(splits, split))
        splits.push_back(split);
    }
  };
  for (Value argument : step.getBody().getArguments())
    add(argument);
  for (Operation &op : step.getBody().front())
    for (Value result : op.getResults())
      add(result);
  std::map<SmallVector<int64_t>, SmallVector<int64_t>> sets;
  SmallVector<SmallVector<int64_t>> order;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    SmallVector<int64_t> shares;
    for (auto [axes, blocks] : splits)
      shares.push_back(dist::shardSize(blocks, 1, mesh.getParts(axes), mesh.getPart(axes, rank)));
    auto [entry, inserted] = sets.try_emplace(shares);
    entry->second.push_back(rank);
    if (inserted)
      order.push_back(shares);
  }
  SmallVector<SmallVector<int64_t>> variants;
  for (const SmallVector<int64_t> &shares : order)
    variants.push_back(sets[shares]);
  return variants;
}

//===----------------------------------------------------------------------===//
// The local step
//===----------------------------------------------------------------------===//

namespace {

class LocalStep {
public:
  LocalStep(OpBuilder &b, nn::StepOp step, dist::MeshOp mesh, ArrayRef<int64_t> ranks)
      : b(b), step(step), mesh(mesh), meshName(FlatSymbolRefAttr::get(mesh)), ranks(ranks) {}

  FailureOr<nn::StepOp> build(StringRef name) {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Type> arguments, results;
    for (Value argument : step.getBody().getArguments())
      arguments.push_back(localType(argument));
    Operation *terminator = step.getBody().front().getTerminator();
    for (Value result : terminator->getOperands())
      results.push_back(localType(result));
    auto local =
        nn::StepOp::create(b, step.getLoc(), name, b.getFunctionType(arguments, results), step.getKind(),
                           withGlobalTypes(step.getArgAttrsAttr(), step.getArgumentTypes()),
                           withGlobalTypes(step.getResAttrsAttr(), step.getResultTypes()));
    local->setDiscardableAttrs(llvm::to_vector(step->getDiscardableAttrs()));
    local->setAttr(dist::kRanksAttr, b.getDenseI64ArrayAttr(ranks));
    Block *body = b.createBlock(&local.getBody());
    for (auto [argument, type] : llvm::zip(step.getBody().getArguments(), arguments))
      mapping.map(argument, body->addArgument(type, argument.getLoc()));
    for (Operation &op : step.getBody().front())
      if (failed(buildOp(&op)))
        return local.erase(), failure();
    return local;
  }

private:
  RankedTensorType localType(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    LayoutAttr layout = dist::getLayout(value);
    SmallVector<int64_t> shape(type.getShape());
    for (auto [d, size] : llvm::enumerate(shape))
      if (ArrayAttr axes = layout.getAxes(d); !axes.empty())
        size = dist::shardSize(size, layout.getBlocks()[d], mesh.getParts(axes),
                               mesh.getPart(axes, ranks.front()));
    return type.clone(shape);
  }

  ArrayAttr withGlobalTypes(ArrayAttr attributes, ArrayRef<Type> types) {
    SmallVector<Attribute> changed;
    for (auto [index, type] : llvm::enumerate(types)) {
      NamedAttrList list(attributes ? cast<DictionaryAttr>(attributes[index]) : b.getDictionaryAttr({}));
      list.set(dist::kGlobalAttr, TypeAttr::get(type));
      changed.push_back(list.getDictionary(b.getContext()));
    }
    return b.getArrayAttr(changed);
  }

  LogicalResult buildOp(Operation *op) {
    if (auto reshard = dyn_cast<dist::ReshardOp>(op))
      return buildReshard(reshard);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(mapping.lookup(operand));
    SmallVector<Type> types;
    for (Value result : op->getResults())
      types.push_back(localType(result));
    SmallVector<Value> results;
    if (auto mask = dyn_cast<nn::DropoutMaskOp>(op); mask && types.front() != mask.getType())
      results.push_back(buildMask(mask, cast<RankedTensorType>(types.front())));
    else if (auto shardable = dyn_cast<nn::ShardableOpInterface>(op); shardable && op->getNumRegions() == 0)
      results = shardable.buildLocal(b, operands, types);
    else
      results = b.clone(*op, mapping)->getResults();
    if (results.size() != types.size())
      return op->emitOpError("cannot be built on local shapes");
    for (auto [result, local, type] : llvm::zip(op->getResults(), results, types)) {
      if (local.getType() != type)
        return op->emitOpError() << "has type " << local.getType() << " on local shapes, expected " << type;
      if (Operation *built = local.getDefiningOp()) {
        built->removeAttr(dist::kLayoutsAttr);
        built->setLoc(op->getLoc());
      }
      mapping.map(result, local);
    }
    return success();
  }

  /// The part of a mask is that of the whole tensor, whatever the number of ranks: it is told where it
  /// begins.
  Value buildMask(nn::DropoutMaskOp mask, RankedTensorType type) {
    LayoutAttr layout = dist::getLayout(mask.getResult());
    SmallVector<Value> starts;
    SmallVector<int64_t> dims;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!layout.isSplit(d))
        continue;
      starts.push_back(dist::ShardStartOp::create(
          b, mask.getLoc(), RankedTensorType::get({}, b.getI64Type()), meshName, layout.getAxes(d),
          b.getI64IntegerAttr(mask.getGlobalShape()[d]), b.getI64IntegerAttr(layout.getBlocks()[d])));
      dims.push_back(d);
    }
    return nn::DropoutMaskOp::create(b, mask.getLoc(), type, mapping.lookup(mask.getSeed()), starts,
                                     mask.getRateAttr(), mask.getStreamAttr(), mask.getGlobalShapeAttr(),
                                     b.getDenseI64ArrayAttr(dims));
  }

  LogicalResult buildReshard(dist::ReshardOp reshard) {
    LayoutAttr from = dist::getLayout(reshard.getInput()), to = dist::getLayout(reshard.getResult());
    Value local = mapping.lookup(reshard.getInput());
    if (from.getDims() != to.getDims() || from.getBlocks() != to.getBlocks() || to.isPartial())
      return reshard.emitOpError() << "from " << from << " to " << to
                                   << " is not supported yet: only partial results can be reduced";
    auto reduce = [&](ArrayAttr axes, dist::Reduction reduction) {
      if (axes.empty() || mesh.getParts(axes) == 1)
        return;
      local = dist::AllReduceOp::create(b, reshard.getLoc(), TypeRange(local.getType()),
                                        dist::ReductionAttr::get(b.getContext(), reduction), meshName, axes,
                                        ValueRange(local), IntegerAttr())
                  .getResult(0);
    };
    reduce(from.getSum(), dist::Reduction::Sum);
    reduce(from.getMax(), dist::Reduction::Max);
    mapping.map(reshard.getResult(), local);
    return success();
  }

  OpBuilder &b;
  nn::StepOp step;
  dist::MeshOp mesh;
  FlatSymbolRefAttr meshName;
  ArrayRef<int64_t> ranks;
  IRMapping mapping;
};

} // namespace

FailureOr<nn::StepOp> passes::buildLocalStep(OpBuilder &builder, nn::StepOp step, dist::MeshOp mesh,
                                             ArrayRef<int64_t> ranks, StringRef name) {
  return LocalStep(builder, step, mesh, ranks).build(name);
}
