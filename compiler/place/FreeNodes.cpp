//===- FreeNodes.cpp - nodes that cost nothing anywhere -------------------===//

#include "compiler/place/FreeNodes.h"
#include <algorithm>
#include <set>

using namespace pdc::place;

ThinnedDag pdc::place::leaveOutFreeNodes(const Dag &dag, const std::vector<char> &isFree) {
  std::vector<std::set<int>> before(dag.size()), after(dag.size());
  for (int node = 0; node < dag.size(); ++node) {
    before[node] = {dag.predecessors(node).begin(), dag.predecessors(node).end()};
    after[node] = {dag.successors(node).begin(), dag.successors(node).end()};
  }
  std::vector<char> isLeft(dag.size(), true);
  int left = dag.size();
  auto leaveOut = [&](int node) {
    for (int from : before[node]) {
      after[from].erase(node);
      after[from].insert(after[node].begin(), after[node].end());
    }
    for (int to : after[node]) {
      before[to].erase(node);
      before[to].insert(before[node].begin(), before[node].end());
    }
    isLeft[node] = false;
    --left;
  };
  // Each that goes may leave another one with fewer edges.
  for (bool changed = true; changed;) {
    changed = false;
    for (int node = 0; node < dag.size() && left > 1; ++node)
      if (isFree[node] && isLeft[node] &&
          before[node].size() * after[node].size() <= before[node].size() + after[node].size()) {
        leaveOut(node);
        changed = true;
      }
  }
  ThinnedDag thinned;
  std::vector<int> position(dag.size(), -1);
  for (int node = 0; node < dag.size(); ++node)
    if (isLeft[node]) {
      position[node] = static_cast<int>(thinned.nodes.size());
      thinned.nodes.push_back(node);
    }
  thinned.dag = Dag(left);
  for (int node : thinned.nodes) {
    // In the whole graph's order, which decides ties of topological orders; new edges last.
    for (int to : dag.successors(node))
      if (isLeft[to])
        thinned.dag.addEdge(position[node], position[to]);
    for (int to : after[node])
      thinned.dag.addEdge(position[node], position[to]);
  }
  return thinned;
}

std::vector<int> pdc::place::stagesOfAllNodes(const Dag &dag, const ThinnedDag &thinned,
                                              const std::vector<int> &stageOfLeft) {
  constexpr int kNone = -1;
  std::vector<int> stageOf(dag.size(), kNone), order = dag.smallestFirstOrder();
  for (size_t i = 0; i < thinned.nodes.size(); ++i)
    stageOf[thinned.nodes[i]] = stageOfLeft[i];
  std::vector<char> isGiven(dag.size(), false);
  for (int node : thinned.nodes)
    isGiven[node] = true;
  for (auto node = order.rbegin(); node != order.rend(); ++node)
    for (int to : dag.successors(*node))
      if (!isGiven[*node] && stageOf[to] != kNone)
        stageOf[*node] = stageOf[*node] == kNone ? stageOf[to] : std::min(stageOf[*node], stageOf[to]);
  for (int node : order)
    if (stageOf[node] == kNone) {
      stageOf[node] = 0;
      for (int from : dag.predecessors(node))
        stageOf[node] = std::max(stageOf[node], stageOf[from]);
    }
  return stageOf;
}
