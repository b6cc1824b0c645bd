//===- TaskOrder.cpp - what each stage does, in order ---------------------===//

#include "passes/pipeline/TaskOrder.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace llvm;
using namespace pdc::passes;

template <typename... Args> static Error error(const char *format, const Args &...args) {
  return createStringError(inconvertibleErrorCode(), format, args...);
}

static Expected<StageTask> parseTask(StringRef word, int64_t stage) {
  StageTask task{word.front(), 0, stage};
  auto [microBatch, chunk] = word.drop_front().split('.');
  bool isTask = StringRef("FBIW").contains(task.kind) && !microBatch.getAsInteger(10, task.microBatch) &&
                task.microBatch >= 0 &&
                (chunk.empty() || (!chunk.getAsInteger(10, task.chunk) && task.chunk >= 0));
  if (!isTask)
    return error("'%s' is no task of a schedule: expected F, B, I or W and a micro-batch, as in F0 or B2.1",
                 word.str().c_str());
  return task;
}

/// Every chunk is on one stage and runs every micro-batch forward once, and backward once or not at all.
static Error checkOrder(const TaskOrder &order, size_t chunks) {
  std::map<std::pair<int64_t, int64_t>, std::string> ran;
  for (const auto &stage : order.stages)
    for (const StageTask &task : stage)
      ran[{task.chunk, task.microBatch}] += task.kind;
  for (size_t chunk = 0; chunk < chunks; ++chunk)
    for (int64_t i = 0; i < order.microBatches; ++i) {
      const std::string &kinds = ran[{chunk, i}];
      if (kinds != "F" && kinds != "FB" && kinds != "FIW")
        return error("micro-batch %lld runs on chunk %lld as '%s', expected a forward and then a backward",
                     static_cast<long long>(i), static_cast<long long>(chunk), kinds.c_str());
    }
  return Error::success();
}

Expected<TaskOrder> pdc::passes::parseTaskOrder(StringRef text) {
  TaskOrder order;
  SmallVector<StringRef> lines;
  SplitString(text, lines, "\n;");
  std::map<int64_t, int64_t> stageOf;
  for (auto [stage, line] : enumerate(lines)) {
    auto &tasks = order.stages.emplace_back();
    SmallVector<StringRef> words;
    SplitString(line, words, " ");
    for (StringRef word : words) {
      Expected<StageTask> task = parseTask(word, static_cast<int64_t>(stage));
      if (!task)
        return task.takeError();
      order.microBatches = std::max(order.microBatches, task->microBatch + 1);
      if (auto [entry, inserted] = stageOf.try_emplace(task->chunk, stage);
          !inserted && entry->second != static_cast<int64_t>(stage))
        return error("chunk %lld is on stages %lld and %lld", static_cast<long long>(task->chunk),
                     static_cast<long long>(entry->second), static_cast<long long>(stage));
      tasks.push_back(*task);
    }
  }
  for (auto [chunk, stage] : stageOf) {
    if (chunk != order.chunkCount())
      return error("chunk %lld is on no stage", static_cast<long long>(order.chunkCount()));
    order.stageOf.push_back(stage);
  }
  if (order.stageOf.empty())
    return error("the schedule has no tasks");
  if (Error bad = checkOrder(order, order.stageOf.size()))
    return bad;
  return order;
}

TaskOrder TaskOrder::forwardOnly() const {
  TaskOrder forward = *this;
  for (auto &stage : forward.stages)
    erase_if(stage, [](const StageTask &task) { return task.kind != 'F'; });
  return forward;
}

TaskOrder TaskOrder::wholeBatch() const {
  TaskOrder whole{1, std::vector<std::vector<StageTask>>(stages.size()), stageOf};
  for (auto [chunk, stage] : enumerate(stageOf))
    whole.stages[stage].push_back({'F', 0, static_cast<int64_t>(chunk)});
  return whole;
}
