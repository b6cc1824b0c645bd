//===- PipeDreamCuts.cpp - the cuts that PipeDream's planner considers ----===//
//
// graph/graph.py of msr-fiddle/pipedream enumerates antichains. Said with downsets: it begins with the
// first source, and from a downset D goes to D with y and all that y depends on, for every y outside of D that
// has an input in D. Hence other sources enter only with what uses them. An antichain is "augmented" by the
// nodes whose output is still needed beyond it, and the output of a cut is the sum of the activations of the
// augmented antichain. Whether an output is still needed is asked for each member of the antichain alone:
// where two branches begin at one node and both are in the antichain, that node is counted as well, although
// nothing after the cut reads it. This is part of the published model, and kept.
//
//===----------------------------------------------------------------------===//

#include "compiler/place/PipeDreamCuts.h"
#include <algorithm>
#include <bit>
#include <numeric>

using namespace pdc::place;

PreparedProfile pdc::place::preparePipeDream(const PipeDreamProfile &profile) {
  const Dag &dag = profile.dag;
  int count = dag.size();
  std::vector<char> dropped(count, false);
  auto isSource = [&](int node) { return dag.predecessors(node).empty(); };
  auto isInput = [&](int node) {
    return isSource(node) && profile.nodes[node].description.starts_with("Input");
  };
  for (int node = 0; node < count; ++node)
    dropped[node] = isInput(node);
  // Of `__getitem__` only those that had no user to begin with: one pass, as in the original.
  PreparedProfile prepared;
  std::vector<int> numberOf(count, -1), unused;
  for (int node = 0; node < count; ++node) {
    if (dropped[node])
      continue;
    bool unusedItem =
        dag.successors(node).empty() && profile.nodes[node].description.starts_with("__getitem__");
    if (unusedItem) {
      unused.push_back(node);
      continue;
    }
    numberOf[node] = static_cast<int>(prepared.nodes.size());
    prepared.nodes.push_back(node);
  }
  if (prepared.nodes.empty())
    throw PlaceError("nothing is left to plan: all nodes are inputs or unused items");
  prepared.dag = Dag(static_cast<int>(prepared.nodes.size()));
  prepared.attached.resize(prepared.nodes.size());
  for (int node : prepared.nodes)
    for (int to : dag.successors(node))
      if (numberOf[to] >= 0)
        prepared.dag.addEdge(numberOf[node], numberOf[to]);
  for (int node : unused) {
    const std::vector<int> &from = dag.predecessors(node);
    auto producer = std::find_if(from.begin(), from.end(), [&](int p) { return numberOf[p] >= 0; });
    prepared.attached[producer == from.end() ? 0 : numberOf[*producer]].push_back(node);
  }
  return prepared;
}

namespace {

/// Goes from cut to cut and says what they cost.
class CutFinder {
public:
  CutFinder(const PipeDreamProfile &profile, const PreparedProfile &prepared)
      : profile(profile), prepared(prepared), dag(prepared.dag), above(ancestors(dag)),
        words((dag.size() + 63) / 64) {
    findEntries();
    findAugmentations();
  }

  Bits first() const {
    Bits set(words);
    add(set, entries.front());
    return set;
  }

  /// The nodes that the planner can go to from a set.
  std::vector<int> next(const Bits &set) const {
    std::vector<int> nodes;
    Bits seen(set);
    for (int node : members(set.data(), words))
      for (int to : dag.successors(node))
        if (!contains(seen, to)) {
          add(seen, to);
          nodes.push_back(to);
        }
    for (int entry : entries)
      if (!contains(seen, entry))
        nodes.push_back(entry);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  Bits with(const Bits &set, int node) const {
    Bits larger(set);
    addAll(larger, above[node]);
    add(larger, node);
    return larger;
  }

  double outputBytes(const Bits &set) const {
    Bits counted(words);
    for (int node : members(set.data(), words)) {
      const std::vector<int> &to = dag.successors(node);
      if (std::any_of(to.begin(), to.end(), [&](int s) { return contains(set, s); }))
        continue; // not of the antichain
      add(counted, node);
      addAll(counted, augmentation[node]);
    }
    double bytes = 0;
    for (int node : members(counted.data(), words))
      bytes += at(node).activationBytes;
    return bytes;
  }

  PipeDreamCut cost(const Bits &set) const {
    PipeDreamCut cut;
    for (int node : members(set.data(), words)) {
      cut.computeSeconds += at(node).forwardSeconds + at(node).backwardSeconds;
      cut.parameterBytes += at(node).parameterBytes;
      cut.activationBytes += at(node).activationBytes;
      ++cut.nodes;
    }
    cut.outputBytes = outputBytes(set);
    return cut;
  }

  /// A chain of cuts from the first to the last, each next node chosen by `choose` from what next() offers.
  template <typename Choose> void appendChain(Downsets &sets, Choose choose) const {
    Bits set = first();
    for (sets.insert(set);; sets.insert(set)) {
      std::vector<int> nodes = next(set);
      if (nodes.empty())
        return;
      set = with(set, choose(set, nodes));
    }
  }

private:
  const ProfiledNode &at(int node) const { return profile.nodes[prepared.nodes[node]]; }

  /// The first source; and, so that nothing is lost where the graph falls into parts (the original drops all
  /// but the first), the first source of each other part.
  void findEntries() {
    std::vector<int> component = dag.components();
    std::vector<char> has(dag.size(), false);
    for (int node = 0; node < dag.size(); ++node)
      if (dag.predecessors(node).empty() && !has[component[node]]) {
        has[component[node]] = true;
        entries.push_back(node);
      }
  }

  void findAugmentations() {
    augmentation.assign(dag.size(), Bits(words));
    for (int node = 0; node < dag.size(); ++node)
      for (int from : members(above[node].data(), words))
        for (int to : dag.successors(from))
          if (to != node && !contains(above[node], to)) {
            add(augmentation[node], from);
            break;
          }
  }

  const PipeDreamProfile &profile;
  const PreparedProfile &prepared;
  const Dag &dag;
  std::vector<Bits> above;
  int words;
  std::vector<int> entries;
  std::vector<Bits> augmentation; // what the original adds to an antichain for each of its members
};

/// Puts the sets in increasing number of nodes and computes their costs.
PipeDreamCuts finish(const CutFinder &finder, const Downsets &found, int nodes, bool complete) {
  PipeDreamCuts cuts;
  cuts.complete = complete;
  cuts.sets = Downsets(nodes);
  auto sizeOf = [&](int set) {
    int size = 0;
    for (int i = 0; i < found.words(); ++i)
      size += std::popcount(found[set][i]);
    return size;
  };
  std::vector<int> order(found.size()), sizes(found.size());
  std::iota(order.begin(), order.end(), 0);
  for (int set : order)
    sizes[set] = sizeOf(set);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::pair(sizes[a], a) < std::pair(sizes[b], b); });
  for (int set : order) {
    Bits bits = found.bits(set);
    cuts.sets.append(bits);
    cuts.costs.push_back(finder.cost(bits));
  }
  return cuts;
}

void appendChains(const CutFinder &finder, Downsets &sets) {
  finder.appendChain(sets, [](const Bits &, const std::vector<int> &nodes) { return nodes.front(); });
  finder.appendChain(sets, [](const Bits &, const std::vector<int> &nodes) { return nodes.back(); });
  // Least is sent where the next cut is as narrow as can be.
  finder.appendChain(sets, [&](const Bits &set, const std::vector<int> &nodes) {
    return *std::min_element(nodes.begin(), nodes.end(), [&](int a, int b) {
      return finder.outputBytes(finder.with(set, a)) < finder.outputBytes(finder.with(set, b));
    });
  });
}

} // namespace

PipeDreamCuts pdc::place::findPipeDreamChains(const PipeDreamProfile &profile,
                                              const PreparedProfile &prepared) {
  CutFinder finder(profile, prepared);
  Downsets sets(prepared.dag.size());
  appendChains(finder, sets);
  return finish(finder, sets, prepared.dag.size(), false);
}

PipeDreamCuts pdc::place::findPipeDreamCuts(const PipeDreamProfile &profile, const PreparedProfile &prepared,
                                            size_t limit) {
  CutFinder finder(profile, prepared);
  Downsets sets(prepared.dag.size());
  sets.insert(finder.first());
  for (int set = 0; set < sets.size(); ++set) {
    Bits bits = sets.bits(set);
    for (int node : finder.next(bits))
      sets.insert(finder.with(bits, node));
    if (static_cast<size_t>(sets.size()) > limit) {
      sets.clear();
      appendChains(finder, sets);
      return finish(finder, sets, prepared.dag.size(), false);
    }
  }
  return finish(finder, sets, prepared.dag.size(), true);
}
