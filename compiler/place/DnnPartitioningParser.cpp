//===- DnnPartitioningParser.cpp - graphs of dnn-partitioning -------------===//

#include "compiler/place/DnnPartitioningGraph.h"
#include "compiler/place/ProfileFields.h"
#include <cmath>
#include <map>
#include <unordered_map>

using namespace pdc::place;
using nlohmann::json;

static int readCount(const json &root, const char *key, int64_t least) {
  int64_t count = readInteger(root, "the graph", key);
  if (count < least || count > 65536)
    throw PlaceError(std::string("'") + key + "' is " + std::to_string(count) + ", not " +
                     std::to_string(least) + " to 65536");
  return static_cast<int>(count);
}

static DnnNode readNode(const json &object, size_t index, std::map<int64_t, int> &classes) {
  DnnNode node;
  node.id = readInteger(object, "nodes[" + std::to_string(index) + "]", "id");
  std::string where = "node " + std::to_string(node.id);
  node.cpuSeconds = readAmount(object, where, "cpuLatency") / 1000;
  node.acceleratorSeconds = readAmount(object, where, "fpgaLatency") / 1000;
  node.onAccelerator = readFlag(object, where, "supportedOnFpga");
  node.backward = readFlag(object, where, "isBackwardNode");
  if (object.contains("size"))
    node.bytes = readAmount(object, where, "size");
  int next = static_cast<int>(classes.size());
  // A node without a class has one of its own, whose key no node can name.
  node.colorClass = -1;
  if (object.contains("colorClass"))
    node.colorClass = classes.emplace(readInteger(object, where, "colorClass"), next).first->second;
  return node;
}

DnnGraph pdc::place::parseDnnPartitioningGraph(const std::string &text) {
  json root = parseJsonObject(text);
  DnnGraph graph;
  graph.acceleratorBytes = readAmount(root, "the graph", "maxSizePerFPGA");
  graph.accelerators = readCount(root, "maxFPGAs", 0);
  graph.cpus = readCount(root, "maxCPUs", 0);

  const json &nodes = readArray(root, "the graph", "nodes");
  checkNodeCount(nodes.size());
  std::unordered_map<int64_t, int> numberOf;
  std::map<int64_t, int> classes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    DnnNode node = readNode(nodes[i], i, classes);
    if (!numberOf.emplace(node.id, i).second)
      throw PlaceError("a second node " + std::to_string(node.id));
    graph.nodes.push_back(node);
  }
  if (graph.nodes.empty())
    throw PlaceError("it has no nodes");
  int nextClass = static_cast<int>(classes.size());
  for (DnnNode &node : graph.nodes)
    if (node.colorClass < 0)
      node.colorClass = nextClass++;

  graph.dag = Dag(static_cast<int>(graph.nodes.size()));
  std::vector<char> hasCost(graph.nodes.size(), false);
  const json &edges = readArray(root, "the graph", "edges");
  for (size_t i = 0; i < edges.size(); ++i) {
    std::string where = "edges[" + std::to_string(i) + "]";
    int ends[2];
    for (int end : {0, 1}) {
      int64_t id = readInteger(edges[i], where, end == 0 ? "sourceId" : "destId");
      auto found = numberOf.find(id);
      if (found == numberOf.end())
        throw PlaceError(where + ": there is no node " + std::to_string(id));
      ends[end] = found->second;
    }
    DnnNode &from = graph.nodes[ends[0]], &to = graph.nodes[ends[1]];
    where += ", from node " + std::to_string(from.id) + " to node " + std::to_string(to.id);
    double cost = readAmount(edges[i], where, "cost") / 1000;
    // What is sent is the output of the node, once a device: its edges cannot differ.
    if (hasCost[ends[0]] && std::abs(from.outputSeconds - cost) > 1e-9)
      throw PlaceError(where + ": its cost differs from that of another edge of the same source");
    from.outputSeconds = cost;
    hasCost[ends[0]] = true;
    if (from.backward && !to.backward)
      throw PlaceError(where + ": an edge from a backward to a forward node");
    graph.dag.addEdge(ends[0], ends[1]);
  }
  checkAcyclic(graph.dag, [&](int node) { return "node " + std::to_string(graph.nodes[node].id); });
  return graph;
}
