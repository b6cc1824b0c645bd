//===- StageBruteForce.cpp - every plan of a few stages -------------------===//

#include "compiler/plan/stages/StageProblem.h"
#include <algorithm>

using namespace pdc::plan;

namespace {
class Enumeration {
public:
  explicit Enumeration(const StageProblem &problem) : problem(problem) {}

  StagePlan run() {
    extend(0, 0);
    best.lowerBoundSeconds = best.status == StageStatus::found ? best.seconds : 0;
    return best;
  }

private:
  void extend(uint32_t cut, int64_t rank) {
    if (stages.size() == problem.stages()) {
      if (cut + 1 == problem.larger.size() && rank == problem.ranks)
        consider();
      return;
    }
    for (uint32_t to : problem.larger[cut])
      for (uint32_t option = 0; option < problem.optionRanks.size(); ++option) {
        if (rank + problem.optionRanks[option] > problem.ranks)
          continue;
        stages.push_back({cut, to, option, rank, problem.cost(cut, to, problem.tableOf(option, rank))});
        extend(to, rank + problem.optionRanks[option]);
        stages.pop_back();
      }
  }

  void consider() {
    int64_t most = 0;
    for (size_t s = 0; s < stages.size(); ++s)
      most = std::max(most, stageBytes(stages[s].cost, problem.inFlight[s]));
    bool fits = !problem.memoryLimitBytes || most <= *problem.memoryLimitBytes;
    double seconds = stepSeconds(stages);
    StageStatus status = fits ? StageStatus::found : StageStatus::overMemory;
    bool better = status < best.status ||
                  (status == best.status && (fits ? seconds < best.seconds : most < bestBytes));
    if (!better)
      return;
    best.status = status;
    best.stages = stages;
    best.seconds = seconds;
    bestBytes = most;
  }

  const StageProblem &problem;
  std::vector<PlannedStage> stages;
  StagePlan best;
  int64_t bestBytes = 0;
};
} // namespace

StagePlan pdc::plan::planStagesByBruteForce(const StageProblem &problem) { return Enumeration(problem).run(); }
