//===- StageBuilder.h - the step of one stage -------------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_STAGEBUILDER_H
#define PDC_PASSES_PIPELINE_STAGEBUILDER_H

#include "mlir/IR/Builders.h"
#include "passes/pipeline/Messages.h"

namespace pdc::passes {

/// What the builders of all stages of a step share.
struct StagedStep {
  const StepClasses &classes;
  const StageAssignment &stages;
  const TaskOrder &order;
  const Messages &messages;
  mutable dist::MeshOp time; // of one axis, kMicroAxis: the micro-batches
};

/// Builds what one stage does, task by task, with global shapes: each op of a task on its micro-batch's part of the batch,
/// in the layout of the plan; sums over the batch added up in the order of the tasks; then what is done once. Work on
/// inputs and on parameters alone stands where it is needed first.
class StageBuilder {
public:
  StageBuilder(mlir::OpBuilder &builder, const StagedStep &staged, int64_t stage)
      : b(builder), staged(staged), classes(staged.classes), step(staged.classes.step), stage(stage),
        perMicroBatch(staged.order.microBatches) {}

  virtual ~StageBuilder() = default;

  /// At the builder's place.
  mlir::FailureOr<nn::StepOp> build(llvm::StringRef name);

protected:
  static constexpr int64_t kOnce = -1;

  nn::StepOp createStep(llvm::StringRef name);
  virtual mlir::LogicalResult buildTask(int64_t index);
  virtual mlir::LogicalResult buildAfter();
  virtual mlir::LogicalResult buildReturn();
  void markTask(char kind, int64_t microBatch, int64_t chunk);

  mlir::FailureOr<mlir::Value> get(mlir::Value value, int64_t microBatch);
  virtual mlir::FailureOr<mlir::Value> getOnce(mlir::Value value);
  mlir::FailureOr<mlir::Value> getAfter(mlir::Value value);
  mlir::FailureOr<mlir::Value> getSum(mlir::Value value);
  mlir::FailureOr<mlir::Value> getWhole(mlir::Value value);
  mlir::Value inputPart(mlir::BlockArgument input, int64_t microBatch);
  mlir::LogicalResult buildOnce(mlir::Operation *op);
  mlir::LogicalResult buildPart(mlir::Operation *op, int64_t microBatch);
  llvm::SmallVector<mlir::Value> buildLocal(mlir::Operation *op, int64_t microBatch,
                                            llvm::SmallVector<mlir::Value> operands);
  void replaceStarts(mlir::Operation *before, int64_t microBatch);
  mlir::Value scale(mlir::Value value, mlir::Value like, double by);
  mlir::Value add(mlir::Value value, mlir::Value sum, mlir::Value part);
  virtual void addUp(mlir::Value value, int64_t microBatch, mlir::Value part);
  void send(mlir::Value value, int64_t microBatch, mlir::Value part);
  mlir::Value receive(const Message &message);
  void wait(const Message &message);

  mlir::RankedTensorType partType(mlir::Value value, int64_t microBatch);
  int64_t samplesOf(int64_t microBatch);
  bool isInput(mlir::BlockArgument argument);
  mlir::Value batchInput();

  mlir::OpBuilder &b;
  const StagedStep &staged;
  const StepClasses &classes;
  nn::StepOp step; // the whole one
  int64_t stage;
  mlir::Block *body = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> once; // of what is the same for all micro-batches, and of what comes after
  std::vector<llvm::DenseMap<mlir::Value, mlir::Value>> perMicroBatch;
  llvm::DenseMap<mlir::Value, mlir::Value> sums; // over the micro-batches so far
};

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_STAGEBUILDER_H
