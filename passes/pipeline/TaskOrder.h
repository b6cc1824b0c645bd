//===- TaskOrder.h - what each stage does, in order -------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_TASKORDER_H
#define PDC_PASSES_PIPELINE_TASKORDER_H

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

struct TaskOrder {
  int64_t microBatches = 1;
  std::vector<std::vector<StageTask>> stages;
  std::vector<int64_t> stageOf; // per chunk of the model, in the order of its layers; of all copies, one after the other
  std::vector<int64_t> copyOf;  // per micro-batch, which copy of the model it goes through; empty: there is one

  /// Of a stream, where each micro-batch is updated with: per chunk and micro-batch, how many updates the weights have seen
  /// with which it goes forward and backward. Empty where there is one update, after all of them.
  std::vector<std::vector<int64_t>> versions;

  bool isStream() const { return !versions.empty(); }
  /// Vertical sync: a micro-batch meets on every chunk the version that it met on the first.
  void synchronizeVersions() { versions.assign(versions.size(), versions.empty() ? std::vector<int64_t>() : versions.front()); }
  /// One update, after all micro-batches: of the gradient alone.
  TaskOrder withoutUpdates() const;

  int64_t copies() const;
  /// Of one copy of the model.
  int64_t chunkCount() const { return static_cast<int64_t>(stageOf.size()) / copies(); }
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
/// With updates ("F0 B0 U0") it is a stream: each backward is followed by its update. Error: text that is none, a chunk on two stages or on none, a micro-batch that a chunk of its copy does not run forward
/// exactly once.
llvm::Expected<TaskOrder> parseTaskOrder(llvm::StringRef text);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_TASKORDER_H
