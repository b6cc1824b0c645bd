//===- PipeDream.cpp - 1F1B without a flush -------------------------------===//
//
// Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019). The order of 1F1B over
// a stream of mini-batches; each backward is followed by an update of the stage's weights, and the forwards in
// flight keep the weights that they saw (weight stashing). 3 stages, 4 mini-batches; not to scale:
//
//   0: F0 F1 F2       B0 U0 F3 B1 U1    B2 U2    B3 U3
//   1:    F0 F1    B0 U0 F2 B1 U1 F3 B2 U2    B3 U3
//   2:       F0 B0 U0 F1 B1 U1 F2 B2 U2 F3 B3 U3
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Build.h"
#include <algorithm>

using namespace pdc::schedule;

Schedule pdc::schedule::pipeDream(int stages, int microBatches) {
  Schedule schedule = oneForwardOneBackward(stages, microBatches);
  for (std::vector<Task> &tasks : schedule.ranks)
    tasks = withUpdates(tasks);
  return schedule;
}

int pdc::schedule::pipeDreamWeightVersion(int stages, int stage, int miniBatch, bool verticalSync) {
  // A stage is so many mini-batches ahead of its own gradients; with vertical sync each mini-batch keeps the
  // version that it met on the first stage.
  int delay = verticalSync ? stages - 1 : stages - 1 - stage;
  return std::max(0, miniBatch - delay);
}
