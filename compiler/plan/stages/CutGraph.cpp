//===- CutGraph.cpp - the cuts of a step, and what crosses them -----------===//

#include "compiler/plan/stages/CutGraph.h"
#include <algorithm>

using namespace pdc;
using namespace pdc::plan;

CutGraph::CutGraph(const StepUnits &units) : units(units) {
  const place::Downsets &cuts = units.getCuts();
  larger.resize(cuts.size());
  for (int cut = 0; cut < cuts.size(); ++cut)
    for (int other = cut + 1; other < cuts.size(); ++other)
      if (cuts.isSubset(cut, other))
        larger[cut].push_back(static_cast<uint32_t>(other));
  for (auto [index, parameter] : llvm::enumerate(units.getParameters()))
    if (parameter.units.size() > 1)
      tied.push_back(index);
  known.resize(cuts.size());
  for (auto &row : known)
    row.resize(cuts.size());
}

const std::vector<CutGraph::Incoming> &CutGraph::incoming(uint32_t from, uint32_t to) const {
  auto &entry = known[from][to];
  if (entry)
    return *entry;
  entry.emplace();
  auto isInside = [&](int unit) { return contains(to, unit) && !contains(from, unit); };
  const std::vector<UnitMessage> &messages = units.getMessages();
  for (uint32_t index = 0; index < messages.size(); ++index)
    if (!isInside(messages[index].from) &&
        std::any_of(messages[index].to.begin(), messages[index].to.end(), isInside))
      entry->push_back({index, !contains(from, messages[index].from)});
  return *entry;
}
