//===- Programs.cpp - schedules as programs of ranks ----------------------===//

#include "compiler/simulate/Simulation.h"

using namespace pdc;
using namespace pdc::simulate;
using schedule::Task;
using schedule::TaskKind;

static double computeSeconds(const Task &task, const ChunkTimes &times) {
  switch (task.kind) {
  case TaskKind::Forward:
    return times.forward;
  case TaskKind::Backward:
    return times.backwardInput + times.backwardWeight;
  case TaskKind::BackwardInput:
    return times.backwardInput;
  case TaskKind::BackwardWeight:
    return times.backwardWeight;
  case TaskKind::Update:
    return times.update;
  }
  return 0;
}

Programs pdc::simulate::makePrograms(const schedule::Schedule &schedule,
                                     const std::vector<ChunkTimes> &times) {
  if (times.size() != schedule.next.size())
    throw schedule::ScheduleError("times of " + std::to_string(times.size()) + " chunks for a schedule of " +
                                  std::to_string(schedule.next.size()));
  // What a chunk sends backward is made by whichever task computes the gradient of its input.
  std::vector<bool> splits(schedule.next.size(), false);
  for (const std::vector<Task> &tasks : schedule.ranks)
    for (const Task &task : tasks)
      if (task.kind == TaskKind::BackwardInput)
        splits[task.chunk] = true;

  Programs programs(schedule.ranks.size());
  for (size_t rank = 0; rank < programs.size(); ++rank)
    for (const Task &task : schedule.ranks[rank]) {
      bool forward = task.kind == TaskKind::Forward;
      bool backward = task.kind == TaskKind::Backward || task.kind == TaskKind::BackwardInput;
      int next = schedule.nextOf(task.chunk, task.microBatch), previous = schedule.previousOf(task.chunk, task.microBatch);
      int from = forward ? previous : backward ? next : -1;
      int to = forward ? next : backward ? previous : -1;
      auto isRemote = [&](int chunk) {
        return chunk >= 0 && schedule.rankOf[chunk] != static_cast<int>(rank);
      };
      if (isRemote(from)) {
        TaskKind kind = forward        ? TaskKind::Forward
                        : splits[from] ? TaskKind::BackwardInput
                                       : TaskKind::Backward;
        programs[rank].push_back(
            {Operation::Kind::Receive, {kind, task.microBatch, from}, schedule.rankOf[from], 0});
      }
      const ChunkTimes &chunk = times[task.chunk];
      programs[rank].push_back({Operation::Kind::Compute, task, -1, computeSeconds(task, chunk)});
      if (isRemote(to))
        programs[rank].push_back({Operation::Kind::Send, task, schedule.rankOf[to],
                                  forward ? chunk.sendActivation : chunk.sendGradient});
    }
  return programs;
}

std::string pdc::simulate::toString(const Operation &operation) {
  std::string task = std::string(1, static_cast<char>(operation.task.kind)) +
                     std::to_string(operation.task.microBatch) + "." + std::to_string(operation.task.chunk);
  if (operation.kind == Operation::Kind::Send)
    return "send " + task + " to rank " + std::to_string(operation.peer);
  if (operation.kind == Operation::Kind::Receive)
    return "receive " + task + " from rank " + std::to_string(operation.peer);
  return task;
}
