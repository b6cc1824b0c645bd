//===- Bidirectional.cpp - two pipelines in opposite directions -----------===//
//
// Li and Hoefler, "Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional Pipelines" (2021);
// Jain et al., "GEMS" (2020) has the same two copies of the model with one micro-batch of each in flight. Rank r
// holds stage r of the one copy (chunk r) and stage p-1-r of the other (chunk p + p-1-r); each copy takes half
// of the micro-batches, and one fills the other's gaps. 4 ranks, 4 micro-batches, F and B of equal length:
//
//   0: F0-- F1--      F2.7 B2.7 F3.7 B3.7 B0--      B1--
//   1:      F0-- F2.6 F1-- F3.6 B2.6 B0-- B3.6 B1--
//   2:      F2.5 F0-- F3.5 F1-- B0-- B2.5 B1-- B3.5
//   3: F2.4 F3.4      F0-- B0-- F1-- B1-- B2.4      B3.4
//
// Both copies' gradients are added up before the update.
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Build.h"
#include <algorithm>

using namespace pdc::schedule;

namespace {

/// Runs the two copies in unit steps; whatever is ready runs, backwards first. What ran is the order.
class Merger {
public:
  Merger(Schedule &schedule, int stages) : schedule(schedule), stages(stages) {
    for (int chunk = 0; chunk < 2 * stages; ++chunk) {
      std::vector<Task> order;
      int position = chunk % stages, half = schedule.microBatches / 2;
      appendOneForwardOneBackward(order, chunk, chunk < stages ? 0 : half, half, stages - 1 - position);
      orders.push_back(order);
    }
    place.assign(orders.size(), 0);
    finished.assign(orders.size(), std::vector<int>(2 * schedule.microBatches, kNever));
  }

  void run() {
    int left = 0;
    for (const std::vector<Task> &order : orders)
      left += static_cast<int>(order.size());
    for (int time = 0; left > 0; ++time)
      for (int rank = 0; rank < stages; ++rank)
        if (step(rank, time))
          --left;
  }

private:
  static constexpr int kNever = 1 << 30;

  int &finishOf(const Task &task) {
    return finished[task.chunk][2 * task.microBatch + (task.kind == TaskKind::Backward)];
  }
  bool isReady(int chunk, int time) {
    if (place[chunk] == orders[chunk].size())
      return false;
    Task input = orders[chunk][place[chunk]];
    bool forward = input.kind == TaskKind::Forward;
    int position = chunk % stages;
    if (forward ? position == 0 : position == stages - 1)
      return true; // data of its own: the model's input, or its own loss
    input.chunk += forward ? -1 : 1;
    return finishOf(input) <= time;
  }
  bool step(int rank, int time) {
    int chunks[2] = {rank, stages + stages - 1 - rank}, best = -1;
    for (int chunk : chunks)
      if (isReady(chunk, time) && (best < 0 || comesFirst(chunk, best)))
        best = chunk;
    if (best < 0)
      return false;
    Task task = orders[best][place[best]++];
    finishOf(task) = time + 1;
    schedule.ranks[rank].push_back(task);
    return true;
  }
  /// A backward before a forward; of two of a kind the copy that has done less.
  bool comesFirst(int a, int b) {
    bool backwardA = orders[a][place[a]].kind == TaskKind::Backward;
    bool backwardB = orders[b][place[b]].kind == TaskKind::Backward;
    return backwardA != backwardB ? backwardA : place[a] < place[b];
  }

  Schedule &schedule;
  int stages;
  std::vector<std::vector<Task>> orders; // per chunk
  std::vector<size_t> place;             // per chunk, of its next task
  std::vector<std::vector<int>> finished;
};

} // namespace

Schedule pdc::schedule::bidirectional(int stages, int microBatches) {
  Schedule schedule = onePipeline(stages, microBatches);
  if (stages % 2 != 0 || microBatches % 2 != 0)
    throw ScheduleError(
        "schedule 'bidirectional' needs an even number of stages, so that a rank's two stages "
        "differ, and of micro-batches, half for each direction; not " +
        std::to_string(stages) + " and " + std::to_string(microBatches));
  for (int position = 0; position < stages; ++position) {
    schedule.rankOf.push_back(stages - 1 - position);
    schedule.next.push_back(position + 1 < stages ? stages + position + 1 : -1);
  }
  Merger(schedule, stages).run();
  return schedule;
}
