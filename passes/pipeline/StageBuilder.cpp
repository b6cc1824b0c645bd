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
  return built;
}

nn::StepOp StageBuilder::createStep(StringRef name) {
  bool isSliced = staged.order.microBatches > 1;
  SmallVector<Type> arguments, results;
  SmallVector<Attribute> argumentAttributes, resultAttributes;
  SmallVector<BlockArgument> kept;
  for (BlockArgument argument : step.getBody().getArguments()) {
    if (!staged.stages.keeps(stage, argument))
      continue;
    kept.push_back(argument);
    arguments.push_back(argument.getType());
    NamedAttrList attributes(step.getArgAttrDict(argument.getArgNumber()));
    // A rank's parts of all micro-batches do not follow each other: it loads the batch.
    if (isInput(argument) && isSliced)
      attributes.set(dist::kLayoutAttr,
                     LayoutAttr::getReplicated(b.getContext(), typeOf(argument).getRank()));
    argumentAttributes.push_back(attributes.getDictionary(b.getContext()));
  }
  for (OpOperand &operand : step.getBody().front().getTerminator()->getOpOperands()) {
    if (!staged.stages.returns(stage, operand.getOperandNumber()))
      continue;
    results.push_back(operand.get().getType());
    resultAttributes.push_back(step.getResultAttrDict(operand.getOperandNumber()));
  }
  auto built = nn::StepOp::create(b, step.getLoc(), name, b.getFunctionType(arguments, results),
                                  step.getKind(), b.getArrayAttr(argumentAttributes),
                                  b.getArrayAttr(resultAttributes));
  built->setDiscardableAttrs(llvm::to_vector(step->getDiscardableAttrs()));
  if (staged.order.stages.size() > 1)
    built->setAttr(dist::kStageAttr, b.getI64IntegerAttr(stage));
  body = b.createBlock(&built.getBody());
  for (BlockArgument argument : kept)
    once[argument] = body->addArgument(argument.getType(), argument.getLoc());
  return built;
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
    if (!classes.isWork(&op) || staged.stages.chunkOf(&op) != task.chunk % staged.order.chunkCount())
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
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (classes.isWork(&op))
      for (Value result : op.getResults())
        if (Value sum = sums.lookup(result))
          send(result, kOnce, sum);
    if (classes.of(&op) == OpClass::After && staged.stages.stagesOf(&op).count(stage) &&
        failed(buildOnce(&op)))
      return failure();
  }
  return success();
}

LogicalResult StageBuilder::buildReturn() {
  SmallVector<Value> results;
  Operation *terminator = step.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (!staged.stages.returns(stage, operand.getOperandNumber()))
      continue;
    FailureOr<Value> value = getWhole(operand.get());
    if (failed(value))
      return failure();
    results.push_back(*value);
  }
  nn::ReturnOp::create(b, terminator->getLoc(), results);
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A value as an op of one micro-batch sees it.
FailureOr<Value> StageBuilder::get(Value value, int64_t microBatch) {
  Operation *made = value.getDefiningOp();
  if (!made && isInput(cast<BlockArgument>(value)))
    return inputPart(cast<BlockArgument>(value), microBatch);
  if (!made || !classes.isPerMicroBatch(made) ||
      (classes.of(made) == OpClass::Free && classes.isAccumulated(value)))
    return getOnce(value);
  auto &known = perMicroBatch[microBatch];
  if (!known.contains(value) && classes.of(made) == OpClass::Free && failed(buildPart(made, microBatch)))
    return failure();
  if (Value found = known.lookup(value))
    return found;
  return made->emitOpError() << "of micro-batch " << microBatch << " is not there when stage " << stage
                             << " needs it";
}

/// A value that does not differ between micro-batches.
FailureOr<Value> StageBuilder::getOnce(Value value) {
  if (Value found = once.lookup(value))
    return found;
  Operation *made = value.getDefiningOp();
  if (!made)
    return step.emitOpError() << "needs argument " << cast<BlockArgument>(value).getArgNumber()
                              << " on stage " << stage << ", which does not have it";
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

/// What an After op computes, from the stage that does.
FailureOr<Value> StageBuilder::getAfter(Value value) {
  for (int64_t message : staged.messages.of(value, kOnce))
    if (const Message &sent = staged.messages.all()[message]; sent.to == stage)
      return once[value] = receive(sent);
  return value.getDefiningOp()->emitOpError()
         << "is not there when stage " << stage << " needs it, after all micro-batches";
}

/// A sum over all micro-batches: the parts of the copies of the model, on every stage in the same order.
FailureOr<Value> StageBuilder::getSum(Value value) {
  Value sum;
  for (int64_t from : staged.stages.stagesOfWork(value.getDefiningOp())) {
    Value part = from == stage ? sums.lookup(value) : Value();
    for (int64_t message : staged.messages.of(value, kOnce))
      if (const Message &sent = staged.messages.all()[message]; sent.from == from && sent.to == stage)
        part = receive(sent);
    if (!part)
      return value.getDefiningOp()->emitOpError()
             << "has no part from stage " << from << " on stage " << stage << ", after all micro-batches";
    sum = sum ? add(value, sum, part) : part;
  }
  return once[value] = sum;
}

/// A result of the step.
FailureOr<Value> StageBuilder::getWhole(Value value) {
  Operation *made = value.getDefiningOp();
  bool isPart = made ? classes.isPerMicroBatch(made) && !classes.isSummed(value) &&
                           !classes.isAccumulated(value)
                     : isInput(cast<BlockArgument>(value));
  if (!isPart)
    return getOnce(value);
  if (staged.order.microBatches > 1)
    return step.emitOpError("returns a value of every sample, which micro-batches cannot join yet"), failure();
  return get(value, 0);
}

/// The samples of a micro-batch, laid out as the plan wants the batch.
Value StageBuilder::inputPart(BlockArgument input, int64_t microBatch) {
  Value whole = once.lookup(input);
  if (staged.order.microBatches == 1)
    return whole;
  Value &part = perMicroBatch[microBatch][input];
  if (part)
    return part;
  RankedTensorType type = typeOf(input);
  LocalPart place = getLocalPart(classes.batch.layoutOf(input), type.getShape(), staged.time, microBatch);
  part = nn::SliceOp::create(b, input.getLoc(), type.clone(place.shape), whole, place.start, place.shape,
                             SmallVector<int64_t>());
  LayoutAttr layout = dist::getLayout(input);
  if (layout.isReplicated())
    return part;
  part = dist::ReshardOp::create(b, input.getLoc(), part.getType(), part);
  setLayout(part.getDefiningOp(), layout);
  return part;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult StageBuilder::buildOnce(Operation *op) {
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> value = getOnce(operand);
    if (failed(value))
      return failure();
    mapping.map(operand, *value);
  }
  Operation *built = b.clone(*op, mapping);
  for (auto [result, value] : llvm::zip(op->getResults(), built->getResults())) {
    once[result] = value;
    if (classes.of(op) == OpClass::After)
      send(result, kOnce, value);
  }
  return success();
}

LogicalResult StageBuilder::buildPart(Operation *op, int64_t microBatch) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
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
      part = scale(part, result, static_cast<double>(typeOf(batchInput()).getDimSize(0)) / samplesOf(microBatch));
    perMicroBatch[microBatch][result] = part;
    if (classes.isAccumulated(result) || !staged.stages.stagesThatNeed(result).empty())
      addUp(result, microBatch, part);
    send(result, microBatch, part);
  }
  return success();
}

SmallVector<Value> StageBuilder::buildLocal(Operation *op, int64_t microBatch, SmallVector<Value> operands) {
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(partType(result, microBatch));
  Operation *before = body->empty() ? nullptr : &body->back();
  SmallVector<Value> results;
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  if (!shardable || op->getNumRegions() > 0) {
    IRMapping mapping;
    for (auto [operand, value] : llvm::zip(op->getOperands(), operands))
      mapping.map(operand, value);
    Operation *built = b.clone(*op, mapping);
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
  for (auto [result, built] : llvm::zip(op->getResults(), results))
    if (Operation *made = built.getDefiningOp()) {
      made->setLoc(op->getLoc());
      Attribute planned = op->getAttr(dist::kLayoutsAttr);
      if (planned && made->getNumResults() == op->getNumResults())
        made->setAttr(dist::kLayoutsAttr, planned);
      else
        setLayout(made, dist::getLayout(result));
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

/// `value` times a number, in the layout of `like`.
Value StageBuilder::scale(Value value, Value like, double by) {
  if (by == 1)
    return value;
  Value factor = nn::ConstantOp::create(
      b, value.getLoc(), RankedTensorType::get({}, typeOf(value).getElementType()), by);
  Value scaled = nn::MulOp::create(b, value.getLoc(), value, factor);
  setLayout(scaled.getDefiningOp(), dist::getLayout(like));
  return scaled;
}

/// Adds a micro-batch's part of a sum; of what is made of statistics, of the average.
void StageBuilder::addUp(Value value, int64_t microBatch, Value part) {
  if (!classes.isSummed(value) && !classes.isAccumulated(value))
    return;
  if (!classes.isAccumulated(value))
    part = scale(part, value,
                 static_cast<double>(samplesOf(microBatch)) / typeOf(batchInput()).getDimSize(0));
  Value &sum = sums[value];
  if (!sum) {
    sum = part;
    return;
  }
  sum = add(value, sum, part);
}

/// A sum of parts of a value, in its layout.
Value StageBuilder::add(Value value, Value sum, Value part) {
  Value added = nn::AddOp::create(b, value.getLoc(), sum, part);
  setLayout(added.getDefiningOp(), dist::getLayout(value));
  return added;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void StageBuilder::send(Value value, int64_t microBatch, Value part) {
  for (int64_t index : staged.messages.of(value, microBatch)) {
    const Message &message = staged.messages.all()[index];
    if (message.from == stage)
      dist::SendOp::create(b, value.getLoc(), step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr),
                           b.getStrArrayAttr({dist::kPipelineAxis}), b.getI64IntegerAttr(message.to),
                           b.getI64IntegerAttr(message.tag), part);
  }
}

Value StageBuilder::receive(const Message &message) {
  bool isOfMicroBatch = message.microBatch >= 0 && message.microBatch < staged.order.microBatches;
  RankedTensorType type = isOfMicroBatch ? partType(message.value, message.microBatch) : typeOf(message.value);
  auto received = dist::ReceiveOp::create(
      b, message.value.getLoc(), type, step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr),
      b.getStrArrayAttr({dist::kPipelineAxis}), b.getI64IntegerAttr(message.from), b.getI64IntegerAttr(message.tag));
  setLayout(received, dist::getLayout(message.value));
  return received;
}

void StageBuilder::wait(const Message &message) {
  dist::SendWaitOp::create(b, message.value.getLoc(), step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr),
                           b.getStrArrayAttr({dist::kPipelineAxis}), b.getI64IntegerAttr(message.to),
                           b.getI64IntegerAttr(message.tag));
}
