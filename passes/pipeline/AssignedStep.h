//===- AssignedStep.h - a step, its plans, and which stage does what -*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_ASSIGNEDSTEP_H
#define PDC_PASSES_PIPELINE_ASSIGNEDSTEP_H

#include "passes/pipeline/MessageLayouts.h"

namespace pdc::passes {

/// By stage of the pipeline; those of all steps are the same.
using ReplicaMeshes = std::map<int64_t, llvm::SmallVector<dist::MeshOp>>;

/// A step of one kind: what is decided on a copy of it without layouts, and how each stage of the pipeline has planned it.
struct AssignedStep {
  /// `slowness`: of the stages of the pipeline.
  AssignedStep(nn::StepOp planned, TaskOrder order, Residence &residence, const std::vector<double> &slowness);

  /// Takes the plans of the step, one on each shape of a stage's mesh. `shapes` and `meshes`: per stage of the pipeline. Error:
  /// steps of different ops, a shape without a plan.
  mlir::LogicalResult takePlans(llvm::ArrayRef<nn::StepOp> steps, llvm::ArrayRef<dist::MeshOp> shapes,
                                llvm::ArrayRef<dist::MeshOp> meshes);
  /// Has the replicas of stages take micro-batches in turn, where the schedule says so. Makes meshes that are not `known`.
  mlir::LogicalResult takeTurns(ReplicaMeshes &known);
  /// That every rank has a part of every micro-batch that it works on.
  mlir::LogicalResult checkSamples() const;

  /// What runs programs: stages, or their replicas that take turns.
  llvm::SmallVector<PlannedStage> plannedStages() const;
  void eraseSteps();

  TaskOrder tasks;
  StepClasses classes;
  StageAssignment stages;
  std::vector<PlannedStep> plans;

private:
  // Per stage of the pipeline.
  std::vector<size_t> planOfStage;
  std::vector<dist::MeshOp> meshOfStage;
  std::vector<mlir::ArrayAttr> turnsOfStage; // the axes along which replicas lie that take turns
  ReplicaMeshes replicasOfStage;
};

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_ASSIGNEDSTEP_H
