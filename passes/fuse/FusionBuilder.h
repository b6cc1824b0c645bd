//===- FusionBuilder.h - groups as nn.fusion ops ----------------*- C++ -*-===//
#ifndef PDC_PASSES_FUSE_FUSIONBUILDER_H
#define PDC_PASSES_FUSE_FUSIONBUILDER_H

#include "mlir/Support/LLVM.h"

namespace pdc::nn {
class StepOp;
}

namespace pdc::passes {
class FusionPlan;

/// Replaces the ops of the plan's groups by `nn.fusion` ops, in an order in which nothing comes later than it
/// did.
mlir::LogicalResult buildFusions(nn::StepOp step, const FusionPlan &plan);

/// Lets fusions compute new parameters, optimizer state and state in the memory of the old ones, where no op
/// needs the old value afterwards.
void donateOldValues(nn::StepOp step);

} // namespace pdc::passes

#endif // PDC_PASSES_FUSE_FUSIONBUILDER_H
