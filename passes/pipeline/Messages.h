//===- Messages.h - what stages send each other, and when -------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_MESSAGES_H
#define PDC_PASSES_PIPELINE_MESSAGES_H

#include "passes/pipeline/StageAssignment.h"

namespace pdc::passes {

/// A value of one micro-batch (or, with -1, what comes of all that `from` runs; in a stream of m mini-batches with m + i
/// what mini-batch i updates with) on its way from one stage to another. Tasks are indices
/// into the order of a stage; those after the last one belong to what is done after all micro-batches. What comes of all
/// micro-batches goes from all replicas of a stage to all of another, and `from` and `to` are the first of each.
struct Message {
  mlir::Value value;
  int64_t microBatch;
  int64_t from, to, tag;
  int64_t sentBy = -1, receivedBy = -1;
  int64_t waitedBy = -1; // the sender's first task before which the receiver is known to have received; -1: none
};

/// All messages of a step. A value goes to each stage that needs it once per micro-batch, from the stage that makes it.
///
/// A receive starts a task before the one that uses it, so that the message travels while that one computes. A send is
/// waited for where a message has come back that the receiver cannot have sent before it received, directly or over other
/// stages (Lamport's happened-before); so waiting takes no time, keeps the memory of what was sent no longer than that, and
/// cannot be part of a circle of waits.
class Messages {
public:
  Messages(const StepClasses &classes, const StageAssignment &stages, const TaskOrder &order)
      : classes(classes), stages(stages), order(order) {}

  /// Error: tasks that wait for each other in a circle.
  mlir::LogicalResult run();

  using Key = std::pair<mlir::Value, int64_t>;
  llvm::ArrayRef<Message> all() const { return messages; }
  /// Indices into all().
  llvm::ArrayRef<int64_t> of(mlir::Value value, int64_t microBatch) const;
  llvm::ArrayRef<int64_t> receivedBy(int64_t stage, int64_t task) const { return received[stage][task]; }
  llvm::ArrayRef<int64_t> waitedBy(int64_t stage, int64_t task) const { return waited[stage][task]; }

private:
  using Clock = std::vector<int64_t>; // per stage, its last task that is known to have begun; -1: none
  void indexTasks();
  int64_t taskOf(mlir::Operation *op, int64_t microBatch) const;
  int64_t takeTag(const Message &message);
  void add(Message message);
  std::set<int64_t> leadersOf(llvm::ArrayRef<int64_t> of) const;
  void findMicroBatchMessages();
  void findMessagesAfter();
  void findMessagesOfStream();
  int64_t firstTaskAfterUpdate(int64_t stage, mlir::Value summand, int64_t miniBatch) const;
  mlir::LogicalResult orderTasks();
  void findWaits();

  const StepClasses &classes;
  const StageAssignment &stages;
  const TaskOrder &order;
  std::vector<Message> messages;
  std::map<std::tuple<int64_t, int64_t, char>, int64_t> taskIndex; // micro-batch, chunk, kind
  std::map<std::pair<int64_t, int64_t>, int64_t> nextTag;
  llvm::DenseMap<Key, llvm::SmallVector<int64_t>> byValue;
  std::vector<std::vector<llvm::SmallVector<int64_t>>> received, waited; // per stage and task
  std::vector<std::vector<Clock>> clocks;                               // per stage and task, at its begin
};

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_MESSAGES_H
