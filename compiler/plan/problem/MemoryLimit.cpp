//===- MemoryLimit.cpp - the best plan that fits --------------------------===//

#include "compiler/plan/problem/MemoryLimit.h"
#include <algorithm>
#include <cmath>

using namespace pdc::plan;

namespace {
class MemoryLimitSearch {
public:
  MemoryLimitSearch(const Problem &problem, const Adjacency &adjacency, const Domains &domains,
                    const SearchLimits &limits, const SolverStatistics &statistics)
      : problem(problem), adjacency(adjacency), domains(domains), limits(limits),
        limit(*problem.memoryLimitBytes) {
    solution.statistics = statistics;
  }

  Solution run(const PricedPlan &fastest) {
    PricedPlan smallest = searchAtPrice(problem, adjacency, domains, {0, true}, limits, solution.statistics);
    solution.lowerBoundBytes = static_cast<int64_t>(std::ceil(smallest.lowerBound - 0.5));
    if (smallest.total.bytes > limit)
      return overMemory(smallest);
    solution.lowerBoundSeconds = fastest.lowerBound;
    keep(smallest.total, smallest.choices);
    bisect(fastest.total, smallest.total);
    solution.proof = Proof::bound;
    return std::move(solution);
  }

private:
  Solution overMemory(PricedPlan &smallest) {
    solution.status = SolutionStatus::overMemory;
    solution.proof = smallest.isExact ? Proof::exact : Proof::bound;
    solution.choices = std::move(smallest.choices);
    solution.seconds = smallest.total.seconds;
    solution.bytes = smallest.total.bytes;
    return std::move(solution);
  }

  /// Keeps the best plan that fits.
  void keep(const PlanCost &cost, const std::vector<uint32_t> &choices) {
    if (cost.bytes > limit || cost.seconds >= solution.seconds)
      return;
    solution.status = SolutionStatus::found;
    solution.choices = choices;
    solution.seconds = cost.seconds;
    solution.bytes = cost.bytes;
  }

  /// `fast` takes too much memory, `small` fits.
  void bisect(PlanCost fast, PlanCost small) {
    for (int step = 0; step < 40 && fast.seconds < small.seconds; ++step) {
      double price = (small.seconds - fast.seconds) / static_cast<double>(fast.bytes - small.bytes);
      Pricing pricing{price};
      PricedPlan plan = searchAtPrice(problem, adjacency, domains, pricing, limits, solution.statistics);
      double bound = plan.lowerBound - price * static_cast<double>(limit);
      solution.lowerBoundSeconds = std::max(solution.lowerBoundSeconds, bound);
      keep(plan.total, plan.choices);
      double cost = pricing.cost(plan.total.seconds, plan.total.bytes);
      double both = pricing.cost(fast.seconds, fast.bytes);
      if (cost >= both * (1 - 1e-12))
        return;
      (plan.total.bytes > limit ? fast : small) = plan.total;
    }
  }

  const Problem &problem;
  const Adjacency &adjacency;
  const Domains &domains;
  const SearchLimits &limits;
  const int64_t limit;
  Solution solution;
};
} // namespace

Solution pdc::plan::solveWithMemoryLimit(const Problem &problem, const Adjacency &adjacency,
                                         const Domains &domains, const PricedPlan &fastest,
                                         const SearchLimits &limits, const SolverStatistics &statistics) {
  return MemoryLimitSearch(problem, adjacency, domains, limits, statistics).run(fastest);
}
