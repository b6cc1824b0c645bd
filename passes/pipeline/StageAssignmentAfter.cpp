//===- StageAssignmentAfter.cpp - which stage does what comes last --------===//
//
// What is done after all micro-batches, and the versions of parameters in streams; StageAssignment.cpp has the rest.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageAssignment.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

LogicalResult StageAssignment::finish() {
  findHomes();
  findNeeds();
  if (!order.isStream())
    return success();
  findNewValues();
  findUpdates();
  return checkUpdates();
}

//===----------------------------------------------------------------------===//
// Homes and needs
//===----------------------------------------------------------------------===//

void StageAssignment::findHomes() {
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (classes.isWork(&op))
      homes[&op] = stagesOfWork(&op).front();
    else if (classes.of(&op) == OpClass::After)
      homes[&op] = homeOfAfter(&op);
  }
  Operation *terminator = step.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto role = step.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), "nn.role");
    auto name = step.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), "nn.name");
    Operation *made = operand.get().getDefiningOp();
    // Running statistics, which training only writes, are kept where they are made.
    if (decides && role && role.getValue() == "state" && residence[name.str()].empty())
      for (int64_t chunk = 0; chunk < order.chunkCount(); ++chunk)
        if (order.stageFor(chunk, 0) == (made && homes.contains(made) ? homes[made] : 0) &&
            residence[name.str()].empty())
          residence[name.str()].insert(chunk);
  }
  // What nothing computes with lies on the first stage.
  for (BlockArgument argument : step.getBody().getArguments())
    if (decides && persists(step, argument.getArgNumber()))
      if (std::set<int64_t> &kept = residence[nameOf(argument.getArgNumber())]; kept.empty())
        kept.insert(0);
}

/// Where its largest operand is (of equally large ones the last); where its parameters are kept.
int64_t StageAssignment::homeOfAfter(Operation *op) {
  int64_t home = -1, elements = -1;
  std::set<unsigned> kept;
  for (Value operand : op->getOperands()) {
    const std::set<unsigned> &of = parametersOf(operand);
    kept.insert(of.begin(), of.end());
    Operation *made = operand.getDefiningOp();
    if (made && homes.contains(made) && cast<RankedTensorType>(operand.getType()).getNumElements() >= elements) {
      elements = cast<RankedTensorType>(operand.getType()).getNumElements();
      home = homes[made];
    }
  }
  for (unsigned argument : kept) {
    std::set<int64_t> stages = stagesOfName(nameOf(argument));
    if (!stages.empty() && !stages.count(home))
      home = *stages.begin();
  }
  return std::max<int64_t>(home, 0);
}

/// What one of its replicas does after all micro-batches, all do.
std::set<int64_t> StageAssignment::withReplicas(int64_t stage) const {
  llvm::iota_range<int64_t> members = order.membersOf(order.groupOf(stage));
  return {members.begin(), members.end()};
}

void StageAssignment::findNeeds() {
  Block &block = step.getBody().front();
  std::set<int64_t> all;
  for (size_t stage = 0; stage < order.stages.size(); ++stage)
    all.insert(static_cast<int64_t>(stage));
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    auto role = step.getResultAttrOfType<StringAttr>(index, "nn.role");
    auto name = step.getResultAttrOfType<StringAttr>(index, "nn.name");
    Operation *made = operand.get().getDefiningOp();
    std::set<int64_t> stages = all; // the loss and the metrics: every rank tells the same
    std::set<int64_t> home = withReplicas(made && homes.contains(made) ? homes[made] : 0);
    if (role && role.getValue() == "output")
      stages = home;
    else if (!isReported(index))
      stages = stagesOfName(name ? name.getValue() : "");
    // Of a stream its average is told, at the end.
    const std::set<int64_t> &needing = order.isStream() && isReported(index) ? home : stages;
    needs[operand.get()].insert(needing.begin(), needing.end());
    returned.push_back(std::move(stages));
  }
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (classes.of(&op) != OpClass::After)
      continue;
    std::set<int64_t> &on = runs[&op];
    bool isScalar = true;
    for (Value result : op.getResults()) {
      on.insert(needs[result].begin(), needs[result].end());
      isScalar &= cast<RankedTensorType>(result.getType()).getNumElements() == 1;
    }
    // An update of a stream waits for no other stage.
    if (isScalar && !on.empty() && !order.isStream())
      on = withReplicas(homes[&op]);
    for (Value operand : op.getOperands())
      needs[operand].insert(on.begin(), on.end());
  }
}

const std::set<int64_t> &StageAssignment::stagesOf(Operation *op) const {
  static const std::set<int64_t> none;
  auto found = runs.find(op);
  return found == runs.end() ? none : found->second;
}

const std::set<int64_t> &StageAssignment::stagesThatNeed(Value value) const {
  static const std::set<int64_t> none;
  auto found = needs.find(value);
  return found == needs.end() ? none : found->second;
}

int64_t StageAssignment::homeOf(Value value) const {
  Operation *made = value.getDefiningOp();
  if (classes.isWork(made))
    return stagesOfWork(made).front();
  const std::set<int64_t> &on = stagesOf(made);
  int64_t home = homes.lookup(made);
  return on.count(home) || on.empty() ? home : *on.begin();
}

bool StageAssignment::returns(int64_t stage, unsigned result) const { return returned[result].count(stage) > 0; }

bool StageAssignment::isReported(unsigned result) const {
  auto role = step.getResultAttrOfType<StringAttr>(result, "nn.role");
  return !role || role.getValue() == "loss" || role.getValue() == "metric";
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

BlockArgument StageAssignment::argumentOf(unsigned result) const {
  for (BlockArgument argument : step.getBody().getArguments()) {
    auto isSame = [&](StringRef key) {
      return step.getArgAttr(argument.getArgNumber(), key) == step.getResultAttr(result, key);
    };
    if (persists(step, argument.getArgNumber()) && isSame("nn.role") && isSame("nn.name") && isSame("nn.slot"))
      return argument;
  }
  return {};
}

void StageAssignment::findNewValues() {
  for (OpOperand &operand : step.getBody().front().getTerminator()->getOpOperands())
    if (BlockArgument argument = argumentOf(operand.getOperandNumber()))
      newValues[argument] = operand.get();
}

void StageAssignment::findUpdates() {
  for (auto [argument, value] : newValues)
    updates[value].insert(nameOf(cast<BlockArgument>(argument).getArgNumber()));
  for (Operation &op : llvm::reverse(step.getBody().front().without_terminator())) {
    if (classes.of(&op) != OpClass::After)
      continue;
    std::set<std::string> names;
    for (Value result : op.getResults())
      names.insert(updates[result].begin(), updates[result].end());
    for (Value operand : op.getOperands())
      updates[operand].insert(names.begin(), names.end());
  }
}

/// Only the backward passes on its own stages say how a parameter changes. What comes of forwards (running statistics) is
/// there before any stage goes back.
LogicalResult StageAssignment::checkUpdates() {
  for (const auto &[name, kept] : residence)
    for (int64_t chunk : kept)
      if (size_t first = order.stagesOf(*kept.begin()).size(), replicas = order.stagesOf(chunk).size(); replicas != first)
        return step.emitOpError() << "has '" << name << "' on stages " << *kept.begin() << " and " << chunk << ", of " << first
                                  << " and " << replicas
                                  << " replicas that take mini-batches in turn: stages that share a parameter update it together, so "
                                     "they need as many replicas (use pipedream:split, or a schedule with a flush)";
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (!classes.isWork(&op) || classes.isForward(&op))
      continue;
    for (Value result : op.getResults())
      for (const std::string &name : updates.lookup(result))
        if (!stagesOfName(name).count(homeOf(result)))
          return op.emitOpError() << "on stage " << order.groupOf(homeOf(result)) << " goes into the update of '" << name
                                  << "', which that stage does not have: without a flush an update cannot wait for "
                                     "other stages, as the norm of all gradients does (do not clip them, or use "
                                     "another schedule)";
  }
  return success();
}

int64_t StageAssignment::versionOf(StringRef name, int64_t miniBatch) const {
  int64_t version = std::numeric_limits<int64_t>::max();
  if (auto kept = residence.find(name.str()); kept != residence.end())
    for (int64_t chunk : kept->second)
      version = std::min(version, order.versions[chunk][miniBatch]);
  return version;
}

int64_t StageAssignment::versionOf(BlockArgument argument, int64_t miniBatch) const {
  return versionOf(nameOf(argument.getArgNumber()), miniBatch);
}

std::optional<int64_t> StageAssignment::versionAfter(Value summand, int64_t miniBatch) const {
  std::optional<int64_t> version;
  for (const std::string &name : updates.lookup(summand))
    version = std::min(version.value_or(order.microBatches), versionOf(name, miniBatch));
  return version;
}
