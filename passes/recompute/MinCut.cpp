//===- MinCut.cpp - the cheapest vertices that separate two sides ---------===//

#include "passes/recompute/MinCut.h"
#include <algorithm>
#include <limits>

using namespace pdc::passes;

namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;

/// Dinitz' algorithm: blocking flows along shortest ways.
class FlowNetwork {
public:
  explicit FlowNetwork(int vertices) : arcsOf(vertices) {}

  void connect(int from, int to, int64_t capacity) {
    arcsOf[from].push_back(static_cast<int>(arcs.size()));
    arcs.push_back({to, capacity});
    arcsOf[to].push_back(static_cast<int>(arcs.size()));
    arcs.push_back({from, 0});
  }

  void saturate(int source, int sink) {
    while (findLevels(source, sink)) {
      next.assign(arcsOf.size(), 0);
      while (push(source, sink)) {
      }
    }
  }

  /// After saturate(): whether more could flow from a vertex to the sink.
  std::vector<bool> reaching(int sink) const {
    std::vector<bool> reaches(arcsOf.size(), false);
    std::vector<int> work{sink};
    reaches[sink] = true;
    while (!work.empty()) {
      int vertex = work.back();
      work.pop_back();
      for (int arc : arcsOf[vertex]) // the arc's reverse leads here
        if (int from = arcs[arc].to; arcs[arc ^ 1].capacity > 0 && !reaches[from]) {
          reaches[from] = true;
          work.push_back(from);
        }
    }
    return reaches;
  }

private:
  struct Arc {
    int to;
    int64_t capacity; // that is left
  };

  bool findLevels(int source, int sink) {
    levels.assign(arcsOf.size(), -1);
    levels[source] = 0;
    std::vector<int> queue{source};
    for (size_t i = 0; i < queue.size(); ++i)
      for (int arc : arcsOf[queue[i]])
        if (arcs[arc].capacity > 0 && levels[arcs[arc].to] < 0) {
          levels[arcs[arc].to] = levels[queue[i]] + 1;
          queue.push_back(arcs[arc].to);
        }
    return levels[sink] >= 0;
  }

  /// As much as fits along one more way; false where there is none. Not recursive: ways are as long as models are deep.
  bool push(int source, int sink) {
    std::vector<int> way; // arcs
    int vertex = source;
    while (vertex != sink) {
      if (size_t &tried = next[vertex]; tried < arcsOf[vertex].size()) {
        const Arc &arc = arcs[arcsOf[vertex][tried]];
        if (arc.capacity > 0 && levels[arc.to] == levels[vertex] + 1) {
          way.push_back(arcsOf[vertex][tried]);
          vertex = arc.to;
        } else {
          ++tried;
        }
        continue;
      }
      if (way.empty())
        return false;
      vertex = arcs[way.back() ^ 1].to;
      ++next[vertex];
      way.pop_back();
    }
    int64_t fits = kUnlimited;
    for (int arc : way)
      fits = std::min(fits, arcs[arc].capacity);
    for (int arc : way) {
      arcs[arc].capacity -= fits;
      arcs[arc ^ 1].capacity += fits;
    }
    return true;
  }

  std::vector<Arc> arcs; // each followed by its reverse
  std::vector<std::vector<int>> arcsOf;
  std::vector<int> levels;
  std::vector<size_t> next;
};

} // namespace

std::vector<int> pdc::passes::findVertexCut(const CutProblem &problem) {
  int count = static_cast<int>(problem.costs.size()), source = 2 * count, sink = source + 1;
  auto in = [](int vertex) { return 2 * vertex; };
  auto out = [](int vertex) { return 2 * vertex + 1; };
  FlowNetwork network(sink + 1);
  for (int vertex = 0; vertex < count; ++vertex)
    network.connect(in(vertex), out(vertex), problem.costs[vertex]);
  for (auto [from, to] : problem.edges)
    network.connect(out(from), in(to), kUnlimited);
  for (int vertex : problem.sources)
    network.connect(source, in(vertex), kUnlimited);
  for (int vertex : problem.sinks)
    network.connect(out(vertex), sink, kUnlimited);
  network.saturate(source, sink);
  std::vector<bool> reaches = network.reaching(sink);
  std::vector<int> cut;
  for (int vertex = 0; vertex < count; ++vertex)
    if (!reaches[in(vertex)] && reaches[out(vertex)])
      cut.push_back(vertex);
  return cut;
}
