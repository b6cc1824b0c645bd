//===- Collectives.cpp - the time of communication ------------------------===//

#include "compiler/cost/Collectives.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace pdc;
using namespace pdc::cost;
using machine::Cluster;
using machine::MeasuredCollective;
using machine::Sharing;

static constexpr const char *kNames[kCollectiveCount] = {"all_reduce", "all_gather", "reduce_scatter",
                                                         "all_to_all", "broadcast",  "point_to_point"};

const char *cost::toString(Collective collective) { return kNames[static_cast<int>(collective)]; }

std::optional<Collective> cost::parseCollective(const std::string &text) {
  for (int i = 0; i < kCollectiveCount; ++i)
    if (text == kNames[i])
      return static_cast<Collective>(i);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

LinkCosts::LinkCosts(const Cluster &cluster) : measured(cluster.collectives) {
  // Staged bytes pass the slowest host link of the job.
  double hostBytesPerSecond = std::numeric_limits<double>::infinity(), hostLatency = 0, coreShare = 1;
  for (const machine::NodeGroup &group : cluster.nodes)
    if (group.host.link.bytesPerSecond > 0) {
      hostBytesPerSecond = std::min(hostBytesPerSecond, group.host.link.bytesPerSecond);
      hostLatency = std::max(hostLatency, group.host.link.latencySeconds);
    }
  // Ranks that outnumber the cores wait for each other to be scheduled.
  if (cluster.rankCount() > 0)
    coreShare = cluster.coreShare(0, 1);
  for (const machine::LinkLevel &link : cluster.levels()) {
    Level level{link.latencySeconds / coreShare, link.bytesPerSecond * coreShare, link.sharing,
                link.fullDuplex, link.path == machine::Path::SharedMemory};
    if (link.path == machine::Path::Staged) {
      level.bytesPerSecond = std::min(level.bytesPerSecond, hostBytesPerSecond);
      level.latencySeconds += 2 * hostLatency;
    }
    levels.push_back(level);
  }
}

LinkCosts::Step LinkCosts::step(size_t index, const GroupShape &shape, double flows,
                                bool bothDirections) const {
  const Level &level = levels[index];
  const GroupLevel &group = shape.levels[index];
  double bandwidth = level.bytesPerSecond;
  if (bothDirections && !level.fullDuplex)
    bandwidth /= 2;
  if (level.sharing == Sharing::PerMember)
    bandwidth /= flows * static_cast<double>(group.groupsPerMember);
  else if (level.sharing == Sharing::Bus)
    bandwidth /= flows * static_cast<double>(group.groupsPerLevel) *
                 (bothDirections ? static_cast<double>(group.members) : 1.0);
  return {static_cast<double>(group.members), level.latencySeconds, 1 / bandwidth, level.isSharedMemory};
}

//===----------------------------------------------------------------------===//
// Algorithms on one level
//===----------------------------------------------------------------------===//

static double log2Ceil(double n) { return std::ceil(std::log2(n)); }

/// Of reduce_scatter and all_gather, which mirror each other.
static double scatterOrGather(double n, double latency, double secondsPerByte, double bytes,
                              bool isSharedMemory) {
  double moving = (n - 1) / n * bytes * secondsPerByte;
  if (isSharedMemory)
    return latency + moving;
  bool isPowerOfTwo = std::exp2(log2Ceil(n)) == n;
  return (isPowerOfTwo ? log2Ceil(n) : n - 1) * latency + moving;
}

static double allReduce(double n, double latency, double secondsPerByte, double bytes, bool isSharedMemory) {
  double twice = 2 * scatterOrGather(n, latency, secondsPerByte, bytes, isSharedMemory);
  // Ranks beyond a power of two hand their operand over first and get the result last.
  double extra = std::exp2(log2Ceil(n)) == n ? 0 : 1;
  return std::min(twice, (log2Ceil(n) + extra) * (latency + bytes * secondsPerByte));
}

static double broadcast(double n, double latency, double secondsPerByte, double bytes, bool isSharedMemory) {
  if (isSharedMemory)
    return latency + bytes * secondsPerByte;
  double tree = log2Ceil(n) * (latency + bytes * secondsPerByte);
  double scatter = (log2Ceil(n) + n - 1) * latency + 2 * (n - 1) / n * bytes * secondsPerByte;
  return std::min(tree, scatter);
}

//===----------------------------------------------------------------------===//
// Algorithms over all levels
//===----------------------------------------------------------------------===//

double LinkCosts::flatRing(Collective collective, double bytes, const GroupShape &shape) const {
  double latency = 0, secondsPerByte = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (shape.levels[i].members == 1)
      continue;
    Step ring = step(i, shape, /*flows=*/1, /*bothDirections=*/true);
    latency = std::max(latency, ring.latency);
    secondsPerByte = std::max(secondsPerByte, ring.secondsPerByte);
  }
  double n = static_cast<double>(shape.ranks), times = collective == Collective::AllReduce ? 2 : 1;
  return times * ((n - 1) * latency + (n - 1) / n * bytes * secondsPerByte);
}

double LinkCosts::byLevel(Collective collective, double bytes, const GroupShape &shape) const {
  double seconds = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const GroupLevel &group = shape.levels[i];
    if (group.members == 1)
      continue;
    // A broadcast enters each block once; elsewhere every rank of a block holds a part of its own, and all parts
    // leave at once.
    double parts = collective == Collective::Broadcast ? 1 : static_cast<double>(group.ranksBelow);
    Step s = step(i, shape, parts, /*bothDirections=*/true);
    double part = bytes / parts;
    if (collective == Collective::AllReduce)
      seconds += allReduce(s.members, s.latency, s.secondsPerByte, part, s.isSharedMemory);
    else if (collective == Collective::Broadcast)
      seconds += broadcast(s.members, s.latency, s.secondsPerByte, part, s.isSharedMemory);
    else
      seconds += scatterOrGather(s.members, s.latency, s.secondsPerByte, part, s.isSharedMemory);
  }
  return seconds;
}

double LinkCosts::allToAll(double bytes, const GroupShape &shape) const {
  // Each pair exchanges its part over the level that joins it.
  double n = static_cast<double>(shape.ranks), pairwise = 0, bruck = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const GroupLevel &group = shape.levels[i];
    if (group.members == 1)
      continue;
    double below = static_cast<double>(group.ranksBelow);
    Step s = step(i, shape, below, /*bothDirections=*/true);
    double peers = (s.members - 1) * below;
    pairwise += (s.isSharedMemory ? 1 : peers) * s.latency + peers / n * bytes * s.secondsPerByte;
    bruck += log2Ceil(s.members) * (s.latency + bytes / 2 * s.secondsPerByte);
  }
  return std::min(pairwise, bruck);
}

double LinkCosts::analyticSeconds(Collective collective, double bytes, const GroupShape &shape) const {
  if (shape.ranks <= 1)
    return 0;
  switch (collective) {
  case Collective::AllToAll:
    return allToAll(bytes, shape);
  case Collective::Broadcast:
    return byLevel(collective, bytes, shape);
  case Collective::PointToPoint: {
    size_t outermost = levels.size() - 1;
    while (shape.levels[outermost].members == 1)
      --outermost;
    Step s = step(outermost, shape, /*flows=*/1, /*bothDirections=*/false);
    return s.latency + bytes * s.secondsPerByte;
  }
  case Collective::AllReduce:
  case Collective::AllGather:
  case Collective::ReduceScatter:
    return std::min(flatRing(collective, bytes, shape), byLevel(collective, bytes, shape));
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Measured
//===----------------------------------------------------------------------===//

double LinkCosts::measuredSeconds(const MeasuredCollective &curve, double bytes) const {
  const std::vector<machine::CollectivePoint> &points = curve.points;
  // Below the first point latency alone counts, beyond the last bandwidth alone.
  if (bytes <= points.front().bytes)
    return points.front().seconds;
  for (size_t i = 1; i < points.size(); ++i) {
    const machine::CollectivePoint &low = points[i - 1], &high = points[i];
    if (bytes <= high.bytes) {
      double at = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
      return low.seconds * std::pow(high.seconds / low.seconds, at);
    }
  }
  return points.back().seconds * bytes / points.back().bytes;
}

double LinkCosts::seconds(Collective collective, double bytes, const GroupShape &shape) const {
  double analytic = analyticSeconds(collective, bytes, shape);
  if (shape.ranks <= 1 || measured.empty())
    return analytic;
  int64_t groups = shape.levels.back().groupsPerLevel;
  const MeasuredCollective *nearest = nullptr;
  for (const MeasuredCollective &curve : measured) {
    bool sameMembers = curve.kind == toString(collective);
    for (size_t i = 0; i < shape.levels.size() && sameMembers; ++i)
      sameMembers = curve.members[i] == shape.levels[i].members;
    if (sameMembers && (!nearest || std::abs(curve.groups - groups) < std::abs(nearest->groups - groups)))
      nearest = &curve;
  }
  if (!nearest)
    return analytic;
  if (nearest->groups == groups)
    return measuredSeconds(*nearest, bytes);
  // The same group with as many neighbours as were measured.
  GroupShape neighbours = shape;
  for (GroupLevel &level : neighbours.levels) {
    level.groupsPerMember = std::min(level.groupsPerMember, nearest->groups);
    level.groupsPerLevel = std::min(level.groupsPerLevel, nearest->groups);
  }
  double atMeasured = analyticSeconds(collective, bytes, neighbours);
  return measuredSeconds(*nearest, bytes) * (atMeasured > 0 ? analytic / atMeasured : 1);
}

double cost::collectiveSeconds(const Cluster &cluster, Collective collective, double bytes,
                               const GroupShape &shape) {
  return LinkCosts(cluster).seconds(collective, bytes, shape);
}

double cost::p2pSeconds(const Cluster &cluster, double bytes, int64_t from, int64_t to) {
  if (from == to)
    return 0;
  GroupShape shape = shapeOfRanks(cluster, {static_cast<int32_t>(from), static_cast<int32_t>(to)});
  for (GroupLevel &level : shape.levels)
    level.groupsPerMember = level.groupsPerLevel = 1;
  return LinkCosts(cluster).seconds(Collective::PointToPoint, bytes, shape);
}
