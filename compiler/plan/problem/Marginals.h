//===- Marginals.h - what each choice costs at best -------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_MARGINALS_H
#define PDC_COMPILER_PLAN_PROBLEM_MARGINALS_H

#include "compiler/plan/problem/Elimination.h"
#include <limits>

namespace pdc::plan {

/// The way back through an elimination: how much more than the best plan the best plan costs that takes a
/// given choice (min-marginals), for all choices of all variables at once. Each step gets a table from the
/// step that its message goes to: for each entry of the message, the least cost of all that is outside of what
/// the message stands for. Steps that are the same are computed once here too.
class Marginals {
public:
  /// `elimination` has run and found a plan; `network` gains tables. What is so many quanta above the best plan or more need
  /// not be told apart, and becomes infinite: so the tables of equal layers repeat themselves after fewer of them.
  Marginals(CostNetwork &network, const EliminationOrder &order, const Elimination &elimination,
            double useless = std::numeric_limits<double>::infinity())
      : network(network), order(order), elimination(elimination), useless(useless) {}

  /// False if that would take more than the limits allow.
  bool run(const SearchLimits &limits, SolverStatistics &statistics);

  /// Quanta above the best plan, for each choice of a variable; one of them is 0.
  const std::vector<double> &ofVariable(uint32_t variable) const { return network.pool[marginals[variable]]; }

  /// For each entry of the message of a step, what must be added to it to have the quanta above the best plan
  /// of the best plan that has the entry.
  const std::vector<double> &outside(size_t step) const { return network.pool[outsides[step]]; }

private:
  struct Tables {
    uint32_t marginal;
    std::vector<uint32_t> outsides; // of the inputs that are messages, in order
  };
  std::vector<uint32_t> keyOf(size_t step) const;
  Tables compute(size_t step);

  CostNetwork &network;
  const EliminationOrder &order;
  const Elimination &elimination;
  const double useless;
  std::vector<uint32_t> marginals; // table of each variable
  std::vector<uint32_t> outsides;  // table of each step
  std::unordered_map<std::vector<uint32_t>, Tables, KeyHash> known;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_MARGINALS_H
