//===- Mcmc.cpp - random changes, as FlexFlow searches --------------------===//

#include "compiler/plan/problem/Mcmc.h"
#include "compiler/plan/problem/LocalSearch.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace pdc::plan;

namespace {
class McmcSearch {
public:
  McmcSearch(const Problem &problem, const McmcOptions &options)
      : problem(problem), options(options), domains(allowedChoices(problem)), adjacency(problem),
        random(options.seed) {}

  Solution run() {
    if (hasEmptyDomain(domains))
      return std::move(best);
    for (uint32_t node = 0; node < domains.size(); ++node)
      if (domains[node].size() > 1)
        open.push_back(node);
    begin();
    for (uint64_t i = 0; i < options.proposals && !open.empty(); ++i) {
      propose();
      if (++sinceBest > options.returnAfter && best.status != SolutionStatus::impossible)
        returnToBest();
    }
    best.statistics.searchNodes = options.proposals;
    return std::move(best);
  }

private:
  uint32_t below(size_t n) { return static_cast<uint32_t>(random() % n); }
  double uniform() { return std::ldexp(static_cast<double>(random() >> 11), -53); }

  void begin() {
    if (options.start.size() == domains.size()) {
      choices = options.start;
    } else {
      for (uint32_t node = 0; node < domains.size(); ++node) {
        const std::vector<double> &seconds = problem.unaryTables[problem.nodes[node].unaryTable].seconds;
        choices.push_back(*std::min_element(domains[node].begin(), domains[node].end(),
                                            [&](uint32_t a, uint32_t b) { return seconds[a] < seconds[b]; }));
      }
    }
    cost = evaluate(problem, choices);
    // A start with a forbidden pair has no time to compare with: any plan will do.
    for (int sweep = 0; sweep < 10 && std::isinf(cost.seconds); ++sweep) {
      descend(problem, adjacency, domains, {}, choices, 1);
      cost = evaluate(problem, choices);
    }
    scaleSeconds = std::isinf(cost.seconds) || cost.seconds == 0 ? 1 : cost.seconds;
    keepIfBest();
  }

  /// Seconds of a plan, with those that stand for missing memory: the start's whole time for each tenth of
  /// the limit.
  double priceOf(const PlanCost &plan) const {
    if (!problem.memoryLimitBytes || plan.bytes <= *problem.memoryLimitBytes)
      return plan.seconds;
    double limit = std::max<double>(1, static_cast<double>(*problem.memoryLimitBytes));
    return plan.seconds +
           scaleSeconds * 10 * static_cast<double>(plan.bytes - *problem.memoryLimitBytes) / limit;
  }

  void propose() {
    uint32_t node = open[below(open.size())], old = choices[node];
    uint32_t proposed = domains[node][below(domains[node].size())];
    if (proposed == old)
      return;
    PlanCost changed = cost;
    if (std::isinf(cost.seconds)) {
      choices[node] = proposed;
      changed = evaluate(problem, choices);
      choices[node] = old;
    } else {
      changed.seconds += costBeside(problem, adjacency, {}, node, proposed, choices) -
                         costBeside(problem, adjacency, {}, node, old, choices);
      changed.bytes += bytesBeside(node, proposed) - bytesBeside(node, old);
    }
    double difference = std::isinf(cost.seconds) ? 0 : priceOf(changed) - priceOf(cost);
    if (difference > 0 && uniform() >= std::exp(-difference / (options.temperature * scaleSeconds)))
      return;
    choices[node] = proposed;
    cost = changed;
    if (priceOf(cost) < bestPrice)
      keepIfBest();
  }

  int64_t bytesBeside(uint32_t node, uint32_t choice) const {
    const UnaryTable &unary = problem.unaryTables[problem.nodes[node].unaryTable];
    int64_t bytes = unary.bytes.empty() ? 0 : unary.bytes[choice];
    for (const Adjacency::Entry *entry = adjacency.begin(node); entry != adjacency.end(node); ++entry) {
      const PairTable &table = problem.pairTables[entry->pairTable];
      uint32_t other = choices[entry->neighbor];
      bytes += entry->isFirst ? table.bytesAt(choice, other) : table.bytesAt(other, choice);
    }
    return bytes;
  }

  /// Sums of differences drift: the best plan is added up anew.
  void keepIfBest() {
    cost = evaluate(problem, choices);
    double price = priceOf(cost);
    if (std::isinf(price) || price >= bestPrice)
      return;
    bestPrice = price;
    sinceBest = 0;
    bool isWithin = !problem.memoryLimitBytes || cost.bytes <= *problem.memoryLimitBytes;
    // A plan that fits is never given up for one that does not.
    if (!isWithin && best.status == SolutionStatus::found)
      return;
    if (isWithin && best.status == SolutionStatus::found && cost.seconds >= best.seconds)
      return;
    best.status = isWithin ? SolutionStatus::found : SolutionStatus::overMemory;
    best.choices = choices;
    best.seconds = cost.seconds;
    best.bytes = cost.bytes;
  }

  void returnToBest() {
    choices = best.choices;
    cost = {best.seconds, best.bytes};
    sinceBest = 0;
  }

  const Problem &problem;
  const McmcOptions &options;
  const Domains domains;
  const Adjacency adjacency;
  std::mt19937_64 random;
  std::vector<uint32_t> open; // nodes with a choice
  std::vector<uint32_t> choices;
  PlanCost cost;
  double scaleSeconds = 1, bestPrice = forbidden;
  uint64_t sinceBest = 0;
  Solution best;
};
} // namespace

Solution pdc::plan::solveByMcmc(const Problem &problem, const McmcOptions &options) {
  return McmcSearch(problem, options).run();
}
