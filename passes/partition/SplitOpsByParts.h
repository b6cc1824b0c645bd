//===- SplitOpsByParts.h - ops whose split goes through their parts -*- C++ -*-===//
#ifndef PDC_PASSES_PARTITION_SPLITOPSBYPARTS_H
#define PDC_PASSES_PARTITION_SPLITOPSBYPARTS_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::passes {

/// Replaces each op of a plan whose layouts split a loop of kind Decomposed by its parts, with the reductions between
/// them (passes/layouts/SplitByParts.h). Emits an error where a part cannot be split so, and where the plan states
/// other layouts for the op's operands or results than that split needs or gives.
mlir::LogicalResult splitOpsByParts(nn::StepOp step, dist::MeshOp mesh);

} // namespace pdc::passes

#endif // PDC_PASSES_PARTITION_SPLITOPSBYPARTS_H
