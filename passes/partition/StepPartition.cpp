//===- StepPartition.cpp - one step on local shapes -----------------------===//

#include "passes/partition/StepPartition.h"
#include "mlir/IR/IRMapping.h"
#include "passes/layouts/OpLayouts.h"
#include "passes/partition/LocalOp.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool passes::meanTheSame(LayoutAttr a, LayoutAttr b) {
  auto sameAxes = [](ArrayAttr x, ArrayAttr y) {
    return x.size() == y.size() &&
           llvm::all_of(x, [&](Attribute axis) { return llvm::is_contained(y, axis); });
  };
  return a.getDims() == b.getDims() && a.getBlocks() == b.getBlocks() && sameAxes(a.getSum(), b.getSum()) &&
         sameAxes(a.getMax(), b.getMax());
}

/// The layouts of an op's values as the plan states them.
static OpLayouts layoutsOf(Operation *op) {
  OpLayouts layouts;
  for (Value operand : op->getOperands())
    layouts.operands.push_back(dist::getLayout(operand));
  for (Value result : op->getResults())
    layouts.results.push_back(dist::getLayout(result));
  return layouts;
}

static LogicalResult checkOp(Operation *op) {
  if (isa<dist::ReshardOp, dist::SendOp, dist::ReceiveOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return success();
  OpLayouts stated = layoutsOf(op);
  auto whole = [](LayoutAttr layout) { return layout.isReplicated(); };
  if (llvm::all_of(stated.operands, whole) && llvm::all_of(stated.results, whole))
    return success();
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  if (!shardable)
    return op->emitOpError("has split or partial operands or results and no sharding rule");
  FailureOr<OpLayouts> needed = completeLayouts(shardable, stated);
  if (failed(needed))
    return failure();
  for (auto [index, have, need] : llvm::enumerate(stated.operands, needed->operands))
    if (!meanTheSame(have, need))
      return op->emitOpError() << "operand " << index << " has layout " << have << ", but this split needs "
                               << need << "; reshard it before";
  for (auto [index, have, need] : llvm::enumerate(stated.results, needed->results))
    if (!meanTheSame(have, need))
      return op->emitOpError() << "result " << index << " has layout " << have << ", but this split gives "
                               << need;
  return success();
}

static LogicalResult checkSize(Operation *op, Value value, dist::MeshOp mesh) {
  std::string error =
      checkFits(dist::getLayout(value), cast<RankedTensorType>(value.getType()).getShape(), mesh);
  if (!error.empty())
    return op->emitOpError() << "has a value of type " << value.getType() << " whose " << error;
  return success();
}

FailureOr<dist::MeshOp> passes::findMesh(nn::StepOp step) {
  auto name = step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr);
  auto mesh = name ? SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(step, name) : dist::MeshOp();
  if (!mesh)
    return step.emitOpError("has no mesh: expected the attribute dist.mesh to name a dist.mesh"), failure();
  return mesh;
}

LogicalResult passes::checkLayouts(nn::StepOp step, dist::MeshOp mesh) {
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
    if (layout.isPartial() || (stated ? !meanTheSame(stated, layout) : !layout.isReplicated()))
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

FailureOr<ReshardPlans> passes::planReshards(nn::StepOp step, dist::MeshOp mesh) {
  ReshardPlans plans;
  // Layers are alike: few ways, many times.
  std::map<std::tuple<const void *, const void *, const void *>, SmallVector<ReshardStep>> known;
  for (auto reshard : step.getBody().front().getOps<dist::ReshardOp>()) {
    LayoutAttr from = dist::getLayout(reshard.getInput()), to = dist::getLayout(reshard.getResult());
    auto type = cast<RankedTensorType>(reshard.getType());
    auto [entry, inserted] =
        known.try_emplace({from.getAsOpaquePointer(), to.getAsOpaquePointer(), type.getAsOpaquePointer()});
    if (inserted) {
      std::string error;
      FailureOr<SmallVector<ReshardStep>> steps = planReshard(from, to, type.getShape(), mesh, &error);
      if (failed(steps))
        return reshard.emitOpError(error), failure();
      entry->second = *steps;
    }
    plans[reshard] = entry->second;
  }
  return plans;
}

SmallVector<SmallVector<int64_t>> passes::findVariants(nn::StepOp step, dist::MeshOp mesh,
                                                       const ReshardPlans &reshards) {
  // What decides over local shapes: how many blocks are split over which axes.
  llvm::SetVector<std::pair<ArrayAttr, int64_t>> splits;
  auto add = [&](LayoutAttr layout, Type type) {
    for (int64_t d = 0; d < layout.getRank(); ++d)
      if (layout.isSplit(d))
        splits.insert(
            {layout.getAxes(d), cast<RankedTensorType>(type).getDimSize(d) / layout.getBlocks()[d]});
  };
  for (Value argument : step.getBody().getArguments())
    add(dist::getLayout(argument), argument.getType());
  for (Operation &op : step.getBody().front()) {
    for (Value result : op.getResults())
      add(dist::getLayout(result), result.getType());
    if (auto plan = reshards.find(&op); plan != reshards.end())
      for (const ReshardStep &on : plan->second)
        add(on.result, op.getResult(0).getType());
  }
  // Parts of windows differ in their borders too: each part is a variant of its own.
  SmallVector<ArrayAttr> windowed;
  for (nn::ShardableOpInterface op : step.getBody().front().getOps<nn::ShardableOpInterface>())
    for (ArrayAttr axes : axesOfWindows(op, layoutsOf(op)))
      if (!llvm::is_contained(windowed, axes))
        windowed.push_back(axes);
  std::map<SmallVector<int64_t>, SmallVector<int64_t>> sets;
  SmallVector<SmallVector<int64_t>> order;
  auto stage = step->getAttrOfType<IntegerAttr>(dist::kStageAttr);
  ArrayAttr pipeline = Builder(step.getContext()).getStrArrayAttr({dist::kPipelineAxis});
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    if (stage && mesh.getPart(pipeline, rank) != stage.getInt())
      continue;
    SmallVector<int64_t> shares;
    for (auto [axes, blocks] : splits)
      shares.push_back(dist::shardSize(blocks, 1, mesh.getParts(axes), mesh.getPart(axes, rank)));
    for (ArrayAttr axes : windowed)
      shares.push_back(mesh.getPart(axes, rank));
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
  LocalStep(OpBuilder &b, nn::StepOp step, dist::MeshOp mesh, ArrayRef<int64_t> ranks,
            const ReshardPlans &reshards)
      : b(b), step(step), mesh(mesh), meshName(FlatSymbolRefAttr::get(mesh)), ranks(ranks),
        reshards(reshards) {}

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
    return localType(cast<RankedTensorType>(value.getType()), dist::getLayout(value));
  }
  RankedTensorType localType(RankedTensorType type, LayoutAttr layout) {
    return type.clone(getLocalPart(layout, type.getShape(), mesh, ranks.front()).shape);
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
    if (auto receive = dyn_cast<dist::ReceiveOp>(op)) {
      mapping.map(receive.getResult(),
                  dist::ReceiveOp::create(b, op->getLoc(), localType(receive.getResult()), receive.getMeshAttr(),
                                          receive.getAxesAttr(), receive.getPartAttr(), receive.getTagAttr()));
      return success();
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(mapping.lookup(operand));
    SmallVector<Type> types;
    for (Value result : op->getResults())
      types.push_back(localType(result));
    SmallVector<Value> results;
    if (auto shardable = dyn_cast<nn::ShardableOpInterface>(op); shardable && op->getNumRegions() == 0)
      results = LocalOp(b, shardable, mesh, ranks.front()).build(operands, types);
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

  LogicalResult buildReshard(dist::ReshardOp reshard) {
    Value local = mapping.lookup(reshard.getInput());
    LayoutAttr before = dist::getLayout(reshard.getInput());
    for (const ReshardStep &on : reshards.at(reshard)) {
      FailureOr<Value> next = buildStep(reshard, on, before, local);
      if (failed(next))
        return failure();
      local = *next;
      before = on.result;
      if (Attribute apart = reshard->getAttr(dist::kApartAttr))
        local.getDefiningOp()->setAttr(dist::kApartAttr, apart);
    }
    mapping.map(reshard.getResult(), local);
    return success();
  }

  /// The parts' sizes in the group of each of these ranks, which have equal local shapes: the same, since of parts of
  /// one size the same number is larger.
  FailureOr<DenseI64ArrayAttr> sizesOf(dist::ReshardOp reshard, const ReshardStep &on, int64_t dim,
                                       LayoutAttr split) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(reshard.getType()).getShape();
    SmallVector<int64_t> sizes = getPartSizes(on.axes, dim, split, shape, mesh, ranks.front());
    for (int64_t rank : ranks)
      if (getPartSizes(on.axes, dim, split, shape, mesh, rank) != sizes)
        return reshard.emitOpError() << "has parts of other sizes on rank " << rank << " than on rank "
                                     << ranks.front() << ", which run one program",
               failure();
    return b.getDenseI64ArrayAttr(sizes);
  }

  FailureOr<Value> buildStep(dist::ReshardOp reshard, const ReshardStep &on, LayoutAttr before, Value local) {
    Location loc = reshard.getLoc();
    RankedTensorType type = localType(cast<RankedTensorType>(reshard.getType()), on.result);
    auto reduction =
        dist::ReductionAttr::get(b.getContext(), on.isMax ? dist::Reduction::Max : dist::Reduction::Sum);
    IntegerAttr dim = b.getI64IntegerAttr(on.dim);
    if (on.kind == ReshardKind::AllReduce)
      return dist::AllReduceOp::create(b, loc, TypeRange(type), reduction, meshName, on.axes,
                                       ValueRange(local), IntegerAttr())
          .getResult(0);
    // A gathered dimension was split before, all others are split afterwards.
    FailureOr<DenseI64ArrayAttr> sizes =
        sizesOf(reshard, on, on.dim, on.kind == ReshardKind::AllGather ? before : on.result);
    if (failed(sizes))
      return failure();
    switch (on.kind) {
    case ReshardKind::ReduceScatter:
      return dist::ReduceScatterOp::create(b, loc, type, meshName, on.axes, local, reduction, dim, *sizes)
          .getResult();
    case ReshardKind::AllGather:
      return dist::AllGatherOp::create(b, loc, type, meshName, on.axes, local, dim, *sizes).getResult();
    case ReshardKind::Slice:
      return dist::SliceOp::create(b, loc, type, meshName, on.axes, local, dim, *sizes).getResult();
    default:
      break;
    }
    FailureOr<DenseI64ArrayAttr> joined = sizesOf(reshard, on, on.otherDim, before);
    if (failed(joined))
      return failure();
    return dist::AllToAllOp::create(b, loc, type, meshName, on.axes, local, dim,
                                    b.getI64IntegerAttr(on.otherDim), *sizes, *joined)
        .getResult();
  }

  OpBuilder &b;
  nn::StepOp step;
  dist::MeshOp mesh;
  FlatSymbolRefAttr meshName;
  ArrayRef<int64_t> ranks;
  const ReshardPlans &reshards;
  IRMapping mapping;
};

} // namespace

FailureOr<nn::StepOp> passes::buildLocalStep(OpBuilder &builder, nn::StepOp step, dist::MeshOp mesh,
                                             ArrayRef<int64_t> ranks, const ReshardPlans &reshards,
                                             StringRef name) {
  return LocalStep(builder, step, mesh, ranks, reshards).build(name);
}
