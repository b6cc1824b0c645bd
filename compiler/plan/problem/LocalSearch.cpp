//===- LocalSearch.cpp - plans changed one decision at a time -------------===//

#include "compiler/plan/problem/LocalSearch.h"

using namespace pdc::plan;

Adjacency::Adjacency(const Problem &problem) : starts(problem.nodes.size() + 1, 0) {
  for (const Edge &edge : problem.edges) {
    ++starts[edge.first + 1];
    ++starts[edge.second + 1];
  }
  for (size_t i = 1; i < starts.size(); ++i)
    starts[i] += starts[i - 1];
  entries.resize(2 * problem.edges.size());
  std::vector<uint32_t> next(starts.begin(), starts.end() - 1);
  for (const Edge &edge : problem.edges) {
    entries[next[edge.first]++] = {edge.second, edge.pairTable, true};
    entries[next[edge.second]++] = {edge.first, edge.pairTable, false};
  }
}

static double pairCost(const Problem &problem, const Pricing &pricing, const Adjacency::Entry &entry,
                       uint32_t choice, uint32_t neighborChoice) {
  const PairTable &table = problem.pairTables[entry.pairTable];
  return entry.isFirst ? pricing.pair(table, choice, neighborChoice)
                       : pricing.pair(table, neighborChoice, choice);
}

double pdc::plan::costBeside(const Problem &problem, const Adjacency &adjacency, const Pricing &pricing,
                             uint32_t node, uint32_t choice, const std::vector<uint32_t> &choices) {
  double cost = pricing.unary(problem.unaryTables[problem.nodes[node].unaryTable], choice);
  for (const Adjacency::Entry *entry = adjacency.begin(node); entry != adjacency.end(node); ++entry)
    cost += pairCost(problem, pricing, *entry, choice, choices[entry->neighbor]);
  return cost;
}

std::vector<uint32_t> pdc::plan::greedyPlan(const Problem &problem, const Adjacency &adjacency,
                                            const Domains &domains, const Pricing &pricing) {
  std::vector<uint32_t> choices(problem.nodes.size(), 0);
  for (uint32_t node = 0; node < choices.size(); ++node) {
    double least = forbidden;
    choices[node] = domains[node].front();
    for (uint32_t choice : domains[node]) {
      double cost = pricing.unary(problem.unaryTables[problem.nodes[node].unaryTable], choice);
      for (const Adjacency::Entry *entry = adjacency.begin(node); entry != adjacency.end(node); ++entry)
        if (entry->neighbor < node)
          cost += pairCost(problem, pricing, *entry, choice, choices[entry->neighbor]);
      if (cost < least) {
        least = cost;
        choices[node] = choice;
      }
    }
  }
  return choices;
}

void pdc::plan::descend(const Problem &problem, const Adjacency &adjacency, const Domains &domains,
                        const Pricing &pricing, std::vector<uint32_t> &choices, uint32_t sweeps) {
  bool changed = true;
  for (uint32_t sweep = 0; sweep < sweeps && changed; ++sweep) {
    changed = false;
    for (uint32_t node = 0; node < choices.size(); ++node) {
      double least = costBeside(problem, adjacency, pricing, node, choices[node], choices);
      for (uint32_t choice : domains[node]) {
        double cost = costBeside(problem, adjacency, pricing, node, choice, choices);
        if (cost < least) {
          least = cost;
          choices[node] = choice;
          changed = true;
        }
      }
    }
  }
}
