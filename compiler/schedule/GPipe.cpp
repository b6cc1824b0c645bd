//===- GPipe.cpp - fill, drain --------------------------------------------===//
//
// Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism" (2019).
// 3 stages, 4 micro-batches, F and B drawn of equal length:
//
//   0: F0-- F1-- F2-- F3--                     B3-- B2-- B1-- B0--
//   1:      F0-- F1-- F2-- F3--           B3-- B2-- B1-- B0--
//   2:           F0-- F1-- F2-- F3-- B3-- B2-- B1-- B0--
//
// Backwards in the opposite order: what ran last has its activations at hand, without recomputation.
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Build.h"

using namespace pdc::schedule;

Schedule pdc::schedule::gpipe(int stages, int microBatches) {
  Schedule schedule = onePipeline(stages, microBatches);
  for (int stage = 0; stage < stages; ++stage) {
    for (int i = 0; i < microBatches; ++i)
      schedule.ranks[stage].push_back({TaskKind::Forward, i, stage});
    for (int i = microBatches - 1; i >= 0; --i)
      schedule.ranks[stage].push_back({TaskKind::Backward, i, stage});
  }
  return schedule;
}
