//===- RoundRobin.cpp - replicas that take micro-batches in turn ----------===//
//
// Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019), 1F1B-RR: a stage of r replicas
// gives micro-batch i to replica i mod r, forward and backward, so that no micro-batch is ever cut. A replica of stage s keeps
// ceil(R/r) micro-batches in flight, R the replicas of stage s and of those behind it (of the first stage PipeDream's NOAM):
// so many come back in the time that one takes. Two replicas (0 and 1) before one stage of half the work (2), 4 micro-batches:
//
//   0: F0----- F2----- B0-----         B2-----
//   1: F1----- F3-----         B1-----         B3-----
//   2:         F0- B0- F1- B1- F2- B2- F3- B3-
//
// With a flush, gradients are added over the replicas at the end; without one (`pipedream`), after each round of r
// mini-batches, one of each replica, which are one update. No rank waits for ever: going down a backward waits for one of the
// same micro-batch, going up for the forward of at most R - 1 later ones, which waits one stage before for a backward of an
// earlier one.
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Build.h"
#include <algorithm>
#include <numeric>

using namespace pdc::schedule;

static void checkReplicas(const std::string &name, const std::vector<int> &replicas, int microBatches) {
  if (name != "gpipe" && name != "1f1b" && name != "pipedream")
    throw ScheduleError("schedule '" + name + "' has no replicas that take micro-batches in turn; gpipe, 1f1b and pipedream have");
  for (size_t stage = 0; stage < replicas.size(); ++stage) {
    std::string has = "stage " + std::to_string(stage) + " has " + std::to_string(replicas[stage]) + " replicas, and there " +
                      (microBatches == 1 ? "is " : "are ") + std::to_string(microBatches) +
                      (name == "pipedream" ? " mini-batch" : " micro-batch") + (microBatches == 1 ? "" : "es");
    if (replicas[stage] < 1 || microBatches < replicas[stage])
      throw ScheduleError(has + ": replicas that take them in turn need at least one each");
    if (name == "pipedream" && microBatches % replicas[stage] != 0)
      throw ScheduleError(has + ": an update is made of one of each replica, so they must divide them");
  }
}

Schedule pdc::schedule::roundRobin(const std::string &name, const std::vector<int> &replicas, int microBatches) {
  checkReplicas(name, replicas, microBatches);
  int lanes = std::accumulate(replicas.begin(), replicas.end(), 0);
  Schedule schedule = onePipeline(lanes, microBatches);
  schedule.replicas = replicas;
  schedule.next.assign(lanes, -1);
  int lane = 0, behind = lanes; // replicas of this stage and of those behind it
  for (size_t stage = 0; stage < replicas.size(); behind -= replicas[stage++])
    for (int turn = 0; turn < replicas[stage]; ++turn, ++lane) {
      std::vector<Task> order;
      int own = (microBatches - turn + replicas[stage] - 1) / replicas[stage];
      // As a stage that runs these alone, by their numbers on this replica.
      if (name == "gpipe")
        order = gpipe(1, own).ranks.front();
      else
        appendOneForwardOneBackward(order, 0, 0, own, (behind + replicas[stage] - 1) / replicas[stage] - 1);
      for (Task &task : order)
        task = {task.kind, task.microBatch * replicas[stage] + turn, lane};
      schedule.ranks[lane] = name == "pipedream" ? withUpdates(order) : order;
      if (stage + 1 < replicas.size())
        schedule.next[lane] = lane - turn + replicas[stage];
    }
  return schedule;
}
