//===- SolverTest.cpp - the exact search against brute force --------------===//

#include "compiler/plan/problem/Solver.h"
#include "RandomProblems.h"
#include "compiler/plan/problem/BestOf.h"
#include "compiler/plan/problem/BruteForce.h"
#include "compiler/plan/problem/FastestOf.h"
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

TEST(Solve, UnderAMemoryLimitTheBestOfFiveHundredRandomProblemsIsFound) {
  unsigned found = 0, overMemory = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    Problem problem = randomProblem(seed);
    // From too little to enough.
    problem.memoryLimitBytes = static_cast<int64_t>(4 + seed % 7) * solveByBruteForce(problem).bytes / 10;
    Solution best = solveByBruteForce(problem), solution = solve(problem);
    ASSERT_EQ(verifySolution(problem, solution), "") << "seed " << seed;
    ASSERT_EQ(solution.status, best.status) << "seed " << seed;
    EXPECT_EQ(solution.proof, Proof::exact) << "seed " << seed;
    if (best.status == SolutionStatus::found) {
      ++found;
      EXPECT_NEAR(solution.seconds, best.seconds, 1e-12) << "seed " << seed;
    } else if (best.status == SolutionStatus::overMemory) {
      ++overMemory;
      EXPECT_EQ(solution.bytes, best.bytes) << "seed " << seed;
      EXPECT_EQ(solution.lowerBoundBytes, best.bytes) << "seed " << seed;
      EXPECT_EQ(solution.excessBytes(problem), best.bytes - *problem.memoryLimitBytes);
    }
  }
  EXPECT_GT(found, 150u);
  EXPECT_GT(overMemory, 50u);
}

TEST(SolveBestOf, TheBestPlanOfFourProblemsWithinALimitIsFound) {
  unsigned fits = 0, fitsNot = 0;
  for (unsigned seed = 0; seed < 400; seed += 4) {
    std::vector<Problem> problems;
    for (unsigned i = 0; i < 4; ++i)
      problems.push_back(randomProblem(seed + i));
    int64_t limit = static_cast<int64_t>(3 + seed / 4 % 7) * solveByBruteForce(problems[seed / 4 % 4]).bytes / 10;
    std::vector<OpenProblem> open;
    double best = forbidden;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (Problem &problem : problems) {
      Solution fastest = solveWithoutLimit(problem);
      problem.memoryLimitBytes = limit;
      open.push_back({&problem, fastest});
      Solution own = solveByBruteForce(problem);
      if (own.status == SolutionStatus::found)
        best = std::min(best, own.seconds);
      else if (own.status == SolutionStatus::overMemory)
        least = std::min(least, own.bytes);
    }
    solveBestOf(open);
    double found = forbidden, bound = forbidden;
    int64_t closest = std::numeric_limits<int64_t>::max();
    for (const OpenProblem &one : open) {
      ASSERT_EQ(verifySolution(*one.problem, one.solution), "") << "seed " << seed;
      if (one.solution.status == SolutionStatus::found) {
        found = std::min(found, one.solution.seconds);
        bound = std::min(bound, one.solution.lowerBoundSeconds);
      } else if (one.solution.status == SolutionStatus::overMemory) {
        closest = std::min(closest, one.solution.bytes);
      }
    }
    if (best == forbidden) {
      ++fitsNot;
      EXPECT_EQ(found, forbidden) << "seed " << seed;
      EXPECT_EQ(closest, least) << "seed " << seed;
      continue;
    }
    ++fits;
    EXPECT_NEAR(found, best, 1e-12) << "seed " << seed;
    EXPECT_LE(bound, best + 1e-12) << "seed " << seed;
  }
  EXPECT_GT(fits, 60u);
  EXPECT_GT(fitsNot, 5u);
}

TEST(SolveFastestOf, TheFastestPlanOfFourProblemsIsFound) {
  unsigned possible = 0, leftOut = 0;
  for (unsigned seed = 0; seed < 400; seed += 4) {
    std::vector<Problem> problems;
    for (unsigned i = 0; i < 4; ++i)
      problems.push_back(randomProblem(seed + i));
    SearchLimits limits;
    if (seed % 8 == 0)
      limits.operations = 400; // nearly all are wide
    std::vector<OpenProblem> open;
    std::vector<double> fastest;
    for (Problem &problem : problems) {
      open.push_back({&problem, Solution()});
      Solution own = solveByBruteForce(problem);
      fastest.push_back(own.status == SolutionStatus::found ? own.seconds : forbidden);
    }
    solveFastestOf(open, limits);
    double best = *std::min_element(fastest.begin(), fastest.end()), found = forbidden;
    for (size_t i = 0; i < open.size(); ++i) {
      const Solution &own = open[i].solution;
      ASSERT_EQ(verifySolution(*open[i].problem, own), "") << "seed " << seed;
      ASSERT_EQ(own.status == SolutionStatus::found, fastest[i] != forbidden) << "seed " << seed << ", problem " << i;
      if (own.status != SolutionStatus::found)
        continue;
      found = std::min(found, own.seconds);
      // Bounds are bounds; what is not proved cannot be faster than what is found.
      EXPECT_LE(own.lowerBoundSeconds, fastest[i] + 1e-12) << "seed " << seed << ", problem " << i;
      EXPECT_GE(own.lowerBoundSeconds, best - 1e-12) << "seed " << seed << ", problem " << i;
      if (own.proof == Proof::exact)
        EXPECT_NEAR(own.seconds, fastest[i], 1e-12) << "seed " << seed << ", problem " << i;
      else
        ++leftOut;
    }
    possible += best != forbidden;
    if (best != forbidden)
      EXPECT_NEAR(found, best, 1e-12) << "seed " << seed;
  }
  EXPECT_EQ(possible, 100u);
  EXPECT_GT(leftOut, 10u);
}

TEST(Solve, AGapThatIsSmallEnoughEndsTheSearch) {
  unsigned withGap = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Problem problem = randomProblem(seed);
    problem.memoryLimitBytes = 7 * solve(problem).bytes / 10;
    Solution best = solve(problem);
    SearchLimits limits;
    limits.smallGap = 0.3;
    Solution found = solve(problem, limits);
    ASSERT_EQ(verifySolution(problem, found), "") << "seed " << seed;
    ASSERT_EQ(found.status, best.status) << "seed " << seed;
    if (found.status != SolutionStatus::found)
      continue;
    EXPECT_LE(found.gap(), 0.3) << "seed " << seed;
    EXPECT_LE(found.lowerBoundSeconds, best.seconds + 1e-12) << "seed " << seed;
    withGap += found.gap() > 0;
  }
  EXPECT_GT(withGap, 5u);
}

/// The structure of a graph, by its edges.
using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

static void expectBest(const Edges &edges, uint32_t nodes, unsigned seed) {
  ProblemMaker maker(seed);
  for (uint32_t i = 0; i < nodes; ++i)
    maker.addNode(maker.addUnary(2 + maker.below(2), false, false));
  for (auto [first, second] : edges)
    maker.addEdge(first, second);
  Solution solution = solve(maker.problem);
  EXPECT_EQ(verifySolution(maker.problem, solution), "");
  EXPECT_EQ(solution.proof, Proof::exact);
  EXPECT_NEAR(solution.seconds, solveByBruteForce(maker.problem).seconds, 1e-12);
}

TEST(Solve, AChain) {
  Edges edges;
  for (uint32_t i = 0; i < 11; ++i)
    edges.push_back({i, i + 1});
  for (unsigned seed = 0; seed < 10; ++seed)
    expectBest(edges, 12, seed);
}

TEST(Solve, ATree) {
  Edges edges;
  for (uint32_t i = 1; i < 12; ++i)
    edges.push_back({(i - 1) / 2, i});
  for (unsigned seed = 0; seed < 10; ++seed)
    expectBest(edges, 12, seed);
}

TEST(Solve, AChainWithResidualEdges) {
  Edges edges;
  for (uint32_t i = 0; i < 11; ++i) {
    edges.push_back({i, i + 1});
    if (i % 3 == 0 && i + 3 < 12)
      edges.push_back({i + 3, i});
  }
  for (unsigned seed = 0; seed < 10; ++seed)
    expectBest(edges, 12, seed);
}

TEST(Solve, AGrid) {
  Edges edges;
  for (uint32_t row = 0; row < 3; ++row)
    for (uint32_t column = 0; column < 4; ++column) {
      if (column < 3)
        edges.push_back({4 * row + column, 4 * row + column + 1});
      if (row < 2)
        edges.push_back({4 * row + column, 4 * row + column + 4});
    }
  for (unsigned seed = 0; seed < 10; ++seed)
    expectBest(edges, 12, seed);
}

TEST(Solve, AProblemWithoutDecisionsTakesWhatIsFixed) {
  Problem problem;
  problem.fixedSeconds = 0.5;
  problem.fixedBytes = 100;
  Solution solution = solve(problem);
  EXPECT_EQ(verifySolution(problem, solution), "");
  EXPECT_EQ(solution.seconds, 0.5);
  EXPECT_EQ(solution.bytes, 100);
}

TEST(Solve, ADecisionWithoutAChoiceIsImpossible) {
  Problem problem;
  problem.unaryTables = {{{forbidden, 1}, {}}};
  problem.nodes = {{0, std::nullopt, {1}}};
  EXPECT_EQ(solve(problem).status, SolutionStatus::impossible);
  EXPECT_EQ(solve(problem).proof, Proof::exact);
}

TEST(Solve, PairsThatForbidEachOtherAreImpossible) {
  Problem problem;
  problem.unaryTables = {{{1, 1}, {}}};
  problem.pairTables = {{2, 2, {forbidden, forbidden, forbidden, forbidden}, {}}};
  problem.nodes = {{0, std::nullopt, {}}, {0, std::nullopt, {}}};
  problem.edges = {{0, 1, 0}};
  EXPECT_EQ(solve(problem).status, SolutionStatus::impossible);
  EXPECT_EQ(solve(problem).proof, Proof::exact);
}

// Tables are pooled by their entries: those of the edges are the same, their shapes are not.
TEST(Solve, TablesOfDifferentShapesMayHaveTheSameEntries) {
  Problem problem;
  problem.unaryTables = {{{0.1, 0.3}, {}}, {{0.2, 0.1, 0.4}, {}}};
  std::vector<double> entries{5, 1, 4, 2, 6, 3};
  problem.pairTables = {{2, 3, entries, {}}, {3, 2, entries, {}}};
  problem.nodes = {{0, std::nullopt, {}}, {1, std::nullopt, {}}, {0, std::nullopt, {}}, {1, std::nullopt, {}}};
  problem.edges = {{0, 1, 0}, {1, 2, 1}, {2, 3, 0}, {3, 0, 1}};
  Solution solution = solve(problem);
  EXPECT_EQ(verifySolution(problem, solution), "");
  EXPECT_NEAR(solution.seconds, solveByBruteForce(problem).seconds, 1e-12);
}

TEST(Solve, TheSameProblemGivesTheSameChoices) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Problem problem = randomProblem(seed, 30, 6);
    EXPECT_EQ(solve(problem).choices, solve(problem).choices);
  }
}
