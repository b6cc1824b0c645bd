//===- Elimination.h - the exact solution of a network ----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_ELIMINATION_H
#define PDC_COMPILER_PLAN_PROBLEM_ELIMINATION_H

#include "compiler/plan/problem/EliminationOrder.h"
#include "compiler/plan/problem/MinSum.h"
#include "compiler/plan/problem/SearchLimits.h"
#include "compiler/plan/problem/Solution.h"

namespace pdc::plan {

/// Nonserial dynamic programming: eliminates one variable after the other; each leaves a message, the least
/// cost of what is eliminated for each choice of the variables that remain. Going back, each takes its best
/// choice beside those that are known then.
///
/// Steps that are the same are computed once. A message is kept without its least entry, which goes into the
/// constant: so the messages that run along a chain of equal layers repeat themselves after a few (they are
/// powers of one min-plus matrix: Cohen, Dubois, Quadrat, Viot 1985), and the rest of the chain is known.
class Elimination {
public:
  /// `network` gains tables. Without `remembers` every step is computed (for tests).
  Elimination(CostNetwork &network, const EliminationOrder &order, bool remembers = true)
      : network(network), order(order), remembers(remembers) {}

  /// The least cost in quanta, with the network's constant; infinite if there is no plan. Nothing if that would
  /// take more than the limits allow.
  std::optional<double> run(const SearchLimits &limits, SolverStatistics &statistics);

  /// After run(), if it was finite: the choice of each variable, an index into its domain.
  std::vector<uint32_t> choices() const;

  /// The table of a factor, or of the message of a step.
  uint32_t tableOf(uint32_t input) const {
    return input < network.factors.size() ? network.factors[input].table
                                          : messages[input - network.factors.size()];
  }
  const std::vector<uint32_t> &scopeOf(uint32_t input) const {
    return input < network.factors.size() ? network.factors[input].scope
                                          : order.steps[input - network.factors.size()].scope;
  }
  /// Adds the inputs of a step to `sums`, an entry for each choice of its variable; the others' are `choices`.
  void addInputs(const EliminationStep &step, const std::vector<uint32_t> &choices,
                 std::vector<double> &sums) const;
  /// The message of a step with its constant, beside these choices.
  double messageAt(size_t step, const std::vector<uint32_t> &choices) const;
  /// What was taken out of the message of a step.
  double constantOf(size_t step) const { return constants[step]; }

  /// The tables of a step on the axes of its bucket.
  Bucket bucketOf(const EliminationStep &step) const;

private:
  struct Message {
    uint32_t table;
    double constant;
  };
  Message compute(const EliminationStep &step, SolverStatistics &statistics);

  CostNetwork &network;
  const EliminationOrder &order;
  const bool remembers;
  std::vector<uint32_t> messages; // table of each step
  std::vector<double> constants;  // of each step
  std::unordered_map<std::vector<uint32_t>, Message, KeyHash> known;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_ELIMINATION_H
