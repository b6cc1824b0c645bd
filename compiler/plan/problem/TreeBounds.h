//===- TreeBounds.h - bounds and plans from messages along trees -*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_TREEBOUNDS_H
#define PDC_COMPILER_PLAN_PROBLEM_TREEBOUNDS_H

#include "compiler/plan/problem/CostNetwork.h"

namespace pdc::plan {

/// Sequential tree-reweighted message passing (Kolmogorov 2006, "Convergent tree-reweighted message passing for energy
/// minimization"): costs move between variables and pairs such that every plan costs as before, and the sum of
/// what each variable and each pair costs at least, which bounds all plans from below, never falls. Works where
/// tables of elimination would be too wide: a sweep takes time in proportion to the entries of the pairs.
///
/// Sums are in floating point and not exact: bounds are lowered by `slack`, a share far above what rounding can be.
class TreeBounds {
public:
  static constexpr double slack = 1e-9;

  explicit TreeBounds(const CostNetwork &network);

  /// Sends messages up and down the order of the variables once; the bound in quanta, with the network's constant.
  double sweep();

  /// A plan read off the messages: each variable takes its best choice beside those before it.
  std::vector<uint32_t> decode() const;

  /// After a sweep: how much above the bound all plans are at least that take a choice of a variable.
  std::vector<double> aboveBound(uint32_t variable) const;

private:
  /// A pair factor and its messages, in quanta.
  struct Pair {
    uint32_t lower, upper; // variables
    const double *costs;   // rows for the lower one
    std::vector<double> toLower, toUpper;
  };

  std::vector<double> costsOf(uint32_t variable) const;
  double shareOf(uint32_t variable) const;
  double send(uint32_t variable, bool isUp);

  const CostNetwork &network;
  std::vector<Pair> pairs;
  std::vector<std::vector<uint32_t>> above, below; // of each variable: pairs with a higher and with a lower one
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_TREEBOUNDS_H
