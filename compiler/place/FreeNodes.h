//===- FreeNodes.h - nodes that cost nothing anywhere -----------*- C++ -*-===//
//
// A node that takes no time, no memory and no communication on whatever device it is changes no plan's cost, but
// doubles the cuts wherever it can be on both sides of one: profiles have many (an LSTM's initial state and an item of
// it for each layer). Such nodes are left out of the graph that is cut, and placed afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLACE_FREENODES_H
#define PDC_COMPILER_PLACE_FREENODES_H

#include "compiler/place/Dag.h"

namespace pdc::place {

/// What is left of a graph: its nodes, and edges that demand of them all that the whole graph does.
struct ThinnedDag {
  std::vector<int> nodes; // numbers in the whole graph, increasing; at least one
  Dag dag{0};             // of positions in `nodes`
};

/// Leaves free nodes out, except where the paths through one would need more edges than it has.
ThinnedDag leaveOutFreeNodes(const Dag &dag, const std::vector<char> &isFree);

/// Stages of all nodes, given those of the nodes that are left, such that no edge goes back: a free node has the stage
/// that needs it first or else the one that it needs last.
std::vector<int> stagesOfAllNodes(const Dag &dag, const ThinnedDag &thinned,
                                  const std::vector<int> &stageOfLeft);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_FREENODES_H
