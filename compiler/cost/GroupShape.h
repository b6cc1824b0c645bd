//===- GroupShape.h - how a group of ranks lies on the links ----*- C++ -*-===//
#ifndef PDC_COMPILER_COST_GROUPSHAPE_H
#define PDC_COMPILER_COST_GROUPSHAPE_H

#include "compiler/machine/Cluster.h"
#include <cstdint>
#include <vector>

namespace pdc::cost {

/// A group on one level of Cluster::levels(). Example: 4 nodes of 4 devices, the group of devices 0 of all nodes while
/// the other devices form three more such groups:
///
///     level 0 (in a node):   members 1, ranksBelow 1
///     level 1 (the network): members 4, ranksBelow 1, groupsPerMember 4, groupsPerLevel 4
struct GroupLevel {
  int64_t members = 1;         // blocks of the level below in which the group has ranks
  int64_t ranksBelow = 1;      // ranks of the group in one such block
  int64_t groupsPerMember = 1; // groups with ranks in one such block: they leave it by the same way, at once
  int64_t groupsPerLevel = 1;  // groups with ranks in all the blocks that the level joins

  bool operator==(const GroupLevel &) const = default;
};

/// All a collective's cost needs to know of who takes part. Where blocks differ, each number is that of the
/// fullest block.
struct GroupShape {
  int64_t ranks = 1;
  std::vector<GroupLevel> levels; // as many as Cluster::levels(), innermost first

  bool operator==(const GroupShape &) const = default;
};

/// The shape of one group. The other ranks in use are taken to form groups like it and to communicate at the same
/// time, as they do when one program runs on all. Takes time in proportion to the group.
GroupShape shapeOfRanks(const machine::Cluster &cluster, const std::vector<int32_t> &ranks);

/// The shape of the groups along some axes of a mesh. The mesh has its ranks in row-major order (the last axis is
/// the fastest), starting at rank 0. Where axes and link levels align, no rank is looked at; else all are, and
/// the largest numbers of any group count.
GroupShape shapeOfAxes(const machine::Cluster &cluster, const std::vector<int64_t> &axisSizes,
                       const std::vector<size_t> &axes);

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_GROUPSHAPE_H
