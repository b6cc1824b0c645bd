//===- PlannedStep.h - a step as it is planned on a stage's mesh -*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_PLANNEDSTEP_H
#define PDC_PASSES_PIPELINE_PLANNEDSTEP_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::passes {

/// A copy of a planned step, before it, that says what is computed and nothing of where: no layouts, no reshards. What
/// stages do and send each other is decided on it, since stages may be planned on meshes of their own.
nn::StepOp copyWithoutLayouts(mlir::OpBuilder &b, nn::StepOp planned);

/// A plan of that step: the same ops in the same order, with layouts, and reshards between them.
class PlannedStep {
public:
  /// Error: steps of different ops.
  static mlir::FailureOr<PlannedStep> match(nn::StepOp bare, nn::StepOp planned);

  /// In the plan.
  mlir::Operation *of(mlir::Operation *bare) const { return ops.lookup(bare); }
  mlir::Value of(mlir::Value bare) const;
  /// Of what is no reshard.
  mlir::Operation *bareOf(mlir::Operation *planned) const { return bareOps.lookup(planned); }
  mlir::Value bareOf(mlir::Value planned) const;

  mutable nn::StepOp step;

private:
  mutable nn::StepOp bare;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> ops, bareOps;
};

/// The value that a chain of reshards begins with.
mlir::Value rootOfReshards(mlir::Value value);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_PLANNEDSTEP_H
