//===- RunnerUpsTest.cpp - second-best choices against brute force --------===//

#include "compiler/plan/problem/RunnerUps.h"
#include "RandomProblems.h"
#include "compiler/plan/problem/BruteForce.h"
#include "compiler/plan/problem/Solver.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace pdc::plan;
using namespace pdc::plan::testing;

static std::vector<uint32_t> allNodes(const Problem &problem) {
  std::vector<uint32_t> nodes(problem.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// The best plan in which a node does not take its choice.
static Solution bestWithout(Problem problem, uint32_t node, uint32_t choice) {
  problem.nodes[node].fixedChoice.reset();
  problem.nodes[node].bannedChoices.push_back(choice);
  return solveByBruteForce(problem);
}

TEST(RunnerUps, CostWhatBruteForceSaysOnRandomProblems) {
  unsigned compared = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Problem problem = randomProblem(seed, 6, 3);
    Solution solution = solve(problem);
    if (solution.status == SolutionStatus::impossible)
      continue;
    std::vector<std::optional<RunnerUp>> runnerUps = findRunnerUps(problem, solution, allNodes(problem));
    for (uint32_t node = 0; node < problem.nodes.size(); ++node) {
      if (problem.nodes[node].fixedChoice) {
        EXPECT_FALSE(runnerUps[node]) << "somebody has decided; seed " << seed;
        continue;
      }
      Solution second = bestWithout(problem, node, solution.choices[node]);
      ASSERT_EQ(runnerUps[node].has_value(), second.status == SolutionStatus::found) << "seed " << seed;
      if (!runnerUps[node])
        continue;
      ++compared;
      EXPECT_TRUE(runnerUps[node]->isExact);
      EXPECT_NE(runnerUps[node]->choice, solution.choices[node]);
      EXPECT_NEAR(runnerUps[node]->extraSeconds, second.seconds - solution.seconds, 1e-12)
          << "seed " << seed << " node " << node;
    }
  }
  EXPECT_GT(compared, 120u);
}

TEST(RunnerUps, OfSomeNodesAreThoseOfAll) {
  unsigned compared = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Problem problem = randomProblem(seed, 7, 4);
    Solution solution = solve(problem);
    if (solution.status == SolutionStatus::impossible)
      continue;
    std::vector<std::optional<RunnerUp>> all = findRunnerUps(problem, solution, allNodes(problem));
    std::vector<uint32_t> asked;
    for (uint32_t node = seed % 3; node < problem.nodes.size(); node += 3)
      asked.push_back(node);
    std::vector<std::optional<RunnerUp>> some = findRunnerUps(problem, solution, asked);
    ASSERT_EQ(some.size(), asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      ASSERT_EQ(some[i].has_value(), all[asked[i]].has_value()) << "seed " << seed;
      if (!some[i])
        continue;
      ++compared;
      EXPECT_TRUE(some[i]->isExact);
      EXPECT_NEAR(some[i]->extraSeconds, all[asked[i]]->extraSeconds, 1e-12) << "seed " << seed;
    }
  }
  EXPECT_GT(compared, 120u);
}

TEST(RunnerUps, WithoutRoomForTablesTheOthersStayAndThatIsSaid) {
  ProblemMaker maker(7);
  for (uint32_t i = 0; i < 5; ++i)
    maker.addNode(maker.addUnary(3, false, false));
  for (uint32_t i = 0; i < 4; ++i)
    maker.addEdge(i, i + 1);
  const Problem &problem = maker.problem;
  Solution solution = solve(problem);
  ASSERT_EQ(solution.status, SolutionStatus::found);
  SearchLimits none;
  none.operations = 0;
  unsigned found = 0;
  for (const std::optional<RunnerUp> &runnerUp : findRunnerUps(problem, solution, allNodes(problem), none))
    if (runnerUp) {
      ++found;
      EXPECT_FALSE(runnerUp->isExact);
      EXPECT_GE(runnerUp->extraSeconds, 0);
    }
  EXPECT_EQ(found, 5u);
}
