//===- PricedSearch.cpp - the best plan at a price of memory --------------===//

#include "compiler/plan/problem/PricedSearch.h"
#include "compiler/plan/problem/BranchAndBound.h"
#include "compiler/plan/problem/Elimination.h"
#include "compiler/plan/problem/TreeBounds.h"
#include <algorithm>
#include <cmath>

using namespace pdc::plan;

std::vector<uint32_t> pdc::plan::choicesOfNodes(const CostNetwork &network, const Domains &domains,
                                                const std::vector<uint32_t> &ofVariables) {
  std::vector<uint32_t> choices;
  for (const std::vector<uint32_t> &domain : domains)
    choices.push_back(domain[0]);
  for (uint32_t variable = 0; variable < ofVariables.size(); ++variable) {
    uint32_t node = network.nodeOf[variable];
    choices[node] = domains[node][ofVariables[variable]];
  }
  return choices;
}

static void take(PricedPlan &plan, const Problem &problem, std::vector<uint32_t> choices) {
  plan.total = evaluate(problem, choices);
  plan.isPossible = plan.total.seconds != forbidden;
  plan.choices = std::move(choices);
}

CostNetwork pdc::plan::buildPrunedNetwork(const Problem &problem, Domains &domains, const Pricing &pricing,
                                          double planCost, SolverStatistics &statistics,
                                          const TakenChoices &taken) {
  CostNetwork network = buildNetwork(problem, domains, pricing, planCost);
  // Less choices dominate more; the later rounds find little.
  for (int round = 0; round < 4; ++round) {
    Domains pruned = pruneDominated({&network}, domains, taken);
    if (pruned == domains)
      break;
    domains = std::move(pruned);
    network = buildNetwork(problem, domains, pricing, planCost);
  }
  statistics.choicesAfterPruning = 0;
  for (const std::vector<uint32_t> &domain : domains)
    statistics.choicesAfterPruning += domain.size();
  return network;
}

/// Where the exact search is too wide: narrower and narrower tables until they fit, then branch and bound.
/// Leaves the bound in quanta.
static void searchBounds(const Problem &problem, const Adjacency &adjacency, CostNetwork &network,
                         const EliminationOrder &order, const Domains &domains, const Pricing &pricing,
                         const SearchLimits &limits, SolverStatistics &statistics, PricedPlan &plan) {
  plan.lowerBound = network.constant;
  for (double entries = std::min(limits.operations / 100, limits.tableEntries / 4); entries >= 1;
       entries /= 8) {
    EliminationOrder narrow = splitWideSteps(network, order, entries);
    Elimination bounds(network, narrow);
    std::optional<double> least;
    if (narrow.largestBucket <= limits.operations / 4)
      least = bounds.run(limits, statistics);
    if (!least)
      continue;
    if (std::isinf(*least)) { // not even the relaxed problem has a plan
      plan.isExact = true;
      return;
    }
    double planCost = plan.isPossible ? pricing.cost(plan.total.seconds - problem.fixedSeconds,
                                                     plan.total.bytes - problem.fixedBytes) /
                                                network.quantum +
                                            1
                                      : forbidden;
    BranchAndBoundResult found =
        branchAndBound(network, narrow, bounds, *least, planCost, limits, statistics);
    plan.isExact = found.isComplete;
    plan.lowerBound = found.isComplete ? std::min(found.lowerBound, planCost) : found.lowerBound;
    if (found.choices.empty())
      return;
    std::vector<uint32_t> choices = choicesOfNodes(network, domains, found.choices);
    descend(problem, adjacency, domains, pricing, choices);
    double before = pricing.cost(plan.total.seconds, plan.total.bytes);
    PlanCost after = evaluate(problem, choices);
    if (!plan.isPossible || pricing.cost(after.seconds, after.bytes) < before)
      take(plan, problem, std::move(choices));
    return;
  }
}

namespace {
/// Where the exact search is too wide: bounds by messages along trees, plans that they lead to, and without the choices
/// that no better plan has.
class Narrowing {
public:
  Narrowing(const Problem &problem, const Adjacency &adjacency, const Domains &allowed, const Pricing &pricing,
            double usefulCost, PricedPlan &plan)
      : problem(problem), adjacency(adjacency), allowed(allowed), pricing(pricing), usefulCost(usefulCost), plan(plan),
        fixedCost(pricing.cost(problem.fixedSeconds, problem.fixedBytes)) {}

  /// Removes useless choices from the domains of the network's variables; false if there are none. A domain may become
  /// empty: then nothing is better than the plan. Raises the bound, a cost with the fixed part.
  bool run(const CostNetwork &network, Domains &domains, double &bound) {
    TreeBounds messages(network);
    double quanta = 0, before = 0;
    for (int sweep = 1; sweep <= mostSweeps; ++sweep) {
      quanta = messages.sweep();
      if (sweep % sweepsBetweenPlans != 0)
        continue;
      improve(choicesOfNodes(network, domains, messages.decode()));
      if (quanta >= planQuanta(network) || quanta - before < leastProgress * quanta)
        break;
      before = quanta;
    }
    bound = std::max(bound, quanta * network.quantum - network.roundingCost + fixedCost);
    return remove(network, messages, quanta, domains);
  }

private:
  static constexpr int mostSweeps = 400, sweepsBetweenPlans = 10;
  static constexpr double leastProgress = 1e-4; // of the bound, from one plan to the next

  void improve(std::vector<uint32_t> choices) {
    descend(problem, adjacency, allowed, pricing, choices);
    PlanCost cost = evaluate(problem, choices);
    if (!plan.isPossible || pricing.cost(cost.seconds, cost.bytes) <
                                pricing.cost(plan.total.seconds, plan.total.bytes))
      take(plan, problem, std::move(choices));
  }

  /// At least what the plan costs in the network, or a plan from where on it is of no use.
  double planQuanta(const CostNetwork &network) const {
    double cost = plan.isPossible ? pricing.cost(plan.total.seconds, plan.total.bytes) : forbidden;
    cost = std::min(cost, usefulCost);
    return cost == forbidden ? cost : (cost - fixedCost + network.roundingCost) / network.quantum + 1;
  }

  bool remove(const CostNetwork &network, const TreeBounds &messages, double quanta, Domains &domains) const {
    double useless = planQuanta(network);
    bool hasRemoved = false;
    for (uint32_t variable = 0; variable < network.extents.size(); ++variable) {
      std::vector<uint32_t> &domain = domains[network.nodeOf[variable]], stays;
      std::vector<double> extra = messages.aboveBound(variable);
      for (size_t i = 0; i < domain.size(); ++i)
        if (quanta + extra[i] * (1 - TreeBounds::slack) < useless)
          stays.push_back(domain[i]);
      hasRemoved |= stays.size() < domain.size();
      domain = std::move(stays);
    }
    return hasRemoved;
  }

  const Problem &problem;
  const Adjacency &adjacency;
  const Domains &allowed;
  const Pricing &pricing;
  const double usefulCost;
  PricedPlan &plan;
  const double fixedCost;
};
} // namespace

/// The result of an elimination. What has left the domains is no better than the known plan; at first that proves nothing.
static void takeExact(const Problem &problem, const CostNetwork &network, const Domains &domains,
                      const Elimination &elimination, double least, bool isFirst, const Pricing &pricing,
                      PricedPlan &plan) {
  plan.isExact = true;
  if (std::isinf(least)) {
    plan.isPossible &= !isFirst;
    return;
  }
  PricedPlan found;
  take(found, problem, choicesOfNodes(network, domains, elimination.choices()));
  if (!isFirst && plan.isPossible &&
      pricing.cost(plan.total.seconds, plan.total.bytes) <= pricing.cost(found.total.seconds, found.total.bytes))
    return;
  plan.choices = std::move(found.choices);
  plan.total = found.total;
  plan.isPossible = found.isPossible;
}

PricedPlan pdc::plan::searchAtPrice(const Problem &problem, const Adjacency &adjacency,
                                    const Domains &allowed, const Pricing &pricing,
                                    const SearchLimits &limits, SolverStatistics &statistics) {
  PricedPlan plan;
  ++statistics.solves;
  std::vector<uint32_t> start = greedyPlan(problem, adjacency, allowed, pricing);
  descend(problem, adjacency, allowed, pricing, start, 2);
  take(plan, problem, std::move(start));
  double fixedCost = pricing.cost(problem.fixedSeconds, problem.fixedBytes);
  auto costOf = [&](const PricedPlan &of) {
    return of.isPossible ? pricing.cost(of.total.seconds, of.total.bytes) : forbidden;
  };
  // Where bytes have a price, useful seconds say nothing of costs.
  double usefulCost = pricing.isOfSeconds() ? limits.usefulSeconds : forbidden;
  // What has left the domains is no better than the known plan, or of no use.
  auto settle = [&](double bound) {
    plan.lowerBound = std::min({bound, costOf(plan), usefulCost});
    plan.isExact = costOf(plan) <= usefulCost;
  };
  Domains domains = allowed;
  plan.lowerBound = fixedCost;
  bool isStuck = false; // no more choices leave
  for (int round = 0;; ++round) {
    CostNetwork network =
        buildPrunedNetwork(problem, domains, pricing, costOf(plan) - fixedCost, statistics);
    auto toCost = [&](double quanta) { return quanta * network.quantum - network.roundingCost + fixedCost; };
    EliminationOrder order = orderElimination(network);
    Elimination elimination(network, order);
    std::optional<double> least;
    // What takes long is worth an attempt to make it narrower.
    bool isWide = order.operations > 4 * limits.operations; // which is an estimate
    if (!isWide && (isStuck || order.operations <= limits.operations / 20))
      least = elimination.run(limits, statistics);
    if (least) {
      takeExact(problem, network, domains, elimination, *least, round == 0, pricing, plan);
      if (plan.isPossible && round > 0)
        settle(std::isinf(*least) ? forbidden : toCost(*least));
      else if (plan.isPossible)
        plan.lowerBound = std::isinf(*least) ? costOf(plan) : toCost(*least);
      return plan;
    }
    if (limits.onlyNarrow)
      return plan;
    if (isStuck) {
      double bound = plan.lowerBound;
      searchBounds(problem, adjacency, network, order, domains, pricing, limits, statistics, plan);
      plan.lowerBound = std::max(bound, toCost(plan.lowerBound));
      return plan;
    }
    bool isNarrower =
        Narrowing(problem, adjacency, allowed, pricing, usefulCost, plan).run(network, domains, plan.lowerBound);
    if (isNarrower && hasEmptyDomain(domains)) {
      settle(forbidden);
      return plan;
    }
    if (plan.lowerBound >= usefulCost)
      return plan;
    isStuck = !isNarrower || round == 3;
  }
}
