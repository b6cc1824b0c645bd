//===- StepClasses.h - which op of a step is done when ----------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_STEPCLASSES_H
#define PDC_PASSES_PIPELINE_STEPCLASSES_H

#include "passes/layouts/BatchSplit.h"

namespace pdc::passes {

inline constexpr llvm::StringLiteral kMicroAxis = "micro";

enum class OpClass {
  Once,      // of parameters and constants, for what micro-batches or updates need: where it is needed first
  Free,      // per micro-batch, of inputs alone: wherever it is needed
  Work,      // per micro-batch: the forward and the backward pass
  Statistic, // per micro-batch, of the micro-batch's own sums over its samples (batch_norm, the balance of experts)
  After,     // once, after all micro-batches: what gradients are added up for, and what the loss adds of parameters alone
};

/// What micro-batches are to a step. The batch is split over an axis of time: a sum over the batch is a partial sum of
/// each micro-batch, and adding those up is the collective over that axis.
class StepClasses {
public:
  /// `isStream`: each micro-batch has an update, with parameters of its own version.
  StepClasses(nn::StepOp step, int64_t microBatches, bool isStream = false)
      : step(step), microBatches(microBatches), isStream(isStream),
        batch(step, {kMicroAxis, microBatches, "micro-batch", "micro-batches", /*evenIfOne=*/true}) {}

  /// Errors: those of BatchSplit; an op that needs, for a micro-batch, what only the whole batch gives.
  mlir::LogicalResult run();

  OpClass of(mlir::Operation *op) const { return classes.lookup(op); }
  bool isPerMicroBatch(mlir::Operation *op) const {
    OpClass is = of(op);
    return is == OpClass::Work || is == OpClass::Free || is == OpClass::Statistic;
  }
  /// Ops that belong to one stage.
  bool isWork(mlir::Operation *op) const {
    return of(op) == OpClass::Work || of(op) == OpClass::Statistic;
  }
  /// Of a Work op: the loss needs it.
  bool isForward(mlir::Operation *op) const { return forward.contains(op); }
  /// A sum over the batch, which is complete when every micro-batch has added its part.
  bool isAccumulated(mlir::Value value) const { return accumulated.contains(value); }
  /// A sum over the batch that each micro-batch has for itself.
  bool isStatistic(mlir::Value value) const { return statistics.contains(value); }
  /// A value of each micro-batch of which the whole batch has the sum or, of what is made of statistics, the average.
  bool isSummed(mlir::Value value) const {
    return isAccumulated(value) || (isWork(value.getDefiningOp()) && !batch.isSplit(value));
  }
  /// Of no input, and of some parameter.
  bool isFromParameters(mlir::Operation *op) const { return fromParameters.contains(op); }
  bool hasStatistics() const { return !statistics.empty(); }
  /// Among the statistics are sums that are those of the batch: it cannot run in several micro-batches.
  bool needsWholeBatch() const { return wholeBatch; }

  mutable nn::StepOp step;
  int64_t microBatches;
  bool isStream;
  BatchSplit batch;

private:
  void findReaching();
  void findForward();
  mlir::LogicalResult classify(mlir::Operation *op);
  mlir::LogicalResult classifySums(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, OpClass> classes;
  llvm::DenseSet<mlir::Operation *> forward;
  llvm::DenseSet<mlir::Operation *> reaching; // works on no part of the batch, but something that needs it does
  llvm::DenseSet<mlir::Operation *> freeOnce; // Once, and of no parameter
  llvm::DenseSet<mlir::Operation *> fromParameters;
  llvm::DenseSet<mlir::Value> accumulated, statistics;
  bool wholeBatch = false;
};

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_STEPCLASSES_H
