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

static LogicalResult checkBarrier(dist::OptimizationBarrierOp barrier) {
  for (auto [input, result] : llvm::zip(barrier.getInputs(), barrier.getResults()))
    if (!meanTheSame(dist::getLayout(input), dist::getLayout(result)))
      return barrier.emitOpError() << "gives a value of layout " << dist::getLayout(input) << " the layout "
                                   << dist::getLayout(result) << "; it changes nothing";
  return success();
}

/// A sum over more axes, of which nothing else is known here.
static LogicalResult checkSummand(dist::SummandOp summand) {
  LayoutAttr before = dist::getLayout(summand.getInput()), after = dist::getLayout(summand.getResult());
  bool keepsSums = llvm::all_of(before.getSum(), [&](Attribute axis) { return llvm::is_contained(after.getSum(), axis); });
  if (before.getDims() != after.getDims() || before.getBlocks() != after.getBlocks() || before.getMax() != after.getMax() ||
      !keepsSums)
    return summand.emitOpError() << "gives a value of layout " << before << " the layout " << after
                                 << "; expected the same with more axes to sum over";
  return success();
}

static LogicalResult checkOp(Operation *op) {
  if (auto summand = dyn_cast<dist::SummandOp>(op))
    return checkSummand(summand);
  if (auto barrier = dyn_cast<dist::OptimizationBarrierOp>(op))
    return checkBarrier(barrier);
  if (isa<dist::ReshardOp, dist::StageSendOp, dist::StageReceiveOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
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

FailureOr<dist::MeshOp> passes::findMesh(nn::StepOp step) {
  auto name = step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr);
  auto mesh = name ? SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(step, name) : dist::MeshOp();
  if (!mesh)
    return step.emitOpError("has no mesh: expected the attribute dist.mesh to name a dist.mesh"), failure();
  return mesh;
}

FailureOr<dist::MeshOp> passes::findReplica(nn::StepOp step) {
  auto name = step->getAttrOfType<FlatSymbolRefAttr>(dist::kReplicaAttr);
  if (!name)
    return findMesh(step);
  FailureOr<dist::MeshOp> whole = findMesh(step);
  if (failed(whole))
    return failure();
  auto replica = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(step, name);
  if (!replica || replica.getFirst() < whole->getFirst() ||
      replica.getFirst() + replica.getNumRanks() > whole->getFirst() + whole->getNumRanks())
    return step.emitOpError() << "is that of the replica " << name << ", which is no mesh of ranks of its mesh @"
                              << whole->getSymName(),
           failure();
  return replica;
}

LogicalResult passes::checkLayouts(nn::StepOp step, dist::MeshOp mesh) {
  for (Value argument : step.getBody().getArguments())
    if (failed(checkFits(step, argument, mesh)))
      return failure();
  for (Operation &op : step.getBody().front()) {
    for (Value result : op.getResults())
      if (failed(checkFits(&op, result, mesh)))
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

TransferPlans passes::planTransfers(nn::StepOp step) {
  TransferPlans plans;
  auto plan = [&](auto message, Value value, bool sends) {
    auto mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(step, message.getMeshAttr());
    auto peer = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(step, message.getPeerAttr());
    ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
    LayoutAttr own = dist::getLayout(value), other = message.getLayout();
    int64_t turn = message.getTag();
    for (TransferPiece &piece : sends ? planTransfer(own, mesh, other, peer, shape, turn)
                                      : planTransfer(other, peer, own, mesh, shape, turn))
      plans[message][sends ? piece.from : piece.to].push_back(std::move(piece));
  };
  for (Operation &op : step.getBody().front())
    if (auto send = dyn_cast<dist::StageSendOp>(op))
      plan(send, send.getInput(), true);
    else if (auto receive = dyn_cast<dist::StageReceiveOp>(op))
      plan(receive, receive.getResult(), false);
  return plans;
}

/// Where the pieces of a rank begin in its own part, and their shapes.
static void appendShape(SmallVectorImpl<int64_t> &shares, ArrayRef<TransferPiece> pieces, const LocalPart &own) {
  shares.push_back(static_cast<int64_t>(pieces.size()));
  for (const TransferPiece &piece : pieces)
    for (auto [start, size, first] : llvm::zip(piece.box.start, piece.box.shape, own.start))
      shares.append({start - first, size});
}

SmallVector<SmallVector<int64_t>> passes::findVariants(nn::StepOp step, dist::MeshOp mesh, dist::MeshOp replica,
                                                       const ReshardPlans &reshards,
                                                       const TransferPlans &transfers) {
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
  for (int64_t rank : replica.getRanks()) {
    SmallVector<int64_t> shares;
    for (auto [axes, blocks] : splits)
      shares.push_back(dist::shardSize(blocks, 1, mesh.getParts(axes), mesh.getPart(axes, rank)));
    for (ArrayAttr axes : windowed)
      shares.push_back(mesh.getPart(axes, rank));
    for (Operation &op : step.getBody().front())
      if (auto pieces = transfers.find(&op); pieces != transfers.end()) {
        Value value = op.getNumResults() ? op.getResult(0) : op.getOperand(0);
        ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
        auto own = pieces->second.find(rank);
        appendShape(shares, own == pieces->second.end() ? ArrayRef<TransferPiece>() : own->second,
                    getLocalPart(dist::getLayout(value), shape, mesh, rank));
      }
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
            const ReshardPlans &reshards, const TransferPlans &transfers)
      : b(b), step(step), mesh(mesh), meshName(FlatSymbolRefAttr::get(mesh)), ranks(ranks),
        reshards(reshards), transfers(transfers) {}

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
    if (auto summand = dyn_cast<dist::SummandOp>(op)) {
      join(summand.getInput());
      mapping.map(summand.getResult(), mapping.lookup(summand.getInput()));
      return success();
    }
    if (auto send = dyn_cast<dist::StageSendOp>(op))
      return buildSend(send), success();
    if (auto wait = dyn_cast<dist::StageWaitOp>(op))
      return buildWait(wait), success();
    if (auto receive = dyn_cast<dist::StageReceiveOp>(op))
      return buildReceive(receive), success();
    for (Value operand : op->getOperands())
      join(operand);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(mapping.lookup(operand));
    SmallVector<Type> types;
    for (Value result : op->getResults())
      types.push_back(localType(result));
    SmallVector<Value> results;
    if (isa<dist::OptimizationBarrierOp>(op))
      results = dist::OptimizationBarrierOp::create(b, op->getLoc(), operands).getResults();
    else if (auto shardable = dyn_cast<nn::ShardableOpInterface>(op); shardable && op->getNumRegions() == 0)
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

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  /// The pieces of the first of the ranks; those of the others have the same shapes and places.
  ArrayRef<TransferPiece> piecesOf(Operation *message, int64_t rank) const {
    auto found = transfers.find(message);
    if (found == transfers.end())
      return {};
    auto own = found->second.find(rank);
    return own == found->second.end() ? ArrayRef<TransferPiece>() : ArrayRef<TransferPiece>(own->second);
  }

  /// The peers of all ranks for piece `index`.
  DenseI64ArrayAttr peersOf(Operation *message, size_t index, int64_t TransferPiece::*peer) {
    return b.getDenseI64ArrayAttr(llvm::map_to_vector(
        ranks, [&](int64_t rank) { return piecesOf(message, rank)[index].*peer; }));
  }

  void buildSend(dist::StageSendOp send) {
    join(send.getInput());
    Value local = mapping.lookup(send.getInput());
    auto type = cast<RankedTensorType>(local.getType());
    ArrayRef<int64_t> shape = send.getInput().getType().getShape();
    LocalPart own = getLocalPart(dist::getLayout(send.getInput()), shape, mesh, ranks.front());
    // To nobody: the others of the stage send, and all order their collectives by what is waited for.
    if (piecesOf(send, ranks.front()).empty())
      dist::SendOp::create(b, send.getLoc(), b.getDenseI64ArrayAttr({}), send.getTagAttr(), local);
    for (auto [index, piece] : llvm::enumerate(piecesOf(send, ranks.front()))) {
      Value part = local;
      if (piece.box != own) {
        SmallVector<int64_t> offsets;
        for (auto [start, first] : llvm::zip(piece.box.start, own.start))
          offsets.push_back(start - first);
        part = nn::SliceOp::create(b, send.getLoc(), type.clone(piece.box.shape), local, offsets, piece.box.shape,
                                   SmallVector<int64_t>());
      }
      DenseI64ArrayAttr peers = peersOf(send, index, &TransferPiece::to);
      dist::SendOp::create(b, send.getLoc(), peers, send.getTagAttr(), part);
      sent[{send.getPeerAttr(), send.getTag()}].push_back(peers);
    }
  }

  void buildWait(dist::StageWaitOp wait) {
    for (DenseI64ArrayAttr peers : sent[{wait.getPeerAttr(), wait.getTag()}])
      dist::SendWaitOp::create(b, wait.getLoc(), peers, wait.getTagAttr());
  }

  void buildReceive(dist::StageReceiveOp receive) {
    ArrayRef<TransferPiece> pieces = piecesOf(receive, ranks.front());
    SmallVector<Value> &parts = arriving[receive.getResult()];
    for (auto [index, piece] : llvm::enumerate(pieces))
      parts.push_back(dist::ReceiveOp::create(b, receive.getLoc(), receive.getType().clone(piece.box.shape),
                                              peersOf(receive, index, &TransferPiece::from), receive.getTagAttr()));
  }

  /// Puts the pieces of a received value together, where it is used first: until then they may be on their way.
  void join(Value value) {
    auto found = arriving.find(value);
    if (found == arriving.end())
      return;
    ArrayRef<TransferPiece> pieces = piecesOf(value.getDefiningOp(), ranks.front());
    mapping.map(value, join(value.getLoc(), pieces, found->second, 0));
    arriving.erase(found);
  }

  /// Pieces lie in a grid, in row-major order: those that begin at one place along `dim` are joined along the dimensions
  /// after it first.
  Value join(Location loc, ArrayRef<TransferPiece> pieces, ArrayRef<Value> parts, size_t dim) {
    if (parts.size() == 1)
      return parts.front();
    SmallVector<Value> joined;
    while (!pieces.empty()) {
      auto isSame = [&](const TransferPiece &piece) { return piece.box.start[dim] == pieces.front().box.start[dim]; };
      size_t count = llvm::find_if_not(pieces, isSame) - pieces.begin();
      joined.push_back(join(loc, pieces.take_front(count), parts.take_front(count), dim + 1));
      pieces = pieces.drop_front(count);
      parts = parts.drop_front(count);
    }
    if (joined.size() == 1)
      return joined.front();
    auto type = cast<RankedTensorType>(joined.front().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = 0;
    for (Value part : joined)
      shape[dim] += cast<RankedTensorType>(part.getType()).getDimSize(dim);
    return nn::ConcatOp::create(b, loc, type.clone(shape), joined, dim);
  }

  LogicalResult buildReshard(dist::ReshardOp reshard) {
    join(reshard.getInput());
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
  const TransferPlans &transfers;
  IRMapping mapping;
  DenseMap<Value, SmallVector<Value>> arriving; // the pieces of what is not used yet
  DenseMap<std::pair<Attribute, uint64_t>, SmallVector<DenseI64ArrayAttr>> sent; // peers, by mesh and tag
};

} // namespace

FailureOr<nn::StepOp> passes::buildLocalStep(OpBuilder &builder, nn::StepOp step, dist::MeshOp mesh,
                                             ArrayRef<int64_t> ranks, const ReshardPlans &reshards,
                                             const TransferPlans &transfers, StringRef name) {
  return LocalStep(builder, step, mesh, ranks, reshards, transfers).build(name);
}
