//===- MessageDriven.cpp - whichever input has arrived runs next ----------===//

#include "compiler/simulate/Simulation.h"
#include <algorithm>
#include <set>
#include <tuple>

using namespace pdc;
using namespace pdc::simulate;
using schedule::TaskKind;

namespace {

/// Discrete events: an input arrives on a rank, a rank finishes what it computes.
class MessageDriven {
public:
  MessageDriven(const std::vector<ChunkTimes> &times, int microBatches, int mostInFlight)
      : times(times), microBatches(microBatches), bound(mostInFlight), ranks(times.size()),
        linkFree(2 * times.size(), 0) {
    result.busySeconds.assign(times.size(), 0);
    result.spanSeconds.assign(times.size(), 0);
    result.mostInFlight.assign(times.size(), 0);
  }

  Simulation run() {
    for (int i = 0; i < microBatches; ++i)
      ranks[0].forwards.insert(i); // the model's inputs are there from the beginning
    begin(0, 0);
    while (!queue.empty()) {
      auto [time, order, rank, task, arrives] = *queue.begin();
      queue.erase(queue.begin());
      if (arrives)
        (task.kind == TaskKind::Forward ? ranks[rank].forwards : ranks[rank].backwards)
            .insert(task.microBatch);
      else
        finish(rank, task, time);
      begin(rank, time);
      result.seconds = std::max(result.seconds, time);
    }
    sortEvents(result.events);
    return std::move(result);
  }

private:
  struct Rank {
    std::set<int> forwards, backwards; // micro-batches whose input is there
    bool isBusy = false;
    int held = 0;
    double first = -1;
  };
  struct Later {
    double time;
    int order; // of two at one time the one that was known first
    int rank;
    schedule::Task task;
    bool arrives;
    bool operator<(const Later &other) const {
      return std::tie(time, order) < std::tie(other.time, other.order);
    }
  };

  void begin(int rank, double time) {
    Rank &r = ranks[rank];
    bool backward = !r.backwards.empty();
    if (r.isBusy || (!backward && (r.forwards.empty() || r.held >= bound)))
      return;
    std::set<int> &inputs = backward ? r.backwards : r.forwards;
    schedule::Task task{backward ? TaskKind::Backward : TaskKind::Forward, *inputs.begin(), rank};
    inputs.erase(inputs.begin());
    if (!backward)
      result.mostInFlight[rank] = std::max(result.mostInFlight[rank], ++r.held);
    double seconds = backward ? times[rank].backwardInput + times[rank].backwardWeight : times[rank].forward;
    r.isBusy = true;
    if (r.first < 0)
      r.first = time;
    result.events.push_back({rank, {Operation::Kind::Compute, task, -1, seconds}, time, time + seconds});
    result.busySeconds[rank] += seconds;
    result.spanSeconds[rank] = time + seconds - r.first;
    queue.insert({time + seconds, order++, rank, task, false});
  }

  void finish(int rank, schedule::Task task, double time) {
    ranks[rank].isBusy = false;
    bool forward = task.kind == TaskKind::Forward;
    int last = static_cast<int>(ranks.size()) - 1, to = forward ? rank + 1 : rank - 1;
    if (!forward)
      --ranks[rank].held;
    if (forward && rank == last) { // its loss is at hand
      ranks[rank].backwards.insert(task.microBatch);
      return;
    }
    if (to < 0)
      return;
    double seconds = forward ? times[rank].sendActivation : times[rank].sendGradient;
    double &free = linkFree[2 * rank + forward];
    double begin = std::max(time, free);
    free = begin + seconds;
    result.events.push_back({rank, {Operation::Kind::Send, task, to, seconds}, begin, free});
    queue.insert({free, order++, to, task, true});
  }

  const std::vector<ChunkTimes> &times;
  int microBatches, bound;
  std::vector<Rank> ranks;
  std::vector<double> linkFree; // per rank, its links backward and forward
  std::set<Later> queue;
  int order = 0;
  Simulation result;
};

} // namespace

schedule::Schedule pdc::simulate::messageDriven(const std::vector<ChunkTimes> &times, int microBatches,
                                               int mostInFlight) {
  Simulation simulation = simulateMessageDriven(times, microBatches, mostInFlight);
  schedule::Schedule schedule = schedule::gpipe(static_cast<int>(times.size()), microBatches);
  for (std::vector<schedule::Task> &tasks : schedule.ranks)
    tasks.clear();
  for (const Event &event : simulation.events)
    if (event.operation.kind == Operation::Kind::Compute)
      schedule.ranks[event.rank].push_back(event.operation.task);
  return schedule;
}

Simulation pdc::simulate::simulateMessageDriven(const std::vector<ChunkTimes> &times, int microBatches,
                                                int mostInFlight) {
  if (times.empty() || microBatches < 1 || mostInFlight < 1)
    throw schedule::ScheduleError(
        "message-driven order needs at least one stage, one micro-batch, and memory for one");
  return MessageDriven(times, microBatches, mostInFlight).run();
}
