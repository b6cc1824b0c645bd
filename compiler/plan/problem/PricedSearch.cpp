//===- PricedSearch.cpp - the best plan at a price of memory --------------===//

#include "compiler/plan/problem/PricedSearch.h"
#include "compiler/plan/problem/Elimination.h"
#include <algorithm>
#include <cmath>

using namespace pdc::plan;

/// Choices of nodes from those of variables.
static std::vector<uint32_t> toNodes(const CostNetwork &network, const Domains &domains,
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

/// The sum of the least entries of all tables: below every plan.
static double sumOfLeastEntries(const CostNetwork &network) {
  double sum = network.constant;
  for (const Factor &factor : network.factors) {
    const std::vector<double> &table = network.pool[factor.table];
    sum += *std::min_element(table.begin(), table.end());
  }
  return sum;
}

PricedPlan pdc::plan::searchAtPrice(const Problem &problem, const Adjacency &adjacency,
                                    const Domains &domains, const Pricing &pricing,
                                    const SearchLimits &limits, SolverStatistics &statistics) {
  PricedPlan plan;
  ++statistics.solves;
  std::vector<uint32_t> start = greedyPlan(problem, adjacency, domains, pricing);
  descend(problem, adjacency, domains, pricing, start);
  take(plan, problem, std::move(start));
  double fixedCost = pricing.cost(problem.fixedSeconds, problem.fixedBytes);
  CostNetwork network =
      buildNetwork(problem, domains, pricing, pricing.cost(plan.total.seconds, plan.total.bytes) - fixedCost);
  auto toCost = [&](double quanta) { return quanta * network.quantum - network.roundingCost + fixedCost; };

  EliminationOrder order = orderElimination(network);
  if (order.operations > limits.operations || order.messageEntries > limits.tableEntries) {
    plan.lowerBound = toCost(sumOfLeastEntries(network));
    return plan;
  }
  Elimination elimination(network, order);
  double least = elimination.run(statistics);
  plan.isExact = true;
  plan.isPossible = !std::isinf(least);
  if (plan.isPossible) {
    take(plan, problem, toNodes(network, domains, elimination.choices()));
    plan.lowerBound = toCost(least);
  }
  return plan;
}
