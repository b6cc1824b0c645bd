//===- ProfileResult.cpp - from measurements to a cluster -----------------===//

#include "tools/pdc/ProfileResult.h"
#include "compiler/machine/Units.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <tuple>

using namespace pdc;
using namespace pdc::machine;
using llvm::json::Object;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// `value` to four digits in the largest unit in which it is at least one: more would only be noise.
static double rounded(double value, Unit unit, const std::vector<std::pair<double, const char *>> &units) {
  const char *name = units.back().second;
  double factor = units.back().first;
  for (auto [candidate, spelling] : units)
    if (value >= candidate) {
      name = spelling;
      factor = candidate;
      break;
    }
  char text[64];
  std::snprintf(text, sizeof(text), "%.4g %s", value / factor, name);
  return parseQuantity(text, unit).value_or(value);
}

static double roundedSeconds(double value) {
  return rounded(value, Unit::Seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}
static double roundedBandwidth(double value) {
  return rounded(value, Unit::BytesPerSecond, {{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}});
}
static double roundedFlops(double value) {
  return rounded(value, Unit::FlopsPerSecond, {{1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}});
}
static double roundedShare(double value) { return rounded(value, Unit::Number, {{1, ""}}); }

//===----------------------------------------------------------------------===//
// Reading the measurements
//===----------------------------------------------------------------------===//

namespace {

double number(const Object &object, llvm::StringRef key) { return object.getNumber(key).value_or(0); }

/// One thing that several ranks measured.
struct Point {
  std::string opClass, precision, call;
  double flops = 0, bytes = 0;
  std::vector<double> seconds;
};

struct Profile {
  std::string communicator;
  std::vector<const Object *> ranks, links;
  std::vector<int64_t> ranksOfNode;
  std::vector<Point> points; // in the order in which they were measured
  std::vector<Point> alone;  // what moves, while one rank of a node runs; empty: as in `points`
  std::map<std::string, std::vector<double>> calls; // of executables: seconds on each rank that made them
  std::vector<double> computeSpreads, linkSpreads;

  llvm::Error read(const Object &top);
  double medianOfRanks(llvm::StringRef key, llvm::function_ref<double(const Object &)> value) const;
  /// Null if it was not measured.
  const Object *link(llvm::StringRef kind, int64_t ranksPerNode, int64_t nodes) const;

private:
  void readPoints(const Object &rank, llvm::StringRef key, std::vector<Point> &points);
  void readCalls(const Object &rank);
};

} // namespace

static llvm::Error damaged(const char *what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "the measurements are damaged: %s", what);
}

void Profile::readPoints(const Object &rank, llvm::StringRef key, std::vector<Point> &points) {
  const llvm::json::Array *list = rank.getArray(key);
  for (const llvm::json::Value &value : list ? *list : llvm::json::Array()) {
    const Object *object = value.getAsObject();
    if (!object)
      continue;
    Point point{object->getString("class").value_or("").str(), object->getString("precision").value_or("").str(),
                object->getString("call").value_or("").str(), number(*object, "flops"), number(*object, "bytes"), {}};
    auto same = llvm::find_if(points, [&](const Point &other) {
      return std::tie(point.opClass, point.precision, point.call, point.bytes) ==
             std::tie(other.opClass, other.precision, other.call, other.bytes);
    });
    if (same == points.end())
      same = points.insert(points.end(), std::move(point));
    same->seconds.push_back(number(*object, "seconds"));
    computeSpreads.push_back(number(*object, "spread"));
  }
}

void Profile::readCalls(const Object &rank) {
  const llvm::json::Array *list = rank.getArray("calls");
  for (const llvm::json::Value &value : list ? *list : llvm::json::Array())
    if (const Object *object = value.getAsObject())
      calls[object->getString("call").value_or("").str()].push_back(number(*object, "seconds"));
}

llvm::Error Profile::read(const Object &top) {
  communicator = top.getString("communicator").value_or("").str();
  const llvm::json::Array *rankList = top.getArray("ranks"), *linkList = top.getArray("links");
  if (!rankList || rankList->empty() || !linkList)
    return damaged("no ranks or no links");
  for (const llvm::json::Value &value : *rankList) {
    const Object *rank = value.getAsObject();
    if (!rank)
      return damaged("a rank is not an object");
    ranks.push_back(rank);
    size_t node = static_cast<size_t>(number(*rank, "node"));
    if (node > ranks.size())
      return damaged("a node is missing");
    ranksOfNode.resize(std::max(ranksOfNode.size(), node + 1));
    ++ranksOfNode[node];
    readPoints(*rank, "compute", points);
    readPoints(*rank, "moves", points);
    readPoints(*rank, "moves_alone", alone);
    readCalls(*rank);
  }
  for (const llvm::json::Value &value : *linkList) {
    const Object *measured = value.getAsObject();
    if (!measured || !measured->getArray("points") || measured->getArray("points")->empty())
      return damaged("a link has no points");
    links.push_back(measured);
    for (const llvm::json::Value &point : *measured->getArray("points"))
      if (const Object *object = point.getAsObject())
        linkSpreads.push_back(number(*object, "spread"));
  }
  return llvm::Error::success();
}

double Profile::medianOfRanks(llvm::StringRef key, llvm::function_ref<double(const Object &)> value) const {
  std::vector<double> values;
  for (const Object *rank : ranks)
    if (const Object *object = rank->getObject(key))
      values.push_back(value(*object));
  return median(std::move(values));
}

const Object *Profile::link(llvm::StringRef kind, int64_t ranksPerNode, int64_t nodes) const {
  for (const Object *measured : links)
    if (measured->getString("kind") == kind && number(*measured, "ranks_per_node") == ranksPerNode &&
        number(*measured, "nodes") == nodes)
      return measured;
  return nullptr;
}

static std::vector<CollectivePoint> pointsOf(const Object &link) {
  std::vector<CollectivePoint> points;
  for (const llvm::json::Value &value : *link.getArray("points"))
    if (const Object *point = value.getAsObject())
      points.push_back({number(*point, "bytes"), roundedSeconds(number(*point, "seconds"))});
  return points;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static double bytesPerSecond(const Object &point) {
  return number(point, "bytes") / number(point, "seconds");
}

/// Shares of the peak or the bandwidth, by increasing size; of points of one size, the better one.
static std::vector<EfficiencyCurve> curvesOf(llvm::ArrayRef<Point> measured, const DeviceKind &device) {
  std::map<std::pair<OpClass, std::optional<Precision>>, std::map<double, double>> curves;
  std::set<OpClass> severalPrecisions;
  for (const Point &point : measured)
    if (point.precision != "f32")
      if (auto opClass = parseOpClass(point.opClass))
        severalPrecisions.insert(*opClass);
  for (const Point &point : measured) {
    auto opClass = parseOpClass(point.opClass);
    auto precision = parsePrecision(point.precision);
    if (!opClass || !precision)
      continue;
    bool byFlops = isArithmetic(*opClass);
    double seconds = median(point.seconds), work = byFlops ? point.flops : point.bytes;
    // What the call takes beyond the fixed cost of any instruction.
    double own = std::max(seconds - device.launchSeconds, seconds / 10);
    double peak = byFlops ? device.flopsPerSecond(*precision) : device.memoryBytesPerSecond;
    std::optional<Precision> key;
    if (severalPrecisions.count(*opClass))
      key = precision;
    double &share = curves[{*opClass, key}][work];
    share = std::max(share, roundedShare(work / own / peak));
  }
  std::vector<EfficiencyCurve> result;
  for (const auto &[key, points] : curves) {
    EfficiencyCurve curve{key.first, key.second, {}};
    for (auto [size, share] : points)
      curve.points.push_back({size, share});
    result.push_back(std::move(curve));
  }
  return result;
}

/// What moves has one curve for a rank alone and one for all at once, where both were measured.
static void addCurves(const Profile &profile, DeviceKind &device) {
  device.efficiencies = curvesOf(profile.points, device);
  for (EfficiencyCurve &alone : curvesOf(profile.alone, device)) {
    auto busy = llvm::find_if(device.efficiencies, [&](const EfficiencyCurve &curve) {
      return curve.opClass == alone.opClass && curve.precision == alone.precision;
    });
    if (busy == device.efficiencies.end())
      continue;
    device.busyEfficiencies.push_back(std::move(*busy));
    *busy = std::move(alone);
  }
}

static DeviceKind deviceOf(const Profile &profile) {
  DeviceKind device;
  device.name = "core";
  device.onHost = true;
  device.memoryBytes = std::numeric_limits<double>::infinity();
  for (const Object *rank : profile.ranks) {
    int64_t sharers = profile.ranksOfNode[static_cast<size_t>(number(*rank, "node"))];
    device.memoryBytes =
        std::min(device.memoryBytes, std::floor(number(*rank, "memory") / static_cast<double>(sharers)));
  }
  device.channelBlock = std::max<int64_t>(1, static_cast<int64_t>(number(*profile.ranks.front(), "vector_lanes")));
  device.memoryBytesPerSecond = roundedBandwidth(profile.medianOfRanks("memory_alone", bytesPerSecond));
  device.launchSeconds = roundedSeconds(
      profile.medianOfRanks("instruction", [](const Object &sample) { return number(sample, "seconds"); }));
  for (const Point &point : profile.points)
    if (auto precision = parsePrecision(point.precision); precision && point.flops > 0) {
      double &peak = device.peakFlops[static_cast<int>(*precision)];
      peak = std::max(peak, roundedFlops(point.flops / median(point.seconds)));
    }
  addCurves(profile, device);
  for (const Point &point : profile.points)
    if (!point.call.empty())
      device.librarySeconds[point.call] = roundedSeconds(median(point.seconds));
  // As they are in a step, which the points are not.
  for (const auto &[call, seconds] : profile.calls)
    device.librarySeconds[call] = roundedSeconds(median(seconds));
  return device;
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// Inside a node: from an all_reduce, which takes 2 (latency + (n-1)/n bytes / bandwidth) there (cost/Collectives.h).
static LinkLevel sharedMemoryLevel(const Profile &profile, int64_t members) {
  LinkLevel level;
  level.name = "shared memory";
  level.members = members;
  level.path = Path::SharedMemory;
  const Object *measured = profile.link("all_reduce", members, 1);
  std::vector<CollectivePoint> points = measured ? pointsOf(*measured) : std::vector<CollectivePoint>();
  if (points.empty())
    return level;
  double n = static_cast<double>(members), latency = points.front().seconds / 2;
  double moving = std::max(points.back().seconds / 2 - latency, points.back().seconds / 20);
  level.latencySeconds = roundedSeconds(latency);
  level.bytesPerSecond = roundedBandwidth((n - 1) / n * points.back().bytes / moving);
  return level;
}

/// Messages both ways at once take no longer than one of them: at some size for which the bandwidth counts. At others the
/// transport may make them wait for each other.
static bool isFullDuplex(const std::vector<CollectivePoint> &oneWay, const std::vector<CollectivePoint> &exchange) {
  return llvm::any_of(exchange, [&](const CollectivePoint &both) {
    return llvm::any_of(oneWay, [&](const CollectivePoint &one) {
      return one.bytes == both.bytes && one.seconds > 4 * oneWay.front().seconds && both.seconds < 1.5 * one.seconds;
    });
  });
}

/// What a rank can do beside long messages, whose time is that of the link; nothing where its work was not measured.
static std::optional<double> overlapOf(const Object &messages) {
  const Object *longest = messages.getArray("points")->back().getAsObject();
  std::optional<double> work = longest ? longest->getNumber("work") : std::nullopt;
  if (!work)
    return std::nullopt;
  return std::round(100 * (1 - std::clamp(*work, 0.0, 1.0))) / 100;
}

/// Between nodes: from messages one way, and both ways at once.
static LinkLevel networkLevel(const Profile &profile, int64_t members) {
  LinkLevel level;
  level.name = "network";
  level.members = members;
  level.sharing = Sharing::PerMember;
  const Object *measured = profile.link("point_to_point", 1, 2), *exchange = profile.link("exchange", 1, 2);
  std::vector<CollectivePoint> points = measured ? pointsOf(*measured) : std::vector<CollectivePoint>();
  if (points.empty())
    return level;
  double latency = points.front().seconds;
  double moving = std::max(points.back().seconds - latency, points.back().seconds / 10);
  level.latencySeconds = roundedSeconds(latency);
  level.bytesPerSecond = roundedBandwidth(points.back().bytes / moving);
  level.fullDuplex = !exchange || isFullDuplex(points, pointsOf(*exchange));
  level.overlap = overlapOf(*measured);
  return level;
}

static void addCollectives(const Profile &profile, bool hasNodeLevel, Cluster &cluster) {
  for (const Object *link : profile.links) {
    std::string kind = link->getString("kind").value_or("").str();
    if (kind == "exchange")
      continue;
    MeasuredCollective measured;
    measured.kind = kind;
    if (hasNodeLevel)
      measured.members.push_back(static_cast<int64_t>(number(*link, "ranks_per_node")));
    if (!cluster.network.empty())
      measured.members.push_back(static_cast<int64_t>(number(*link, "nodes")));
    measured.groups = static_cast<int64_t>(number(*link, "groups"));
    measured.points = pointsOf(*link);
    cluster.collectives.push_back(std::move(measured));
  }
}

//===----------------------------------------------------------------------===//
// The cluster
//===----------------------------------------------------------------------===//

/// Nodes that follow each other and have as many ranks and cores are one group.
static void addNodes(const Profile &profile, const DeviceKind &device, Cluster &cluster) {
  int64_t fullest = *std::max_element(profile.ranksOfNode.begin(), profile.ranksOfNode.end());
  for (size_t node = 0; node < profile.ranksOfNode.size(); ++node) {
    NodeGroup group;
    group.device = device.name;
    group.devicesPerNode = profile.ranksOfNode[node];
    for (const Object *rank : profile.ranks) {
      if (static_cast<size_t>(number(*rank, "node")) != node)
        continue;
      group.host.memoryBytes = number(*rank, "memory");
      group.host.cores = static_cast<int64_t>(number(*rank, "cores"));
      if (const Object *point = rank->getObject("memory_at_once"))
        group.host.memoryBytesPerSecond += bytesPerSecond(*point);
    }
    group.host.memoryBytesPerSecond = roundedBandwidth(group.host.memoryBytesPerSecond);
    if (fullest > 1) {
      group.links.push_back(sharedMemoryLevel(profile, fullest));
      group.links.back().members = group.devicesPerNode;
    }
    NodeGroup *last = cluster.nodes.empty() ? nullptr : &cluster.nodes.back();
    if (last && last->devicesPerNode == group.devicesPerNode && last->host.cores == group.host.cores) {
      ++last->count;
      last->host.memoryBytes = std::min(last->host.memoryBytes, group.host.memoryBytes);
      last->host.memoryBytesPerSecond =
          std::min(last->host.memoryBytesPerSecond, group.host.memoryBytesPerSecond);
    } else {
      cluster.nodes.push_back(std::move(group));
    }
  }
}

static std::string describe(const Profile &profile) {
  std::vector<std::string> hosts;
  for (const Object *rank : profile.ranks)
    if (std::string host = rank->getString("host").value_or("").str(); !llvm::is_contained(hosts, host))
      hosts.push_back(host);
  size_t nodes = profile.ranksOfNode.size();
  std::string text =
      llvm::formatv("Measured by pdc profile: {0} rank{1} of one thread on {2} node{3} ({4}), {5} "
                    "communicator. Medians; half of the "
                    "repetitions lie within {6:F1} % of them (computation)",
                    profile.ranks.size(), profile.ranks.size() == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
                    llvm::join(hosts, ", "), profile.communicator, 100 * median(profile.computeSpreads));
  if (!profile.linkSpreads.empty())
    text += llvm::formatv(", {0:F1} % (communication)", 100 * median(profile.linkSpreads)).str();
  return text;
}

llvm::Expected<Cluster> pdc::tool::clusterOfProfile(llvm::StringRef json, const std::string &name) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(json);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return damaged("not JSON");
  }
  if (!parsed->getAsObject())
    return damaged("not an object");
  Profile profile;
  if (llvm::Error error = profile.read(*parsed->getAsObject()))
    return error;
  Cluster cluster;
  cluster.name = name;
  cluster.description = describe(profile);
  // The copy of a collective, and of what comes from the network, runs on the core that computes.
  cluster.overlap = 0;
  cluster.devices.push_back(deviceOf(profile));
  addNodes(profile, cluster.devices.front(), cluster);
  auto nodes = static_cast<int64_t>(profile.ranksOfNode.size());
  if (nodes > 1)
    cluster.network.push_back(networkLevel(profile, nodes));
  addCollectives(profile, !cluster.nodes.front().links.empty(), cluster);
  return cluster;
}
