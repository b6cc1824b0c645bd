//===- StageProblem.cpp - where to cut a model into stages, in numbers ----===//

#include "compiler/plan/stages/StageProblem.h"
#include <algorithm>
#include <cmath>

using namespace pdc::plan;

double pdc::plan::stepSeconds(const std::vector<PlannedStage> &stages) {
  double sum = 0, slowest = 0;
  for (const PlannedStage &stage : stages) {
    sum += stage.cost.passSeconds;
    slowest = std::max(slowest, stage.cost.workSeconds);
  }
  return sum + slowest;
}

int64_t pdc::plan::stageBytes(const StageCost &cost, int64_t inFlight) {
  return cost.bytes + inFlight * cost.bytesInFlight;
}

std::string pdc::plan::checkStageProblem(const StageProblem &problem) {
  if (problem.ranks < 1 || problem.inFlight.empty())
    return "expected at least one rank and one stage";
  if (problem.larger.size() < 2)
    return "expected two cuts, nothing and everything, and those between them";
  for (uint32_t cut = 0; cut < problem.larger.size(); ++cut)
    for (uint32_t other : problem.larger[cut])
      if (other <= cut || other >= problem.larger.size())
        return "cut " + std::to_string(other) + " cannot hold cut " + std::to_string(cut) +
               ": a cut has a smaller number than those that hold it";
  for (int64_t ranks : problem.optionRanks)
    if (ranks < 1)
      return "an option has " + std::to_string(ranks) + " ranks, expected at least one";
  return "";
}

std::string pdc::plan::verifyStagePlan(const StageProblem &problem, const StagePlan &plan) {
  if (plan.status == StageStatus::impossible)
    return "";
  if (plan.stages.size() != problem.stages())
    return std::to_string(plan.stages.size()) + " stages, expected " + std::to_string(problem.stages());
  uint32_t cut = 0;
  int64_t rank = 0;
  bool fits = true;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const PlannedStage &stage = plan.stages[s];
    const std::vector<uint32_t> &larger = problem.larger[cut];
    if (stage.from != cut || std::find(larger.begin(), larger.end(), stage.to) == larger.end())
      return "stage " + std::to_string(s) + " does not go on where the one before ends";
    if (stage.firstRank != rank)
      return "stage " + std::to_string(s) + " begins at rank " + std::to_string(stage.firstRank) + ", expected " +
             std::to_string(rank);
    cut = stage.to;
    rank += problem.optionRanks[stage.option];
    if (problem.memoryLimitBytes)
      fits &= stageBytes(stage.cost, problem.inFlight[s]) <= *problem.memoryLimitBytes;
  }
  if (cut + 1 != problem.larger.size() || rank != problem.ranks)
    return "the stages leave a part of the model, or ranks, unused";
  if (fits != (plan.status == StageStatus::found))
    return "the status does not tell whether the stages fit into memory";
  double seconds = stepSeconds(plan.stages);
  if (std::abs(seconds - plan.seconds) > 1e-9 * seconds)
    return "the stages take " + std::to_string(seconds) + " s, not " + std::to_string(plan.seconds) + " s";
  if (plan.status == StageStatus::found && plan.lowerBoundSeconds > plan.seconds * (1 + 1e-9))
    return "the lower bound is above the plan";
  return "";
}
