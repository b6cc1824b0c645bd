//===- CostNetwork.cpp - a problem as elimination sees it -----------------===//

#include "compiler/plan/problem/CostNetwork.h"
#include <algorithm>
#include <array>
#include <cmath>

using namespace pdc::plan;

/// The sum of the largest possible cost of each table: above every plan.
static double largestCost(const Problem &problem, const Pricing &pricing) {
  auto largest = [&](const std::vector<double> &seconds, const std::vector<int64_t> &bytes) {
    double most = 0;
    for (size_t i = 0; i < seconds.size(); ++i)
      if (seconds[i] != forbidden)
        most = std::max(most, pricing.cost(seconds[i], bytes.empty() ? 0 : bytes[i]));
    return most;
  };
  std::vector<double> ofUnary, ofPair;
  for (const UnaryTable &table : problem.unaryTables)
    ofUnary.push_back(largest(table.seconds, table.bytes));
  for (const PairTable &table : problem.pairTables)
    ofPair.push_back(largest(table.seconds, table.bytes));
  double sum = 0;
  for (const Node &node : problem.nodes)
    sum += ofUnary[node.unaryTable];
  for (const Edge &edge : problem.edges)
    sum += ofPair[edge.pairTable];
  return sum;
}

namespace {
class NetworkBuilder {
public:
  NetworkBuilder(const Problem &problem, const Domains &domains, const Pricing &pricing, double quantum)
      : problem(problem), domains(domains), pricing(pricing) {
    network.quantum = quantum;
  }

  CostNetwork build() {
    numberVariables();
    addUnaryFactors();
    for (const Edge &edge : problem.edges)
      addEdge(edge);
    for (uint32_t variable = 0; variable < unary.size(); ++variable)
      network.factors[variable].table = unaryTableOf(variable);
    return std::move(network);
  }

private:
  /// In quanta; `error` becomes the largest change, in quanta, of what was rounded.
  double round(double cost, double &error) const {
    double exact = cost / network.quantum, rounded = std::nearbyint(exact);
    if (!std::isinf(cost))
      error = std::max(error, std::abs(exact - rounded));
    return rounded;
  }
  double roundFixed(double cost) {
    double error = 0, rounded = round(cost, error);
    network.roundingCost += error * network.quantum;
    return rounded;
  }

  void numberVariables() {
    variableOf.assign(problem.nodes.size(), none);
    domainNumber.resize(problem.nodes.size());
    for (uint32_t node = 0; node < problem.nodes.size(); ++node) {
      domainNumber[node] = domainNumbers(domains[node]);
      if (domains[node].size() < 2)
        continue;
      variableOf[node] = static_cast<uint32_t>(network.nodeOf.size());
      network.nodeOf.push_back(node);
      network.extents.push_back(static_cast<uint32_t>(domains[node].size()));
    }
  }

  void addUnaryFactors() {
    unary.resize(network.nodeOf.size());
    for (uint32_t variable = 0; variable < unary.size(); ++variable)
      network.factors.push_back({0, {variable}});
    for (uint32_t node = 0; node < problem.nodes.size(); ++node) {
      uint32_t table = problem.nodes[node].unaryTable;
      if (variableOf[node] == none)
        network.constant += roundFixed(pricing.unary(problem.unaryTables[table], domains[node][0]));
      else
        unary[variableOf[node]].push_back(unaryNumber(node));
    }
  }

  /// The unary table of a node on its domain.
  uint32_t unaryNumber(uint32_t node) {
    uint32_t table = problem.nodes[node].unaryTable;
    uint32_t known = unaryKeys({table, domainNumber[node]});
    if (known == unaryNumbers.size()) {
      std::vector<double> entries;
      double error = 0;
      for (uint32_t choice : domains[node])
        entries.push_back(round(pricing.unary(problem.unaryTables[table], choice), error));
      unaryNumbers.push_back({network.pool.intern(std::move(entries)), error});
    }
    network.roundingCost += unaryNumbers[known].error * network.quantum;
    return unaryNumbers[known].table;
  }

  void addEdge(const Edge &edge) {
    uint32_t first = variableOf[edge.first], second = variableOf[edge.second];
    const PairTable &table = problem.pairTables[edge.pairTable];
    if (first == none && second == none)
      network.constant += roundFixed(pricing.pair(table, domains[edge.first][0], domains[edge.second][0]));
    else if (second == none)
      unary[first].push_back(pairNumber(edge));
    else if (first == none)
      unary[second].push_back(pairNumber(edge));
    else
      network.factors.push_back({pairNumber(edge), {std::min(first, second), std::max(first, second)}});
  }

  /// The pair table of an edge on the domains of its nodes, rows for the lower node.
  uint32_t pairNumber(const Edge &edge) {
    bool isTurned = edge.first > edge.second;
    uint32_t lower = std::min(edge.first, edge.second), upper = std::max(edge.first, edge.second);
    uint32_t known = pairKeys({edge.pairTable, domainNumber[lower], domainNumber[upper], isTurned});
    if (known == pairNumbers.size()) {
      const PairTable &table = problem.pairTables[edge.pairTable];
      std::vector<double> entries;
      double error = 0;
      for (uint32_t a : domains[lower])
        for (uint32_t b : domains[upper])
          entries.push_back(round(isTurned ? pricing.pair(table, b, a) : pricing.pair(table, a, b), error));
      pairNumbers.push_back({network.pool.intern(std::move(entries)), error});
    }
    network.roundingCost += pairNumbers[known].error * network.quantum;
    return pairNumbers[known].table;
  }

  /// The sum of the unary tables of a variable.
  uint32_t unaryTableOf(uint32_t variable) {
    if (unary[variable].size() == 1)
      return unary[variable][0];
    std::sort(unary[variable].begin(), unary[variable].end());
    uint32_t known = sumKeys(unary[variable]);
    if (known == sumNumbers.size()) {
      std::vector<double> sum = network.pool[unary[variable][0]];
      for (size_t i = 1; i < unary[variable].size(); ++i)
        for (size_t choice = 0; choice < sum.size(); ++choice)
          sum[choice] += network.pool[unary[variable][i]][choice];
      sumNumbers.push_back(network.pool.intern(std::move(sum)));
    }
    return sumNumbers[known];
  }

  /// A table in the pool and the largest change, in quanta, that rounding made.
  struct Rounded {
    uint32_t table;
    double error;
  };

  static constexpr uint32_t none = ~0u;
  const Problem &problem;
  const Domains &domains;
  const Pricing &pricing;
  CostNetwork network;
  std::vector<uint32_t> variableOf, domainNumber;
  std::vector<std::vector<uint32_t>> unary; // tables of each variable
  KeyNumbering domainNumbers, unaryKeys, pairKeys, sumKeys;
  std::vector<Rounded> unaryNumbers, pairNumbers;
  std::vector<uint32_t> sumNumbers;
};
} // namespace

CostNetwork pdc::plan::buildNetwork(const Problem &problem, const Domains &domains, const Pricing &pricing,
                                    double planCost) {
  double scale = std::isinf(planCost) ? largestCost(problem, pricing) : planCost;
  // The least power of two above the plan is below 2^52 quanta, twice that below 2^53.
  int exponent = 0;
  std::frexp(scale, &exponent);
  double quantum = scale > 0 ? std::ldexp(1.0, std::max(exponent, -900) - 51) : 1.0;
  return NetworkBuilder(problem, domains, pricing, quantum).build();
}
