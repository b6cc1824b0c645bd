//===- Recomputation.h - the forward pass again, in the backward --*- C++ -*-===//
#ifndef PDC_PASSES_RECOMPUTE_RECOMPUTATION_H
#define PDC_PASSES_RECOMPUTE_RECOMPUTATION_H

#include "mlir/IR/Builders.h"
#include "passes/recompute/KeptValues.h"

namespace pdc::passes {

/// Has the ops of backward passes use copies of the forward ops whose results are not kept.
///
/// Copies stand right before the first backward op that needs them, as late as can be. They read kept values through a
/// dist.optimization_barrier of their own, which also takes the gradient that the backward op has come to: so no pass merges
/// them with the forward pass, or moves them into it. From there on the backward pass uses the barrier's results, too, so that
/// kernels can be made of copies and backward ops together.
class Recomputation {
public:
  Recomputation(nn::StepOp step, const ForwardPasses &passes, const KeptValues &keptValues)
      : step(step), passes(passes), keptValues(keptValues), b(step.getContext()) {}

  void run();

private:
  void serve(mlir::Operation *user);
  void collect(mlir::Value value, llvm::SetVector<mlir::Operation *> &again, llvm::SetVector<mlir::Value> &read);
  void addBarrier(mlir::Operation *user, llvm::ArrayRef<mlir::Value> read);
  mlir::Value gradientOf(mlir::Operation *user) const;
  void copy(mlir::Operation *op);
  bool isMadeAgain(mlir::Value value) const { return passes.passOf(value) >= 0 && !keptValues.isKept(value); }
  mlir::Value current(mlir::Value value) const;

  nn::StepOp step;
  const ForwardPasses &passes;
  const KeptValues &keptValues;
  mlir::OpBuilder b;
  llvm::DenseMap<mlir::Value, mlir::Value> copies;  // of values that are made again
  llvm::DenseMap<mlir::Value, mlir::Value> barriers; // of values that copies read: what came out of the last barrier
};

} // namespace pdc::passes

#endif // PDC_PASSES_RECOMPUTE_RECOMPUTATION_H
