//===- StageSolver.cpp - the best stages, by dynamic programming ----------===//

#include "compiler/plan/stages/StageProblem.h"
#include <algorithm>
#include <cassert>

using namespace pdc::plan;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class StageSolver {
public:
  StageSolver(const StageProblem &problem, double usefulSeconds)
      : problem(problem), cuts(static_cast<uint32_t>(problem.larger.size())),
        usefulSeconds(usefulSeconds) {}

  StagePlan run() {
    makeTables();
    // The least that the slowest stage of any plan takes beyond what passes it.
    std::optional<Path> fastest = leastOf(Sum::mostWork, kNever);
    if (!fastest)
      return closestToMemory();
    double least = mostWork(*fastest);
    Path lightest = *leastOf(Sum::passes, kNever);
    plan.lowerBoundSeconds = sumOf(lightest) + least;
    if (plan.lowerBoundSeconds >= usefulSeconds)
      return plan;
    take(lightest);
    take(*leastOf(Sum::passes, least));
    searchBetween(least, sumOf(lightest));
    plan.lowerBoundSeconds = plan.seconds;
    if (plan.status != StageStatus::found)
      plan.lowerBoundSeconds = usefulSeconds;
    return plan;
  }

private:
  using Path = std::vector<PlannedStage>;
  /// What is least over a plan's stages: the sum of c, the largest w, or the most bytes.
  enum class Sum { passes, mostWork, mostBytes };

  static double mostWork(const Path &path) {
    double most = 0;
    for (const PlannedStage &stage : path)
      most = std::max(most, stage.cost.workSeconds);
    return most;
  }
  static double sumOf(const Path &path) {
    double sum = 0;
    for (const PlannedStage &stage : path)
      sum += stage.cost.passSeconds;
    return sum;
  }

  void makeTables() {
    costs.resize(problem.tables);
    for (uint32_t table = 0; table < problem.tables; ++table)
      for (uint32_t from = 0; from < cuts; ++from) {
        costs[table].emplace_back();
        for (uint32_t to : problem.larger[from])
          costs[table].back().push_back(problem.cost(from, to, table));
      }
  }

  /// How far plans are after some stages: what is least for each cut and number of ranks taken.
  struct Front {
    struct State {
      double value = kNever;
      uint32_t from = 0, option = 0;
    };
    int64_t leastRanks, rankCounts; // that so many stages can take
    std::vector<State> states;

    Front(uint32_t stages, uint32_t cuts, int64_t least, int64_t most)
        : leastRanks(stages * least), rankCounts(stages * (most - least) + 1), states(cuts * rankCounts) {}
    State &at(uint32_t cut, int64_t ranks) { return states[cut * rankCounts + (ranks - leastRanks)]; }
  };

  /// The plan of which `what` is least, of those whose stages have at most `bound` of work.
  std::optional<Path> leastOf(Sum what, double bound) const {
    if (problem.optionRanks.empty())
      return std::nullopt;
    auto [least, most] = std::minmax_element(problem.optionRanks.begin(), problem.optionRanks.end());
    std::vector<Front> fronts;
    for (uint32_t s = 0; s <= problem.stages(); ++s)
      fronts.emplace_back(s, cuts, *least, *most);
    const Front &end = fronts.back();
    if (problem.ranks < end.leastRanks || problem.ranks >= end.leastRanks + end.rankCounts)
      return std::nullopt;
    fronts.front().at(0, 0).value = 0;
    for (uint32_t s = 0; s < problem.stages(); ++s)
      for (uint32_t cut = 0; cut < cuts; ++cut)
        for (int64_t i = 0; i < fronts[s].rankCounts; ++i)
          extend(fronts, s, cut, fronts[s].leastRanks + i, what, bound);
    if (fronts.back().at(cuts - 1, problem.ranks).value == kNever)
      return std::nullopt;
    return pathTo(fronts);
  }

  /// Plans of `s` stages up to a cut on some ranks, with one stage more.
  void extend(std::vector<Front> &fronts, uint32_t s, uint32_t cut, int64_t ranks, Sum what, double bound) const {
    double before = fronts[s].at(cut, ranks).value;
    if (before == kNever)
      return;
    const std::vector<uint32_t> &larger = problem.larger[cut];
    bool isLast = s + 1 == problem.stages();
    for (uint32_t option = 0; option < problem.optionRanks.size(); ++option) {
      int64_t next = ranks + problem.optionRanks[option];
      if (next > problem.ranks || (isLast && next != problem.ranks))
        continue;
      const std::vector<StageCost> &table = costs[problem.tableOf(option, ranks)][cut];
      for (size_t i = isLast && !larger.empty() ? larger.size() - 1 : 0; i < larger.size(); ++i) {
        double value = valueOf(what, before, table[i], s, bound);
        Front::State &other = fronts[s + 1].at(larger[i], next);
        if (value < other.value)
          other = {value, cut, option};
      }
    }
  }

  Path pathTo(std::vector<Front> &fronts) const {
    Path path(problem.stages());
    uint32_t to = cuts - 1;
    int64_t ranks = problem.ranks;
    for (uint32_t s = problem.stages(); s-- > 0;) {
      const Front::State &state = fronts[s + 1].at(to, ranks);
      ranks -= problem.optionRanks[state.option];
      const std::vector<uint32_t> &larger = problem.larger[state.from];
      size_t i = std::lower_bound(larger.begin(), larger.end(), to) - larger.begin();
      path[s] = {state.from, to, state.option, ranks,
                 costs[problem.tableOf(state.option, ranks)][state.from][i]};
      to = state.from;
    }
    return path;
  }

  /// Of the stages so far with one more; infinite where it may not be.
  double valueOf(Sum what, double before, const StageCost &cost, uint32_t stage, double bound) const {
    int64_t bytes = stageBytes(cost, problem.inFlight[stage]);
    if (what == Sum::mostBytes)
      return std::max(before, static_cast<double>(bytes));
    if (cost.workSeconds > bound || (problem.memoryLimitBytes && bytes > *problem.memoryLimitBytes))
      return kNever;
    return what == Sum::passes ? before + cost.passSeconds : std::max(before, cost.workSeconds);
  }

  StagePlan closestToMemory() {
    plan.lowerBoundSeconds = kNever;
    if (std::optional<Path> closest = leastOf(Sum::mostBytes, kNever)) {
      plan.status = StageStatus::overMemory;
      plan.stages = std::move(*closest);
      plan.seconds = stepSeconds(plan.stages);
    }
    return plan;
  }

  void take(const Path &path) {
    double seconds = stepSeconds(path);
    if (seconds >= std::min(plan.seconds, usefulSeconds))
      return;
    plan.status = StageStatus::found;
    plan.stages = path;
    plan.seconds = seconds;
  }

  /// Plans whose largest w is above `least`, which is the least there is; `sum` is the least sum of c. For a bound b the
  /// least sum f(b) of plans with w at most b grows as b falls; a plan with its largest w in (a, b] takes at least f(b) plus
  /// the next w above a. Halves of the range for which that is no better than the best known plan are left out, so that in
  /// the end all of it is.
  void searchBetween(double least, double sum) {
    std::vector<double> works = worksBetween(least, std::min(plan.seconds, usefulSeconds) - sum);
    struct Range {
      size_t begin, end; // plans whose largest w is one of these
      double sum;        // the least of plans with w at most the last of these
    };
    std::vector<Range> open{{0, works.size(), sum}};
    while (!open.empty()) {
      Range range = open.back();
      open.pop_back();
      if (range.begin == range.end ||
          range.sum + works[range.begin] >= std::min(plan.seconds, usefulSeconds) * (1 - 1e-12))
        continue;
      size_t middle = (range.begin + range.end - 1) / 2;
      std::optional<Path> path = leastOf(Sum::passes, works[middle]);
      open.push_back({middle + 1, range.end, range.sum});
      if (!path)
        continue;
      take(*path);
      // Those from the largest w of this plan on take no less than it does.
      size_t end = std::lower_bound(works.begin(), works.end(), mostWork(*path)) - works.begin();
      open.push_back({range.begin, std::min(end, middle), sumOf(*path)});
    }
  }

  /// What can be the largest w of a plan, in order.
  std::vector<double> worksBetween(double above, double below) const {
    std::vector<double> works;
    for (const auto &table : costs)
      for (const auto &row : table)
        for (const StageCost &cost : row)
          if (cost.workSeconds > above && cost.workSeconds < below)
            works.push_back(cost.workSeconds);
    std::sort(works.begin(), works.end());
    works.erase(std::unique(works.begin(), works.end()), works.end());
    return works;
  }

  const StageProblem &problem;
  uint32_t cuts;
  double usefulSeconds;
  std::vector<std::vector<std::vector<StageCost>>> costs; // per table, cut, and cut that holds it
  StagePlan plan;
};

} // namespace

StagePlan pdc::plan::planStages(const StageProblem &problem, double usefulSeconds) {
  StagePlan plan = StageSolver(problem, usefulSeconds).run();
  assert(verifyStagePlan(problem, plan).empty());
  return plan;
}
