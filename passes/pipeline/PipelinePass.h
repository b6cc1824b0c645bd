//===- PipelinePass.h - micro-batches and stages ----------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_PIPELINEPASS_H
#define PDC_PASSES_PIPELINE_PIPELINEPASS_H

#include "mlir/Pass/Pass.h"
#include "passes/pipeline/TaskOrder.h"
#include "llvm/ADT/ArrayRef.h"
#include <functional>
#include <memory>

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/pipeline/PipelinePass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/pipeline/PipelinePass.h.inc"

/// A schedule that depends on how long chunks take, as text; on the stages of `order`.
using OrderFinder = std::function<llvm::Expected<std::string>(llvm::ArrayRef<ChunkSeconds> chunks)>;
class MessageCosts;

/// The pass with such a schedule (without one, as pdc-opt runs it, it is `order`), which chooses by these costs how values go
/// from stage to stage.
std::unique_ptr<mlir::Pass> createPipelinePass(const PipelinePassOptions &options, OrderFinder findOrder,
                                               std::shared_ptr<const MessageCosts> costs);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_PIPELINEPASS_H
