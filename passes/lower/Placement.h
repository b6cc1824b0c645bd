//===- Placement.h - what may share memory with what ------------*- C++ -*-===//
//
// Questions about a step that lowering asks before it puts values into buffers.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_LOWER_PLACEMENT_H
#define PDC_PASSES_LOWER_PLACEMENT_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::passes {

/// An op whose result is (normally) a view of its operand.
bool isViewOp(mlir::Operation *op);

class Placement {
public:
  explicit Placement(nn::StepOp step);

  /// The value that a chain of views looks at; the value itself if it is no view.
  mlir::Value root(mlir::Value value) const;

  /// The argument whose buffer this result of the step takes, or null: of parameters, optimizer state and
  /// state.
  mlir::Value updatedArgument(unsigned result);

  /// The operand in whose place a fusion computes this result, or null: the fusion offers it (`donate`), and
  /// nothing needs what the operand holds any more.
  mlir::Value donatedOperand(nn::FusionOp fusion, unsigned result);

  /// The pair of `donate` by which that is so, or null.
  mlir::Attribute donatedPair(nn::FusionOp fusion, unsigned result);

  /// Nothing but `user` uses the value's root, and no view of the root but those on the way to `user`.
  bool usedOnlyBy(mlir::Value value, mlir::Operation *user) const;

  /// Every use of the value's root comes before `op`, but one by `op` itself.
  bool usedLastBy(mlir::Value value, mlir::Operation *op) const;

  /// In a training step without collectives: what an optimizer reads beside the parameter that it updates.
  bool isGradient(mlir::Value root) const { return gradients.contains(root); }

private:
  int64_t position(mlir::Operation *op) const { return positions.lookup(op); }

  nn::StepOp step;
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  /// Per root: the ops that use it or a view of it, in order, views left out.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> users;
  llvm::DenseSet<mlir::Value> gradients;
};

} // namespace pdc::passes

#endif // PDC_PASSES_LOWER_PLACEMENT_H
