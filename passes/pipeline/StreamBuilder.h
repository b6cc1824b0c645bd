//===- StreamBuilder.h - the step of one stage without a flush --*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_STREAMBUILDER_H
#define PDC_PASSES_PIPELINE_STREAMBUILDER_H

#include "passes/pipeline/StageBuilder.h"

namespace pdc::passes {

/// Builds what a stage does where weights change after each backward (PipeDream, Narayanan et al. 2019). The parts of the
/// batch are mini-batches, each with a mean, a gradient and an update of its own: a sum over its samples stands for the
/// batch's. Every version of a parameter and of its optimizer state is a value; a forward and its backward use the one that
/// TaskOrder::versions says, and it lives until the last of them (weight stashing). Update i makes version i + 1 out of
/// version i. What uses parameters alone, outside of forward and backward, uses version i, too.
///
/// Where replicas take mini-batches in turn, an update is made of a round, one mini-batch of each: of the average of their
/// gradients, weighted by their samples.
///
/// A parameter of several stages (a tied embedding) is updated where its next version is needed, so that no stage waits for
/// the parts of the gradient that others have later.
class StreamBuilder : public StageBuilder {
public:
  StreamBuilder(mlir::OpBuilder &builder, const StagedStep &staged, int64_t stage);

private:
  /// What something is computed for: the forward and backward of a mini-batch, an update, or what is told of a mini-batch.
  enum class Purpose { Pass, Update, Report };
  struct Moment {
    int64_t number = 0; // of the mini-batch, or of the update
    Purpose purpose = Purpose::Pass;
    auto operator<=>(const Moment &) const = default;
  };

  mlir::LogicalResult buildTask(int64_t index) override;
  mlir::LogicalResult buildAfter() override;
  mlir::LogicalResult buildReturn() override;
  mlir::FailureOr<mlir::Value> getOnce(mlir::Value value) override;
  mlir::FailureOr<mlir::Value> getSent(mlir::Value value, int64_t microBatch) override;
  mlir::LogicalResult addUp(mlir::Value value, int64_t microBatch, mlir::Value part) override;

  void findPostponed();
  mlir::LogicalResult buildAverage(mlir::OpOperand &result);
  int64_t updates() const { return staged.order.microBatches / staged.order.replicasOf(stage); }
  int64_t updateOf(int64_t miniBatch) const { return miniBatch / staged.order.replicasOf(stage); }
  int64_t ownMiniBatch(int64_t update) const {
    return update * staged.order.replicasOf(stage) + staged.order.turnOf(stage);
  }
  double shareOfRound(int64_t miniBatch);
  mlir::FailureOr<mlir::Value> getNow(mlir::Value planned);
  mlir::FailureOr<mlir::Value> getReshardedNow(dist::ReshardOp op);
  mlir::FailureOr<mlir::Value> getArgument(mlir::BlockArgument argument);
  mlir::FailureOr<mlir::Value> getVersion(mlir::BlockArgument argument, int64_t version);
  mlir::Value countUpdates(mlir::BlockArgument step);
  mlir::LogicalResult buildNow(mlir::Operation *op);

  Moment now;
  std::map<Moment, llvm::DenseMap<mlir::Value, mlir::Value>> known; // by value of the plan
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Value>, mlir::Value> resharded;
  llvm::DenseMap<mlir::Value, mlir::Value> newValues; // of what persists, in the plan
  std::map<std::pair<mlir::Operation *, std::vector<void *>>, mlir::Operation *> built; // by what they are made of
  std::vector<llvm::DenseMap<mlir::Value, mlir::Value>> sumsOf;                       // per mini-batch
  llvm::DenseSet<mlir::Operation *> postponed; // After ops that need what another stage computes
};

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_STREAMBUILDER_H
