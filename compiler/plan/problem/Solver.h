//===- Solver.h - searches for the best plan --------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_SOLVER_H
#define PDC_COMPILER_PLAN_PROBLEM_SOLVER_H

#include "compiler/plan/problem/Solution.h"

namespace pdc::plan {

/// Bounds on what an exact search may take before it gives a bound instead of a proof.
struct SearchLimits {
  double tableEntries = 64e6;    // entries of the largest set of tables held at a time (8 bytes each)
  double operations = 2e10;      // entries combined in one elimination of the whole graph
  uint64_t searchNodes = 200000; // partial plans that branch and bound tries where elimination is too wide
  uint32_t frontSize = 64;       // (time, memory) points kept for one entry under a memory limit
};

/// The best plan, or the best one found and a bound. Exact by elimination of nodes (nonserial dynamic
/// programming: Bertele and Brioschi 1972; bucket elimination: Dechter 1999), under a memory limit by
/// Lagrangian relaxation and Pareto fronts of time and memory. The same problem gives the same solution.
/// `problem` has passed checkProblem(); the solution has passed verifySolution().
Solution solve(const Problem &problem, const SearchLimits &limits = {});

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_SOLVER_H
