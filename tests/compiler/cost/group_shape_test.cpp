//===- group_shape_test.cpp - how groups of ranks lie on links ------------===//

#include "compiler/cost/GroupShape.h"
#include "tests/compiler/cost/clusters.h"
#include "gtest/gtest.h"
#include <map>
#include <numeric>
#include <random>

using namespace pdc;
using namespace pdc::cost;
using machine::Cluster;

static const std::string kFast = "latency: 1 us, bandwidth: 100 GB/s",
                         kSlow = "latency: 1 us, bandwidth: 10 GB/s";

static Cluster fourByFour() { return test::grid(4, 4, kFast, kSlow); }

TEST(GroupShape, OneNodeKeepsToTheInnerLevel) {
  GroupShape shape = shapeOfRanks(fourByFour(), {4, 5, 6, 7});
  EXPECT_EQ(shape.ranks, 4);
  EXPECT_EQ(shape.levels[0], (GroupLevel{4, 1, 1, 1}));
  EXPECT_EQ(shape.levels[1].members, 1);
}

TEST(GroupShape, OneRankOfEachNodeSharesTheWayOutWithItsNeighbours) {
  GroupShape shape = shapeOfRanks(fourByFour(), {1, 5, 9, 13});
  EXPECT_EQ(shape.levels[0].members, 1);
  EXPECT_EQ(shape.levels[1], (GroupLevel{4, 1, 4, 4}));
}

TEST(GroupShape, AllRanksAreOneGroup) {
  std::vector<int32_t> all(16);
  std::iota(all.begin(), all.end(), 0);
  GroupShape shape = shapeOfRanks(fourByFour(), all);
  EXPECT_EQ(shape.levels[0], (GroupLevel{4, 1, 1, 1}));
  EXPECT_EQ(shape.levels[1], (GroupLevel{4, 4, 1, 1}));
}

TEST(GroupShape, UnevenGroupsCountTheirFullestBlock) {
  GroupShape shape = shapeOfRanks(fourByFour(), {0, 1, 2, 4});
  EXPECT_EQ(shape.levels[0].members, 3);
  EXPECT_EQ(shape.levels[1].members, 2);
  EXPECT_EQ(shape.levels[1].ranksBelow, 3);
}

TEST(GroupShape, RanksThatAreNotInUseShareNothing) {
  Cluster cluster = llvm::cantFail(machine::withRanks(fourByFour(), 5));
  GroupShape shape = shapeOfRanks(cluster, {0, 4});
  EXPECT_EQ(shape.levels[1], (GroupLevel{2, 1, 4, 2}));
  EXPECT_EQ(shapeOfRanks(cluster, {0, 1, 2, 3, 4}).levels[1].groupsPerMember, 1);
}

TEST(GroupShape, AxesOfAMesh) {
  // [data = 4, tensor = 4]: tensor in nodes, data between them.
  EXPECT_EQ(shapeOfAxes(fourByFour(), {4, 4}, {1}), shapeOfRanks(fourByFour(), {0, 1, 2, 3}));
  EXPECT_EQ(shapeOfAxes(fourByFour(), {4, 4}, {0}), shapeOfRanks(fourByFour(), {0, 4, 8, 12}));
  // [data = 2, tensor = 8]: tensor over two nodes.
  EXPECT_EQ(shapeOfAxes(fourByFour(), {2, 8}, {1}), shapeOfRanks(fourByFour(), {0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(shapeOfAxes(fourByFour(), {2, 8}, {}).ranks, 1);
}

/// The largest of every number over all groups, from lists of ranks alone.
static GroupShape enumerated(const Cluster &cluster, const std::vector<int64_t> &sizes,
                             const std::vector<size_t> &axes) {
  int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  std::map<std::vector<int64_t>, std::vector<int32_t>> groups; // the coordinates that stay -> ranks
  for (int64_t rank = 0; rank < total; ++rank) {
    std::vector<int64_t> at(sizes.size());
    for (int64_t i = static_cast<int64_t>(sizes.size()) - 1, rest = rank; i >= 0; rest /= sizes[i--])
      at[i] = rest % sizes[i];
    for (size_t axis : axes)
      at[axis] = 0;
    groups[at].push_back(static_cast<int32_t>(rank));
  }
  GroupShape most = shapeOfRanks(cluster, groups.begin()->second);
  for (const auto &[at, ranks] : groups) {
    GroupShape shape = shapeOfRanks(cluster, ranks);
    for (size_t i = 0; i < shape.levels.size(); ++i) {
      GroupLevel &a = most.levels[i], &b = shape.levels[i];
      a = {std::max(a.members, b.members), std::max(a.ranksBelow, b.ranksBelow),
           std::max(a.groupsPerMember, b.groupsPerMember), std::max(a.groupsPerLevel, b.groupsPerLevel)};
    }
  }
  return most;
}

TEST(GroupShape, AxesAreWhatTheirRanksAreOnAnyMesh) {
  std::mt19937 random(7);
  const Cluster clusters[] = {fourByFour(), test::grid(2, 6, kFast, kSlow), test::grid(3, 8, kFast, kSlow),
                              llvm::cantFail(machine::resolveCluster("lassen:nodes=6"))};
  for (int i = 0; i < 300; ++i) {
    Cluster cluster = clusters[i % 4];
    std::vector<int64_t> sizes;
    int64_t total = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
      static constexpr int64_t kSizes[] = {1, 2, 2, 3, 4, 8};
      int64_t size = kSizes[random() % 6];
      if (total * size > cluster.deviceCount())
        size = 1;
      sizes.push_back(size);
      total *= size;
    }
    cluster = llvm::cantFail(machine::withRanks(cluster, total));
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < 3; ++axis)
      if (random() % 2)
        axes.push_back(axis);
    EXPECT_EQ(shapeOfAxes(cluster, sizes, axes), enumerated(cluster, sizes, axes))
        << cluster.name << " [" << sizes[0] << ", " << sizes[1] << ", " << sizes[2] << "] over "
        << axes.size();
  }
}

TEST(GroupShape, NodesOfSeveralKinds) {
  Cluster cluster = fourByFour();
  machine::NodeGroup small = cluster.nodes[0];
  cluster.nodes[0].count = 2;
  small.count = 2;
  small.devicesPerNode = 2;
  small.links[0].members = 2;
  cluster.nodes.push_back(small); // ranks 8 and 9, 10 and 11
  EXPECT_EQ(shapeOfRanks(cluster, {8, 9}).levels[1].members, 1);
  EXPECT_EQ(shapeOfRanks(cluster, {9, 10}).levels[1].members, 2);
  EXPECT_EQ(shapeOfAxes(cluster, {12}, {0}).levels[1].members, 4);
}
