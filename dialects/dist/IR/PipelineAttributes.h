//===- PipelineAttributes.h - how a plan states a pipeline ------*- C++ -*-===//
#ifndef PDC_DIALECTS_DIST_IR_PIPELINEATTRIBUTES_H
#define PDC_DIALECTS_DIST_IR_PIPELINEATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace pdc::dist {

/// On forward ops of a planned step: the chunk of the pipeline that runs the op, from 0 on.
inline constexpr llvm::StringLiteral kChunkAttr = "dist.chunk";

/// On a planned module whose steps run in micro-batches: how many stages there are (1: no pipeline), how many micro-batches,
/// in which order they run, and what each stage computes again (a string for each).
inline constexpr llvm::StringLiteral kStagesAttr = "dist.stages";
inline constexpr llvm::StringLiteral kMicroBatchesAttr = "dist.micro_batches";
inline constexpr llvm::StringLiteral kScheduleAttr = "dist.schedule";
inline constexpr llvm::StringLiteral kRecomputeAttr = "dist.recompute";

} // namespace pdc::dist

#endif // PDC_DIALECTS_DIST_IR_PIPELINEATTRIBUTES_H
