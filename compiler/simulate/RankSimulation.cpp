//===- RankSimulation.cpp - rank programs in simulated time ---------------===//

#include "compiler/simulate/RankSimulation.h"
#include "compiler/simulate/SharedCores.h"
#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <stdexcept>
#include <tuple>

using namespace pdc;
using namespace pdc::simulate;
using program::InstructionT;
using program::Opcode;

double RankSimulation::bubbleFraction() const {
  double bubble = 0;
  for (const RankTimes &rank : ranks)
    bubble += rank.bubbleSeconds;
  return seconds > 0 ? bubble / (seconds * static_cast<double>(ranks.size())) : 0;
}

namespace {

/// A collective or a message from its first start on.
struct Operation {
  SimulatedTransfer transfer;
  size_t missing = 0; // who have not started it
  double seconds = 0;
  double ownSeconds = 0;    // that each rank works itself
  bool isPlaced = false;    // begin and end are known
  std::vector<int> waiting; // ranks at its `done`
};

class Simulator {
public:
  Simulator(const std::vector<const program::ProgramT *> &programs, const StepCosts &costs)
      : programs(programs), costs(costs), next(programs.size(), 0), now(programs.size(), 0),
        started(programs.size()), engines(programs.size()), shares(programs.size(), -1) {
    result.ranks.resize(programs.size());
    for (int rank = 0; costs.sharedNode && rank < static_cast<int>(programs.size()); ++rank)
      if (int node = shares[rank] = costs.sharedNode(rank); node >= 0)
        cores.try_emplace(node, [&costs, rank](int computing) { return costs.speed(rank, computing); });
  }

  RankSimulation run() {
    for (int rank = 0; rank < static_cast<int>(programs.size()); ++rank)
      compute(rank);
    while (!queue.empty()) {
      Event event = queue.top();
      queue.pop();
      switch (event.kind) {
      case EventKind::Communicates:
        communicate(event.number);
        break;
      case EventKind::Computes:
        computeShared(event.number);
        break;
      case EventKind::Finishes:
        finishShared(event.number, event.time);
        break;
      }
    }
    finish();
    return std::move(result);
  }

private:
  /// A group of ranks with the number of its operation; or a channel: sender, receiver, tag.
  using Key = std::tuple<std::vector<int>, int32_t, size_t>;
  enum class EventKind {
    Communicates, // a rank comes to its next instruction that others have to do with
    Computes,     // a rank goes on that shares its cores
    Finishes,     // on a node with shared cores a rank is done, unless others have come or gone meanwhile
  };
  struct Event {
    double time;
    int number; // of a rank, or a node
    EventKind kind;
    auto operator<=>(const Event &) const = default;
  };

  static bool computes(Opcode opcode) {
    return opcode == Opcode::kKernel || opcode == Opcode::kLibrary || opcode == Opcode::kFill ||
           opcode == Opcode::kCopy;
  }

  const InstructionT &at(int rank) const { return *programs[rank]->instructions[next[rank]]; }

  void record(int rank, double begin, double end) {
    result.ranks[rank].instructions.push_back({static_cast<int32_t>(next[rank]), begin, end});
  }

  /// Runs a rank up to its next instruction that others have to do with.
  void compute(int rank) {
    if (shares[rank] >= 0) { // who computes beside it is known when that time has come
      queue.push({now[rank], rank, EventKind::Computes});
      return;
    }
    size_t count = programs[rank]->instructions.size();
    for (; next[rank] < count && computes(at(rank).opcode); ++next[rank]) {
      double seconds = costs.compute(rank, *programs[rank], at(rank));
      record(rank, now[rank], now[rank] + seconds);
      now[rank] += seconds;
      result.ranks[rank].busySeconds += seconds;
    }
    if (next[rank] < count)
      queue.push({now[rank], rank, EventKind::Communicates});
  }

  void computeShared(int rank) {
    if (next[rank] == programs[rank]->instructions.size())
      return;
    if (!computes(at(rank).opcode)) {
      queue.push({now[rank], rank, EventKind::Communicates});
      return;
    }
    int node = shares[rank];
    cores.at(node).start(rank, costs.compute(rank, *programs[rank], at(rank)), now[rank]);
    queue.push({cores.at(node).nextEnd(), node, EventKind::Finishes});
  }

  void finishShared(int node, double time) {
    SharedCores &shared = cores.at(node);
    if (shared.nextEnd() > time)
      return;
    int rank = shared.finish();
    record(rank, now[rank], time);
    result.ranks[rank].busySeconds += time - now[rank];
    now[rank] = time;
    ++next[rank];
    if (double end = shared.nextEnd(); end < std::numeric_limits<double>::infinity())
      queue.push({end, node, EventKind::Finishes});
    computeShared(rank);
  }

  /// The next instruction of a rank, in the order of time over all ranks.
  void communicate(int rank) {
    if (at(rank).opcode == Opcode::kCollectiveDone) {
      Operation &operation = operations[started[rank].at(at(rank).start_index)];
      if (!operation.isPlaced) {
        operation.waiting.push_back(rank);
        return;
      }
      leave(rank, operation);
      return;
    }
    start(rank);
    record(rank, now[rank], now[rank]);
    ++next[rank];
    compute(rank);
  }

  std::vector<int> partiesOf(int rank) const {
    const InstructionT &instruction = at(rank);
    if (instruction.opcode == Opcode::kCollectiveStart)
      return programs[rank]->groups.at(instruction.group)->ranks;
    if (instruction.opcode == Opcode::kSend)
      return {rank, instruction.peer};
    return {instruction.peer, rank};
  }

  void start(int rank) {
    const InstructionT &instruction = at(rank);
    std::vector<int> parties = partiesOf(rank);
    int32_t tag = instruction.opcode == Opcode::kCollectiveStart ? -1 : instruction.tag;
    bool isReceive = instruction.opcode == Opcode::kReceive;
    size_t number = counts[{parties, tag, static_cast<size_t>(rank)}]++;
    auto [found, isNew] = known.try_emplace({parties, tag, number}, operations.size());
    if (isNew) {
      Operation &operation = operations.emplace_back();
      operation.missing = parties.size();
      operation.transfer.instructions.assign(parties.size(), -1);
      operation.transfer.ranks = parties;
    }
    Operation &operation = operations[found->second];
    auto index = std::find(parties.begin(), parties.end(), rank) - parties.begin();
    operation.transfer.instructions[isReceive ? 1 : index] = static_cast<int32_t>(next[rank]);
    operation.seconds =
        std::max(operation.seconds, costs.communicate(rank, *programs[rank], instruction));
    started[rank][static_cast<int32_t>(next[rank])] = found->second;
    if (--operation.missing == 0)
      schedule(operation, tag >= 0, now[rank]);
  }

  /// All have come: when does it run? Called in the order of `ready`.
  void schedule(Operation &operation, bool isMessage, double ready) {
    SimulatedTransfer &transfer = operation.transfer;
    transfer.ready = transfer.begin = ready;
    std::vector<Link *> taken;
    for (int64_t link : costs.links ? costs.links(transfer.ranks, isMessage) : std::vector<int64_t>())
      taken.push_back(&links[link]);
    std::vector<double *> occupied = enginesOf(transfer.ranks, isMessage);
    for (double *free : occupied)
      transfer.begin = std::max(transfer.begin, *free);
    // The times of collectives count that others run beside them; a message has its links for itself.
    for (Link *link : taken)
      transfer.begin = std::max({transfer.begin, link->messagesFree, isMessage ? link->collectivesFree : 0});
    transfer.end = transfer.begin + operation.seconds;
    for (double *free : occupied)
      *free = transfer.end;
    for (Link *link : taken) {
      double &free = isMessage ? link->messagesFree : link->collectivesFree;
      free = std::max(free, transfer.end);
    }
    operation.isPlaced = true;
    operation.ownSeconds = costs.ownShare ? costs.ownShare(transfer.ranks) * operation.seconds : 0;
    result.transfers.push_back(transfer);
    for (int rank : operation.waiting)
      leave(rank, operation);
    operation.waiting.clear();
  }

  /// Each rank copies out and in at once: a message leaves by one and arrives by the other, a collective needs both.
  std::vector<double *> enginesOf(const std::vector<int> &ranks, bool isMessage) {
    if (isMessage)
      return {&engines[ranks[0]].outFree, &engines[ranks[1]].inFree};
    std::vector<double *> all;
    for (int rank : ranks)
      if (ranks.size() > 1)
        all.insert(all.end(), {&engines[rank].outFree, &engines[rank].inFree});
    return all;
  }

  void leave(int rank, const Operation &operation) {
    double arrival = now[rank];
    double end = std::max(operation.transfer.end, arrival + operation.ownSeconds);
    double bubble = std::min(std::max(0.0, operation.transfer.begin - arrival), end - arrival);
    result.ranks[rank].bubbleSeconds += bubble;
    result.ranks[rank].exposedSeconds += end - arrival - bubble;
    record(rank, arrival, end);
    now[rank] = end;
    ++next[rank];
    compute(rank);
  }

  void finish() {
    for (size_t rank = 0; rank < programs.size(); ++rank) {
      if (next[rank] < programs[rank]->instructions.size())
        throw std::logic_error("rank " + std::to_string(rank) +
                               " waits for ever in simulated programs, which the checker should have found");
      result.ranks[rank].endSeconds = now[rank];
      result.seconds = std::max(result.seconds, now[rank]);
    }
    for (RankTimes &rank : result.ranks)
      rank.bubbleSeconds += result.seconds - rank.endSeconds;
  }

  const std::vector<const program::ProgramT *> &programs;
  const StepCosts &costs;
  std::vector<size_t> next; // of each rank, its next instruction
  std::vector<double> now;  // and the time at which it comes to it
  std::vector<std::map<int32_t, size_t>> started; // of each rank: instruction -> operation
  std::vector<Operation> operations;
  std::map<Key, size_t> known;  // parties, tag, number -> operation
  std::map<Key, size_t> counts; // parties, tag, rank -> how many it has started
  struct Engines {
    double outFree = 0, inFree = 0;
  };
  std::vector<Engines> engines;
  /// When the last message, and the last collective, has left it.
  struct Link {
    double messagesFree = 0, collectivesFree = 0;
  };
  std::map<int64_t, Link> links;
  std::vector<int> shares; // of each rank, the node whose cores it shares; -1
  std::map<int, SharedCores> cores;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> queue;
  RankSimulation result;
};

} // namespace

RankSimulation pdc::simulate::simulateRanks(const std::vector<const program::ProgramT *> &programs,
                                            const StepCosts &costs) {
  return Simulator(programs, costs).run();
}
