//===- PipeDreamSearch.cpp - the best plan over given cuts ----------------===//

#include "compiler/place/PipeDreamSearch.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace pdc::place;

double pdc::place::stageSeconds(const PipeDreamCuts &cuts, const PipeDreamModel &model,
                                PipeDreamStage stage) {
  PipeDreamCut from = stage.from < 0 ? PipeDreamCut{} : cuts.costs[stage.from];
  const PipeDreamCut &to = cuts.costs[stage.to];
  double replicas = stage.replicas;
  double reduce =
      4.0 * (replicas - 1) * (to.parameterBytes - from.parameterBytes) / (model.bytesPerSecond * replicas);
  return (to.computeSeconds - from.computeSeconds + reduce) / replicas;
}

double pdc::place::stageTransferSeconds(const PipeDreamCuts &cuts, const PipeDreamModel &model,
                                        PipeDreamStage stage) {
  if (stage.from < 0)
    return 0;
  bool isLast = stage.to + 1 == cuts.sets.size();
  double bytes = std::max(cuts.costs[stage.from].outputBytes, isLast ? 0 : cuts.costs[stage.to].outputBytes);
  return 2.0 * bytes / (model.bytesPerSecond * stage.replicas);
}

namespace {

/// Which numbers of devices, 0 to n.
class Counts {
public:
  explicit Counts(int most) : words(most / 64 + 1) {}
  bool has(int count) const { return words[count / 64] >> (count % 64) & 1; }
  void add(int count) { words[count / 64] |= uint64_t{1} << (count % 64); }

private:
  std::vector<uint64_t> words;
};

/// How a cut is reached with a number of devices.
struct Step {
  int from = -2; // -2: not reached
  int replicas = 0;
};

/// One question: what is reached when no stage and no transfer takes longer than `limit`?
class Reach {
public:
  Reach(const PipeDreamCuts &cuts, const PipeDreamModel &model, const std::vector<int> &order, double limit)
      : cuts(cuts), model(model), order(order), limit(limit), total(cuts.costs.back().computeSeconds),
        steps(static_cast<size_t>(cuts.sets.size()) * (model.devices + 1)), leastOf(cuts.sets.size(), kNone),
        byLeast(model.devices + 1) {
    for (const PipeDreamCut &cut : cuts.costs)
      forTransfer.push_back(devicesFor(2.0 * cut.outputBytes / model.bytesPerSecond));
  }

  std::optional<PipeDreamPlan> run();

private:
  static constexpr int kNone = std::numeric_limits<int>::max();
  Step &at(int cut, int m) { return steps[static_cast<size_t>(cut) * (model.devices + 1) + m]; }
  bool isReached(int cut, int m) { return at(cut, m).from != -2; }

  /// The fewest devices that so many seconds keep busy for no longer than the limit each.
  int devicesFor(double seconds) const {
    return seconds <= 0 ? 0 : static_cast<int>(std::min(std::ceil(seconds / limit * (1 - 1e-12)), 1e9));
  }
  bool isAllowed(PipeDreamStage stage, int behind) const;
  int fewestReplicas(int from, int to) const;
  void set(int to, int m, Step step);
  void startAt(int to);
  void extendAll(int to);
  void extend(int from, int to);
  void extendWithinMemory(int from, int to);
  PipeDreamPlan trace(int devices);

  const PipeDreamCuts &cuts;
  const PipeDreamModel &model;
  const std::vector<int> &order; // cuts by compute, each after its subsets
  double limit, total;
  std::vector<Step> steps;
  std::vector<int> leastOf; // devices that each cut is reached with
  struct Near {
    double computeSeconds;
    int cut, forTransfer;
  };
  std::vector<std::vector<Near>> byLeast; // cuts by that, each list by compute
  std::vector<int> forTransfer;           // replicas that the transfer over each cut needs
  int least = 0, most = 0;                // of the cut that is being reached: devices that can matter
  int full = 0;                           // every number from here to `most` is reached
};

bool Reach::isAllowed(PipeDreamStage stage, int behind) const {
  if (stageSeconds(cuts, model, stage) > limit || stageTransferSeconds(cuts, model, stage) > limit)
    return false;
  if (!model.memoryBytes)
    return true;
  // Weights and activations once for each mini-batch in flight: those of the devices behind, per replica. The
  // original has none for the last stage; its weights need memory, too.
  PipeDreamCut from = stage.from < 0 ? PipeDreamCut{} : cuts.costs[stage.from];
  const PipeDreamCut &to = cuts.costs[stage.to];
  double bytes = to.activationBytes - from.activationBytes + to.parameterBytes - from.parameterBytes;
  return bytes * std::max(1, (behind + stage.replicas - 1) / stage.replicas) <= *model.memoryBytes;
}

/// From two on: more are faster. (Of r the seconds are (c + s)/r - s/r^2 with s = 4w/B: as a function of 1/r a
/// parabola whose peak is at 1/r >= 1/2.)
int Reach::fewestReplicas(int from, int to) const {
  double compute = cuts.costs[to].computeSeconds - (from < 0 ? 0 : cuts.costs[from].computeSeconds);
  double transfer = stageTransferSeconds(cuts, model, {from, to, 1});
  int replicas = std::max({2, devicesFor(compute), devicesFor(transfer)});
  while (replicas <= most && !isAllowed({from, to, replicas}, 0))
    ++replicas;
  return replicas;
}

void Reach::set(int to, int m, Step step) {
  if (m < least || m > most || isReached(to, m))
    return;
  at(to, m) = step;
  leastOf[to] = std::min(leastOf[to], m);
  while (full > least && isReached(to, full - 1))
    --full;
}

void Reach::startAt(int to) {
  for (int m = least; m <= most; ++m)
    if (isAllowed({-1, to, m}, model.devices - m))
      set(to, m, {-1, m});
}

void Reach::extend(int from, int to) {
  int begin = leastOf[from];
  // All numbers that the one replica adds one to, and all from the fewest of several on.
  if (isAllowed({from, to, 1}, 0))
    for (int m = std::max(begin, least - 1); m < std::min(most, full - 1); ++m)
      if (isReached(from, m))
        set(to, m + 1, {from, 1});
  if (begin + 2 >= full)
    return;
  int fewest = fewestReplicas(from, to);
  for (int m = full - 1; m >= std::max(least, begin + fewest); --m)
    set(to, m, {from, m - begin});
}

void Reach::extendWithinMemory(int from, int to) {
  for (int before = leastOf[from]; before < most; ++before)
    for (int m = std::max(least, before + 1); isReached(from, before) && m <= most; ++m)
      if (!isReached(to, m) && isAllowed({from, to, m - before}, model.devices - m))
        set(to, m, {from, m - before});
}

/// From cuts that few devices reach first; of those only cuts that are near enough to add something. Nearly
/// all pairs of cuts end in the comparisons of numbers here, before the sets are looked at.
void Reach::extendAll(int to) {
  double compute = cuts.costs[to].computeSeconds, devicesASecond = (1 - 1e-12) / limit;
  int toSend = to + 1 == cuts.sets.size() ? 0 : forTransfer[to];
  for (int begin = 1; begin < most && begin + 1 < full; ++begin) {
    const std::vector<Near> &list = byLeast[begin];
    for (size_t i = list.size(); i-- > 0 && begin + 1 < full;) {
      const Near &near = list[i];
      double share = (compute - near.computeSeconds) * devicesASecond;
      if (begin + std::ceil(share) >= full && !model.memoryBytes)
        break; // and all that follow are farther
      if (model.memoryBytes) {
        if (cuts.sets.isSubset(near.cut, to) && near.cut != to)
          extendWithinMemory(near.cut, to);
        continue;
      }
      // One replica, or at least two.
      int replicas = std::max(toSend, near.forTransfer);
      bool one = replicas <= 1 && share <= 1;
      if (!one && begin + std::max(2, replicas) >= full)
        continue;
      if (cuts.sets.isSubset(near.cut, to))
        extend(near.cut, to);
    }
  }
}

PipeDreamPlan Reach::trace(int devices) {
  PipeDreamPlan plan;
  for (int cut = cuts.sets.size() - 1, m = devices; cut >= 0;) {
    Step step = at(cut, m);
    PipeDreamStage stage{step.from, cut, step.replicas};
    plan.stages.push_back(stage);
    plan.bottleneckSeconds = std::max(
        {plan.bottleneckSeconds, stageSeconds(cuts, model, stage), stageTransferSeconds(cuts, model, stage)});
    cut = step.from;
    m -= step.replicas;
  }
  std::reverse(plan.stages.begin(), plan.stages.end());
  return plan;
}

std::optional<PipeDreamPlan> Reach::run() {
  int last = cuts.sets.size() - 1;
  for (int to : order) {
    double compute = cuts.costs[to].computeSeconds;
    least = std::max(1, devicesFor(compute));
    most = to == last ? model.devices : model.devices - std::max(1, devicesFor(total - compute));
    if (to == last && !model.fewerDevices)
      least = std::max(least, model.devices);
    if (least > most)
      continue;
    full = most + 1;
    startAt(to);
    extendAll(to);
    if (leastOf[to] != kNone)
      byLeast[leastOf[to]].push_back({compute, to, forTransfer[to]});
  }
  if (leastOf[last] == kNone)
    return std::nullopt;
  return trace(leastOf[last]);
}

} // namespace

std::optional<PipeDreamPlan> pdc::place::findPipeDreamPlan(const PipeDreamCuts &cuts,
                                                           const PipeDreamModel &model,
                                                           std::optional<double> bound) {
  std::vector<int> order(cuts.sets.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    double x = cuts.costs[a].computeSeconds, y = cuts.costs[b].computeSeconds;
    return x != y ? x < y : a < b;
  });
  auto reach = [&](double limit) { return Reach(cuts, model, order, limit).run(); };
  double worst = std::numeric_limits<double>::max();
  std::optional<PipeDreamPlan> best = reach(bound.value_or(worst) * (bound ? 1 + 1e-12 : 1));
  if (!best)
    return std::nullopt;
  double below = cuts.costs.back().computeSeconds / model.devices;
  // Bisection; now and then the question whether the plan that is known is the best one already.
  constexpr double kTolerance = 1e-10;
  for (int misses = 0; below < best->bottleneckSeconds * (1 - kTolerance);) {
    double limit = (below + best->bottleneckSeconds) / 2;
    if (misses == 3)
      limit = best->bottleneckSeconds * (1 - kTolerance);
    if (std::optional<PipeDreamPlan> plan = reach(limit)) {
      best = plan;
      misses = 0;
    } else {
      below = limit;
      ++misses;
    }
  }
  return best;
}
