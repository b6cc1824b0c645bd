//===- Build.h - what the schedules are made with ---------------*- C++ -*-===//
#ifndef PDC_COMPILER_SCHEDULE_BUILD_H
#define PDC_COMPILER_SCHEDULE_BUILD_H

#include "compiler/schedule/Schedule.h"

namespace pdc::schedule {

/// Chunk r on rank r, and no tasks yet. Throws unless there is at least one stage and one micro-batch.
Schedule onePipeline(int stages, int microBatches);

/// Appends `forwards` forwards and as many backwards as 1F1B does: first `warmUp` forwards, then a forward and
/// a backward in turn, then what is left. `firstMicroBatch` is the number of the first.
void appendOneForwardOneBackward(std::vector<Task> &tasks, int chunk, int firstMicroBatch, int forwards,
                                 int warmUp);

/// With an update after each backward.
std::vector<Task> withUpdates(const std::vector<Task> &tasks);

} // namespace pdc::schedule

#endif // PDC_COMPILER_SCHEDULE_BUILD_H
