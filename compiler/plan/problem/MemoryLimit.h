//===- MemoryLimit.h - the best plan that fits ------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_MEMORYLIMIT_H
#define PDC_COMPILER_PLAN_PROBLEM_MEMORYLIMIT_H

#include "compiler/plan/problem/PricedSearch.h"

namespace pdc::plan {

/// The best plan within the memory limit, `fastest` being the best one without it, which does not fit.
///
/// 1. Lagrangian relaxation: a price of memory, in seconds for a byte, moves into the cost. The best plan at a
///    price p is a lower bound of L(p) = cost(p) - p * limit on every plan that fits, and may fit itself. The
///    price with the highest bound lies between one whose plan does not fit and one whose plan does; each step
///    takes the price at which these two cost the same (Handler and Zang 1980), and ends where nothing is
///    cheaper than both.
/// 2. Choices that make L(p) larger than the best known plan leave the problem (reduced-cost fixing).
/// 3. Elimination with fronts of time and memory finds the best of what is left, or a bound where fronts
///    become too large.
Solution solveWithMemoryLimit(const Problem &problem, const Adjacency &adjacency, const Domains &domains,
                              const PricedPlan &fastest, const SearchLimits &limits,
                              const SolverStatistics &statistics);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_MEMORYLIMIT_H
