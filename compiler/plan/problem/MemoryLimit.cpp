//===- MemoryLimit.cpp - the best plan that fits --------------------------===//

#include "compiler/plan/problem/MemoryLimit.h"
#include "compiler/plan/problem/Dominance.h"
#include "compiler/plan/problem/ParetoElimination.h"
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
    if (!smallest.isPossible || smallest.total.bytes > limit)
      return overMemory(smallest, fastest);
    bound = fastest.lowerBound;
    keep(smallest.choices);
    bisect(fastest.total, smallest.total);
    for (uint32_t frontSize : {4u, 32u, limits.frontSize, limits.frontSize})
      if (bound < std::min(solution.seconds, limits.usefulSeconds) &&
          !closeGap(std::min(frontSize, limits.frontSize)))
        break;
    bool isExact = bound >= solution.seconds;
    solution.proof = isExact ? Proof::exact : Proof::bound;
    solution.lowerBoundSeconds = std::min(bound, solution.seconds);
    solution.secondsPerByte = price;
    return std::move(solution);
  }

private:
  Solution overMemory(const PricedPlan &smallest, const PricedPlan &fastest) {
    const PricedPlan &best = smallest.isPossible ? smallest : fastest;
    solution.status = SolutionStatus::overMemory;
    solution.proof = smallest.isExact ? Proof::exact : Proof::bound;
    solution.choices = best.choices;
    solution.seconds = best.total.seconds;
    solution.bytes = best.total.bytes;
    return std::move(solution);
  }

  /// Keeps the best plan that fits, after changing single decisions where that is faster and still fits.
  void keep(std::vector<uint32_t> choices) {
    PlanCost cost = evaluate(problem, choices);
    if (cost.bytes > limit || cost.seconds == forbidden)
      return;
    improveWithin(choices, limit - cost.bytes);
    cost = evaluate(problem, choices);
    if (cost.bytes > limit || cost.seconds >= solution.seconds)
      return;
    solution.status = SolutionStatus::found;
    solution.choices = std::move(choices);
    solution.seconds = cost.seconds;
    solution.bytes = cost.bytes;
  }

  void improveWithin(std::vector<uint32_t> &choices, int64_t bytesLeft) const {
    const Pricing bytesOnly{0, true};
    for (int sweep = 0; sweep < 3; ++sweep)
      for (uint32_t node = 0; node < choices.size(); ++node) {
        double least = costBeside(problem, adjacency, {}, node, choices[node], choices);
        for (uint32_t choice : domains[node]) {
          double seconds = costBeside(problem, adjacency, {}, node, choice, choices);
          if (seconds >= least)
            continue;
          auto more =
              static_cast<int64_t>(costBeside(problem, adjacency, bytesOnly, node, choice, choices) -
                                   costBeside(problem, adjacency, bytesOnly, node, choices[node], choices));
          if (more > bytesLeft)
            continue;
          bytesLeft -= more;
          least = seconds;
          choices[node] = choice;
        }
      }
  }

  /// `fast` takes too much memory, `small` fits.
  void bisect(PlanCost fast, PlanCost small) {
    for (int step = 0; step < 40 && fast.seconds < small.seconds; ++step) {
      double tried = (small.seconds - fast.seconds) / static_cast<double>(fast.bytes - small.bytes);
      Pricing pricing{tried};
      PricedPlan plan = searchAtPrice(problem, adjacency, domains, pricing, limits, solution.statistics);
      raiseBound(tried, plan.lowerBound);
      keep(plan.choices);
      if (bound >= limits.usefulSeconds)
        return;
      double both = pricing.cost(fast.seconds, fast.bytes);
      if (pricing.cost(plan.total.seconds, plan.total.bytes) >= both * (1 - 1e-12))
        return;
      (plan.total.bytes > limit ? fast : small) = plan.total;
    }
  }

  void raiseBound(double tried, double pricedBound) {
    double seconds = pricedBound - tried * static_cast<double>(limit);
    if (seconds <= bound && price > 0)
      return;
    bound = std::max(bound, seconds);
    price = tried;
  }

  /// Searches what may be better than the best known plan, with fronts of this size. False if that is not
  /// possible within the limits.
  bool closeGap(uint32_t frontSize) {
    Pricing pricing{price};
    PricedNetworks networks;
    Domains useful = domains;
    buildNetworks(useful, networks);
    // Twice: with less choices bounds are the same, but tables are smaller and more is dominated.
    for (int round = 0;; ++round) {
      EliminationOrder order = orderElimination(networks.priced);
      Elimination priced(networks.priced, order);
      if (order.largestBucket > limits.operations / 4)
        return false;
      std::optional<double> found = priced.run(limits, solution.statistics);
      Marginals marginals(networks.priced, order, priced);
      if (!found || !marginals.run(limits, solution.statistics))
        return false;
      ++solution.statistics.solves;
      double least = *found;
      double usefulQuanta = pricedQuanta(networks.priced, pricing);
      if (std::isinf(least) || least >= usefulQuanta) {
        bound = solution.seconds;
        return true;
      }
      if (round == 1)
        return search(networks, useful, order, priced, marginals, least, frontSize);
      removeUseless(networks.priced, marginals, usefulQuanta - least, useful);
      buildNetworks(useful, networks);
    }
  }

  /// What a plan costs at the price if it is as fast as the best known one and fills the limit: at least that,
  /// and it is of no use. Rounding is on the safe side.
  double pricedQuanta(const CostNetwork &network, const Pricing &pricing) const {
    double cost = pricing.cost(solution.seconds - problem.fixedSeconds, limit - problem.fixedBytes);
    return std::ceil((cost + network.roundingCost) / network.quantum);
  }

  void buildNetworks(Domains &useful, PricedNetworks &networks) const {
    double fastest = solution.seconds - problem.fixedSeconds;
    auto bytes = static_cast<double>(limit - problem.fixedBytes);
    for (int round = 0; round < 4; ++round) {
      networks.seconds = buildNetwork(problem, useful, {}, fastest);
      networks.bytes = buildNetwork(problem, useful, {0, true}, bytes);
      Domains pruned = pruneDominated({&networks.seconds, &networks.bytes}, useful);
      if (pruned == useful)
        break;
      useful = std::move(pruned);
    }
    networks.seconds = buildNetwork(problem, useful, {}, fastest);
    networks.bytes = buildNetwork(problem, useful, {0, true}, bytes);
    networks.priced = buildNetwork(problem, useful, {price}, fastest + price * bytes);
  }

  static void removeUseless(const CostNetwork &network, const Marginals &marginals, double usefulQuanta,
                            Domains &domains) {
    for (uint32_t variable = 0; variable < network.extents.size(); ++variable) {
      std::vector<uint32_t> &domain = domains[network.nodeOf[variable]];
      const std::vector<double> &extra = marginals.ofVariable(variable);
      std::vector<uint32_t> stays;
      for (size_t i = 0; i < extra.size(); ++i)
        if (extra[i] < usefulQuanta)
          stays.push_back(domain[i]);
      domain = std::move(stays);
    }
  }

  bool search(PricedNetworks &networks, const Domains &useful, const EliminationOrder &order,
              const Elimination &priced, const Marginals &marginals, double least, uint32_t frontSize) {
    Pricing pricing{price};
    ParetoLimits pareto;
    pareto.bytes = std::floor(static_cast<double>(limit - problem.fixedBytes) / networks.bytes.quantum);
    pareto.pricedQuanta = pricedQuanta(networks.priced, pricing);
    pareto.frontSize = frontSize;
    ParetoResult found = eliminatePareto(networks, order, priced, marginals, least, pareto, limits);
    if (found.isAborted)
      return false;
    if (!found.choices.empty())
      keep(choicesOfNodes(networks.priced, useful, found.choices));
    // Whatever is better than the best known plan was dropped.
    double dropped = found.droppedBound * networks.priced.quantum - networks.priced.roundingCost +
                     pricing.cost(problem.fixedSeconds, problem.fixedBytes) -
                     price * static_cast<double>(limit);
    bound = std::max(bound, std::min(dropped, solution.seconds));
    return true;
  }

  const Problem &problem;
  const Adjacency &adjacency;
  const Domains &domains;
  const SearchLimits &limits;
  const int64_t limit;
  double bound = 0; // seconds; nothing that fits is faster
  double price = 0; // of the highest bound
  Solution solution;
};
} // namespace

Solution pdc::plan::solveWithMemoryLimit(const Problem &problem, const Adjacency &adjacency,
                                         const Domains &domains, const PricedPlan &fastest,
                                         const SearchLimits &limits, const SolverStatistics &statistics) {
  return MemoryLimitSearch(problem, adjacency, domains, limits, statistics).run(fastest);
}
