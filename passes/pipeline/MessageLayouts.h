//===- MessageLayouts.h - in which layouts values go from stage to stage -*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_MESSAGELAYOUTS_H
#define PDC_PASSES_PIPELINE_MESSAGELAYOUTS_H

#include "passes/layouts/OpLayouts.h"
#include "passes/pipeline/MessageCosts.h"
#include "passes/pipeline/Messages.h"
#include "passes/pipeline/PlannedStep.h"

namespace pdc::passes {

/// How one message travels.
struct MessageLayout {
  mlir::Value source; // in the sending stage's plan: the value itself, or a reshard of it
  dist::LayoutAttr sent, received;
};

/// A stage of a pipeline: its ranks, and the plan of the step on them.
struct PlannedStage {
  dist::MeshOp mesh;
  const PlannedStep *plan;
  /// Where replicas take micro-batches in turn: the axes of the mesh along which they lie, and the ranks of this one. Else no
  /// axes, and all ranks.
  mlir::ArrayAttr turns;
  dist::MeshOp replica;
};

/// Chooses how values cross between stages of different meshes. The sender has the value in one or more layouts, partial
/// sums reduced; the receiver wants it in one or more. Directly each receiving rank gets all that it needs; where several
/// need the same and the way between the stages is slow, each gets a part, and the rest from its neighbours
/// (Narayanan et al. 2021, section 4.1, "scatter/gather"). So that no holder is idle, those that hold the same may each send
/// a part of it. The combination that takes least time is chosen.
class MessageLayouts {
public:
  MessageLayouts(const StageAssignment &assignment, const StepClasses &classes, const TaskOrder &order,
                 llvm::ArrayRef<PlannedStage> stages, const MessageCosts &costs)
      : assignment(assignment), classes(classes), order(order), stages(stages), costs(costs) {}

  /// `type`: of what is sent, a micro-batch's part.
  MessageLayout of(const Message &message, mlir::RankedTensorType type) const;
  /// The ranks of a stage that a message goes from or to.
  dist::MeshOp meshOf(const Message &message, int64_t stage) const {
    return message.microBatch >= 0 ? stages[stage].replica : stages[stage].mesh;
  }
  bool isOfMicroBatch(const Message &message) const {
    return message.microBatch >= 0 && message.microBatch < order.microBatches;
  }

private:
  llvm::SmallVector<mlir::Value> sources(const Message &message) const;
  llvm::SmallVector<dist::LayoutAttr> wanted(const Message &message) const;
  /// Of a stream: what a mini-batch gives an update, where one of several replicas sends or receives it.
  bool isOfReplica(const Message &message, int64_t stage) const {
    return message.microBatch >= order.microBatches && stages[stage].turns;
  }
  dist::LayoutAttr wantedAs(const Message &message, dist::LayoutAttr layout) const;
  bool usesOn(int64_t stage, mlir::OpOperand &use, const Message &message) const;
  double makingSeconds(const Message &message, mlir::RankedTensorType type, mlir::Value source) const;
  MessageLayout choose(const Message &message, mlir::RankedTensorType type) const;

  const StageAssignment &assignment;
  const StepClasses &classes;
  const TaskOrder &order;
  llvm::ArrayRef<PlannedStage> stages;
  const MessageCosts &costs;
  using Key = std::tuple<const void *, int64_t, int64_t, bool, bool, const void *>; // value, from, to, once?, micro-batch?, type
  mutable std::map<Key, MessageLayout> known;
};

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_MESSAGELAYOUTS_H
