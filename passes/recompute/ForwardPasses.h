//===- ForwardPasses.h - what of a step is forward, what backward -*- C++ -*-===//
#ifndef PDC_PASSES_RECOMPUTE_FORWARDPASSES_H
#define PDC_PASSES_RECOMPUTE_FORWARDPASSES_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::passes {

/// What a value of a planned step is made of.
enum class Origin {
  Given,    // parameters and constants, and what is made of them alone
  Samples,  // samples, and what the forward pass makes of them
  Gradient, // of the backward pass
  Update    // of what comes after a backward pass: sums, new parameters
};

/// One micro-batch on its way forward through one chunk of the model; without micro-batches, the whole step's forward pass.
struct ForwardPass {
  llvm::SmallVector<mlir::Operation *> ops; // that can be done again: of samples, without side effects; in order
  int64_t chunk = 0, begin = 0, end = 0;    // the chunk's number; its own task and the last of its backward ones
  int64_t backward = 0;                     // the first of these
  int64_t othersInFlight = 0;               // of the chunk, at most, when a backward begins
  /// Its backward comes next: nothing can be gained by dropping what is needed first.
  bool isFollowed() const { return backward == begin + 1; }
};

/// Reads the order of a planned step off its tasks (dist.task); without tasks, the forward pass is what the loss is made of,
/// the backward pass what gradients and updates are.
class ForwardPasses {
public:
  explicit ForwardPasses(nn::StepOp step);

  const std::vector<ForwardPass> &all() const { return passes; }
  /// The number of the forward pass that makes a value, where it can be made again; -1 of others.
  int passOf(mlir::Value value) const;
  Origin originOf(mlir::Value value) const;
  bool isBackward(mlir::Operation *op) const { return backward.contains(op); }
  /// Where an op of a forward pass stands in it.
  int64_t placeOf(mlir::Operation *op) const { return places.lookup(op); }
  /// What uses the value keeps it until the backward pass, or lets another forward pass see it.
  bool isPinned(mlir::Value value) const;

private:
  void findTasks();
  void readTasks();
  void readWhole();
  void addOp(ForwardPass &pass, mlir::Operation *op);
  void findOrigin(mlir::Operation *op, char task);
  char kindOfFirstUse(mlir::Value value) const;
  void findInFlight();

  mutable nn::StepOp step;
  std::vector<ForwardPass> passes;
  llvm::DenseMap<mlir::Operation *, int> passOfOp;
  llvm::DenseMap<mlir::Operation *, int64_t> places, tasks; // tasks: counted from 1
  llvm::DenseSet<mlir::Operation *> backward;
  llvm::DenseMap<mlir::Value, Origin> origins;
  std::vector<std::pair<char, int64_t>> kinds; // of tasks, with the micro-batch; the first stands before all
};

/// An op whose results are normally views of its operand.
bool isView(mlir::Operation *op);

/// The value that views look at, inside of the ops that can be done again.
mlir::Value storageOf(mlir::Value value, const ForwardPasses &passes);

} // namespace pdc::passes

#endif // PDC_PASSES_RECOMPUTE_FORWARDPASSES_H
