//===- GroupShape.cpp - how a group of ranks lies on the links ------------===//

#include "compiler/cost/GroupShape.h"
#include <algorithm>
#include <map>

using namespace pdc;
using namespace pdc::cost;
using machine::Cluster;

namespace {

/// A block of some level: its first rank and how many it has room for.
struct BlockRange {
  int64_t first, size;
  bool operator<(const BlockRange &other) const { return first < other.first; }
};

/// The blocks around one rank: entry 0 is the rank itself, entry i the block that level i - 1 joins.
std::vector<BlockRange> blocksAround(const Cluster &cluster, int64_t rank) {
  int64_t firstOfGroup = 0, firstNode = 0;
  size_t g = 0;
  while (rank - firstOfGroup >= cluster.nodes[g].count * cluster.nodes[g].devicesPerNode) {
    firstOfGroup += cluster.nodes[g].count * cluster.nodes[g].devicesPerNode;
    firstNode += cluster.nodes[g].count;
    ++g;
  }
  const machine::NodeGroup &group = cluster.nodes[g];
  int64_t node = (rank - firstOfGroup) / group.devicesPerNode;
  int64_t firstOfNode = firstOfGroup + node * group.devicesPerNode;
  std::vector<BlockRange> blocks{{rank, 1}};
  int64_t size = 1;
  for (const machine::LinkLevel &level : group.links) {
    size *= level.members;
    blocks.push_back({firstOfNode + (rank - firstOfNode) / size * size, size});
  }
  // Ranks are numbered node after node, so that a block of nodes is a range of ranks.
  auto firstRankOf = [&](int64_t index) {
    int64_t first = 0;
    for (const machine::NodeGroup &nodes : cluster.nodes) {
      int64_t taken = std::min(index, nodes.count);
      first += taken * nodes.devicesPerNode;
      index -= taken;
    }
    return first;
  };
  int64_t nodes = 1;
  for (const machine::LinkLevel &level : cluster.network) {
    nodes *= level.members;
    int64_t begin = (firstNode + node) / nodes * nodes;
    int64_t first = firstRankOf(begin);
    blocks.push_back({first, firstRankOf(begin + nodes) - first});
  }
  return blocks;
}

int64_t ranksInUse(const Cluster &cluster, const BlockRange &block) {
  return std::min(block.size, cluster.rankCount() - block.first);
}

void takeLargest(GroupShape &shape, const GroupShape &other) {
  shape.ranks = std::max(shape.ranks, other.ranks);
  for (size_t i = 0; i < shape.levels.size(); ++i) {
    GroupLevel &a = shape.levels[i];
    const GroupLevel &b = other.levels[i];
    a = {std::max(a.members, b.members), std::max(a.ranksBelow, b.ranksBelow),
         std::max(a.groupsPerMember, b.groupsPerMember), std::max(a.groupsPerLevel, b.groupsPerLevel)};
  }
}

} // namespace

GroupShape cost::shapeOfRanks(const Cluster &cluster, const std::vector<int32_t> &ranks) {
  GroupShape shape;
  shape.ranks = static_cast<int64_t>(ranks.size());
  shape.levels.resize(cluster.nodes.front().links.size() + cluster.network.size());
  // Per level: how many of the group's ranks lie in each block, and which blocks of the level below.
  std::vector<std::map<BlockRange, int64_t>> counts(shape.levels.size() + 1);
  std::vector<std::map<BlockRange, std::map<BlockRange, int64_t>>> inner(shape.levels.size());
  for (int32_t rank : ranks) {
    std::vector<BlockRange> blocks = blocksAround(cluster, rank);
    for (size_t i = 0; i < blocks.size(); ++i) {
      ++counts[i][blocks[i]];
      if (i > 0)
        ++inner[i - 1][blocks[i]][blocks[i - 1]];
    }
  }
  for (size_t i = 0; i < shape.levels.size(); ++i) {
    GroupLevel &level = shape.levels[i];
    for (const auto &[block, members] : inner[i])
      level.members = std::max(level.members, static_cast<int64_t>(members.size()));
    for (const auto &[block, count] : counts[i]) {
      level.ranksBelow = std::max(level.ranksBelow, count);
      level.groupsPerMember = std::max(level.groupsPerMember, ranksInUse(cluster, block) / count);
    }
    for (const auto &[block, count] : counts[i + 1])
      level.groupsPerLevel = std::max(level.groupsPerLevel, ranksInUse(cluster, block) / count);
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Axes of a mesh
//===----------------------------------------------------------------------===//

/// Whether each block of the hierarchy holds a whole number of steps along each axis, or lies within one step.
static bool aligned(const std::vector<int64_t> &blockSizes, const std::vector<int64_t> &strides,
                    const std::vector<int64_t> &axisSizes) {
  for (size_t axis = 0; axis < axisSizes.size(); ++axis) {
    int64_t begin = strides[axis], end = begin * axisSizes[axis];
    for (int64_t block : blockSizes) {
      bool fits = block <= begin ? begin % block == 0
                  : block >= end ? block % end == 0
                                 : block % begin == 0 && end % block == 0;
      if (!fits)
        return false;
    }
  }
  return true;
}

/// Every group, rank by rank.
static GroupShape shapeByEnumeration(const Cluster &cluster, const std::vector<int64_t> &axisSizes,
                                     const std::vector<int64_t> &strides, const std::vector<size_t> &axes) {
  int64_t total = 1;
  for (int64_t size : axisSizes)
    total *= size;
  std::map<int64_t, std::vector<int32_t>> groups; // by their first rank
  for (int64_t rank = 0; rank < total; ++rank) {
    int64_t first = rank;
    for (size_t axis : axes)
      first -= rank / strides[axis] % axisSizes[axis] * strides[axis];
    groups[first].push_back(static_cast<int32_t>(rank));
  }
  GroupShape shape = shapeOfRanks(cluster, groups.begin()->second);
  for (const auto &[first, ranks] : groups)
    takeLargest(shape, shapeOfRanks(cluster, ranks));
  return shape;
}

GroupShape cost::shapeOfAxes(const Cluster &cluster, const std::vector<int64_t> &axisSizes,
                             const std::vector<size_t> &axes) {
  std::vector<int64_t> strides(axisSizes.size());
  int64_t total = 1;
  for (size_t i = axisSizes.size(); i-- > 0;) {
    strides[i] = total;
    total *= axisSizes[i];
  }
  std::vector<int64_t> blocks{1};
  for (const machine::LinkLevel &level : cluster.nodes.front().links)
    blocks.push_back(blocks.back() * level.members);
  for (const machine::LinkLevel &level : cluster.network)
    blocks.push_back(blocks.back() * level.members);
  for (int64_t &block : blocks)
    block = std::min(block, total);
  if (!cluster.isHomogeneous() || !aligned(blocks, strides, axisSizes))
    return shapeByEnumeration(cluster, axisSizes, strides, axes);

  GroupShape shape;
  shape.levels.resize(blocks.size() - 1);
  for (size_t i = 0; i < shape.levels.size(); ++i) {
    GroupLevel &level = shape.levels[i];
    level.ranksBelow = shape.ranks;
    level.groupsPerMember = blocks[i] / shape.ranks;
    for (size_t axis : axes) {
      // The part of the axis that this level joins.
      int64_t begin = std::max(strides[axis], blocks[i]);
      int64_t end = std::min(strides[axis] * axisSizes[axis], blocks[i + 1]);
      level.members *= std::max<int64_t>(1, end / begin);
    }
    shape.ranks *= level.members;
    level.groupsPerLevel = blocks[i + 1] / shape.ranks;
  }
  return shape;
}
