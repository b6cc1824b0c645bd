//===- Schedule.h - in which order pipeline stages work ---------*- C++ -*-===//
//
// A schedule is a pure function of numbers: what each rank computes, in order. It says nothing of times; a
// rank begins its next task when that task's inputs have arrived. docs/pipelines.md compares them.
//
// A model is cut into chunks in the order of its layers. Mostly rank r holds chunk r; interleaved schedules put
// several chunks on a rank, bidirectional ones put two copies of the model on the ranks, and where the replicas of a
// stage take micro-batches in turn, each has a copy of the stage's chunk.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_SCHEDULE_SCHEDULE_H
#define PDC_COMPILER_SCHEDULE_SCHEDULE_H

#include <stdexcept>
#include <string>
#include <vector>

namespace pdc::schedule {

enum class TaskKind : char {
  Forward = 'F',
  Backward = 'B',       // gradients of inputs and of weights
  BackwardInput = 'I',  // of inputs only
  BackwardWeight = 'W', // of weights only, any time after BackwardInput
  Update = 'U',         // weights change at once (PipeDream)
};

struct Task {
  TaskKind kind;
  int microBatch;
  int chunk;
  bool operator==(const Task &) const = default;
};

struct Schedule {
  int microBatches = 0;
  std::vector<std::vector<Task>> ranks;
  std::vector<int> rankOf; // per chunk
  std::vector<int> next;   // per chunk, the one that takes its output, or the first of those that do in turn; -1: the last
                           // of the model
  std::vector<int> replicas; // round-robin: of each stage, whose chunks follow each other; empty: none take turns

  /// The chunk that takes a micro-batch's output from a chunk, and the one that gives it its input; -1: none.
  int nextOf(int chunk, int microBatch) const;
  int previousOf(int chunk, int microBatch) const;
};

struct ScheduleRequest {
  int stages = 1; // ranks
  int microBatches = 1;
  int chunksPerRank = 1; // interleaved: virtual stages of a rank
  std::vector<int> replicas = {}; // of each stage, which take micro-batches in turn; empty: there is one of each
};

/// A request that a schedule cannot serve: why, and what it can.
class ScheduleError : public std::invalid_argument {
public:
  using std::invalid_argument::invalid_argument;
};

Schedule gpipe(int stages, int microBatches);
Schedule oneForwardOneBackward(int stages, int microBatches);
Schedule interleaved(int stages, int microBatches, int chunksPerRank);
Schedule zeroBubbleH1(int stages, int microBatches);
Schedule zeroBubbleH2(int stages, int microBatches);
Schedule bidirectional(int stages, int microBatches);
Schedule pipeDream(int stages, int microBatches);
Schedule accumulation(int microBatches);
/// `name` (gpipe, 1f1b or pipedream) with replicas of each stage that take micro-batches in turn; a rank a replica.
Schedule roundRobin(const std::string &name, const std::vector<int> &replicas, int microBatches);

/// How many updates the weights of a stage have seen at its forward of a mini-batch, in pipeDream().
int pipeDreamWeightVersion(int stages, int stage, int miniBatch, bool verticalSync);

struct ScheduleInfo {
  const char *name;
  const char *summary;
  Schedule (*make)(const ScheduleRequest &);
};

/// All schedules, by name.
const std::vector<ScheduleInfo> &allSchedules();
/// Throws ScheduleError, also for a name that is none.
Schedule makeSchedule(const std::string &name, const ScheduleRequest &request);

/// What is wrong with a schedule: a chunk that does not run every micro-batch forward and then backward exactly
/// once, on its rank. Empty if nothing is. Whether ranks wait for each other for ever is for simulate/ to say.
std::string verifySchedule(const Schedule &schedule);

/// One line a rank: "F0 F1 B0 B1"; a chunk that is not its rank's number follows a dot: "F0.4".
std::string toString(const Schedule &schedule);

} // namespace pdc::schedule

#endif // PDC_COMPILER_SCHEDULE_SCHEDULE_H
