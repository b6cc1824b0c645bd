//===- Marginals.cpp - what each choice costs at best ---------------------===//

#include "compiler/plan/problem/Marginals.h"
#include <algorithm>
#include <cmath>

using namespace pdc::plan;

std::vector<uint32_t> Marginals::keyOf(size_t index) const {
  const EliminationStep &step = order.steps[index];
  std::vector<uint32_t> bucket = bucketVariables(step.variable, step.scope);
  std::vector<uint32_t> key{outsides[index], step.variable == bucket.back()};
  for (uint32_t variable : bucket) {
    key.push_back(network.extents[variable]);
    key.push_back(variable == step.variable);
  }
  for (uint32_t input : step.inputs) {
    uint64_t bits = variableBits(elimination.scopeOf(input), bucket);
    key.push_back(elimination.tableOf(input));
    key.push_back(static_cast<uint32_t>(bits));
    key.push_back(static_cast<uint32_t>(bits >> 32));
    key.push_back(input < network.factors.size());
  }
  return key;
}

Marginals::Tables Marginals::compute(size_t index) {
  const EliminationStep &step = order.steps[index];
  Bucket bucket = elimination.bucketOf(step);
  std::vector<std::vector<uint32_t>> targets{{bucket.eliminated}};
  std::vector<uint32_t> messages;
  for (size_t i = 0; i < step.inputs.size(); ++i)
    if (step.inputs[i] >= network.factors.size()) {
      targets.push_back(bucket.tables[i].axes);
      messages.push_back(elimination.tableOf(step.inputs[i]));
    }
  std::vector<AxisTable> tables = bucket.tables;
  AxisTable &outside = tables.emplace_back();
  outside.entries = network.pool[outsides[index]].data();
  for (uint32_t axis = 0; axis < bucket.extents.size(); ++axis)
    if (axis != bucket.eliminated)
      outside.axes.push_back(axis);

  std::vector<std::vector<double>> projections = minProjections(bucket.extents, tables, targets);
  // The message is kept without its least entry: so much is every sum here above what it should be.
  double least = *std::min_element(projections[0].begin(), projections[0].end());
  for (double &entry : projections[0])
    entry -= least;
  Tables result{network.pool.intern(std::move(projections[0])), {}};
  for (size_t i = 0; i < messages.size(); ++i) {
    std::vector<double> &entries = projections[i + 1];
    const std::vector<double> &message = network.pool[messages[i]];
    for (size_t k = 0; k < entries.size(); ++k)
      if (!std::isinf(entries[k]))
        entries[k] -= least + message[k];
    result.outsides.push_back(network.pool.intern(std::move(entries)));
  }
  return result;
}

bool Marginals::run(const SearchLimits &limits, SolverStatistics &statistics) {
  marginals.assign(network.extents.size(), 0);
  // What no step takes up stands outside of nothing.
  outsides.assign(order.steps.size(), network.pool.intern({0.0}));
  double operations = 0;
  for (size_t index = order.steps.size(); index-- > 0;) {
    const EliminationStep &step = order.steps[index];
    std::vector<uint32_t> key = keyOf(index);
    auto it = known.find(key);
    if (it != known.end()) {
      ++statistics.memoHits;
    } else {
      operations += entriesOf(step.scope, network.extents) * network.extents[step.variable];
      if (operations > limits.operations || network.pool.totalEntries() > limits.tableEntries)
        return false;
      ++statistics.tablesComputed;
      it = known.emplace(std::move(key), compute(index)).first;
    }
    marginals[step.variable] = it->second.marginal;
    size_t next = 0;
    for (uint32_t input : step.inputs)
      if (input >= network.factors.size())
        outsides[input - network.factors.size()] = it->second.outsides[next++];
  }
  statistics.operations += operations;
  return true;
}
