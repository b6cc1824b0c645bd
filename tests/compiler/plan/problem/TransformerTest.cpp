//===- TransformerTest.cpp - identical layers are solved once -------------===//

#include "compiler/plan/problem/Elimination.h"
#include "compiler/plan/problem/Mcmc.h"
#include "compiler/plan/problem/PricedSearch.h"
#include "compiler/plan/problem/Solver.h"
#include "tools/bench/solver/TransformerProblem.h"
#include <gtest/gtest.h>

using namespace pdc::plan;

static Problem transformer(uint32_t layers, uint32_t states) {
  return makeTransformerProblem({layers, states, states});
}

TEST(Transformer, TablesDoNotGrowWithTheNumberOfLayers) {
  Solution few = solve(transformer(24, 3)), many = solve(transformer(96, 3));
  EXPECT_EQ(few.proof, Proof::exact);
  EXPECT_EQ(many.proof, Proof::exact);
  EXPECT_GT(many.statistics.eliminations, 3 * few.statistics.eliminations);
  EXPECT_LT(many.statistics.tablesComputed,
            few.statistics.tablesComputed + few.statistics.tablesComputed / 4);
  EXPECT_GT(many.statistics.memoHits, many.statistics.eliminations / 2);
}

TEST(Transformer, NinetySixLayersAreSolvedAsIfNothingWereRemembered) {
  Problem problem = transformer(96, 3);
  SearchLimits limits;
  limits.operations = 1e12;
  limits.tableEntries = 1e12;
  SolverStatistics remembered, computed;
  Domains domains = allowedChoices(problem);
  CostNetwork network = buildPrunedNetwork(problem, domains, {}, solve(problem).seconds, computed);
  EliminationOrder order = orderElimination(network);
  Elimination withMemory(network, order), without(network, order, false);
  EXPECT_EQ(withMemory.run(limits, remembered), without.run(limits, computed));
  EXPECT_EQ(withMemory.choices(), without.choices());
  EXPECT_EQ(computed.tablesComputed, computed.eliminations);
  EXPECT_LT(remembered.tablesComputed, computed.tablesComputed / 4);
}

TEST(Transformer, WithoutRoomForTablesTheBoundHoldsAndTheGapIsSaid) {
  Problem problem = transformer(4, 4);
  Solution exact = solve(problem);
  ASSERT_EQ(exact.proof, Proof::exact);
  SearchLimits limits;
  limits.operations = 20000;
  limits.tableEntries = 2000;
  limits.searchNodes = 3000;
  Solution bounded = solve(problem, limits);
  EXPECT_EQ(verifySolution(problem, bounded), "");
  EXPECT_EQ(bounded.proof, Proof::bound);
  EXPECT_LE(bounded.lowerBoundSeconds, exact.seconds * (1 + 1e-12));
  EXPECT_GE(bounded.seconds, exact.seconds);
  EXPECT_LT(bounded.gap(), 0.15);
  EXPECT_GT(bounded.gap(), 0);
}

TEST(Transformer, WithLittleRoomForTablesNarrowBoundsProveThePlan) {
  Problem problem = transformer(4, 3);
  Solution exact = solve(problem);
  SearchLimits limits;
  limits.operations = 20000;
  limits.tableEntries = 2000;
  Solution narrowed = solve(problem, limits);
  EXPECT_EQ(verifySolution(problem, narrowed), "");
  EXPECT_EQ(narrowed.proof, Proof::exact);
  EXPECT_NEAR(narrowed.seconds, exact.seconds, 1e-12 * exact.seconds);
}

TEST(Transformer, UnderAMemoryLimitTheGapIsSmall) {
  Problem problem = transformer(12, 3);
  Solution fastest = solve(problem);
  problem.memoryLimitBytes = fastest.bytes * 9 / 10;
  Solution solution = solve(problem);
  EXPECT_EQ(verifySolution(problem, solution), "");
  ASSERT_EQ(solution.status, SolutionStatus::found);
  EXPECT_GE(solution.lowerBoundSeconds, fastest.seconds * (1 - 1e-12));
  EXPECT_LT(solution.gap(), 0.01);
  EXPECT_GT(solution.secondsPerByte, 0);
}

TEST(Transformer, AHundredThousandProposalsFindNothingBetter) {
  Problem problem = transformer(6, 4);
  Solution exact = solve(problem);
  ASSERT_EQ(exact.proof, Proof::exact);
  EXPECT_GE(solveByMcmc(problem).seconds, exact.seconds);
  McmcOptions fromExact;
  fromExact.start = exact.choices;
  EXPECT_EQ(solveByMcmc(problem, fromExact).seconds, exact.seconds);
}
