//===- TaskOrder.h - what each stage does, in order -------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_TASKORDER_H
#define PDC_PASSES_PIPELINE_TASKORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace pdc::passes {

/// A part of a schedule. `kind`: F forward, B backward, or its halves, I gradients of inputs and W of weights; U update.
struct StageTask {
  char kind;
  int64_t microBatch;
  int64_t chunk;
  bool operator==(const StageTask &) const = default;
};

/// What a chunk's tasks and messages of one micro-batch are predicted to take.
struct ChunkSeconds {
  double forward = 0, backwardInput = 0, backwardWeight = 0;
  double sendForward = 0, sendBackward = 0; // what other chunks need of each
};

/// What runs one program is a stage here: where the replicas of a stage of the pipeline take micro-batches in turn, each of
/// them is one, and they are one group.
struct TaskOrder {
  int64_t microBatches = 1;
  std::vector<std::vector<StageTask>> stages;
  std::vector<int64_t> stageOf; // per chunk of the model, in the order of its layers; of all copies, one after the other
  std::vector<int64_t> copyOf;  // per micro-batch, which copy of the model it goes through; empty: there is one

  /// Round-robin: how many replicas each stage of the pipeline has, which take micro-batches in turn. They follow each other in
  /// `stages`; the chunk of each has its number. Empty: each stage is a group by itself.
  std::vector<int64_t> replicas;

  /// Of a stream, where each micro-batch is updated with: per chunk of the model and micro-batch, how many updates the weights
  /// have seen with which it goes forward and backward. (Of replicas that take turns each round is an update, of one of each.)
  /// Empty where there is one update, after all of them.
  std::vector<std::vector<int64_t>> versions;

  bool isStream() const { return !versions.empty(); }
  /// Vertical sync: a micro-batch meets on every chunk the version that it met on the first.
  void synchronizeVersions() { versions.assign(versions.size(), versions.empty() ? std::vector<int64_t>() : versions.front()); }
  /// One update, after all micro-batches: of the gradient alone.
  TaskOrder withoutUpdates() const;

  int64_t copies() const;
  /// Of one copy of the model.
  int64_t chunkCount() const {
    return static_cast<int64_t>(replicas.empty() ? stageOf.size() / copies() : replicas.size());
  }
  /// The chunk of the model that the chunk of a task is a copy of.
  int64_t modelChunk(int64_t chunk) const { return replicas.empty() ? chunk % chunkCount() : groupOf(chunk); }
  /// The stage of the pipeline, and all that are that stage's.
  int64_t groupOf(int64_t stage) const;
  llvm::iota_range<int64_t> membersOf(int64_t group) const;
  /// The first of a stage's group, which stands for it.
  int64_t leaderOf(int64_t stage) const { return *membersOf(groupOf(stage)).begin(); }
  /// Which of the replicas of its group a stage is.
  int64_t turnOf(int64_t stage) const { return stage - leaderOf(stage); }
  /// How many replicas take turns with a stage, itself among them.
  int64_t replicasOf(int64_t stage) const { return replicas.empty() ? 1 : replicas[groupOf(stage)]; }
  int64_t groupCount() const { return static_cast<int64_t>(replicas.empty() ? stages.size() : replicas.size()); }
  /// The number of a chunk's copy that runs a micro-batch.
  int64_t copyFor(int64_t chunk, int64_t microBatch) const;
  int64_t stageFor(int64_t chunk, int64_t microBatch) const { return stageOf[copyFor(chunk, microBatch)]; }
  /// Where the copies of a chunk are, each stage once.
  std::vector<int64_t> stagesOf(int64_t chunk) const;
  /// Only the forward tasks: of evaluation.
  TaskOrder forwardOnly() const;
  /// The whole batch through the same chunks (of one copy of the model), forward only: of inference.
  TaskOrder wholeBatch() const;
};

/// Reads what schedule::toString writes (compiler/schedule): a line a stage, "F0 F1 B0 B1"; "F2.5" is of chunk 5, a task
/// without a chunk of the chunk with the stage's number. Lines may also be separated by ';'. The chunks that run micro-batch
/// 0 are the model; those beyond are copies of it, each of which runs micro-batches of its own (bidirectional schedules).
/// With updates ("F0 B0 U0") it is a stream: each backward is followed by its update. With `replicas` of each stage of the
/// pipeline (round-robin), a line is what one of them does, and micro-batch i goes to replica i modulo their number.
/// Error: text that is none, a chunk on two stages or on none, a micro-batch that a chunk of its copy does not run forward
/// exactly once, replicas that have no micro-batch.
llvm::Expected<TaskOrder> parseTaskOrder(llvm::StringRef text, llvm::ArrayRef<int64_t> replicas = {});

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_TASKORDER_H
