//===- PiperParser.cpp - graphs of Piper ----------------------------------===//

#include "compiler/place/PiperGraph.h"
#include "compiler/place/ProfileFields.h"
#include <charconv>
#include <set>
#include <unordered_map>

using namespace pdc::place;
using nlohmann::json;

static int readCount(const json &root, const char *key, int64_t most) {
  int64_t count = readInteger(root, "the graph", key);
  if (count < 1 || count > most)
    throw PlaceError(std::string("'") + key + "' is " + std::to_string(count) + ", not 1 to " +
                     std::to_string(most));
  return static_cast<int>(count);
}

static double readPositive(const json &root, const char *key) {
  double amount = readAmount(root, "the graph", key);
  if (amount <= 0)
    throw PlaceError(std::string("'") + key + "' must be more than 0");
  return amount;
}

static const json &readObject(const json &object, const std::string &where, const char *key) {
  const json &value = member(object, where, key);
  if (!value.is_object())
    throw PlaceError(where + ": '" + key + "' is not an object");
  return value;
}

/// Keys of JSON objects are text also where they stand for numbers.
static int64_t parseKey(const std::string &key, const std::string &where) {
  int64_t number = 0;
  auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (code != std::errc() || end != key.data() + key.size())
    throw PlaceError(where + ": the key '" + key + "' is not a whole number");
  return number;
}

namespace {

class Reader {
public:
  explicit Reader(const std::string &text) : root(parseJsonObject(text)) {}

  PiperGraph read() {
    graph.memoryBytes = readPositive(root, "maxMemoryPerDevice");
    graph.bytesPerSecond = readPositive(root, "bandwidth");
    graph.devices = readCount(root, "maxDevices", 65536);
    // The published files have one name, their description the other.
    graph.samples = readCount(root, root.contains("mbsInBatch") ? "mbsInBatch" : "maxBatchSize", 1 << 24);
    const json &nodes = readArray(root, "the graph", "nodes");
    checkNodeCount(nodes.size());
    if (nodes.empty())
      throw PlaceError("it has no nodes");
    for (size_t i = 0; i < nodes.size(); ++i) {
      graph.nodes.push_back({readInteger(nodes[i], "nodes[" + std::to_string(i) + "]", "id"), {}});
      if (!numberOf.emplace(graph.nodes.back().id, static_cast<int>(i)).second)
        throw PlaceError("a second node " + std::to_string(graph.nodes.back().id));
    }
    graph.dag = Dag(static_cast<int>(graph.nodes.size()));
    readEdges();
    checkAcyclic(graph.dag, [&](int node) { return "node " + std::to_string(graph.nodes[node].id); });
    for (size_t i = 0; i < nodes.size(); ++i)
      readConfigurations(nodes[i], static_cast<int>(i));
    return std::move(graph);
  }

private:
  int numberOfNode(int64_t id, const std::string &where) const {
    auto found = numberOf.find(id);
    if (found == numberOf.end())
      throw PlaceError(where + ": there is no node " + std::to_string(id));
    return found->second;
  }

  void readEdges() {
    const json &edges = readArray(root, "the graph", "edges");
    std::set<std::pair<int, int>> seen;
    for (size_t i = 0; i < edges.size(); ++i) {
      std::string where = "edges[" + std::to_string(i) + "]";
      PiperEdge edge;
      edge.from = numberOfNode(readInteger(edges[i], where, "sourceId"), where);
      edge.to = numberOfNode(readInteger(edges[i], where, "destId"), where);
      edge.bytes = readAmount(edges[i], where, "communicationCost");
      if (!seen.insert({edge.from, edge.to}).second)
        throw PlaceError(where + ": a second edge from node " + std::to_string(graph.nodes[edge.from].id) +
                         " to node " + std::to_string(graph.nodes[edge.to].id));
      graph.dag.addEdge(edge.from, edge.to);
      graph.edges.push_back(edge);
    }
  }

  void readConfigurations(const json &object, int node) {
    std::string where = "node " + std::to_string(graph.nodes[node].id);
    for (const auto &[key, list] : readObject(object, where, "TMPCs").items()) {
      int64_t degree = parseKey(key, where + ", TMPCs");
      if (degree < 1 || degree > 65536 || !list.is_array())
        throw PlaceError(where + ", TMPCs: '" + key + "' does not give a list for 1 to 65536 devices");
      std::set<std::string> ids;
      for (size_t i = 0; i < list.size(); ++i) {
        std::string place = where + ", TMPCs for " + key + " devices, " + std::to_string(i);
        PiperConfiguration configuration = readConfiguration(list[i], place, node);
        if (!ids.insert(configuration.id).second)
          throw PlaceError(place + ": a second one called '" + configuration.id + "'");
        graph.nodes[node].configurations[static_cast<int>(degree)].push_back(std::move(configuration));
      }
    }
    if (graph.nodes[node].configurations.empty())
      throw PlaceError(where + ": it cannot run on any number of devices");
  }

  PiperConfiguration readConfiguration(const json &object, const std::string &where, int node) {
    PiperConfiguration configuration;
    const json &id = member(object, where, "id");
    if (!id.is_string() || id.get<std::string>().empty())
      throw PlaceError(where + ": 'id' is not a name");
    configuration.id = id.get<std::string>();
    configuration.seconds = readAmount(object, where, "timePerSample");
    configuration.parameterBytes = readAmount(object, where, "parameterSize");
    configuration.bytesPerSample = readAmount(object, where, "memoryUsageA");
    configuration.fixedBytes = readAmount(object, where, "memoryUsageB");
    configuration.bytesFrom = readSync(object, where, "syncTimeFw", graph.dag.predecessors(node));
    configuration.bytesTo = readSync(object, where, "syncTimeBw", graph.dag.successors(node));
    return configuration;
  }

  /// A number for each neighbour, and for nothing else.
  std::map<int, double> readSync(const json &object, const std::string &where, const char *key,
                                 const std::vector<int> &neighbours) {
    std::map<int, double> result;
    const json &entries = readObject(object, where, key);
    std::string place = where + ", " + key;
    for (const auto &[id, value] : entries.items())
      result[numberOfNode(parseKey(id, place), place)] = readAmount(entries, place, id.c_str());
    for (int neighbour : neighbours)
      if (!result.count(neighbour))
        throw PlaceError(place + ": the edge with node " + std::to_string(graph.nodes[neighbour].id) +
                         " is missing");
    if (result.size() != neighbours.size())
      throw PlaceError(place + ": it names a node that no edge leads to");
    return result;
  }

  json root;
  PiperGraph graph;
  std::unordered_map<int64_t, int> numberOf;
};

} // namespace

PiperGraph pdc::place::parsePiperGraph(const std::string &text) { return Reader(text).read(); }
