//===- DnnPartitioningTest.cpp - smallest maximum loads, by brute force ---===//

#include "compiler/place/DnnPartitioningGraph.h"
#include "nlohmann/json.hpp"
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace pdc::place;
using nlohmann::json;
using testing::HasSubstr;

namespace {

json graphOf(int accelerators, int cpus, double bytes = 1e9) {
  return {{"maxSizePerFPGA", bytes},
          {"maxFPGAs", accelerators},
          {"maxCPUs", cpus},
          {"nodes", json::array()},
          {"edges", json::array()}};
}

void addNode(json &graph, int id, double cpu, double accelerator, double size = 0, int color = -1,
             bool backward = false, bool supported = true) {
  json node{{"id", id},     {"cpuLatency", cpu},          {"fpgaLatency", accelerator},
            {"size", size}, {"isBackwardNode", backward}, {"supportedOnFpga", supported}};
  if (color >= 0)
    node["colorClass"] = color;
  graph["nodes"].push_back(node);
}

void addEdge(json &graph, int from, int to, double cost) {
  graph["edges"].push_back({{"sourceId", from}, {"destId", to}, {"cost", cost}});
}

Placement place(const json &graph, const PlaceOptions &options = {}) {
  return placeDnnPartitioning(parseDnnPartitioningGraph(graph.dump()), options);
}

std::string errorOf(const std::string &text) {
  try {
    placeDnnPartitioning(parseDnnPartitioningGraph(text), {});
  } catch (const PlaceError &error) {
    return error.what();
  }
  return "no error";
}

/// Every assignment of nodes to devices in order: node by node, with all that the model demands checked at the
/// end, from the file alone.
class Exhaustive {
public:
  explicit Exhaustive(const json &graph) : graph(graph), count(graph["nodes"].size()), device(count) {}

  /// Devices are stages in order; `cpu` says which of them is the CPU, -1: none.
  double best() {
    double result = INFINITY;
    int accelerators = graph["maxFPGAs"], cpus = graph["maxCPUs"];
    for (int cpu = cpus ? 0 : -1; cpu < (cpus ? accelerators + cpus : 0); ++cpu)
      result = std::min(result, assign(0, accelerators + cpus, cpu));
    return result;
  }

private:
  double assign(size_t node, int devices, int cpu) {
    if (node == count)
      return load(devices, cpu);
    double best = INFINITY;
    for (device[node] = 0; device[node] < devices; ++device[node])
      best = std::min(best, assign(node + 1, devices, cpu));
    return best;
  }

  double load(int devices, int cpu) const {
    std::vector<double> seconds(devices), bytes(devices);
    auto at = [&](size_t i) -> const json & { return graph["nodes"][i]; };
    for (size_t i = 0; i < count; ++i) {
      bool onCpu = device[i] == cpu;
      if (!onCpu && !at(i)["supportedOnFpga"].get<bool>())
        return INFINITY;
      seconds[device[i]] += at(i)[onCpu ? "cpuLatency" : "fpgaLatency"].get<double>() / 1000;
      bytes[device[i]] += at(i)["size"].get<double>();
      for (size_t j = 0; j < i; ++j)
        if (at(i).contains("colorClass") && at(j).contains("colorClass") &&
            at(i)["colorClass"] == at(j)["colorClass"] && device[i] != device[j])
          return INFINITY;
    }
    std::set<std::pair<int, int>> sent; // (node, device)
    for (const json &edge : graph["edges"]) {
      int from = edge["sourceId"], to = edge["destId"];
      bool forward = !at(from)["isBackwardNode"].get<bool>() && !at(to)["isBackwardNode"].get<bool>();
      if (forward && device[from] > device[to])
        return INFINITY;
      if (device[from] == device[to])
        continue;
      for (int end : {device[from], device[to]})
        if (end != cpu && sent.insert({from, end}).second)
          seconds[end] += edge["cost"].get<double>() / 1000;
    }
    for (int d = 0; d < devices; ++d)
      if (d != cpu && bytes[d] > graph["maxSizePerFPGA"].get<double>())
        return INFINITY;
    return *std::max_element(seconds.begin(), seconds.end());
  }

  const json &graph;
  size_t count;
  std::vector<int> device;
};

/// Forward nodes 0 to n-1, and backward nodes of some of them with mirrored edges.
json randomGraph(std::mt19937 &random) {
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  json graph = graphOf(1 + below(3), below(2), 4 + below(20));
  int forward = 2 + below(3), next = forward;
  std::vector<int> backwardOf(forward, -1);
  for (int v = 0; v < forward; ++v)
    addNode(graph, v, below(40), below(3) ? below(20) : 0, below(4), v, false, below(8) != 0);
  for (int v = 0; v < forward && next < 6; ++v)
    if (below(2)) {
      backwardOf[v] = next;
      addNode(graph, next++, below(40), below(20), below(3), v, true);
    }
  std::vector<double> cost(next);
  for (double &c : cost)
    c = below(8);
  for (int v = 1; v < forward; ++v)
    for (int u = 0; u < v; ++u)
      if (!below(2)) {
        addEdge(graph, u, v, cost[u]);
        if (backwardOf[u] >= 0 && backwardOf[v] >= 0)
          addEdge(graph, backwardOf[v], backwardOf[u], cost[backwardOf[v]]);
      }
  for (int v = 0; v < forward; ++v)
    if (backwardOf[v] >= 0 && below(2))
      addEdge(graph, v, backwardOf[v], cost[v]);
  return graph;
}

} // namespace

TEST(DnnPartitioning, IsTheExhaustiveOneOnRandomGraphs) {
  std::mt19937 random(5);
  int infeasible = 0;
  for (int round = 0; round < 100; ++round) {
    json graph = randomGraph(random);
    double expected = Exhaustive(graph).best();
    if (std::isinf(expected)) {
      ++infeasible;
      EXPECT_THAT(errorOf(graph.dump()), HasSubstr("no plan fits")) << graph;
      continue;
    }
    ASSERT_EQ(errorOf(graph.dump()), "no error") << graph << " has " << expected;
    Placement placement = place(graph);
    ASSERT_NEAR(placement.bottleneckSeconds, expected, 1e-12) << "round " << round << " " << graph;
    double slowest = 0;
    size_t nodes = 0;
    for (const PlacedStage &stage : placement.stages) {
      slowest = std::max(slowest, stage.seconds);
      nodes += stage.nodes.size();
    }
    ASSERT_DOUBLE_EQ(slowest, placement.bottleneckSeconds);
    ASSERT_EQ(nodes, graph["nodes"].size());
  }
  EXPECT_GT(infeasible, 0);
  EXPECT_LT(infeasible, 100);
}

TEST(DnnPartitioning, NodesThatCostNothingChangeNothing) {
  std::mt19937 random(6);
  int feasible = 0;
  for (int round = 0; round < 60; ++round) {
    json graph = randomGraph(random);
    if (graph["nodes"].size() > 5)
      continue;
    // One between two nodes, as a chain of two; and one that is a second input of the last forward node.
    int next = 20;
    addNode(graph, next, 0, 0);
    addEdge(graph, next, 1, 0);
    if (round % 2) {
      addNode(graph, ++next, 0, 0);
      addEdge(graph, next, next - 1, 0);
    }
    // Exhaustive wants the nodes' ids to be their places.
    std::map<int, int> place;
    for (json &node : graph["nodes"]) {
      int number = static_cast<int>(place.size());
      place[node["id"]] = number;
      node["id"] = number;
    }
    for (json &edge : graph["edges"])
      for (const char *end : {"sourceId", "destId"})
        edge[end] = place[edge[end]];
    double expected = Exhaustive(graph).best();
    if (std::isinf(expected))
      continue;
    ++feasible;
    Placement placement = ::place(graph);
    ASSERT_NEAR(placement.bottleneckSeconds, expected, 1e-12) << "round " << round << " " << graph;
    size_t nodes = 0;
    for (const PlacedStage &stage : placement.stages)
      nodes += stage.nodes.size();
    ASSERT_EQ(nodes, graph["nodes"].size());
  }
  EXPECT_GT(feasible, 10);
}

/// A translation model of some layers: each takes an item of one state, at no cost, and has an output that nothing reads.
json layersOfOneState(int layers, double outputBytes) {
  json graph = graphOf(3, 0, 1000);
  addNode(graph, 500, 0, 0);
  for (int layer = 0; layer < layers; ++layer) {
    addNode(graph, layer, 0, 10, 20);
    addNode(graph, 100 + layer, 0, 0, outputBytes);
    addNode(graph, 200 + layer, 0, 0);
    addEdge(graph, layer, 100 + layer, 1);
    addEdge(graph, 500, 200 + layer, 0);
    addEdge(graph, 200 + layer, layer, 0);
    if (layer > 0)
      addEdge(graph, layer - 1, layer, 1);
  }
  return graph;
}

TEST(DnnPartitioning, StatesAndUnusedOutputsMakeNoCuts) {
  Placement placement = place(layersOfOneState(24, 5));
  EXPECT_TRUE(placement.exact);
  EXPECT_EQ(placement.cuts, 25u);
  EXPECT_NEAR(placement.bottleneckSeconds, 0.082, 1e-12); // eight layers, an input and an output
  // The outputs need memory: where not all nodes fit on one device, they are not taken to their layers at once.
  placement = place(layersOfOneState(6, 150));
  EXPECT_TRUE(placement.exact);
  EXPECT_GT(placement.cuts, 25u);
  EXPECT_NEAR(placement.bottleneckSeconds, 0.022, 1e-12);
  // Unless there are too many cuts then: the published planner takes them there whatever memory there is.
  placement = place(layersOfOneState(24, 50));
  EXPECT_FALSE(placement.exact);
  EXPECT_EQ(placement.cuts, 25u);
  EXPECT_NEAR(placement.bottleneckSeconds, 0.082, 1e-12);
}

TEST(DnnPartitioning, BackwardNodesStayWithTheirForwardNodes) {
  json graph = graphOf(2, 0);
  addNode(graph, 1, 0, 10, 0, 1);
  addNode(graph, 2, 0, 10, 0, 2);
  addNode(graph, 3, 0, 30, 0, 1, true);
  addNode(graph, 4, 0, 30, 0, 2, true);
  addEdge(graph, 1, 2, 1);
  addEdge(graph, 4, 3, 2);
  Placement placement = place(graph);
  EXPECT_DOUBLE_EQ(placement.bottleneckSeconds, 0.043); // 10 + 30 and both outputs that cross
  EXPECT_THAT(placement.stages[0].nodes, testing::ElementsAre("1", "3"));
}

TEST(DnnPartitioning, FewerAcceleratorsThanTheGraphSays) {
  json graph = graphOf(4, 0);
  for (int v = 0; v < 4; ++v)
    addNode(graph, v, 0, 10);
  for (int v = 1; v < 4; ++v)
    addEdge(graph, v - 1, v, 0);
  EXPECT_DOUBLE_EQ(place(graph).bottleneckSeconds, 0.010);
  PlaceOptions options;
  options.devices = 2;
  EXPECT_DOUBLE_EQ(place(graph, options).bottleneckSeconds, 0.020);
}

TEST(DnnPartitioning, StatesABoundWhereThereAreTooManyCuts) {
  json graph = graphOf(2, 0);
  for (int v = 0; v < 40; ++v)
    addNode(graph, v, 0, 1);
  PlaceOptions options;
  options.maxCuts = 1000;
  Placement placement = place(graph, options);
  EXPECT_FALSE(placement.exact);
  EXPECT_NEAR(placement.bottleneckSeconds, 0.020, 1e-12);
  EXPECT_NEAR(placement.lowerBoundSeconds, 0.020, 1e-12);
}

TEST(DnnPartitioning, SaysWhatAPlanMayLoseWhereTheSearchIsGivenUp) {
  // Blocks of three branches of four nodes: 125 cuts each.
  std::mt19937 random(7);
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  json graph = graphOf(6, 1);
  int join = 0, last = 0;
  auto node = [&] { addNode(graph, ++last, 100 + below(900), 10 + below(90)); };
  addNode(graph, 0, 100, 10);
  for (int block = 0; block < 4; ++block) {
    std::vector<int> ends;
    int start = join;
    for (int branch = 0; branch < 3; ++branch) {
      int before = start;
      for (int i = 0; i < 4; ++i) {
        node();
        addEdge(graph, before, last, before == start ? 3 : 1 + before % 7);
        before = last;
      }
      ends.push_back(before);
    }
    node();
    join = last;
    for (int end : ends)
      addEdge(graph, end, join, 1 + end % 7);
  }
  Placement best = place(graph);
  EXPECT_TRUE(best.exact);
  for (double effort : {0.0, 1e-5, 1e-4}) {
    PlaceOptions options;
    options.effort = effort;
    Placement placement = place(graph, options);
    EXPECT_FALSE(placement.exact) << effort;
    EXPECT_GE(placement.bottleneckSeconds, best.bottleneckSeconds);
    EXPECT_LE(placement.lowerBoundSeconds, best.bottleneckSeconds);
    EXPECT_GT(placement.lowerBoundSeconds, 0);
    size_t nodes = 0;
    double slowest = 0;
    for (const PlacedStage &stage : placement.stages) {
      nodes += stage.nodes.size();
      slowest = std::max(slowest, stage.seconds);
    }
    EXPECT_EQ(nodes, graph["nodes"].size());
    EXPECT_DOUBLE_EQ(slowest, placement.bottleneckSeconds);
  }
}

TEST(DnnPartitioning, SaysWhatIsWrong) {
  json good = graphOf(2, 0);
  addNode(good, 1, 1, 1);
  addNode(good, 2, 1, 1);
  addEdge(good, 1, 2, 1);
  EXPECT_EQ(errorOf(good.dump()), "no error");
  auto with = [&](auto change) {
    json graph = good;
    change(graph);
    return errorOf(graph.dump());
  };
  EXPECT_THAT(errorOf(""), HasSubstr("empty"));
  EXPECT_THAT(errorOf("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(errorOf(good.dump().substr(0, good.dump().size() / 2)), HasSubstr("not JSON: parse error"));
  EXPECT_THAT(errorOf(std::string(100000, '[')), HasSubstr("JSON"));
  EXPECT_THAT(with([](json &g) { addEdge(g, 2, 1, 1); }), HasSubstr("a cycle of 2 nodes"));
  EXPECT_THAT(with([](json &g) { addEdge(g, 1, 9, 1); }), HasSubstr("edges[1]: there is no node 9"));
  EXPECT_THAT(with([](json &g) { addNode(g, 1, 1, 1); }), HasSubstr("a second node 1"));
  EXPECT_THAT(with([](json &g) { addNode(g, 3, 1, -1); }), HasSubstr("node 3: 'fpgaLatency' is -1"));
  EXPECT_THAT(with([](json &g) { g["nodes"][0].erase("cpuLatency"); }), HasSubstr("node 1: no 'cpuLatency'"));
  EXPECT_THAT(with([](json &g) { g["nodes"] = json::array(); }), HasSubstr("no nodes"));
  EXPECT_THAT(with([](json &g) { g["maxFPGAs"] = "six"; }), HasSubstr("'maxFPGAs'"));
  EXPECT_THAT(with([](json &g) {
                addNode(g, 3, 1, 1);
                addEdge(g, 1, 3, 2);
              }),
              HasSubstr("differs from that of another edge"));
}
