//===- Solver.cpp - searches for the best plan ----------------------------===//

#include "compiler/plan/problem/Solver.h"
#include "compiler/plan/problem/PricedSearch.h"

using namespace pdc::plan;

static double countPlans(const Domains &domains) {
  double plans = 1;
  for (const std::vector<uint32_t> &domain : domains)
    plans *= static_cast<double>(domain.size());
  return plans;
}

Solution pdc::plan::solveWithoutLimit(const Problem &problem, const SearchLimits &limits) {
  Solution solution;
  Domains domains = allowedChoices(problem);
  solution.statistics.plansConsidered = countPlans(domains);
  for (const std::vector<uint32_t> &domain : domains)
    solution.statistics.choicesBeforePruning += domain.size();
  if (hasEmptyDomain(domains)) {
    solution.proof = Proof::exact;
    return solution;
  }
  Adjacency adjacency(problem);
  PricedPlan plan = searchAtPrice(problem, adjacency, domains, {}, limits, solution.statistics);
  solution.proof = plan.isExact ? Proof::exact : Proof::bound;
  if (!plan.isPossible)
    return solution;
  bool isOver = problem.memoryLimitBytes && plan.total.bytes > *problem.memoryLimitBytes;
  solution.status = isOver ? SolutionStatus::overMemory : SolutionStatus::found;
  if (isOver)
    solution.proof = Proof::bound;
  solution.choices = std::move(plan.choices);
  solution.seconds = plan.total.seconds;
  solution.bytes = plan.total.bytes;
  solution.lowerBoundSeconds = plan.isExact ? solution.seconds : std::min(plan.lowerBound, solution.seconds);
  return solution;
}

Solution pdc::plan::solve(const Problem &problem, const SearchLimits &limits) {
  Solution solution = solveWithoutLimit(problem, limits);
  bool isUseful = solution.lowerBoundSeconds < limits.usefulSeconds;
  if (solution.status != SolutionStatus::overMemory || !isUseful)
    return solution;
  solution = solveAtPrices(problem, solution, solution, limits);
  return solution.status == SolutionStatus::found ? closeGap(problem, solution, limits) : solution;
}
