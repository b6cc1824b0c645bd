//===- PricedSearch.h - the best plan at a price of memory ------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_PRICEDSEARCH_H
#define PDC_COMPILER_PLAN_PROBLEM_PRICEDSEARCH_H

#include "compiler/plan/problem/CostNetwork.h"
#include "compiler/plan/problem/Dominance.h"
#include "compiler/plan/problem/LocalSearch.h"
#include "compiler/plan/problem/Solver.h"

namespace pdc::plan {

/// A plan without a memory limit, bytes priced instead.
struct PricedPlan {
  bool isPossible = false; // false and isExact: every plan is forbidden
  bool isExact = false;
  std::vector<uint32_t> choices;
  PlanCost total;        // what the plan takes, as evaluate() says
  double lowerBound = 0; // on the priced cost of every plan, the fixed part of the problem included
};

/// Searches the domains, none of them empty.
PricedPlan searchAtPrice(const Problem &problem, const Adjacency &adjacency, const Domains &domains,
                         const Pricing &pricing, const SearchLimits &limits, SolverStatistics &statistics);

/// A network without dominated choices, which leave the domains, too. `planCost` as for buildNetwork(), `taken` as for
/// pruneDominated().
CostNetwork buildPrunedNetwork(const Problem &problem, Domains &domains, const Pricing &pricing,
                               double planCost, SolverStatistics &statistics, const TakenChoices &taken = {});

/// Choices of nodes from those of variables.
std::vector<uint32_t> choicesOfNodes(const CostNetwork &network, const Domains &domains,
                                     const std::vector<uint32_t> &ofVariables);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_PRICEDSEARCH_H
