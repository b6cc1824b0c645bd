//===- ClusterSchema.cpp - the keys of a cluster description --------------===//

#include "compiler/machine/ClusterSchema.h"
#include "compiler/machine/DescriptionReader.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace pdc::machine;

using Kind = Description::Kind;

static const std::vector<std::string> kSharings = {"per_device", "per_member", "bus"};
static const std::vector<std::string> kPaths = {"direct", "staged", "shared_memory"};
static const std::vector<std::string> kDuplexes = {"half", "full"};
static const std::vector<std::string> kCollectives = {"all_reduce", "all_gather", "reduce_scatter",
                                                      "all_to_all", "broadcast",  "point_to_point"};

namespace {

/// Reads one description from top to bottom.
class SchemaReader {
public:
  explicit SchemaReader(std::string source) { context.source = std::move(source); }

  llvm::Expected<Cluster> read(const Description &description) {
    Cluster cluster;
    readTop(description, cluster);
    if (context.error.empty())
      return cluster;
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", context.error.c_str());
  }

private:
  void readTop(const Description &description, Cluster &cluster);
  DeviceKind readDevice(const std::string &name, const Description &map);
  void readPeaks(const Description &map, const std::string &path, DeviceKind &device);
  void readEfficiencies(const Description &map, const std::string &path, std::vector<EfficiencyCurve> &curves);
  NodeGroup readNodeGroup(const Description &map, const std::string &path, const Cluster &cluster);
  Host readHost(const Description &map, const std::string &path, bool devicesAreCores);
  HostLink readHostLink(const Description &map, const std::string &path);
  std::vector<LinkLevel> readLevels(const Description &list, const std::string &path, int64_t product,
                                    const char *what);
  LinkLevel readLevel(const Description &map, const std::string &path);
  MeasuredCollective readCollective(const Description &map, const std::string &path, const Cluster &cluster);
  void checkShape(const MeasuredCollective &measured, const Description &at, const std::string &path, const Cluster &cluster);

  ReadContext context;
};

std::string indexed(const std::string &path, size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

} // namespace

void SchemaReader::readTop(const Description &description, Cluster &cluster) {
  MapReader top(
      description, "",
      {"name", "description", "ranks", "overlap", "devices", "nodes", "network", "storage", "collectives"},
      context);
  cluster.name = top.text("name");
  cluster.description = top.text("description", "");
  cluster.overlap = top.quantity("overlap", Unit::Number, Range::Share, 1.0);
  if (const Description *devices = top.child("devices", Kind::Map, /*required=*/true))
    for (const auto &[name, map] : llvm::zip_equal(devices->keys, devices->items))
      cluster.devices.push_back(readDevice(name, map));
  if (const Description *nodes = top.child("nodes", Kind::List, /*required=*/true)) {
    if (nodes->items.empty())
      context.fail(*nodes, "nodes", "expected at least one group of nodes, found none");
    for (size_t i = 0; i < nodes->items.size(); ++i) {
      cluster.nodes.push_back(readNodeGroup(nodes->items[i], indexed("nodes", i), cluster));
      if (cluster.nodes[i].links.size() != cluster.nodes[0].links.size())
        context.fail(nodes->items[i], indexed("nodes", i),
                     "expected as many link levels as nodes[0] has, " +
                         std::to_string(cluster.nodes[0].links.size()) + ", found " +
                         std::to_string(cluster.nodes[i].links.size()));
    }
  }
  if (!context.error.empty())
    return;
  const Description *network = top.child("network", Kind::List);
  if (network)
    cluster.network = readLevels(*network, "network", cluster.nodeCount(), "nodes");
  else if (cluster.nodeCount() > 1)
    context.fail(description, "network",
                 "a link level is missing: there are " + std::to_string(cluster.nodeCount()) +
                     " nodes, and nothing says how they are linked");
  if (const Description *storage = top.child("storage", Kind::Map))
    cluster.storage = readHostLink(*storage, "storage");
  if (const Description *collectives = top.child("collectives", Kind::List))
    for (size_t i = 0; i < collectives->items.size(); ++i)
      cluster.collectives.push_back(readCollective(collectives->items[i], indexed("collectives", i), cluster));
  cluster.ranksInUse = top.integer("ranks", 1, 0);
  if (cluster.ranksInUse > cluster.deviceCount())
    context.fail(description, "ranks",
                 "expected at most one for each of the " + std::to_string(cluster.deviceCount()) +
                     " devices, found " + std::to_string(cluster.ranksInUse));
}

DeviceKind SchemaReader::readDevice(const std::string &name, const Description &map) {
  DeviceKind device;
  std::string path = "devices." + name;
  MapReader reader(map, path,
                   {"on_host", "memory", "memory_bandwidth", "launch", "peak", "channel_block", "efficiency",
                    "busy_efficiency", "library_times"},
                   context);
  device.name = name;
  device.onHost = reader.boolean("on_host", false);
  device.memoryBytes = reader.quantity("memory", Unit::Bytes, Range::Positive);
  device.memoryBytesPerSecond = reader.quantity("memory_bandwidth", Unit::BytesPerSecond, Range::Positive);
  device.launchSeconds = reader.quantity("launch", Unit::Seconds, Range::NonNegative);
  device.channelBlock =
      static_cast<int64_t>(reader.quantity("channel_block", Unit::Number, Range::Positive, /*ifAbsent=*/1));
  if (const Description *peaks = reader.child("peak", Kind::Map, /*required=*/true))
    readPeaks(*peaks, reader.pathOf("peak"), device);
  if (const Description *curves = reader.child("efficiency", Kind::Map))
    readEfficiencies(*curves, reader.pathOf("efficiency"), device.efficiencies);
  if (const Description *curves = reader.child("busy_efficiency", Kind::Map))
    readEfficiencies(*curves, reader.pathOf("busy_efficiency"), device.busyEfficiencies);
  if (const Description *times = reader.child("library_times", Kind::Map))
    for (const auto &[call, seconds] : llvm::zip_equal(times->keys, times->items))
      device.librarySeconds[call] = readQuantity(seconds, reader.pathOf("library_times") + "." + call,
                                                 Unit::Seconds, Range::Positive, context);
  return device;
}

void SchemaReader::readPeaks(const Description &map, const std::string &path, DeviceKind &device) {
  MapReader reader(map, path, {"f64", "f32", "tf32", "bf16", "f16"}, context);
  for (int i = 0; i < kPrecisionCount; ++i) {
    auto precision = static_cast<Precision>(i);
    // Every other precision can be filled in from f32.
    std::optional<double> ifAbsent;
    if (precision != Precision::F32)
      ifAbsent = 0;
    device.peakFlops[i] =
        reader.quantity(toString(precision), Unit::FlopsPerSecond, Range::Positive, ifAbsent);
  }
}

/// "matmul", "matmul.bf16", ...
static std::string efficiencyKey(OpClass opClass, std::optional<Precision> precision) {
  return std::string(toString(opClass)) + (precision ? std::string(".") + toString(*precision) : "");
}

/// Every curve that a device can have, without points.
static std::vector<EfficiencyCurve> possibleCurves() {
  std::vector<EfficiencyCurve> curves;
  for (int i = 0; i < kOpClassCount; ++i) {
    curves.push_back({static_cast<OpClass>(i), std::nullopt, {}});
    for (int j = 0; j < kPrecisionCount; ++j)
      curves.push_back({static_cast<OpClass>(i), static_cast<Precision>(j), {}});
  }
  return curves;
}

void SchemaReader::readEfficiencies(const Description &map, const std::string &path,
                                    std::vector<EfficiencyCurve> &curves) {
  std::vector<std::string> keys;
  for (const EfficiencyCurve &curve : possibleCurves())
    keys.push_back(efficiencyKey(curve.opClass, curve.precision));
  MapReader reader(map, path, keys, context);
  for (EfficiencyCurve curve : possibleCurves()) {
    std::string key = efficiencyKey(curve.opClass, curve.precision);
    const Description *points = reader.child(key, Kind::List);
    if (!points)
      continue;
    Unit size = isArithmetic(curve.opClass) ? Unit::Number : Unit::Bytes;
    for (auto [at, share] : readPoints(*points, reader.pathOf(key), size, Unit::Number, context))
      curve.points.push_back({at, share});
    curves.push_back(std::move(curve));
  }
}

NodeGroup SchemaReader::readNodeGroup(const Description &map, const std::string &path,
                                      const Cluster &cluster) {
  NodeGroup group;
  MapReader reader(map, path, {"count", "device", "devices", "host", "links"}, context);
  group.count = reader.integer("count", 1, 1);
  group.device = reader.text("device");
  group.devicesPerNode = reader.integer("devices", 1);
  const DeviceKind *kind = nullptr;
  std::vector<std::string> names;
  for (const DeviceKind &device : cluster.devices) {
    names.push_back(device.name);
    if (device.name == group.device)
      kind = &device;
  }
  if (!kind) {
    std::string meant = closestWord(group.device, names);
    context.fail(map, reader.pathOf("device"),
                 "there is no device kind '" + group.device + "' under 'devices'" +
                     (meant.empty() ? "" : "; did you mean '" + meant + "'?"));
  }
  if (const Description *host = reader.child("host", Kind::Map, /*required=*/true))
    group.host = readHost(*host, reader.pathOf("host"), kind && kind->onHost);
  if (const Description *links = reader.child("links", Kind::List))
    group.links = readLevels(*links, reader.pathOf("links"), group.devicesPerNode, "devices of a node");
  else if (group.devicesPerNode > 1)
    context.fail(map, reader.pathOf("links"),
                 "a link level is missing: a node has " + std::to_string(group.devicesPerNode) +
                     " devices, and nothing says how they are linked");
  return group;
}

Host SchemaReader::readHost(const Description &map, const std::string &path, bool devicesAreCores) {
  Host host;
  MapReader reader(map, path, {"memory", "memory_bandwidth", "cores", "link"}, context);
  host.memoryBytes = reader.quantity("memory", Unit::Bytes, Range::Positive);
  host.memoryBytesPerSecond = reader.quantity("memory_bandwidth", Unit::BytesPerSecond, Range::Positive, 0.0);
  host.cores = reader.integer("cores", 1, 0);
  if (const Description *link = reader.child("link", Kind::Map, /*required=*/!devicesAreCores))
    host.link = readHostLink(*link, reader.pathOf("link"));
  return host;
}

HostLink SchemaReader::readHostLink(const Description &map, const std::string &path) {
  HostLink link;
  MapReader reader(map, path, {"latency", "bandwidth"}, context);
  link.latencySeconds = reader.quantity("latency", Unit::Seconds, Range::NonNegative);
  link.bytesPerSecond = reader.quantity("bandwidth", Unit::BytesPerSecond, Range::Positive);
  return link;
}

/// Levels whose members multiply to `product`; one level may leave its members out.
std::vector<LinkLevel> SchemaReader::readLevels(const Description &list, const std::string &path,
                                                int64_t product, const char *what) {
  std::vector<LinkLevel> levels;
  int64_t given = 1;
  LinkLevel *open = nullptr;
  levels.reserve(list.items.size());
  for (size_t i = 0; i < list.items.size(); ++i) {
    levels.push_back(readLevel(list.items[i], indexed(path, i)));
    if (levels.back().members == 0 && open)
      context.fail(list.items[i], indexed(path, i),
                   "the key 'members' is missing: only one level may leave it out");
    else if (levels.back().members == 0)
      open = &levels.back();
    else
      given *= levels.back().members;
  }
  if (open)
    open->members = product % given == 0 ? product / given : 1;
  else if (levels.empty() && product > 1)
    context.fail(list, path,
                 "a link level is missing: expected at least one, for " + std::to_string(product) + " " +
                     what);
  int64_t total = open ? given * open->members : given;
  if (total != product)
    context.fail(list, path,
                 "expected levels whose members multiply to the " + std::to_string(product) + " " + what +
                     ", found a product of " + std::to_string(given));
  return levels;
}

LinkLevel SchemaReader::readLevel(const Description &map, const std::string &path) {
  LinkLevel level;
  MapReader reader(map, path, {"name", "members", "latency", "bandwidth", "sharing", "duplex", "path", "overlap"},
                   context);
  level.name = reader.text("name");
  level.members = reader.integer("members", 1, 0);
  level.latencySeconds = reader.quantity("latency", Unit::Seconds, Range::NonNegative);
  level.bytesPerSecond = reader.quantity("bandwidth", Unit::BytesPerSecond, Range::Positive);
  level.sharing = static_cast<Sharing>(reader.word("sharing", kSharings, 0));
  level.fullDuplex = reader.word("duplex", kDuplexes, 1) == 1;
  level.path = static_cast<Path>(reader.word("path", kPaths, 0));
  level.overlap = reader.optionalQuantity("overlap", Unit::Number, Range::Share);
  return level;
}

/// The groups that were measured are groups of this cluster.
void SchemaReader::checkShape(const MeasuredCollective &measured, const Description &at, const std::string &path,
                              const Cluster &cluster) {
  std::vector<LinkLevel> levels = cluster.levels();
  if (measured.members.size() != levels.size())
    return context.fail(at, path,
                        "expected one number for each of the " + std::to_string(levels.size()) +
                            " link levels, innermost first, found " + std::to_string(measured.members.size()));
  int64_t size = 1;
  for (auto [members, level] : llvm::zip_equal(measured.members, levels)) {
    if (members > level.members)
      return context.fail(at, path,
                          "expected at most the " + std::to_string(level.members) + " members that the level '" + level.name +
                              "' has, found " + std::to_string(members));
    size *= members;
  }
  if (measured.groups > cluster.deviceCount() / size)
    context.fail(at, path,
                 std::to_string(measured.groups) + " groups of " + std::to_string(size) + " were busy at once, which the " +
                     std::to_string(cluster.deviceCount()) + " devices of the cluster cannot be");
}

MeasuredCollective SchemaReader::readCollective(const Description &map, const std::string &path,
                                                const Cluster &cluster) {
  MeasuredCollective measured;
  MapReader reader(map, path, {"kind", "members", "groups", "points"}, context);
  reader.text("kind");
  measured.kind = kCollectives[reader.word("kind", kCollectives, 0)];
  measured.groups = reader.integer("groups", 1, 1);
  if (const Description *members = reader.child("members", Kind::List, /*required=*/true)) {
    for (const Description &item : members->items) {
      double number = readQuantity(item, reader.pathOf("members"), Unit::Number, Range::Positive, context);
      if (number != std::floor(number) || number > 1e9)
        context.fail(item, reader.pathOf("members"), "expected a whole number");
      measured.members.push_back(static_cast<int64_t>(std::min(number, 1e9)));
    }
    if (context.error.empty())
      checkShape(measured, *members, reader.pathOf("members"), cluster);
  }
  if (const Description *points = reader.child("points", Kind::List, /*required=*/true))
    for (auto [bytes, seconds] :
         readPoints(*points, reader.pathOf("points"), Unit::Bytes, Unit::Seconds, context))
      measured.points.push_back({bytes, seconds});
  return measured;
}

llvm::Expected<Cluster> pdc::machine::readCluster(const Description &description, const std::string &source) {
  return SchemaReader(source).read(description);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Description describeHostLink(const HostLink &link) {
  Description map = Description::map();
  map.add("latency", formatQuantity(link.latencySeconds, Unit::Seconds));
  map.add("bandwidth", formatQuantity(link.bytesPerSecond, Unit::BytesPerSecond));
  return map;
}

static Description describeLevels(const std::vector<LinkLevel> &levels) {
  Description list = Description::list();
  for (const LinkLevel &level : levels) {
    Description map = Description::map();
    map.add("name", level.name);
    map.add("members", std::to_string(level.members));
    map.add("latency", formatQuantity(level.latencySeconds, Unit::Seconds));
    map.add("bandwidth", formatQuantity(level.bytesPerSecond, Unit::BytesPerSecond));
    map.add("sharing", toString(level.sharing));
    map.add("duplex", kDuplexes[level.fullDuplex ? 1 : 0]);
    map.add("path", toString(level.path));
    if (level.overlap)
      map.add("overlap", formatQuantity(*level.overlap, Unit::Number));
    list.items.push_back(std::move(map));
  }
  return list;
}

static Description describePoint(double size, Unit sizeUnit, double value, Unit valueUnit) {
  Description pair = Description::list();
  pair.items.push_back(Description::text(formatQuantity(size, sizeUnit)));
  pair.items.push_back(Description::text(formatQuantity(value, valueUnit)));
  return pair;
}

static Description describeEfficiencies(const std::vector<EfficiencyCurve> &given) {
  Description curves = Description::map();
  for (const EfficiencyCurve &curve : given) {
    Description points = Description::list();
    for (const EfficiencyPoint &point : curve.points)
      points.items.push_back(describePoint(point.size, Unit::Number, point.share, Unit::Number));
    curves.add(efficiencyKey(curve.opClass, curve.precision), std::move(points));
  }
  return curves;
}

static Description describeDevice(const DeviceKind &device) {
  Description map = Description::map();
  if (device.onHost)
    map.add("on_host", "true");
  map.add("memory", formatQuantity(device.memoryBytes, Unit::Bytes));
  Description peaks = Description::map();
  for (int i = 0; i < kPrecisionCount; ++i)
    if (device.peakFlops[i] > 0)
      peaks.add(toString(static_cast<Precision>(i)),
                formatQuantity(device.peakFlops[i], Unit::FlopsPerSecond));
  map.add("peak", std::move(peaks));
  map.add("memory_bandwidth", formatQuantity(device.memoryBytesPerSecond, Unit::BytesPerSecond));
  map.add("launch", formatQuantity(device.launchSeconds, Unit::Seconds));
  if (device.channelBlock > 1)
    map.add("channel_block", std::to_string(device.channelBlock));
  for (const auto &[key, given] : {std::pair("efficiency", &device.efficiencies), {"busy_efficiency", &device.busyEfficiencies}})
    if (!given->empty())
      map.add(key, describeEfficiencies(*given));
  Description times = Description::map();
  for (const auto &[call, seconds] : device.librarySeconds)
    times.add(call, formatQuantity(seconds, Unit::Seconds));
  if (!times.keys.empty())
    map.add("library_times", std::move(times));
  return map;
}

static Description describeNodeGroup(const NodeGroup &group) {
  Description map = Description::map();
  map.add("count", std::to_string(group.count));
  map.add("device", group.device);
  map.add("devices", std::to_string(group.devicesPerNode));
  Description host = Description::map();
  host.add("memory", formatQuantity(group.host.memoryBytes, Unit::Bytes));
  if (group.host.memoryBytesPerSecond > 0)
    host.add("memory_bandwidth", formatQuantity(group.host.memoryBytesPerSecond, Unit::BytesPerSecond));
  if (group.host.cores > 0)
    host.add("cores", std::to_string(group.host.cores));
  if (group.host.link.bytesPerSecond > 0)
    host.add("link", describeHostLink(group.host.link));
  map.add("host", std::move(host));
  if (!group.links.empty())
    map.add("links", describeLevels(group.links));
  return map;
}

static Description describeCollective(const MeasuredCollective &measured) {
  Description map = Description::map(), members = Description::list(), points = Description::list();
  map.add("kind", measured.kind);
  for (int64_t count : measured.members)
    members.items.push_back(Description::text(std::to_string(count)));
  map.add("members", std::move(members));
  map.add("groups", std::to_string(measured.groups));
  for (const CollectivePoint &point : measured.points)
    points.items.push_back(describePoint(point.bytes, Unit::Number, point.seconds, Unit::Seconds));
  map.add("points", std::move(points));
  return map;
}

Description pdc::machine::describeCluster(const Cluster &cluster) {
  Description top = Description::map();
  top.add("name", cluster.name);
  if (!cluster.description.empty())
    top.add("description", cluster.description);
  if (cluster.ranksInUse > 0)
    top.add("ranks", std::to_string(cluster.ranksInUse));
  if (cluster.overlap != 1)
    top.add("overlap", formatQuantity(cluster.overlap, Unit::Number));
  Description devices = Description::map(), nodes = Description::list();
  for (const DeviceKind &device : cluster.devices)
    devices.add(device.name, describeDevice(device));
  top.add("devices", std::move(devices));
  for (const NodeGroup &group : cluster.nodes)
    nodes.items.push_back(describeNodeGroup(group));
  top.add("nodes", std::move(nodes));
  if (!cluster.network.empty())
    top.add("network", describeLevels(cluster.network));
  if (cluster.storage)
    top.add("storage", describeHostLink(*cluster.storage));
  if (!cluster.collectives.empty()) {
    Description list = Description::list();
    for (const MeasuredCollective &measured : cluster.collectives)
      list.items.push_back(describeCollective(measured));
    top.add("collectives", std::move(list));
  }
  return top;
}
