//===- PipelinePass.h - micro-batches and stages ----------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_PIPELINEPASS_H
#define PDC_PASSES_PIPELINE_PIPELINEPASS_H

#include "mlir/IR/BuiltinOps.h"
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
/// A schedule in which the replicas of stages take micro-batches in turn, as text; of so many replicas of each stage.
using TurnsFinder = std::function<llvm::Expected<std::string>(llvm::ArrayRef<int64_t> replicas)>;
class MessageCosts;

/// The pass with such a schedule (without one, as pdc-opt runs it, it is `order`), which chooses by these costs how values go
/// from stage to stage.
std::unique_ptr<mlir::Pass> createPipelinePass(const PipelinePassOptions &options, OrderFinder findOrder,
                                               TurnsFinder findTurns, std::shared_ptr<const MessageCosts> costs);

/// How many replicas the plan of each stage of the pipeline has, along the axes that split the batch. Error: stages without a
/// plan, or with one that splits inputs differently, or whose replicas' ranks do not follow each other.
mlir::FailureOr<llvm::SmallVector<int64_t>> countReplicas(mlir::ModuleOp planned, int64_t stages);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_PIPELINEPASS_H
