//===- PipeDreamPlanner.cpp - PipeDream's planner, solved exactly ---------===//
//
// PipeDream (SOSP 2019), section 3.1, as optimizer_graph_hierarchical.py of msr-fiddle/pipedream computes it
// for one level of devices and with transfers counted: over cuts j and numbers of devices m,
//
//   best(j, m) = min( one stage on m devices,
//                     min over cuts k inside of j and replicas r:
//                       max( best(k, m - r), stage(k, j, r), transfer(k, r), transfer(j, r) ) )
//
// The original tries all (j, m, k, r). Here the question is turned around: which cuts are reached with which
// numbers of devices when nothing may take longer than T? From two replicas on a stage is the faster the more
// it has, so that all numbers of devices above one of them are reached with it, and most pairs of cuts have
// nothing to add to what is known. T is then found by bisection, from above always at the bottleneck of a plan.
//
//===----------------------------------------------------------------------===//

#include "compiler/place/PipeDreamSearch.h"
#include <algorithm>
#include <cmath>

using namespace pdc::place;

namespace {

/// Which nodes of the profile lie between two cuts, in the file's order.
std::vector<std::string> nodesBetween(const PipeDreamProfile &profile, const PreparedProfile &prepared,
                                      const Downsets &sets, int from, int to) {
  std::vector<int> nodes;
  for (int node = 0; node < prepared.dag.size(); ++node)
    if (sets.contains(to, node) && (from < 0 || !sets.contains(from, node))) {
      nodes.push_back(prepared.nodes[node]);
      nodes.insert(nodes.end(), prepared.attached[node].begin(), prepared.attached[node].end());
    }
  std::sort(nodes.begin(), nodes.end());
  std::vector<std::string> ids;
  for (int node : nodes)
    ids.push_back(profile.nodes[node].id);
  return ids;
}

} // namespace

Placement pdc::place::placePipeDream(const PipeDreamProfile &profile, const PlaceOptions &options) {
  if (!options.devices)
    throw PlaceError("how many devices? A PipeDream profile does not say; give --devices=N");
  int devices = *options.devices;
  // PipeDream's own default: 1 GB/s.
  double bandwidth = options.bytesPerSecond.value_or(1e9);
  PreparedProfile prepared = preparePipeDream(profile);

  PipeDreamModel model{devices, bandwidth, options.memoryBytes, options.fewerDevices};
  // Along a few chains of cuts for a first bound, then over all cuts.
  PipeDreamCuts cuts = findPipeDreamChains(profile, prepared);
  std::optional<PipeDreamPlan> plan = findPipeDreamPlan(cuts, model, std::nullopt, options.effort);
  PipeDreamCuts all = findPipeDreamCuts(profile, prepared, options.maxCuts);
  std::optional<double> bound = plan ? std::optional(plan->bottleneckSeconds) : std::nullopt;
  if (std::optional<PipeDreamPlan> better = findPipeDreamPlan(all, model, bound, options.effort)) {
    plan = better;
    cuts = std::move(all);
  }
  if (!plan)
    throw PlaceError("no plan keeps every stage within " +
                     std::to_string(static_cast<int64_t>(*options.memoryBytes)) + " bytes of memory on " +
                     std::to_string(devices) + " devices");

  Placement placement;
  for (size_t i = 0; i < plan->stages.size(); ++i) {
    const PipeDreamStage &stage = plan->stages[i];
    PlacedStage placed;
    placed.replicas = stage.replicas;
    placed.seconds = stageSeconds(cuts, model, stage);
    placed.transferSeconds = stageTransferSeconds(cuts, model, stage);
    placed.nodes = nodesBetween(profile, prepared, cuts.sets, stage.from, stage.to);
    placement.stages.push_back(std::move(placed));
  }
  const PipeDreamCut &whole = cuts.costs.back();
  placement.bottleneckSeconds = plan->bottleneckSeconds;
  placement.oneDeviceSeconds = whole.computeSeconds;
  placement.dataParallelSeconds =
      stageSeconds(cuts, model, {-1, static_cast<int>(cuts.costs.size()) - 1, devices});
  placement.devices = devices;
  placement.cuts = cuts.costs.size();
  placement.exact = cuts.complete && plan->lowerBoundSeconds == plan->bottleneckSeconds;
  // Whatever the cut, the compute is shared by the devices at best evenly.
  placement.lowerBoundSeconds = cuts.complete ? plan->lowerBoundSeconds : whole.computeSeconds / devices;
  return placement;
}
