//===- StageBuilder.h - the step of one stage -------------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_STAGEBUILDER_H
#define PDC_PASSES_PIPELINE_STAGEBUILDER_H

#include "mlir/IR/Builders.h"
#include "passes/pipeline/MessageLayouts.h"

namespace pdc::passes {

/// What the builders of all stages of a step share.
struct StagedStep {
  const StepClasses &classes;
  const StageAssignment &stages;
  const TaskOrder &order;
  const Messages &messages;
  llvm::ArrayRef<PlannedStage> planned; // per stage
  const MessageLayouts &messageLayouts;
  mutable dist::MeshOp time; // of one axis, kMicroAxis: the micro-batches
};

/// Builds what one stage does, task by task, with global shapes: each op of a task on its micro-batch's part of the batch,
/// in the layout of the stage's plan; sums over the batch added up in the order of the tasks, and reduced and sent as soon as
/// they are complete; then what is done once. Work on inputs and on parameters alone, and reshards, stand where they are
/// needed first.
///
/// What another stage sends is no partial sum. An op that the plan lets work on partial sums, but for an operand that came
/// so, works on complete ones: then the copies of a parameter that several stages keep stay equal to the bit.
class StageBuilder {
public:
  StageBuilder(mlir::OpBuilder &builder, const StagedStep &staged, int64_t stage)
      : b(builder), staged(staged), classes(staged.classes), step(staged.classes.step), stage(stage),
        plan(*staged.planned[stage].plan), perMicroBatch(staged.order.microBatches) {}

  virtual ~StageBuilder() = default;

  /// At the builder's place.
  mlir::FailureOr<nn::StepOp> build(llvm::StringRef name);

protected:
  static constexpr int64_t kOnce = -1;

  /// An argument of a step.
  struct Argument {
    mlir::BlockArgument whole;
    int64_t microBatch; // whose samples of an input it has; kOnce: all of it
    mlir::Type type;
    mlir::DictionaryAttr attributes;
  };

  nn::StepOp createStep(llvm::StringRef name);
  std::vector<Argument> argumentsOf();
  Argument inputOf(mlir::BlockArgument input, int64_t microBatch);
  static void eraseUnreadInputs(nn::StepOp built);
  virtual mlir::LogicalResult buildTask(int64_t index);
  virtual mlir::LogicalResult buildAfter();
  virtual mlir::LogicalResult buildReturn();
  void markTask(char kind, int64_t microBatch, int64_t chunk);

  // Of values of the plan.
  mlir::FailureOr<mlir::Value> get(mlir::Value value, int64_t microBatch);
  virtual mlir::FailureOr<mlir::Value> getOnce(mlir::Value value);
  mlir::LogicalResult missing(mlir::BlockArgument argument);
  /// As it is sent.
  virtual mlir::FailureOr<mlir::Value> getSent(mlir::Value value, int64_t microBatch);
  mlir::FailureOr<mlir::Value> getWhole(mlir::Value value);
  mlir::FailureOr<mlir::Value> getResharded(dist::ReshardOp reshard, int64_t microBatch);
  mlir::Value reshard(mlir::Value value, dist::LayoutAttr to, dist::ReshardOp like = {});
  // Of values of the whole step.
  mlir::FailureOr<mlir::Value> getAfter(mlir::Value value);
  mlir::FailureOr<mlir::Value> getSum(mlir::Value value);
  std::vector<int64_t> copiesOf(mlir::Operation *op) const;
  bool hasCopies(mlir::Operation *op) const { return copiesOf(op).size() > 1; }
  mlir::Value summand(mlir::Value own);
  mlir::LogicalResult buildOnce(mlir::Operation *op);
  mlir::LogicalResult buildPart(mlir::Operation *op, int64_t microBatch);
  llvm::SmallVector<mlir::Value> buildLocal(mlir::Operation *op, int64_t microBatch,
                                            llvm::SmallVector<mlir::Value> operands);
  llvm::SmallVector<mlir::Attribute> completeOperands(mlir::Operation *planned,
                                                      llvm::MutableArrayRef<mlir::Value> operands);
  mlir::ArrayAttr layoutsOf(mlir::Operation *planned, llvm::ArrayRef<mlir::Attribute> complete);
  void replaceStarts(mlir::Operation *before, int64_t microBatch);
  mlir::Value scale(mlir::Value value, double by);
  mlir::Value add(mlir::Value sum, mlir::Value part);
  virtual mlir::LogicalResult addUp(mlir::Value value, int64_t microBatch, mlir::Value part);
  mlir::LogicalResult finishSum(mlir::Value value);
  mlir::LogicalResult send(mlir::Value value, int64_t microBatch);
  mlir::RankedTensorType typeOfMessage(const Message &message);
  mlir::FlatSymbolRefAttr meshOf(const Message &message, int64_t ofStage) {
    return mlir::FlatSymbolRefAttr::get(staged.messageLayouts.meshOf(message, ofStage));
  }
  /// Who stands for this stage in messages after all micro-batches.
  int64_t leader() const { return staged.order.leaderOf(stage); }
  mlir::Value receive(const Message &message);
  void wait(const Message &message);

  mlir::RankedTensorType partType(mlir::Value value, int64_t microBatch);
  int64_t samplesOf(int64_t microBatch);
  bool isInput(mlir::BlockArgument argument) const;
  bool gathersOverReplicas() const;
  bool isOnce(mlir::Value value);
  mlir::Value batchInput();

  mlir::OpBuilder &b;
  const StagedStep &staged;
  const StepClasses &classes;
  nn::StepOp step; // the whole one
  int64_t stage;
  const PlannedStep &plan; // of the whole one, on this stage's mesh
  mlir::Block *body = nullptr;
  // By value of the whole step, or by reshard of the plan.
  llvm::DenseMap<mlir::Value, mlir::Value> once; // of what is the same for all micro-batches, and of what comes after
  std::vector<llvm::DenseMap<mlir::Value, mlir::Value>> perMicroBatch;
  llvm::DenseMap<mlir::Value, mlir::Value> sums; // over the micro-batches so far
  llvm::DenseMap<mlir::Value, int64_t> added;    // how many those are, on this stage
  llvm::SmallVector<mlir::Value> complete;       // sums that are reduced and sent after all tasks
};

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_STAGEBUILDER_H
