//===- PipelinePass.h - micro-batches and stages ----------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_PIPELINEPASS_H
#define PDC_PASSES_PIPELINE_PIPELINEPASS_H

#include "mlir/Pass/Pass.h"
#include "passes/pipeline/TaskOrder.h"
#include "llvm/ADT/ArrayRef.h"
#include <functional>

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/pipeline/PipelinePass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/pipeline/PipelinePass.h.inc"

/// A schedule that depends on how long chunks take, as text; on the stages of `order`.
using OrderFinder = std::function<llvm::Expected<std::string>(llvm::ArrayRef<ChunkSeconds> chunks)>;

/// The pass with such a schedule; without one, as pdc-opt runs it, it is `order`.
std::unique_ptr<mlir::Pass> createPipelinePass(const PipelinePassOptions &options, OrderFinder findOrder);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_PIPELINEPASS_H
