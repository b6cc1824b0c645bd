//===- TaskOrder.cpp - what each stage does, in order ---------------------===//

#include "passes/pipeline/TaskOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <numeric>

using namespace llvm;
using namespace pdc::passes;

template <typename... Args> static Error error(const char *format, const Args &...args) {
  return createStringError(inconvertibleErrorCode(), format, args...);
}

static Expected<StageTask> parseTask(StringRef word, int64_t stage) {
  StageTask task{word.front(), 0, stage};
  auto [microBatch, chunk] = word.drop_front().split('.');
  bool isTask = StringRef("FBIWU").contains(task.kind) && !microBatch.getAsInteger(10, task.microBatch) &&
                task.microBatch >= 0 &&
                (chunk.empty() || (!chunk.getAsInteger(10, task.chunk) && task.chunk >= 0));
  if (!isTask)
    return error("'%s' is no task of a schedule: expected F, B, I, W or U and a micro-batch, as in F0 or B2.1",
                 word.str().c_str());
  return task;
}

using Ran = std::map<std::pair<int64_t, int64_t>, std::string>; // kinds of tasks, per chunk and micro-batch

static Ran kindsOf(const TaskOrder &order) {
  Ran ran;
  for (const auto &stage : order.stages)
    for (const StageTask &task : stage)
      ran[{task.chunk, task.microBatch}] += task.kind;
  return ran;
}

/// A micro-batch is of the copy of the first chunk that runs it.
static void findCopies(TaskOrder &order, const Ran &ran) {
  auto chunks = static_cast<int64_t>(order.stageOf.size());
  auto ofModel = count_if(seq<int64_t>(chunks), [&](int64_t chunk) { return ran.count({chunk, 0}) > 0; });
  if (ofModel == 0 || ofModel == chunks || chunks % ofModel != 0)
    return;
  for (int64_t i = 0; i < order.microBatches; ++i) {
    int64_t first = 0;
    while (first + 1 < chunks && !ran.count({first, i}))
      ++first;
    order.copyOf.push_back(first / ofModel);
  }
}

/// Of a chunk of a stream, the updates before each forward; those come in the order of the micro-batches, or, of replicas that
/// take turns, of their own.
static Error findVersions(const TaskOrder &order, int64_t chunk, std::vector<int64_t> &versions) {
  int64_t updates = 0, stage = order.stageOf[chunk], replicas = order.replicasOf(stage);
  for (const StageTask &task : order.stages[stage]) {
    if (task.chunk != chunk)
      continue;
    if (task.kind == 'F')
      versions[task.microBatch] = updates;
    if (task.kind == 'U' && task.microBatch != replicas * updates++ + order.turnOf(stage))
      return error("chunk %lld is updated with micro-batch %lld as the %lldth, expected them in order",
                   static_cast<long long>(chunk), static_cast<long long>(task.microBatch),
                   static_cast<long long>(updates));
  }
  return Error::success();
}

/// Every chunk runs every micro-batch of its copy forward once, and backward once or not at all.
static Error checkOrder(const TaskOrder &order, const Ran &ran) {
  auto chunks = static_cast<int64_t>(order.stageOf.size());
  bool updates = llvm::any_of(ran, [](const auto &entry) { return StringRef(entry.second).contains('U'); });
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    for (int64_t i = 0; i < order.microBatches; ++i) {
      auto found = ran.find({chunk, i});
      std::string kinds = found == ran.end() ? "" : found->second;
      bool isOfCopy = order.copyFor(order.modelChunk(chunk), i) == chunk;
      bool isWhole = updates ? kinds == "FBU" : kinds == "F" || kinds == "FB" || kinds == "FIW";
      if (isOfCopy ? !isWhole : !kinds.empty())
        return error("micro-batch %lld runs on chunk %lld as '%s', expected a forward and then a backward%s",
                     static_cast<long long>(i), static_cast<long long>(chunk), kinds.c_str(),
                     updates ? " and its update" : "");
    }
  return Error::success();
}

int64_t TaskOrder::copies() const {
  return copyOf.empty() ? 1 : *std::max_element(copyOf.begin(), copyOf.end()) + 1;
}

int64_t TaskOrder::groupOf(int64_t stage) const {
  int64_t group = 0;
  for (int64_t count : replicas) {
    if (stage < count)
      return group;
    stage -= count;
    ++group;
  }
  return stage; // where each is a group by itself
}

iota_range<int64_t> TaskOrder::membersOf(int64_t group) const {
  if (replicas.empty())
    return seq(group, group + 1);
  int64_t first = std::accumulate(replicas.begin(), replicas.begin() + group, int64_t{0});
  return seq(first, first + replicas[group]);
}

int64_t TaskOrder::copyFor(int64_t chunk, int64_t microBatch) const {
  if (!replicas.empty())
    return *membersOf(chunk).begin() + microBatch % replicas[chunk];
  return copyOf.empty() ? chunk : copyOf[microBatch] * chunkCount() + chunk;
}

std::vector<int64_t> TaskOrder::stagesOf(int64_t chunk) const {
  std::vector<int64_t> stages;
  if (!replicas.empty()) {
    append_range(stages, membersOf(chunk));
    return stages;
  }
  for (int64_t copy = 0; copy < copies(); ++copy)
    if (int64_t stage = stageOf[copy * chunkCount() + chunk]; !is_contained(stages, stage))
      stages.push_back(stage);
  return stages;
}

/// A line for each replica, of whose chunk all of its tasks are, and work for each.
static Error checkReplicas(const TaskOrder &order) {
  int64_t count = std::accumulate(order.replicas.begin(), order.replicas.end(), int64_t{0});
  auto lines = static_cast<int64_t>(order.stages.size());
  if (any_of(order.replicas, [](int64_t replicas) { return replicas < 1; }) || count != lines)
    return error("it has %lld lines, expected one for each of %lld replicas", static_cast<long long>(lines),
                 static_cast<long long>(count));
  for (auto [stage, tasks] : enumerate(order.stages)) {
    if (tasks.empty())
      return error("line %zu has no tasks: replicas that take micro-batches in turn need one each", stage);
    for (const StageTask &task : tasks)
      if (task.chunk != static_cast<int64_t>(stage))
        return error("line %zu has a task of chunk %lld: replicas that take micro-batches in turn have one chunk each", stage,
                     static_cast<long long>(task.chunk));
  }
  return Error::success();
}

Expected<TaskOrder> pdc::passes::parseTaskOrder(StringRef text, ArrayRef<int64_t> replicas) {
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
    if (chunk != static_cast<int64_t>(order.stageOf.size()))
      return error("chunk %zu is on no stage", order.stageOf.size());
    order.stageOf.push_back(stage);
  }
  if (order.stageOf.empty())
    return error("the schedule has no tasks");
  Ran ran = kindsOf(order);
  order.replicas = replicas.vec();
  if (replicas.empty())
    findCopies(order, ran);
  else if (Error bad = checkReplicas(order))
    return bad;
  if (Error bad = checkOrder(order, ran))
    return bad;
  if (StringRef(ran[{0, 0}]).contains('U'))
    for (int64_t chunk = 0; chunk < static_cast<int64_t>(order.stageOf.size()); ++chunk) {
      if (order.replicasOf(order.stageOf[chunk]) > 1 && order.microBatches % order.replicasOf(order.stageOf[chunk]) != 0)
        return error("%lld replicas take %lld mini-batches in turn: an update is made of one of each",
                     static_cast<long long>(order.replicasOf(order.stageOf[chunk])), static_cast<long long>(order.microBatches));
      // All that replicas of a stage run is its one chunk's.
      order.versions.resize(order.replicas.empty() ? chunk + 1 : order.modelChunk(chunk) + 1,
                            std::vector<int64_t>(order.microBatches, 0));
      if (Error bad = findVersions(order, chunk, order.versions.back()))
        return bad;
    }
  return order;
}

TaskOrder TaskOrder::forwardOnly() const {
  TaskOrder forward = withoutUpdates();
  for (auto &stage : forward.stages)
    erase_if(stage, [](const StageTask &task) { return task.kind != 'F'; });
  return forward;
}

TaskOrder TaskOrder::withoutUpdates() const {
  TaskOrder without = *this;
  without.versions.clear();
  for (auto &stage : without.stages)
    erase_if(stage, [](const StageTask &task) { return task.kind == 'U'; });
  return without;
}

TaskOrder TaskOrder::wholeBatch() const {
  TaskOrder whole{1, std::vector<std::vector<StageTask>>(groupCount()), stageOf, {}, {}, {}};
  whole.stageOf.resize(chunkCount());
  for (auto [chunk, stage] : enumerate(whole.stageOf)) {
    if (!replicas.empty())
      stage = static_cast<int64_t>(chunk);
    whole.stages[stage].push_back({'F', 0, static_cast<int64_t>(chunk)});
  }
  return whole;
}
