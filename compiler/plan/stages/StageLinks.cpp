//===- StageLinks.cpp - where stages and replicas lie ---------------------===//

#include "compiler/plan/stages/StageLinks.h"
#include "compiler/cost/DeviceKinds.h"
#include <algorithm>

using namespace pdc;
using namespace pdc::plan;

/// One rank for each kind of device, so that layouts are searched once for it.
int64_t StageLinks::slowestOf(int64_t first, int64_t ranks) const {
  return cost::slowestKind(costs, cluster, first, ranks);
}

cost::GroupShape StageLinks::link(int64_t a, int64_t b) const {
  return cost::shapeOfRanks(cluster, {static_cast<int32_t>(a), static_cast<int32_t>(b)});
}

void StageLinks::add(Positions &positions, StagePosition position) {
  auto same = std::find(positions.kinds.begin(), positions.kinds.end(), position);
  positions.ofPlace.push_back(same - positions.kinds.begin());
  if (same == positions.kinds.end())
    positions.kinds.push_back(std::move(position));
}

const StageLinks::Positions &StageLinks::alike(int64_t stages, const StageSplit &mesh, int64_t chunks) {
  auto [entry, isNew] = knownAlike.try_emplace({stages, mesh, chunks});
  Positions &found = entry->second;
  if (!isNew)
    return found;
  int64_t ranks = found.step = mesh.ranks();
  cost::GroupShape replicas;
  if (mesh.data > 1)
    replicas = cost::shapeOfAxes(cluster, {stages, mesh.data, mesh.tensor}, {1});
  auto firstOf = [&](int64_t place) { return place % stages * ranks; };
  for (int64_t place = 0; place < stages * chunks; ++place) {
    StagePosition position{slowestOf(firstOf(place), ranks), {}, {}, replicas};
    if (place > 0)
      position.before = link(firstOf(place - 1), firstOf(place));
    if (place + 1 < stages * chunks)
      position.after = link(firstOf(place), firstOf(place + 1));
    add(found, std::move(position));
  }
  return found;
}

const StageLinks::Positions &StageLinks::anywhere(int64_t ranks, const StageSplit &mesh) {
  auto [entry, isNew] = knownAnywhere.try_emplace({ranks, mesh});
  Positions &found = entry->second;
  if (!isNew)
    return found;
  for (int64_t first = 0; first + mesh.ranks() <= ranks; ++first) {
    int64_t end = first + mesh.ranks();
    StagePosition position{slowestOf(first, mesh.ranks()), {}, {}, {}};
    if (first > 0)
      position.before = link(first - 1, first);
    if (end < ranks)
      position.after = link(end - 1, end);
    if (mesh.data > 1) {
      std::vector<int32_t> group;
      for (int64_t rank = first; rank < end; rank += mesh.tensor)
        group.push_back(static_cast<int32_t>(rank));
      position.replicas = cost::shapeOfRanks(cluster, group);
    }
    add(found, std::move(position));
  }
  return found;
}

double StageLinks::dataSeconds(const StagePosition &position, cost::Collective collective, int64_t bytes) {
  if (position.replicas.ranks == 1 || bytes == 0)
    return 0;
  auto [time, isNew] = times.try_emplace({&position, static_cast<int>(collective), bytes}, 0);
  if (isNew)
    time->second = costs.collectiveSeconds(collective, static_cast<double>(bytes), position.replicas);
  return time->second;
}
