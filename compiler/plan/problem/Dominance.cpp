//===- Dominance.cpp - choices that no best plan needs --------------------===//

#include "compiler/plan/problem/Dominance.h"
#include <algorithm>
#include <map>
#include <tuple>

using namespace pdc::plan;

static constexpr uint32_t none = ~0u;

namespace {
/// Entry [i * n + j]: the least that choosing i instead of j costs more.
using Differences = std::vector<double>;

/// The pair factors that a variable is in.
struct Incidence {
  uint32_t factor;
  bool isRow; // the variable is the first of the scope
};

class NetworkDominance {
public:
  explicit NetworkDominance(const CostNetwork &network) : network(network) {}

  /// Adds what one pair factor says on a variable's choices to `sum`.
  void addDifferences(Incidence incidence, Differences &sum) {
    const Factor &factor = network.factors[incidence.factor];
    // Tables are known by their entries alone: 2 x 3 and 3 x 2 choices may have the same one.
    auto [it, isNew] = known.try_emplace({factor.table, network.extents[factor.scope[0]], incidence.isRow});
    if (isNew)
      it->second = compute(network.pool[factor.table], network.extents[factor.scope[0]],
                           network.extents[factor.scope[1]], incidence.isRow);
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += it->second[i];
  }

  Differences ofUnary(uint32_t variable) const {
    const std::vector<double> &unary = network.pool[network.factors[variable].table];
    Differences differences;
    for (double i : unary)
      for (double j : unary)
        differences.push_back(i - j);
    return differences;
  }

private:
  static Differences compute(const std::vector<double> &table, uint32_t rows, uint32_t columns, bool isRow) {
    uint32_t n = isRow ? rows : columns, others = isRow ? columns : rows;
    Differences differences(size_t{n} * n, forbidden);
    // One choice of the neighbor after the other, so that the inner loop runs over j.
    std::vector<double> costs(n);
    for (uint32_t other = 0; other < others; ++other) {
      for (uint32_t i = 0; i < n; ++i)
        costs[i] = isRow ? table[size_t{i} * columns + other] : table[size_t{other} * columns + i];
      for (uint32_t i = 0; i < n; ++i) {
        double *row = differences.data() + size_t{i} * n;
        for (uint32_t j = 0; j < n; ++j) {
          // Where both are forbidden the difference is not a number, is less than nothing, and says nothing.
          double difference = costs[i] - costs[j];
          row[j] = difference < row[j] ? difference : row[j];
        }
      }
    }
    return differences;
  }

  const CostNetwork &network;
  std::map<std::tuple<uint32_t, uint32_t, bool>, Differences> known; // by table, its rows, and isRow
};

class DominancePruning {
public:
  explicit DominancePruning(const std::vector<const CostNetwork *> &networks)
      : networks(networks), incidences(networks[0]->extents.size()) {
    for (const CostNetwork *network : networks)
      dominances.emplace_back(*network);
    const CostNetwork &first = *networks[0];
    for (uint32_t i = static_cast<uint32_t>(first.extents.size()); i < first.factors.size(); ++i) {
      incidences[first.factors[i].scope[0]].push_back({i, true});
      incidences[first.factors[i].scope[1]].push_back({i, false});
    }
  }

  /// Which choices of a variable stay, ascending; `taken` stays, and dominates nothing.
  const std::vector<uint32_t> &survivors(uint32_t variable, uint32_t taken) {
    std::vector<uint32_t> key = keyOf(variable);
    key.push_back(taken);
    uint32_t kind = kinds(key);
    if (kind == survivorsOfKind.size())
      survivorsOfKind.push_back(compute(variable, taken));
    return survivorsOfKind[kind];
  }

private:
  /// Equal keys, equal tables: equal survivors.
  std::vector<uint32_t> keyOf(uint32_t variable) const {
    std::vector<std::vector<uint32_t>> parts;
    for (Incidence incidence : incidences[variable]) {
      std::vector<uint32_t> &part = parts.emplace_back(1, incidence.isRow);
      for (const CostNetwork *network : networks)
        part.push_back(network->factors[incidence.factor].table);
    }
    std::sort(parts.begin(), parts.end());
    std::vector<uint32_t> key;
    for (const CostNetwork *network : networks)
      key.push_back(network->factors[variable].table);
    for (const std::vector<uint32_t> &part : parts)
      key.insert(key.end(), part.begin(), part.end());
    return key;
  }

  std::vector<uint32_t> compute(uint32_t variable, uint32_t taken) {
    uint32_t n = networks[0]->extents[variable];
    std::vector<Differences> differences;
    for (NetworkDominance &dominance : dominances) {
      differences.push_back(dominance.ofUnary(variable));
      for (Incidence incidence : incidences[variable])
        dominance.addDifferences(incidence, differences.back());
    }
    auto isDominatedBy = [&](uint32_t i, uint32_t j) {
      return std::all_of(differences.begin(), differences.end(),
                         [&](const Differences &d) { return d[size_t{i} * n + j] >= 0; });
    };
    // From the last choice down: of equal ones the first stays.
    std::vector<bool> stays(n, true);
    for (uint32_t i = n; i-- > 0;)
      for (uint32_t j = 0; j < n && stays[i] && i != taken; ++j)
        if (j != i && j != taken && stays[j] && isDominatedBy(i, j))
          stays[i] = false;
    std::vector<uint32_t> survivors;
    for (uint32_t i = 0; i < n; ++i)
      if (stays[i])
        survivors.push_back(i);
    return survivors;
  }

  const std::vector<const CostNetwork *> &networks;
  std::vector<NetworkDominance> dominances;
  std::vector<std::vector<Incidence>> incidences; // of each variable
  KeyNumbering kinds;
  std::vector<std::vector<uint32_t>> survivorsOfKind;
};
} // namespace

Domains pdc::plan::pruneDominated(const std::vector<const CostNetwork *> &networks, const Domains &domains,
                                  const TakenChoices &taken) {
  DominancePruning pruning(networks);
  Domains pruned = domains;
  for (uint32_t variable = 0; variable < networks[0]->extents.size(); ++variable) {
    uint32_t node = networks[0]->nodeOf[variable];
    std::vector<uint32_t> &domain = pruned[node];
    uint32_t index = none;
    if (!taken.empty() && taken[node])
      index = static_cast<uint32_t>(std::find(domain.begin(), domain.end(), *taken[node]) - domain.begin());
    domain.clear();
    for (uint32_t choice : pruning.survivors(variable, index))
      domain.push_back(domains[node][choice]);
  }
  return pruned;
}
