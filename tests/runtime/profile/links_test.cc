// What is measured of the links between ranks.
#include "runtime/profile/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "runtime/comm/inprocess/world.h"

namespace pdc::profile {
namespace {

// The measurements of every rank of a job on one node.
std::vector<std::vector<LinkMeasurement>> MeasureOnThreads(int ranks) {
  std::vector<std::unique_ptr<comm::Communicator>> world = comm::CreateInProcessWorld(ranks).value();
  std::vector<std::vector<LinkMeasurement>> results(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      absl::StatusOr<std::vector<LinkMeasurement>> measured = MeasureLinks(*world[rank], /*quick=*/true);
      EXPECT_TRUE(measured.ok()) << measured.status();
      if (measured.ok()) results[rank] = std::move(*measured);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(LinksTest, EveryKindOfCommunicationIsMeasuredOverIncreasingSizes) {
  std::set<std::string> kinds;
  const std::vector<std::vector<LinkMeasurement>> results = MeasureOnThreads(3);
  for (const LinkMeasurement& measured : results[0]) {
    kinds.insert(measured.kind);
    EXPECT_EQ(measured.nodes, 1);
    EXPECT_EQ(measured.ranks_per_node,
              measured.kind == "point_to_point" || measured.kind == "exchange" ? 2 : 3);
    ASSERT_FALSE(measured.points.empty());
    for (size_t i = 0; i < measured.points.size(); ++i) {
      EXPECT_GT(measured.points[i].sample.seconds, 0);
      if (i > 0) EXPECT_GT(measured.points[i].bytes, measured.points[i - 1].bytes);
    }
  }
  EXPECT_THAT(kinds, testing::ElementsAre("all_gather", "all_reduce", "all_to_all", "broadcast", "exchange",
                                          "point_to_point", "reduce_scatter"));
}

TEST(LinksTest, AllRanksAgreeOnTheTimes) {
  const std::vector<std::vector<LinkMeasurement>> results = MeasureOnThreads(2);
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    ASSERT_EQ(results[0][i].points.size(), results[1][i].points.size());
    for (size_t k = 0; k < results[0][i].points.size(); ++k) {
      EXPECT_EQ(results[0][i].points[k].sample.seconds, results[1][i].points[k].sample.seconds);
    }
  }
}

TEST(LinksTest, ARankAloneHasNoLinks) { EXPECT_TRUE(MeasureOnThreads(1)[0].empty()); }

}  // namespace
}  // namespace pdc::profile
