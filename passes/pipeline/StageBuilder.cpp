//===- StageBuilder.cpp - the step of one stage ---------------------------===//

#include "passes/pipeline/StageBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "passes/layouts/Reshard.h"
#include "passes/partition/LocalOp.h"
#include "passes/pipeline/ReplicaPlan.h"
#include "passes/pipeline/ValueLayouts.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool StageBuilder::isInput(BlockArgument argument) const {
  auto role = nn::StepOp(step).getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role");
  return role && role.getValue() == "input";
}

RankedTensorType StageBuilder::partType(Value value, int64_t microBatch) {
  RankedTensorType type = typeOf(value);
  return type.clone(
      getLocalPart(classes.batch.layoutOf(value), type.getShape(), staged.time, microBatch).shape);
}

int64_t StageBuilder::samplesOf(int64_t microBatch) {
  for (BlockArgument argument : step.getBody().getArguments())
    if (isInput(argument))
      return partType(argument, microBatch).getDimSize(0);
  return 1;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

FailureOr<nn::StepOp> StageBuilder::build(StringRef name) {
  OpBuilder::InsertionGuard guard(b);
  nn::StepOp built = createStep(name);
  const auto &tasks = staged.order.stages[stage];
  for (size_t task = 0; task < tasks.size(); ++task)
    if (failed(buildTask(static_cast<int64_t>(task))))
      return built.erase(), failure();
  if (failed(buildAfter()) || failed(buildReturn()))
    return built.erase(), failure();
  eraseUnreadInputs(built);
  return built;
}

/// The samples of a micro-batch, laid out as the plan wants the batch.
StageBuilder::Argument StageBuilder::inputOf(BlockArgument input, int64_t microBatch) {
  NamedAttrList attributes(plan.step.getArgAttrDict(input.getArgNumber()));
  RankedTensorType type = typeOf(input);
  if (staged.order.microBatches > 1) {
    LocalPart part = getLocalPart(classes.batch.layoutOf(input), type.getShape(), staged.time, microBatch);
    type = type.clone(part.shape);
    attributes.set(dist::kBatchPartAttr, b.getI64IntegerAttr(part.start[0]));
  }
  return {input, microBatch, type, attributes.getDictionary(b.getContext())};
}

/// Inputs by micro-batch: in the order in which they are computed with, they are loaded.
std::vector<StageBuilder::Argument> StageBuilder::argumentsOf() {
  std::vector<Argument> arguments;
  bool hasInputs = false;
  for (BlockArgument argument : step.getBody().getArguments()) {
    if (!isInput(argument)) {
      if (staged.stages.keeps(stage, argument))
        arguments.push_back({argument, kOnce, argument.getType(), plan.step.getArgAttrDict(argument.getArgNumber())});
      continue;
    }
    for (int64_t i = 0; !hasInputs && i < staged.order.microBatches; ++i)
      for (BlockArgument input : step.getBody().getArguments())
        if (isInput(input))
          arguments.push_back(inputOf(input, i));
    hasInputs = true;
  }
  return arguments;
}

nn::StepOp StageBuilder::createStep(StringRef name) {
  std::vector<Argument> arguments = argumentsOf();
  SmallVector<Type> types, results;
  SmallVector<Attribute> attributes, resultAttributes;
  for (const Argument &argument : arguments) {
    types.push_back(argument.type);
    attributes.push_back(argument.attributes ? argument.attributes : b.getDictionaryAttr({}));
  }
  for (OpOperand &operand : step.getBody().front().getTerminator()->getOpOperands()) {
    if (!staged.stages.returns(stage, operand.getOperandNumber()))
      continue;
    results.push_back(operand.get().getType());
    resultAttributes.push_back(plan.step.getResultAttrDict(operand.getOperandNumber()));
  }
  auto built = nn::StepOp::create(b, step.getLoc(), name, b.getFunctionType(types, results), step.getKind(),
                                  b.getArrayAttr(attributes), b.getArrayAttr(resultAttributes));
  built->setDiscardableAttrs(llvm::to_vector(step->getDiscardableAttrs()));
  const PlannedStage &planned = staged.planned[stage];
  built->setAttr(dist::kMeshAttr, FlatSymbolRefAttr::get(planned.mesh));
  if (planned.turns)
    built->setAttr(dist::kReplicaAttr, FlatSymbolRefAttr::get(planned.replica));
  if (Value input = batchInput())
    built->setAttr(dist::kBatchAttr, b.getI64IntegerAttr(typeOf(input).getDimSize(0)));
  if (staged.order.stages.size() > 1)
    built->setAttr(dist::kStageAttr, b.getI64IntegerAttr(staged.order.groupOf(stage)));
  body = b.createBlock(&built.getBody());
  for (const Argument &argument : arguments) {
    auto &known = argument.microBatch == kOnce ? once : perMicroBatch[argument.microBatch];
    known[argument.whole] = body->addArgument(argument.type, argument.whole.getLoc());
  }
  return built;
}

/// What another stage computes with, or another copy of the model, is not loaded here.
void StageBuilder::eraseUnreadInputs(nn::StepOp built) {
  llvm::BitVector unread(built.getNumArguments());
  for (BlockArgument argument : built.getBody().getArguments()) {
    auto role = built.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role");
    if (role && role.getValue() == "input" && argument.use_empty())
      unread.set(argument.getArgNumber());
  }
  [[maybe_unused]] LogicalResult erased = built.eraseArguments(unread);
  assert(succeeded(erased) && "nothing uses them");
}

void StageBuilder::markTask(char kind, int64_t microBatch, int64_t chunk) {
  dist::TaskOp::create(b, step.getLoc(), b.getStringAttr(StringRef(&kind, 1)), b.getI64IntegerAttr(microBatch),
                       b.getI64IntegerAttr(chunk));
}

LogicalResult StageBuilder::buildTask(int64_t index) {
  const std::vector<StageTask> &tasks = staged.order.stages[stage];
  const StageTask &task = tasks[index];
  markTask(task.kind, task.microBatch, task.chunk);
  auto receiveFor = [&](int64_t of) {
    for (int64_t message : staged.messages.receivedBy(stage, of)) {
      const Message &received = staged.messages.all()[message];
      perMicroBatch[received.microBatch][received.value] = receive(received);
    }
  };
  if (index == 0)
    receiveFor(0);
  if (index + 1 < static_cast<int64_t>(tasks.size()))
    receiveFor(index + 1);
  for (int64_t message : staged.messages.waitedBy(stage, index))
    wait(staged.messages.all()[message]);
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (!classes.isWork(&op) || staged.stages.chunkOf(&op) != staged.order.modelChunk(task.chunk))
      continue;
    char kind = staged.stages.kindOf(&op);
    bool isOfTask = task.kind == 'B' ? kind != 'F' : kind == task.kind;
    if (isOfTask && failed(buildPart(&op, task.microBatch)))
      return failure();
  }
  return success();
}

LogicalResult StageBuilder::buildAfter() {
  markTask('U', 0, 0);
  for (Value value : complete)
    if (failed(finishSum(value)))
      return failure();
  for (Operation &op : step.getBody().front().without_terminator())
    if (classes.of(&op) == OpClass::After && staged.stages.stagesOf(&op).count(stage) && failed(buildOnce(&op)))
      return failure();
  return success();
}

LogicalResult StageBuilder::buildReturn() {
  SmallVector<Value> results;
  Operation *terminator = step.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (!staged.stages.returns(stage, operand.getOperandNumber()))
      continue;
    Value planned = plan.of(terminator)->getOperand(operand.getOperandNumber());
    FailureOr<Value> value = getWhole(planned);
    if (failed(value))
      return failure();
    // What was made complete may lie otherwise than the plan's partial sum.
    results.push_back(reshard(*value, dist::getLayout(planned)));
  }
  nn::ReturnOp::create(b, terminator->getLoc(), results);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult StageBuilder::buildOnce(Operation *op) {
  Operation *planned = plan.of(op);
  SmallVector<Value> operands;
  for (Value operand : planned->getOperands()) {
    FailureOr<Value> value = getOnce(operand);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  SmallVector<Attribute> complete = completeOperands(planned, operands);
  IRMapping mapping;
  mapping.map(planned->getOperands(), operands);
  Operation *built = b.clone(*planned, mapping);
  if (!complete.empty())
    built->setAttr(dist::kLayoutsAttr, layoutsOf(planned, complete));
  for (auto [result, value] : llvm::zip(op->getResults(), built->getResults()))
    once[result] = value;
  if (classes.of(op) == OpClass::After)
    for (Value result : op->getResults())
      if (failed(send(result, kOnce)))
        return failure();
  return success();
}

LogicalResult StageBuilder::buildPart(Operation *op, int64_t microBatch) {
  SmallVector<Value> operands;
  for (Value operand : plan.of(op)->getOperands()) {
    FailureOr<Value> value = get(operand, microBatch);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  SmallVector<Value> parts = buildLocal(op, microBatch, operands);
  if (parts.size() != op->getNumResults())
    return op->emitOpError("cannot be built for a micro-batch");
  for (auto [result, part] : llvm::zip(op->getResults(), parts)) {
    if (part.getType() != partType(result, microBatch))
      return op->emitOpError() << "has type " << part.getType() << " for a micro-batch, expected "
                               << partType(result, microBatch);
    // A mean of the batch is a sum times one over the batch's size: of a part of it, that much more of its sum.
    if (classes.isStatistic(result))
      part = scale(part, static_cast<double>(typeOf(batchInput()).getDimSize(0)) / samplesOf(microBatch));
    perMicroBatch[microBatch][result] = part;
  }
  for (Value result : op->getResults()) {
    if (failed(send(result, microBatch)))
      return failure();
    if ((classes.isAccumulated(result) || !staged.stages.stagesThatNeed(result).empty()) &&
        failed(addUp(result, microBatch, perMicroBatch[microBatch][result])))
      return failure();
  }
  return success();
}

/// Over axes over which an operand is complete, and the plan wants a partial sum of it, the others are completed too.
SmallVector<Attribute> StageBuilder::completeOperands(Operation *planned, MutableArrayRef<Value> operands) {
  SmallVector<Attribute> complete;
  for (auto [wanted, has] : llvm::zip(planned->getOperands(), operands))
    for (ArrayAttr axes : {dist::getLayout(wanted).getSum(), dist::getLayout(wanted).getMax()})
      llvm::copy_if(axes, std::back_inserter(complete),
                    [has = has](Attribute axis) { return !isPartialOver(dist::getLayout(has), axis); });
  auto isComplete = [&](Attribute axis) { return llvm::is_contained(complete, axis); };
  for (auto [wanted, has] : llvm::zip(planned->getOperands(), operands))
    has = reshard(has, withoutPartialOver(dist::getLayout(wanted), isComplete));
  return complete;
}

/// Of the results, where operands are complete over some axes.
ArrayAttr StageBuilder::layoutsOf(Operation *planned, ArrayRef<Attribute> complete) {
  SmallVector<Attribute> layouts;
  for (Value result : planned->getResults())
    layouts.push_back(withoutPartialOver(dist::getLayout(result),
                                         [&](Attribute axis) { return llvm::is_contained(complete, axis); }));
  return b.getArrayAttr(layouts);
}

SmallVector<Value> StageBuilder::buildLocal(Operation *op, int64_t microBatch, SmallVector<Value> operands) {
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(partType(result, microBatch));
  Operation *planned = plan.of(op);
  ArrayAttr planLayouts = layoutsOf(planned, completeOperands(planned, operands));
  Operation *before = body->empty() ? nullptr : &body->back();
  SmallVector<Value> results;
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  if (!shardable || op->getNumRegions() > 0) {
    IRMapping mapping;
    for (auto [operand, value] : llvm::zip(op->getOperands(), operands))
      mapping.map(operand, value);
    Operation *built = b.clone(*op, mapping);
    setLayouts(built, planLayouts);
    for (auto [result, type] : llvm::zip(built->getResults(), types))
      result.setType(type);
    return llvm::to_vector_of<Value>(built->getResults());
  }
  OpLayouts layouts;
  for (Value operand : op->getOperands())
    layouts.operands.push_back(classes.batch.layoutOf(operand));
  for (Value result : op->getResults()) {
    LayoutAttr partial = classes.batch.partialOf(result);
    layouts.results.push_back(partial ? partial : classes.batch.layoutOf(result));
  }
  results = LocalOp(b, shardable, staged.time, microBatch, layouts).build(operands, types);
  for (auto [layout, built] : llvm::zip(planLayouts, results))
    if (Operation *made = built.getDefiningOp()) {
      made->setLoc(op->getLoc());
      if (made->getNumResults() == op->getNumResults())
        setLayouts(made, planLayouts);
      else
        setLayout(made, cast<LayoutAttr>(layout));
    }
  replaceStarts(before, microBatch);
  return results;
}

/// Where a micro-batch begins is known.
void StageBuilder::replaceStarts(Operation *before, int64_t microBatch) {
  auto first = before ? std::next(before->getIterator()) : body->begin();
  for (Operation &op : llvm::make_early_inc_range(llvm::make_range(first, body->end()))) {
    auto start = dyn_cast<dist::ShardStartOp>(op);
    if (!start)
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(start);
    int64_t value = dist::shardStart(start.getSize(), start.getBlock(), staged.time.getParts(start.getAxes()),
                                     staged.time.getPart(start.getAxes(), microBatch));
    auto type = cast<RankedTensorType>(start.getType());
    Value constant = nn::ConstantOp::create(b, start.getLoc(), type,
                                            cast<ElementsAttr>(DenseElementsAttr::get(type, b.getI64IntegerAttr(value))));
    start.replaceAllUsesWith(constant);
    start.erase();
  }
}

Value StageBuilder::batchInput() {
  for (BlockArgument argument : step.getBody().getArguments())
    if (isInput(argument))
      return argument;
  return {};
}

/// `value` times a number.
Value StageBuilder::scale(Value value, double by) {
  if (by == 1)
    return value;
  Value factor = nn::ConstantOp::create(
      b, value.getLoc(), RankedTensorType::get({}, typeOf(value).getElementType()), by);
  Value scaled = nn::MulOp::create(b, value.getLoc(), value, factor);
  setLayout(scaled.getDefiningOp(), dist::getLayout(value));
  return scaled;
}

/// Adds a micro-batch's part of a sum; of what is made of statistics, of the average.
LogicalResult StageBuilder::addUp(Value value, int64_t microBatch, Value part) {
  if (!classes.isSummed(value) && !classes.isAccumulated(value))
    return success();
  if (!classes.isAccumulated(value))
    part = scale(part, static_cast<double>(samplesOf(microBatch)) / typeOf(batchInput()).getDimSize(0));
  Value &sum = sums[value];
  sum = sum ? add(sum, part) : part;
  Operation *made = value.getDefiningOp();
  int64_t all = 0;
  for (int64_t i = 0; classes.isWork(made) && i < staged.order.microBatches; ++i)
    all += staged.stages.stageOf(made, i) == stage;
  if (++added[value] < all)
    return success();
  if (!gathersOverReplicas())
    return finishSum(value);
  complete.push_back(value);
  return success();
}

/// Whether parameters lie over replicas that take turns, which gather them where they need them first. One with a single
/// micro-batch has its sums by then, and another has not: so that all start their collectives in one order, sums come last.
bool StageBuilder::gathersOverReplicas() const {
  const PlannedStage &planned = staged.planned[stage];
  return planned.turns && llvm::any_of(planned.plan->step.getBody().getArguments(), [&](BlockArgument argument) {
           LayoutAttr layout = dist::getLayout(argument);
           return !isInput(argument) && withinReplica(layout, planned.turns) != layout;
         });
}

/// A sum of parts of a value, in their layout.
Value StageBuilder::add(Value sum, Value part) {
  Value added = nn::AddOp::create(b, part.getLoc(), sum, part);
  setLayout(added.getDefiningOp(), dist::getLayout(part));
  return added;
}

/// What other ranks wait for starts at once, beside what is still computed.
LogicalResult StageBuilder::finishSum(Value value) {
  if (hasCopies(value.getDefiningOp()))
    return send(value, kOnce);
  once[value] = summand(sums[value]);
  if (staged.stages.stagesThatNeed(value).count(stage))
    for (Operation *user : plan.of(value).getUsers())
      if (auto reshard = dyn_cast<dist::ReshardOp>(user))
        if (failed(getResharded(reshard, kOnce)))
          return failure();
  return send(value, kOnce);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

RankedTensorType StageBuilder::typeOfMessage(const Message &message) {
  return staged.messageLayouts.isOfMicroBatch(message) ? partType(message.value, message.microBatch)
                                                       : typeOf(message.value);
}

LogicalResult StageBuilder::send(Value value, int64_t microBatch) {
  for (int64_t index : staged.messages.of(value, microBatch)) {
    const Message &message = staged.messages.all()[index];
    if (message.from != (microBatch == kOnce ? leader() : stage))
      continue;
    MessageLayout layout = staged.messageLayouts.of(message, typeOfMessage(message));
    // Of a copy's sum, the part of this stage.
    bool isPart = microBatch == kOnce && classes.isWork(value.getDefiningOp()) && hasCopies(value.getDefiningOp());
    FailureOr<Value> source = isPart ? FailureOr<Value>(sums.lookup(value)) : getSent(layout.source, microBatch);
    if (failed(source))
      return failure();
    dist::StageSendOp::create(b, value.getLoc(), meshOf(message, message.from), meshOf(message, message.to), b.getI64IntegerAttr(message.tag),
                              layout.received, reshard(*source, layout.sent));
  }
  return success();
}

Value StageBuilder::receive(const Message &message) {
  RankedTensorType type = typeOfMessage(message);
  MessageLayout layout = staged.messageLayouts.of(message, type);
  auto received = dist::StageReceiveOp::create(b, message.value.getLoc(), type, meshOf(message, message.to),
                                               meshOf(message, message.from),
                                               b.getI64IntegerAttr(message.tag), layout.sent);
  setLayout(received, layout.received);
  return received;
}

void StageBuilder::wait(const Message &message) {
  dist::StageWaitOp::create(b, message.value.getLoc(), meshOf(message, message.from), meshOf(message, message.to),
                            b.getI64IntegerAttr(message.tag));
}
