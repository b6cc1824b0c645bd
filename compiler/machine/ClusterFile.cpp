//===- ClusterFile.cpp - clusters by name or file -------------------------===//

#include "compiler/machine/ClusterFile.h"
#include "compiler/machine/ClusterSchema.h"
#include "compiler/machine/DescriptionReader.h"
#include "compiler/machine/Presets.h"
#include "compiler/machine/Yaml.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include <thread>

using namespace llvm;
using namespace pdc::machine;

template <typename... Args> static Error error(const char *format, const Args &...args) {
  return createStringError(inconvertibleErrorCode(), format, args...);
}

Expected<Cluster> pdc::machine::parseCluster(const std::string &text, const std::string &source) {
  Expected<Description> description = parseYaml(text, source);
  if (!description)
    return description.takeError();
  return readCluster(*description, source);
}

std::string pdc::machine::writeCluster(const Cluster &cluster) { return writeYaml(describeCluster(cluster)); }

//===----------------------------------------------------------------------===//
// Other numbers of nodes and ranks
//===----------------------------------------------------------------------===//

Expected<Cluster> pdc::machine::withNodes(Cluster cluster, int64_t count) {
  const char *name = cluster.name.c_str();
  if (count < 1)
    return error("cluster '%s': nodes=%lld: expected at least 1", name, static_cast<long long>(count));
  if (!cluster.isHomogeneous())
    return error("cluster '%s' has several kinds of nodes: nodes=%lld does not say of which", name,
                 static_cast<long long>(count));
  if (count > 1 && cluster.network.empty())
    return error("cluster '%s' has no link level between nodes ('network'), so nodes=%lld cannot be linked",
                 name, static_cast<long long>(count));
  cluster.nodes.front().count = count;
  int64_t inner = 1;
  for (size_t i = 0; i + 1 < cluster.network.size(); ++i)
    inner *= cluster.network[i].members;
  if (count % inner != 0)
    return error("cluster '%s': nodes=%lld: expected a multiple of %lld, the nodes of one '%s'", name,
                 static_cast<long long>(count), static_cast<long long>(inner),
                 cluster.network[cluster.network.size() - 2].name.c_str());
  if (!cluster.network.empty())
    cluster.network.back().members = count / inner;
  return cluster;
}

/// More ranks than cores: each node takes its share.
static Expected<Cluster> oversubscribed(Cluster cluster, int64_t ranks) {
  NodeGroup &group = cluster.nodes.front();
  int64_t perNode = (ranks + group.count - 1) / group.count, outer = 1;
  if (group.links.empty())
    return error("cluster '%s': %lld ranks for %lld devices: nothing says how devices of a node are linked "
                 "('links')",
                 cluster.name.c_str(), static_cast<long long>(ranks),
                 static_cast<long long>(cluster.deviceCount()));
  for (size_t i = 1; i < group.links.size(); ++i)
    outer *= group.links[i].members;
  group.links.front().members = (perNode + outer - 1) / outer;
  group.devicesPerNode = group.links.front().members * outer;
  cluster.ranksInUse = ranks;
  return cluster;
}

Expected<Cluster> pdc::machine::withRanks(Cluster cluster, int64_t ranks) {
  if (ranks < 1)
    return error("cluster '%s': expected at least 1 rank, found %lld", cluster.name.c_str(),
                 static_cast<long long>(ranks));
  if (ranks > cluster.deviceCount()) {
    if (cluster.isHomogeneous() && cluster.device().onHost)
      return oversubscribed(std::move(cluster), ranks);
    return error(
        "cluster '%s' has %lld devices, too few for %lld ranks; give it more nodes, as in '%s:nodes=N'",
        cluster.name.c_str(), static_cast<long long>(cluster.deviceCount()), static_cast<long long>(ranks),
        cluster.name.c_str());
  }
  cluster.ranksInUse = ranks == cluster.deviceCount() ? 0 : ranks;
  return cluster;
}

//===----------------------------------------------------------------------===//
// Names and files
//===----------------------------------------------------------------------===//

std::vector<std::string> pdc::machine::presetNames() {
  std::vector<std::string> names;
  for (const Preset &preset : presets())
    names.push_back(preset.name);
  return names;
}

static Expected<Cluster> readNamed(StringRef name) {
  for (const Preset &preset : presets())
    if (name == preset.name)
      return parseCluster(preset.text, std::string("models/clusters/") + preset.name + ".yaml");
  std::vector<std::string> names = presetNames();
  std::string meant = closestWord(name.str(), names);
  return error(
      "--cluster=%s: there is no such preset%s; the presets are %s; a file is given by a path with a "
      "'/', or one that ends in .yaml or .yml",
      name.str().c_str(), meant.empty() ? "" : (" (did you mean '" + meant + "'?)").c_str(),
      join(names, ", ").c_str());
}

static Expected<Cluster> readFile(StringRef path) {
  constexpr uint64_t kMaxBytes = 64 << 20;
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) && sys::fs::exists(status) && !sys::fs::is_regular_file(status) &&
      status.type() != sys::fs::file_type::fifo_file)
    return error("--cluster=%s: expected a file", path.str().c_str());
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return error("--cluster=%s: %s", path.str().c_str(), buffer.getError().message().c_str());
  if ((*buffer)->getBufferSize() > kMaxBytes)
    return error("--cluster=%s: the file is too large for a cluster description", path.str().c_str());
  return parseCluster((*buffer)->getBuffer().str(), path.str());
}

/// Splits "name:nodes=16"; paths may contain colons of their own.
static Expected<int64_t> takeNodes(StringRef &name) {
  auto [head, option] = name.rsplit(':');
  if (option.empty() || option.contains('/') || !option.contains('='))
    return 0;
  int64_t nodes = 0;
  if (!option.consume_front("nodes=") || option.getAsInteger(10, nodes) || nodes < 1 || nodes > 1'000'000)
    return error("--cluster=%s: expected 'nodes=N' with N from 1 to 1000000 after the ':', found '%s'",
                 name.str().c_str(), name.rsplit(':').second.str().c_str());
  name = head;
  return nodes;
}

Expected<Cluster> pdc::machine::resolveCluster(StringRef nameOrPath, int64_t ranks) {
  StringRef name = nameOrPath;
  Expected<int64_t> nodes = takeNodes(name);
  if (!nodes)
    return nodes.takeError();
  if (name == "local" && *nodes == 0)
    return withRanks(local(), ranks > 0 ? ranks : 1);
  // Presets have dots in their names too.
  bool isPath = name.contains('/') || name.ends_with(".yaml") || name.ends_with(".yml");
  Expected<Cluster> cluster = isPath ? readFile(name) : readNamed(name);
  if (cluster && *nodes > 0)
    cluster = withNodes(std::move(*cluster), *nodes);
  if (cluster && ranks > 0)
    cluster = withRanks(std::move(*cluster), ranks);
  return cluster;
}

Cluster pdc::machine::local(int64_t ranks) {
  Cluster cluster = cantFail(readNamed("local"));
  // The preset says how fast cores are; which and how many they are is known here.
  NodeGroup &node = cluster.nodes.front();
  node.host.cores = std::max(1u, std::thread::hardware_concurrency());
  node.device = sys::getHostCPUFeatures().lookup("avx512f") ? "core-avx512" : "core-avx2";
  return cantFail(withRanks(std::move(cluster), ranks));
}
