//===- RunnerUps.h - what would have been second best -----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_RUNNERUPS_H
#define PDC_COMPILER_PLAN_PROBLEM_RUNNERUPS_H

#include "compiler/plan/problem/SearchLimits.h"
#include "compiler/plan/problem/Solution.h"

namespace pdc::plan {

/// The best choice of a node other than the one taken.
struct RunnerUp {
  uint32_t choice = 0;
  double extraSeconds =
      0;                // that the plan takes more with it; memory at the solution's price where it is scarce
  bool isExact = false; // all other decisions are made anew; otherwise they stay, and less may be possible
};

/// For each of the nodes that are asked for the runner-up, or nothing where it has no other choice that is possible. All
/// at once, in the time of a few searches. Under a memory limit seconds are those of the priced problem, whose optimum the
/// solution may miss by its gap.
std::vector<std::optional<RunnerUp>> findRunnerUps(const Problem &problem, const Solution &solution,
                                                   const std::vector<uint32_t> &asked, const SearchLimits &limits = {});

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_RUNNERUPS_H
