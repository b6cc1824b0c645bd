//===- DnnPartitioningPlanner.cpp - the smallest maximum load -------------===//
//
// Tarnawski et al. (NeurIPS 2020), section 5.1: over downsets J of the forward graph and numbers of devices,
//
//   load(J, a, c) = min over downsets K inside of J:
//                     max( load(K, a - 1, c), accelerator(J \ K) )  or  max( load(K, a, c - 1), cpu(J \ K) )
//
// The original computes the cost of every pair of downsets. Here a plan that is known bounds the load. It says
// how much a device can take at most, and so which downsets can follow which, and how many devices each needs
// at least before it and after it; what a pair sends is computed only where that leaves something to gain. Only
// outputs that cross one of the pair's two cuts can cross the boundary of what lies between them.
//
//===----------------------------------------------------------------------===//

#include "compiler/place/DnnParts.h"
#include "compiler/place/Downsets.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

using namespace pdc::place;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Sums over all parts before a cut.
struct Sums {
  double cpuSeconds = 0, acceleratorSeconds = 0, bytes = 0;
  int unsupported = 0, parts = 0;
};

struct Choice {
  int cut = -1; // the cut before the last device's part
  bool cpu = false;
};

/// What one device has, and how long that takes.
struct DeviceLoad {
  std::vector<int> parts;
  bool cpu = false;
  double seconds = 0, transferSeconds = 0;
};

/// What lies before each cut, whatever the devices.
struct CutSums {
  CutSums(const DnnParts &parts, const Downsets &sets);

  std::vector<Sums> sums;
  std::vector<std::vector<int>>
      crossing;           // per cut, outputs that are written on one side and read on the other
  std::vector<int> order; // cuts by accelerator seconds, each after its subsets
};

CutSums::CutSums(const DnnParts &parts, const Downsets &sets) : sums(sets.size()), crossing(sets.size()) {
  for (int cut = 0; cut < sets.size(); ++cut) {
    Sums &sum = sums[cut];
    for (int i : members(sets[cut], sets.words())) {
      const DnnPart &part = parts.parts[i];
      sum.cpuSeconds += part.cpuSeconds;
      sum.acceleratorSeconds += part.acceleratorSeconds;
      sum.bytes += part.bytes;
      sum.unsupported += part.unsupported;
      ++sum.parts;
    }
    for (size_t i = 0; i < parts.outputs.size(); ++i) {
      const DnnOutput &output = parts.outputs[i];
      bool inside = sets.contains(cut, output.part);
      if (output.seconds > 0 && std::any_of(output.readers.begin(), output.readers.end(),
                                            [&](int reader) { return sets.contains(cut, reader) != inside; }))
        crossing[cut].push_back(static_cast<int>(i));
    }
  }
  order.resize(sets.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    auto key = [&](int cut) { return std::tuple(sums[cut].acceleratorSeconds, sums[cut].parts, cut); };
    return key(a) < key(b);
  });
}

class Solver {
public:
  Solver(const DnnParts &parts, const Downsets &sets, const CutSums &cuts, int accelerators, int cpus,
         double acceleratorBytes)
      : parts(parts), sets(sets), accelerators(accelerators), cpus(cpus), memory(acceleratorBytes),
        kinds((accelerators + 1) * (cpus + 1)), sums(cuts.sums), crossing(cuts.crossing), order(cuts.order),
        marked(parts.outputs.size(), false) {}

  /// The smallest maximum load, if it is at most `limit`; infinity also if more pairs of cuts would be looked at than
  /// `mostPairs`.
  double solve(double limit, size_t mostPairs = std::numeric_limits<size_t>::max());
  bool isGivenUp() const { return pairsLeft == 0; }
  /// Of the devices that have any, in order, after solve() has found a load.
  std::vector<DeviceLoad> deviceLoads();

private:
  void findRanges();
  double cpuCapacity() const;
  double sentSeconds(int from, int to) const;
  void extend(int from, int to);
  bool leaveIdle(int cut);
  DeviceLoad loadBetween(int from, int to, bool cpu) const;
  int slot(int a, int c) const { return a * (cpus + 1) + c; }
  double &loadAt(int cut, int devices) { return loads[static_cast<size_t>(cut) * kinds + devices]; }

  const DnnParts &parts;
  const Downsets &sets;
  int accelerators, cpus;
  double memory;
  int kinds; // ways to count devices: accelerators and CPUs
  const std::vector<Sums> &sums;
  const std::vector<std::vector<int>> &crossing;
  const std::vector<int> &order;
  double bound = kInfinity, capacity = 0;
  size_t pairsLeft = 0;
  std::vector<double> loads;
  std::vector<Choice> choices;
  std::vector<char> usable; // per cut and devices: can be part of a plan within the bound
  std::vector<char> marked; // outputs that cross the cut that is being extended to
};

/// The most accelerator seconds that a CPU can take off the accelerators within the bound: the fractional
/// knapsack is no less.
double Solver::cpuCapacity() const {
  std::vector<int> byRatio(parts.parts.size());
  std::iota(byRatio.begin(), byRatio.end(), 0);
  auto ratio = [&](int i) {
    const DnnPart &part = parts.parts[i];
    return part.cpuSeconds > 0 ? part.acceleratorSeconds / part.cpuSeconds : kInfinity;
  };
  std::sort(byRatio.begin(), byRatio.end(), [&](int a, int b) { return ratio(a) > ratio(b); });
  double left = bound, taken = 0;
  for (int i : byRatio) {
    const DnnPart &part = parts.parts[i];
    double share = part.cpuSeconds <= left ? 1 : left / part.cpuSeconds;
    taken += share * part.acceleratorSeconds;
    left -= share * part.cpuSeconds;
    if (share < 1)
      break;
  }
  return taken;
}

void Solver::findRanges() {
  capacity = cpus > 0 ? cpuCapacity() : 0;
  double total = sums[order.back()].acceleratorSeconds, slack = 1e-9 * total;
  for (int cut = 0; cut < sets.size(); ++cut)
    for (int a = 0; a <= accelerators; ++a)
      for (int c = 0; c <= cpus; ++c) {
        double before = sums[cut].acceleratorSeconds;
        // 0 of infinity is 0.
        auto most = [&](int as, int cs) { return (as ? as * bound : 0) + cs * capacity + slack; };
        usable[static_cast<size_t>(cut) * kinds + slot(a, c)] =
            before <= most(a, c) && total - before <= most(accelerators - a, cpus - c);
      }
}

/// Time to send what crosses the boundary of the parts between two cuts; marked[] has the outputs of `to`.
double Solver::sentSeconds(int from, int to) const {
  auto between = [&](int part) { return sets.contains(to, part) && !sets.contains(from, part); };
  auto crosses = [&](const DnnOutput &output) {
    bool inside = between(output.part);
    return std::any_of(output.readers.begin(), output.readers.end(),
                       [&](int r) { return between(r) != inside; });
  };
  double seconds = 0;
  for (int i : crossing[to])
    if (crosses(parts.outputs[i]))
      seconds += parts.outputs[i].seconds;
  for (int i : crossing[from])
    if (!marked[i] && crosses(parts.outputs[i]))
      seconds += parts.outputs[i].seconds;
  return seconds;
}

void Solver::extend(int from, int to) {
  double cpuSeconds = sums[to].cpuSeconds - sums[from].cpuSeconds;
  double computeSeconds = sums[to].acceleratorSeconds - sums[from].acceleratorSeconds;
  bool supported = sums[to].unsupported == sums[from].unsupported &&
                   sums[to].bytes - sums[from].bytes <= memory * (1 + 1e-12);
  double acceleratorSeconds = -1; // not computed yet
  bool isSubset = false;
  auto improve = [&](int device, double previous, double seconds, bool cpu) {
    double load = std::max(previous, seconds);
    if (load <= bound && load < loadAt(to, device)) {
      loadAt(to, device) = load;
      choices[static_cast<size_t>(to) * kinds + device] = {from, cpu};
    }
  };
  for (int a = 0; a <= accelerators; ++a)
    for (int c = 0; c <= cpus; ++c) {
      int device = slot(a, c);
      if (!usable[static_cast<size_t>(to) * kinds + device])
        continue;
      double best = std::min(loadAt(to, device), std::nextafter(bound, kInfinity));
      double previous = a > 0 && supported ? loadAt(from, slot(a - 1, c)) : kInfinity;
      double previousCpu = c > 0 ? loadAt(from, slot(a, c - 1)) : kInfinity;
      bool useful = std::max(previous, computeSeconds) < best,
           usefulCpu = std::max(previousCpu, cpuSeconds) < best;
      if (!useful && !usefulCpu)
        continue;
      if (!isSubset && !(isSubset = sets.isSubset(from, to)))
        return;
      if (useful) {
        if (acceleratorSeconds < 0)
          acceleratorSeconds = computeSeconds + sentSeconds(from, to);
        improve(device, previous, acceleratorSeconds, false);
      }
      if (usefulCpu)
        improve(device, previousCpu, cpuSeconds, true);
    }
}

/// A device may stay without a part. Says whether the cut is reached with any devices.
bool Solver::leaveIdle(int cut) {
  bool reached = false;
  for (int a = 0; a <= accelerators; ++a)
    for (int c = 0; c <= cpus; ++c) {
      double &load = loadAt(cut, slot(a, c));
      auto copy = [&](int fewer, bool cpu) {
        if (loadAt(cut, fewer) < load) {
          load = loadAt(cut, fewer);
          choices[static_cast<size_t>(cut) * kinds + slot(a, c)] = {cut, cpu};
        }
      };
      if (a > 0)
        copy(slot(a - 1, c), false);
      if (c > 0)
        copy(slot(a, c - 1), true);
      reached |= load < kInfinity;
    }
  return reached;
}

double Solver::solve(double limit, size_t mostPairs) {
  pairsLeft = mostPairs;
  bound = limit == kInfinity ? limit : limit * (1 + 1e-12);
  usable.assign(static_cast<size_t>(sets.size()) * kinds, false);
  findRanges();
  loads.assign(usable.size(), kInfinity);
  choices.assign(usable.size(), {});
  for (int device = 0; device < kinds; ++device)
    loadAt(order[0], device) = 0;
  std::vector<int> reached{order[0]};
  size_t first = 0; // of those reached, before it none is near enough
  for (size_t i = 1; i < order.size(); ++i) {
    int to = order[i];
    auto begin = usable.begin() + static_cast<size_t>(to) * kinds;
    if (std::find(begin, begin + kinds, true) == begin + kinds)
      continue;
    double most = std::max(bound, capacity) * (1 + 1e-9);
    while (sums[to].acceleratorSeconds - sums[reached[first]].acceleratorSeconds > most &&
           first + 1 < reached.size())
      ++first;
    for (int output : crossing[to])
      marked[output] = true;
    // Nearest first: what a device can take at most is often what it takes in the end.
    for (size_t k = reached.size(); k-- > first && pairsLeft > 0; --pairsLeft)
      extend(reached[k], to);
    if (isGivenUp())
      return kInfinity;
    for (int output : crossing[to])
      marked[output] = false;
    if (leaveIdle(to))
      reached.push_back(to);
  }
  return loadAt(order.back(), kinds - 1);
}

DeviceLoad Solver::loadBetween(int from, int to, bool cpu) const {
  DeviceLoad load;
  load.cpu = cpu;
  if (cpu) {
    load.seconds = sums[to].cpuSeconds - sums[from].cpuSeconds;
  } else {
    load.transferSeconds = sentSeconds(from, to);
    load.seconds = sums[to].acceleratorSeconds - sums[from].acceleratorSeconds + load.transferSeconds;
  }
  for (int part : members(sets[to], sets.words()))
    if (!sets.contains(from, part))
      load.parts.push_back(part);
  return load;
}

std::vector<DeviceLoad> Solver::deviceLoads() {
  int a = 0; // as few accelerators as do
  while (loadAt(order.back(), slot(a, cpus)) > loadAt(order.back(), kinds - 1))
    ++a;
  std::vector<DeviceLoad> result;
  for (int cut = order.back(), c = cpus; cut != order[0];) {
    Choice choice = choices[static_cast<size_t>(cut) * kinds + slot(a, c)];
    (choice.cpu ? c : a) -= 1;
    if (choice.cut == cut)
      continue;
    for (int output : crossing[cut])
      marked[output] = true;
    result.push_back(loadBetween(choice.cut, cut, choice.cpu));
    for (int output : crossing[cut])
      marked[output] = false;
    cut = choice.cut;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

/// The loads as stages of the graph's nodes, with those of parts that were left out.
std::vector<PlacedStage> describe(const DnnGraph &graph, const DnnParts &whole, const ThinnedDag &thinned,
                                  const std::vector<DeviceLoad> &loads) {
  std::vector<PlacedStage> stages;
  std::vector<int> stageOfLeft(thinned.nodes.size());
  for (const DeviceLoad &load : loads) {
    for (int part : load.parts)
      stageOfLeft[part] = static_cast<int>(stages.size());
    PlacedStage &stage = stages.emplace_back();
    stage.device = load.cpu ? "cpu" : "accelerator";
    stage.seconds = load.seconds;
    stage.transferSeconds = load.transferSeconds;
  }
  std::vector<int> stageOf = stagesOfAllNodes(whole.dag, thinned, stageOfLeft);
  std::vector<std::vector<int>> nodesOf(stages.size());
  for (size_t part = 0; part < whole.parts.size(); ++part)
    nodesOf[stageOf[part]].insert(nodesOf[stageOf[part]].end(), whole.parts[part].nodes.begin(),
                                  whole.parts[part].nodes.end());
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    std::sort(nodesOf[stage].begin(), nodesOf[stage].end());
    for (int node : nodesOf[stage])
      stages[stage].nodes.push_back(std::to_string(graph.nodes[node].id));
  }
  return stages;
}

/// A graph's parts and where it is cut.
struct Prepared {
  /// Parts that have a size, but take no time, stay with an only neighbour if all nodes fit into `mergeBytes`.
  Prepared(const DnnGraph &graph, double mergeBytes, size_t maxCuts)
      : whole(gatherDnnParts(graph, mergeBytes)), thinned(leaveOutFreeNodes(whole.dag, findFreeParts(whole))),
        parts(keepParts(whole, thinned)), chains(parts.dag.size()), sets(parts.dag.size()) {
    appendPrefixes(parts.dag.depthFirstOrder(), chains);
    appendPrefixes(parts.dag.smallestFirstOrder(), chains);
    isComplete = enumerateDownsets(parts.dag, maxCuts, sets);
    if (!isComplete)
      sets = chains;
  }

  DnnParts whole;
  ThinnedDag thinned;
  DnnParts parts;
  Downsets chains, sets; // along a few topological orders; all of them, unless they are too many
  bool isComplete = false;
};

} // namespace

Placement pdc::place::placeDnnPartitioning(const DnnGraph &graph, const PlaceOptions &options) {
  int accelerators = options.devices.value_or(graph.accelerators);
  double memory = options.memoryBytes.value_or(graph.acceleratorBytes);
  std::optional<Prepared> prepared(std::in_place, graph, memory, options.maxCuts);
  bool isComplete = prepared->isComplete;
  // Where memory matters and there are too many cuts: at least all those that the published planner considers.
  double allBytes = 0;
  for (const DnnNode &node : graph.nodes)
    allBytes += node.bytes;
  if (!isComplete && allBytes > memory)
    if (Prepared published(graph, kInfinity, options.maxCuts); published.isComplete)
      prepared.emplace(std::move(published));
  const DnnParts &parts = prepared->parts;

  // Along a few topological orders for a bound, then over all downsets within it.
  CutSums chainSums(parts, prepared->chains), allSums(parts, prepared->sets);
  const Downsets *cuts = &prepared->chains;
  const CutSums *sums = &chainSums;
  auto solverFor = [&](int cpus) { return Solver(parts, *cuts, *sums, accelerators, cpus, memory); };
  std::optional<Solver> solver(solverFor(graph.cpus));
  double bound = solver->solve(kInfinity), optimum = bound;
  constexpr double kMostPairs = 12e6; // about a second
  size_t mostPairs = static_cast<size_t>(kMostPairs * options.effort);
  cuts = &prepared->sets;
  sums = &allSums;
  Solver all = solverFor(graph.cpus);
  double best = bound < kInfinity ? all.solve(bound, mostPairs) : all.solve(bound);
  if (all.isGivenUp()) {
    isComplete = false;
    cuts = &prepared->chains;
    sums = &chainSums;
  } else {
    optimum = best;
    solver.emplace(std::move(all));
  }
  if (optimum == kInfinity)
    throw PlaceError("no plan fits on " + std::to_string(accelerators) + " accelerators with " +
                     std::to_string(static_cast<int64_t>(memory)) + " bytes each and " +
                     std::to_string(graph.cpus) + " CPUs");
  Placement placement;
  auto describeLoads = [&](Solver &found) {
    placement.stages = describe(graph, prepared->whole, prepared->thinned, found.deviceLoads());
  };
  // Of the plans with this load one with as few CPUs as do.
  for (int cpus = 0; cpus < graph.cpus && placement.stages.empty(); ++cpus)
    if (Solver fewer = solverFor(cpus); fewer.solve(optimum, mostPairs) < kInfinity)
      describeLoads(fewer);
  if (placement.stages.empty())
    describeLoads(*solver);
  placement.bottleneckSeconds = optimum;
  double total = 0, least = 0;
  for (const DnnPart &part : parts.parts) {
    total += part.acceleratorSeconds;
    double onCpu = graph.cpus > 0 ? part.cpuSeconds : kInfinity;
    least += std::min(onCpu, part.unsupported ? onCpu : part.acceleratorSeconds);
  }
  placement.oneDeviceSeconds = total;
  placement.devices = accelerators;
  placement.cuts = cuts->size();
  placement.exact = isComplete;
  placement.lowerBoundSeconds = isComplete ? optimum : least / std::max(1, accelerators + graph.cpus);
  placement.integerIds = true;
  return placement;
}
