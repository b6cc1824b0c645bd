//===- LocalSearch.h - plans changed one decision at a time -----*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_LOCALSEARCH_H
#define PDC_COMPILER_PLAN_PROBLEM_LOCALSEARCH_H

#include "compiler/plan/problem/Domains.h"

namespace pdc::plan {

/// The edges of each node.
class Adjacency {
public:
  struct Entry {
    uint32_t neighbor;
    uint32_t pairTable;
    bool isFirst; // the node is the first of the edge: its choices are rows
  };

  explicit Adjacency(const Problem &problem);
  const Entry *begin(uint32_t node) const { return entries.data() + starts[node]; }
  const Entry *end(uint32_t node) const { return entries.data() + starts[node + 1]; }

private:
  std::vector<uint32_t> starts;
  std::vector<Entry> entries;
};

/// What a choice of one node costs beside the others' choices.
double costBeside(const Problem &problem, const Adjacency &adjacency, const Pricing &pricing, uint32_t node,
                  uint32_t choice, const std::vector<uint32_t> &choices);

/// A plan made node by node, each choice the best beside those made before.
std::vector<uint32_t> greedyPlan(const Problem &problem, const Adjacency &adjacency, const Domains &domains,
                                 const Pricing &pricing);

/// Changes single decisions while that lowers the cost, in the order of the nodes, at most `sweeps` times over
/// all (iterated conditional modes: Besag 1986).
void descend(const Problem &problem, const Adjacency &adjacency, const Domains &domains,
             const Pricing &pricing, std::vector<uint32_t> &choices, uint32_t sweeps = 20);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_LOCALSEARCH_H
