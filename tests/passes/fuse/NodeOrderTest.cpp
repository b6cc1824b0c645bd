//===- NodeOrderTest.cpp - a topological order while nodes are joined -----===//

#include "passes/fuse/NodeOrder.h"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using pdc::passes::NodeOrder;

namespace {

/// A graph of numbers that is joined as the order is.
struct Graph {
  std::map<int, std::set<int>> predecessors; // of nodes that are left

  /// Whether `from` comes before `to` by a way through a third node.
  bool reachesThroughOthers(int from, int to) const {
    std::set<int> seen;
    std::vector<int> work;
    for (int node : predecessors.at(to))
      if (node != from)
        work.push_back(node);
    while (!work.empty()) {
      int node = work.back();
      work.pop_back();
      if (node == from)
        return true;
      if (seen.insert(node).second)
        work.insert(work.end(), predecessors.at(node).begin(), predecessors.at(node).end());
    }
    return false;
  }

  std::vector<int> joined(int a, int b) const {
    std::set<int> all = predecessors.at(a);
    all.insert(predecessors.at(b).begin(), predecessors.at(b).end());
    all.erase(a);
    all.erase(b);
    return {all.begin(), all.end()};
  }

  void join(int into, int from) {
    std::vector<int> all = joined(into, from);
    predecessors.erase(from);
    for (auto &[node, before] : predecessors)
      if (before.erase(from))
        before.insert(into);
    predecessors[into] = {all.begin(), all.end()};
  }

  bool join(NodeOrder &order, int into, int from) {
    return order.join(into, from, joined(into, from), [&](int node, NodeOrder::Visit visit) {
      for (int before : predecessors.at(node))
        visit(before);
    });
  }
};

TEST(NodeOrderTest, NodesThatDependOnEachOtherThroughAThirdAreNotJoined) {
  Graph graph{{{0, {}}, {1, {0}}, {2, {0, 1}}}};
  NodeOrder order(3);
  EXPECT_FALSE(graph.join(order, 0, 2));
  EXPECT_FALSE(graph.join(order, 2, 0));
  EXPECT_TRUE(graph.join(order, 1, 2)); // directly only
}

TEST(NodeOrderTest, AJoinedNodeStandsBehindWhatItNeedsAndBeforeWhatNeedsIt) {
  // 3 needs 1; 2 needs 0. Joined, 0 and 3 stand behind 1 and before 2.
  Graph graph{{{0, {}}, {1, {}}, {2, {0}}, {3, {1}}}};
  NodeOrder order(4);
  ASSERT_TRUE(graph.join(order, 0, 3));
  EXPECT_TRUE(order.isBefore(1, 0));
  EXPECT_TRUE(order.isBefore(0, 2));
}

TEST(NodeOrderTest, RandomJoinsAreRefusedExactlyWhereTheyMakeACycleAndTheOrderStaysValid) {
  int accepted = 0, refused = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const int count = 30;
    Graph graph;
    for (int node = 0; node < count; ++node) {
      graph.predecessors[node] = {};
      for (unsigned edges = node ? random() % 3 : 0; edges > 0; --edges)
        graph.predecessors[node].insert(static_cast<int>(random() % node));
    }
    NodeOrder order(count);
    for (int attempt = 0; attempt < 60; ++attempt) {
      int into = static_cast<int>(random() % count), from = static_cast<int>(random() % count);
      if (into == from || !graph.predecessors.contains(into) || !graph.predecessors.contains(from))
        continue;
      bool isCycle = graph.reachesThroughOthers(into, from) || graph.reachesThroughOthers(from, into);
      ASSERT_EQ(graph.join(order, into, from), !isCycle) << "seed " << seed;
      ++(isCycle ? refused : accepted);
      if (!isCycle)
        graph.join(into, from);
      for (const auto &[node, before] : graph.predecessors)
        for (int earlier : before)
          ASSERT_TRUE(order.isBefore(earlier, node)) << "seed " << seed;
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

} // namespace
