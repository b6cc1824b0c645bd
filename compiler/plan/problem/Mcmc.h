//===- Mcmc.h - random changes, as FlexFlow searches ------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_MCMC_H
#define PDC_COMPILER_PLAN_PROBLEM_MCMC_H

#include "compiler/plan/problem/Solution.h"

namespace pdc::plan {

struct McmcOptions {
  uint64_t proposals = 100000;
  double temperature =
      0.002; // as a share of the start's time: a plan worse by this is taken with probability 1/e
  uint64_t returnAfter =
      1000; // proposals without a better plan, after which the search returns to the best one
  unsigned seed = 1;
  std::vector<uint32_t> start; // a choice for each node; empty: the choices with the least time of their own
};

/// Metropolis-Hastings over plans (Jia, Zaharia, Aiken 2019, "Beyond data and model parallelism", section 6):
/// a proposal gives one random node a random choice, and is taken if it is not worse, otherwise with
/// probability exp(-difference / temperature). What a plan takes above the memory limit costs time. Proves
/// nothing; the same options give the same plan.
Solution solveByMcmc(const Problem &problem, const McmcOptions &options = {});

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_MCMC_H
