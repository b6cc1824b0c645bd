//===- StageBuilder.cpp - the step of one stage ---------------------------===//

#include "passes/pipeline/StageBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "passes/layouts/Reshard.h"
#include "passes/partition/LocalOp.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static void setLayout(Operation *op, LayoutAttr layout) {
  if (!layout.isReplicated() || isa<dist::ReshardOp>(op))
    op->setAttr(dist::kLayoutsAttr, ArrayAttr::get(op->getContext(), {layout}));
}

static void setLayouts(Operation *op, ArrayAttr layouts) {
  auto isReplicated = [](Attribute layout) { return cast<LayoutAttr>(layout).isReplicated(); };
  if (!llvm::all_of(layouts, isReplicated))
    op->setAttr(dist::kLayoutsAttr, layouts);
}

bool StageBuilder::isInput(BlockArgument argument) {
  auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role");
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
// Values
//===----------------------------------------------------------------------===//

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

static bool isPartialOver(LayoutAttr layout, Attribute axis) {
  return llvm::is_contained(layout.getSum(), axis) || llvm::is_contained(layout.getMax(), axis);
}

static LayoutAttr withoutPartialOver(LayoutAttr layout, llvm::function_ref<bool(Attribute)> isComplete) {
  auto rest = [&](ArrayAttr axes) {
    SmallVector<Attribute> left;
    llvm::copy_if(axes, std::back_inserter(left), [&](Attribute axis) { return !isComplete(axis); });
    return ArrayAttr::get(layout.getContext(), left);
  };
  return LayoutAttr::get(layout.getContext(), layout.getDims(), layout.getBlocks(), rest(layout.getSum()),
                         rest(layout.getMax()));
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
  return ++added[value] == all ? finishSum(value) : success();
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
