//===- StageLinks.h - where stages and replicas lie -------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_STAGES_STAGELINKS_H
#define PDC_COMPILER_PLAN_STAGES_STAGELINKS_H

#include "compiler/cost/CostModel.h"
#include <compare>
#include <map>
#include <tuple>
#include <vector>

namespace pdc::plan {

/// How the ranks of a stage share it: `data` replicas of `tensor` ranks each.
struct StageSplit {
  int64_t data = 1, tensor = 1;

  int64_t ranks() const { return data * tensor; }
  auto operator<=>(const StageSplit &) const = default;
};

/// Where a stage's ranks lie.
struct StagePosition {
  int64_t device = 0;              // a rank with the device that computes, the slowest of the stage
  cost::GroupShape before, after;  // the links to its neighbours; of one rank where there are none
  cost::GroupShape replicas;       // a group of replicas

  bool operator==(const StagePosition &) const = default;
};

/// What settings share: where stages and replicas lie, the times of their collectives.
class StageLinks {
public:
  StageLinks(const machine::Cluster &cluster, const cost::CostModel &costs) : cluster(cluster), costs(costs) {}

  /// The kinds of places that a stage can have.
  struct Positions {
    std::vector<StagePosition> kinds;
    std::vector<size_t> ofPlace; // into `kinds`: of a stage whose first rank is 0, `step`, 2 `step`, ...
    int64_t step = 1;

    size_t of(int64_t firstRank) const { return ofPlace[std::min<size_t>(firstRank / step, ofPlace.size() - 1)]; }
  };
  /// Of stages that all have the same mesh. With several chunks on each (interleaved schedules) the chain goes around them so
  /// often, and each chunk has a place: that of chunk k is on stage k mod `stages`.
  const Positions &alike(int64_t stages, const StageSplit &mesh, int64_t chunks = 1);
  /// Of a stage anywhere among so many ranks, whose neighbours may have other meshes: the links join its outermost ranks
  /// with theirs.
  const Positions &anywhere(int64_t ranks, const StageSplit &mesh);

  /// Of a collective over replicas of a stage.
  double dataSeconds(const StagePosition &position, cost::Collective collective, int64_t bytes);
  double messageSeconds(int64_t bytes, const cost::GroupShape &link) const {
    return costs.collectiveSeconds(cost::Collective::PointToPoint, static_cast<double>(bytes), link);
  }

private:
  int64_t slowestOf(int64_t first, int64_t ranks) const;
  cost::GroupShape link(int64_t a, int64_t b) const;
  static void add(Positions &positions, StagePosition position);

  const machine::Cluster &cluster;
  const cost::CostModel &costs;
  std::map<std::tuple<int64_t, StageSplit, int64_t>, Positions> knownAlike;
  std::map<std::pair<int64_t, StageSplit>, Positions> knownAnywhere;
  std::map<std::tuple<const StagePosition *, int, int64_t>, double> times;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGES_STAGELINKS_H
