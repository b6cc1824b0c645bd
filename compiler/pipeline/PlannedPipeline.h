//===- PlannedPipeline.h - the pipeline that a plan states ------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_PLANNEDPIPELINE_H
#define PDC_COMPILER_PIPELINE_PLANNEDPIPELINE_H

#include "compiler/pipeline/StagePlans.h"
#include "compiler/plan/SearchOutcome.h"
#include "compiler/plan/search/LayoutSearch.h"
#include "mlir/IR/BuiltinOps.h"

namespace pdc::pipeline {

/// Searches for stages, micro-batches and schedule, what `options` leave open of them, and for the layouts of the stages;
/// writes all of it into the module (dialects/dist/IR/PipelineAttributes.h). Where the whole batch on one stage is best, or
/// the model cannot run in micro-batches, that is a search for layouts alone. Stages that are not alike are planned by `addPlan`.
mlir::FailureOr<plan::SearchOutcome> searchPipeline(mlir::ModuleOp module, const CompileOptions &options,
                                                    const plan::SearchRequest &request, const PlanAdder &addPlan);

/// Has the module state the pipeline that `options` ask for.
void statePipeline(mlir::ModuleOp module, const CompileOptions &options);

/// Has a planned module state what `options` (with its pipeline) ask its stages to compute again; nothing where that is
/// nothing. Emits an error where it states something else, or where it is no list of words for its stages.
mlir::LogicalResult stateRecompute(mlir::ModuleOp module, const CompileOptions &options);

/// The options with the pipeline that the module states, where it states one.
CompileOptions withPlannedPipeline(mlir::ModuleOp module, const CompileOptions &options);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_PLANNEDPIPELINE_H
