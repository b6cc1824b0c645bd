//===- ParetoElimination.h - time and memory together -----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_PARETOELIMINATION_H
#define PDC_COMPILER_PLAN_PROBLEM_PARETOELIMINATION_H

#include "compiler/plan/problem/Marginals.h"

namespace pdc::plan {

/// The same variables and factors, priced three times.
struct PricedNetworks {
  CostNetwork seconds;
  CostNetwork bytes;
  CostNetwork priced; // seconds and bytes at a price of memory: what bounds are taken from
};

struct ParetoLimits {
  double bytes = 0;        // of the variables and the networks' constants together
  double pricedQuanta = 0; // plans at or above this priced cost are of no use: a better one is known
  uint32_t frontSize = 1;  // points kept for one entry of a message
};

struct ParetoResult {
  std::vector<uint32_t> choices; // of variables: the fastest plan within the limits; empty if none was left
  double droppedBound = std::numeric_limits<double>::infinity(); // priced quanta; nothing that was dropped to
                                                                 // keep fronts small is below
  bool isAborted = false;                                        // more entries than the limits allow
};

/// Elimination whose messages have, for each entry, the front of (seconds, bytes) of what is eliminated: the
/// points that no other one beats in both. A point goes if even the best that can be outside of it makes the
/// plan worse than one that is known; the Lagrangian bound of the priced network says so, from the way back
/// through its elimination. A front that is still too large keeps its points of the least bounds.
ParetoResult eliminatePareto(const PricedNetworks &networks, const EliminationOrder &order,
                             const Elimination &priced, const Marginals &marginals, double pricedLeast,
                             const ParetoLimits &limits, const SearchLimits &searchLimits);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_PARETOELIMINATION_H
