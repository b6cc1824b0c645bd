//===- FusionPlan.h - which ops become one kernel ---------------*- C++ -*-===//
#ifndef PDC_PASSES_FUSE_FUSIONPLAN_H
#define PDC_PASSES_FUSE_FUSIONPLAN_H

#include "dialects/nn/Analysis/IterationSpace.h"
#include "dialects/nn/Analysis/ScalarTraits.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "passes/fuse/NodeOrder.h"
#include "llvm/ADT/SetVector.h"
#include <functional>
#include <vector>

namespace pdc::passes {

/// Whether an op is computed in kernels. What is not: library calls, changes of layout, and numbers that say where the part
/// begins that a kernel works on. These are constants of the program, so that kernels that differ in nothing else are one.
bool isOfKernels(mlir::Operation *op);

/// Ops of a kernel. It owns some: only it stores their results. Others are computed again in it.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation *> ops; // in program order, owned or not
  llvm::SmallVector<mlir::Operation *> owned;
  bool isUpdate = false; // of a parameter or optimizer state
  int node = -1;         // in the order of groups and ops outside of them
  bool contains(mlir::Operation *op) const { return llvm::is_contained(ops, op); }
};

/// The groups of a step's body. Constants, masks and what else is made of scalars only, and reshapes that
/// only change dimensions of size one, are connectors: computed in each group that uses them.
class FusionPlan {
public:
  /// `isUpdateResult`: whether operand i of the terminator is the new value of a parameter or optimizer
  /// state.
  FusionPlan(mlir::Block &body, llvm::function_ref<bool(unsigned)> isUpdateResult);

  /// Groups ops in three steps: with their producers; values that are cheap to compute again; groups that
  /// read the same.
  void run();

  llvm::ArrayRef<FusionGroup> getGroups() const { return groups; }
  /// Where `op` stood in the program.
  int positionOf(mlir::Operation *op) const { return positions.lookup(op); }
  /// The group that stores the results of `op`, or -1.
  int ownerOf(mlir::Operation *op) const;
  /// What a group reads from outside, in order of first use.
  llvm::SetVector<mlir::Value> operandsOf(const FusionGroup &group) const;
  bool isTrivialReshape(mlir::Operation *op) const;
  /// Position of the last op that makes an operand of `group`; -1 if they are all arguments.
  int readyAt(const FusionGroup &group) const;

private:
  struct Use {
    int position;
    int group; // -1: an op that is in no group
  };

  bool isConnector(mlir::Operation *op) const { return connectors.contains(op); }
  void findConnectors();
  void findUpdates(llvm::function_ref<bool(unsigned)> isUpdateResult);
  void addGroup(mlir::Operation *op);
  void joinProducers(mlir::Operation *op);
  void recomputeCheapValues();
  void joinReadersOfTheSame();

  bool tryJoin(int into, int from);
  bool tryRecompute(int group, mlir::Value value);
  bool mayJoin(const FusionGroup &joined, int a, int b) const;
  bool delays(const FusionGroup &joined, int a, int b) const;
  bool keepsMoreAlive(const FusionGroup &joined, int part, int readyAt) const;
  bool joinInOrder(const FusionGroup &joined, int into, int from);
  int nodeOf(mlir::Operation *op) const;
  FusionGroup unite(const FusionGroup &a, const FusionGroup &b) const;
  bool isOneKernel(const FusionGroup &group) const;
  bool isScalar(const FusionGroup &group) const;
  /// Uses of `value`, which `group` computes, by other groups and by ops in no group.
  void forEachUse(mlir::Value value, const FusionGroup &group, llvm::function_ref<void(Use)> visit) const;
  nn::ScalarTraits traitsOf(mlir::Operation *op);

  mlir::Block &body;
  llvm::DenseMap<mlir::Operation *, int> positions;
  std::vector<mlir::Operation *> program; // ops by position
  llvm::DenseMap<mlir::Operation *, int> tasks; // of a schedule (dist.task)
  llvm::DenseSet<mlir::Operation *> connectors, updates;
  llvm::DenseMap<mlir::Operation *, int> owners;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int, 2>> containing; // groups per op
  llvm::DenseMap<mlir::Operation *, nn::ScalarTraits> traits;
  std::vector<FusionGroup> groups; // emptied where they joined another
  // Groups, by the position of their first op, and ops, by their own: each behind all that it reads.
  NodeOrder order;
};

} // namespace pdc::passes

#endif // PDC_PASSES_FUSE_FUSIONPLAN_H
