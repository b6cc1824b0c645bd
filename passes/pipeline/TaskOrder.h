//===- TaskOrder.h - what each stage does, in order -------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_TASKORDER_H
#define PDC_PASSES_PIPELINE_TASKORDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace pdc::passes {

/// A part of a schedule. `kind`: F forward, B backward, or its halves, I gradients of inputs and W of weights.
struct StageTask {
  char kind;
  int64_t microBatch;
  int64_t chunk;
  bool operator==(const StageTask &) const = default;
};

struct TaskOrder {
  int64_t microBatches = 1;
  std::vector<std::vector<StageTask>> stages;
  std::vector<int64_t> stageOf; // per chunk of the model, in the order of its layers

  int64_t chunkCount() const { return static_cast<int64_t>(stageOf.size()); }
  /// Only the forward tasks: of evaluation.
  TaskOrder forwardOnly() const;
  /// The whole batch through the same chunks, forward only: of inference.
  TaskOrder wholeBatch() const;
};

/// Reads what schedule::toString writes (compiler/schedule): a line a stage, "F0 F1 B0 B1"; "F2.5" is of chunk 5, a task
/// without a chunk of the chunk with the stage's number. Lines may also be separated by ';'. Error: text that is none, a
/// chunk on two stages or on none, a micro-batch that a chunk does not run forward exactly once.
llvm::Expected<TaskOrder> parseTaskOrder(llvm::StringRef text);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_TASKORDER_H
