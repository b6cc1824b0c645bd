//===- CostModel.cpp - the costs that a search minimizes ------------------===//

#include "compiler/cost/CostModel.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace llvm;
using namespace pdc;
using namespace pdc::cost;
using machine::Cluster;

template <typename... Args> static Error error(const char *format, const Args &...args) {
  return createStringError(inconvertibleErrorCode(), format, args...);
}

namespace {

//===----------------------------------------------------------------------===//
// Native
//===----------------------------------------------------------------------===//

/// Op times of the cluster's devices; what the published models share.
class NativeModel : public CostModel {
public:
  NativeModel(const Cluster &cluster, int threads) : cluster(cluster), links(cluster) {
    // One kind per node group, by its first rank.
    int64_t first = 0;
    for (const machine::NodeGroup &group : cluster.nodes) {
      if (first < cluster.rankCount())
        kinds.emplace_back(first, cluster.effectiveDevice(first, threads));
      first += group.count * group.devicesPerNode;
    }
  }

  const char *name() const override { return "native"; }

  double opSeconds(const OpWork &work, int64_t rank) const override {
    auto kind = std::find_if(kinds.rbegin(), kinds.rend(),
                             [&](const auto &candidate) { return candidate.first <= rank; });
    return cost::opSeconds(kind->second, work);
  }

  double collectiveSeconds(Collective collective, double bytes, const GroupShape &shape) const override {
    return links.seconds(collective, bytes, shape);
  }

protected:
  Cluster cluster;

private:
  LinkCosts links;
  std::vector<std::pair<int64_t, machine::DeviceKind>> kinds; // first rank -> what it computes with
};

/// The outermost level on which a group has more than one member.
size_t outermostLevel(const GroupShape &shape) {
  size_t level = shape.levels.size();
  while (level > 0 && shape.levels[level - 1].members == 1)
    --level;
  return level == 0 ? 0 : level - 1;
}

//===----------------------------------------------------------------------===//
// Alpa
//===----------------------------------------------------------------------===//

/// Costs of one mesh dimension of n devices (Zheng et al. 2022; auto_sharding's ClusterEnvironment). The
/// constants after the bandwidth term make, of plans that cost the same, the one with fewer and simpler
/// collectives the cheapest. A group over several levels counts as one dimension with the outermost's alpha and
/// beta. Computation costs nothing: every split that is offered divides it alike, over all devices.
class AlpaModel : public CostModel {
public:
  AlpaModel(std::vector<double> alpha, std::vector<double> beta)
      : alpha(std::move(alpha)), beta(std::move(beta)) {}

  const char *name() const override { return "alpa"; }
  double opSeconds(const OpWork &, int64_t) const override { return 0; }
  bool countsWork() const override { return false; }

  double collectiveSeconds(Collective collective, double bytes, const GroupShape &shape) const override {
    if (shape.ranks <= 1)
      return 0;
    size_t level = outermostLevel(shape);
    double n = static_cast<double>(shape.ranks);
    double moved = beta[level] * (n - 1) / n * bytes;
    switch (collective) {
    case Collective::AllReduce:
      return alpha[level] + 2 * moved + 0.01;
    case Collective::AllGather:
      return alpha[level] + moved + 0.1;
    case Collective::ReduceScatter:
      return alpha[level] + moved + 0.001;
    case Collective::AllToAll:
      // Alpa counts the bytes of the whole tensor, n times ours, and divides them by n; the penalty of n / 2 was
      // fitted to V100s with NVLink.
      return alpha[level] + moved * (n / 2) + 0.001;
    case Collective::Broadcast:
    case Collective::PointToPoint:
      // Not in Alpa's intra-operator costs: the plain message.
      return alpha[level] + beta[level] * bytes;
    }
    return 0;
  }

private:
  std::vector<double> alpha, beta; // per level, innermost first
};

//===----------------------------------------------------------------------===//
// PipeDream and Piper
//===----------------------------------------------------------------------===//

/// Bytes over bandwidth, no latencies, every link alone (Narayanan et al. 2019, section 3.1; optimizer_graph_
/// hierarchical.py). Synchronizing b bytes of weights over n workers moves 4 (n - 1)/n b through each, a stage's
/// activations and gradients b each. Gathers and scatters are half an all-reduce.
class PipeDreamModel : public NativeModel {
public:
  PipeDreamModel(const Cluster &cluster, int threads) : NativeModel(cluster, threads) {
    for (const machine::LinkLevel &level : cluster.levels())
      bandwidths.push_back(level.bytesPerSecond);
  }

  const char *name() const override { return "pipedream"; }

  double collectiveSeconds(Collective collective, double bytes, const GroupShape &shape) const override {
    if (shape.ranks <= 1)
      return 0;
    double n = static_cast<double>(shape.ranks);
    double seconds = bytes / bandwidths[outermostLevel(shape)];
    switch (collective) {
    case Collective::AllReduce:
      return 4 * (n - 1) / n * seconds;
    case Collective::AllGather:
    case Collective::ReduceScatter:
      return 2 * (n - 1) / n * seconds;
    case Collective::AllToAll:
      return (n - 1) / n * seconds;
    case Collective::Broadcast:
    case Collective::PointToPoint:
      return seconds;
    }
    return 0;
  }

protected:
  std::vector<double> bandwidths; // B/s per level
};

/// As PipeDream (Tarnawski et al. 2021, section 3), but with one bandwidth for all pairs of devices: the smallest.
class PiperModel : public PipeDreamModel {
public:
  PiperModel(const Cluster &cluster, int threads) : PipeDreamModel(cluster, threads) {
    std::fill(bandwidths.begin(), bandwidths.end(), *std::min_element(bandwidths.begin(), bandwidths.end()));
  }
  const char *name() const override { return "piper"; }
};

//===----------------------------------------------------------------------===//
// --cost-model
//===----------------------------------------------------------------------===//

/// Larger costs, times the bytes of a plan and added up, would be larger than any number.
constexpr double kMostCost = 1e100;

/// "0.1/1": one number per level, or one for all.
Expected<std::vector<double>> parseNumbers(StringRef spec, StringRef text, size_t levels) {
  SmallVector<StringRef> items;
  text.split(items, '/');
  std::vector<double> numbers;
  for (StringRef item : items) {
    double number = 0;
    if (item.getAsDouble(number) || !(number >= 0))
      return error("--cost-model=%s: '%s' is not a number of at least 0", spec.str().c_str(),
                   item.str().c_str());
    if (number > kMostCost)
      return error("--cost-model=%s: '%s' is too large: expected at most %g", spec.str().c_str(), item.str().c_str(),
                   kMostCost);
    numbers.push_back(number);
  }
  if (numbers.size() == 1)
    numbers.resize(levels, numbers.front());
  if (numbers.size() != levels)
    return error(
        "--cost-model=%s: '%s': expected one number, or one for each of the %zu link levels, innermost "
        "first",
        spec.str().c_str(), text.str().c_str(), levels);
  return numbers;
}

Expected<std::unique_ptr<CostModel>> makeAlpa(StringRef spec, StringRef parameters, const Cluster &cluster) {
  size_t levels = cluster.levels().size();
  std::vector<double> alpha(levels, 1), beta(levels, 1);
  // As Alpa's own default for a mesh of hosts and their devices: (1, 0.1).
  for (size_t i = levels; i-- > 1;)
    beta[i - 1] = beta[i] / 10;
  SmallVector<StringRef> items;
  parameters.split(items, ',', -1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [key, value] = item.split('=');
    if (key != "alpha" && key != "beta")
      return error("--cost-model=%s: unknown word '%s': expected alpha=NUMBERS or beta=NUMBERS",
                   spec.str().c_str(), key.str().c_str());
    Expected<std::vector<double>> numbers = parseNumbers(spec, value, levels);
    if (!numbers)
      return numbers.takeError();
    (key == "alpha" ? alpha : beta) = *numbers;
  }
  return std::make_unique<AlpaModel>(alpha, beta);
}

} // namespace

Expected<std::unique_ptr<CostModel>> cost::makeCostModel(StringRef spec, const Cluster &cluster,
                                                         int threads) {
  auto [name, parameters] = spec.split(':');
  if (name == "alpa")
    return makeAlpa(spec, parameters, cluster);
  if (!parameters.empty())
    return error("--cost-model=%s: '%s' has no parameters", spec.str().c_str(), name.str().c_str());
  if (name == "native")
    return std::make_unique<NativeModel>(cluster, threads);
  if (name == "pipedream")
    return std::make_unique<PipeDreamModel>(cluster, threads);
  if (name == "piper")
    return std::make_unique<PiperModel>(cluster, threads);
  return error("--cost-model=%s: there is no such cost model; native, alpa, pipedream and piper are",
               spec.str().c_str());
}
