//===- TreeBounds.cpp - bounds and plans from messages along trees --------===//

#include "compiler/plan/problem/TreeBounds.h"
#include <algorithm>
#include <limits>

using namespace pdc::plan;

static constexpr double infinite = std::numeric_limits<double>::infinity();

// Wider vectors where the processor has them.
#if defined(__x86_64__) && defined(__linux__)
#define PDC_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PDC_VECTOR_CLONES
#endif

/// least[c] = min over r of rows[r] + costs[r, c]
PDC_VECTOR_CLONES static void leastOfColumns(const double *__restrict rows, const double *__restrict costs,
                                             size_t numRows, size_t numColumns, double *__restrict least) {
  for (size_t r = 0; r < numRows; ++r, costs += numColumns)
    for (size_t c = 0; c < numColumns; ++c) {
      double sum = rows[r] + costs[c];
      least[c] = sum < least[c] ? sum : least[c];
    }
}

/// least[r] = min over c of columns[c] + costs[r, c]
PDC_VECTOR_CLONES static void leastOfRows(const double *__restrict columns, const double *__restrict costs,
                                          size_t numRows, size_t numColumns, double *__restrict least) {
  for (size_t r = 0; r < numRows; ++r, costs += numColumns) {
    double smallest = least[r];
    for (size_t c = 0; c < numColumns; ++c) {
      double sum = columns[c] + costs[c];
      smallest = sum < smallest ? sum : smallest;
    }
    least[r] = smallest;
  }
}

/// Takes the least entry out, unless all are infinite.
static double normalize(std::vector<double> &entries) {
  double least = *std::min_element(entries.begin(), entries.end());
  if (least < infinite)
    for (double &entry : entries)
      entry -= least;
  return least;
}

/// target += entries, of which infinite ones stay so.
static void add(std::vector<double> &target, const std::vector<double> &entries) {
  for (size_t i = 0; i < target.size(); ++i)
    target[i] += entries[i];
}

TreeBounds::TreeBounds(const CostNetwork &network)
    : network(network), above(network.extents.size()), below(network.extents.size()) {
  for (size_t i = network.extents.size(); i < network.factors.size(); ++i) {
    const Factor &factor = network.factors[i];
    uint32_t lower = factor.scope[0], upper = factor.scope[1];
    above[lower].push_back(static_cast<uint32_t>(pairs.size()));
    below[upper].push_back(static_cast<uint32_t>(pairs.size()));
    pairs.push_back({lower, upper, network.pool[factor.table].data(),
                     std::vector<double>(network.extents[lower], 0.0),
                     std::vector<double>(network.extents[upper], 0.0)});
  }
}

/// What a variable's choices cost with all that has been sent to it.
std::vector<double> TreeBounds::costsOf(uint32_t variable) const {
  std::vector<double> costs = network.pool[network.factors[variable].table];
  for (uint32_t pair : above[variable])
    add(costs, pairs[pair].toLower);
  for (uint32_t pair : below[variable])
    add(costs, pairs[pair].toUpper);
  return costs;
}

/// The share of its costs that a variable sends along each pair: one of the monotonic chains through it.
double TreeBounds::shareOf(uint32_t variable) const {
  return 1.0 / static_cast<double>(std::max<size_t>({1, above[variable].size(), below[variable].size()}));
}

/// What a variable sends along a pair, before the pair's own costs. Where a choice is impossible both are infinite.
static std::vector<double> shareToSend(const std::vector<double> &costs, double share,
                                       const std::vector<double> &received) {
  std::vector<double> sent(costs.size());
  for (size_t i = 0; i < costs.size(); ++i)
    sent[i] = costs[i] == infinite ? infinite : share * costs[i] - received[i];
  return sent;
}

/// By how much the bound rises.
double TreeBounds::send(uint32_t variable, bool isUp) {
  std::vector<double> costs = costsOf(variable);
  double rise = normalize(costs);
  for (uint32_t index : (isUp ? above : below)[variable]) {
    Pair &pair = pairs[index];
    std::vector<double> &target = isUp ? pair.toUpper : pair.toLower;
    std::vector<double> sent = shareToSend(costs, shareOf(variable), isUp ? pair.toLower : pair.toUpper);
    std::fill(target.begin(), target.end(), infinite);
    (isUp ? leastOfColumns : leastOfRows)(sent.data(), pair.costs, network.extents[pair.lower],
                                          network.extents[pair.upper], target.data());
    rise += normalize(target);
  }
  return rise;
}

double TreeBounds::sweep() {
  auto count = static_cast<uint32_t>(network.extents.size());
  for (uint32_t variable = 0; variable < count; ++variable)
    send(variable, true);
  double bound = network.constant;
  for (uint32_t variable = count; variable-- > 0;)
    bound += send(variable, false);
  return bound == infinite ? bound : bound - slack * bound;
}

std::vector<uint32_t> TreeBounds::decode() const {
  std::vector<uint32_t> choices;
  for (uint32_t variable = 0; variable < network.extents.size(); ++variable) {
    std::vector<double> costs = network.pool[network.factors[variable].table];
    for (uint32_t pair : above[variable])
      add(costs, pairs[pair].toLower);
    for (uint32_t index : below[variable]) {
      const double *row = pairs[index].costs + size_t{choices[pairs[index].lower]} * costs.size();
      for (size_t i = 0; i < costs.size(); ++i)
        costs[i] += row[i];
    }
    choices.push_back(static_cast<uint32_t>(std::min_element(costs.begin(), costs.end()) - costs.begin()));
  }
  return choices;
}

/// After a sweep the costs of a pair, with what its upper variable has sent and without both messages, are zero or more,
/// and zero for some choice of the upper one beside each of the lower one. What the variable kept is its own.
std::vector<double> TreeBounds::aboveBound(uint32_t variable) const {
  std::vector<double> costs = costsOf(variable);
  normalize(costs);
  double share = shareOf(variable), kept = 1 - share * static_cast<double>(below[variable].size());
  std::vector<double> extra(costs.size());
  for (size_t i = 0; i < costs.size(); ++i)
    extra[i] = costs[i] == infinite ? infinite : std::max(0.0, kept) * costs[i];
  for (uint32_t index : below[variable]) {
    const Pair &pair = pairs[index];
    std::vector<double> sent = shareToSend(costs, share, pair.toUpper);
    std::vector<double> lowest(costs.size(), infinite), taken(pair.toLower.size());
    for (size_t i = 0; i < taken.size(); ++i)
      taken[i] = pair.toLower[i] == infinite ? infinite : -pair.toLower[i];
    leastOfColumns(taken.data(), pair.costs, taken.size(), costs.size(), lowest.data());
    for (size_t i = 0; i < costs.size(); ++i)
      lowest[i] = sent[i] == infinite ? infinite : lowest[i] + sent[i];
    normalize(lowest); // what was taken out of the message
    add(extra, lowest);
  }
  return extra;
}
