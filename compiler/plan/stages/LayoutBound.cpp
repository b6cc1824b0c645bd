//===- LayoutBound.cpp - what no pipeline takes less than -----------------===//

#include "compiler/plan/stages/LayoutBound.h"
#include <algorithm>
#include <numeric>

using namespace pdc;
using namespace pdc::plan;
using cost::Collective;

/// What a cut between parts of a pipeline takes at least, less what it saves at most: the messages that are sent there, and the
/// changes of layout that one layout of all parts would need in their place. Whatever layout a message arrives in, a rank
/// receives its part over a link between stages. A message that several cuts can divide is sent once for all of them, and
/// counts only where it saves more than it takes.
static double leastAtCut(const LayoutTable &layout, const StepUnits &units, const StageLinks &links,
                         const StageLinks::Positions &positions) {
  auto leastSeconds = [&](int64_t bytes, bool isForward) {
    double least = std::numeric_limits<double>::infinity();
    for (const StagePosition &position : positions.kinds)
      if (const cost::GroupShape &link = isForward ? position.before : position.after; link.ranks > 1)
        least = std::min(least, links.messageSeconds(bytes, link));
    return least;
  };
  const place::Downsets &cuts = units.getCuts();
  auto divides = [&](int cut, const UnitMessage &message) {
    return llvm::any_of(message.to, [&](int to) { return cuts.contains(cut, to) != cuts.contains(cut, message.from); });
  };
  std::vector<double> least(cuts.size(), 0); // of each cut
  for (auto [message, arrivals] : llvm::zip(units.getMessages(), layout.arrivals)) {
    std::vector<int> divided;
    for (int cut = 0; cut < cuts.size(); ++cut)
      if (divides(cut, message))
        divided.push_back(cut);
    double own = std::numeric_limits<double>::infinity();
    for (const LayoutTable::Arrival &arrival : arrivals)
      own = std::min(own, leastSeconds(arrival.bytes, message.isForward) - arrival.mostSeconds);
    if (arrivals.empty() || (own > 0 && divided.size() > 1))
      continue;
    for (int cut : divided)
      least[cut] += own;
  }
  // The first cut has nothing before it, and the last one nothing behind.
  return least.size() > 2 ? *std::min_element(least.begin() + 1, least.end() - 1) : 0;
}

/// The least that is done once a step on all stages together: updates, and the reduction of gradients.
static double leastOnce(const LayoutTable &layout, StageLinks &links, const StagePosition &position, double share,
                        int64_t data, std::optional<int64_t> zero) {
  double reduce = 0, scatter = 0, gather = 0;
  for (const LayoutTable::Parameter &parameter : layout.leastParameters) {
    reduce += links.dataSeconds(position, Collective::AllReduce, parameter.gradientBytes);
    scatter += links.dataSeconds(position, Collective::ReduceScatter, parameter.gradientBytes);
    gather += links.dataSeconds(position, Collective::AllGather, parameter.bytes);
  }
  double whole = (1 - share) * layout.leastOnce + reduce;
  double split = (1 / static_cast<double>(data) - share) * layout.leastOnce + gather + (zero == 1 ? reduce : scatter);
  return zero ? (*zero == 0 ? whole : split) : std::min(whole, split);
}

/// However units that follow each other are divided into so many parts, the largest part has no less. Of a graph whose parts
/// need not follow an order, the largest unit.
static double leastLargest(const std::vector<double> &seconds, int64_t parts, bool isChain) {
  double above = *std::max_element(seconds.begin(), seconds.end()); // may be the answer
  double below = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  if (!isChain)
    return above;
  auto needed = [&](double most) {
    int64_t count = 1;
    double part = 0;
    for (double unit : seconds) {
      if (part + unit > most) {
        ++count;
        part = 0;
      }
      part += unit;
    }
    return count;
  };
  if (needed(above) <= parts)
    return above;
  for (int round = 0; round < 40 && below > above * (1 + 1e-6); ++round) { // `above` is too little
    double middle = (above + below) / 2;
    (needed(middle) <= parts ? below : above) = middle;
  }
  return above;
}

namespace {
/// A bound of all layouts and cuts on one kind of place.
class LayoutBound {
public:
  LayoutBound(LayoutTables &tables, StageLinks &links, const StageSetting &setting, const StagePosition &position,
              LayoutTables::Known known)
      : units(tables.getUnits()), links(links), setting(setting), position(position), layout(*known.table), known(known),
        stages(static_cast<double>(setting.stages)),
        atCut(setting.stages > 1 ? leastAtCut(layout, tables.getUnits(), links,
                                              links.alike(setting.stages, {setting.data, setting.tensor}))
                                 : 0) {
    if (known.share < 1) // messages of fewer samples take less
      atCut = std::min(atCut, 0.0);
  }

  /// k X + e Y for the seconds X of a micro-batch and Y of what is done once, of which the tables know a bound of w X + Y
  /// (docs/planning.md).
  double seconds(const StageSchedule &schedule, std::optional<int64_t> zero) const {
    auto microBatches = static_cast<double>(setting.microBatches), chunks = static_cast<double>(schedule.chunks);
    bool fillsGaps = setting.stages > 1 && schedule.name == "zb-h1";
    double often = fillsGaps ? microBatches : microBatches + (stages - 1) / chunks;
    double share = often / LayoutTable::kWeight;
    double cuts = (stages * chunks - 1) * atCut;
    double least = known.share * layout.boundSeconds + (1 - known.share) * layout.leastOnce; // of w X + Y
    double all = share * (least + LayoutTable::kWeight * cuts) +
                 leastOnce(layout, links, position, share, setting.data, zero);
    if (fillsGaps)
      all += (stages - 1) * known.share * std::accumulate(layout.leastForward.begin(), layout.leastForward.end(), 0.0);
    return std::max(all / stages, known.share * largestPart(schedule, fillsGaps));
  }

private:
  /// Some part is the largest, and a micro-batch passes the others meanwhile.
  double largestPart(const StageSchedule &schedule, bool fillsGaps) const {
    auto microBatches = static_cast<double>(setting.microBatches), chunks = static_cast<double>(schedule.chunks);
    const std::vector<double> &passes = fillsGaps ? layout.leastForward : layout.leastMicroBatch;
    double pass = std::accumulate(passes.begin(), passes.end(), 0.0), largest = 0;
    if (!fillsGaps) {
      bool isChain = units.getCuts().size() == units.size() + 1;
      largest = leastLargest(layout.leastMicroBatch, setting.stages * schedule.chunks, isChain);
      return pass / chunks + (chunks * microBatches - 1) * largest;
    }
    for (auto [unit, all] : llvm::enumerate(layout.leastMicroBatch))
      largest = std::max(largest, microBatches * all - passes[unit]);
    return pass + largest;
  }

  const StepUnits &units;
  StageLinks &links;
  const StageSetting &setting;
  const StagePosition &position;
  const LayoutTable &layout;
  const LayoutTables::Known known;
  const double stages;
  double atCut;
};
} // namespace

double plan::boundOfAllLayouts(LayoutTables &tables, StageLinks &links, const StageSetting &setting,
                               std::optional<int64_t> zero, const std::vector<StageSchedule> &schedules, bool isExact) {
  double best = std::numeric_limits<double>::infinity();
  for (const StagePosition &position : links.alike(setting.stages, {setting.data, setting.tensor}).kinds) {
    int64_t samples = setting.samples(tables.getBatch(), setting.data);
    LayoutTables::Known known{nullptr, 1};
    if (isExact)
      known.table = tables.find(setting.tensor, samples, position.device);
    else if (auto found = tables.findKnown(setting.tensor, samples, position.device))
      known = *found;
    else
      return 0;
    if (!known.table)
      return std::numeric_limits<double>::infinity();
    LayoutBound bound(tables, links, setting, position, known);
    for (const StageSchedule &schedule : schedules)
      best = std::min(best, bound.seconds(schedule, zero));
  }
  return best;
}
