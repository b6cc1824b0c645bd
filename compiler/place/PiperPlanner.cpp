//===- PiperPlanner.cpp - Piper's planner ---------------------------------===//

#include "compiler/place/FreeNodes.h"
#include "compiler/place/PiperSearch.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

using namespace pdc::place;

static constexpr double kNever = std::numeric_limits<double>::infinity();
/// A graph with more cuts is planned over some of them only: the time grows with the pairs of cuts.
static constexpr size_t kMostCuts = 3000;

namespace {

/// Per node, whether it costs nothing in whatever stage it is, of whatever tensor degree.
std::vector<char> findFreeNodes(const PiperGraph &graph, const PiperModel &model) {
  std::set<int> degrees;
  for (const PiperNode &node : graph.nodes)
    for (const auto &[degree, list] : node.configurations)
      if (!list.empty() && degree <= model.devices)
        degrees.insert(degree);
  std::vector<char> isFree(graph.nodes.size(), true);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto &configurations = graph.nodes[i].configurations;
    for (int degree : degrees) {
      auto found = configurations.find(degree);
      isFree[i] &= found != configurations.end() && !found->second.empty();
    }
    for (const auto &[degree, list] : configurations)
      for (const PiperConfiguration &c : list)
        isFree[i] &= c.seconds == 0 && c.parameterBytes == 0 && c.bytesPerSample == 0 && c.fixedBytes == 0;
  }
  // Nor what either end of an edge sends over it.
  auto sends = [&](int node, int other, bool forward) {
    for (const auto &[degree, list] : graph.nodes[node].configurations)
      for (const PiperConfiguration &c : list)
        if ((forward ? c.bytesTo : c.bytesFrom).at(other) > 0)
          return true;
    return false;
  };
  for (const PiperEdge &edge : graph.edges)
    if ((isFree[edge.from] || isFree[edge.to]) &&
        (edge.bytes > 0 || sends(edge.from, edge.to, true) || sends(edge.to, edge.from, false)))
      isFree[edge.from] = isFree[edge.to] = false;
  return isFree;
}

/// All nodes as one stage: nothing if it does not fit or cannot run so.
std::optional<double> wholeGraph(const PiperGraph &graph, const PiperModel &model,
                                 const std::vector<int> &nodes, PiperDegrees degrees) {
  PiperCosts costs(graph, model, nodes);
  int tensor = costs.tensorIndex(degrees.tensor);
  if (tensor < 0 || model.samples % degrees.data != 0)
    return std::nullopt;
  for (int node = 0; node < costs.size(); ++node)
    if (costs.choices(tensor, node) == 0)
      return std::nullopt;
  std::vector<int> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  Downsets sets(costs.size());
  appendPrefixes(order, sets);
  PiperStage stage(costs, sets);
  stage.become(0, sets.size() - 1, tensor, degrees.data);
  double seconds = stage.seconds(1);
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

std::vector<PlacedStage> describe(const PiperGraph &graph, const PiperCosts &costs, const Downsets &sets,
                                  const ThinnedDag &thinned, const PiperPlan &plan) {
  std::vector<PlacedStage> stages;
  std::vector<int> stageOfLeft(thinned.nodes.size()), chosenOf(graph.nodes.size(), 0);
  PiperStage stage(costs, sets);
  for (const PlannedPiperStage &planned : plan.stages) {
    stage.become(planned.from, planned.to, planned.tensor, planned.data);
    std::vector<int> chosen = stage.chosen(planned.samplesInFlight);
    size_t next = 0;
    for (size_t node = 0; node < thinned.nodes.size(); ++node)
      if (sets.contains(planned.to, node) && !sets.contains(planned.from, node)) {
        stageOfLeft[node] = static_cast<int>(stages.size());
        chosenOf[thinned.nodes[node]] = chosen[next++];
      }
    PlacedStage &placed = stages.emplace_back();
    placed.replicas = planned.data;
    placed.tensor = costs.tensorDegrees()[planned.tensor];
    placed.seconds = stage.seconds(planned.samplesInFlight);
  }
  std::vector<int> stageOf = stagesOfAllNodes(graph.dag, thinned, stageOfLeft);
  for (int node = 0; node < graph.dag.size(); ++node) {
    PlacedStage &placed = stages[stageOf[node]];
    placed.nodes.push_back(std::to_string(graph.nodes[node].id));
    placed.configurations.push_back(graph.nodes[node].configurations.at(placed.tensor)[chosenOf[node]].id);
  }
  return stages;
}

} // namespace

Placement pdc::place::placePiper(const PiperGraph &graph, const PlaceOptions &options) {
  PiperModel model{options.devices.value_or(graph.devices), graph.samples,
                   options.bytesPerSecond.value_or(graph.bytesPerSecond),
                   options.memoryBytes.value_or(graph.memoryBytes)};
  ThinnedDag thinned = leaveOutFreeNodes(graph.dag, findFreeNodes(graph, model));
  PiperCosts costs(graph, model, thinned.nodes);
  // Along a few topological orders for a bound, then over all cuts.
  Downsets chains(costs.size());
  appendPrefixes(thinned.dag.depthFirstOrder(), chains);
  appendPrefixes(thinned.dag.smallestFirstOrder(), chains);
  std::optional<PiperPlan> plan = findPiperPlan(costs, chains, std::nullopt, options.effort);
  Downsets sets(costs.size());
  bool isComplete = enumerateDownsets(thinned.dag, std::min(options.maxCuts, kMostCuts), sets);
  const Downsets *cuts = &chains;
  // A chain has no other cuts.
  if (isComplete && sets.size() > chains.size()) {
    std::optional<double> bound = plan ? std::optional(plan->bottleneckSeconds) : std::nullopt;
    std::optional<PiperPlan> better = findPiperPlan(costs, sets, bound, options.effort);
    isComplete = better || !plan;
    if (isComplete) {
      plan = better;
      cuts = &sets;
    }
  }
  if (!plan)
    throw PlaceError("no plan keeps every stage within " +
                     std::to_string(static_cast<int64_t>(model.memoryBytes)) + " bytes of memory on " +
                     std::to_string(model.devices) + " devices");
  Placement placement;
  placement.stages = describe(graph, costs, *cuts, thinned, *plan);
  placement.bottleneckSeconds = plan->bottleneckSeconds;
  placement.dataParallelSeconds = wholeGraph(graph, model, thinned.nodes, {1, model.devices});
  placement.oneDeviceSeconds = 0;
  PiperModel boundless = model;
  boundless.memoryBytes = kNever;
  if (auto seconds = wholeGraph(graph, boundless, thinned.nodes, {1, 1}))
    placement.oneDeviceSeconds = *seconds;
  placement.devices = model.devices;
  placement.cuts = cuts->size();
  placement.lowerBoundSeconds = isComplete ? plan->lowerBoundSeconds : lowerBound(graph, model);
  placement.exact = isComplete && plan->lowerBoundSeconds == plan->bottleneckSeconds;
  placement.integerIds = true;
  return placement;
}
