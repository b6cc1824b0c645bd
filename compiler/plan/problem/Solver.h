//===- Solver.h - searches for the best plan --------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_SOLVER_H
#define PDC_COMPILER_PLAN_PROBLEM_SOLVER_H

#include "compiler/plan/problem/SearchLimits.h"
#include "compiler/plan/problem/Solution.h"

namespace pdc::plan {

/// The best plan, or the best one found and a bound. Exact by elimination of nodes (nonserial dynamic
/// programming: Bertele and Brioschi 1972; bucket elimination: Dechter 1999), under a memory limit by
/// Lagrangian relaxation and Pareto fronts of time and memory. The same problem gives the same solution.
/// `problem` has passed checkProblem(); the solution has passed verifySolution().
Solution solve(const Problem &problem, const SearchLimits &limits = {});

/// The same search in steps, for who chooses between several problems, or asks for several limits: each step proves more
/// than the one before it, and takes longer.
///
/// 1. The best plan without a memory limit; where that is not kept the plan is overMemory, and a bound.
Solution solveWithoutLimit(const Problem &problem, const SearchLimits &limits = {});
/// 2. Where the first step's plan does not fit: a higher bound, by a price of memory that has turned out well for a
/// similar problem or limit. Its plan may fit, and be found.
Solution solveAtPrice(const Problem &problem, const Solution &fastest, double secondsPerByte,
                      const SearchLimits &limits = {});
/// 3. A plan that fits, and the highest bound that prices of memory give. `begin` is `fastest`, or of the second step.
Solution solveAtPrices(const Problem &problem, const Solution &fastest, const Solution &begin,
                       const SearchLimits &limits = {});
/// 4. Where the third step leaves a gap: without it, or with less of it.
Solution closeGap(const Problem &problem, const Solution &priced, const SearchLimits &limits = {});

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_SOLVER_H
