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
  RunnerUpSearch(const Problem &problem, const Solution &solution, const SearchLimits &limits)
      : problem(problem), solution(solution), limits(limits), domains(allowedChoices(problem)),
        adjacency(problem), pricing{solution.secondsPerByte}, runnerUps(problem.nodes.size()) {}

  std::vector<std::optional<RunnerUp>> run() {
    double planCost = pricing.cost(solution.seconds, solution.bytes) -
                      pricing.cost(problem.fixedSeconds, problem.fixedBytes);
    // Dominated choices may be runner-ups: all of them if that is possible, those that are left otherwise.
    if (!fromMarginals(buildNetwork(problem, domains, pricing, planCost), domains)) {
      Domains pruned = domains;
      SolverStatistics statistics;
      CostNetwork network = buildPrunedNetwork(problem, pruned, pricing, planCost, statistics);
      fromMarginals(std::move(network), pruned);
    }
    for (uint32_t node = 0; node < runnerUps.size(); ++node)
      if (!runnerUps[node])
        fromNeighbors(node);
    return std::move(runnerUps);
  }

private:
  bool fromMarginals(CostNetwork network, const Domains &searched) {
    EliminationOrder order = orderElimination(network);
    Elimination elimination(network, order);
    Marginals marginals(network, order, elimination);
    SolverStatistics statistics;
    if (order.largestBucket > limits.operations / 4)
      return false;
    std::optional<double> least = elimination.run(limits, statistics);
    if (!least || std::isinf(*least) || !marginals.run(limits, statistics))
      return false;
    for (uint32_t variable = 0; variable < network.extents.size(); ++variable) {
      uint32_t node = network.nodeOf[variable];
      const std::vector<double> &extra = marginals.ofVariable(variable);
      for (size_t i = 0; i < extra.size(); ++i)
        consider(node, {searched[node][i], extra[i] * network.quantum, true});
    }
    return true;
  }

  void consider(uint32_t node, RunnerUp candidate) {
    if (candidate.choice == solution.choices[node] || std::isinf(candidate.extraSeconds))
      return;
    if (!runnerUps[node] || candidate.extraSeconds < runnerUps[node]->extraSeconds)
      runnerUps[node] = candidate;
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
  const SearchLimits &limits;
  const Domains domains;
  const Adjacency adjacency;
  const Pricing pricing;
  std::vector<std::optional<RunnerUp>> runnerUps;
};
} // namespace

std::vector<std::optional<RunnerUp>>
pdc::plan::findRunnerUps(const Problem &problem, const Solution &solution, const SearchLimits &limits) {
  if (solution.choices.size() != problem.nodes.size())
    return std::vector<std::optional<RunnerUp>>(problem.nodes.size());
  return RunnerUpSearch(problem, solution, limits).run();
}
