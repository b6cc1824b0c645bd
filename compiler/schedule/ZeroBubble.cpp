//===- ZeroBubble.cpp - the backward in two halves ------------------------===//
//
// Qi et al., "Zero Bubble Pipeline Parallelism" (2023). Only the gradient of the inputs (I) is waited for by the
// stage before; the gradient of the weights (W) fills gaps. Both schedules are 1F1B with another warm-up, and
// with each W so many I later that no stage holds more micro-batches (from F to W) than the first one does.
// 3 stages, F, I and W of equal length:
//
//   H1: as many micro-batches in flight as in 1F1B, 4 of them
//   0: F0-- F1-- F2--           I0-- W0-- F3-- I1-- W1-- I2-- W2-- I3-- W3--
//   1:      F0-- F1--      I0-- F2-- I1-- W0-- F3-- I2-- W1-- I3-- W2-- W3--
//   2:           F0-- I0-- F1-- I1-- F2-- I2-- W0-- F3-- I3-- W1-- W2-- W3--
//
//   H2: 2p - 1 in flight, 5 micro-batches: no stage waits between its first and its last task
//   0: F0-- F1-- F2-- F3-- F4-- I0-- W0-- I1-- W1-- I2-- W2-- I3-- W3-- I4-- W4--
//   1:      F0-- F1-- F2-- I0-- F3-- I1-- F4-- I2-- W0-- I3-- W1-- I4-- W2-- W3-- W4--
//   2:           F0-- I0-- F1-- I1-- F2-- I2-- F3-- I3-- F4-- I4-- W0-- W1-- W2-- W3-- W4--
//
// In H2 stages begin and end at different times, so that steps can only follow each other without a gap when
// the optimizer does not synchronize them; the paper checks its norms and overflows afterwards and rolls back.
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Build.h"

using namespace pdc::schedule;

static std::vector<Task> splitBackward(int stage, int microBatches, int warmUp, int delay) {
  std::vector<Task> tasks;
  int weights = 0;
  std::vector<Task> order;
  appendOneForwardOneBackward(order, stage, 0, microBatches, warmUp);
  for (const Task &task : order) {
    if (task.kind == TaskKind::Forward) {
      tasks.push_back(task);
      continue;
    }
    tasks.push_back({TaskKind::BackwardInput, task.microBatch, stage});
    if (task.microBatch - weights >= delay)
      tasks.push_back({TaskKind::BackwardWeight, weights++, stage});
  }
  while (weights < microBatches)
    tasks.push_back({TaskKind::BackwardWeight, weights++, stage});
  return tasks;
}

Schedule pdc::schedule::zeroBubbleH1(int stages, int microBatches) {
  Schedule schedule = onePipeline(stages, microBatches);
  for (int stage = 0; stage < stages; ++stage)
    schedule.ranks[stage] =
        splitBackward(stage, microBatches, /*warmUp=*/stages - 1 - stage, /*delay=*/stage);
  return schedule;
}

Schedule pdc::schedule::zeroBubbleH2(int stages, int microBatches) {
  Schedule schedule = onePipeline(stages, microBatches);
  for (int stage = 0; stage < stages; ++stage)
    schedule.ranks[stage] =
        splitBackward(stage, microBatches, /*warmUp=*/2 * (stages - 1 - stage), 2 * stage);
  return schedule;
}
