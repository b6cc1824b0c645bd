//===- Simulation.h - a pipeline step in simulated time ---------*- C++ -*-===//
//
// A schedule becomes one program a rank: compute, send, receive, in order. Simulated, it gives the time of the
// step, who waits for how long, how many micro-batches' activations each rank holds, and whether the ranks
// would wait for each other for ever. Pure functions of numbers; no clocks.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_SIMULATE_SIMULATION_H
#define PDC_COMPILER_SIMULATE_SIMULATION_H

#include "compiler/schedule/Schedule.h"

namespace pdc::simulate {

/// Times of one micro-batch on one chunk, in seconds.
struct ChunkTimes {
  double forward = 1, backwardInput = 1, backwardWeight = 1, update = 0;
  double sendActivation = 0; // its output, to the next chunk
  double sendGradient = 0;   // of its input, to the chunk before
};

/// What a send waits for.
enum class Sending {
  Buffered,   // nothing: the link takes the message when it is free, and compute goes on
  Rendezvous, // its receive: both ranks do nothing else from then until the message is there
};

struct Operation {
  enum class Kind { Compute, Send, Receive } kind = Kind::Compute;
  schedule::Task task{}; // what is computed, or whose result is sent
  int peer = -1;         // of sends and receives
  double seconds = 0;    // of computes and sends
};

/// Per rank, what it does in order.
using Programs = std::vector<std::vector<Operation>>;

/// Receives stand directly before the task that needs them, sends directly after the one that makes them.
Programs makePrograms(const schedule::Schedule &schedule, const std::vector<ChunkTimes> &times);

struct Event {
  int rank = 0;
  Operation operation;
  double begin = 0, end = 0; // seconds; a buffered send: while it is on the link
};

struct Simulation {
  double seconds = 0;              // until the last rank has finished
  std::vector<double> busySeconds; // per rank, computing
  std::vector<double> spanSeconds; // per rank, from its first compute to the end of its last one
  std::vector<int> mostInFlight;   // per rank, micro-batches whose activations it holds, of all chunks
  std::vector<Event> events;       // by rank, then time
  std::string deadlock;            // empty if every rank finished; else the smallest cycle of waits

  /// The share of time that ranks wait, within the longest span of a rank from its first to its last compute.
  double bubbleShare() const;
};

/// Links carry one message at a time in each direction between two ranks.
Simulation simulate(const Programs &programs, Sending sending = Sending::Buffered);
/// All chunks alike, on links that take no time.
Simulation simulate(const schedule::Schedule &schedule, const ChunkTimes &times);

/// AxoNN (Singh and Bhatele, 2022): no order is planned; a rank runs whichever input has arrived, backwards
/// first, and begins a forward only while it holds fewer than `mostInFlight` micro-batches. Chunk r on rank r.
Simulation simulateMessageDriven(const std::vector<ChunkTimes> &times, int microBatches, int mostInFlight);

/// The order in which that simulation runs the tasks of each rank: a schedule for these times.
schedule::Schedule messageDriven(const std::vector<ChunkTimes> &times, int microBatches, int mostInFlight);

/// The time line as Chrome trace JSON, which Perfetto opens: a process a rank, compute and links as threads.
std::string toChromeTrace(const Simulation &simulation);

/// By rank, then time; computes before what they send.
void sortEvents(std::vector<Event> &events);
/// "F0.1", "send B3.2 to rank 1".
std::string toString(const Operation &operation);

} // namespace pdc::simulate

#endif // PDC_COMPILER_SIMULATE_SIMULATION_H
