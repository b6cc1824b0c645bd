//===- StageValues.cpp - values as a stage has them -----------------------===//
//
// Where a StageBuilder finds what ops compute with: of a micro-batch, or once of all of them; computed here, received, added up,
// in the layout of the stage's plan.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageBuilder.h"
#include "passes/pipeline/ValueLayouts.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

/// A value as an op of one micro-batch sees it.
FailureOr<Value> StageBuilder::get(Value planned, int64_t microBatch) {
  if (isOnce(plan.bareOf(rootOfReshards(planned))))
    return getOnce(planned);
  if (auto reshard = planned.getDefiningOp<dist::ReshardOp>())
    return getResharded(reshard, microBatch);
  Value value = plan.bareOf(planned);
  Operation *made = value.getDefiningOp();
  auto &known = perMicroBatch[microBatch];
  if (made && !known.contains(value) && classes.of(made) == OpClass::Free && failed(buildPart(made, microBatch)))
    return failure();
  if (Value found = known.lookup(value))
    return found;
  return made->emitOpError() << "of micro-batch " << microBatch << " is not there when stage " << staged.order.groupOf(stage)
                             << " needs it";
}

/// Whether it is the same for all micro-batches.
bool StageBuilder::isOnce(Value value) {
  Operation *made = value.getDefiningOp();
  return made ? !classes.isPerMicroBatch(made) || (classes.of(made) == OpClass::Free && classes.isAccumulated(value))
              : !isInput(cast<BlockArgument>(value));
}

/// A value that does not differ between micro-batches.
FailureOr<Value> StageBuilder::getOnce(Value planned) {
  if (auto reshard = planned.getDefiningOp<dist::ReshardOp>())
    return getResharded(reshard, kOnce);
  Value value = plan.bareOf(planned);
  if (Value found = once.lookup(value))
    return found;
  Operation *made = value.getDefiningOp();
  if (!made)
    return missing(cast<BlockArgument>(value));
  if (classes.of(made) == OpClass::Free) {
    for (int64_t i = 0; i < staged.order.microBatches; ++i)
      if (!perMicroBatch[i].contains(value) && failed(buildPart(made, i)))
        return failure();
    return once[value] = sums.lookup(value);
  }
  if (classes.of(made) == OpClass::Once) {
    if (failed(buildOnce(made)))
      return failure();
    return once.lookup(value);
  }
  return classes.isWork(made) ? getSum(value) : getAfter(value);
}

LogicalResult StageBuilder::missing(BlockArgument argument) {
  auto text = [&](StringRef key) {
    auto attribute = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), key);
    return attribute ? attribute.getValue() : StringRef("?");
  };
  InFlightDiagnostic error = step.emitOpError() << "needs " << text("nn.role") << " '" << text("nn.name") << "' on stage "
                                                << staged.order.groupOf(stage) << ", which does not keep it";
  if (staged.order.isStream())
    error << ": without a flush the loss cannot add what is computed from parameters of other stages alone (penalties); "
             "use another schedule";
  return error;
}

FailureOr<Value> StageBuilder::getSent(Value planned, int64_t microBatch) {
  return microBatch == kOnce ? getOnce(planned) : get(planned, microBatch);
}

/// What an After op computes, from the stage that does.
FailureOr<Value> StageBuilder::getAfter(Value value) {
  for (int64_t message : staged.messages.of(value, kOnce))
    if (const Message &sent = staged.messages.all()[message]; sent.to == leader())
      return once[value] = receive(sent);
  return value.getDefiningOp()->emitOpError()
         << "is not there when stage " << staged.order.groupOf(stage) << " needs it, after all micro-batches";
}

/// Where the copies of an op are, each group of replicas once.
std::vector<int64_t> StageBuilder::copiesOf(Operation *op) const {
  std::vector<int64_t> copies;
  for (int64_t at : staged.stages.stagesOfWork(op))
    if (at == staged.order.leaderOf(at))
      copies.push_back(at);
  return copies;
}

/// Of a replica that takes turns, what it has of a sum over all of them; else the sum.
Value StageBuilder::summand(Value own) {
  const PlannedStage &planned = staged.planned[stage];
  if (!own || !planned.turns)
    return own;
  LayoutAttr layout = dist::getLayout(own);
  SmallVector<Attribute> axes(layout.getSum().begin(), layout.getSum().end());
  llvm::append_range(axes, planned.turns);
  auto summand = dist::SummandOp::create(b, own.getLoc(), own.getType(), own);
  setLayout(summand, layout.withPartial(/*isMax=*/false, b.getArrayAttr(axes)));
  return summand;
}

/// A sum over all micro-batches: the parts of the copies of the model, complete and on every stage in the same order.
FailureOr<Value> StageBuilder::getSum(Value value) {
  Value sum;
  for (int64_t from : copiesOf(value.getDefiningOp())) {
    Value part = from == leader() ? summand(sums.lookup(value)) : Value();
    for (int64_t message : staged.messages.of(value, kOnce))
      if (const Message &sent = staged.messages.all()[message]; sent.from == from && sent.to == leader())
        part = receive(sent);
    if (!part)
      return value.getDefiningOp()->emitOpError()
             << "has no part from stage " << staged.order.groupOf(from) << " on stage " << staged.order.groupOf(stage) << ", after all micro-batches";
    if (hasCopies(value.getDefiningOp()))
      part = reshard(part, withoutPartial(dist::getLayout(plan.of(value))));
    sum = sum ? add(sum, part) : part;
  }
  return once[value] = sum;
}

/// A value in the layout of a reshard of the plan. What was received is not led over the layouts on the way there.
FailureOr<Value> StageBuilder::getResharded(dist::ReshardOp op, int64_t microBatch) {
  Value root = rootOfReshards(op);
  auto &known = microBatch == kOnce ? once : perMicroBatch[microBatch];
  if (Value found = known.lookup(op.getResult()))
    return found;
  auto find = [&](Value of) { return microBatch == kOnce ? getOnce(of) : get(of, microBatch); };
  FailureOr<Value> from = find(root);
  if (succeeded(from) && !from->getDefiningOp<dist::StageReceiveOp>())
    from = find(op.getInput());
  if (failed(from))
    return failure();
  Value built = reshard(*from, dist::getLayout(op.getResult()), op);
  (microBatch == kOnce ? once : perMicroBatch[microBatch])[op.getResult()] = built;
  return built;
}

/// `value` in a layout, as far as it can be: what is complete does not become a partial sum again.
Value StageBuilder::reshard(Value value, LayoutAttr to, dist::ReshardOp like) {
  LayoutAttr from = dist::getLayout(value);
  to = withoutPartialOver(to, [&](Attribute axis) { return !isPartialOver(from, axis); });
  if (from == to)
    return value;
  auto built = dist::ReshardOp::create(b, value.getLoc(), value.getType(), value);
  if (like)
    built->setAttrs(like->getAttrs());
  setLayout(built, to);
  return built;
}

/// A result of the step.
FailureOr<Value> StageBuilder::getWhole(Value planned) {
  Value value = plan.bareOf(rootOfReshards(planned));
  Operation *made = value.getDefiningOp();
  bool isPart = made ? classes.isPerMicroBatch(made) && !classes.isSummed(value) &&
                           !classes.isAccumulated(value)
                     : isInput(cast<BlockArgument>(value));
  if (!isPart)
    return getOnce(planned);
  if (staged.order.microBatches > 1)
    return step.emitOpError("returns a value of every sample, which micro-batches cannot join yet"), failure();
  return get(planned, 0);
}
