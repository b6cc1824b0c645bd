//===- FreeNodesTest.cpp - what is left of a graph ------------------------===//

#include "compiler/place/FreeNodes.h"
#include "compiler/place/Downsets.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace pdc::place;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Dag dagOf(int nodes, const std::vector<std::pair<int, int>> &edges) {
  Dag dag(nodes);
  for (auto [from, to] : edges)
    dag.addEdge(from, to);
  return dag;
}

} // namespace

TEST(FreeNodes, PathsThroughThemStayAsEdges) {
  // 0 -> (1) -> 2 and 0 -> (1) -> 3; a free source (4) and a free sink (5) leave nothing behind.
  Dag dag = dagOf(6, {{0, 1}, {1, 2}, {1, 3}, {4, 2}, {3, 5}});
  ThinnedDag thinned = leaveOutFreeNodes(dag, {false, true, false, false, true, true});
  EXPECT_THAT(thinned.nodes, ElementsAre(0, 2, 3));
  EXPECT_THAT(thinned.dag.successors(0), ElementsAre(1, 2));
  EXPECT_THAT(thinned.dag.successors(1), IsEmpty());
}

TEST(FreeNodes, StayWhereTheyHaveManyNeighboursOnBothSides) {
  // 3 before and 3 after: nine edges instead of six.
  Dag dag = dagOf(7, {{0, 3}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {3, 6}});
  std::vector<char> isFree(7, false);
  isFree[3] = true;
  EXPECT_EQ(leaveOutFreeNodes(dag, isFree).nodes.size(), 7u);
}

TEST(FreeNodes, OneIsLeftIfAllAreFree) {
  EXPECT_EQ(leaveOutFreeNodes(dagOf(3, {{0, 1}}), {true, true, true}).nodes.size(), 1u);
}

TEST(FreeNodes, GoWhereTheyAreNeededFirst) {
  // A state (0) that a layer in stage 1 and one in stage 2 use, and an item (3) of the last one that nothing uses.
  Dag dag = dagOf(4, {{0, 1}, {0, 2}, {1, 2}, {2, 3}});
  ThinnedDag thinned = leaveOutFreeNodes(dag, {true, false, false, true});
  ASSERT_THAT(thinned.nodes, ElementsAre(1, 2));
  EXPECT_THAT(stagesOfAllNodes(dag, thinned, {1, 2}), ElementsAre(1, 1, 2, 2));
}

TEST(FreeNodes, NoEdgeGoesBackOnRandomGraphs) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    int nodes = 2 + random() % 9;
    Dag dag(nodes);
    std::vector<char> isFree(nodes);
    for (int to = 0; to < nodes; ++to) {
      isFree[to] = random() % 2;
      for (int from = 0; from < to; ++from)
        if (random() % 3 == 0)
          dag.addEdge(from, to);
    }
    ThinnedDag thinned = leaveOutFreeNodes(dag, isFree);
    // Any order of the nodes that are left is one that the whole graph allows.
    std::vector<int> order = thinned.dag.depthFirstOrder(), stageOfLeft(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      stageOfLeft[order[i]] = static_cast<int>(i);
    std::vector<int> stageOf = stagesOfAllNodes(dag, thinned, stageOfLeft);
    for (size_t i = 0; i < thinned.nodes.size(); ++i)
      ASSERT_EQ(stageOf[thinned.nodes[i]], stageOfLeft[i]);
    for (int node = 0; node < nodes; ++node)
      for (int to : dag.successors(node))
        ASSERT_LE(stageOf[node], stageOf[to]) << "round " << round << ", edge " << node << " -> " << to;
  }
}
