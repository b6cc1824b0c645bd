// From the measurements of a job to a cluster.
#include "compiler/machine/ClusterFile.h"
#include "tools/pdc/ProfileResult.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace pdc;
using namespace pdc::machine;
using testing::HasSubstr;

namespace {

/// A rank that computes as `factor` times the one that measured: matmul 1 GFLOP/s at 1e6 FLOPs and 2 at 8e6.
std::string rank(int node, const char *host, double factor = 1) {
  auto point = [factor](const char *opClass, const char *precision, const char *call, double flops,
                        double bytes, double seconds) {
    return std::string(R"({"class": ")") + opClass + R"(", "precision": ")" + precision + R"(", "call": ")" +
           call + R"(", "flops": )" + std::to_string(flops) + R"(, "bytes": )" + std::to_string(bytes) +
           R"(, "seconds": )" + std::to_string(seconds / factor) + R"(, "spread": 0.02})";
  };
  return R"({"node": )" + std::to_string(node) + R"(, "host": ")" + host +
         R"(", "cores": 2, "memory": 8000000000, "instruction": {"seconds": 1e-6, "spread": 0.1}, "memory_alone": )" +
         point("triad", "f32", "", 0, 1e9, 0.1) + R"(, "memory_at_once": )" +
         point("triad", "f32", "", 0, 1e9, 0.125) + R"(, "compute": [)" +
         point("matmul", "f32", "matmul(small)", 1e6, 1e5, 1e-3) + ", " +
         point("matmul", "f32", "matmul(large)", 8e6, 1e5, 4e-3) + ", " +
         point("matmul", "bf16", "matmul(bf16)", 8e6, 1e5, 2e-3) + ", " +
         point("elementwise", "f32", "", 0, 1e6, 2e-4) + "]}";
}

std::string link(const char *kind, int ranksPerNode, int nodes, int groups, const char *points) {
  return std::string(R"({"kind": ")") + kind + R"(", "ranks_per_node": )" + std::to_string(ranksPerNode) +
         R"(, "nodes": )" + std::to_string(nodes) + R"(, "groups": )" + std::to_string(groups) +
         R"(, "points": )" + points + "}";
}

/// Two nodes of two ranks.
std::string twoNodes(const char *bothWays = "0.011") {
  std::string exchange =
      R"([{"bytes": 1000000, "seconds": )" + std::string(bothWays) + R"(, "spread": 0.1}])";
  return R"({"communicator": "hierarchical", "ranks": [)" + rank(0, "a") + ", " + rank(0, "a", 3) + ", " +
         rank(1, "b") + ", " + rank(1, "b") + R"(], "links": [)" +
         link(
             "all_reduce", 2, 1, 2,
             R"([{"bytes": 8, "seconds": 2e-5, "spread": 0.1}, {"bytes": 1000000, "seconds": 2.2e-4, "spread": 0.1}])") +
         ", " +
         link(
             "point_to_point", 1, 2, 1,
             R"([{"bytes": 8, "seconds": 1e-4, "spread": 0.1}, {"bytes": 1000000, "seconds": 0.0101, "spread": 0.1, "work": 0.251}])") +
         ", " + link("exchange", 1, 2, 1, exchange.c_str()) + "]}";
}

Cluster cluster(const std::string &json) {
  llvm::Expected<Cluster> result = tool::clusterOfProfile(json, "test");
  EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
  return *result;
}

TEST(ProfileResultTest, RatesAreMediansOverTheRanks) {
  DeviceKind device = cluster(twoNodes()).device();
  EXPECT_TRUE(device.onHost);
  EXPECT_DOUBLE_EQ(device.peakFlops[static_cast<int>(Precision::F32)], 2e9);
  EXPECT_DOUBLE_EQ(device.peakFlops[static_cast<int>(Precision::BF16)], 4e9);
  EXPECT_DOUBLE_EQ(device.memoryBytesPerSecond, 1e10);
  EXPECT_DOUBLE_EQ(device.launchSeconds, 1e-6);
  EXPECT_DOUBLE_EQ(device.memoryBytes, 4e9);
  EXPECT_DOUBLE_EQ(device.librarySeconds.at("matmul(large)"), 4e-3);
}

TEST(ProfileResultTest, EfficienciesAreSharesOfThePeakWithoutTheFixedCost) {
  DeviceKind device = cluster(twoNodes()).device();
  EXPECT_NEAR(device.efficiency(OpClass::Matmul, Precision::F32, 1e6), 0.5 * 1000 / 999, 1e-3);
  EXPECT_NEAR(device.efficiency(OpClass::Matmul, Precision::F32, 8e6), 1, 1e-3);
  EXPECT_NEAR(device.efficiency(OpClass::Elementwise, Precision::F32, 1e6), 0.5 * 200 / 199, 1e-3);
}

TEST(ProfileResultTest, WhatMovesHasACurveForOneRankAndOneForAllAtOnce) {
  std::string moves = R"("moves_alone": [{"class": "elementwise", "precision": "f32", "call": "", "flops": 0,
      "bytes": 1e6, "seconds": 1e-4, "spread": 0}], "moves": )", json = twoNodes();
  // Every rank's elementwise point was measured at once; the first rank of each node has one alone, twice as fast.
  size_t at = json.find(R"("compute")");
  json.insert(at, moves + "[], ");
  DeviceKind device = cluster(json).device();
  double alone = device.efficiency(OpClass::Elementwise, Precision::F32, 1e6);
  EXPECT_NEAR(alone, 1 * 100. / 99, 1e-3);
  EXPECT_NEAR(device.busyEfficiency(OpClass::Elementwise, Precision::F32, 1e6), alone / 2, 1e-2);
  EXPECT_EQ(device.efficiency(OpClass::Matmul, Precision::F32, 8e6),
            device.busyEfficiency(OpClass::Matmul, Precision::F32, 8e6));
  // Of a node that others share, and of one that a single rank has for itself.
  Cluster two = cluster(json);
  EXPECT_EQ(two.effectiveDevice(0).memoryBytesPerSecond, 1e10);
  two.ranksInUse = 1;
  EXPECT_EQ(two.effectiveDevice(0).busyEfficiency(OpClass::Elementwise, Precision::F32, 1e6), alone);
  EXPECT_THAT(writeCluster(two), HasSubstr("busy_efficiency:"));
}

TEST(ProfileResultTest, NodesThatAreAlikeAreOneGroup) {
  Cluster two = cluster(twoNodes());
  ASSERT_EQ(two.nodes.size(), 1u);
  EXPECT_EQ(two.nodes[0].count, 2);
  EXPECT_EQ(two.nodes[0].devicesPerNode, 2);
  EXPECT_EQ(two.nodes[0].host.cores, 2);
  EXPECT_DOUBLE_EQ(two.nodes[0].host.memoryBytesPerSecond, 1.6e10);
}

TEST(ProfileResultTest, LinksAreFittedToWhatWasMeasured) {
  Cluster two = cluster(twoNodes());
  const LinkLevel &inside = two.nodes[0].links.at(0), &between = two.network.at(0);
  // 2 (1e-5 + 1/2 1e6 / bandwidth) = 2.2e-4.
  EXPECT_EQ(inside.path, Path::SharedMemory);
  EXPECT_DOUBLE_EQ(inside.latencySeconds, 1e-5);
  EXPECT_DOUBLE_EQ(inside.bytesPerSecond, 5e9);
  EXPECT_EQ(between.sharing, Sharing::PerMember);
  EXPECT_DOUBLE_EQ(between.latencySeconds, 1e-4);
  EXPECT_DOUBLE_EQ(between.bytesPerSecond, 1e8);
  EXPECT_TRUE(between.fullDuplex);
  EXPECT_DOUBLE_EQ(between.overlap.value(), 0.75); // the rest of the processor's time is free
  EXPECT_FALSE(cluster(twoNodes("0.0199")).network[0].fullDuplex);
}

TEST(ProfileResultTest, MeasuredCollectivesSayTheirMembersByLevel) {
  Cluster two = cluster(twoNodes());
  ASSERT_EQ(two.collectives.size(), 2u); // without the exchange
  EXPECT_EQ(two.collectives[0].kind, "all_reduce");
  EXPECT_THAT(two.collectives[0].members, testing::ElementsAre(2, 1));
  EXPECT_EQ(two.collectives[0].groups, 2);
  EXPECT_EQ(two.collectives[1].kind, "point_to_point");
  EXPECT_THAT(two.collectives[1].members, testing::ElementsAre(1, 2));
}

TEST(ProfileResultTest, TheDescriptionStatesTheNoise) {
  EXPECT_THAT(
      cluster(twoNodes()).description,
      HasSubstr("4 ranks of one thread on 2 nodes (a, b), hierarchical communicator. Medians; half of the "
                "repetitions lie within 2.0 % of them (computation), 10.0 % (communication)"));
}

TEST(ProfileResultTest, TheFileReadsAsTheSameCluster) {
  std::string text = writeCluster(cluster(twoNodes()));
  llvm::Expected<Cluster> read = parseCluster(text, "test.yaml");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(writeCluster(*read), text);
  EXPECT_THAT(text, HasSubstr("bandwidth: 100 MB/s"));
}

TEST(ProfileResultTest, OneRankHasNoLinks) {
  Cluster one = cluster(R"({"communicator": "inprocess", "ranks": [)" + rank(0, "a") + R"(], "links": []})");
  EXPECT_TRUE(one.nodes[0].links.empty());
  EXPECT_TRUE(one.network.empty());
  EXPECT_TRUE(bool(parseCluster(writeCluster(one), "one.yaml")));
}

TEST(ProfileResultTest, DamagedMeasurementsAreRefused) {
  for (const char *json :
       {"", "[]", "{}", R"({"ranks": [], "links": []})", R"({"ranks": [1], "links": []})"}) {
    llvm::Expected<Cluster> result = tool::clusterOfProfile(json, "test");
    ASSERT_FALSE(bool(result)) << json;
    EXPECT_THAT(llvm::toString(result.takeError()), HasSubstr("the measurements are damaged")) << json;
  }
}

} // namespace
