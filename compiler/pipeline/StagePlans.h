//===- StagePlans.h - a plan for each kind of stage -------------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_STAGEPLANS_H
#define PDC_COMPILER_PIPELINE_STAGEPLANS_H

#include "compiler/pipeline/Options.h"
#include "compiler/plan/SearchOutcome.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace pdc::pipeline {

/// Adds the passes that plan a module by these options.
using PlanAdder = std::function<void(mlir::PassManager &, const CompileOptions &, std::optional<plan::SearchOutcome> &)>;

/// Where the stages of a pipeline are not alike: plans all steps once for each kind of stage, on as many ranks as it has, and
/// leaves one step of each kind for each mesh, and `dist.stage_meshes`. `outcome` tells what the searches did together.
llvm::LogicalResult planUnlikeStages(mlir::ModuleOp module, const CompileOptions &options,
                                     std::optional<plan::SearchOutcome> &outcome, const PlanAdder &addPlan);

/// The same as a pass, of the stages that the options name.
std::unique_ptr<mlir::Pass> createStagePlansPass(const CompileOptions &options,
                                                 std::optional<plan::SearchOutcome> &outcome, PlanAdder addPlan);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_STAGEPLANS_H
