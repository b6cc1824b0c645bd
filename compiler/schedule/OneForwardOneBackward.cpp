//===- OneForwardOneBackward.cpp - 1F1B with a flush ----------------------===//
//
// Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training" (2021), PipeDream-Flush; Fan et al., DAPPLE
// (2021). As long as GPipe, but a stage holds no more micro-batches than there are stages from it to the end.
// 3 stages, 4 micro-batches, F and B drawn of equal length:
//
//   0: F0-- F1-- F2--           B0-- F3-- B1--      B2--      B3--
//   1:      F0-- F1--      B0-- F2-- B1-- F3-- B2--      B3--
//   2:           F0-- B0-- F1-- B1-- F2-- B2-- F3-- B3--
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Build.h"

using namespace pdc::schedule;

Schedule pdc::schedule::oneForwardOneBackward(int stages, int microBatches) {
  Schedule schedule = onePipeline(stages, microBatches);
  for (int stage = 0; stage < stages; ++stage)
    appendOneForwardOneBackward(schedule.ranks[stage], stage, 0, microBatches, /*warmUp=*/stages - 1 - stage);
  return schedule;
}
