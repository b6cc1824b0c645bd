//===- BranchAndBound.cpp - where tables would be too wide ----------------===//

#include "compiler/plan/problem/BranchAndBound.h"
#include <algorithm>

using namespace pdc::plan;

//===----------------------------------------------------------------------===//
// Mini-buckets
//===----------------------------------------------------------------------===//

namespace {
class StepSplitter {
public:
  StepSplitter(const CostNetwork &network, double maxBucketEntries)
      : network(network), maxBucketEntries(maxBucketEntries), liveInputs(network.extents.size()) {
    for (const Factor &factor : network.factors)
      addInput(factor.scope);
  }

  void split(uint32_t variable) {
    std::vector<uint32_t> inputs;
    for (uint32_t input : liveInputs[variable])
      if (isLive[input])
        inputs.push_back(input);
    for (std::vector<uint32_t> &group : group(inputs)) {
      EliminationStep step{variable, {}, std::move(group)};
      for (uint32_t input : step.inputs) {
        isLive[input] = false;
        step.scope = unite(step.scope, scopes[input]);
      }
      result.largestBucket = std::max(result.largestBucket, entriesOf(step.scope, network.extents));
      std::erase(step.scope, variable);
      result.width = std::max(result.width, static_cast<uint32_t>(step.scope.size()));
      addInput(step.scope);
      result.steps.push_back(std::move(step));
    }
  }

  EliminationOrder result;

private:
  static std::vector<uint32_t> unite(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
    std::vector<uint32_t> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
  }

  void addInput(const std::vector<uint32_t> &scope) {
    auto number = static_cast<uint32_t>(scopes.size());
    scopes.push_back(scope);
    isLive.push_back(true);
    for (uint32_t variable : scope)
      liveInputs[variable].push_back(number);
  }

  /// Large tables first, each into the first group that stays narrow with it.
  std::vector<std::vector<uint32_t>> group(const std::vector<uint32_t> &inputs) const {
    std::vector<std::pair<double, uint32_t>> largestFirst;
    for (uint32_t input : inputs)
      largestFirst.emplace_back(-entriesOf(scopes[input], network.extents), input);
    std::sort(largestFirst.begin(), largestFirst.end());
    std::vector<std::vector<uint32_t>> groups, groupScopes;
    for (auto [entries, input] : largestFirst) {
      size_t into = 0;
      while (into < groups.size() &&
             entriesOf(unite(groupScopes[into], scopes[input]), network.extents) > maxBucketEntries)
        ++into;
      if (into == groups.size()) {
        groups.emplace_back();
        groupScopes.emplace_back();
      }
      groups[into].push_back(input);
      groupScopes[into] = unite(groupScopes[into], scopes[input]);
    }
    return groups;
  }

  const CostNetwork &network;
  const double maxBucketEntries;
  std::vector<std::vector<uint32_t>> scopes; // of factors and messages
  std::vector<bool> isLive;
  std::vector<std::vector<uint32_t>> liveInputs; // of each variable
};
} // namespace

EliminationOrder pdc::plan::splitWideSteps(const CostNetwork &network, const EliminationOrder &order,
                                           double maxBucketEntries) {
  StepSplitter splitter(network, maxBucketEntries);
  for (const EliminationStep &step : order.steps)
    splitter.split(step.variable);
  return std::move(splitter.result);
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace {
class DepthFirstSearch {
public:
  DepthFirstSearch(const CostNetwork &network, const EliminationOrder &order, const Elimination &elimination,
                   double planCost, uint64_t maxNodes)
      : network(network), order(order), elimination(elimination), bestCost(planCost), maxNodes(maxNodes),
        choices(network.extents.size(), 0) {
    // The last eliminated variable is chosen first; its steps follow each other.
    for (size_t end = order.steps.size(); end > 0;) {
      size_t begin = end - 1;
      while (begin > 0 && order.steps[begin - 1].variable == order.steps[end - 1].variable)
        --begin;
      levels.push_back({begin, end});
      end = begin;
    }
  }

  BranchAndBoundResult run(double bound) {
    BranchAndBoundResult result;
    if (levels.empty()) {
      result.isComplete = true;
      result.lowerBound = bound;
      return result;
    }
    open(bound);
    while (!frames.empty() && nodes < maxNodes) {
      Frame &frame = frames.back();
      bool isExhausted = frame.next == frame.candidates.size() ||
                         frame.bound + frame.candidates[frame.next].first >= bestCost;
      if (isExhausted)
        frames.pop_back();
      else
        descendInto(frame);
    }
    result.isComplete = frames.empty();
    result.lowerBound = bestCost;
    for (const Frame &frame : frames)
      if (frame.next < frame.candidates.size())
        result.lowerBound = std::min(result.lowerBound, frame.bound + frame.candidates[frame.next].first);
    result.choices = std::move(best);
    return result;
  }

  uint64_t nodes = 0;

private:
  struct Frame {
    std::vector<std::pair<double, uint32_t>> candidates; // (rise of the bound, choice), ascending
    size_t next;
    double bound;
  };

  void descendInto(Frame &frame) {
    auto [rise, choice] = frame.candidates[frame.next++];
    double bound = frame.bound + rise;
    choices[order.steps[levels[frames.size() - 1].first].variable] = choice;
    ++nodes;
    if (frames.size() < levels.size()) {
      open(bound);
      return;
    }
    bestCost = bound;
    best = choices;
  }

  /// By how much each choice of the next variable raises the bound: its tables take the place of their
  /// messages.
  void open(double bound) {
    auto [begin, end] = levels[frames.size()];
    uint32_t variable = order.steps[begin].variable;
    std::vector<double> rises(network.extents[variable], 0.0);
    for (size_t i = begin; i < end; ++i) {
      elimination.addInputs(order.steps[i], choices, rises);
      double message = elimination.messageAt(i, choices);
      for (double &rise : rises)
        rise -= message;
    }
    Frame &frame = frames.emplace_back(Frame{{}, 0, bound});
    for (uint32_t choice = 0; choice < rises.size(); ++choice)
      frame.candidates.emplace_back(rises[choice], choice);
    std::sort(frame.candidates.begin(), frame.candidates.end());
  }

  const CostNetwork &network;
  const EliminationOrder &order;
  const Elimination &elimination;
  double bestCost;
  const uint64_t maxNodes;
  std::vector<std::pair<size_t, size_t>> levels; // steps of the variable at each depth
  std::vector<Frame> frames;
  std::vector<uint32_t> choices, best;
};
} // namespace

BranchAndBoundResult pdc::plan::branchAndBound(const CostNetwork &network, const EliminationOrder &order,
                                               const Elimination &elimination, double bound, double planCost,
                                               const SearchLimits &limits, SolverStatistics &statistics) {
  DepthFirstSearch search(network, order, elimination, planCost, limits.searchNodes);
  BranchAndBoundResult result = search.run(bound);
  statistics.searchNodes += search.nodes;
  return result;
}
