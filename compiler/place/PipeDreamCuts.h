//===- PipeDreamCuts.h - the cuts that PipeDream's planner considers -------===//
#ifndef PDC_COMPILER_PLACE_PIPEDREAMCUTS_H
#define PDC_COMPILER_PLACE_PIPEDREAMCUTS_H

#include "compiler/place/Downsets.h"
#include "compiler/place/PipeDreamProfile.h"

namespace pdc::place {

/// What a stage boundary costs in PipeDream's model, and sums over all nodes before it.
struct PipeDreamCut {
  double computeSeconds = 0, parameterBytes = 0, activationBytes = 0;
  double outputBytes = 0; // what is sent over the boundary
  int nodes = 0;
};

struct PipeDreamCuts {
  Downsets sets{0};                // in increasing number of nodes; the last has all
  std::vector<PipeDreamCut> costs; // one a set
  bool complete = true;            // all that the planner considers
};

/// The graph after PipeDream's preparation: the nodes that are planned, as indices into the profile.
struct PreparedProfile {
  std::vector<int> nodes;
  Dag dag{0};
  /// Per prepared node, profile nodes that are placed with it at no cost: `__getitem__` that nothing uses.
  std::vector<std::vector<int>> attached;
};

PreparedProfile preparePipeDream(const PipeDreamProfile &profile);

/// All cuts if there are at most `limit`; else those along a few topological orders.
PipeDreamCuts findPipeDreamCuts(const PipeDreamProfile &profile, const PreparedProfile &prepared,
                                size_t limit);

/// The cuts along three topological orders: enough for a first plan.
PipeDreamCuts findPipeDreamChains(const PipeDreamProfile &profile, const PreparedProfile &prepared);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PIPEDREAMCUTS_H
