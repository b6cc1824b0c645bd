//===- StageSolverTest.cpp - the best stages, by brute force --------------===//

#include "compiler/place/Downsets.h"
#include "compiler/plan/stages/StageProblem.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace pdc;
using namespace pdc::plan;

namespace {

/// A problem on its own data.
struct Example {
  StageProblem problem;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, StageCost> costs; // by table, from, to

  void finish() {
    problem.cost = [this](uint32_t from, uint32_t to, uint32_t table) { return costs.at({table, from, to}); };
  }
};

/// Cuts of a chain of `units`.
std::vector<std::vector<uint32_t>> chain(uint32_t units) {
  std::vector<std::vector<uint32_t>> larger(units + 1);
  for (uint32_t cut = 0; cut <= units; ++cut)
    for (uint32_t other = cut + 1; other <= units; ++other)
      larger[cut].push_back(other);
  return larger;
}

/// Cuts of a random graph, with branches.
std::vector<std::vector<uint32_t>> randomCuts(std::mt19937 &random) {
  int nodes = 1 + static_cast<int>(random() % 6);
  place::Dag dag(nodes);
  for (int from = 0; from < nodes; ++from)
    for (int to = from + 1; to < nodes; ++to)
      if (random() % 5 < 2)
        dag.addEdge(from, to);
  place::Downsets sets(nodes);
  EXPECT_TRUE(place::enumerateDownsets(dag, 1000, sets));
  std::vector<std::vector<uint32_t>> larger(sets.size());
  for (uint32_t cut = 0; cut < larger.size(); ++cut)
    for (uint32_t other = cut + 1; other < larger.size(); ++other)
      if (sets.isSubset(static_cast<int>(cut), static_cast<int>(other)))
        larger[cut].push_back(other);
  return larger;
}

/// Stages of unequal ranks, devices of two kinds, memory that binds in one of two.
std::unique_ptr<Example> randomExample(unsigned seed) {
  std::mt19937 random(seed);
  auto pick = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  auto example = std::make_unique<Example>();
  StageProblem &problem = example->problem;
  problem.larger = randomCuts(random);
  problem.ranks = pick(1, 5);
  int64_t microBatches = pick(1, 6);
  for (int64_t stage = 0, stages = pick(1, 4); stage < stages; ++stage)
    problem.inFlight.push_back(std::min(microBatches, stages - stage));
  for (int64_t option = 0, options = pick(1, 4); option < options; ++option)
    problem.optionRanks.push_back(pick(1, 3));
  auto options = static_cast<uint32_t>(problem.optionRanks.size());
  int64_t secondKind = pick(0, problem.ranks);
  problem.tables = 2 * options;
  problem.tableOf = [=](uint32_t option, int64_t firstRank) {
    return option + (firstRank >= secondKind ? options : 0);
  };
  // Few different numbers, so that plans tie.
  bool isCoarse = random() % 2;
  for (uint32_t table = 0; table < problem.tables; ++table)
    for (uint32_t from = 0; from < problem.larger.size(); ++from)
      for (uint32_t to : problem.larger[from])
        example->costs[{table, from, to}] = {
            static_cast<double>(isCoarse ? pick(1, 3) : pick(1, 1000)),
            static_cast<double>(isCoarse ? pick(0, 2) : pick(0, 1000)), pick(0, 60), pick(0, 20)};
  if (random() % 2)
    problem.memoryLimitBytes = pick(5, 70);
  example->finish();
  return example;
}

TEST(StageSolver, FindsTheBestOfAllPlans) {
  int found = 0, overMemory = 0, impossible = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::unique_ptr<Example> example = randomExample(seed);
    ASSERT_EQ(checkStageProblem(example->problem), "");
    StagePlan expected = planStagesByBruteForce(example->problem), plan = planStages(example->problem);
    ASSERT_EQ(verifyStagePlan(example->problem, plan), "") << seed;
    ASSERT_EQ(plan.status, expected.status) << seed;
    if (expected.status == StageStatus::found) {
      EXPECT_DOUBLE_EQ(plan.seconds, expected.seconds) << seed;
      EXPECT_DOUBLE_EQ(plan.lowerBoundSeconds, expected.seconds) << seed;
    }
    found += expected.status == StageStatus::found;
    overMemory += expected.status == StageStatus::overMemory;
    impossible += expected.status == StageStatus::impossible;
  }
  EXPECT_GT(found, 300);
  EXPECT_GT(overMemory, 50);
  EXPECT_GT(impossible, 50);
}

TEST(StageSolver, WhereNothingFitsTheClosestPlanLacksLeast) {
  int compared = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    std::unique_ptr<Example> example = randomExample(seed);
    StagePlan expected = planStagesByBruteForce(example->problem), plan = planStages(example->problem);
    if (expected.status != StageStatus::overMemory)
      continue;
    auto most = [&](const StagePlan &of) {
      int64_t bytes = 0;
      for (size_t s = 0; s < of.stages.size(); ++s)
        bytes = std::max(bytes, stageBytes(of.stages[s].cost, example->problem.inFlight[s]));
      return bytes;
    };
    EXPECT_EQ(most(plan), most(expected)) << seed;
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

TEST(StageSolver, APlanThatIsNoBetterThanAKnownOneIsNotLookedFor) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::unique_ptr<Example> example = randomExample(seed);
    StagePlan best = planStages(example->problem);
    if (best.status != StageStatus::found)
      continue;
    StagePlan none = planStages(example->problem, best.seconds);
    EXPECT_EQ(none.status, StageStatus::impossible) << seed;
    EXPECT_LE(none.lowerBoundSeconds, best.seconds) << seed;
    StagePlan again = planStages(example->problem, best.seconds * 1.001);
    EXPECT_EQ(again.status, StageStatus::found) << seed;
    EXPECT_DOUBLE_EQ(again.seconds, best.seconds) << seed;
  }
}

/// Of a stage that takes so long for each of some micro-batches, under 1F1B.
StageCost costOf(double seconds, int microBatches) { return {seconds, (microBatches - 1) * seconds, 0, 0}; }

/// Four units of one second each, and messages that cost nothing.
TEST(StageSolver, EqualUnitsAreCutEvenly) {
  Example example;
  StageProblem &problem = example.problem;
  problem.larger = chain(4);
  problem.ranks = 2;
  problem.inFlight = {2, 1};
  problem.optionRanks = {1};
  problem.tables = 1;
  problem.tableOf = [](uint32_t, int64_t) { return 0u; };
  problem.cost = [](uint32_t from, uint32_t to, uint32_t) { return costOf(double(to - from), 8); };
  StagePlan plan = planStages(problem);
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].to, 2u);
  EXPECT_DOUBLE_EQ(plan.seconds, 4 + 7 * 2);
}

/// Three units; on two of the ranks a stage is twice as fast. 2-1 is better than 1-2: the first stage has two units.
TEST(StageSolver, AHeavierStageGetsMoreRanks) {
  Example example;
  StageProblem &problem = example.problem;
  problem.larger = chain(3);
  problem.ranks = 3;
  problem.inFlight = {2, 1};
  problem.optionRanks = {1, 2};
  problem.tables = 2;
  problem.tableOf = [](uint32_t option, int64_t) { return option; };
  problem.cost = [](uint32_t from, uint32_t to, uint32_t table) {
    return costOf(double(to - from) / (table + 1), 4);
  };
  StagePlan plan = planStages(problem);
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_DOUBLE_EQ(plan.seconds, 2 + 3 * 1);
  EXPECT_NE(plan.stages[0].option, plan.stages[1].option);
}

/// 1F1B holds two micro-batches on the first stage and one on the last: the first stage gets less of the model.
TEST(StageSolver, MemoryCountsMicroBatchesInFlight) {
  Example example;
  StageProblem &problem = example.problem;
  problem.larger = chain(4);
  problem.ranks = 2;
  problem.inFlight = {2, 1};
  problem.optionRanks = {1};
  problem.tables = 1;
  problem.tableOf = [](uint32_t, int64_t) { return 0u; };
  problem.cost = [](uint32_t from, uint32_t to, uint32_t) {
    StageCost cost = costOf(double(to - from), 4);
    cost.bytesInFlight = 10 * int64_t(to - from);
    return cost;
  };
  problem.memoryLimitBytes = 30;
  StagePlan plan = planStages(problem);
  ASSERT_EQ(plan.status, StageStatus::found);
  EXPECT_EQ(plan.stages[0].to, 1u);
  problem.memoryLimitBytes = 19;
  EXPECT_EQ(planStages(problem).status, StageStatus::overMemory);
}

TEST(StageSolver, BadProblemsAreTold) {
  StageProblem problem;
  EXPECT_NE(checkStageProblem(problem), "");
  problem.inFlight = {1};
  problem.larger = {{1}, {0}};
  EXPECT_NE(checkStageProblem(problem).find("cut 0 cannot hold cut 1"), std::string::npos);
}

} // namespace
