//===- RunnerUps.cpp - what would have been second best -------------------===//

#include "compiler/plan/problem/RunnerUps.h"
#include "compiler/plan/problem/LocalSearch.h"
#include "compiler/plan/problem/Marginals.h"
#include "compiler/plan/problem/PricedSearch.h"
#include <algorithm>
#include <cmath>

using namespace pdc::plan;

namespace {
class RunnerUpSearch {
public:
  RunnerUpSearch(const Problem &problem, const Solution &solution, const std::vector<uint32_t> &asked,
                 const SearchLimits &limits)
      : problem(problem), solution(solution), asked(asked), limits(limits), domains(allowedChoices(problem)),
        adjacency(problem), pricing{solution.secondsPerByte}, taken(problem.nodes.size()),
        runnerUps(problem.nodes.size()) {
    for (uint32_t node : asked) {
      taken[node] = solution.choices[node];
      extras.push_back(extraNearby(node));
    }
    std::sort(extras.begin(), extras.end());
  }

  std::vector<std::optional<RunnerUp>> run() {
    double planCost = pricing.cost(solution.seconds, solution.bytes) -
                      pricing.cost(problem.fixedSeconds, problem.fixedBytes);
    // A runner-up may be dominated by the choice that is taken: if tables are too wide for that, by none.
    if (!fromMarginals(planCost, taken))
      fromMarginals(planCost, {});
    std::vector<std::optional<RunnerUp>> found;
    for (uint32_t node : asked) {
      if (!runnerUps[node])
        fromNeighbors(node);
      found.push_back(runnerUps[node]);
    }
    return found;
  }

private:
  bool fromMarginals(double planCost, const TakenChoices &guarded) {
    Domains searched = domains;
    SolverStatistics statistics;
    CostNetwork network = buildPrunedNetwork(problem, searched, pricing, planCost, statistics, guarded);
    return fromMarginals(std::move(network), searched);
  }

  bool fromMarginals(CostNetwork network, const Domains &searched) {
    EliminationOrder order = orderElimination(network);
    Elimination elimination(network, order);
    SolverStatistics statistics;
    if (order.largestBucket > limits.operations / 4)
      return false;
    std::optional<double> least = elimination.run(limits, statistics);
    if (!least || std::isinf(*least))
      return false;
    // Most runner-ups cost little more than the plan, and the less more is looked at, the smaller tables are.
    for (double extra = extras.empty() ? 0 : extras[extras.size() / 2];; extra = moreThan(extra)) {
      double useless = (extra + network.roundingCost) / network.quantum * (1 + 1e-9) + 2;
      Marginals marginals(network, order, elimination, useless);
      if (!marginals.run(limits, statistics))
        return false;
      considerAll(network, searched, marginals);
      if (extras.empty() || extra >= extras.back() || hasAll())
        return true;
    }
  }

  /// What to look at next; in the end everything.
  double moreThan(double extra) const {
    auto infinite = std::find(extras.begin(), extras.end(), forbidden);
    double largest = infinite == extras.begin() ? 0 : *(infinite - 1);
    double more = extra > 0 ? growth * extra : largest / (growth * growth);
    return more < largest ? more : extras.back();
  }

  /// Whether each node that has another choice has a runner-up.
  bool hasAll() const {
    return std::all_of(asked.begin(), asked.end(),
                       [&](uint32_t node) { return runnerUps[node] || domains[node].size() < 2; });
  }

  void considerAll(const CostNetwork &network, const Domains &searched, const Marginals &marginals) {
    for (uint32_t variable = 0; variable < network.extents.size(); ++variable) {
      uint32_t node = network.nodeOf[variable];
      if (!taken[node])
        continue;
      const std::vector<double> &extra = marginals.ofVariable(variable);
      for (size_t i = 0; i < extra.size(); ++i)
        consider(node, {searched[node][i], extra[i] * network.quantum, true});
    }
  }

  void consider(uint32_t node, RunnerUp candidate) {
    if (candidate.choice == solution.choices[node] || std::isinf(candidate.extraSeconds))
      return;
    if (!runnerUps[node] || candidate.extraSeconds < runnerUps[node]->extraSeconds)
      runnerUps[node] = candidate;
  }

  //===--------------------------------------------------------------------===//
  // Upper bounds
  //===--------------------------------------------------------------------===//

  /// By how much at most the plan with another choice of the node costs more: the decisions around it follow, the rest stays.
  /// Nothing (0) where there is no other choice, infinite where none is found.
  double extraNearby(uint32_t node) const {
    double least = domains[node].size() > 1 ? forbidden : 0;
    std::vector<uint32_t> choices = solution.choices;
    for (uint32_t choice : domains[node]) {
      if (choice == solution.choices[node])
        continue;
      choices[node] = choice;
      std::vector<uint32_t> changed = settle(node, choices);
      least = std::min(least, costOf(changed, choices) - costOf(changed, solution.choices));
      for (uint32_t other : changed)
        choices[other] = solution.choices[other];
    }
    return std::max(0.0, least);
  }

  /// Lets the neighbors of a node, and then theirs, take what costs least beside it. Returns what has another choice.
  std::vector<uint32_t> settle(uint32_t node, std::vector<uint32_t> &choices) const {
    std::vector<uint32_t> changed{node};
    for (size_t i = 0; i < changed.size() && i < mostSettled; ++i) {
      uint32_t from = changed[i];
      for (const Adjacency::Entry *entry = adjacency.begin(from); entry != adjacency.end(from); ++entry)
        if (uint32_t other = entry->neighbor; other != node && takeBest(other, choices) &&
                                              std::find(changed.begin(), changed.end(), other) == changed.end())
          changed.push_back(other);
    }
    return changed;
  }

  bool takeBest(uint32_t node, std::vector<uint32_t> &choices) const {
    uint32_t before = choices[node];
    double least = costBeside(problem, adjacency, pricing, node, before, choices);
    for (uint32_t choice : domains[node])
      if (double cost = costBeside(problem, adjacency, pricing, node, choice, choices); cost < least) {
        least = cost;
        choices[node] = choice;
      }
    return choices[node] != before;
  }

  /// Of some nodes, and of their edges, each once.
  double costOf(const std::vector<uint32_t> &nodes, const std::vector<uint32_t> &choices) const {
    double cost = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      cost += pricing.unary(problem.unaryTables[problem.nodes[nodes[i]].unaryTable], choices[nodes[i]]);
      for (const Adjacency::Entry *entry = adjacency.begin(nodes[i]); entry != adjacency.end(nodes[i]); ++entry)
        if (std::find(nodes.begin(), nodes.begin() + i, entry->neighbor) == nodes.begin() + i) {
          const PairTable &table = problem.pairTables[entry->pairTable];
          uint32_t own = choices[nodes[i]], other = choices[entry->neighbor];
          cost += entry->isFirst ? pricing.pair(table, own, other) : pricing.pair(table, other, own);
        }
    }
    return cost;
  }

  /// With all others as they are: an upper bound.
  void fromNeighbors(uint32_t node) {
    double own = costBeside(problem, adjacency, pricing, node, solution.choices[node], solution.choices);
    for (uint32_t choice : domains[node])
      consider(node,
               {choice,
                std::max(0.0, costBeside(problem, adjacency, pricing, node, choice, solution.choices) - own),
                false});
  }

  const Problem &problem;
  const Solution &solution;
  const std::vector<uint32_t> &asked;
  const SearchLimits &limits;
  const Domains domains;
  const Adjacency adjacency;
  const Pricing pricing;
  static constexpr size_t mostSettled = 12; // decisions around which others follow
  static constexpr double growth = 4;       // from one attempt to the next
  std::vector<double> extras;               // of the asked nodes, at most, ascending
  TakenChoices taken; // of the nodes that are asked for
  std::vector<std::optional<RunnerUp>> runnerUps;
};
} // namespace

std::vector<std::optional<RunnerUp>> pdc::plan::findRunnerUps(const Problem &problem, const Solution &solution,
                                                              const std::vector<uint32_t> &asked,
                                                              const SearchLimits &limits) {
  if (solution.choices.size() != problem.nodes.size())
    return std::vector<std::optional<RunnerUp>>(asked.size());
  return RunnerUpSearch(problem, solution, asked, limits).run();
}
