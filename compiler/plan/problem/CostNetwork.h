//===- CostNetwork.h - a problem as elimination sees it ---------*- C++ -*-===//
//
// Only nodes with at least two choices left are variables; the others are folded into their neighbors' costs.
// Costs are whole multiples of a quantum, a power of two so small that the rounding does not matter and so
// large that sums up to twice the best known plan are whole numbers below 2^53: additions are exact and may
// be made in any order. So the tables of two equal layers are equal to the bit, also after a constant is taken
// out of them, and are found to be equal by comparing them.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_COSTNETWORK_H
#define PDC_COMPILER_PLAN_PROBLEM_COSTNETWORK_H

#include "compiler/plan/problem/Domains.h"
#include "compiler/plan/problem/TablePool.h"

namespace pdc::plan {

/// A table over some variables, the last contiguous.
struct Factor {
  uint32_t table = 0;          // in the pool
  std::vector<uint32_t> scope; // variables, ascending
};

struct CostNetwork {
  std::vector<uint32_t> nodeOf;  // of each variable
  std::vector<uint32_t> extents; // choices of each variable
  std::vector<Factor> factors;   // first one unary factor for each variable, then the pairs
  TablePool pool;
  double constant = 0;     // quanta; cost of the nodes that are no variables
  double quantum = 1;      // cost of one unit
  double roundingCost = 0; // no plan's cost is changed by more than this
};

/// The problem on these domains, none of them empty. `planCost` is the cost of some plan, or infinite if none
/// is known (then the quantum is coarser).
CostNetwork buildNetwork(const Problem &problem, const Domains &domains, const Pricing &pricing,
                         double planCost);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_COSTNETWORK_H
