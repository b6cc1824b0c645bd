//===- Elimination.cpp - the exact solution of a network ------------------===//

#include "compiler/plan/problem/Elimination.h"
#include <algorithm>
#include <cmath>

using namespace pdc::plan;

Bucket Elimination::bucketOf(const EliminationStep &step) const {
  std::vector<uint32_t> variables = bucketVariables(step.variable, step.scope);
  Bucket bucket;
  for (uint32_t axis = 0; axis < variables.size(); ++axis) {
    bucket.extents.push_back(network.extents[variables[axis]]);
    if (variables[axis] == step.variable)
      bucket.eliminated = axis;
  }
  for (uint32_t input : step.inputs) {
    AxisTable &table = bucket.tables.emplace_back();
    table.entries = network.pool[tableOf(input)].data();
    for (uint32_t variable : scopeOf(input))
      table.axes.push_back(static_cast<uint32_t>(
          std::lower_bound(variables.begin(), variables.end(), variable) - variables.begin()));
  }
  return bucket;
}

Elimination::Message Elimination::compute(const EliminationStep &step, SolverStatistics &statistics) {
  Bucket bucket = bucketOf(step);
  std::vector<double> entries = minSum(bucket);
  ++statistics.tablesComputed;
  statistics.tableEntries += static_cast<double>(entries.size());
  statistics.operations += static_cast<double>(bucket.entries());
  double least = *std::min_element(entries.begin(), entries.end());
  if (!std::isinf(least))
    for (double &entry : entries)
      entry -= least;
  return {network.pool.intern(std::move(entries)), least};
}

std::optional<double> Elimination::run(const SearchLimits &limits, SolverStatistics &statistics) {
  double total = network.constant, operations = 0, entries = 0;
  messages.reserve(order.steps.size());
  statistics.inducedWidth = std::max(statistics.inducedWidth, order.width);
  for (const EliminationStep &step : order.steps) {
    ++statistics.eliminations;
    std::vector<uint32_t> bucket = bucketVariables(step.variable, step.scope);
    std::vector<StepInput> inputs;
    for (uint32_t input : step.inputs)
      inputs.push_back({tableOf(input), variableBits(scopeOf(input), bucket)});
    std::vector<uint32_t> key = stepKey(step.variable, bucket, network.extents, std::move(inputs));
    auto it = known.find(key);
    if (it != known.end() && remembers) {
      ++statistics.memoHits;
    } else {
      double messageEntries = entriesOf(step.scope, network.extents);
      operations += messageEntries * network.extents[step.variable];
      entries += messageEntries;
      if (operations > limits.operations || entries > limits.tableEntries)
        return std::nullopt;
      it = known.insert_or_assign(std::move(key), compute(step, statistics)).first;
    }
    messages.push_back(it->second.table);
    constants.push_back(it->second.constant);
    total += it->second.constant;
    if (std::isinf(total))
      break;
  }
  return total;
}

void Elimination::addInputs(const EliminationStep &step, const std::vector<uint32_t> &choices,
                            std::vector<double> &sums) const {
  for (uint32_t input : step.inputs) {
    const std::vector<uint32_t> &scope = scopeOf(input);
    size_t offset = 0, stride = 1, own = 0;
    for (size_t axis = scope.size(); axis-- > 0;) {
      if (scope[axis] == step.variable)
        own = stride;
      else
        offset += stride * choices[scope[axis]];
      stride *= network.extents[scope[axis]];
    }
    const double *entries = network.pool[tableOf(input)].data() + offset;
    for (size_t choice = 0; choice < sums.size(); ++choice)
      sums[choice] += entries[choice * own];
  }
}

double Elimination::messageAt(size_t step, const std::vector<uint32_t> &choices) const {
  size_t offset = 0;
  for (uint32_t variable : order.steps[step].scope)
    offset = offset * network.extents[variable] + choices[variable];
  return network.pool[messages[step]][offset] + constants[step];
}

std::vector<uint32_t> Elimination::choices() const {
  std::vector<uint32_t> choices(network.extents.size(), 0);
  std::vector<double> sums;
  for (size_t i = order.steps.size(); i-- > 0;) {
    const EliminationStep &step = order.steps[i];
    sums.assign(network.extents[step.variable], 0.0);
    addInputs(step, choices, sums);
    choices[step.variable] = static_cast<uint32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
  }
  return choices;
}
