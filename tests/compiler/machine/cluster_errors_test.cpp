//===- cluster_errors_test.cpp - what is said of bad cluster files --------===//
//
// Each test makes one mistake in a good file and expects the whole message.
//
//===----------------------------------------------------------------------===//

#include "compiler/machine/ClusterFile.h"
#include "gtest/gtest.h"

using namespace pdc::machine;

static const std::string kGood = R"(name: small
devices:
  gpu:
    memory: 16 GB
    peak: {f32: 15 TFLOP/s}
    memory_bandwidth: 900 GB/s
    launch: 5 us
nodes:
  - count: 2
    device: gpu
    devices: 4
    host: {memory: 64 GB, link: {latency: 1 us, bandwidth: 12 GB/s}}
    links:
      - name: nvlink
        members: 4
        latency: 2 us
        bandwidth: 75 GB/s
network:
  - name: ethernet
    latency: 30 us
    bandwidth: 25 Gb/s
    sharing: per_member
)";

static std::string messageOf(const std::string &text) {
  auto cluster = parseCluster(text, "c.yaml");
  return cluster ? "" : llvm::toString(cluster.takeError());
}

/// The message after one replacement.
static std::string after(const std::string &from, const std::string &to) {
  std::string text = kGood;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return messageOf(text.replace(at, from.size(), to));
}

TEST(ClusterErrors, TheFileWithoutMistakesIsRead) { EXPECT_EQ(messageOf(kGood), ""); }

TEST(ClusterErrors, UnknownKeyWithASuggestion) {
  EXPECT_EQ(after("bandwidth: 25", "bandwith: 25"),
            "c.yaml:21: network[0].bandwith: unknown key; did you mean 'bandwidth'?");
}

TEST(ClusterErrors, UnknownKeyThatIsLikeNone) {
  EXPECT_EQ(
      after("name: small", "name: small\ncolour: red"),
      "c.yaml:2: colour: unknown key: expected name, description, ranks, overlap, devices, nodes, network, "
      "storage or collectives");
}

TEST(ClusterErrors, NegativeBandwidth) {
  EXPECT_EQ(
      after("75 GB/s", "-75 GB/s"),
      "c.yaml:17: nodes[0].links[0].bandwidth: expected more than 0: bytes a second (such as 900 GB/s, or "
      "25 Gb/s for bits), found '-75 GB/s'");
}

TEST(ClusterErrors, ZeroBandwidth) {
  EXPECT_EQ(
      after("900 GB/s", "0"),
      "c.yaml:6: devices.gpu.memory_bandwidth: expected more than 0: bytes a second (such as 900 GB/s, or "
      "25 Gb/s for bits), found '0'");
}

TEST(ClusterErrors, NegativeLatency) {
  EXPECT_EQ(after("30 us", "-30 us"),
            "c.yaml:20: network[0].latency: expected 0 or more: seconds (such as 5 us), "
            "found '-30 us'");
}

TEST(ClusterErrors, WrongUnit) {
  EXPECT_EQ(after("25 Gb/s", "25 GB"),
            "c.yaml:21: network[0].bandwidth: expected bytes a second (such as 900 GB/s, "
            "or 25 Gb/s for bits), found '25 GB'");
  EXPECT_EQ(after("5 us", "5 GB/s"),
            "c.yaml:7: devices.gpu.launch: expected seconds (such as 5 us), found '5 GB/s'");
  EXPECT_EQ(
      after("15 TFLOP/s", "15 TB/s"),
      "c.yaml:5: devices.gpu.peak.f32: expected operations a second (such as 15.7 TFLOP/s), found '15 TB/s'");
}

TEST(ClusterErrors, MissingKey) {
  EXPECT_EQ(after("    memory: 16 GB\n", ""), "c.yaml:3: devices.gpu: the key 'memory' is missing");
  EXPECT_EQ(after("f32: 15 TFLOP/s", "f16: 15 TFLOP/s"),
            "c.yaml:5: devices.gpu.peak: the key 'f32' is missing");
}

TEST(ClusterErrors, MissingLinkLevelBetweenNodes) {
  std::string text = kGood.substr(0, kGood.find("network:"));
  EXPECT_EQ(messageOf(text),
            "c.yaml:1: network: a link level is missing: there are 2 nodes, and nothing says how "
            "they are linked");
}

TEST(ClusterErrors, MissingLinkLevelInANode) {
  std::string text = kGood;
  size_t from = text.find("    links:"), to = text.find("network:");
  EXPECT_EQ(messageOf(text.erase(from, to - from)), "c.yaml:9: nodes[0].links: a link level is missing: a "
                                                    "node has 4 devices, and nothing says how they are "
                                                    "linked");
}

TEST(ClusterErrors, MembersThatDoNotMultiplyToTheDevices) {
  EXPECT_EQ(
      after("members: 4", "members: 3"),
      "c.yaml:13: nodes[0].links: expected levels whose members multiply to the 4 devices of a node, found a "
      "product of 3");
}

TEST(ClusterErrors, MembersThatDoNotMultiplyToTheNodes) {
  EXPECT_EQ(
      after("  - name: ethernet", "  - name: ethernet\n    members: 5"),
      "c.yaml:18: network: expected levels whose members multiply to the 2 nodes, found a product of 5");
}

TEST(ClusterErrors, DeviceKindThatIsNotDescribed) {
  EXPECT_EQ(after("device: gpu", "device: gpus"),
            "c.yaml:9: nodes[0].device: there is no device kind 'gpus' under 'devices'; did you mean 'gpu'?");
}

TEST(ClusterErrors, WordThatIsNone) {
  EXPECT_EQ(after("per_member", "shared"),
            "c.yaml:22: network[0].sharing: expected per_device, per_member or bus, found 'shared'");
}

TEST(ClusterErrors, CountThatIsNoWholeNumber) {
  EXPECT_EQ(after("count: 2", "count: 2.5"),
            "c.yaml:9: nodes[0].count: expected a whole number, at least 1, found '2.5'");
  EXPECT_EQ(after("devices: 4", "devices: 0"),
            "c.yaml:11: nodes[0].devices: expected a whole number, at least 1, found '0'");
}

TEST(ClusterErrors, KeyGivenTwice) {
  EXPECT_EQ(after("launch: 5 us", "launch: 5 us\n    launch: 6 us"),
            "c.yaml:8: devices.gpu.launch: the key is given twice");
}

TEST(ClusterErrors, ListWhereAMapBelongs) {
  EXPECT_EQ(after("{f32: 15 TFLOP/s}", "[15 TFLOP/s]"),
            "c.yaml:5: devices.gpu.peak: expected a map of keys, found a list");
}

TEST(ClusterErrors, EfficienciesThatAreNotSorted) {
  EXPECT_EQ(after("launch: 5 us", "launch: 5 us\n    efficiency: {matmul: [[10, 0.5], [5, 0.4]]}"),
            "c.yaml:8: devices.gpu.efficiency.matmul[1]: expected sizes that increase, found '5' after '10'");
  EXPECT_EQ(after("launch: 5 us", "launch: 5 us\n    efficiency: {matmuls: [[10, 0.5]]}"),
            "c.yaml:8: devices.gpu.efficiency.matmuls: unknown key; did you mean 'matmul'?");
}

TEST(ClusterErrors, OverlapAboveOne) {
  EXPECT_EQ(after("name: small", "name: small\noverlap: 1.5"),
            "c.yaml:2: overlap: expected a share between 0 and 1, found '1.5'");
}

TEST(ClusterErrors, MeasuredShapeOfAnotherDepth) {
  EXPECT_EQ(after("network:", "collectives: [{kind: all_reduce, members: [2], points: [[1, 1]]}]\nnetwork:"),
            "c.yaml:18: collectives[0].members: expected one number for each of the 2 link levels, innermost "
            "first, "
            "found 1");
}

TEST(ClusterErrors, MeasuredGroupsThatTheClusterDoesNotHave) {
  auto measured = [](const std::string &shape) {
    return after("network:", "collectives: [{kind: all_reduce, " + shape + ", points: [[1, 1]]}]\nnetwork:");
  };
  EXPECT_EQ(measured("members: [8, 1]"),
            "c.yaml:18: collectives[0].members: expected at most the 4 members that the level 'nvlink' has, found 8");
  EXPECT_EQ(measured("members: [4, 3]"),
            "c.yaml:18: collectives[0].members: expected at most the 2 members that the level 'ethernet' has, found 3");
  EXPECT_EQ(measured("members: [2, 2], groups: 3"),
            "c.yaml:18: collectives[0].members: 3 groups of 4 were busy at once, which the 8 devices of the cluster cannot be");
  EXPECT_EQ(measured("members: [1.5, 2]"), "c.yaml:18: collectives[0].members: expected a whole number");
  EXPECT_EQ(measured("members: [2, 2], groups: 2"), "");
}

TEST(ClusterErrors, TextThatIsNoYaml) {
  EXPECT_EQ(messageOf("name: [a"), "c.yaml:1: this is not YAML: end of sequence flow not found");
  EXPECT_EQ(messageOf(""), "c.yaml:1: expected one YAML document, found 0");
  EXPECT_EQ(messageOf("just words"), "c.yaml:1: expected a map of keys, found 'just words'");
}

TEST(ClusterErrors, AliasesThatWouldNeverEnd) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    std::string inner = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j)
      bomb += (j ? ", " : "") + inner;
    bomb += "]\n";
  }
  EXPECT_NE(messageOf(bomb).find("nested too deeply, or there are too many"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// --cluster
//===----------------------------------------------------------------------===//

static std::string resolveMessage(const std::string &name, int64_t ranks = 0) {
  auto cluster = resolveCluster(name, ranks);
  return cluster ? "" : llvm::toString(cluster.takeError());
}

TEST(ResolveClusterErrors, PresetThatIsNone) {
  EXPECT_EQ(
      resolveMessage("lasen").rfind("--cluster=lasen: there is no such preset (did you mean 'lassen'?); the "
                                    "presets are ",
                                    0),
      0u);
}

TEST(ResolveClusterErrors, FileThatIsNotThere) {
  EXPECT_EQ(resolveMessage("./nothing.yaml"), "--cluster=./nothing.yaml: No such file or directory");
}

TEST(ResolveClusterErrors, NodesThatAreNoNumber) {
  EXPECT_EQ(resolveMessage("lassen:nodes=many"),
            "--cluster=lassen:nodes=many: expected 'nodes=N' with N from 1 to 1000000 after the ':', found "
            "'nodes=many'");
}

TEST(ResolveClusterErrors, MoreRanksThanDevices) {
  EXPECT_EQ(resolveMessage("lassen:nodes=2", 9),
            "cluster 'lassen' has 8 devices, too few for 9 ranks; give it more "
            "nodes, as in 'lassen:nodes=N'");
}
