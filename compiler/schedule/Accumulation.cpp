//===- Accumulation.cpp - gradient accumulation ---------------------------===//
//
// The pipeline of one stage: micro-batches one after the other, their gradients added up.
//
//   0: F0 B0 F1 B1 F2 B2
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Build.h"

using namespace pdc::schedule;

Schedule pdc::schedule::accumulation(int microBatches) { return oneForwardOneBackward(1, microBatches); }
