//===- PiperTest.cpp - Piper's graphs and planner -------------------------===//

#include "compiler/place/PiperGraph.h"
#include "compiler/place/PlacementReport.h"
#include "nlohmann/json.hpp"
#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>

using namespace pdc::place;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

json configuration(const std::string &id, double seconds, double weights, double a, double b) {
  return {
      {"id", id},          {"timePerSample", seconds},     {"parameterSize", weights},    {"memoryUsageA", a},
      {"memoryUsageB", b}, {"syncTimeFw", json::object()}, {"syncTimeBw", json::object()}};
}

json graphOf(int devices, int samples, double memory = 1e12) {
  return {{"maxMemoryPerDevice", memory}, {"maxDevices", devices},  {"mbsInBatch", samples},
          {"bandwidth", 100.0},           {"nodes", json::array()}, {"edges", json::array()}};
}

void addNode(json &graph, int id, json configurations) {
  graph["nodes"].push_back({{"id", id}, {"TMPCs", std::move(configurations)}});
}

/// An edge, and what every configuration of its ends sends besides.
void addEdge(json &graph, int from, int to, double bytes, double forward = 0, double backward = 0) {
  graph["edges"].push_back({{"sourceId", from}, {"destId", to}, {"communicationCost", bytes}});
  for (json &node : graph["nodes"])
    for (auto &[degree, list] : node["TMPCs"].items())
      for (json &c : list) {
        if (node["id"] == to)
          c["syncTimeFw"][std::to_string(from)] = forward;
        if (node["id"] == from)
          c["syncTimeBw"][std::to_string(to)] = backward;
      }
}

/// A chain of layers of 4 s and 10 bytes of weights, 1 byte between them.
json chain(int layers, int devices, int samples) {
  json graph = graphOf(devices, samples);
  for (int i = 0; i < layers; ++i)
    addNode(graph, i, {{"1", {configuration("plain", 4, 10, 0, 0)}}});
  for (int i = 0; i + 1 < layers; ++i)
    addEdge(graph, i, i + 1, 1);
  return graph;
}

Placement place(const json &graph, PlaceOptions options = {}) {
  return placePiper(parsePiperGraph(graph.dump()), options);
}

//===----------------------------------------------------------------------===//
// By brute force: the published formulas over all assignments of nodes to stages
//===----------------------------------------------------------------------===//

class BruteForce {
public:
  explicit BruteForce(const PiperGraph &graph) : graph(graph), stageOf(graph.nodes.size(), -1) {}

  double run() {
    assign(0);
    return best;
  }

private:
  /// Nodes to at most four stages, edges never backward.
  void assign(size_t node) {
    if (node == stageOf.size()) {
      int stages = *std::max_element(stageOf.begin(), stageOf.end()) + 1;
      for (int stage = 0; stage < stages; ++stage)
        if (std::count(stageOf.begin(), stageOf.end(), stage) == 0)
          return;
      for (const PiperEdge &edge : graph.edges)
        if (stageOf[edge.from] > stageOf[edge.to])
          return;
      degrees.assign(stages, {});
      choose(0, graph.devices);
      return;
    }
    for (int stage = 0; stage < 4; ++stage) {
      stageOf[node] = stage;
      assign(node + 1);
    }
  }

  void choose(size_t stage, int devices) {
    if (stage == degrees.size()) {
      evaluate();
      return;
    }
    for (int t = 1; t <= devices; ++t)
      for (int d = 1; t * d <= devices; ++d)
        if (graph.samples % d == 0) {
          degrees[stage] = {t, d};
          choose(stage + 1, devices - t * d);
        }
  }

  void evaluate() {
    int sum = 0;
    for (auto [t, d] : degrees)
      sum += d;
    if (sum > std::min(graph.samples, graph.devices))
      return;
    double slowest = 0;
    for (size_t stage = 0; stage < degrees.size(); ++stage) {
      slowest = std::max(slowest, seconds(static_cast<int>(stage),
                                          (sum + degrees[stage].second - 1) / degrees[stage].second));
      sum -= degrees[stage].second;
    }
    best = std::min(best, slowest);
  }

  /// Over all choices of configurations that fit.
  double seconds(int stage, int inFlight) {
    std::vector<int> nodes;
    for (size_t node = 0; node < stageOf.size(); ++node)
      if (stageOf[node] == stage)
        nodes.push_back(static_cast<int>(node));
    return configure(stage, nodes, 0, inFlight, 0, 0);
  }

  double configure(int stage, const std::vector<int> &nodes, size_t next, int inFlight, double bytes,
                   double time) {
    if (next == nodes.size())
      return bytes <= graph.memoryBytes ? time : std::numeric_limits<double>::infinity();
    auto [t, d] = degrees[stage];
    double least = std::numeric_limits<double>::infinity();
    int node = nodes[next];
    auto found = graph.nodes[node].configurations.find(t);
    if (found == graph.nodes[node].configurations.end())
      return least;
    for (const PiperConfiguration &c : found->second) {
      double sent = 0;
      for (const PiperEdge &edge : graph.edges) {
        if (edge.to == node && stageOf[edge.from] != stage)
          sent += 2 * (edge.bytes + c.bytesFrom.at(edge.from));
        if (edge.from == node && stageOf[edge.to] != stage)
          sent += 2 * (edge.bytes + c.bytesTo.at(edge.to));
      }
      double more = c.seconds / d +
                    (sent / d + 4.0 * (d - 1) * c.parameterBytes / d / graph.samples) / graph.bytesPerSecond;
      least = std::min(least, configure(stage, nodes, next + 1, inFlight,
                                        bytes + c.bytesPerSample * inFlight + c.fixedBytes, time + more));
    }
    return least;
  }

  const PiperGraph &graph;
  std::vector<int> stageOf;
  std::vector<std::pair<int, int>> degrees;
  double best = std::numeric_limits<double>::infinity();
};

json randomGraph(std::mt19937 &random, double memory) {
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  int nodes = 3 + below(2), devices = 2 + below(3);
  json graph = graphOf(devices, 4 + 2 * below(3), memory);
  for (int i = 0; i < nodes; ++i) {
    json configurations = {{"1", {configuration("plain", 1 + below(9), below(50), below(4), below(4))}}};
    if (below(2))
      configurations["2"] = {configuration("split", 1 + below(6), below(30), below(3), below(3))};
    addNode(graph, 10 + i, configurations);
  }
  for (int from = 0; from < nodes; ++from)
    for (int to = from + 1; to < nodes; ++to)
      if (to == from + 1 ? below(4) : below(3) == 0)
        addEdge(graph, 10 + from, 10 + to, below(40), below(20), below(20));
  return graph;
}

TEST(PiperPlanner, IsTheExhaustiveOneOnRandomGraphs) {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    // One configuration a degree, so that the knapsack decides nothing.
    json graph = randomGraph(random, i % 2 ? 1e9 : 12);
    PiperGraph parsed = parsePiperGraph(graph.dump());
    double expected = BruteForce(parsed).run();
    if (std::isinf(expected)) {
      EXPECT_THROW(placePiper(parsed, {}), PlaceError) << graph;
      continue;
    }
    Placement placement = placePiper(parsed, {});
    EXPECT_NEAR(placement.bottleneckSeconds, expected, 1e-9) << graph;
    double slowest = 0;
    int devices = 0;
    for (const PlacedStage &stage : placement.stages) {
      slowest = std::max(slowest, stage.seconds);
      devices += stage.replicas * stage.tensor;
    }
    EXPECT_NEAR(slowest, expected, 1e-9) << graph;
    EXPECT_LE(devices, parsed.devices);
  }
}

/// A node that nothing has to pay for, before and after some of the others.
void addFreeNode(json &graph, int id, const std::vector<int> &before, const std::vector<int> &after) {
  json configurations;
  for (const json &node : graph["nodes"])
    for (const auto &[degree, list] : node["TMPCs"].items())
      configurations[degree] = {configuration("plain", 0, 0, 0, 0)};
  addNode(graph, id, configurations);
  for (int other : before)
    addEdge(graph, other, id, 0);
  for (int other : after)
    addEdge(graph, id, other, 0);
}

TEST(PiperPlanner, NodesThatCostNothingChangeNothing) {
  std::mt19937 random(12);
  for (int i = 0; i < 25; ++i) {
    json graph = randomGraph(random, i % 2 ? 1e9 : 14);
    int last = 9 + static_cast<int>(graph["nodes"].size());
    addFreeNode(graph, 50, {10}, {last});
    if (i % 3 == 0 && graph["nodes"].size() < 5)
      addFreeNode(graph, 51, {}, {11, 50});
    PiperGraph parsed = parsePiperGraph(graph.dump());
    double expected = BruteForce(parsed).run();
    if (std::isinf(expected)) {
      EXPECT_THROW(placePiper(parsed, {}), PlaceError) << graph;
      continue;
    }
    Placement placement = placePiper(parsed, {});
    EXPECT_NEAR(placement.bottleneckSeconds, expected, 1e-9) << graph;
    std::map<std::string, size_t> stageOf;
    for (size_t stage = 0; stage < placement.stages.size(); ++stage)
      for (const std::string &node : placement.stages[stage].nodes)
        EXPECT_TRUE(stageOf.emplace(node, stage).second) << node;
    EXPECT_EQ(stageOf.size(), graph["nodes"].size());
    for (const json &edge : graph["edges"])
      EXPECT_LE(stageOf.at(edge["sourceId"].dump()), stageOf.at(edge["destId"].dump())) << graph;
  }
}

TEST(PiperPlanner, AStateOfManyLayersMakesNoCuts) {
  // A translation model: each of 16 decoder layers takes its item of one state that costs nothing. Every subset of the
  // items could be before a cut.
  json graph = chain(20, 4, 4);
  addFreeNode(graph, 100, {}, {});
  for (int layer = 4; layer < 20; ++layer)
    addFreeNode(graph, 100 + layer, {100}, {layer});
  Placement placement = place(graph);
  EXPECT_TRUE(placement.exact);
  EXPECT_EQ(placement.cuts, 21u);
  EXPECT_NEAR(placement.bottleneckSeconds, place(chain(20, 4, 4)).bottleneckSeconds, 1e-12);
}

TEST(PiperPlanner, CutsAChainIntoEqualStages) {
  // 8 layers of 4 s on 2 devices: 16 s a stage and 1 byte out or in, there and back, at 100 bytes a second. The devices
  // as replicas of one stage: 32/2 + 4 (2-1)/2 80/(2 100) is more.
  Placement placement = place(chain(8, 2, 2));
  ASSERT_EQ(placement.stages.size(), 2u);
  EXPECT_NEAR(placement.bottleneckSeconds, 16.02, 1e-12);
  EXPECT_THAT(placement.stages[0].nodes, ElementsAre("0", "1", "2", "3"));
  EXPECT_NEAR(placement.oneDeviceSeconds, 32, 1e-12);
}

TEST(PiperPlanner, ReplicatesAStageWhereABatchHasManyMicroBatches) {
  Placement placement = place(chain(8, 2, 1000));
  ASSERT_EQ(placement.stages.size(), 1u);
  EXPECT_EQ(placement.stages[0].replicas, 2);
  EXPECT_NEAR(placement.bottleneckSeconds, 16 + 4.0 * 80 / 2 / 1000 / 100, 1e-12);
  EXPECT_NEAR(*placement.dataParallelSeconds, placement.bottleneckSeconds, 1e-12);
}

TEST(PiperPlanner, PlansForThousandsOfDevices) {
  // 35 layers on 2,100 devices: 60 replicas of each.
  json graph = graphOf(2100, 60 * 70);
  for (int i = 0; i < 35; ++i)
    addNode(graph, i, {{"1", {configuration("plain", 6, 0, 0, 0)}}});
  for (int i = 0; i + 1 < 35; ++i)
    addEdge(graph, i, i + 1, 0);
  Placement placement = place(graph);
  EXPECT_TRUE(placement.exact);
  EXPECT_NEAR(placement.bottleneckSeconds, 35 * 6.0 / 2100, 1e-12);
}

TEST(PiperPlanner, ASmallerSumOfDegreesIsWorthDevices) {
  // The second layer takes 4 s on 4 devices as replicas, and 5 s on 5 with tensor parallelism; only then has the first
  // layer, whose samples in flight fill the memory, no more than two of them.
  json graph = graphOf(6, 8, 20);
  addNode(graph, 0, {{"1", {configuration("plain", 5, 0, 10, 0)}}});
  addNode(graph, 1,
          {{"1", {configuration("plain", 16, 0, 0, 0)}}, {"5", {configuration("split", 5, 0, 0, 0)}}});
  addEdge(graph, 0, 1, 0);
  Placement placement = place(graph);
  ASSERT_EQ(placement.stages.size(), 2u);
  EXPECT_NEAR(placement.bottleneckSeconds, 5, 1e-12);
  EXPECT_EQ(placement.stages[1].tensor, 5);
  graph["maxMemoryPerDevice"] = 50;
  EXPECT_NEAR(place(graph).bottleneckSeconds, 4, 1e-12);
}

TEST(PiperPlanner, ChoicesThatDifferInWhatTheySend) {
  // What is faster within a stage sends more over its boundary: 3 + 2 * 200 / 100 against 5.
  json graph = graphOf(2, 3);
  addNode(graph, 0, {{"1", {configuration("sends", 3, 0, 0, 0), configuration("computes", 5, 0, 0, 0)}}});
  addNode(graph, 1, {{"1", {configuration("plain", 6, 0, 0, 0)}}});
  addEdge(graph, 0, 1, 0);
  graph["nodes"][0]["TMPCs"]["1"][0]["syncTimeBw"]["1"] = 200;
  Placement placement = place(graph);
  ASSERT_EQ(placement.stages.size(), 2u);
  EXPECT_NEAR(placement.bottleneckSeconds, 6, 1e-12);
  EXPECT_THAT(placement.stages[0].configurations, ElementsAre("computes"));
}

TEST(PiperPlanner, UsesTensorParallelismWhereALayerIsTooSlow) {
  json graph = graphOf(3, 2);
  addNode(graph, 0,
          {{"1", {configuration("plain", 10, 0, 0, 0)}}, {"2", {configuration("split", 6, 0, 0, 0)}}});
  addNode(graph, 1, {{"1", {configuration("plain", 5, 0, 0, 0)}}});
  addEdge(graph, 0, 1, 0, 0, 0);
  Placement placement = place(graph);
  ASSERT_EQ(placement.stages.size(), 2u);
  EXPECT_EQ(placement.stages[0].tensor, 2);
  EXPECT_THAT(placement.stages[0].configurations, ElementsAre("split"));
  EXPECT_NEAR(placement.bottleneckSeconds, 6, 1e-12);
}

TEST(PiperPlanner, RecomputesTheLayersThatLoseLeastWhereMemoryIsShort) {
  json graph = graphOf(1, 1, 25);
  for (int i = 0; i < 3; ++i)
    addNode(graph, i,
            {{"1",
              {configuration("vanilla", 1, 0, 10, 0),
               configuration("activation recomp", 1.5 + 0.1 * i, 0, 2, 0)}}});
  for (int i = 0; i < 2; ++i)
    addEdge(graph, i, i + 1, 0);
  Placement placement = place(graph);
  EXPECT_THAT(placement.stages[0].configurations, ElementsAre("activation recomp", "vanilla", "vanilla"));
  EXPECT_NEAR(placement.bottleneckSeconds, 3.5, 1e-12);
  PlaceOptions little;
  little.memoryBytes = 5;
  try {
    place(graph, little);
    FAIL();
  } catch (const PlaceError &error) {
    EXPECT_THAT(error.what(), HasSubstr("no plan keeps every stage within 5 bytes of memory on 1 devices"));
  }
}

TEST(PiperPlanner, EarlierStagesHoldMoreSamplesInFlight) {
  // Two stages of a sample each fit in no memory of 3 with two in flight on the first.
  json graph = graphOf(2, 2, 3);
  for (int i = 0; i < 2; ++i)
    addNode(graph, i, {{"1", {configuration("plain", 1, 1e9, 2, 0)}}});
  addEdge(graph, 0, 1, 0);
  EXPECT_THROW(place(graph), PlaceError);
  graph["maxMemoryPerDevice"] = 4;
  EXPECT_EQ(place(graph).stages.size(), 2u);
}

TEST(PiperPlanner, StatesABoundWhereThereAreTooManyCuts) {
  json graph = graphOf(4, 4);
  for (int i = 0; i < 16; ++i)
    addNode(graph, i, {{"1", {configuration("plain", 1, 0, 0, 0)}}});
  Placement placement = place(graph);
  EXPECT_FALSE(placement.exact);
  EXPECT_NEAR(placement.lowerBoundSeconds, 4, 1e-12);
  EXPECT_NEAR(placement.bottleneckSeconds, 4, 1e-12);
}

TEST(PiperPlanner, SaysWhatAPlanMayLoseWhereTheSearchIsGivenUp) {
  // Two branches of 12 layers: 170 cuts, and memory that makes each of them worth a look.
  json graph = graphOf(16, 48, 2000);
  addNode(graph, 0, {{"1", {configuration("plain", 1, 1, 1, 1)}}});
  std::mt19937 random(3);
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int id = 1; id <= 24; ++id) {
    json configurations;
    for (int t : {1, 2, 4}) {
      double seconds = (10 + below(20)) / std::pow(t, 0.8), a = (10 + below(90)) / t,
             b = (10 + below(90)) / t;
      configurations[std::to_string(t)] = {
          configuration("vanilla", seconds, b, a, b),
          configuration("recompute", 1.3 * seconds, b, 0.1 * a, b + 0.9 * a)};
    }
    addNode(graph, id, configurations);
  }
  for (int id = 1; id <= 24; ++id)
    addEdge(graph, id == 13 ? 0 : id - 1, id, below(100));
  Placement best = place(graph);
  EXPECT_TRUE(best.exact);
  for (double effort : {0.0, 0.001, 0.003}) {
    PlaceOptions options;
    options.effort = effort;
    Placement placement = place(graph, options);
    EXPECT_FALSE(placement.exact) << effort;
    EXPECT_GE(placement.bottleneckSeconds, best.bottleneckSeconds);
    EXPECT_LE(placement.lowerBoundSeconds, best.bottleneckSeconds);
    EXPECT_GT(placement.lowerBoundSeconds, 0);
  }
}

TEST(PiperPlanner, ReportsDegreesAndConfigurations) {
  json report = json::parse(toJson(place(chain(4, 2, 2))));
  EXPECT_EQ(report["stages"][0]["tensor"], 1);
  EXPECT_EQ(report["stages"][0]["configurations"], json({"plain", "plain"}));
  EXPECT_EQ(report["stages"][0]["nodes"], json({0, 1}));
  EXPECT_THAT(toTable(place(chain(4, 2, 2))), HasSubstr("(tensor 1)"));
}

TEST(PiperPlanner, TakesDevicesAndBandwidthFromTheCaller) {
  PlaceOptions options;
  options.devices = 4;
  options.bytesPerSecond = 1;
  Placement placement = place(chain(8, 2, 4), options);
  EXPECT_EQ(placement.devices, 4);
  EXPECT_NEAR(placement.bottleneckSeconds, 8 + 4, 1e-12);
}

void expectError(const std::string &message, const std::function<void(json &)> &change) {
  json graph = chain(3, 2, 4);
  change(graph);
  try {
    parsePiperGraph(graph.dump());
    FAIL() << message;
  } catch (const PlaceError &error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(PiperGraph, SaysWhatIsWrong) {
  expectError("'bandwidth' must be more than 0", [](json &g) { g["bandwidth"] = 0; });
  expectError("'maxDevices' is 0, not 1 to 65536", [](json &g) { g["maxDevices"] = 0; });
  expectError("maxBatchSize", [](json &g) { g.erase("mbsInBatch"); });
  expectError("a second node 1", [](json &g) { g["nodes"][2]["id"] = 1; });
  expectError("edges[0]: there is no node 9", [](json &g) { g["edges"][0]["destId"] = 9; });
  expectError("edges[2]: a second edge from node 0 to node 1",
              [](json &g) { g["edges"].push_back(g["edges"][0]); });
  expectError("cycle", [](json &g) { addEdge(g, 2, 0, 1); });
  expectError("timePerSample", [](json &g) { g["nodes"][0]["TMPCs"]["1"][0]["timePerSample"] = -1; });
  expectError("node 1, TMPCs for 1 devices, 0, syncTimeFw: the edge with node 0 is missing",
              [](json &g) { g["nodes"][1]["TMPCs"]["1"][0]["syncTimeFw"] = json::object(); });
  expectError("syncTimeBw: it names a node that no edge leads to",
              [](json &g) { g["nodes"][0]["TMPCs"]["1"][0]["syncTimeBw"]["2"] = 0; });
  expectError("the key 'x' is not a whole number",
              [](json &g) { g["nodes"][0]["TMPCs"]["x"] = json::array(); });
  expectError("a second one called 'plain'", [](json &g) {
    json &list = g["nodes"][0]["TMPCs"]["1"];
    list.push_back(json(list[0]));
  });
  expectError("node 0: it cannot run on any number of devices",
              [](json &g) { g["nodes"][0]["TMPCs"] = json::object(); });
  expectError("it has no nodes", [](json &g) { g["nodes"] = json::array(); });
}

} // namespace
