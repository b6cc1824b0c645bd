//===- BestOf.h - the best plan of several problems -------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_BESTOF_H
#define PDC_COMPILER_PLAN_PROBLEM_BESTOF_H

#include "compiler/plan/problem/SearchLimits.h"
#include "compiler/plan/problem/Solution.h"

namespace pdc::plan {

/// A problem of which the plan without a memory limit is known (`solveWithoutLimit`).
struct OpenProblem {
  const Problem *problem; // with the limit
  Solution solution;      // without it; afterwards, what has been found within it
};

/// The best plan within the memory limit that any of the problems has, such as those of a model's meshes. Only what it
/// takes to know that: a problem whose bound is above the best plan is left as it is, which is cheap to see where
/// prices of memory that suit one problem are tried on the others first.
void solveBestOf(std::vector<OpenProblem> &problems, SearchLimits limits = {});

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_BESTOF_H
