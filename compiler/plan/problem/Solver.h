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

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_SOLVER_H
