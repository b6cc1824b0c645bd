//===- ForwardPasses.cpp - what of a step is forward, what backward -------===//

#include "passes/recompute/ForwardPasses.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

bool passes::isView(Operation *op) { return isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::SplitOp>(op); }

Value passes::storageOf(Value value, const ForwardPasses &passes) {
  while (passes.passOf(value) >= 0 && isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

ForwardPasses::ForwardPasses(nn::StepOp step) : step(step) {
  for (BlockArgument argument : step.getBody().getArguments()) {
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role");
    origins[argument] = role && role.getValue() == "input" ? Origin::Samples : Origin::Given;
  }
  if (step.getBody().front().getOps<dist::TaskOp>().empty())
    readWhole();
  else
    readTasks();
}

int ForwardPasses::passOf(Value value) const {
  Operation *made = value.getDefiningOp();
  auto found = made ? passOfOp.find(made) : passOfOp.end();
  return found == passOfOp.end() ? -1 : found->second;
}

Origin ForwardPasses::originOf(Value value) const {
  auto found = origins.find(value);
  return found == origins.end() ? Origin::Given : found->second;
}

/// What is made in a backward task is a gradient; elsewhere, what is made of gradients or of updates alone is an update. Weights
/// that a stream has updated between its mini-batches leave the samples that they meet what they are.
void ForwardPasses::findOrigin(Operation *op, char task) {
  bool isReceived = isa<dist::StageReceiveOp>(op);
  if (isReceived)
    task = kindOfFirstUse(op->getResult(0));
  bool ofSamples = isReceived, ofGradients = false, ofUpdates = false;
  for (Value operand : op->getOperands()) {
    Origin origin = originOf(operand);
    ofSamples |= origin == Origin::Samples;
    ofGradients |= origin == Origin::Gradient;
    ofUpdates |= origin == Origin::Update;
  }
  Origin origin = Origin::Given;
  if (task != 'F')
    origin = task == 'U' ? Origin::Update : ofSamples || ofGradients || ofUpdates ? Origin::Gradient : Origin::Given;
  else if (ofGradients || (ofUpdates && !ofSamples))
    origin = Origin::Update;
  else if (ofSamples)
    origin = Origin::Samples;
  for (Value result : op->getResults())
    origins[result] = origin;
}

/// The kind of the task that a value is used in first: messages are received one task early.
char ForwardPasses::kindOfFirstUse(Value value) const {
  int64_t first = static_cast<int64_t>(kinds.size());
  for (Operation *user : value.getUsers())
    if (auto task = tasks.find(user); task != tasks.end())
      first = std::min(first, task->second);
  return first < static_cast<int64_t>(kinds.size()) ? kinds[first].first : 'U';
}

void ForwardPasses::addOp(ForwardPass &pass, Operation *op) {
  if (op->getNumResults() == 0 || op->getNumRegions() > 0 || !isMemoryEffectFree(op) ||
      originOf(op->getResult(0)) != Origin::Samples)
    return;
  passOfOp[op] = static_cast<int>(&pass - passes.data());
  places[op] = static_cast<int64_t>(pass.ops.size());
  pass.ops.push_back(op);
}

//===----------------------------------------------------------------------===//
// Steps in tasks
//===----------------------------------------------------------------------===//

static bool isBackwardKind(char kind) { return kind == 'B' || kind == 'I' || kind == 'W'; }

/// Gives tasks their numbers, and each micro-batch and chunk its forward pass.
void ForwardPasses::findTasks() {
  std::map<std::pair<int64_t, int64_t>, size_t> byPlace; // by micro-batch and chunk
  kinds = {{'U', -1}};
  for (Operation &op : step.getBody().front().without_terminator()) {
    auto task = dyn_cast<dist::TaskOp>(op);
    if (!task) {
      tasks[&op] = static_cast<int64_t>(kinds.size()) - 1;
      continue;
    }
    char kind = task.getKind().front();
    auto index = static_cast<int64_t>(kinds.size());
    auto microBatch = static_cast<int64_t>(task.getMicroBatch()), chunk = static_cast<int64_t>(task.getChunk());
    kinds.emplace_back(kind, microBatch);
    if (kind == 'F') {
      byPlace[{microBatch, chunk}] = passes.size();
      passes.emplace_back();
      passes.back().chunk = chunk;
      passes.back().begin = index;
    } else if (auto forward = byPlace.find({microBatch, chunk}); isBackwardKind(kind) && forward != byPlace.end()) {
      ForwardPass &pass = passes[forward->second];
      pass.backward = pass.backward ? pass.backward : index;
      pass.end = index;
    }
  }
}

void ForwardPasses::readTasks() {
  findTasks();
  llvm::DenseMap<int64_t, size_t> passOfTask;
  for (auto [index, pass] : llvm::enumerate(passes))
    passOfTask[pass.begin] = index;
  for (Operation &op : step.getBody().front().without_terminator()) {
    auto task = tasks.find(&op);
    if (task == tasks.end())
      continue;
    char kind = kinds[task->second].first;
    findOrigin(&op, kind);
    if (isBackwardKind(kind))
      backward.insert(&op);
    else if (kind == 'F')
      addOp(passes[passOfTask.lookup(task->second)], &op);
  }
  findInFlight();
}

void ForwardPasses::findInFlight() {
  std::map<int64_t, int64_t> mostOfChunk;
  for (const ForwardPass &pass : passes) {
    int64_t others = llvm::count_if(passes, [&](const ForwardPass &other) {
      return &other != &pass && other.chunk == pass.chunk && other.begin < pass.backward && other.end >= pass.backward;
    });
    mostOfChunk[pass.chunk] = std::max(mostOfChunk[pass.chunk], others);
  }
  for (ForwardPass &pass : passes)
    pass.othersInFlight = mostOfChunk[pass.chunk];
}

//===----------------------------------------------------------------------===//
// Whole steps
//===----------------------------------------------------------------------===//

/// The ops that results of these roles are made of.
static llvm::DenseSet<Operation *> opsFor(nn::StepOp step, ArrayRef<StringRef> roles) {
  Block &body = step.getBody().front();
  llvm::DenseSet<Operation *> ops;
  auto add = [&](Value value) {
    if (Operation *made = value.getDefiningOp())
      ops.insert(made);
  };
  for (OpOperand &operand : body.getTerminator()->getOpOperands()) {
    auto role = step.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), "nn.role");
    if (role && llvm::is_contained(roles, role.getValue()))
      add(operand.get());
  }
  for (Operation &op : llvm::reverse(body))
    if (ops.contains(&op))
      llvm::for_each(op.getOperands(), add);
  return ops;
}

void ForwardPasses::readWhole() {
  llvm::DenseSet<Operation *> forward = opsFor(step, {"loss"}),
                              trained = opsFor(step, {"gradient", "parameter", "optimizer_state"});
  passes.resize(1);
  passes[0].begin = 0;
  passes[0].backward = passes[0].end = 1;
  kinds = {{'F', 0}, {'B', 0}};
  for (Operation &op : step.getBody().front().without_terminator()) {
    bool isForward = forward.contains(&op), isBackwardOp = !isForward && trained.contains(&op);
    tasks[&op] = isForward ? 0 : 1;
    findOrigin(&op, isForward ? 'F' : isBackwardOp ? 'B' : 'U');
    if (isBackwardOp)
      backward.insert(&op);
    else if (isForward)
      addOp(passes[0], &op);
  }
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

bool ForwardPasses::isPinned(Value value) const {
  int64_t own = tasks.lookup(value.getDefiningOp());
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return true;
    int64_t task = tasks.lookup(user);
    if (task == own)
      return false;
    // Another forward pass, an update, or the backward pass of another micro-batch.
    return !isBackward(user) || kinds[task].second != kinds[own].second;
  });
}
