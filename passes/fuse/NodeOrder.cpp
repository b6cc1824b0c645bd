//===- NodeOrder.cpp - a topological order while nodes are joined ---------===//

#include "passes/fuse/NodeOrder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <numeric>

using namespace pdc::passes;

NodeOrder::NodeOrder(int count) : places(count), nodes(count) {
  std::iota(places.begin(), places.end(), 0);
  std::iota(nodes.begin(), nodes.end(), 0);
}

bool NodeOrder::join(int into, int from, llvm::ArrayRef<int> joined, Predecessors predecessors) {
  const int low = std::min(places[into], places[from]), high = std::max(places[into], places[from]);
  // What the later one needs of what stands between. The earlier one among it makes a cycle; the later one cannot be.
  llvm::DenseSet<int> needed;
  llvm::SmallVector<int> work;
  bool isCycle = false;
  auto visit = [&](int node) {
    isCycle |= places[node] == low;
    if (places[node] > low && needed.insert(node).second)
      work.push_back(node);
  };
  llvm::for_each(joined, visit);
  while (!work.empty() && !isCycle)
    predecessors(work.pop_back_val(), visit);
  if (isCycle)
    return false;
  // Between the two: what is needed, the joined node, the others, each in the order in which they stood.
  llvm::SmallVector<int> before, after;
  for (int place = low + 1; place < high; ++place)
    if (int node = nodes[place]; node >= 0)
      (needed.contains(node) ? before : after).push_back(node);
  int place = low;
  auto put = [&](int node) {
    nodes[place] = node;
    places[node] = place++;
  };
  places[from] = -1;
  llvm::for_each(before, put);
  put(into);
  llvm::for_each(after, put);
  std::fill(nodes.begin() + place, nodes.begin() + high + 1, -1);
  return true;
}
