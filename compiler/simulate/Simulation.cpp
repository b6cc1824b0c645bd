//===- Simulation.cpp - a pipeline step in simulated time -----------------===//

#include "compiler/simulate/Simulation.h"
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

using namespace pdc;
using namespace pdc::simulate;
using schedule::TaskKind;

namespace {

/// Each rank goes on as far as its inputs are there, in turn, until none can. Times follow from the order of
/// each rank and of each link alone, so that it does not matter which rank goes first.
class Simulator {
public:
  Simulator(const Programs &programs, Sending sending)
      : programs(programs), sending(sending), next(programs.size(), 0), time(programs.size(), 0),
        held(programs.size(), 0), first(programs.size(), -1) {
    result.busySeconds.assign(programs.size(), 0);
    result.spanSeconds.assign(programs.size(), 0);
    result.mostInFlight.assign(programs.size(), 0);
  }

  Simulation run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < count(); ++rank)
        while (step(rank))
          moved = true;
    }
    result.seconds = *std::max_element(time.begin(), time.end());
    for (double end : linkFree)
      result.seconds = std::max(result.seconds, end);
    result.deadlock = findDeadlock();
    sortEvents(result.events);
    return std::move(result);
  }

private:
  int count() const { return static_cast<int>(programs.size()); }
  const Operation *current(int rank) const {
    return next[rank] < programs[rank].size() ? &programs[rank][next[rank]] : nullptr;
  }
  static std::tuple<int, int, char> tag(const Operation &operation) {
    return {operation.task.chunk, operation.task.microBatch, static_cast<char>(operation.task.kind)};
  }

  bool step(int rank) {
    const Operation *operation = current(rank);
    if (!operation)
      return false;
    switch (operation->kind) {
    case Operation::Kind::Compute:
      compute(rank, *operation);
      return true;
    case Operation::Kind::Send:
      return sending == Sending::Buffered ? (sendBuffered(rank, *operation), true)
                                          : meet(rank, operation->peer);
    case Operation::Kind::Receive:
      return sending == Sending::Buffered ? receiveBuffered(rank, *operation) : meet(operation->peer, rank);
    }
    return false;
  }

  void compute(int rank, const Operation &operation) {
    double begin = time[rank];
    time[rank] += operation.seconds;
    result.events.push_back({rank, operation, begin, time[rank]});
    result.busySeconds[rank] += operation.seconds;
    if (first[rank] < 0)
      first[rank] = begin;
    result.spanSeconds[rank] = time[rank] - first[rank];
    if (operation.task.kind == TaskKind::Forward)
      result.mostInFlight[rank] = std::max(result.mostInFlight[rank], ++held[rank]);
    // Split backwards keep activations for the weights' gradients.
    if (operation.task.kind == TaskKind::Backward || operation.task.kind == TaskKind::BackwardWeight)
      --held[rank];
    ++next[rank];
  }

  void sendBuffered(int rank, const Operation &operation) {
    double &free = linkFreeOf(rank, operation.peer);
    double begin = std::max(time[rank], free);
    free = begin + operation.seconds;
    arrival[{rank, operation.peer, tag(operation)}] = free;
    result.events.push_back({rank, operation, begin, free});
    ++next[rank];
  }

  bool receiveBuffered(int rank, const Operation &operation) {
    auto found = arrival.find({operation.peer, rank, tag(operation)});
    if (found == arrival.end())
      return false;
    time[rank] = std::max(time[rank], found->second);
    ++next[rank];
    return true;
  }

  /// A send and its receive, if both ranks have come to them.
  bool meet(int from, int to) {
    const Operation *send = from >= 0 && from < count() ? current(from) : nullptr;
    const Operation *receive = to >= 0 && to < count() ? current(to) : nullptr;
    if (!send || !receive || send->kind != Operation::Kind::Send ||
        receive->kind != Operation::Kind::Receive || send->peer != to || receive->peer != from ||
        tag(*send) != tag(*receive))
      return false;
    double begin = std::max(time[from], time[to]);
    time[from] = time[to] = begin + send->seconds;
    result.events.push_back({from, *send, begin, time[from]});
    ++next[from];
    ++next[to];
    return true;
  }

  double &linkFreeOf(int from, int to) {
    auto [found, isNew] = linkOf.emplace(std::pair(from, to), linkFree.size());
    if (isNew)
      linkFree.push_back(0);
    return linkFree[found->second];
  }

  /// Each rank that did not finish waits for one other: from any of them the waits lead into a cycle, or to a
  /// rank that finished without doing what is waited for.
  std::string findDeadlock() const {
    std::vector<int> best;
    for (int start = 0; start < count(); ++start) {
      std::vector<int> path;
      int rank = start;
      while (rank >= 0 && rank < count() && current(rank) &&
             std::find(path.begin(), path.end(), rank) == path.end()) {
        path.push_back(rank);
        rank = current(rank)->peer;
      }
      if (path.empty())
        continue;
      if (rank < 0 || rank >= count() || !current(rank))
        return "rank " + std::to_string(path.back()) + " waits in '" + toString(*current(path.back())) +
               "' for rank " + std::to_string(rank) + ", which ends without it";
      path.erase(path.begin(), std::find(path.begin(), path.end(), rank));
      if (best.empty() || path.size() < best.size())
        best = path;
    }
    std::string text;
    for (int rank : best)
      text += (text.empty() ? "ranks wait for each other for ever: " : "; ") +
              ("rank " + std::to_string(rank)) + ", operation " + std::to_string(next[rank]) + ": " +
              toString(*current(rank));
    return text;
  }

  const Programs &programs;
  Sending sending;
  std::vector<size_t> next;
  std::vector<double> time;
  std::vector<int> held;
  std::vector<double> first;
  std::map<std::tuple<int, int, std::tuple<int, int, char>>, double> arrival;
  std::map<std::pair<int, int>, size_t> linkOf;
  std::vector<double> linkFree;
  Simulation result;
};

} // namespace

void pdc::simulate::sortEvents(std::vector<Event> &events) {
  auto key = [](const Event &event) {
    return std::tuple(event.rank, event.begin, event.end, event.operation.kind, event.operation.peer,
                      event.operation.task.microBatch, event.operation.task.chunk);
  };
  std::sort(events.begin(), events.end(), [&](const Event &a, const Event &b) { return key(a) < key(b); });
}

double Simulation::bubbleShare() const {
  double busy = 0, longest = 0;
  for (double seconds : busySeconds)
    busy += seconds;
  for (double seconds : spanSeconds)
    longest = std::max(longest, seconds);
  double all = longest * static_cast<double>(busySeconds.size());
  return all > 0 ? 1 - busy / all : 0;
}

Simulation pdc::simulate::simulate(const Programs &programs, Sending sending) {
  return Simulator(programs, sending).run();
}

Simulation pdc::simulate::simulate(const schedule::Schedule &schedule, const ChunkTimes &times) {
  return simulate(makePrograms(schedule, std::vector<ChunkTimes>(schedule.next.size(), times)));
}
