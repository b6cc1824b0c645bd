//===- KernelTraffic.h - what fused ops read and write ----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_KERNELTRAFFIC_H
#define PDC_COMPILER_PLAN_SEARCH_KERNELTRAFFIC_H

#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/DenseMap.h"

namespace pdc::plan {

/// What an op moves to and from memory as a part of a kernel.
struct OpTraffic {
  llvm::SmallVector<bool, 4> reads;  // per operand
  llvm::SmallVector<bool, 4> writes; // per result
  bool launches = true;              // a kernel of its own, or the one of its group that counts as it
};

/// An estimate of what `passes/fuse` will do, op by op, so that a search can add it up: ops that become generated code stay
/// in registers for others of the same pass, forward or backward. A value is stored where a library call, the other pass
/// or the end of the step needs it, and is read by the first op that uses it in a pass. A kernel is launched where a value
/// is stored.
class KernelTraffic {
public:
  explicit KernelTraffic(nn::StepOp step);
  const OpTraffic &of(mlir::Operation *op) const { return ops.find(op)->second; }

private:
  bool isStored(mlir::Value value) const;
  bool isUsedAsStored(mlir::Value value, bool isBackward) const;

  llvm::DenseMap<mlir::Operation *, OpTraffic> ops;
  llvm::DenseSet<mlir::Operation *> backward;
};

/// Ops that become views, or are computed where their results are used.
bool isFreeOp(mlir::Operation *op);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_KERNELTRAFFIC_H
