//===- Marginals.cpp - what each choice costs at best ---------------------===//

#include "compiler/plan/problem/Marginals.h"
#include "compiler/plan/problem/MinProjections.h"
#include <algorithm>
#include <cmath>
#include <numeric>

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

namespace {
/// Of each axis of a bucket the choices that some useful entry has: the rest of the tables is left out, and infinite in what
/// comes of them.
class UsefulPart {
public:
  UsefulPart(const std::vector<uint32_t> &extents, const AxisTable &outside) : extents(extents) {
    for (uint32_t extent : extents)
      choices.emplace_back(extent);
    for (auto &ofAxis : choices)
      std::iota(ofAxis.begin(), ofAxis.end(), 0);
    for (size_t i = 0; i < outside.axes.size(); ++i)
      choices[outside.axes[i]] = findUseful(outside, i);
  }

  std::vector<uint32_t> usefulExtents() const {
    std::vector<uint32_t> useful;
    for (const auto &ofAxis : choices)
      useful.push_back(static_cast<uint32_t>(ofAxis.size()));
    return useful;
  }

  /// The table's useful entries, one after the other.
  std::vector<double> take(const AxisTable &table) const {
    std::vector<double> useful;
    forEach(table.axes, [&](size_t offset) { useful.push_back(table.entries[offset]); });
    return useful;
  }

  /// A table of which these are the useful entries.
  std::vector<double> spread(const std::vector<double> &useful, const std::vector<uint32_t> &axes) const {
    std::vector<double> entries(entriesOf(axes), forbidden);
    size_t next = 0;
    forEach(axes, [&](size_t offset) { entries[offset] = useful[next++]; });
    return entries;
  }

private:
  size_t entriesOf(const std::vector<uint32_t> &axes) const {
    size_t entries = 1;
    for (uint32_t axis : axes)
      entries *= extents[axis];
    return entries;
  }

  /// The choices of one of the table's axes that have a finite entry.
  std::vector<uint32_t> findUseful(const AxisTable &table, size_t position) const {
    size_t inner = 1, own = extents[table.axes[position]], outer = entriesOf(table.axes);
    for (size_t i = position + 1; i < table.axes.size(); ++i)
      inner *= extents[table.axes[i]];
    outer /= inner * own;
    std::vector<uint32_t> useful;
    for (uint32_t choice = 0; choice < own; ++choice) {
      bool isUseful = false;
      for (size_t i = 0; i < outer && !isUseful; ++i) {
        const double *row = table.entries + (i * own + choice) * inner;
        isUseful = std::any_of(row, row + inner, [](double entry) { return entry != forbidden; });
      }
      if (isUseful)
        useful.push_back(choice);
    }
    return useful;
  }

  template <typename Visit> void forEach(const std::vector<uint32_t> &axes, Visit visit) const {
    std::vector<size_t> strides(axes.size(), 1);
    for (size_t i = axes.size(); i-- > 1;)
      strides[i - 1] = strides[i] * extents[axes[i]];
    forEach(axes, strides, 0, 0, visit);
  }
  template <typename Visit>
  void forEach(const std::vector<uint32_t> &axes, const std::vector<size_t> &strides, size_t position, size_t offset,
               Visit &visit) const {
    if (position == axes.size())
      return visit(offset);
    for (uint32_t choice : choices[axes[position]])
      forEach(axes, strides, position + 1, offset + choice * strides[position], visit);
  }

  const std::vector<uint32_t> &extents;
  std::vector<std::vector<uint32_t>> choices; // of each axis
};
} // namespace

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

  UsefulPart part(bucket.extents, outside);
  std::vector<std::vector<double>> useful;
  for (const AxisTable &table : tables)
    useful.push_back(part.take(table));
  for (size_t i = 0; i < tables.size(); ++i)
    tables[i].entries = useful[i].data();
  std::vector<std::vector<double>> projections = minProjections(part.usefulExtents(), tables, targets);
  for (size_t i = 0; i < targets.size(); ++i)
    projections[i] = part.spread(projections[i], targets[i]);
  // The message is kept without its least entry: so much is every sum here above what it should be.
  double least = *std::min_element(projections[0].begin(), projections[0].end());
  for (double &entry : projections[0])
    entry = entry - least < useless ? entry - least : forbidden;
  Tables result{network.pool.intern(std::move(projections[0])), {}};
  for (size_t i = 0; i < messages.size(); ++i) {
    std::vector<double> &entries = projections[i + 1];
    const std::vector<double> &message = network.pool[messages[i]];
    for (size_t k = 0; k < entries.size(); ++k)
      entries[k] = entries[k] - least < useless ? entries[k] - (least + message[k]) : forbidden;
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
