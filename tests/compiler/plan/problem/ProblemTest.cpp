//===- ProblemTest.cpp - what is refused before and after a search --------===//

#include "compiler/plan/problem/Problem.h"
#include "compiler/plan/problem/Solver.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pdc::plan;
using ::testing::HasSubstr;

/// Two decisions of two choices, joined by an edge.
static Problem twoNodes() {
  Problem problem;
  problem.unaryTables = {{{1, 2}, {10, 5}}};
  problem.pairTables = {{2, 2, {0, 3, 3, 0}, {}}};
  problem.nodes = {{0, std::nullopt, {}}, {0, std::nullopt, {}}};
  problem.edges = {{0, 1, 0}};
  return problem;
}

TEST(CheckProblem, AGoodProblemHasNoError) { EXPECT_EQ(checkProblem(twoNodes()), ""); }

TEST(CheckProblem, ANegativeTimeIsRefused) {
  Problem problem = twoNodes();
  problem.unaryTables[0].seconds[1] = -1;
  EXPECT_THAT(checkProblem(problem), HasSubstr("unary table 0 has a time of -1.000000 s at entry 1"));
}

TEST(CheckProblem, ATimeThatIsNoNumberIsRefused) {
  Problem problem = twoNodes();
  problem.pairTables[0].seconds[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(checkProblem(problem), HasSubstr("pair table 0 has a time of nan s at entry 2"));
}

TEST(CheckProblem, NegativeMemoryIsRefused) {
  Problem problem = twoNodes();
  problem.unaryTables[0].bytes[0] = -7;
  EXPECT_THAT(checkProblem(problem), HasSubstr("takes -7 bytes at entry 0"));
}

TEST(CheckProblem, AsManySizesAsTimesAreExpected) {
  Problem problem = twoNodes();
  problem.unaryTables[0].bytes.push_back(1);
  EXPECT_THAT(checkProblem(problem), HasSubstr("3 sizes of memory for 2 times"));
}

TEST(CheckProblem, ATableWithoutChoicesIsRefused) {
  Problem problem = twoNodes();
  problem.unaryTables.emplace_back();
  EXPECT_THAT(checkProblem(problem), HasSubstr("unary table 1 has no choices"));
}

TEST(CheckProblem, ATableWithoutAllItsEntriesIsRefused) {
  Problem problem = twoNodes();
  problem.pairTables[0].seconds.pop_back();
  EXPECT_THAT(checkProblem(problem), HasSubstr("has 3 entries; expected 2 x 2"));
}

TEST(CheckProblem, AnEdgeTableOfAnotherShapeIsRefused) {
  Problem problem = twoNodes();
  problem.pairTables.push_back({2, 3, {0, 0, 0, 0, 0, 0}, {}});
  problem.edges[0].pairTable = 1;
  EXPECT_THAT(checkProblem(problem), HasSubstr("joins nodes with 2 and 2 choices by a table of 2 x 3"));
}

TEST(CheckProblem, AnEdgeFromANodeToItselfIsRefused) {
  Problem problem = twoNodes();
  problem.edges[0] = {1, 1, 0};
  EXPECT_THAT(checkProblem(problem), HasSubstr("joins node 1 with itself"));
}

TEST(CheckProblem, UnknownNumbersAreRefused) {
  Problem problem = twoNodes();
  problem.edges[0].second = 9;
  EXPECT_THAT(checkProblem(problem), HasSubstr("ends at node 9 of 2"));
  problem = twoNodes();
  problem.edges[0].pairTable = 4;
  EXPECT_THAT(checkProblem(problem), HasSubstr("uses pair table 4 of 1"));
  problem = twoNodes();
  problem.nodes[1].unaryTable = 3;
  EXPECT_THAT(checkProblem(problem), HasSubstr("node 1 uses unary table 3 of 1"));
}

TEST(CheckProblem, AFixedChoiceThatIsNotThereIsRefused) {
  Problem problem = twoNodes();
  problem.nodes[0].fixedChoice = 2;
  EXPECT_THAT(checkProblem(problem), HasSubstr("node 0 is fixed to choice 2 of 2"));
}

TEST(CheckProblem, AFixedChoiceThatIsBannedIsRefused) {
  Problem problem = twoNodes();
  problem.nodes[0].fixedChoice = 1;
  problem.nodes[0].bannedChoices = {1};
  EXPECT_THAT(checkProblem(problem), HasSubstr("is fixed to choice 1, which it bans"));
}

TEST(CheckProblem, ANegativeMemoryLimitIsRefused) {
  Problem problem = twoNodes();
  problem.memoryLimitBytes = -1;
  EXPECT_THAT(checkProblem(problem), HasSubstr("memory limit is -1 bytes"));
}

TEST(CheckProblem, MemoryBeyondNumbersIsRefused) {
  Problem problem = twoNodes();
  problem.unaryTables[0].bytes = {int64_t{1} << 62, int64_t{1} << 62};
  EXPECT_THAT(checkProblem(problem), HasSubstr("does not fit a 64-bit number"));
}

TEST(VerifySolution, AWrongSumIsFound) {
  Problem problem = twoNodes();
  Solution solution = solve(problem);
  ASSERT_EQ(verifySolution(problem, solution), "");
  solution.seconds += 1;
  EXPECT_THAT(verifySolution(problem, solution), HasSubstr("the solution says 3"));
  solution.seconds -= 1;
  solution.bytes = 1;
  EXPECT_THAT(verifySolution(problem, solution), HasSubstr("the choices take 20 bytes; the solution says 1"));
}

TEST(VerifySolution, AChoiceThatMayNotBeTakenIsFound) {
  Problem problem = twoNodes();
  Solution solution = solve(problem);
  problem.nodes[1].bannedChoices = {solution.choices[1]};
  EXPECT_THAT(verifySolution(problem, solution), HasSubstr("node 1 takes choice 0, which is banned"));
  problem.nodes[1].bannedChoices.clear();
  problem.nodes[0].fixedChoice = 1;
  EXPECT_THAT(verifySolution(problem, solution), HasSubstr("node 0 takes choice 0, but is fixed to 1"));
  problem.nodes[0].fixedChoice.reset();
  problem.pairTables[0].seconds[0] = forbidden;
  EXPECT_THAT(verifySolution(problem, solution), HasSubstr("forbidden"));
}

TEST(VerifySolution, AMemoryLimitThatIsNotKeptIsFound) {
  Problem problem = twoNodes();
  Solution solution = solve(problem);
  problem.memoryLimitBytes = 19;
  EXPECT_THAT(verifySolution(problem, solution), HasSubstr("take 20 bytes of 19"));
}

TEST(VerifySolution, ABoundAboveThePlanIsFound) {
  Problem problem = twoNodes();
  Solution solution = solve(problem);
  solution.lowerBoundSeconds = 3;
  EXPECT_THAT(verifySolution(problem, solution), HasSubstr("lower bound of 3 s is above the solution's 2 s"));
}
