//===- BranchAndBound.h - where tables would be too wide --------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_BRANCHANDBOUND_H
#define PDC_COMPILER_PLAN_PROBLEM_BRANCHANDBOUND_H

#include "compiler/plan/problem/Elimination.h"

namespace pdc::plan {

/// The same order with narrow tables: the inputs of a step whose bucket has more than `maxBucketEntries` are
/// split over several steps, each of which minimizes over the variable by itself (mini-buckets: Dechter and
/// Rish 2003). So every message, and the least cost, is a lower bound.
EliminationOrder splitWideSteps(const CostNetwork &network, const EliminationOrder &order,
                                double maxBucketEntries);

struct BranchAndBoundResult {
  bool isComplete = false;       // the whole space was searched
  std::vector<uint32_t> choices; // of variables; empty if nothing below the start's cost was found
  double lowerBound = 0;         // quanta
};

/// Depth first, variables in the opposite of their order, bounds from the messages of mini-buckets (Kask and
/// Dechter 2001). `bound` is the lower bound that `elimination` returned, `planCost` the cost of a known plan,
/// both in quanta. Each search node is a choice of one variable.
BranchAndBoundResult branchAndBound(const CostNetwork &network, const EliminationOrder &order,
                                    const Elimination &elimination, double bound, double planCost,
                                    const SearchLimits &limits, SolverStatistics &statistics);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_BRANCHANDBOUND_H
