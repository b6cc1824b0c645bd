//===- StageProblem.h - where to cut a model into stages, in numbers -*- C++ -*-===//
//
// The stages of a pipeline are a chain of cuts, nothing = c0 < c1 < ... < cp = everything; stage s does what lies between
// cs and cs+1, on ranks of its own. A cut is known by its number only, so branches are cut as chains are (Downsets.h in
// compiler/place). A step takes
//
//     sum over stages of c + max over stages of w
//
// A micro-batch passes all stages, which takes c seconds on each; then the slowest stage is never idle and has w seconds
// left to work. Of m micro-batches that take t seconds each, forward and backward, and o seconds of work once a step,
// w = m t - c + o. Under 1F1B c = t (Zheng et al. 2022, "Alpa", section 5, where o = 0).
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLAN_STAGES_STAGEPROBLEM_H
#define PDC_COMPILER_PLAN_STAGES_STAGEPROBLEM_H

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace pdc::plan {

/// What lies between two cuts, on the ranks of one stage.
struct StageCost {
  double passSeconds = 0;    // c
  double workSeconds = 0;    // w
  int64_t bytes = 0;         // of a rank, whatever is in flight
  int64_t bytesInFlight = 0; // of a rank, for each micro-batch in flight
};

struct StageProblem {
  int64_t ranks = 1;             // that the stages use, all of them
  std::vector<int64_t> inFlight; // per stage, of how many micro-batches it holds the activations
  std::optional<int64_t> memoryLimitBytes; // of a rank

  /// Per cut those that hold all of it and more. The first cut is nothing, the last everything; a cut has a smaller number
  /// than those that hold it.
  std::vector<std::vector<uint32_t>> larger;
  std::vector<int64_t> optionRanks; // ways to run a stage: the ranks of each
  /// Costs depend on where a stage's ranks lie only as far as this table number does.
  std::function<uint32_t(uint32_t option, int64_t firstRank)> tableOf;
  uint32_t tables = 0;
  std::function<StageCost(uint32_t from, uint32_t to, uint32_t table)> cost;

  uint32_t stages() const { return static_cast<uint32_t>(inFlight.size()); }
};

struct PlannedStage {
  uint32_t from = 0, to = 0; // cuts
  uint32_t option = 0;
  int64_t firstRank = 0;
  StageCost cost;
  bool operator==(const PlannedStage &other) const {
    return from == other.from && to == other.to && option == other.option && firstRank == other.firstRank;
  }
};

enum class StageStatus {
  found,
  overMemory, // nothing fits; `stages` is what lacks least on the stage that lacks most
  impossible, // no chain of so many cuts, or no options with so many ranks
};

struct StagePlan {
  StageStatus status = StageStatus::impossible;
  std::vector<PlannedStage> stages;
  double seconds = std::numeric_limits<double>::infinity(); // stepSeconds()
  double lowerBoundSeconds = 0;                             // no plan of the problem takes less
};

/// The formula above.
double stepSeconds(const std::vector<PlannedStage> &stages);
/// What a stage holds of `inFlight` micro-batches.
int64_t stageBytes(const StageCost &cost, int64_t inFlight);

/// What is wrong with a problem; empty if nothing is.
std::string checkStageProblem(const StageProblem &problem);
/// What is wrong with a plan: stages that do not follow each other, ranks that are not all used, sums that are others.
std::string verifyStagePlan(const StageProblem &problem, const StagePlan &plan);

/// The best plan. Exact: dynamic programming over stages, cuts and ranks gives the least sum of c of plans whose largest w is
/// at most some bound; bounds between which nothing better can lie are left out. Only a plan that takes
/// less than `usefulSeconds` is of use: if there is none, the status may be `impossible`, with a lower bound.
StagePlan planStages(const StageProblem &problem,
                     double usefulSeconds = std::numeric_limits<double>::infinity());

/// Every plan; for tests.
StagePlan planStagesByBruteForce(const StageProblem &problem);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGES_STAGEPROBLEM_H
