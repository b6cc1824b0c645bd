//===- cluster_test.cpp - what a cluster file says ------------------------===//

#include "compiler/machine/ClusterFile.h"
#include "gtest/gtest.h"
#include <cmath>
#include <fstream>

using namespace pdc::machine;

static const char kMixed[] = R"YAML(
name: mixed
description: two kinds of nodes
overlap: 0.75
devices:
  fast:
    memory: 80 GB
    peak: {f32: 60 TFLOP/s, bf16: 900 TFLOP/s}
    memory_bandwidth: 3.35 TB/s
    launch: 4 us
    channel_block: 8
    efficiency:
      matmul: [[1e6, 0.1], [1e10, 0.5]]
      matmul.bf16: [[1e9, 0.3]]
      copy: [[1 MB, 0.5], [100 MB, 0.9]]
    library_times:
      "matmul(4x4:f32, 4x4:f32, 4x4:f32)": 7 us
  slow:
    memory: 16 GiB
    peak: {f64: 7.8 TFLOP/s, f32: 15.7 TFLOP/s, f16: 125 TFLOP/s}
    memory_bandwidth: 900 GB/s
    launch: 5 us
nodes:
  - count: 2
    device: fast
    devices: 8
    host: {memory: 1 TB, cores: 64, link: {latency: 2 us, bandwidth: 50 GB/s}}
    links:
      - {name: nvswitch, members: 8, latency: 3 us, bandwidth: 450 GB/s}
  - count: 4
    device: slow
    devices: 4
    host: {memory: 256 GB, link: {latency: 3 us, bandwidth: 12 GB/s}}
    links:
      - {name: nvlink, members: 4, latency: 2 us, bandwidth: 75 GB/s, duplex: half}
network:
  - {name: leaf, members: 2, latency: 2 us, bandwidth: 25 GB/s, sharing: per_member}
  - {name: spine, latency: 4 us, bandwidth: 100 Gb/s, sharing: per_member, path: staged}
storage: {latency: 100 us, bandwidth: 2 GB/s}
collectives:
  - {kind: all_reduce, members: [2, 1, 1], groups: 4, points: [[1 KiB, 10 us], [1 MiB, 100 us]]}
)YAML";

static Cluster read(const std::string &text) { return llvm::cantFail(parseCluster(text, "test.yaml")); }

TEST(ClusterFile, ReadsEveryKey) {
  Cluster cluster = read(kMixed);
  EXPECT_EQ(cluster.name, "mixed");
  EXPECT_EQ(cluster.overlap, 0.75);
  ASSERT_EQ(cluster.devices.size(), 2u);
  const DeviceKind &fast = cluster.device("fast");
  EXPECT_EQ(fast.memoryBytes, 80e9);
  EXPECT_EQ(fast.memoryBytesPerSecond, 3.35e12);
  EXPECT_EQ(fast.launchSeconds, 4e-6);
  EXPECT_EQ(fast.channelBlock, 8);
  EXPECT_EQ(fast.flopsPerSecond(Precision::BF16), 900e12);
  EXPECT_EQ(fast.librarySeconds.at("matmul(4x4:f32, 4x4:f32, 4x4:f32)"), 7e-6);
  ASSERT_EQ(cluster.nodes.size(), 2u);
  EXPECT_EQ(cluster.nodes[0].host.memoryBytes, 1e12);
  EXPECT_EQ(cluster.nodes[0].host.cores, 64);
  EXPECT_EQ(cluster.nodes[0].host.link.bytesPerSecond, 50e9);
  EXPECT_FALSE(cluster.nodes[1].links[0].fullDuplex);
  EXPECT_EQ(cluster.network[0].sharing, Sharing::PerMember);
  EXPECT_EQ(cluster.network[1].path, Path::Staged);
  EXPECT_EQ(cluster.network[1].bytesPerSecond, 12.5e9);
  EXPECT_EQ(cluster.storage->bytesPerSecond, 2e9);
  ASSERT_EQ(cluster.collectives.size(), 1u);
  EXPECT_EQ(cluster.collectives[0].members, (std::vector<int64_t>{2, 1, 1}));
  EXPECT_EQ(cluster.collectives[0].points[1].bytes, 1048576);
}

TEST(ClusterFile, ALevelThatLeavesItsMembersOutHasTheRest) {
  EXPECT_EQ(read(kMixed).network[1].members, 3); // of 6 nodes in pairs
}

TEST(ClusterFile, WritesWhatItReads) {
  Cluster cluster = read(kMixed);
  std::string text = writeCluster(cluster);
  EXPECT_EQ(writeCluster(read(text)), text);
  Cluster again = read(text);
  EXPECT_EQ(again.devices[0].efficiencies.size(), 3u);
  cluster.devices[0].busyEfficiencies = cluster.devices[0].efficiencies;
  EXPECT_EQ(read(writeCluster(cluster)).devices[0].busyEfficiencies.size(), 3u);
  EXPECT_EQ(again.nodes[1].host.link.latencySeconds, cluster.nodes[1].host.link.latencySeconds);
  EXPECT_EQ(again.network[1].members, 3);
}

TEST(Cluster, RanksLieOnNodesInTheOrderOfTheFile) {
  Cluster cluster = read(kMixed);
  EXPECT_EQ(cluster.nodeCount(), 6);
  EXPECT_EQ(cluster.deviceCount(), 32);
  EXPECT_EQ(cluster.deviceOf(15).name, "fast");
  EXPECT_EQ(cluster.deviceOf(16).name, "slow");
  EXPECT_EQ(cluster.nodeOf(7), 0);
  EXPECT_EQ(cluster.nodeOf(8), 1);
  EXPECT_EQ(cluster.nodeOf(16), 2);
  EXPECT_EQ(cluster.nodeOf(31), 5);
}

TEST(Cluster, ALevelOfMixedNodesIsAsSlowAsTheSlowest) {
  std::vector<LinkLevel> levels = read(kMixed).levels();
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[0].members, 8);
  EXPECT_EQ(levels[0].bytesPerSecond, 75e9);
  EXPECT_EQ(levels[0].latencySeconds, 3e-6);
  EXPECT_FALSE(levels[0].fullDuplex);
}

TEST(DeviceKind, PrecisionsThatAreNotGivenRunAsWiderOnes) {
  const Cluster cluster = read(kMixed);
  const DeviceKind &fast = cluster.device("fast"), &slow = cluster.device("slow");
  EXPECT_EQ(fast.flopsPerSecond(Precision::F64), 30e12);
  EXPECT_EQ(fast.flopsPerSecond(Precision::TF32), 60e12);
  EXPECT_EQ(slow.flopsPerSecond(Precision::BF16), 15.7e12);
  EXPECT_EQ(slow.flopsPerSecond(Precision::F64), 7.8e12);
}

TEST(DeviceKind, SharesAreInterpolatedInTheLogarithmOfTheSize) {
  const Cluster cluster = read(kMixed);
  const DeviceKind &fast = cluster.device("fast");
  EXPECT_DOUBLE_EQ(fast.efficiency(OpClass::Matmul, Precision::F32, 1e8), 0.3);
  EXPECT_DOUBLE_EQ(fast.efficiency(OpClass::Matmul, Precision::F32, 1e3), 0.1);
  EXPECT_DOUBLE_EQ(fast.efficiency(OpClass::Matmul, Precision::F32, 1e13), 0.5);
  EXPECT_DOUBLE_EQ(fast.efficiency(OpClass::Copy, Precision::F32, 1e7), 0.7);
}

TEST(DeviceKind, ACurveOfThePrecisionComesFirst) {
  const Cluster cluster = read(kMixed);
  EXPECT_DOUBLE_EQ(cluster.device("fast").efficiency(OpClass::Matmul, Precision::BF16, 1e10), 0.3);
}

//===----------------------------------------------------------------------===//
// --cluster
//===----------------------------------------------------------------------===//

TEST(ResolveCluster, TakesAnotherNumberOfNodes) {
  Cluster cluster = llvm::cantFail(resolveCluster("lassen:nodes=3"));
  EXPECT_EQ(cluster.nodeCount(), 3);
  EXPECT_EQ(cluster.deviceCount(), 12);
  EXPECT_EQ(cluster.network.back().members, 3);
}

TEST(ResolveCluster, TakesTheFirstDevices) {
  Cluster cluster = llvm::cantFail(resolveCluster("lassen:nodes=4", 6));
  EXPECT_EQ(cluster.rankCount(), 6);
  EXPECT_EQ(cluster.deviceCount(), 16);
}

TEST(ResolveCluster, ReadsAFile) {
  std::string path = ::testing::TempDir() + "/mixed.yaml";
  std::ofstream(path) << kMixed;
  EXPECT_EQ(llvm::cantFail(resolveCluster(path)).name, "mixed");
}

TEST(ResolveCluster, CoresTakeMoreRanksThanThereAre) {
  Cluster cluster = llvm::cantFail(resolveCluster("local", 64));
  EXPECT_EQ(cluster.rankCount(), 64);
  EXPECT_EQ(cluster.ranksPerNode(), 64);
  cluster.nodes[0].host.cores = 16;
  for (DeviceKind &kind : cluster.devices)
    kind.librarySeconds["matmul(measured)"] = 1e-3;
  EXPECT_DOUBLE_EQ(cluster.coreShare(0, 1), 0.25);
  EXPECT_DOUBLE_EQ(cluster.effectiveDevice(0).librarySeconds.at("matmul(measured)"), 4e-3);
  EXPECT_DOUBLE_EQ(cluster.effectiveDevice(0).flopsPerSecond(Precision::F32),
                   cluster.device().flopsPerSecond(Precision::F32) / 4);
}

TEST(Cluster, CoresShareTheMemoryOfTheirHost) {
  Cluster cluster = llvm::cantFail(resolveCluster("local", 4));
  cluster.nodes[0].host.cores = 8;
  cluster.nodes[0].host.memoryBytesPerSecond = 40e9;
  EXPECT_DOUBLE_EQ(cluster.effectiveDevice(0).memoryBytesPerSecond, 10e9);
  cluster.nodes[0].host.memoryBytesPerSecond = 0;
  EXPECT_DOUBLE_EQ(cluster.effectiveDevice(0, 2).memoryBytesPerSecond,
                   2 * cluster.device().memoryBytesPerSecond);
}
