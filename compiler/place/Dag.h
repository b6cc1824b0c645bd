//===- Dag.h - a directed acyclic graph of numbered nodes -------*- C++ -*-===//
#ifndef PDC_COMPILER_PLACE_DAG_H
#define PDC_COMPILER_PLACE_DAG_H

#include <vector>

namespace pdc::place {

/// Nodes 0 to n-1; parallel edges are kept once.
class Dag {
public:
  explicit Dag(int nodes) : successorsOf(nodes), predecessorsOf(nodes) {}

  int size() const { return static_cast<int>(successorsOf.size()); }
  /// Adds an edge unless it is there already.
  void addEdge(int from, int to);
  const std::vector<int> &successors(int node) const { return successorsOf[node]; }
  const std::vector<int> &predecessors(int node) const { return predecessorsOf[node]; }

  /// The nodes of one cycle in order, its first node once; empty if there is none.
  std::vector<int> findCycle() const;
  /// A topological order in which a node comes as soon after its predecessors as depth-first search can have
  /// it, ties by number. The graph must have no cycle.
  std::vector<int> depthFirstOrder() const;
  /// The topological order that takes the smallest number that is ready.
  std::vector<int> smallestFirstOrder() const;
  /// Per node, the number of its weakly connected component.
  std::vector<int> components() const;
  /// Per node, the number of its strongly connected component, for graphs with cycles (Tarjan).
  std::vector<int> strongComponents() const;

private:
  std::vector<std::vector<int>> successorsOf, predecessorsOf;
};

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_DAG_H
