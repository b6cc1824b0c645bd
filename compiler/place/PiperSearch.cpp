//===- PiperSearch.cpp - the best plan over given cuts --------------------===//
//
// Piper (NeurIPS 2021), section 4, fills a table of bottlenecks: by cut, by number of devices and by sum of the
// data-parallel degrees. Here the question is turned around: when no stage may take longer than T, what do the nodes
// after a cut need? Of pairs (devices, sum of degrees) only those matter that no other one is below in both: more
// devices leave less to the stages before, and so does a greater sum, with which more samples are in flight there. Most
// cuts have a handful of such pairs, whatever the number of devices. T is found by bisection, from above always at the
// bottleneck of a plan; at last the next smaller number is asked for, so that the answer is the optimum itself.
//
//===----------------------------------------------------------------------===//

#include "compiler/place/PiperSearch.h"
#include "compiler/place/PiperBounds.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

using namespace pdc::place;

namespace {

constexpr double kRounding = PiperBounds::kRounding;
/// Steps that the search for a better plan than a known one may take, of some 0.2 microseconds.
constexpr double kMostSteps = 6'000'000;

/// Costs of stages that were looked at node by node. Bisection asks for most of them again and again.
class StageTimes {
public:
  StageTimes(const PiperCosts &costs, const Downsets &sets) : stage(costs, sets) {}

  /// However many samples are in flight: 0 samples.
  double seconds(int from, int to, int tensor, int data, int samples) {
    ++asked;
    Key key{from, to, tensor, data, samples};
    if (auto found = known.find(key); found != known.end())
      return found->second;
    constexpr size_t kMostKnown = 2'000'000; // some 100 MB
    if (known.size() >= kMostKnown)
      known.clear();
    asked += 5; // it takes so much longer
    stage.become(from, to, tensor, data);
    double seconds = samples ? stage.seconds(samples) : stage.fastestSeconds();
    known.emplace(key, seconds);
    return seconds;
  }

  /// How often it was, and what its answers took, in steps.
  size_t steps() const { return asked; }

private:
  struct Key {
    int from, to, tensor, data, samples;
    bool operator==(const Key &) const = default;
  };
  struct Hash {
    size_t operator()(const Key &key) const {
      uint64_t hash = 0x9e3779b97f4a7c15;
      for (int part : {key.from, key.to, key.tensor, key.data, key.samples}) {
        hash = (hash ^ static_cast<uint64_t>(part)) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };

  PiperStage stage; // the one that was looked at last
  size_t asked = 0;
  std::unordered_map<Key, double, Hash> known;
};

class Search {
public:
  Search(const PiperCosts &costs, const Downsets &sets, double effort)
      : costs(costs), sets(sets), mostSteps(kMostSteps * effort), devices(costs.model.devices),
        mostSum(std::min(devices, costs.model.samples)), tensors(costs.tensorDegrees().size()),
        dataDegrees(findDataDegrees()), times(costs, sets), bounds(costs, sets, mostSum) {
    firstAtLeast.resize(mostSum + 2);
    for (int least = 0; least < mostSum + 2; ++least)
      firstAtLeast[least] =
          std::lower_bound(dataDegrees.begin(), dataDegrees.end(), least) - dataDegrees.begin();
    sortCuts();
  }

  std::optional<PiperPlan> run(std::optional<double> bound);

private:
  /// What the nodes after a cut need, and the stage after it that needs it so.
  struct Need {
    int devices = 0, sum = 0;
    int to = -1, next = -1; // the stage's second cut, and the need there
    int tensor = 0, data = 1;
  };

  std::vector<int> findDataDegrees() const;
  void sortCuts();
  std::optional<PiperPlan> reach(double limit);
  void extend(int from, int to, int devicesBefore);
  bool isFastEnough(int from, int to, int tensor, int data, int samples, const PiperBounds::Stage &bound);
  bool isCovered(const std::vector<Need> &needs, int devices, int sum) const;
  void insert(std::vector<Need> &needs, const Need &need) const;
  PiperPlan trace();
  int devicesFor(double deviceSeconds) const {
    return deviceSeconds > 0
               ? static_cast<int>(std::min(std::ceil(deviceSeconds / limit * (1 - kRounding)), 1e9))
               : 0;
  }

  const PiperCosts &costs;
  const Downsets &sets;
  const double mostSteps;
  const int devices, mostSum;
  const size_t tensors;
  const std::vector<int> dataDegrees;
  std::vector<size_t> firstAtLeast; // number of the first data-parallel degree that is not less
  StageTimes times;
  PiperBounds bounds;
  std::vector<int> order; // cuts by decreasing number of nodes
  double limit = 0;
  bool hasPlan = false, isGivenUp = false;
  size_t steps = 0; // pairs of cuts that were looked at
  std::vector<std::vector<Need>> needsOf;
};

std::vector<int> Search::findDataDegrees() const {
  std::vector<int> result;
  for (int data = 1; data <= mostSum; ++data)
    if (costs.model.samples % data == 0)
      result.push_back(data);
  return result;
}

void Search::sortCuts() {
  order.resize(sets.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return bounds.nodes(a) != bounds.nodes(b) ? bounds.nodes(a) > bounds.nodes(b) : a < b;
  });
}

bool Search::isCovered(const std::vector<Need> &needs, int devices, int sum) const {
  // The last one of no more devices has the smallest sum of those.
  auto after = std::upper_bound(needs.begin(), needs.end(), devices,
                                [](int count, const Need &need) { return count < need.devices; });
  return after != needs.begin() && std::prev(after)->sum <= sum;
}

void Search::insert(std::vector<Need> &needs, const Need &need) const {
  auto begin = std::lower_bound(needs.begin(), needs.end(), need.devices,
                                [](const Need &other, int count) { return other.devices < count; });
  auto end = begin;
  while (end != needs.end() && end->sum >= need.sum)
    ++end;
  if (begin == end) {
    needs.insert(begin, need);
    return;
  }
  *begin = need;
  needs.erase(begin + 1, end);
}

/// The stage is looked at node by node only where bounds leave the answer open.
bool Search::isFastEnough(int from, int to, int tensor, int data, int samples,
                          const PiperBounds::Stage &bound) {
  double least = bound.leastSeconds(data);
  if (least * (1 - kRounding) > limit)
    return false;
  double memory = costs.model.memoryBytes;
  bool fits = bounds.areExact() && bound.fastestBytes(samples) < memory * (1 - kRounding);
  if (fits && least < limit * (1 - kRounding))
    return true;
  if (bounds.leastBytes(from, to, tensor, samples) > memory * (1 + kRounding))
    return false;
  return times.seconds(from, to, tensor, data, 0) <= limit &&
         (fits || times.seconds(from, to, tensor, data, samples) <= limit);
}

/// Stages of the nodes between two cuts, each with the fewest replicas that make it fast enough: more of them need
/// more devices and make a greater sum.
void Search::extend(int from, int to, int devicesBefore) {
  std::vector<Need> &needs = needsOf[from];
  const std::vector<Need> &after = needsOf[to];
  ++steps;
  for (size_t tensor = 0; tensor < tensors; ++tensor) {
    if (!bounds.canRun(from, to, tensor))
      continue;
    PiperBounds::Stage bound = bounds.stage(from, to, tensor);
    int tensorDegree = costs.tensorDegrees()[tensor],
        fewest = bound.fewestReplicas(limit * (1 + kRounding), mostSum);
    for (size_t next = 0; next < after.size(); ++next)
      for (size_t i = firstAtLeast[fewest]; i < dataDegrees.size(); ++i) {
        int data = dataDegrees[i];
        int count = after[next].devices + data * tensorDegree, sum = after[next].sum + data;
        if (count + devicesBefore > devices || sum > mostSum || isCovered(needs, count, sum))
          break;
        if (!isFastEnough(from, to, tensor, data, (sum + data - 1) / data, bound))
          continue;
        insert(needs, {count, sum, to, static_cast<int>(next), static_cast<int>(tensor), data});
        break;
      }
  }
}

std::optional<PiperPlan> Search::reach(double newLimit) {
  limit = newLimit;
  needsOf.assign(sets.size(), {});
  needsOf[order[0]] = {Need()};
  std::vector<int> reached{order[0]};
  for (size_t i = 1; i < order.size(); ++i) {
    if (hasPlan && times.steps() + steps > mostSteps) {
      isGivenUp = true;
      return std::nullopt;
    }
    int from = order[i], before = devicesFor(bounds.deviceSeconds(from));
    for (int to : reached) {
      if (bounds.nodes(to) == bounds.nodes(from))
        break; // and all that follow
      int least = std::max(1, devicesFor(bounds.deviceSeconds(to) - bounds.deviceSeconds(from)));
      int count = needsOf[to].front().devices + least;
      if (count + before <= devices && !isCovered(needsOf[from], count, needsOf[to].back().sum + 1) &&
          sets.isSubset(from, to))
        extend(from, to, before);
    }
    if (!needsOf[from].empty())
      reached.push_back(from);
  }
  if (needsOf[order.back()].empty())
    return std::nullopt;
  return trace();
}

PiperPlan Search::trace() {
  PiperPlan plan;
  PiperStage stage(costs, sets);
  for (int from = order.back(), number = 0; from != order[0];) {
    const Need &need = needsOf[from][number];
    int samples = (need.sum + need.data - 1) / need.data;
    plan.stages.push_back({from, need.to, need.tensor, need.data, samples});
    stage.become(from, need.to, need.tensor, need.data);
    plan.bottleneckSeconds = std::max(plan.bottleneckSeconds, stage.seconds(samples));
    from = need.to;
    number = need.next;
  }
  return plan;
}

std::optional<PiperPlan> Search::run(std::optional<double> bound) {
  hasPlan = bound.has_value();
  // No time is infinite but that of a stage that does not fit.
  std::optional<PiperPlan> best =
      reach(bound ? *bound * (1 + kRounding) : std::numeric_limits<double>::max());
  if (!best)
    return std::nullopt;
  hasPlan = true;
  double below = bounds.deviceSeconds(order[0]) / devices * (1 - kRounding);
  // A plan that is known from fewer cuts is often the best one already, and so is one that bisection has missed below.
  constexpr int kPatience = 3;
  for (int misses = bound ? kPatience : 0; below < best->bottleneckSeconds;) {
    double next = std::nextafter(best->bottleneckSeconds, 0.0),
           middle = (below + best->bottleneckSeconds) / 2;
    bool isLast = misses >= kPatience || middle >= next;
    std::optional<PiperPlan> plan = reach(isLast ? next : middle);
    if (isGivenUp) {
      best->lowerBoundSeconds = below;
      return best;
    }
    if (plan) {
      best = plan;
      misses = 0;
    } else if (isLast) {
      break;
    } else {
      below = middle;
      ++misses;
    }
  }
  best->lowerBoundSeconds = best->bottleneckSeconds;
  return best;
}

} // namespace

std::optional<PiperPlan> pdc::place::findPiperPlan(const PiperCosts &costs, const Downsets &sets,
                                                   std::optional<double> bound, double effort) {
  return Search(costs, sets, effort).run(bound);
}
