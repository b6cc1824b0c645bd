//===- Interleaved.cpp - 1F1B with virtual stages -------------------------===//
//
// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (2021),
// section 2.2. Rank r holds chunks r, r + p, r + 2p, ...: filling takes p - 1 chunks instead of p - 1 stages.
// Micro-batches go through in groups of p, which is why their number must be a multiple of p. 2 ranks with 2
// chunks each (".2" is chunk 2), 4 micro-batches:
//
//   0: F0-- F1-- F0.2 F1.2 F2-- B0.2 F3-- B1.2 F2.2 B0-- F3.2 B1--      B2.2      B3.2 B2-- B3--
//   1:      F0-- F1-- F0.3 B0.3 F1.3 B1.3 F2-- B0-- F3-- B1-- F2.3 B2.3 F3.3 B3.3 B2-- B3--
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Build.h"
#include <algorithm>

using namespace pdc::schedule;

Schedule pdc::schedule::interleaved(int stages, int microBatches, int chunksPerRank) {
  Schedule schedule = onePipeline(stages, microBatches);
  if (chunksPerRank < 1)
    throw ScheduleError("schedule 'interleaved': a rank has at least one chunk, not " +
                        std::to_string(chunksPerRank));
  if (chunksPerRank == 1)
    return oneForwardOneBackward(stages, microBatches);
  if (microBatches % stages != 0)
    throw ScheduleError("schedule 'interleaved' takes micro-batches in groups of the number of stages: " +
                        std::to_string(microBatches) + " is not a multiple of " + std::to_string(stages));
  int chunks = stages * chunksPerRank, tasks = microBatches * chunksPerRank;
  schedule.rankOf.clear();
  schedule.next.clear();
  for (int chunk = 0; chunk < chunks; ++chunk) {
    schedule.rankOf.push_back(chunk % stages);
    schedule.next.push_back(chunk + 1 < chunks ? chunk + 1 : -1);
  }
  for (int rank = 0; rank < stages; ++rank) {
    // The i-th forward or backward of the rank: groups of p micro-batches, all chunks of one group in turn.
    auto task = [&](TaskKind kind, int i) -> Task {
      int group = i / (stages * chunksPerRank), place = i % (stages * chunksPerRank), turn = place / stages;
      int chunk = kind == TaskKind::Forward ? turn : chunksPerRank - 1 - turn;
      return {kind, group * stages + place % stages, chunk * stages + rank};
    };
    int warmUp = std::min(tasks, 2 * (stages - 1 - rank) + (chunksPerRank - 1) * stages);
    for (int i = 0; i < warmUp; ++i)
      schedule.ranks[rank].push_back(task(TaskKind::Forward, i));
    for (int i = warmUp; i < tasks; ++i) {
      schedule.ranks[rank].push_back(task(TaskKind::Forward, i));
      schedule.ranks[rank].push_back(task(TaskKind::Backward, i - warmUp));
    }
    for (int i = tasks - warmUp; i < tasks; ++i)
      schedule.ranks[rank].push_back(task(TaskKind::Backward, i));
  }
  return schedule;
}
