//===- SolverTest.cpp - the exact search against brute force --------------===//

#include "compiler/plan/problem/Solver.h"
#include "RandomProblems.h"
#include "compiler/plan/problem/BruteForce.h"
#include <gtest/gtest.h>

using namespace pdc::plan;
using namespace pdc::plan::testing;

TEST(Solve, TheBestOfFiveHundredRandomProblemsIsFound) {
  unsigned possible = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    Problem problem = randomProblem(seed);
    ASSERT_EQ(checkProblem(problem), "") << "seed " << seed;
    Solution best = solveByBruteForce(problem), found = solve(problem);
    ASSERT_EQ(verifySolution(problem, found), "") << "seed " << seed;
    ASSERT_EQ(found.status, best.status) << "seed " << seed;
    EXPECT_EQ(found.proof, Proof::exact) << "seed " << seed;
    if (best.status == SolutionStatus::impossible)
      continue;
    ++possible;
    EXPECT_NEAR(found.seconds, best.seconds, 1e-12) << "seed " << seed;
    EXPECT_EQ(found.gap(), 0);
  }
  EXPECT_GT(possible, 400u);
}
