//===- DnnParts.cpp - what dnn-partitioning cuts between ------------------===//
//
// throughput-dp/dp.cpp of msr-fiddle/dnn-partitioning contracts colour classes in the same way. It also merges
// forward nodes without latency into an only neighbour; here only where that cannot change the optimum: such a
// part can move to its neighbour's device, which saves what they send each other, and needs nothing there but memory,
// of which each device has enough if all nodes fit on one.
//
//===----------------------------------------------------------------------===//

#include "compiler/place/DnnParts.h"
#include <algorithm>
#include <numeric>
#include <set>

using namespace pdc::place;

namespace {

/// Numbers that are joined, and the smallest of those joined with one.
class Joined {
public:
  explicit Joined(int count) : parent(count) { std::iota(parent.begin(), parent.end(), 0); }
  int find(int a) {
    while (parent[a] != a)
      a = parent[a] = parent[parent[a]];
    return a;
  }
  void join(int a, int b) {
    a = find(a), b = find(b);
    parent[std::max(a, b)] = std::min(a, b);
  }

private:
  std::vector<int> parent;
};

/// What the order of stages has to respect: edges between forward nodes of different classes. A class of
/// backward nodes only is bound by the mirror image of its backward edges.
Dag forwardDependences(const DnnGraph &graph, int classes) {
  std::vector<char> hasForward(classes, false);
  for (const DnnNode &node : graph.nodes)
    if (!node.backward)
      hasForward[node.colorClass] = true;
  Dag dag(classes);
  for (int from = 0; from < graph.dag.size(); ++from)
    for (int to : graph.dag.successors(from)) {
      const DnnNode &source = graph.nodes[from], &target = graph.nodes[to];
      int a = source.colorClass, b = target.colorClass;
      if (a == b)
        continue;
      if (!source.backward && !target.backward)
        dag.addEdge(a, b);
      else if (source.backward && target.backward && (!hasForward[a] || !hasForward[b]))
        dag.addEdge(b, a);
    }
  return dag;
}

/// Parts as the classes are joined now.
DnnParts build(const DnnGraph &graph, const Dag &dependences, Joined &joined) {
  DnnParts result;
  std::vector<int> partOf(dependences.size(), -1);
  for (int node = 0; node < graph.dag.size(); ++node) {
    const DnnNode &from = graph.nodes[node];
    int root = joined.find(from.colorClass);
    if (partOf[root] < 0) {
      partOf[root] = static_cast<int>(result.parts.size());
      result.parts.emplace_back();
    }
    DnnPart &part = result.parts[partOf[root]];
    part.nodes.push_back(node);
    part.cpuSeconds += from.cpuSeconds;
    part.acceleratorSeconds += from.acceleratorSeconds;
    part.bytes += from.bytes;
    part.unsupported += !from.onAccelerator;
  }
  auto partOfNode = [&](int node) { return partOf[joined.find(graph.nodes[node].colorClass)]; };
  result.dag = Dag(static_cast<int>(result.parts.size()));
  for (int from = 0; from < dependences.size(); ++from)
    for (int to : dependences.successors(from))
      if (int a = partOf[joined.find(from)], b = partOf[joined.find(to)]; a != b)
        result.dag.addEdge(a, b);
  for (int node = 0; node < graph.dag.size(); ++node) {
    DnnOutput output{partOfNode(node), {}, graph.nodes[node].outputSeconds};
    std::set<int> readers;
    for (int to : graph.dag.successors(node))
      if (int part = partOfNode(to); part != output.part)
        readers.insert(part);
    output.readers.assign(readers.begin(), readers.end());
    if (!readers.empty())
      result.outputs.push_back(output);
  }
  return result;
}

/// Per part, the parts that it shares an edge with.
std::vector<std::set<int>> neighbours(const DnnParts &parts) {
  std::vector<std::set<int>> result(parts.parts.size());
  auto connect = [&](int a, int b) {
    result[a].insert(b);
    result[b].insert(a);
  };
  for (const DnnOutput &output : parts.outputs)
    for (int reader : output.readers)
      connect(output.part, reader);
  for (int from = 0; from < parts.dag.size(); ++from)
    for (int to : parts.dag.successors(from))
      connect(from, to);
  return result;
}

} // namespace

DnnParts pdc::place::gatherDnnParts(const DnnGraph &graph, double acceleratorBytes) {
  int classes = 0;
  double allBytes = 0;
  for (const DnnNode &node : graph.nodes) {
    classes = std::max(classes, node.colorClass + 1);
    allBytes += node.bytes;
  }
  bool sizesMatter = allBytes > acceleratorBytes;
  Dag dependences = forwardDependences(graph, classes);
  Joined joined(classes);
  std::vector<int> strong = dependences.strongComponents(), firstOf(classes, -1);
  for (int c = 0; c < classes; ++c) {
    int &first = firstOf[strong[c]];
    if (first < 0)
      first = c;
    joined.join(first, c);
  }
  for (;;) {
    DnnParts parts = build(graph, dependences, joined);
    std::vector<std::set<int>> near = neighbours(parts);
    std::vector<char> moved(parts.parts.size(), false);
    bool any = false;
    for (size_t i = 0; i < parts.parts.size(); ++i) {
      const DnnPart &part = parts.parts[i];
      if (part.cpuSeconds > 0 || part.acceleratorSeconds > 0 || (sizesMatter && part.bytes > 0) ||
          near[i].size() != 1)
        continue;
      size_t into = *near[i].begin();
      // One step of a chain at a time: two that move into each other would be one without a place.
      if (moved[i] || moved[into] || (part.unsupported && !parts.parts[into].unsupported))
        continue;
      joined.join(graph.nodes[part.nodes[0]].colorClass, graph.nodes[parts.parts[into].nodes[0]].colorClass);
      moved[i] = any = true;
    }
    if (!any)
      return parts;
  }
}

std::vector<char> pdc::place::findFreeParts(const DnnParts &parts) {
  std::vector<char> isFree;
  for (const DnnPart &part : parts.parts)
    isFree.push_back(part.cpuSeconds == 0 && part.acceleratorSeconds == 0 && part.bytes == 0 &&
                     part.unsupported == 0);
  // Nor is there anything to be sent to it or from it.
  for (const DnnOutput &output : parts.outputs)
    if (output.seconds > 0) {
      isFree[output.part] = false;
      for (int reader : output.readers)
        isFree[reader] = false;
    }
  return isFree;
}

DnnParts pdc::place::keepParts(const DnnParts &parts, const ThinnedDag &thinned) {
  DnnParts result;
  std::vector<int> numberOf(parts.parts.size(), -1);
  for (int part : thinned.nodes) {
    numberOf[part] = static_cast<int>(result.parts.size());
    result.parts.push_back(parts.parts[part]);
  }
  result.dag = thinned.dag;
  for (const DnnOutput &output : parts.outputs) {
    if (output.seconds <= 0)
      continue; // all that a part that is left out sends or reads
    DnnOutput &kept = result.outputs.emplace_back(output);
    kept.part = numberOf[output.part];
    for (int &reader : kept.readers)
      reader = numberOf[reader];
  }
  return result;
}
