//===- MemoryLimit.h - the best plan that fits ------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_MEMORYLIMIT_H
#define PDC_COMPILER_PLAN_PROBLEM_MEMORYLIMIT_H

#include "compiler/plan/problem/PricedSearch.h"

namespace pdc::plan {

/// The best plan within the memory limit, `fastest` being the best one without it, which does not fit.
///
/// Lagrangian relaxation: a price of memory, in seconds for a byte, moves into the cost. The best plan at a
/// price p is a lower bound of L(p) = cost(p) - p * limit on every plan that fits, and a plan that may fit
/// itself. The price with the highest bound lies between one whose plan does not fit and one whose plan does;
/// each step takes the price at which these two cost the same (Handler and Zang 1980), and ends where nothing
/// is cheaper than both.
Solution solveWithMemoryLimit(const Problem &problem, const Adjacency &adjacency, const Domains &domains,
                              const PricedPlan &fastest, const SearchLimits &limits,
                              const SolverStatistics &statistics);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_MEMORYLIMIT_H
