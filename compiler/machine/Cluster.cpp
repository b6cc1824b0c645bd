//===- Cluster.cpp - the devices and links a plan is made for -------------===//

#include "compiler/machine/Cluster.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace pdc::machine;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr const char *kPrecisionNames[kPrecisionCount] = {"f64", "f32", "tf32", "bf16", "f16"};
static constexpr const char *kOpClassNames[kOpClassCount] = {
    "matmul", "convolution", "attention", "pooling", "elementwise", "reduction", "gather", "copy"};

const char *pdc::machine::toString(Precision precision) {
  return kPrecisionNames[static_cast<int>(precision)];
}

std::optional<Precision> pdc::machine::parsePrecision(const std::string &text) {
  for (int i = 0; i < kPrecisionCount; ++i)
    if (text == kPrecisionNames[i])
      return static_cast<Precision>(i);
  return std::nullopt;
}

const char *pdc::machine::toString(OpClass opClass) { return kOpClassNames[static_cast<int>(opClass)]; }

std::optional<OpClass> pdc::machine::parseOpClass(const std::string &text) {
  for (int i = 0; i < kOpClassCount; ++i)
    if (text == kOpClassNames[i])
      return static_cast<OpClass>(i);
  return std::nullopt;
}

bool pdc::machine::isArithmetic(OpClass opClass) { return opClass <= OpClass::Pooling; }

const char *pdc::machine::toString(Sharing sharing) {
  switch (sharing) {
  case Sharing::PerDevice:
    return "per_device";
  case Sharing::PerMember:
    return "per_member";
  case Sharing::Bus:
    return "bus";
  }
  return "";
}

const char *pdc::machine::toString(Path path) {
  switch (path) {
  case Path::Direct:
    return "direct";
  case Path::Staged:
    return "staged";
  case Path::SharedMemory:
    return "shared_memory";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

double DeviceKind::flopsPerSecond(Precision precision) const {
  double given = peakFlops[static_cast<int>(precision)];
  if (given > 0)
    return given;
  double f32 = peakFlops[static_cast<int>(Precision::F32)];
  if (precision == Precision::F64)
    return f32 / 2;
  return f32;
}

/// What libraries typically reach of the peak on large operands, where nothing is measured: about the shares
/// that vendors' own libraries and rooflines of deep learning report (Yang et al. 2020, "Hierarchical roofline
/// performance analysis for deep learning applications").
static double typicalShare(OpClass opClass) {
  switch (opClass) {
  case OpClass::Matmul:
    return 0.75;
  case OpClass::Convolution:
    return 0.6;
  case OpClass::Attention:
    return 0.5;
  case OpClass::Pooling: // next to no arithmetic: what it reads and writes counts
    return 0.05;
  case OpClass::Elementwise:
  case OpClass::Copy:
    return 0.85;
  case OpClass::Reduction:
    return 0.75;
  case OpClass::Gather:
    return 0.5;
  }
  return 1;
}

static double interpolate(const std::vector<EfficiencyPoint> &points, double size) {
  if (size <= points.front().size)
    return points.front().share;
  for (size_t i = 1; i < points.size(); ++i) {
    const EfficiencyPoint &low = points[i - 1], &high = points[i];
    if (size <= high.size) {
      double at = std::log(size / low.size) / std::log(high.size / low.size);
      return low.share + at * (high.share - low.share);
    }
  }
  return points.back().share;
}

/// The curve of the precision, else that of all; null if there is none.
static const EfficiencyCurve *findCurve(const std::vector<EfficiencyCurve> &curves, OpClass opClass,
                                        Precision precision) {
  const EfficiencyCurve *found = nullptr;
  for (const EfficiencyCurve &curve : curves) {
    if (curve.opClass != opClass || curve.points.empty())
      continue;
    if (curve.precision == precision)
      return &curve;
    if (!curve.precision)
      found = &curve;
  }
  return found;
}

double DeviceKind::efficiency(OpClass opClass, Precision precision, double size) const {
  const EfficiencyCurve *curve = findCurve(efficiencies, opClass, precision);
  return curve ? interpolate(curve->points, size) : typicalShare(opClass);
}

double DeviceKind::busyEfficiency(OpClass opClass, Precision precision, double size) const {
  const EfficiencyCurve *curve = findCurve(busyEfficiencies, opClass, precision);
  return curve ? interpolate(curve->points, size) : efficiency(opClass, precision, size);
}

//===----------------------------------------------------------------------===//
// Ranks on nodes
//===----------------------------------------------------------------------===//

int64_t Cluster::nodeCount() const {
  int64_t count = 0;
  for (const NodeGroup &group : nodes)
    count += group.count;
  return count;
}

int64_t Cluster::deviceCount() const {
  int64_t count = 0;
  for (const NodeGroup &group : nodes)
    count += group.count * group.devicesPerNode;
  return count;
}

const NodeGroup &Cluster::nodeGroupOf(int64_t rank) const {
  for (const NodeGroup &group : nodes) {
    int64_t devices = group.count * group.devicesPerNode;
    if (rank < devices)
      return group;
    rank -= devices;
  }
  assert(false && "the cluster has no such rank");
  return nodes.back();
}

int64_t Cluster::nodeOf(int64_t rank) const {
  int64_t node = 0;
  for (const NodeGroup &group : nodes) {
    int64_t devices = group.count * group.devicesPerNode;
    if (rank < devices)
      return node + rank / group.devicesPerNode;
    rank -= devices;
    node += group.count;
  }
  assert(false && "the cluster has no such rank");
  return node - 1;
}

const DeviceKind &Cluster::device(const std::string &kind) const {
  for (const DeviceKind &device : devices)
    if (device.name == kind)
      return device;
  assert(false && "the cluster has no such device kind");
  return devices.front();
}

const DeviceKind &Cluster::deviceOf(int64_t rank) const { return device(nodeGroupOf(rank).device); }

int64_t Cluster::ranksPerNode() const {
  int64_t most = 0;
  for (const NodeGroup &group : nodes)
    most = std::max(most, group.devicesPerNode);
  return std::min(most, rankCount());
}

double Cluster::coreShare(int64_t rank, int threads) const {
  return coreShare(rank, threads, std::min(nodeGroupOf(rank).devicesPerNode, rankCount()));
}

double Cluster::coreShare(int64_t rank, int threads, int64_t computing) const {
  const NodeGroup &group = nodeGroupOf(rank);
  if (!device(group.device).onHost || group.host.cores == 0)
    return 1;
  return std::min(1.0, static_cast<double>(group.host.cores) / static_cast<double>(computing * threads));
}

DeviceKind Cluster::effectiveDevice(int64_t rank, int threads) const {
  DeviceKind kind = deviceOf(rank);
  if (!kind.onHost)
    return kind;
  const NodeGroup &group = nodeGroupOf(rank);
  double share = coreShare(rank, threads);
  for (double &flops : kind.peakFlops)
    flops *= threads * share;
  kind.memoryBytesPerSecond *= threads * share;
  kind.launchSeconds /= share;
  for (auto &[call, seconds] : kind.librarySeconds)
    seconds /= threads * share;
  double ranks = static_cast<double>(std::min(group.devicesPerNode, rankCount()));
  // Nobody else is there, or it was measured what is left of memory when all use it.
  if (ranks == 1)
    kind.busyEfficiencies.clear();
  else if (!kind.busyEfficiencies.empty())
    return kind;
  if (group.host.memoryBytesPerSecond > 0)
    kind.memoryBytesPerSecond = std::min(kind.memoryBytesPerSecond, group.host.memoryBytesPerSecond / ranks);
  return kind;
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// The level as the slowest of two kinds of nodes has it.
static LinkLevel slower(const LinkLevel &a, const LinkLevel &b) {
  LinkLevel level = a.bytesPerSecond <= b.bytesPerSecond ? a : b;
  level.members = std::max(a.members, b.members);
  level.latencySeconds = std::max(a.latencySeconds, b.latencySeconds);
  level.fullDuplex = a.fullDuplex && b.fullDuplex;
  if (a.overlap && b.overlap)
    level.overlap = std::min(*a.overlap, *b.overlap);
  return level;
}

std::vector<LinkLevel> Cluster::levels() const {
  std::vector<LinkLevel> levels = nodes.front().links;
  for (const NodeGroup &group : nodes)
    for (size_t i = 0; i < levels.size(); ++i)
      levels[i] = slower(levels[i], group.links[i]);
  levels.insert(levels.end(), network.begin(), network.end());
  return levels;
}

std::vector<int64_t> Cluster::blockSizes() const {
  std::vector<int64_t> sizes{1};
  for (const LinkLevel &level : levels())
    sizes.push_back(sizes.back() * level.members);
  return sizes;
}
