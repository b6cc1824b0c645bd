//===- MemoryLimit.cpp - the best plan that fits --------------------------===//
//
// The second and third step of Solver.h.
//
// 1. Lagrangian relaxation: a price of memory, in seconds for a byte, moves into the cost. The best plan at a price p is
//    a lower bound of L(p) = cost(p) - p * limit on every plan that fits, and may fit itself. The price with the highest
//    bound lies between one whose plan does not fit and one whose plan does; each step takes the price at which these
//    two cost the same (Handler and Zang 1980), and ends where nothing is cheaper than both.
// 2. Choices that make L(p) larger than the best known plan leave the problem (reduced-cost fixing).
// 3. Elimination with fronts of time and memory finds the best of what is left, or a bound where fronts become too
//    large.
//
//===----------------------------------------------------------------------===//

#include "compiler/plan/problem/Dominance.h"
#include "compiler/plan/problem/ParetoElimination.h"
#include "compiler/plan/problem/PricedSearch.h"
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

using namespace pdc::plan;

namespace {
class MemoryLimitSearch {
public:
  MemoryLimitSearch(const Problem &problem, const SearchLimits &limits)
      : problem(problem), adjacency(problem), domains(allowedChoices(problem)), limits(limits),
        limit(*problem.memoryLimitBytes) {}

  Solution probe(const Solution &fastest, double secondsPerByte) {
    solution = fastest;
    solution.status = SolutionStatus::overMemory;
    solution.seconds = forbidden; // of one that fits
    bound = fastest.lowerBoundSeconds;
    PricedPlan plan = solveAt(secondsPerByte);
    if (solution.status == SolutionStatus::found)
      return finish();
    solution.choices = std::move(plan.choices);
    solution.seconds = plan.total.seconds;
    solution.bytes = plan.total.bytes;
    solution.lowerBoundSeconds = std::min(bound, solution.seconds);
    solution.secondsPerByte = price;
    return std::move(solution);
  }

  Solution searchPrices(const Solution &fastest, const Solution &begin) {
    solution.statistics = begin.statistics;
    bound = begin.lowerBoundSeconds;
    price = begin.secondsPerByte;
    PlanCost fast{fastest.seconds, fastest.bytes}, from{begin.seconds, begin.bytes};
    if (begin.status == SolutionStatus::found) {
      keep(begin.choices);
      return bisect(fast, from), finish();
    }
    PricedPlan smallest = searchAtPrice(problem, adjacency, domains, {0, true}, limits, solution.statistics);
    solution.lowerBoundBytes = static_cast<int64_t>(std::ceil(smallest.lowerBound - 0.5));
    if (!smallest.isPossible || smallest.total.bytes > limit)
      return overMemory(smallest, fastest);
    keep(smallest.choices);
    return bisect(from, smallest.total), finish();
  }

  Solution closeGap(const Solution &priced) {
    solution = priced;
    bound = priced.lowerBoundSeconds;
    price = priced.secondsPerByte;
    std::unique_ptr<Relaxation> relaxed;
    uint32_t before = 0;
    for (uint32_t wanted : {4u, 32u, limits.frontSize, limits.frontSize}) {
      uint32_t frontSize = std::min(wanted, limits.frontSize);
      bool hasBetterPlan = relaxed && solution.seconds < relaxed->knownSeconds;
      if (isGoodEnough() || (frontSize == before && !hasBetterPlan))
        break;
      if (!relaxed || hasBetterPlan)
        relaxed = relax();
      if (!relaxed || bound >= solution.seconds || !searchFronts(*relaxed, frontSize))
        break;
      before = frontSize;
    }
    return finish();
  }

private:
  bool isGoodEnough() const {
    return bound >= std::min(solution.seconds * (1 - limits.smallGap), limits.usefulSeconds);
  }

  Solution finish() {
    bool isExact = bound >= solution.seconds;
    solution.proof = isExact ? Proof::exact : Proof::bound;
    solution.lowerBoundSeconds = std::min(bound, solution.seconds);
    solution.secondsPerByte = price;
    return std::move(solution);
  }

  Solution overMemory(const PricedPlan &smallest, const Solution &fastest) {
    solution.status = SolutionStatus::overMemory;
    solution.proof = smallest.isExact ? Proof::exact : Proof::bound;
    solution.choices = smallest.isPossible ? smallest.choices : fastest.choices;
    PlanCost cost = evaluate(problem, solution.choices);
    solution.seconds = cost.seconds;
    solution.bytes = cost.bytes;
    return std::move(solution);
  }

  /// Keeps the best plan that fits, after changing single decisions where that is faster and still fits.
  void keep(std::vector<uint32_t> choices) {
    PlanCost cost = evaluate(problem, choices);
    if (cost.bytes > limit || cost.seconds == forbidden)
      return;
    improveWithin(choices, limit - cost.bytes);
    cost = evaluate(problem, choices);
    if (cost.bytes > limit || cost.seconds >= solution.seconds)
      return;
    solution.status = SolutionStatus::found;
    solution.choices = std::move(choices);
    solution.seconds = cost.seconds;
    solution.bytes = cost.bytes;
  }

  void improveWithin(std::vector<uint32_t> &choices, int64_t bytesLeft) const {
    const Pricing bytesOnly{0, true};
    for (int sweep = 0; sweep < 3; ++sweep)
      for (uint32_t node = 0; node < choices.size(); ++node) {
        double least = costBeside(problem, adjacency, {}, node, choices[node], choices);
        for (uint32_t choice : domains[node]) {
          double seconds = costBeside(problem, adjacency, {}, node, choice, choices);
          if (seconds >= least)
            continue;
          auto more =
              static_cast<int64_t>(costBeside(problem, adjacency, bytesOnly, node, choice, choices) -
                                   costBeside(problem, adjacency, bytesOnly, node, choices[node], choices));
          if (more > bytesLeft)
            continue;
          bytesLeft -= more;
          least = seconds;
          choices[node] = choice;
        }
      }
  }

  /// `fast` takes too much memory, `small` fits.
  void bisect(PlanCost fast, PlanCost small) {
    for (int step = 0; step < 40 && fast.seconds < small.seconds; ++step) {
      double tried = (small.seconds - fast.seconds) / static_cast<double>(fast.bytes - small.bytes);
      Pricing pricing{tried};
      PricedPlan plan = solveAt(tried);
      if (isGoodEnough())
        return;
      double both = pricing.cost(fast.seconds, fast.bytes);
      if (pricing.cost(plan.total.seconds, plan.total.bytes) >= both * (1 - 1e-12))
        return;
      (plan.total.bytes > limit ? fast : small) = plan.total;
    }
  }

  void raiseBound(double tried, double pricedBound) {
    double seconds = pricedBound - tried * static_cast<double>(limit);
    if (seconds <= bound && price > 0)
      return;
    bound = std::max(bound, seconds);
    price = tried;
  }

  PricedPlan solveAt(double tried) {
    PricedPlan plan = searchAtPrice(problem, adjacency, domains, {tried}, limits, solution.statistics);
    raiseBound(tried, plan.lowerBound);
    keep(plan.choices);
    return plan;
  }

  /// What may be better than the best known plan, and what each choice costs there at the price.
  struct Relaxation {
    double knownSeconds; // of that plan
    Domains useful;
    PricedNetworks networks;
    EliminationOrder order;
    std::optional<Elimination> elimination;
    std::optional<Marginals> marginals;
    double least = 0; // quanta

    /// False if that is not possible within the limits.
    bool run(const SearchLimits &limits, SolverStatistics &statistics) {
      order = orderElimination(networks.priced);
      elimination.emplace(networks.priced, order);
      if (order.largestBucket > limits.operations / 4)
        return false;
      std::optional<double> found = elimination->run(limits, statistics);
      marginals.emplace(networks.priced, order, *elimination);
      if (!found || !marginals->run(limits, statistics))
        return false;
      ++statistics.solves;
      least = *found;
      return true;
    }
  };

  /// Null if that is not possible within the limits. Where nothing is left the bound is the plan.
  std::unique_ptr<Relaxation> relax() {
    auto relaxed = std::make_unique<Relaxation>();
    relaxed->knownSeconds = solution.seconds;
    relaxed->useful = domains;
    CostNetwork &priced = relaxed->networks.priced;
    // Twice: with less choices bounds are the same, but tables are smaller and more is dominated.
    for (int round = 0; round < 2; ++round) {
      buildNetworks(relaxed->useful, relaxed->networks);
      if (!relaxed->run(limits, solution.statistics))
        return nullptr;
      double usefulQuanta = pricedQuanta(priced, {price});
      if (std::isinf(relaxed->least) || relaxed->least >= usefulQuanta) {
        bound = solution.seconds;
        break;
      }
      if (round == 0)
        removeUseless(priced, *relaxed->marginals, usefulQuanta - relaxed->least, relaxed->useful);
    }
    return relaxed;
  }

  /// What a plan costs at the price if it is as fast as the best known one and fills the limit: at least that,
  /// and it is of no use. Rounding is on the safe side.
  double pricedQuanta(const CostNetwork &network, const Pricing &pricing) const {
    double cost = pricing.cost(solution.seconds - problem.fixedSeconds, limit - problem.fixedBytes);
    return std::ceil((cost + network.roundingCost) / network.quantum);
  }

  void buildNetworks(Domains &useful, PricedNetworks &networks) const {
    double fastest = solution.seconds - problem.fixedSeconds;
    auto bytes = static_cast<double>(limit - problem.fixedBytes);
    for (int round = 0; round < 4; ++round) {
      networks.seconds = buildNetwork(problem, useful, {}, fastest);
      networks.bytes = buildNetwork(problem, useful, {0, true}, bytes);
      Domains pruned = pruneDominated({&networks.seconds, &networks.bytes}, useful);
      if (pruned == useful)
        break;
      useful = std::move(pruned);
    }
    networks.seconds = buildNetwork(problem, useful, {}, fastest);
    networks.bytes = buildNetwork(problem, useful, {0, true}, bytes);
    networks.priced = buildNetwork(problem, useful, {price}, fastest + price * bytes);
  }

  static void removeUseless(const CostNetwork &network, const Marginals &marginals, double usefulQuanta,
                            Domains &domains) {
    for (uint32_t variable = 0; variable < network.extents.size(); ++variable) {
      std::vector<uint32_t> &domain = domains[network.nodeOf[variable]];
      const std::vector<double> &extra = marginals.ofVariable(variable);
      std::vector<uint32_t> stays;
      for (size_t i = 0; i < extra.size(); ++i)
        if (extra[i] < usefulQuanta)
          stays.push_back(domain[i]);
      domain = std::move(stays);
    }
  }

  /// The best of what is left, with fronts of this size. False if that is not possible within the limits.
  bool searchFronts(const Relaxation &relaxed, uint32_t frontSize) {
    Pricing pricing{price};
    const PricedNetworks &networks = relaxed.networks;
    ParetoLimits pareto;
    pareto.bytes = std::floor(static_cast<double>(limit - problem.fixedBytes) / networks.bytes.quantum);
    pareto.pricedQuanta = pricedQuanta(networks.priced, pricing);
    pareto.frontSize = frontSize;
    ParetoResult found = eliminatePareto(networks, relaxed.order, *relaxed.elimination, *relaxed.marginals,
                                         relaxed.least, pareto, limits);
    if (found.isAborted)
      return false;
    if (!found.choices.empty())
      keep(choicesOfNodes(networks.priced, relaxed.useful, found.choices));
    // Whatever is better than the best known plan was dropped.
    double dropped = found.droppedBound * networks.priced.quantum - networks.priced.roundingCost +
                     pricing.cost(problem.fixedSeconds, problem.fixedBytes) -
                     price * static_cast<double>(limit);
    bound = std::max(bound, std::min(dropped, solution.seconds));
    return true;
  }

  const Problem &problem;
  const Adjacency adjacency;
  const Domains domains;
  const SearchLimits &limits;
  const int64_t limit;
  double bound = 0; // seconds; nothing that fits is faster
  double price = 0; // of the highest bound
  Solution solution;
};
} // namespace

Solution pdc::plan::solveAtPrice(const Problem &problem, const Solution &fastest, double secondsPerByte,
                                 const SearchLimits &limits) {
  return MemoryLimitSearch(problem, limits).probe(fastest, secondsPerByte);
}

Solution pdc::plan::solveAtPrices(const Problem &problem, const Solution &fastest, const Solution &begin,
                                  const SearchLimits &limits) {
  return MemoryLimitSearch(problem, limits).searchPrices(fastest, begin);
}

Solution pdc::plan::closeGap(const Problem &problem, const Solution &priced, const SearchLimits &limits) {
  return MemoryLimitSearch(problem, limits).closeGap(priced);
}
