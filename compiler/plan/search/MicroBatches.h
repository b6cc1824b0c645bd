//===- MicroBatches.h - samples that a plan can share -----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_MICROBATCHES_H
#define PDC_COMPILER_PLAN_SEARCH_MICROBATCHES_H

#include "passes/layouts/BatchSplit.h"
#include "llvm/ADT/MapVector.h"
#include <memory>

namespace pdc::plan {

/// The steps of a model that will run in micro-batches: ranks can share the samples of one micro-batch, of which there may be
/// fewer than ranks. Steps are to be without layouts.
class MicroBatches {
public:
  explicit MicroBatches(int64_t count) : count(count) {}

  /// What has the batch in a step. Null where the step runs with the whole batch, and where it cannot be in micro-batches,
  /// which `pipeline` tells.
  const passes::BatchSplit *of(nn::StepOp step);
  /// Emits an error where the batch of a step, split over `parts` ranks, leaves some without a sample of a micro-batch.
  mlir::LogicalResult checkReplicas(nn::StepOp step, int64_t parts);

private:
  int64_t count;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<passes::BatchSplit>> known;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_MICROBATCHES_H
