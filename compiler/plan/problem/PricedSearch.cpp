//===- PricedSearch.cpp - the best plan at a price of memory --------------===//

#include "compiler/plan/problem/PricedSearch.h"
#include "compiler/plan/problem/BranchAndBound.h"
#include "compiler/plan/problem/Dominance.h"
#include "compiler/plan/problem/Elimination.h"
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
                                          double planCost, SolverStatistics &statistics) {
  CostNetwork network = buildNetwork(problem, domains, pricing, planCost);
  // Less choices dominate more; the later rounds find little.
  for (int round = 0; round < 4; ++round) {
    Domains pruned = pruneDominated({&network}, domains);
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

PricedPlan pdc::plan::searchAtPrice(const Problem &problem, const Adjacency &adjacency,
                                    const Domains &allowed, const Pricing &pricing,
                                    const SearchLimits &limits, SolverStatistics &statistics) {
  PricedPlan plan;
  ++statistics.solves;
  std::vector<uint32_t> start = greedyPlan(problem, adjacency, allowed, pricing);
  descend(problem, adjacency, allowed, pricing, start, 2);
  take(plan, problem, std::move(start));
  double fixedCost = pricing.cost(problem.fixedSeconds, problem.fixedBytes);
  double planCost = pricing.cost(plan.total.seconds, plan.total.bytes) - fixedCost;
  Domains domains = allowed;
  CostNetwork network = buildPrunedNetwork(problem, domains, pricing, planCost, statistics);
  auto toCost = [&](double quanta) { return quanta * network.quantum - network.roundingCost + fixedCost; };

  EliminationOrder order = orderElimination(network);
  Elimination elimination(network, order);
  std::optional<double> least;
  if (order.operations <= 4 * limits.operations) // which is an estimate
    least = elimination.run(limits, statistics);
  if (!least) {
    searchBounds(problem, adjacency, network, order, domains, pricing, limits, statistics, plan);
    plan.lowerBound = toCost(plan.lowerBound);
    return plan;
  }
  plan.isExact = true;
  plan.isPossible = !std::isinf(*least);
  if (plan.isPossible) {
    take(plan, problem, choicesOfNodes(network, domains, elimination.choices()));
    plan.lowerBound = toCost(*least);
  }
  return plan;
}
