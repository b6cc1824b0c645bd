//===- ApplyLayouts.h - a plan's decisions, written into the IR -*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_APPLYLAYOUTS_H
#define PDC_COMPILER_PLAN_SEARCH_APPLYLAYOUTS_H

#include "compiler/plan/search/SearchSpace.h"

namespace pdc::plan {

/// What was decided on a step, apart from its problem: it can be written into any copy of the step.
struct StepDecisions {
  struct OfOp {
    const passes::OpSplit *split = nullptr; // none: the op is no decision; lives as long as the problem
    llvm::SmallVector<dist::LayoutAttr> operands, results; // in which it finds operands, and others find its results
  };
  llvm::SmallVector<dist::LayoutAttr> arguments;
  std::vector<OfOp> ops; // all of the step, in order
};

StepDecisions decisionsOf(nn::StepOp step, const SearchSpace &space, llvm::ArrayRef<uint32_t> choices);

/// Writes decisions into the step or a copy of it: its mesh, the layouts of its arguments, results and ops, and a
/// dist.reshard wherever an op wants an operand or gives a result in another layout than the value's. Uses of one value
/// in one layout share a reshard, but not the backward pass with the forward pass: what is gathered twice need not be
/// kept. Removes the hints for planners.
void applyLayouts(nn::StepOp step, const StepDecisions &decisions, dist::MeshOp mesh);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_APPLYLAYOUTS_H
