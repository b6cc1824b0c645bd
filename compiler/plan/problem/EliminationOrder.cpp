//===- EliminationOrder.cpp - in which order nodes are eliminated ---------===//

#include "compiler/plan/problem/EliminationOrder.h"
#include <algorithm>
#include <optional>
#include <set>

using namespace pdc::plan;

std::vector<uint32_t> pdc::plan::bucketVariables(uint32_t variable, const std::vector<uint32_t> &scope) {
  std::vector<uint32_t> bucket = scope;
  bucket.insert(std::upper_bound(bucket.begin(), bucket.end(), variable), variable);
  return bucket;
}

uint64_t pdc::plan::variableBits(const std::vector<uint32_t> &scope, const std::vector<uint32_t> &bucket) {
  uint64_t bits = 0;
  size_t position = 0;
  for (uint32_t variable : scope) {
    while (bucket[position] != variable)
      ++position;
    bits |= uint64_t{1} << position;
  }
  return bits;
}

std::vector<uint32_t> pdc::plan::stepKey(uint32_t variable, const std::vector<uint32_t> &bucket,
                                         const std::vector<uint32_t> &extents,
                                         std::vector<StepInput> inputs) {
  std::sort(inputs.begin(), inputs.end());
  std::vector<uint32_t> key;
  key.reserve(1 + bucket.size() + 3 * inputs.size());
  key.push_back(
      static_cast<uint32_t>(std::lower_bound(bucket.begin(), bucket.end(), variable) - bucket.begin()));
  for (uint32_t other : bucket)
    key.push_back(extents[other]);
  for (const StepInput &input : inputs) {
    key.push_back(input.table);
    key.push_back(static_cast<uint32_t>(input.variables));
    key.push_back(static_cast<uint32_t>(input.variables >> 32));
  }
  return key;
}

double pdc::plan::entriesOf(const std::vector<uint32_t> &scope, const std::vector<uint32_t> &extents) {
  double entries = 1;
  for (uint32_t variable : scope)
    entries *= extents[variable];
  return entries;
}

namespace {
/// `free`: only what makes no table larger than the largest that it takes in.
enum class Heuristic { free, weight, growth, sharedWeight };

/// Eliminates on paper: tables are numbers of kinds.
class GreedyOrder {
public:
  explicit GreedyOrder(const CostNetwork &network) : network(network) {
    for (const Factor &factor : network.factors)
      tables.push_back({factor.scope, factor.table});
    liveInputs.resize(network.extents.size());
    for (uint32_t i = 0; i < network.factors.size(); ++i)
      for (uint32_t variable : network.factors[i].scope)
        liveInputs[variable].push_back(i);
    kindOf.assign(network.extents.size(), none);
    for (uint32_t variable = 0; variable < network.extents.size(); ++variable)
      classify(variable);
  }

  /// Goes on by another heuristic, as long as there is something for it. Nothing if it would take at least `operations`.
  std::optional<EliminationOrder> run(Heuristic next, double operations) {
    heuristic = next;
    queue.clear();
    for (uint32_t kind = 0; kind < kinds.size(); ++kind)
      if (!kinds[kind].members.empty())
        queue.emplace(scoreOf(kinds[kind]), kind);
    while (!queue.empty()) {
      if (order.operations >= operations)
        return std::nullopt;
      if (heuristic == Heuristic::free && queue.begin()->first == unsuitable)
        break;
      uint32_t kind = queue.begin()->second;
      // Members that touch each other change kind when the first goes.
      std::vector<uint32_t> members(kinds[kind].members.begin(), kinds[kind].members.end());
      for (uint32_t variable : members)
        if (kindOf[variable] == kind)
          eliminate(variable);
    }
    return order;
  }

private:
  struct PaperTable {
    std::vector<uint32_t> scope;
    uint32_t number;
  };
  struct Kind {
    std::set<uint32_t> members;
    double bucketEntries = 0, messageEntries = 0, inputEntries = 0, largestInput = 0;
    bool isCounted = false; // in the sums of the order
    uint32_t message = none;
    uint32_t shape = none; // kinds that differ in messages only have the same
  };

  double scoreOf(const Kind &kind) const {
    switch (heuristic) {
    case Heuristic::free:
      return kind.messageEntries <= kind.largestInput ? kind.bucketEntries : unsuitable;
    case Heuristic::weight:
      return kind.bucketEntries;
    case Heuristic::growth:
      return kind.messageEntries - kind.inputEntries;
    case Heuristic::sharedWeight:
      return kind.bucketEntries / static_cast<double>(kind.members.size());
    }
    return 0;
  }

  std::vector<uint32_t> scopeOf(uint32_t variable) const {
    std::vector<uint32_t> scope;
    for (uint32_t input : liveInputs[variable])
      scope.insert(scope.end(), tables[input].scope.begin(), tables[input].scope.end());
    std::sort(scope.begin(), scope.end());
    scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
    std::erase(scope, variable);
    return scope;
  }

  void leaveKind(uint32_t variable) {
    if (kindOf[variable] == none)
      return;
    Kind &kind = kinds[kindOf[variable]];
    queue.erase({scoreOf(kind), kindOf[variable]});
    kind.members.erase(variable);
    if (!kind.members.empty())
      queue.emplace(scoreOf(kind), kindOf[variable]);
    kindOf[variable] = none;
  }

  /// Finds which others a variable would be eliminated like.
  void classify(uint32_t variable) {
    leaveKind(variable);
    std::vector<uint32_t> scope = scopeOf(variable), bucket = bucketVariables(variable, scope), key;
    // Far too wide for any table: nothing is known to be the same.
    if (bucket.size() > 64) {
      key = bucket;
    } else {
      std::vector<StepInput> inputs;
      for (uint32_t input : liveInputs[variable])
        inputs.push_back({tables[input].number, variableBits(tables[input].scope, bucket)});
      key = stepKey(variable, bucket, network.extents, std::move(inputs));
    }
    uint32_t number = numbering(key);
    if (number == kinds.size()) {
      Kind &kind = kinds.emplace_back();
      kind.messageEntries = entriesOf(scope, network.extents);
      kind.bucketEntries = kind.messageEntries * network.extents[variable];
      kind.shape = shapeOf(variable, bucket);
      for (uint32_t input : liveInputs[variable]) {
        double entries = entriesOf(tables[input].scope, network.extents);
        kind.inputEntries += entries;
        kind.largestInput = std::max(kind.largestInput, entries);
      }
    }
    Kind &kind = kinds[number];
    if (!kind.members.empty())
      queue.erase({scoreOf(kind), number});
    kind.members.insert(variable);
    queue.emplace(scoreOf(kind), number);
    kindOf[variable] = number;
  }

  uint32_t shapeOf(uint32_t variable, const std::vector<uint32_t> &bucket) {
    std::vector<uint32_t> key = bucket;
    if (bucket.size() <= 64) {
      std::vector<StepInput> inputs;
      for (uint32_t input : liveInputs[variable])
        inputs.push_back({input < network.factors.size() ? tables[input].number : none,
                          variableBits(tables[input].scope, bucket)});
      key = stepKey(variable, bucket, network.extents, std::move(inputs));
    }
    uint32_t shape = shapes(key);
    countOfShape.resize(shapes.size(), 0);
    return shape;
  }

  void eliminate(uint32_t variable) {
    uint32_t number = kindOf[variable];
    leaveKind(variable);
    Kind &kind = kinds[number];
    EliminationStep step{variable, scopeOf(variable), std::move(liveInputs[variable])};
    if (!kind.isCounted) {
      kind.isCounted = true;
      kind.message = nextMessage++;
      order.largestBucket = std::max(order.largestBucket, kind.bucketEntries);
      // Messages that run along equal layers repeat themselves after a few.
      if (++countOfShape[kind.shape] <= transient)
        order.operations += kind.bucketEntries;
    }
    order.width = std::max(order.width, static_cast<uint32_t>(step.scope.size()));
    auto message = static_cast<uint32_t>(tables.size());
    tables.push_back({step.scope, kind.message});
    for (uint32_t other : step.scope) {
      std::vector<uint32_t> &inputs = liveInputs[other];
      std::erase_if(inputs, [&](uint32_t input) {
        return std::binary_search(step.inputs.begin(), step.inputs.end(), input);
      });
      inputs.push_back(message); // stays ascending
      classify(other);
    }
    order.steps.push_back(std::move(step));
  }

  static constexpr uint32_t none = ~0u;
  static constexpr uint32_t transient = 8; // layers, about, before messages repeat themselves
  const CostNetwork &network;
  static constexpr double unsuitable = std::numeric_limits<double>::infinity();
  Heuristic heuristic = Heuristic::free;
  EliminationOrder order;
  std::vector<PaperTable> tables;                // factors, then messages
  std::vector<std::vector<uint32_t>> liveInputs; // of each variable, ascending
  std::vector<uint32_t> kindOf;                  // of each variable
  std::vector<Kind> kinds;
  KeyNumbering numbering, shapes;
  std::vector<uint32_t> countOfShape;          // kinds eliminated
  std::set<std::pair<double, uint32_t>> queue; // (score, kind)
  uint32_t nextMessage = 1u << 31;             // apart from the numbers of the pool
};
} // namespace

EliminationOrder pdc::plan::orderElimination(const CostNetwork &network) {
  // Less than it takes to make an order.
  double cheap = 500 * static_cast<double>(network.factors.size());
  EliminationOrder best;
  best.operations = std::numeric_limits<double>::infinity();
  // What makes no table larger than it takes in does no harm, and is the same for all.
  GreedyOrder begun(network);
  begun.run(Heuristic::free, best.operations);
  for (Heuristic heuristic : {Heuristic::sharedWeight, Heuristic::weight, Heuristic::growth})
    if (best.operations > cheap)
      if (auto order = GreedyOrder(begun).run(heuristic, best.operations);
          order && order->operations < best.operations)
        best = std::move(*order);
  return best;
}
