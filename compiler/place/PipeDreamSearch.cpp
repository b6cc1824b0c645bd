//===- PipeDreamSearch.cpp - the best plan over given cuts ----------------===//

#include "compiler/place/PipeDreamSearch.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

using namespace pdc::place;

/// Before the first node.
static const PipeDreamCut kBeginning{};

double pdc::place::stageSeconds(const PipeDreamCuts &cuts, const PipeDreamModel &model,
                                PipeDreamStage stage) {
  const PipeDreamCut &from = stage.from < 0 ? kBeginning : cuts.costs[stage.from];
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

/// How a cut is reached with a number of devices.
struct Step {
  int from = -2; // -2: not reached
  int replicas = 0;
};

/// One question: what is reached when no stage and no transfer takes longer than `limit`?
class Reach {
public:
  /// The pairs of cuts that it looks at are taken off `effort`; it gives up when none are left.
  Reach(const PipeDreamCuts &cuts, const PipeDreamModel &model, const std::vector<int> &order, double limit,
        size_t &effort)
      : cuts(cuts), model(model), order(order), limit(limit), effort(effort),
        total(cuts.costs.back().computeSeconds),
        steps(static_cast<size_t>(cuts.sets.size()) * (model.devices + 1)), leastOf(cuts.sets.size(), kNone),
        byLeast(model.devices + 1), words(model.devices / 64 + 1),
        reached(static_cast<size_t>(cuts.sets.size()) * words) {
    for (const PipeDreamCut &cut : cuts.costs)
      forTransfer.push_back(devicesFor(2.0 * cut.outputBytes / model.bytesPerSecond));
  }

  std::optional<PipeDreamPlan> run();
  bool isGivenUp() const { return effort == 0; }

private:
  /// A cut that was reached, for those that are reached from it.
  struct Near {
    double computeSeconds, parameterBytes;
    double mostParameterBytes; // of this one and those before it in its list
    int cut;
  };

  static constexpr int kNone = std::numeric_limits<int>::max();
  Step &at(int cut, int m) { return steps[static_cast<size_t>(cut) * (model.devices + 1) + m]; }
  bool isReached(int cut, int m) const { return reachedBy(cut)[m / 64] >> (m % 64) & 1; }
  const uint64_t *reachedBy(int cut) const { return reached.data() + static_cast<size_t>(cut) * words; }

  /// The fewest devices that so many seconds keep busy for no longer than the limit each.
  int devicesFor(double seconds) const {
    return seconds <= 0 ? 0 : static_cast<int>(std::min(std::ceil(seconds / limit * (1 - 1e-12)), 1e9));
  }
  /// Activations and parameters of what lies between two cuts; from -1: the beginning.
  double stageBytes(int from, int to) const;
  bool isAllowed(PipeDreamStage stage, int behind) const;
  int fewestReplicas(int from, int to) const;
  void set(int to, int m, Step step);
  void startAt(int to);
  void remember(int cut);
  void extendAll(int to);
  void extendFrom(const std::vector<Near> &list, int to, int begin, int replicas);
  bool addsByOne(int from, int to) const;
  void extendByOne(int from, int to);
  void extendBySeveral(int from, int to);
  void extendWithinMemory(int from, int to);
  PipeDreamPlan trace(int devices);

  const PipeDreamCuts &cuts;
  const PipeDreamModel &model;
  const std::vector<int> &order; // cuts by compute, each after its subsets
  double limit;
  size_t &effort;
  double total;
  std::vector<Step> steps;
  std::vector<int> leastOf; // devices that each cut is reached with
  /// Cuts by that, and by the replicas that the transfer over them needs; each list by compute.
  std::vector<std::map<int, std::vector<Near>>> byLeast;
  size_t words;
  std::vector<uint64_t> reached; // a bit for each number of devices that a cut is reached with
  std::vector<int> forTransfer;  // replicas that the transfer over each cut needs
  int least = 0, most = 0;       // of the cut that is being reached: devices that can matter
  int full = 0;                  // every number from here to `most` is reached
};

double Reach::stageBytes(int from, int to) const {
  const PipeDreamCut &a = from < 0 ? kBeginning : cuts.costs[from], &b = cuts.costs[to];
  return b.activationBytes - a.activationBytes + b.parameterBytes - a.parameterBytes;
}

bool Reach::isAllowed(PipeDreamStage stage, int behind) const {
  if (stageSeconds(cuts, model, stage) > limit || stageTransferSeconds(cuts, model, stage) > limit)
    return false;
  if (!model.memoryBytes)
    return true;
  // Weights and activations once for each mini-batch in flight: those of the devices behind, per replica. The
  // original has none for the last stage; its weights need memory, too.
  return stageBytes(stage.from, stage.to) * std::max(1, (behind + stage.replicas - 1) / stage.replicas) <=
         *model.memoryBytes;
}

/// From two on: more are faster. (Of r the seconds are (c + s)/r - s/r^2 with s = 4w/B: as a function of 1/r a
/// parabola whose peak is at 1/r >= 1/2.)
/// So the fewest are where it falls below the limit T, the larger root of T r^2 - (c + s) r + s, but for rounding.
int Reach::fewestReplicas(int from, int to) const {
  double compute = cuts.costs[to].computeSeconds - cuts.costs[from].computeSeconds;
  double reduce =
      4 * (cuts.costs[to].parameterBytes - cuts.costs[from].parameterBytes) / model.bytesPerSecond;
  double sum = compute + reduce, inner = sum * sum - 4 * limit * reduce;
  int replicas = std::max(2, forTransfer[from]);
  if (to + 1 != cuts.sets.size())
    replicas = std::max(replicas, forTransfer[to]);
  if (inner > 0) {
    double root = (sum + std::sqrt(inner)) / (2 * limit) * (1 - 1e-9);
    if (root > most)
      return most + 1;
    replicas = std::max(replicas, static_cast<int>(std::ceil(root)));
  }
  while (replicas <= most && !isAllowed({from, to, replicas}, 0))
    ++replicas;
  return replicas;
}

void Reach::set(int to, int m, Step step) {
  if (m < least || m > most || isReached(to, m))
    return;
  at(to, m) = step;
  reached[static_cast<size_t>(to) * words + m / 64] |= uint64_t{1} << (m % 64);
  leastOf[to] = std::min(leastOf[to], m);
  while (full > least && isReached(to, full - 1))
    --full;
}

void Reach::startAt(int to) {
  for (int m = least; m <= most; ++m)
    if (isAllowed({-1, to, m}, model.devices - m))
      set(to, m, {-1, m});
}

/// Whether a stage on one device would reach `to` with a number of devices that it is not reached with yet.
bool Reach::addsByOne(int from, int to) const {
  const uint64_t *a = reachedBy(from), *b = reachedBy(to);
  for (int word = least / 64; word <= (full - 1) / 64; ++word) {
    uint64_t more = (a[word] << 1 | (word ? a[word - 1] >> 63 : 0)) & ~b[word];
    if (word == least / 64)
      more &= ~uint64_t{0} << (least % 64);
    if (word == full / 64)
      more &= (uint64_t{1} << (full % 64)) - 1;
    if (more)
      return true;
  }
  return false;
}

void Reach::extendByOne(int from, int to) {
  if (!isAllowed({from, to, 1}, 0))
    return;
  for (int m = std::max(leastOf[from], least - 1); m < std::min(most, full - 1); ++m)
    if (isReached(from, m))
      set(to, m + 1, {from, 1});
}

/// All numbers from the fewest of several on.
void Reach::extendBySeveral(int from, int to) {
  int begin = leastOf[from], fewest = fewestReplicas(from, to);
  for (int m = full - 1; m >= std::max(least, begin + fewest); --m)
    set(to, m, {from, m - begin});
}

void Reach::extendWithinMemory(int from, int to) {
  // Every number of devices before the stage may be the one that memory leaves.
  effort -= std::min<size_t>(effort, 8);
  int fewest = fewestReplicas(from, to);
  for (int before = leastOf[from]; before < most; ++before) {
    if (!isReached(from, before))
      continue;
    auto reachWith = [&](int replicas) {
      int m = before + replicas;
      if (m >= least && !isReached(to, m) && isAllowed({from, to, replicas}, model.devices - m))
        set(to, m, {from, replicas});
    };
    reachWith(1);
    for (int replicas = std::max(fewest, least - before); before + replicas <= most; ++replicas)
      reachWith(replicas);
  }
}

/// For those that are reached from it.
void Reach::remember(int cut) {
  std::vector<Near> &list = byLeast[leastOf[cut]][forTransfer[cut]];
  double parameters = cuts.costs[cut].parameterBytes;
  double most = list.empty() ? parameters : std::max(parameters, list.back().mostParameterBytes);
  list.push_back({cuts.costs[cut].computeSeconds, parameters, most, cut});
}

/// From cuts that few devices reach first; of those only cuts that are near enough to add something. Nearly
/// all pairs of cuts end in the comparisons of numbers here, before the sets are looked at.
void Reach::extendAll(int to) {
  int toSend = to + 1 == cuts.sets.size() ? 0 : forTransfer[to];
  for (int begin = 1; begin < most && begin + std::max(1, toSend) < full; ++begin)
    for (const auto &[transfer, list] : byLeast[begin]) {
      int replicas = std::max({1, toSend, transfer});
      if (begin + replicas >= full)
        break; // and all that follow need more
      extendFrom(list, to, begin, replicas);
    }
}

/// From cuts that `begin` devices reach, with at least so many replicas. What several replicas reach from one of them,
/// they reach from any that leaves less computation and fewer parameters to the stage: the nearest cuts come first, so
/// that those of no more parameters than a cut that was looked at have nothing to add.
void Reach::extendFrom(const std::vector<Near> &list, int to, int begin, int replicas) {
  double compute = cuts.costs[to].computeSeconds, devicesASecond = (1 - 1e-12) / limit, parameters = -1;
  for (size_t i = list.size(); i-- > 0 && begin + replicas < full;) {
    const Near &near = list[i];
    effort -= std::min<size_t>(effort, 1);
    double share = (compute - near.computeSeconds) * devicesASecond;
    if (effort == 0 || share > full - 1 - begin)
      return; // all that follow are farther
    if (model.memoryBytes) {
      if (stageBytes(near.cut, to) <= *model.memoryBytes && cuts.sets.isSubset(near.cut, to) &&
          near.cut != to)
        extendWithinMemory(near.cut, to);
      continue;
    }
    // One replica, or at least two.
    bool mayBeOne = replicas <= 1 && share <= 1;
    if (!mayBeOne && near.mostParameterBytes <= parameters)
      return;
    bool one = mayBeOne && addsByOne(near.cut, to);
    bool several =
        begin + std::max(2, replicas) < full && begin + share < full && near.parameterBytes > parameters;
    if ((!one && !several) || !cuts.sets.isSubset(near.cut, to))
      continue;
    if (one)
      extendByOne(near.cut, to);
    if (several) {
      extendBySeveral(near.cut, to);
      parameters = near.parameterBytes;
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
    // The stage behind a cut has as many replicas as its computation and the transfer over the cut need.
    most = to == last ? model.devices
                      : model.devices - std::max({1, devicesFor(total - compute), forTransfer[to]});
    if (to == last && !model.fewerDevices)
      least = std::max(least, model.devices);
    if (least > most)
      continue;
    full = most + 1;
    startAt(to);
    extendAll(to);
    if (isGivenUp())
      return std::nullopt;
    if (leastOf[to] != kNone)
      remember(to);
  }
  if (leastOf[last] == kNone)
    return std::nullopt;
  return trace(leastOf[last]);
}

} // namespace

std::optional<PipeDreamPlan> pdc::place::findPipeDreamPlan(const PipeDreamCuts &cuts,
                                                           const PipeDreamModel &model,
                                                           std::optional<double> bound, double effort) {
  std::vector<int> order(cuts.sets.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    double x = cuts.costs[a].computeSeconds, y = cuts.costs[b].computeSeconds;
    return x != y ? x < y : a < b;
  });
  // About a second, and 400 MB; a search for a first plan goes on until it has one.
  constexpr double kMostPairs = 160e6;
  constexpr size_t kMostSteps = 50'000'000;
  if (bound && static_cast<size_t>(cuts.sets.size()) * (model.devices + 1) > kMostSteps)
    return std::nullopt;
  size_t most = static_cast<size_t>(kMostPairs * effort),
         left = bound ? most : std::numeric_limits<size_t>::max();
  auto reach = [&](double limit) { return Reach(cuts, model, order, limit, left).run(); };
  double worst = std::numeric_limits<double>::max();
  std::optional<PipeDreamPlan> best = reach(bound.value_or(worst) * (bound ? 1 + 1e-12 : 1));
  if (!best)
    return std::nullopt;
  left = std::min(left, most);
  double below = cuts.costs.back().computeSeconds / model.devices;
  // Bisection; now and then the question whether the plan that is known is the best one already.
  constexpr double kTolerance = 1e-10;
  for (int misses = 0; below < best->bottleneckSeconds * (1 - kTolerance);) {
    double limit = (below + best->bottleneckSeconds) / 2;
    if (misses == 3)
      limit = best->bottleneckSeconds * (1 - kTolerance);
    std::optional<PipeDreamPlan> plan = reach(limit);
    if (left == 0) {
      best->lowerBoundSeconds = below;
      return best;
    }
    if (plan) {
      best = plan;
      misses = 0;
    } else {
      below = limit;
      ++misses;
    }
  }
  best->lowerBoundSeconds = best->bottleneckSeconds;
  return best;
}
