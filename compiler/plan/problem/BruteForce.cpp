//===- BruteForce.cpp - every plan, one after the other -------------------===//

#include "compiler/plan/problem/BruteForce.h"
#include "compiler/plan/problem/Domains.h"

using namespace pdc::plan;

namespace {
/// The best plan within the limit, and the one of least memory.
struct BestPlans {
  Solution fits, smallest;

  void consider(const Problem &problem, const std::vector<uint32_t> &choices) {
    PlanCost cost = evaluate(problem, choices);
    if (cost.seconds == forbidden)
      return;
    bool isWithin = !problem.memoryLimitBytes || cost.bytes <= *problem.memoryLimitBytes;
    if (isWithin && cost.seconds < fits.seconds)
      take(fits, SolutionStatus::found, choices, cost);
    bool isFirst = smallest.status == SolutionStatus::impossible;
    if (isFirst || cost.bytes < smallest.bytes ||
        (cost.bytes == smallest.bytes && cost.seconds < smallest.seconds))
      take(smallest, SolutionStatus::overMemory, choices, cost);
  }

  static void take(Solution &best, SolutionStatus status, const std::vector<uint32_t> &choices,
                   PlanCost cost) {
    best.status = status;
    best.choices = choices;
    best.seconds = cost.seconds;
    best.bytes = cost.bytes;
  }
};

/// The next plan, or false after the last.
bool advance(const Domains &domains, std::vector<uint32_t> &digits, std::vector<uint32_t> &choices) {
  for (size_t node = 0; node < digits.size(); ++node) {
    bool wraps = ++digits[node] == domains[node].size();
    if (wraps)
      digits[node] = 0;
    choices[node] = domains[node][digits[node]];
    if (!wraps)
      return true;
  }
  return false;
}
} // namespace

Solution pdc::plan::solveByBruteForce(const Problem &problem) {
  Domains domains = allowedChoices(problem);
  BestPlans best;
  uint64_t plans = 0;
  if (!hasEmptyDomain(domains)) {
    std::vector<uint32_t> digits(domains.size(), 0), choices;
    for (const std::vector<uint32_t> &domain : domains)
      choices.push_back(domain[0]);
    do {
      best.consider(problem, choices);
      ++plans;
    } while (advance(domains, digits, choices));
  }
  Solution solution = best.fits.status == SolutionStatus::found ? best.fits : best.smallest;
  solution.proof = Proof::exact;
  solution.lowerBoundSeconds = solution.status == SolutionStatus::found ? solution.seconds : 0;
  solution.lowerBoundBytes = best.smallest.bytes;
  solution.statistics.searchNodes = plans;
  solution.statistics.plansConsidered = static_cast<double>(plans);
  return solution;
}
