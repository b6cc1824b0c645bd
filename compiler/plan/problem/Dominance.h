//===- Dominance.h - choices that no best plan needs ------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_DOMINANCE_H
#define PDC_COMPILER_PLAN_PROBLEM_DOMINANCE_H

#include "compiler/plan/problem/CostNetwork.h"

namespace pdc::plan {

/// Per node the choice of a best plan, or nothing; empty: of no node.
using TakenChoices = std::vector<std::optional<uint32_t>>;

/// The domains of the networks' nodes without dominated choices. Choice i of a node is dominated by j if
///     unary(i) - unary(j) + sum over neighbors of min over their choices c of (pair(i, c) - pair(j, c)) >= 0
/// in every one of the networks: whatever the neighbors take, j is no worse than i (Goldstein 1994, dead-end
/// elimination). One network prices seconds; with a second one for bytes no point of the front of time and
/// memory is lost. The networks have the same variables and factors.
///
/// `taken`: per node the choice of a best plan, where the second best choice is asked for. It stays, and dominates nothing:
/// then what is dominated is no better than another choice that is not taken, so that the second best one stays, and beside
/// each choice that stays the best plan.
Domains pruneDominated(const std::vector<const CostNetwork *> &networks, const Domains &domains,
                       const TakenChoices &taken = {});

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_DOMINANCE_H
