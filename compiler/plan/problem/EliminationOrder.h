//===- EliminationOrder.h - in which order nodes are eliminated -*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_ELIMINATIONORDER_H
#define PDC_COMPILER_PLAN_PROBLEM_ELIMINATIONORDER_H

#include "compiler/plan/problem/CostNetwork.h"

namespace pdc::plan {

/// One variable goes: the tables that depend on it are added up and become one message on the others'.
struct EliminationStep {
  uint32_t variable = 0;
  std::vector<uint32_t> scope;  // the other variables, ascending
  std::vector<uint32_t> inputs; // factors of the network, or number of factors + an earlier step: its message
};

struct EliminationOrder {
  std::vector<EliminationStep> steps;
  double operations = 0;    // estimate of the entries combined, equal steps counted once
  double largestBucket = 0; // entries combined in one step
  uint32_t width = 0;       // most variables in a message
};

/// An order that keeps tables small: first what makes no table larger than it takes in, then the best of several greedy ones
/// (weight of the bucket; growth of memory; weight divided by the number of steps of the same kind). Steps of the same kind, which have equal inputs on
/// scopes of equal shape, are made together, so that layers that are the same are taken apart in the same
/// way.
EliminationOrder orderElimination(const CostNetwork &network);

/// The variables of a step's bucket, ascending: its scope and the variable itself.
std::vector<uint32_t> bucketVariables(uint32_t variable, const std::vector<uint32_t> &scope);

/// One input of a step: a number of its table, and which of the bucket's variables it has, a bit each.
struct StepInput {
  uint32_t table;
  uint64_t variables;
  auto operator<=>(const StepInput &) const = default;
};

/// Two steps with equal keys compute equal messages.
std::vector<uint32_t> stepKey(uint32_t variable, const std::vector<uint32_t> &bucket,
                              const std::vector<uint32_t> &extents, std::vector<StepInput> inputs);

/// Entries of a table with this scope.
double entriesOf(const std::vector<uint32_t> &scope, const std::vector<uint32_t> &extents);

/// Which variables of a bucket (at most 64) a scope has.
uint64_t variableBits(const std::vector<uint32_t> &scope, const std::vector<uint32_t> &bucket);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_ELIMINATIONORDER_H
