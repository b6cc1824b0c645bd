//===- StreamBuilder.cpp - the step of one stage without a flush ----------===//

#include "passes/pipeline/StreamBuilder.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

StreamBuilder::StreamBuilder(OpBuilder &builder, const StagedStep &staged, int64_t stage)
    : StageBuilder(builder, staged, stage), sumsOf(staged.order.microBatches) {
  perMicroBatch.resize(2 * staged.order.microBatches); // the second half: what came for the updates
  findPostponed();
  Operation *terminator = step.getBody().front().getTerminator();
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
    if (BlockArgument argument = staged.stages.argumentOf(i))
      newValues[argument] = plan.of(terminator)->getOperand(i);
}

void StreamBuilder::findPostponed() {
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (classes.of(&op) != OpClass::After || !staged.stages.stagesOf(&op).count(stage))
      continue;
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          Operation *made = operand.getDefiningOp();
          return made && ((classes.isWork(made) && staged.stages.homeOf(operand) != leader()) ||
                          postponed.contains(made));
        }))
      postponed.insert(&op);
  }
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

LogicalResult StreamBuilder::buildTask(int64_t index) {
  const StageTask &task = staged.order.stages[stage][index];
  bool updates = task.kind == 'U';
  now = updates ? Moment{updateOf(task.microBatch), Purpose::Update} : Moment{task.microBatch, Purpose::Pass};
  if (failed(StageBuilder::buildTask(index)))
    return failure();
  if (!updates)
    return success();
  for (Operation &op : step.getBody().front().without_terminator())
    if (classes.of(&op) == OpClass::After && staged.stages.stagesOf(&op).count(stage) && !postponed.contains(&op))
      for (Value result : op.getResults())
        if (failed(getOnce(plan.of(result))))
          return failure();
  return success();
}

/// What is told of the step, and the updates that nobody needed yet.
LogicalResult StreamBuilder::buildAfter() {
  markTask('U', staged.order.microBatches - 1, 0);
  for (OpOperand &operand : step.getBody().front().getTerminator()->getOpOperands())
    if (staged.stages.isReported(operand.getOperandNumber()) && staged.stages.homeOf(operand.get()) == leader() &&
        !once.contains(operand.get()) && failed(buildAverage(operand)))
      return failure();
  return success();
}

/// Over the mini-batches, each with the weight of its samples.
LogicalResult StreamBuilder::buildAverage(OpOperand &result) {
  Value planned = plan.of(result.getOwner())->getOperand(result.getOperandNumber()), average;
  for (int64_t update = 0; update < updates(); ++update) {
    int64_t miniBatch = ownMiniBatch(update);
    now = {miniBatch, Purpose::Report};
    FailureOr<Value> one = getOnce(planned);
    if (failed(one))
      return failure();
    Value part = scale(*one, static_cast<double>(samplesOf(miniBatch)) / typeOf(batchInput()).getDimSize(0));
    average = average ? add(average, part) : part;
  }
  once[result.get()] = reshard(summand(average), dist::getLayout(planned));
  return send(result.get(), kOnce);
}

LogicalResult StreamBuilder::buildReturn() {
  SmallVector<Value> results;
  Operation *terminator = step.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (!staged.stages.returns(stage, index))
      continue;
    FailureOr<Value> result = once.lookup(operand.get());
    if (BlockArgument argument = staged.stages.argumentOf(index))
      // In order, so that each finds the one before.
      for (int64_t version = 1; version <= updates() && succeeded(result); ++version)
        result = getVersion(argument, version);
    else if (!*result)
      result = getAfter(operand.get());
    if (failed(result))
      return failure();
    results.push_back(reshard(*result, dist::getLayout(plan.of(terminator)->getOperand(index))));
  }
  nn::ReturnOp::create(b, terminator->getLoc(), results);
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

FailureOr<Value> StreamBuilder::getOnce(Value planned) {
  if (Value found = known[now].lookup(planned))
    return found;
  auto reshard = planned.getDefiningOp<dist::ReshardOp>();
  FailureOr<Value> got = reshard ? getReshardedNow(reshard) : getNow(planned);
  if (succeeded(got))
    known[now][planned] = *got;
  return got;
}

/// Averages as they are; of what mini-batch i updates with, what it gives by itself.
FailureOr<Value> StreamBuilder::getSent(Value planned, int64_t microBatch) {
  if (microBatch == kOnce)
    return once.lookup(plan.bareOf(rootOfReshards(planned)));
  if (microBatch < staged.order.microBatches)
    return get(planned, microBatch);
  Moment before = std::exchange(now, {microBatch - staged.order.microBatches, Purpose::Report});
  FailureOr<Value> sent = getOnce(planned);
  now = before;
  return sent;
}

FailureOr<Value> StreamBuilder::getReshardedNow(dist::ReshardOp op) {
  FailureOr<Value> from = getOnce(rootOfReshards(op));
  if (succeeded(from) && !from->getDefiningOp<dist::StageReceiveOp>())
    from = getOnce(op.getInput());
  if (failed(from))
    return failure();
  Value &one = resharded[{op, *from}];
  if (!one)
    one = reshard(*from, dist::getLayout(op.getResult()), op);
  return one;
}

FailureOr<Value> StreamBuilder::getNow(Value planned) {
  Value value = plan.bareOf(planned);
  Operation *made = value.getDefiningOp();
  if (!made)
    return getArgument(cast<BlockArgument>(value));
  OpClass is = classes.of(made);
  if (is == OpClass::Once || is == OpClass::After) {
    if (failed(buildNow(made)))
      return failure();
    return known[now].lookup(planned);
  }
  bool updates = now.purpose == Purpose::Update;
  int64_t miniBatch = updates ? ownMiniBatch(now.number) : now.number;
  if (is == OpClass::Free && !sumsOf[miniBatch].contains(value) && failed(buildPart(made, miniBatch)))
    return failure();
  auto ofRound = [&](Value own) { return updates ? summand(scale(own, shareOfRound(miniBatch))) : own; };
  if (Value sum = sumsOf[miniBatch].lookup(value))
    return ofRound(sum);
  if (Value received = perMicroBatch[staged.order.microBatches + miniBatch].lookup(value))
    return ofRound(received);
  for (int64_t message : staged.messages.of(value, staged.order.microBatches + miniBatch))
    if (const Message &sent = staged.messages.all()[message]; sent.to == stage)
      return ofRound(receive(sent));
  return made->emitOpError() << "of mini-batch " << miniBatch << " is not there when stage " << staged.order.groupOf(stage)
                             << " updates with it";
}

/// Of the samples of the mini-batches that an update is made of.
double StreamBuilder::shareOfRound(int64_t miniBatch) {
  int64_t replicas = staged.order.replicasOf(stage), first = miniBatch - miniBatch % replicas, samples = 0;
  for (int64_t i = first; i < first + replicas; ++i)
    samples += samplesOf(i);
  return static_cast<double>(samplesOf(miniBatch)) / static_cast<double>(samples);
}

FailureOr<Value> StreamBuilder::getArgument(BlockArgument argument) {
  if (staged.stages.resultOf(argument))
    return getVersion(argument, now.purpose == Purpose::Update   ? now.number
                                : now.purpose == Purpose::Report ? updateOf(now.number)
                                                                 : staged.stages.versionOf(argument, now.number));
  auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role");
  if (role && role.getValue() == "step")
    return countUpdates(argument);
  return StageBuilder::getOnce(plan.of(argument));
}

/// What persists, after so many updates of this step.
FailureOr<Value> StreamBuilder::getVersion(BlockArgument argument, int64_t version) {
  if (version == 0)
    return StageBuilder::getOnce(plan.of(argument));
  Moment before = std::exchange(now, {version - 1, Purpose::Update});
  FailureOr<Value> updated = getOnce(newValues.lookup(argument));
  now = before;
  if (failed(updated))
    return failure();
  return reshard(*updated, dist::getLayout(plan.of(argument)));
}

/// The updates of this stage since training began, with this one.
Value StreamBuilder::countUpdates(BlockArgument argument) {
  Value steps = once.lookup(argument);
  if (updates() == 1)
    return steps;
  int64_t update = now.purpose == Purpose::Update ? now.number : updateOf(now.number);
  auto constant = [&](int64_t number) -> Value {
    return nn::ConstantOp::create(b, argument.getLoc(), typeOf(argument), static_cast<double>(number));
  };
  Value scaled = nn::MulOp::create(b, argument.getLoc(), steps, constant(updates()));
  return nn::AddOp::create(b, argument.getLoc(), scaled, constant(update + 1 - updates()));
}

/// Once for the same operands: versions that several mini-batches share are not computed twice.
LogicalResult StreamBuilder::buildNow(Operation *op) {
  Operation *planned = plan.of(op);
  SmallVector<Value> operands;
  std::vector<void *> key;
  for (Value operand : planned->getOperands()) {
    FailureOr<Value> value = getOnce(operand);
    if (failed(value))
      return failure();
    operands.push_back(*value);
    key.push_back(value->getAsOpaquePointer());
  }
  // Constants are cheap, and would live long.
  Operation *fresh = nullptr;
  Operation *&one = op->getNumOperands() == 0 ? fresh : built[{op, key}];
  if (!one) {
    SmallVector<Attribute> complete = completeOperands(planned, operands);
    IRMapping mapping;
    mapping.map(planned->getOperands(), operands);
    one = b.clone(*planned, mapping);
    if (!complete.empty())
      one->setAttr(dist::kLayoutsAttr, layoutsOf(planned, complete));
  }
  for (auto [result, value] : llvm::zip(planned->getResults(), one->getResults()))
    known[now][result] = value;
  return success();
}

/// A mean of the batch is a sum times one over the batch's size: of a mini-batch, that much more of its sum.
LogicalResult StreamBuilder::addUp(Value value, int64_t miniBatch, Value part) {
  if (!classes.isSummed(value) && !classes.isAccumulated(value))
    return success();
  if (classes.isAccumulated(value))
    part = scale(part, static_cast<double>(typeOf(batchInput()).getDimSize(0)) / samplesOf(miniBatch));
  sumsOf[miniBatch][value] = part;
  return send(value, staged.order.microBatches + miniBatch);
}
