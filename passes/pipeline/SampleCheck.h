//===- SampleCheck.h - every rank has a part of every micro-batch -*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_SAMPLECHECK_H
#define PDC_PASSES_PIPELINE_SAMPLECHECK_H

#include "passes/layouts/BatchSplit.h"
#include "passes/pipeline/MessageLayouts.h"
#include <optional>

namespace pdc::passes {

/// Whether the layouts of a stage's plan leave every rank a part of every value of every micro-batch. `batch` is what
/// micro-batches are to the bare step that the plan is one of. Errors name the value, the samples that a micro-batch has of
/// it, and the ranks that share them; without `stage` there is only one.
mlir::LogicalResult checkSamples(const PlannedStage &planned, const BatchSplit &batch, int64_t microBatches,
                                 std::optional<size_t> stage);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_SAMPLECHECK_H
