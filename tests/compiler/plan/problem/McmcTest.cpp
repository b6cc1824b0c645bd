//===- McmcTest.cpp - the random search ------------------------------------===//

#include "compiler/plan/problem/Mcmc.h"
#include "RandomProblems.h"
#include "compiler/plan/problem/Solver.h"
#include <gtest/gtest.h>

using namespace pdc::plan;
using namespace pdc::plan::testing;

TEST(Mcmc, IsNeverBetterThanTheExactSearch) {
  unsigned compared = 0, equal = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Problem problem = randomProblem(seed, 12, 5);
    if (seed % 2 == 1)
      problem.memoryLimitBytes = 3500;
    Solution exact = solve(problem);
    McmcOptions options;
    options.proposals = 20000;
    options.seed = seed;
    Solution found = solveByMcmc(problem, options);
    EXPECT_EQ(verifySolution(problem, found), "") << "seed " << seed;
    EXPECT_EQ(found.proof, Proof::none);
    if (found.status != SolutionStatus::found)
      continue;
    ASSERT_EQ(exact.status, SolutionStatus::found) << "seed " << seed;
    ++compared;
    equal += found.seconds <= exact.seconds + 1e-12;
    EXPECT_GE(found.seconds, exact.lowerBoundSeconds - 1e-12) << "seed " << seed;
  }
  EXPECT_GT(compared, 40u);
  EXPECT_GT(equal, compared / 2) << "it should find most optima of small problems";
}

TEST(Mcmc, TheSameSeedFindsTheSamePlan) {
  Problem problem = randomProblem(3, 12, 5);
  EXPECT_EQ(solveByMcmc(problem).choices, solveByMcmc(problem).choices);
}

TEST(Mcmc, BeginsWithThePlanThatItIsGiven) {
  Problem problem = randomProblem(3, 12, 5);
  McmcOptions options;
  options.proposals = 0;
  options.start = solve(problem).choices;
  EXPECT_EQ(solveByMcmc(problem, options).choices, options.start);
}
