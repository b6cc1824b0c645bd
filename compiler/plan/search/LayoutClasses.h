//===- LayoutClasses.h - values that take one layout decision ---*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_LAYOUTCLASSES_H
#define PDC_COMPILER_PLAN_SEARCH_LAYOUTCLASSES_H

#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace pdc::plan {

/// Partitions the values of a step into classes that are laid out alike, so that the graph of decisions is that
/// of the forward pass and has a small treewidth:
///
/// - a value and its gradient (dist.alike), except for parameters;
/// - the result of an elementwise op with one operand of its shape, and that operand;
/// - for each parameter, the values of its shape in its update: optimizer state, its new value, and all
///   between. Parameter, gradient and update are three classes, which is what ZeRO chooses between
///   (Rajbhandari et al. 2020): stages 1, 2 and 3 split the update, the gradient too, the parameter too.
///
/// Members of a class have one shape, not one element type.
class LayoutClasses {
public:
  explicit LayoutClasses(nn::StepOp step);

  size_t size() const { return classes.size(); }
  size_t classOf(mlir::Value value) const { return indices.lookup(value); }
  /// In the order of the step: arguments, then results of ops.
  llvm::ArrayRef<mlir::Value> members(size_t index) const { return classes[index]; }
  /// Of all members.
  llvm::ArrayRef<int64_t> shapeOf(size_t index) const {
    return llvm::cast<mlir::RankedTensorType>(classes[index].front().getType()).getShape();
  }

private:
  void joinPairs();
  void joinElementwise();
  void joinUpdates();
  void number();
  void join(mlir::Value a, mlir::Value b);

  nn::StepOp step;
  llvm::EquivalenceClasses<void *> joined;
  llvm::DenseMap<mlir::Value, size_t> indices;
  std::vector<llvm::SmallVector<mlir::Value, 4>> classes;
};

/// The terminator operands of a step with this role, slot and name; an argument with the same is where its next
/// value comes from.
struct StepValueName {
  llvm::StringRef role, slot, name;
  bool operator==(const StepValueName &) const = default;
};
StepValueName nameOfArgument(nn::StepOp step, unsigned index);
StepValueName nameOfResult(nn::StepOp step, unsigned index);

/// For each result of a step the argument whose next value it is: the one with its role, slot and name. -1 where
/// there is none.
llvm::SmallVector<int64_t> argumentsOfResults(nn::StepOp step);

/// The last op of the forward pass: the one that makes the loss. Null where the step has none.
mlir::Operation *findLossOp(nn::StepOp step);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_LAYOUTCLASSES_H
