//===- NodeOrder.h - a topological order while nodes are joined -*- C++ -*-===//
#ifndef PDC_PASSES_FUSE_NODEORDER_H
#define PDC_PASSES_FUSE_NODEORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace pdc::passes {

/// A topological order of the nodes of a graph that stays free of cycles while nodes are made one. As in Pearce and
/// Kelly, "A dynamic topological sort algorithm for directed acyclic graphs" (2006), a change looks at, and moves, only
/// nodes that lie between the two that it concerns.
class NodeOrder {
public:
  /// Nodes 0 to `count` - 1, in this order.
  explicit NodeOrder(int count);

  using Visit = llvm::function_ref<void(int node)>;
  /// Calls `visit` with each node that must come before `node`.
  using Predecessors = llvm::function_ref<void(int node, Visit visit)>;

  /// Makes `into` and `from` one node, `into`, whose predecessors are `joined`; `from` is no node any more. False,
  /// with nothing changed, where one of the two depends on the other through a third.
  bool join(int into, int from, llvm::ArrayRef<int> joined, Predecessors predecessors);

  /// Whether `a` comes before `b`.
  bool isBefore(int a, int b) const { return places[a] < places[b]; }

private:
  std::vector<int> places; // per node; -1: joined another
  std::vector<int> nodes;  // per place; -1: left empty by a join
};

} // namespace pdc::passes

#endif // PDC_PASSES_FUSE_NODEORDER_H
