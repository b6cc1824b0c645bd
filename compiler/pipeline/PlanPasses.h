//===- PlanPasses.h - where the layouts of a module come from ----*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_PLANPASSES_H
#define PDC_COMPILER_PIPELINE_PLANPASSES_H

#include "compiler/pipeline/Options.h"
#include "compiler/plan/search/LayoutSearch.h"
#include "mlir/Pass/Pass.h"

namespace pdc::pipeline {

/// Chooses layouts for all steps of a module as `options` ask for; what it did goes to `outcome`. Not a pass of
/// pdc-opt: it needs a cluster. `options` and `outcome` must outlive it.
std::unique_ptr<mlir::Pass> createPlanSearchPass(const CompileOptions &options, plan::SearchOutcome &outcome);

/// Takes the layouts of the plan whose text is `options.plan` (takePlan in PlanFile.h). `options` must outlive it.
std::unique_ptr<mlir::Pass> createReadPlanPass(const CompileOptions &options);

/// Has a planned module state the pipeline that was asked for (statePipeline in PlannedPipeline.h). `options` must outlive it.
std::unique_ptr<mlir::Pass> createStatePipelinePass(const CompileOptions &options);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_PLANPASSES_H
