//===- ArenaPlanTest.cpp - what arena plans promise -----------------------===//

#include "passes/memory/ArenaPlan.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace pdc::passes;
using testing::ElementsAre;
using testing::HasSubstr;

static ArenaProblem randomProblem(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  ArenaProblem problem;
  problem.begin = 64 * below(3);
  for (int64_t i = 0, n = 1 + below(60); i < n; ++i) {
    ArenaBuffer buffer{below(10000), below(50), 0, int64_t{64} << below(3)};
    buffer.last = buffer.first + below(20);
    problem.buffers.push_back(buffer);
  }
  return problem;
}

TEST(ArenaPlan, BuffersThatNeverLiveTogetherShareMemory) {
  ArenaProblem problem{{{128, 0, 1}, {128, 2, 3}, {64, 4, 4}}};
  ArenaPlan plan = planArena(problem);
  EXPECT_THAT(plan.offsets, ElementsAre(0, 0, 0));
  EXPECT_EQ(plan.bytes, 128);
}

TEST(ArenaPlan, BuffersThatShareOneInstructionLieApart) {
  ArenaProblem problem{{{100, 0, 1}, {100, 1, 2}}};
  ArenaPlan plan = planArena(problem);
  EXPECT_THAT(plan.offsets, ElementsAre(0, 128));
  EXPECT_EQ(plan.bytes, 228);
}

TEST(ArenaPlan, AForwardAndBackwardChainReachesTheLowerBound) {
  // Activations 0 to 3 are made in order and used in the opposite one; one gradient lives beside them at a
  // time.
  ArenaProblem problem;
  for (int64_t i = 0; i < 4; ++i)
    problem.buffers.push_back({1024, i, 8 - i});
  for (int64_t i = 0; i < 4; ++i)
    problem.buffers.push_back({512, 4 + i, 5 + i});
  ArenaPlan plan = planArena(problem);
  EXPECT_EQ(verifyArenaPlan(problem, plan), "");
  EXPECT_EQ(plan.bytes, arenaLowerBound(problem));
}

TEST(ArenaPlan, NothingLiesBelowTheBeginning) {
  ArenaProblem problem{{{10, 0, 0}, {10, 0, 0}}, 1000};
  ArenaPlan plan = planArena(problem);
  EXPECT_THAT(plan.offsets, ElementsAre(1024, 1088));
  EXPECT_EQ(plan.bytes, 1098);
}

TEST(ArenaPlan, AnEmptyProblemTakesWhatIsTaken) { EXPECT_EQ(planArena({{}, 640}).bytes, 640); }

TEST(ArenaPlan, EveryPlanOfRandomProblemsIsValidAndNoSmallerThanTheBound) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    ArenaProblem problem = randomProblem(seed);
    ASSERT_EQ(checkArenaProblem(problem), "");
    ArenaPlan plan = planArena(problem);
    EXPECT_EQ(verifyArenaPlan(problem, plan), "") << "seed " << seed;
    EXPECT_GE(plan.bytes, arenaLowerBound(problem)) << "seed " << seed;
  }
}

TEST(ArenaPlan, TheSameProblemGivesTheSamePlan) {
  ArenaProblem problem = randomProblem(7);
  EXPECT_EQ(planArena(problem).offsets, planArena(problem).offsets);
}

TEST(VerifyArenaPlan, OverlapOfLiveBuffersIsFound) {
  ArenaProblem problem{{{128, 0, 2}, {128, 2, 3}}};
  EXPECT_THAT(verifyArenaPlan(problem, {{0, 64}, 256}), HasSubstr("overlap and are both alive at 2"));
}

TEST(VerifyArenaPlan, WrongAlignmentIsFound) {
  EXPECT_THAT(verifyArenaPlan({{{8, 0, 0}}}, {{8}, 64}), HasSubstr("not at a multiple of 64"));
}

TEST(VerifyArenaPlan, ABufferOutsideOfTheArenaIsFound) {
  EXPECT_THAT(verifyArenaPlan({{{128, 0, 0}}}, {{0}, 64}), HasSubstr("outside"));
}

TEST(CheckArenaProblem, ALifeThatEndsBeforeItBeginsIsFound) {
  EXPECT_THAT(checkArenaProblem({{{8, 3, 2}}}), HasSubstr("lives from 3 to 2"));
}

TEST(CheckArenaProblem, AnAlignmentThatIsNoPowerOfTwoIsFound) {
  EXPECT_THAT(checkArenaProblem({{{8, 0, 0, 48}}}), HasSubstr("power of two"));
}
