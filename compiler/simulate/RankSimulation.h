//===- RankSimulation.h - rank programs in simulated time -------*- C++ -*-===//
//
// The programs of all ranks of a job, run against each other as discrete events. A rank computes its instructions in
// order. Communication runs beside it: an operation (a collective or a message) is ready when all who take part have
// started it, and begins when everything that it occupies is free, in the order in which operations become ready:
// the copy engines of each rank that takes part (one out, one in), and the links on its way. `done` waits for its end. Compare
// runtime/program/check_schedule.cc: what waits there for ever would wait here for ever.
//
// A share of an operation's time is work of the ranks themselves (1 - overlap in machine::Cluster: where the cores that compute
// also copy). It delays the rank at `done` as far as the rank has not been waiting anyway:
//
//     leaves done = max(end of the operation, arrival at done + own share of its seconds)
//
// Ranks that share cores compute faster while others of them wait (SharedCores.h).
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_SIMULATE_RANKSIMULATION_H
#define PDC_COMPILER_SIMULATE_RANKSIMULATION_H

#include "runtime/program/program_generated.h"
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pdc::simulate {

/// What simulated instructions take.
struct StepCosts {
  /// An instruction that computes, while all ranks do; seconds.
  std::function<double(int rank, const program::ProgramT &, const program::InstructionT &)> compute;
  /// The operation that an instruction of `rank` starts, while nothing else is under way; seconds.
  std::function<double(int rank, const program::ProgramT &, const program::InstructionT &)> communicate;
  /// The links that an operation of these ranks occupies, the first sends to the others; numbers that mean something
  /// to the caller. A message shares them with nothing, a collective with other collectives. Empty function: no links.
  std::function<std::vector<int64_t>(const std::vector<int> &ranks, bool isMessage)> links;
  /// The node whose cores a rank shares with others, which outnumber them; -1 where it has its own. Empty function: it has.
  std::function<int(int rank)> sharedNode;
  /// How fast a rank computes while so many of its node do, for 1 where all do.
  std::function<double(int rank, int computing)> speed;
  /// The share of the seconds of these ranks' operation that each of them does itself, 0 to 1. Empty function: nothing.
  std::function<double(const std::vector<int> &ranks)> ownShare;
};

struct SimulatedInstruction {
  int32_t instruction = 0;
  double begin = 0, end = 0; // of `done`: while the rank waits; of a start: an instant
};

struct RankTimes {
  double busySeconds = 0;    // computing
  double exposedSeconds = 0; // at a `done` while its operation runs, or doing its share of it
  double bubbleSeconds = 0;  // at a `done` before its operation runs, and from its end to the step's
  double endSeconds = 0;
  std::vector<SimulatedInstruction> instructions; // in order
};

/// One collective or message, on the links.
struct SimulatedTransfer {
  std::vector<int> ranks; // of a message: sender, receiver
  std::vector<int32_t> instructions; // that started it, one a rank
  double ready = 0, begin = 0, end = 0;
};

struct RankSimulation {
  double seconds = 0; // until the last rank has finished
  std::vector<RankTimes> ranks;
  std::vector<SimulatedTransfer> transfers; // in the order in which they become ready
  /// Of all the time of all ranks.
  double bubbleFraction() const;
};

/// `programs`: of each rank its program, which the checker has accepted.
RankSimulation simulateRanks(const std::vector<const program::ProgramT *> &programs, const StepCosts &costs);

} // namespace pdc::simulate

#endif // PDC_COMPILER_SIMULATE_RANKSIMULATION_H
