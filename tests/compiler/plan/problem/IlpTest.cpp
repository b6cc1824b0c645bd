//===- IlpTest.cpp - the exact search against an integer program ----------===//

#include "compiler/plan/problem/Ilp.h"
#include "RandomProblems.h"
#include "compiler/plan/problem/BruteForce.h"
#include "compiler/plan/problem/Solver.h"
#include <gtest/gtest.h>

using namespace pdc::plan;
using namespace pdc::plan::testing;

TEST(Ilp, FindsWhatBruteForceFinds) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Problem problem = randomProblem(seed, 6, 3);
    if (seed % 2 == 1)
      problem.memoryLimitBytes = 2000;
    Solution best = solveByBruteForce(problem), found = solveByIlp(problem);
    EXPECT_EQ(verifySolution(problem, found), "") << "seed " << seed;
    ASSERT_EQ(found.status, best.status) << "seed " << seed;
    if (best.status == SolutionStatus::found)
      EXPECT_NEAR(found.seconds, best.seconds, 1e-7 * best.seconds + 1e-9) << "seed " << seed;
  }
}

TEST(Ilp, AgreesWithTheExactSearchOnHundredsOfProblemsOfMediumSize) {
  unsigned found = 0;
  for (unsigned seed = 1000; seed < 1200; ++seed) {
    Problem problem = randomProblem(seed, 10, 4);
    if (seed % 2 == 1) { // between the fastest plan and the smallest
      int64_t most = solve(problem).bytes;
      problem.memoryLimitBytes = most * 8 / 10;
    }
    Solution exact = solve(problem), ilp = solveByIlp(problem);
    ASSERT_EQ(verifySolution(problem, exact), "") << "seed " << seed;
    ASSERT_EQ(exact.proof, Proof::exact) << "seed " << seed;
    ASSERT_EQ(exact.status, ilp.status) << "seed " << seed;
    if (exact.status != SolutionStatus::found)
      continue;
    ++found;
    EXPECT_NEAR(exact.seconds, ilp.seconds, 1e-7 * exact.seconds + 1e-9) << "seed " << seed;
  }
  EXPECT_GT(found, 80u);
}
