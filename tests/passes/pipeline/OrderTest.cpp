// Schedules as text, and cuts of a chain of ops into stages.
#include "passes/pipeline/StageCut.h"
#include "passes/pipeline/TaskOrder.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <numeric>
#include <random>

namespace pdc::passes {
namespace {

TaskOrder read(llvm::StringRef text) {
  llvm::Expected<TaskOrder> order = parseTaskOrder(text);
  EXPECT_TRUE(bool(order)) << llvm::toString(order.takeError());
  return *order;
}

std::string errorOf(llvm::StringRef text) {
  llvm::Expected<TaskOrder> order = parseTaskOrder(text);
  return order ? "" : llvm::toString(order.takeError());
}

TEST(TaskOrder, ReadsALineAStage) {
  TaskOrder order = read("F0 F1 B0 B1\nF0 B0 F1 B1\n");
  EXPECT_EQ(order.microBatches, 2);
  ASSERT_EQ(order.stages.size(), 2u);
  EXPECT_EQ(order.stages[1][1], (StageTask{'B', 0, 1}));
  EXPECT_EQ(order.stageOf, (std::vector<int64_t>{0, 1}));
}

TEST(TaskOrder, ChunksFollowADot) {
  TaskOrder order = read("F0 F0.2 B0.2 B0; F0 F0.3 I0.3 W0.3 B0");
  EXPECT_EQ(order.stageOf, (std::vector<int64_t>{0, 1, 0, 1}));
  EXPECT_EQ(order.stages[1][2], (StageTask{'I', 0, 3}));
}

TEST(TaskOrder, ChunksBeyondTheModelAreCopiesOfIt) {
  TaskOrder order = read("F0 F1.3 B1.3 B0; F1.2 F0 B0 B1.2");
  EXPECT_EQ(order.copies(), 2);
  EXPECT_EQ(order.chunkCount(), 2);
  EXPECT_EQ(order.copyOf, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(order.copyFor(1, 1), 3);
  EXPECT_EQ(order.stagesOf(0), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(order.stageFor(0, 0), 0);
  EXPECT_EQ(order.stageFor(0, 1), 1);
  EXPECT_EQ(order.wholeBatch().copies(), 1);
  EXPECT_EQ(order.wholeBatch().stages[1], (std::vector<StageTask>{{'F', 0, 1}}));
  EXPECT_EQ(read("F0 F1 B0 B1").copies(), 1);
}

TEST(TaskOrder, ReplicasTakeMicroBatchesInTurn) {
  llvm::Expected<TaskOrder> parsed = parseTaskOrder("F0 F2 B0 B2; F1 B1; F0 B0 F1 B1 F2 B2", {2, 1});
  ASSERT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
  const TaskOrder &order = *parsed;
  EXPECT_EQ(order.chunkCount(), 2);
  EXPECT_EQ(order.groupCount(), 2);
  EXPECT_EQ(order.modelChunk(1), 0);
  EXPECT_EQ(order.modelChunk(2), 1);
  EXPECT_EQ(order.stageFor(0, 0), 0);
  EXPECT_EQ(order.stageFor(0, 1), 1);
  EXPECT_EQ(order.stageFor(0, 2), 0);
  EXPECT_EQ(order.stageFor(1, 2), 2);
  EXPECT_EQ(order.stagesOf(0), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(order.leaderOf(1), 0);
  EXPECT_EQ(order.turnOf(1), 1);
  EXPECT_EQ(order.turnOf(2), 0);
  EXPECT_EQ(order.forwardOnly().stages[0].size(), 2u);
  // Of inference each replica has a part.
  TaskOrder whole = order.wholeBatch();
  EXPECT_TRUE(whole.replicas.empty());
  EXPECT_EQ(whole.stages.size(), 2u);
  EXPECT_EQ(whole.stageFor(1, 0), 1);
}

TEST(TaskOrder, ReplicasThatDoNotFitTheScheduleAreRefused) {
  auto refused = [](llvm::StringRef text, std::vector<int64_t> replicas) {
    llvm::Expected<TaskOrder> order = parseTaskOrder(text, replicas);
    return order ? std::string() : llvm::toString(order.takeError());
  };
  EXPECT_NE(refused("F0 B0; F0 B0", {2, 1}).find("it has 2 lines, expected one for each of 3 replicas"), std::string::npos);
  EXPECT_NE(refused("F0 B0; F0 B0", {2}).find("micro-batch 0 runs on chunk 1 as 'FB'"), std::string::npos);
  EXPECT_NE(refused("F0 B0; F1 B1", {1, 1}).find("micro-batch 1 runs on chunk 0 as ''"), std::string::npos);
  EXPECT_NE(refused("F0 B0 F1.2 B1.2; F0 B0; F1.1 B1.1", {1, 2}).find("chunk 1 is on stages 1 and 2"), std::string::npos);
}

TEST(TaskOrder, EvaluationRunsTheForwardTasksAndInferenceTheWholeBatch) {
  TaskOrder order = read("F0 F1 B0 B1 F0.1 F1.1 B0.1 B1.1");
  EXPECT_EQ(order.forwardOnly().stages[0].size(), 4u);
  EXPECT_EQ(order.wholeBatch().stages[0], (std::vector<StageTask>{{'F', 0, 0}, {'F', 0, 1}}));
  EXPECT_EQ(order.wholeBatch().microBatches, 1);
}

TEST(TaskOrder, WhatIsNoScheduleIsRefused) {
  EXPECT_NE(errorOf("").find("no tasks"), std::string::npos);
  EXPECT_NE(errorOf("F0 X1").find("'X1' is no task"), std::string::npos);
  EXPECT_NE(errorOf("F0 B").find("'B' is no task"), std::string::npos);
  EXPECT_NE(errorOf("F0 B0 F0.2 B0.2").find("chunk 1 is on no stage"), std::string::npos);
  EXPECT_NE(errorOf("F0 B0\nF0.0 B0.0").find("chunk 0 is on stages 0 and 1"), std::string::npos);
  EXPECT_NE(errorOf("F0 B0 B0").find("runs on chunk 0 as 'FBB'"), std::string::npos);
  EXPECT_NE(errorOf("F0 B0 F1.3 B1.3; F0 B0").find("chunk 2 is on no stage"), std::string::npos);
  EXPECT_NE(errorOf("F0 B0 F1.2 B1.2; F0 B0").find("micro-batch 1 runs on chunk 0 as ''"), std::string::npos);
  EXPECT_NE(errorOf("F0 B0 F1.3 B1.3; F0 B0 F1.2 B1.2 F1 B1").find("micro-batch 1 runs on chunk 0 as ''"),
            std::string::npos);
  EXPECT_NE(errorOf("B0 F0").find("runs on chunk 0 as 'BF'"), std::string::npos);
}

std::vector<double> secondsOfParts(const std::vector<double> &ops, const std::vector<double> &cuts,
                                   const std::vector<double> &slowness, const std::vector<int64_t> &begins) {
  std::vector<double> parts;
  for (size_t i = 0; i < begins.size(); ++i) {
    size_t end = i + 1 < begins.size() ? begins[i + 1] : ops.size();
    double seconds = slowness[i] * std::accumulate(ops.begin() + begins[i], ops.begin() + end, 0.0);
    parts.push_back(seconds + (begins[i] > 0 ? cuts[begins[i]] : 0) + (end < ops.size() ? cuts[end] : 0));
  }
  return parts;
}

double slowest(const std::vector<double> &ops, const std::vector<double> &cuts, const std::vector<double> &slowness,
               const std::vector<int64_t> &begins) {
  std::vector<double> parts = secondsOfParts(ops, cuts, slowness, begins);
  return *std::max_element(parts.begin(), parts.end());
}

double squares(const std::vector<double> &ops, const std::vector<double> &cuts, const std::vector<double> &slowness,
               const std::vector<int64_t> &begins) {
  std::vector<double> parts = secondsOfParts(ops, cuts, slowness, begins);
  return std::inner_product(parts.begin(), parts.end(), parts.begin(), 0.0);
}

TEST(StageCut, PartsAreEven) {
  EXPECT_EQ(cutEvenly({1, 1, 1, 1}, {0, 0, 0, 0, 0}, {1, 1}), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(cutEvenly({3, 1, 1, 1}, {0, 0, 0, 0, 0}, {1, 1}), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(cutEvenly({1, 1, 1}, {0, 0, 0, 0}, {1, 1, 1}), (std::vector<int64_t>{0, 1, 2}));
}

TEST(StageCut, ACheapBorderIsWorthAnUnevenCut) {
  EXPECT_EQ(cutEvenly({1, 1, 1, 1}, {0, 0, 9, 0, 0}, {1, 1}), (std::vector<int64_t>{0, 1}));
}

TEST(StageCut, SlowDevicesGetLess) {
  EXPECT_EQ(cutEvenly({1, 1, 1, 1}, {0, 0, 0, 0, 0}, {3, 1}), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(cutEvenly({1, 1, 1, 1}, {0, 0, 0, 0, 0}, {1, 3}), (std::vector<int64_t>{0, 3}));
}

TEST(StageCut, NoCutIsBetter) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    size_t count = 3 + trial % 6;
    std::vector<double> ops(count), cuts(count + 1), slowness(3);
    std::generate(ops.begin(), ops.end(), [&] { return any(random); });
    std::generate(cuts.begin(), cuts.end(), [&] { return any(random); });
    std::generate(slowness.begin(), slowness.end(), [&] { return 1 + any(random); });
    double best = 1e9;
    for (int64_t i = 1; i < static_cast<int64_t>(count); ++i)
      for (int64_t j = i + 1; j < static_cast<int64_t>(count); ++j)
        best = std::min(best, slowest(ops, cuts, slowness, {0, i, j}));
    EXPECT_DOUBLE_EQ(slowest(ops, cuts, slowness, cutEvenly(ops, cuts, slowness)), best);
  }
}

TEST(StageCut, OfEquallyGoodCutsTheMostEvenIsTaken) {
  // The last op is the slowest part. Of the first two the slower one would take least if they were cut in the middle, where
  // both have a message.
  EXPECT_EQ(cutEvenly({2, 2, 2, 2, 8}, {0, 1, 1, 0, 0, 0}, {1, 1, 1}), (std::vector<int64_t>{0, 3, 4}));
  std::mt19937 random(11);
  std::uniform_int_distribution<int> any(0, 5);
  for (int trial = 0; trial < 200; ++trial) {
    size_t count = 4 + trial % 6;
    std::vector<double> ops(count), cuts(count + 1);
    std::generate(ops.begin(), ops.end(), [&] { return any(random); });
    std::generate(cuts.begin(), cuts.end(), [&] { return any(random); });
    const std::vector<double> slowness = {1, trial % 2 ? 1.0 : 2.0, 1};
    ops.back() += 10;
    auto key = [&](const std::vector<int64_t> &begins) {
      return std::pair(slowest(ops, cuts, slowness, begins), squares(ops, cuts, slowness, begins));
    };
    std::pair<double, double> best(1e9, 1e9);
    for (int64_t i = 1; i < static_cast<int64_t>(count); ++i)
      for (int64_t j = i + 1; j < static_cast<int64_t>(count); ++j)
        best = std::min(best, key({0, i, j}));
    EXPECT_EQ(key(cutEvenly(ops, cuts, slowness)), best);
  }
}

} // namespace
} // namespace pdc::passes
