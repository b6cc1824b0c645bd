//===- PiperPlanner.cpp - Piper's planner ---------------------------------===//
//
// Piper (NeurIPS 2021), section 4. best(D, k, s): the smallest bottleneck of stages that hold all nodes outside of the
// downset D, on at most k devices, their data-parallel degrees adding up to at most s:
//
//   best(all, k, s) = 0
//   best(D, k, s) = min over downsets E that contain D, degrees t and d:
//                     max( stage(E - D, t, d, ceil(s / d)), best(E, k - t d, s - d) )
//
// A stage is looked at closely only if the compute of its nodes alone, a difference of two sums, may be better than
// what is known already: best(D, k, s) or, from a plan over a few chains of cuts, the answer.
//
//===----------------------------------------------------------------------===//

#include "compiler/place/PiperStage.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

using namespace pdc::place;

static constexpr double kNever = std::numeric_limits<double>::infinity();
/// A graph with more cuts is planned over some of them only: the time grows with the pairs of cuts.
static constexpr size_t kMostCuts = 3000;
/// Entries of the table best().
static constexpr size_t kMostEntries = 30'000'000;

namespace {

struct PlannedStage {
  int from = 0, to = 0; // cuts
  PiperDegrees degrees;
  int samplesInFlight = 1;
};

class PiperSearch {
public:
  PiperSearch(const PiperGraph &graph, const PiperModel &model, const Downsets &sets, double bound)
      : graph(graph), model(model), sets(sets), bound(bound), most(std::min(model.devices, model.samples)) {
    findDegrees();
    sumInteriors();
    best.assign(static_cast<size_t>(sets.size()) * (model.devices + 1) * (most + 1), kNever);
    steps.resize(best.size());
  }

  static size_t entries(const PiperModel &model, size_t cuts) {
    return cuts * (model.devices + 1) * (std::min(model.devices, model.samples) + 1);
  }

  /// The smallest bottleneck; infinite if nothing fits, or nothing below the bound does.
  double run() {
    std::vector<int> order(sets.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<int> sizes(sets.size());
    for (int set = 0; set < sets.size(); ++set)
      sizes[set] = static_cast<int>(members(sets[set], sets.words()).size());
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b; });
    std::fill_n(best.begin() + static_cast<ptrdiff_t>(index(order[0], 0, 0)),
                (model.devices + 1) * static_cast<size_t>(most + 1), 0.0);
    for (size_t i = 1; i < order.size(); ++i) {
      for (size_t j = 0; j < i && sizes[order[j]] > sizes[order[i]]; ++j)
        if (sets.isSubset(order[i], order[j]))
          extend(order[i], order[j]);
      makeMonotone(order[i]);
    }
    empty = order.back();
    return best[index(empty, model.devices, most)];
  }

  /// The stages in order, after run() has found some.
  std::vector<PlannedStage> trace() {
    std::vector<PlannedStage> stages;
    int from = empty, k = model.devices, s = most;
    while (sets.size() > 1 && !isFull(from)) {
      const Step &step = steps[index(from, k, s)];
      // The entry may be that of fewer devices or of a smaller sum.
      int data = step.degrees.data;
      stages.push_back({from, step.to, step.degrees, (step.sum + data - 1) / data});
      from = step.to;
      k = step.devices - step.degrees.tensor * data;
      s = step.sum - data;
    }
    return stages;
  }

  PiperStage stageOf(int from, int to, PiperDegrees degrees) const {
    Bits inside = sets.bits(to);
    for (int i = 0; i < sets.words(); ++i)
      inside[i] &= ~sets[from][i];
    return PiperStage(graph, model, members(inside.data(), sets.words()), inside, degrees);
  }

private:
  struct Step {
    int to = -1;
    PiperDegrees degrees;
    int devices = 0, sum = 0; // of the entry that it was found for
  };

  size_t index(int set, int k, int s) const {
    return (static_cast<size_t>(set) * (model.devices + 1) + k) * (most + 1) + s;
  }
  bool isFull(int set) const {
    return members(sets[set], sets.words()).size() == graph.nodes.size();
  }

  /// Degrees that some node can have.
  void findDegrees() {
    std::map<int, bool> tensor;
    for (const PiperNode &node : graph.nodes)
      for (const auto &[degree, list] : node.configurations)
        if (!list.empty() && degree <= model.devices)
          tensor[degree] = true;
    for (auto [t, _] : tensor)
      for (int d = 1; d * t <= model.devices && d <= most; ++d)
        if (model.samples % d == 0)
          degrees.push_back({t, d});
  }

  /// Per cut and degrees: the least that its nodes take, and how many cannot run.
  void sumInteriors() {
    interior.resize(sets.size() * degrees.size());
    for (size_t i = 0; i < degrees.size(); ++i) {
      std::vector<Interior> ofNode(graph.nodes.size());
      for (size_t node = 0; node < graph.nodes.size(); ++node) {
        auto found = graph.nodes[node].configurations.find(degrees[i].tensor);
        if (found == graph.nodes[node].configurations.end() || found->second.empty()) {
          ofNode[node].unable = 1;
          continue;
        }
        ofNode[node].seconds = kNever;
        for (const PiperConfiguration &c : found->second)
          ofNode[node].seconds =
              std::min(ofNode[node].seconds, PiperStage::interiorSeconds(c, model, degrees[i].data));
      }
      for (int set = 0; set < sets.size(); ++set)
        for (int node : members(sets[set], sets.words())) {
          Interior &sum = interior[set * degrees.size() + i];
          sum.seconds += ofNode[node].seconds;
          sum.unable += ofNode[node].unable;
        }
    }
  }

  /// Whether a stage of at least so many seconds may improve something.
  bool mayImprove(int from, int to, PiperDegrees degree, double seconds) const {
    if (seconds > bound)
      return false;
    int devices = degree.tensor * degree.data;
    for (int s = degree.data; s <= most; ++s)
      for (int k = devices; k <= model.devices; ++k) {
        double rest = best[index(to, k - devices, s - degree.data)];
        if (std::max(seconds, rest) < best[index(from, k, s)])
          return true;
        if (rest <= seconds)
          break; // more devices change nothing
      }
    return false;
  }

  void extend(int from, int to) {
    for (size_t i = 0; i < degrees.size(); ++i) {
      const Interior &a = interior[from * degrees.size() + i], &b = interior[to * degrees.size() + i];
      if (a.unable != b.unable)
        continue;
      double least = (b.seconds - a.seconds) * (1 - 1e-12);
      if (mayImprove(from, to, degrees[i], least))
        improve(from, to, degrees[i]);
    }
  }

  void improve(int from, int to, PiperDegrees degree) {
    PiperStage stage = stageOf(from, to, degree);
    int devices = degree.tensor * degree.data, last = 0;
    double seconds = 0;
    for (int s = degree.data; s <= most; ++s) {
      int samples = (s + degree.data - 1) / degree.data;
      if (samples != last)
        seconds = stage.seconds(last = samples);
      if (seconds > bound)
        continue;
      for (int k = devices; k <= model.devices; ++k) {
        double rest = best[index(to, k - devices, s - degree.data)], bottleneck = std::max(seconds, rest);
        if (bottleneck < best[index(from, k, s)]) {
          best[index(from, k, s)] = bottleneck;
          steps[index(from, k, s)] = {to, degree, k, s};
        }
        if (rest <= seconds)
          break; // as with fewer devices: makeMonotone() takes it over
      }
    }
  }

  void makeMonotone(int set) {
    // Of equal ones that of fewer devices and fewer samples in flight.
    auto take = [&](size_t at, size_t other) {
      if (best[other] <= best[at]) {
        best[at] = best[other];
        steps[at] = steps[other];
      }
    };
    for (int k = 0; k <= model.devices; ++k)
      for (int s = 0; s <= most; ++s) {
        if (k > 0)
          take(index(set, k, s), index(set, k - 1, s));
        if (s > 0)
          take(index(set, k, s), index(set, k, s - 1));
      }
  }

  struct Interior {
    double seconds = 0;
    int unable = 0;
  };

  const PiperGraph &graph;
  const PiperModel &model;
  const Downsets &sets;
  const double bound; // no stage takes longer
  const int most;     // of the sum of data-parallel degrees
  std::vector<PiperDegrees> degrees;
  std::vector<Interior> interior;
  std::vector<double> best;
  std::vector<Step> steps;
  int empty = 0;
};

/// One stage on one device or on all: nothing if it does not fit.
std::optional<double> wholeGraph(const PiperGraph &graph, const PiperModel &model, PiperDegrees degrees) {
  std::vector<int> nodes(graph.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  Bits inside((nodes.size() + 63) / 64);
  for (int node : nodes) {
    add(inside, node);
    auto found = graph.nodes[node].configurations.find(degrees.tensor);
    if (found == graph.nodes[node].configurations.end() || found->second.empty())
      return std::nullopt;
  }
  if (model.samples % degrees.data != 0)
    return std::nullopt;
  double seconds = PiperStage(graph, model, nodes, inside, degrees).seconds(1);
  return seconds < kNever ? std::optional(seconds) : std::nullopt;
}

/// Whatever the cuts: each node's compute, shared by all devices.
double lowerBound(const PiperGraph &graph, const PiperModel &model) {
  double deviceSeconds = 0;
  for (const PiperNode &node : graph.nodes) {
    double least = kNever;
    for (const auto &[degree, list] : node.configurations)
      for (const PiperConfiguration &c : list)
        if (degree <= model.devices)
          least = std::min(least, c.seconds * degree);
    deviceSeconds += least;
  }
  return deviceSeconds / model.devices;
}

PlacedStage describe(const PiperGraph &graph, const PiperSearch &search, const Downsets &sets,
                     const PlannedStage &planned) {
  PlacedStage placed;
  placed.replicas = planned.degrees.data;
  placed.tensor = planned.degrees.tensor;
  PiperStage stage = search.stageOf(planned.from, planned.to, planned.degrees);
  placed.seconds = stage.seconds(planned.samplesInFlight);
  std::vector<int> chosen = stage.chosen(planned.samplesInFlight);
  size_t next = 0;
  for (int node = 0; node < graph.dag.size(); ++node)
    if (sets.contains(planned.to, node) && !sets.contains(planned.from, node)) {
      placed.nodes.push_back(std::to_string(graph.nodes[node].id));
      placed.configurations.push_back(
          graph.nodes[node].configurations.at(planned.degrees.tensor)[chosen[next++]].id);
    }
  return placed;
}

} // namespace

Placement pdc::place::placePiper(const PiperGraph &graph, const PlaceOptions &options) {
  PiperModel model{options.devices.value_or(graph.devices), graph.samples,
                   options.bytesPerSecond.value_or(graph.bytesPerSecond),
                   options.memoryBytes.value_or(graph.memoryBytes)};
  int count = graph.dag.size();
  Downsets chains(count);
  appendPrefixes(graph.dag.depthFirstOrder(), chains);
  appendPrefixes(graph.dag.smallestFirstOrder(), chains);
  if (PiperSearch::entries(model, chains.size()) > kMostEntries)
    throw PlaceError("a graph of " + std::to_string(count) + " nodes on " + std::to_string(model.devices) +
                     " devices is too large for Piper's planner; fewer devices, or larger nodes, can be planned");
  PiperSearch some(graph, model, chains, kNever);
  double bottleneck = some.run();

  Downsets sets(count);
  bool isComplete = enumerateDownsets(graph.dag, std::min(options.maxCuts, kMostCuts), sets) &&
                    PiperSearch::entries(model, sets.size()) <= kMostEntries;
  // A chain has no other cuts.
  bool hasMore = isComplete && sets.size() > chains.size();
  std::optional<PiperSearch> all;
  if (hasMore) {
    all.emplace(graph, model, sets, bottleneck * (1 + 1e-12));
    bottleneck = all->run();
  }
  PiperSearch &search = hasMore ? *all : some;
  const Downsets &cuts = hasMore ? sets : chains;
  if (bottleneck == kNever)
    throw PlaceError("no plan keeps every stage within " + std::to_string(static_cast<int64_t>(model.memoryBytes)) +
                     " bytes of memory on " + std::to_string(model.devices) + " devices");
  Placement placement;
  for (const PlannedStage &stage : search.trace())
    placement.stages.push_back(describe(graph, search, cuts, stage));
  placement.bottleneckSeconds = bottleneck;
  placement.dataParallelSeconds = wholeGraph(graph, model, {1, model.devices});
  placement.oneDeviceSeconds = 0;
  PiperModel boundless = model;
  boundless.memoryBytes = kNever;
  if (auto seconds = wholeGraph(graph, boundless, {1, 1}))
    placement.oneDeviceSeconds = *seconds;
  placement.devices = model.devices;
  placement.cuts = cuts.size();
  placement.exact = isComplete;
  placement.lowerBoundSeconds = isComplete ? bottleneck : lowerBound(graph, model);
  placement.integerIds = true;
  return placement;
}
