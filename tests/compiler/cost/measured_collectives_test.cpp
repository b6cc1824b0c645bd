//===- measured_collectives_test.cpp - times that a profile has -----------===//

#include "compiler/cost/Collectives.h"
#include "tests/compiler/cost/clusters.h"
#include "gtest/gtest.h"

using namespace pdc;
using namespace pdc::cost;
using machine::Cluster;

/// Two nodes of four; an all_reduce of one rank a node was measured alone.
static Cluster measuredGrid(int64_t groups) {
  Cluster cluster =
      test::grid(2, 4, "latency: 1 s, bandwidth: 100", "latency: 10 s, bandwidth: 10, sharing: per_member");
  cluster.collectives.push_back({"all_reduce", {1, 2}, groups, {{100, 50}, {10000, 200}}});
  return cluster;
}

static double seconds(const Cluster &cluster, Collective collective, double bytes) {
  return collectiveSeconds(cluster, collective, bytes, shapeOfRanks(cluster, {0, 4}));
}

TEST(MeasuredCollectives, AreTakenAtTheirSizes) {
  EXPECT_DOUBLE_EQ(seconds(measuredGrid(4), Collective::AllReduce, 100), 50);
  EXPECT_DOUBLE_EQ(seconds(measuredGrid(4), Collective::AllReduce, 10000), 200);
}

TEST(MeasuredCollectives, AreInterpolatedInTheLogarithms) {
  EXPECT_DOUBLE_EQ(seconds(measuredGrid(4), Collective::AllReduce, 1000), 100);
}

TEST(MeasuredCollectives, GoOnWithLatencyBelowAndBandwidthAbove) {
  EXPECT_DOUBLE_EQ(seconds(measuredGrid(4), Collective::AllReduce, 1), 50);
  EXPECT_DOUBLE_EQ(seconds(measuredGrid(4), Collective::AllReduce, 30000), 600);
}

TEST(MeasuredCollectives, OfOtherNeighboursAreScaledByTheFormulas) {
  // Measured alone; four groups share the card: 10 + 1000 / 2.5 instead of 10 + 1000 / 10.
  EXPECT_DOUBLE_EQ(seconds(measuredGrid(1), Collective::AllReduce, 1000), 100 * 410.0 / 110.0);
}

TEST(MeasuredCollectives, OfOtherKindsAndMembersAreComputed) {
  Cluster cluster = measuredGrid(4);
  EXPECT_DOUBLE_EQ(seconds(cluster, Collective::AllGather, 1000), 10 + 500 / 2.5);
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(cluster, Collective::AllReduce, 4000, shapeOfRanks(cluster, {0, 1, 2, 3})), 64);
}
