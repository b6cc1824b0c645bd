//===- Messages.cpp - what stages send each other, and when ---------------===//

#include "passes/pipeline/Messages.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

LogicalResult Messages::run() {
  indexTasks();
  findMicroBatchMessages();
  if (order.isStream())
    findMessagesOfStream();
  else
    findMessagesAfter();
  if (failed(orderTasks()))
    return failure();
  findWaits();
  return success();
}

void Messages::indexTasks() {
  for (const auto &tasks : order.stages) {
    received.emplace_back(tasks.size() + 1);
    waited.emplace_back(tasks.size() + 1);
    for (auto [index, task] : llvm::enumerate(tasks))
      taskIndex[{task.microBatch, task.chunk, task.kind}] = static_cast<int64_t>(index);
  }
}

int64_t Messages::taskOf(Operation *op, int64_t microBatch) const {
  int64_t chunk = order.copyFor(stages.chunkOf(op), microBatch);
  auto found = taskIndex.find({microBatch, chunk, stages.kindOf(op)});
  return found != taskIndex.end() ? found->second : taskIndex.at({microBatch, chunk, 'B'});
}

ArrayRef<int64_t> Messages::of(Value value, int64_t microBatch) const {
  auto found = byValue.find({value, microBatch});
  return found == byValue.end() ? ArrayRef<int64_t>() : ArrayRef<int64_t>(found->second);
}

/// No two messages between the same ranks have one tag, also not of replicas and of whole stages.
int64_t Messages::takeTag(const Message &message) {
  if (message.microBatch >= 0)
    return nextTag[{message.from, message.to}]++;
  int64_t tag = 0;
  for (bool isTaken : {false, true})
    for (int64_t from : order.membersOf(order.groupOf(message.from)))
      for (int64_t to : order.membersOf(order.groupOf(message.to))) {
        int64_t &next = nextTag[{from, to}];
        isTaken ? next = tag + 1 : tag = std::max(tag, next);
      }
  return tag;
}

void Messages::add(Message message) {
  message.tag = takeTag(message);
  auto index = static_cast<int64_t>(messages.size());
  byValue[{message.value, message.microBatch}].push_back(index);
  received[message.to][message.receivedBy].push_back(index);
  messages.push_back(message);
}

void Messages::findMicroBatchMessages() {
  for (Operation &op : classes.step.getBody().front().without_terminator()) {
    if (!classes.isWork(&op))
      continue;
    for (Value result : op.getResults()) {
      if (classes.isAccumulated(result))
        continue;
      for (int64_t i = 0; i < order.microBatches; ++i) {
        int64_t from = stages.stageOf(&op, i);
        std::map<int64_t, int64_t> first; // per stage, the task that uses it first
        for (Operation *user : result.getUsers()) {
          if (!classes.isWork(user) || stages.stageOf(user, i) == from)
            continue;
          auto [entry, inserted] = first.try_emplace(stages.stageOf(user, i), taskOf(user, i));
          entry->second = std::min(entry->second, taskOf(user, i));
        }
        for (auto [to, task] : first)
          add({result, i, from, to, 0, taskOf(&op, i), task});
      }
    }
  }
}

/// Replicas of a stage send and receive together what comes after all micro-batches: the first one stands for them.
std::set<int64_t> Messages::leadersOf(llvm::ArrayRef<int64_t> of) const {
  std::set<int64_t> leaders;
  for (int64_t stage : of)
    leaders.insert(order.leaderOf(stage));
  return leaders;
}

void Messages::findMessagesAfter() {
  auto after = [&](int64_t stage) { return static_cast<int64_t>(order.stages[stage].size()); };
  for (Operation &op : classes.step.getBody().front().without_terminator()) {
    bool isWork = classes.isWork(&op);
    if (!isWork && classes.of(&op) != OpClass::After)
      continue;
    for (Value result : op.getResults()) {
      if (isWork && !classes.isSummed(result))
        continue; // an output
      // Of a sum each copy of the model has a part.
      const std::set<int64_t> &needing = stages.stagesThatNeed(result);
      for (int64_t from : leadersOf(isWork ? stages.stagesOfWork(&op) : std::vector<int64_t>{stages.homeOf(result)}))
        for (int64_t to : leadersOf(std::vector<int64_t>(needing.begin(), needing.end())))
          if (to != from && !stages.stagesOf(&op).count(to))
            add({result, -1, from, to, 0, after(from), after(to)});
    }
  }
}

/// Each stage tells the others its averages at the end. Those that share a parameter exchange its gradient's parts.
void Messages::findMessagesOfStream() {
  auto count = static_cast<int64_t>(order.stages.size());
  auto after = [&](int64_t stage) { return static_cast<int64_t>(order.stages[stage].size()); };
  DenseSet<Value> told;
  Block &block = classes.step.getBody().front();
  for (OpOperand &result : block.getTerminator()->getOpOperands()) {
    if (!stages.isReported(result.getOperandNumber()) || !told.insert(result.get()).second)
      continue;
    int64_t from = stages.homeOf(result.get());
    for (int64_t to = 0; to < count; ++to)
      if (to != from && to == order.leaderOf(to))
        add({result.get(), -1, from, to, 0, after(from), after(to)});
  }
  for (Operation &op : block.without_terminator()) {
    if (!classes.isWork(&op))
      continue;
    for (Value result : op.getResults()) {
      std::set<int64_t> updating;
      for (Operation *user : result.getUsers())
        updating.insert(stages.stagesOf(user).begin(), stages.stagesOf(user).end());
      // Of replicas that take turns, from the one that ran the mini-batch to the one whose turn it is.
      for (int64_t leader : leadersOf(std::vector<int64_t>(updating.begin(), updating.end())))
        for (int64_t i = 0; i < order.microBatches; ++i) {
          int64_t from = stages.stageOf(&op, i), to = leader + i % order.replicasOf(leader);
          if (order.leaderOf(from) != leader)
            add({result, order.microBatches + i, from, to, 0, taskOf(&op, i), firstTaskAfterUpdate(to, result, i)});
        }
    }
  }
}

/// The first forward on a stage whose weights have been updated with a part of their gradient; else the end.
int64_t Messages::firstTaskAfterUpdate(int64_t stage, Value summand, int64_t miniBatch) const {
  const auto &tasks = order.stages[stage];
  auto found = llvm::find_if(tasks, [&](const StageTask &task) {
    return task.kind == 'F' && stages.versionAfter(summand, task.microBatch).value_or(0) > miniBatch / order.replicasOf(stage);
  });
  return std::distance(tasks.begin(), found);
}

/// Runs the schedule without times: a task begins when the one before it and those whose messages it uses are through.
LogicalResult Messages::orderTasks() {
  size_t count = order.stages.size();
  std::vector<size_t> next(count, 0);
  clocks.resize(count);
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t stage = 0; stage < count; ++stage)
      while (next[stage] < order.stages[stage].size()) {
        ArrayRef<int64_t> inputs = received[stage][next[stage]];
        if (llvm::any_of(inputs, [&](int64_t m) {
              return messages[m].sentBy >= static_cast<int64_t>(next[messages[m].from]);
            }))
          break;
        Clock clock = next[stage] ? clocks[stage].back() : Clock(count, -1);
        for (int64_t m : inputs) {
          const Message &message = messages[m];
          const Clock &theirs = clocks[message.from][message.sentBy];
          for (size_t other = 0; other < count; ++other)
            clock[other] = std::max(clock[other], theirs[other]);
        }
        clock[stage] = static_cast<int64_t>(next[stage]++);
        clocks[stage].push_back(std::move(clock));
        moved = true;
      }
  }
  for (size_t stage = 0; stage < count; ++stage)
    if (next[stage] < order.stages[stage].size()) {
      const StageTask &task = order.stages[stage][next[stage]];
      return classes.step->emitOpError() << "cannot run in this schedule: on stage " << order.groupOf(stage) << " "
                                         << StringRef(&task.kind, 1) << task.microBatch
                                         << " waits for a task that waits for it";
    }
  return success();
}

void Messages::findWaits() {
  for (auto [index, message] : llvm::enumerate(messages)) {
    const std::vector<Clock> &own = clocks[message.from];
    // Clocks only grow.
    auto known = llvm::partition_point(
        own, [&](const Clock &clock) { return clock[message.to] < message.receivedBy; });
    auto task = std::distance(own.begin(), known);
    if (message.microBatch < 0 || task <= message.sentBy || task == static_cast<int64_t>(own.size()))
      continue;
    message.waitedBy = task;
    waited[message.from][task].push_back(static_cast<int64_t>(index));
  }
}
