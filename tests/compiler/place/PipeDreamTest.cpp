//===- PipeDreamTest.cpp - PipeDream's planner against brute force --------===//

#include "compiler/place/PipeDreamProfile.h"
#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace pdc::place;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

PlaceOptions on(int devices, double bytesPerSecond) {
  PlaceOptions options;
  options.devices = devices;
  options.bytesPerSecond = bytesPerSecond;
  return options;
}

std::string node(int id, double forward, double backward, double activation, double parameters,
                 const std::string &description = "Layer") {
  return "node" + std::to_string(id) + " -- " + description +
         " -- forward_compute_time=" + std::to_string(forward) +
         ", backward_compute_time=" + std::to_string(backward) +
         ", activation_size=" + std::to_string(activation) +
         ", parameter_size=" + std::to_string(parameters) + "\n";
}

std::string edge(int from, int to) {
  return "\tnode" + std::to_string(from) + " -- node" + std::to_string(to) + "\n";
}

std::string errorOf(const std::string &text, const PlaceOptions &options = on(2, 1e9)) {
  try {
    placePipeDream(parsePipeDreamProfile(text), options);
  } catch (const PlaceError &error) {
    return error.what();
  }
  return "no error";
}

/// The published algorithm as it is published: antichains, every (cut, devices, cut, replicas).
class Published {
public:
  Published(const PipeDreamProfile &profile, int devices, double bandwidth, double memory = INFINITY)
      : profile(profile), devices(devices), bandwidth(bandwidth), memory(memory) {
    for (int v = 0; v < profile.dag.size(); ++v)
      for (int from : profile.dag.predecessors(v)) {
        above[v].insert(from);
      }
    for (int round = 0; round < profile.dag.size(); ++round)
      for (int v = 0; v < profile.dag.size(); ++v)
        for (int from : std::set<int>(above[v]))
          above[v].insert(above[from].begin(), above[from].end());
    explore();
  }

  double solve() {
    std::vector<std::set<int>> order(states.begin(), states.end());
    std::sort(order.begin(), order.end(), [](auto &a, auto &b) { return a.size() < b.size(); });
    std::vector<std::vector<double>> best(order.size(), std::vector<double>(devices + 1, INFINITY));
    for (size_t j = 0; j < order.size(); ++j)
      for (int m = 1; m <= devices; ++m) {
        if (fits({}, order[j], m, devices - m))
          best[j][m] = stage({}, order[j], m);
        for (size_t k = 0; k < j; ++k)
          for (int r = 1; r < m && isSubset(order[k], order[j]); ++r) {
            if (!fits(order[k], order[j], r, devices - m))
              continue;
            double sent = j + 1 < order.size() ? output(order[j]) : 0;
            double transfer = 2 * std::max(output(order[k]), sent) / (bandwidth * r);
            best[j][m] =
                std::min(best[j][m], std::max({best[k][m - r], stage(order[k], order[j], r), transfer}));
          }
      }
    return best.back()[devices];
  }
  size_t cuts() const { return states.size(); }

private:
  static bool isSubset(const std::set<int> &a, const std::set<int> &b) {
    return std::includes(b.begin(), b.end(), a.begin(), a.end());
  }
  std::set<int> closure(const std::set<int> &antichain) {
    std::set<int> all(antichain);
    for (int v : antichain)
      all.insert(above[v].begin(), above[v].end());
    return all;
  }
  std::set<int> antichainOf(const std::set<int> &set) {
    std::set<int> result(set);
    for (int v : set)
      for (int a : above[v])
        result.erase(a);
    return result;
  }
  std::set<int> augmented(const std::set<int> &antichain) {
    std::set<int> result(antichain);
    for (int v : antichain)
      for (int a : above[v])
        for (int to : profile.dag.successors(a))
          if (to != v && !above[v].count(to))
            result.insert(a);
    return result;
  }
  void explore() {
    int source = 0;
    while (!profile.dag.predecessors(source).empty())
      ++source;
    std::vector<std::set<int>> queue{{source}};
    states.insert({source});
    while (!queue.empty()) {
      std::set<int> antichain = antichainOf(queue.back());
      queue.pop_back();
      std::set<int> around = augmented(antichain);
      for (int v : around)
        for (int to : profile.dag.successors(v)) {
          bool isNext = !antichain.count(to);
          for (int w : around)
            isNext &= !above[w].count(to);
          std::set<int> next(antichain);
          next.insert(to);
          if (isNext && states.insert(closure(next)).second)
            queue.push_back(closure(next));
        }
    }
  }
  double output(const std::set<int> &set) {
    double bytes = 0;
    for (int v : augmented(antichainOf(set)))
      bytes += profile.nodes[v].activationBytes;
    return bytes;
  }
  double stage(const std::set<int> &from, const std::set<int> &to, int m) {
    double seconds = 0, parameters = 0;
    for (int v : to)
      if (!from.count(v)) {
        seconds += profile.nodes[v].forwardSeconds + profile.nodes[v].backwardSeconds;
        parameters += profile.nodes[v].parameterBytes;
      }
    return (seconds + 4.0 * (m - 1) * parameters / (bandwidth * m)) / m;
  }

  /// Once for each mini-batch in flight: those of the devices behind, per replica.
  bool fits(const std::set<int> &from, const std::set<int> &to, int m, int behind) {
    double bytes = 0;
    for (int v : to)
      if (!from.count(v))
        bytes += profile.nodes[v].activationBytes + profile.nodes[v].parameterBytes;
    return bytes * std::max(1.0, std::ceil(behind / static_cast<double>(m))) <= memory;
  }

  const PipeDreamProfile &profile;
  int devices;
  double bandwidth, memory;
  std::map<int, std::set<int>> above;
  std::set<std::set<int>> states;
};

/// A connected graph with one source; some layers are nearly only weights, some nearly only activations.
std::string randomProfile(std::mt19937 &random, int nodes) {
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  std::string text, edges;
  for (int v = 0; v < nodes; ++v) {
    text += node(v, below(30), below(60), below(4) ? below(50) * 1e5 : 0, below(3) ? 0 : below(400) * 1e5);
    std::set<int> from;
    for (int i = 0, n = v == 0 ? 0 : 1 + below(2); i < n; ++i)
      from.insert(std::max(0, v - 1 - below(4)));
    for (int f : from)
      edges += edge(f, v);
  }
  return text + edges;
}

} // namespace

TEST(PipeDreamPlanner, IsTheExhaustiveOneOnRandomGraphs) {
  std::mt19937 random(20);
  for (int round = 0; round < 150; ++round) {
    PipeDreamProfile profile = parsePipeDreamProfile(randomProfile(random, 2 + random() % 9));
    int devices = 1 + random() % 7;
    double bandwidth = 1e7 * (1 + random() % 100);
    Published published(profile, devices, bandwidth);
    Placement placement = placePipeDream(profile, on(devices, bandwidth));
    double expected = published.solve();
    ASSERT_NEAR(placement.bottleneckSeconds, expected, 1e-9 * expected) << "round " << round;
    ASSERT_EQ(placement.cuts, published.cuts()) << "round " << round;
    // The plan itself is what it says it is.
    int used = 0;
    double slowest = 0;
    std::set<std::string> nodes;
    for (const PlacedStage &stage : placement.stages) {
      used += stage.replicas;
      slowest = std::max({slowest, stage.seconds, stage.transferSeconds});
      for (const std::string &id : stage.nodes)
        ASSERT_TRUE(nodes.insert(id).second) << id << " is in two stages";
    }
    ASSERT_EQ(used, devices);
    ASSERT_EQ(nodes.size(), profile.nodes.size());
    ASSERT_DOUBLE_EQ(slowest, placement.bottleneckSeconds);
  }
}

/// Blocks of parallel branches, each block joined before the next one: wide cuts, and very many of them.
std::string blocksOfBranches(std::mt19937 &random, int blocks, int branches, int length) {
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  std::string text = node(0, 1, 2, 1e5, 1e4), edges;
  int join = 0, last = 0;
  auto layer = [&] { return node(++last, 1 + below(9), 1 + below(20), 1e5 * below(40), 1e5 * below(80)); };
  for (int block = 0; block < blocks; ++block) {
    std::vector<int> ends;
    for (int branch = 0; branch < branches; ++branch) {
      int before = join;
      for (int i = 0; i < length; ++i) {
        text += layer();
        edges += edge(before, last);
        before = last;
      }
      ends.push_back(before);
    }
    text += layer();
    join = last;
    for (int end : ends)
      edges += edge(end, join);
  }
  return text + edges;
}

TEST(PipeDreamPlanner, IsTheExhaustiveOneOnParallelBranches) {
  std::mt19937 random(21);
  for (int round = 0; round < 5; ++round) {
    PipeDreamProfile profile = parsePipeDreamProfile(blocksOfBranches(random, 2, 3, 2));
    int devices = 2 + random() % 9;
    double bandwidth = 1e7 * (1 + random() % 300);
    Published published(profile, devices, bandwidth);
    Placement placement = placePipeDream(profile, on(devices, bandwidth));
    double expected = published.solve();
    ASSERT_NEAR(placement.bottleneckSeconds, expected, 1e-9 * expected) << "round " << round;
    ASSERT_EQ(placement.cuts, published.cuts());
    ASSERT_TRUE(placement.exact);
  }
}

TEST(PipeDreamPlanner, IsTheExhaustiveOneWithinMemory) {
  std::mt19937 random(24);
  int infeasible = 0;
  for (int round = 0; round < 60; ++round) {
    PipeDreamProfile profile = parsePipeDreamProfile(round % 2 ? randomProfile(random, 3 + random() % 7)
                                                               : blocksOfBranches(random, 2, 2, 2));
    double all = 0;
    for (const ProfiledNode &node : profile.nodes)
      all += node.activationBytes + node.parameterBytes;
    PlaceOptions options = on(2 + random() % 7, 1e7 * (1 + random() % 300));
    options.memoryBytes = all * (1 + random() % 20) / 10;
    double expected =
        Published(profile, *options.devices, *options.bytesPerSecond, *options.memoryBytes).solve();
    if (std::isinf(expected)) {
      ++infeasible;
      EXPECT_THROW(placePipeDream(profile, options), PlaceError) << "round " << round;
      continue;
    }
    ASSERT_NEAR(placePipeDream(profile, options).bottleneckSeconds, expected, 1e-9 * expected)
        << "round " << round;
  }
  EXPECT_GT(infeasible, 0);
  EXPECT_LT(infeasible, 40);
}

TEST(PipeDreamPlanner, PlansManyWideCuts) {
  // 6 blocks of 5^4 cuts each.
  std::mt19937 random(22);
  PipeDreamProfile profile = parsePipeDreamProfile(blocksOfBranches(random, 6, 4, 4));
  Placement placement = placePipeDream(profile, on(16, 1e9));
  EXPECT_TRUE(placement.exact);
  EXPECT_GT(placement.cuts, 3'000u);
  // Over a few chains of cuts it is slower.
  PlaceOptions few = on(16, 1e9);
  few.maxCuts = 500;
  Placement chains = placePipeDream(profile, few);
  EXPECT_FALSE(chains.exact);
  EXPECT_LE(placement.bottleneckSeconds, chains.bottleneckSeconds);
  EXPECT_GE(placement.bottleneckSeconds, chains.lowerBoundSeconds);
}

TEST(PipeDreamPlanner, SaysWhatAPlanMayLoseWhereTheSearchIsGivenUp) {
  std::mt19937 random(23);
  PipeDreamProfile profile = parsePipeDreamProfile(blocksOfBranches(random, 6, 4, 4));
  Placement best = placePipeDream(profile, on(16, 1e9));
  EXPECT_TRUE(best.exact);
  for (double effort : {0.0, 1e-4, 1e-3}) {
    PlaceOptions options = on(16, 1e9);
    options.effort = effort;
    Placement placement = placePipeDream(profile, options);
    EXPECT_FALSE(placement.exact) << effort;
    EXPECT_GE(placement.bottleneckSeconds, best.bottleneckSeconds);
    EXPECT_LE(placement.lowerBoundSeconds, best.bottleneckSeconds);
    EXPECT_GT(placement.lowerBoundSeconds, 0);
    int used = 0;
    for (const PlacedStage &stage : placement.stages)
      used += stage.replicas;
    EXPECT_EQ(used, 16);
  }
}

TEST(PipeDreamPlanner, ReplicatesTheStageWithoutWeights) {
  // 90 ms of convolutions without weights, 30 ms of a layer whose gradients would take 2 s to reduce.
  std::string text = node(1, 30, 60, 1e3, 0) + node(2, 10, 20, 1e3, 1e9) + edge(1, 2);
  Placement placement = placePipeDream(parsePipeDreamProfile(text), on(4, 1e9));
  ASSERT_EQ(placement.stages.size(), 2u);
  EXPECT_EQ(placement.stages[0].replicas, 3);
  EXPECT_EQ(placement.stages[1].replicas, 1);
  EXPECT_DOUBLE_EQ(placement.bottleneckSeconds, 0.030);
  EXPECT_DOUBLE_EQ(*placement.dataParallelSeconds, (0.120 + 4.0 * 3 * 1e9 / (1e9 * 4)) / 4);
  EXPECT_DOUBLE_EQ(placement.oneDeviceSeconds, 0.120);
}

TEST(PipeDreamPlanner, ATransferCanBeTheBottleneck) {
  // Any cut sends 10 MB both ways: 20 ms, which a second replica halves; two replicas of the whole need none.
  std::string text = node(1, 10, 20, 1e7, 1e6) + node(2, 10, 20, 1e7, 1e6) + edge(1, 2);
  EXPECT_DOUBLE_EQ(placePipeDream(parsePipeDreamProfile(text), on(2, 1e9)).bottleneckSeconds, 0.030);
  EXPECT_EQ(placePipeDream(parsePipeDreamProfile(text), on(2, 1e8)).stages.size(), 1u);
}

TEST(PipeDreamPlanner, DropsInputsAndKeepsUnusedItemsWithTheirProducer) {
  std::string text = node(1, 50, 50, 1e9, 0, "Input0") + node(2, 1, 1, 8, 8) +
                     node(3, 0, 0, 1e9, 0, "__getitem__(1)") + node(4, 1, 1, 8, 8) + edge(1, 2) + edge(2, 3) +
                     edge(2, 4);
  Placement placement = placePipeDream(parsePipeDreamProfile(text), on(2, 1e9));
  EXPECT_DOUBLE_EQ(placement.bottleneckSeconds, 0.002);
  ASSERT_EQ(placement.stages.size(), 2u);
  EXPECT_THAT(placement.stages[0].nodes, ElementsAre("node2", "node3"));
  EXPECT_THAT(placement.stages[1].nodes, ElementsAre("node4"));
}

TEST(PipeDreamPlanner, LosesNoPartOfAGraphThatFallsIntoParts) {
  std::string text = node(1, 1, 1, 8, 8) + node(2, 1, 1, 8, 8) + node(3, 1, 1, 8, 8) + edge(1, 2);
  Placement placement = placePipeDream(parsePipeDreamProfile(text), on(3, 1e9));
  EXPECT_DOUBLE_EQ(placement.oneDeviceSeconds, 0.006);
  EXPECT_DOUBLE_EQ(placement.bottleneckSeconds, 0.002);
}

TEST(PipeDreamPlanner, KeepsStagesWithinMemory) {
  std::string text = node(1, 10, 10, 1, 100) + node(2, 10, 10, 1, 100) + edge(1, 2);
  PlaceOptions options = on(2, 1e9);
  options.memoryBytes = 150;
  EXPECT_EQ(placePipeDream(parsePipeDreamProfile(text), options).stages.size(), 2u);
  options.memoryBytes = 50;
  EXPECT_THAT(errorOf(text, options), HasSubstr("50 bytes of memory"));
}

TEST(PipeDreamPlanner, StatesABoundWhereThereAreTooManyCuts) {
  // 24 branches of one node: 2^24 cuts.
  std::string text = node(0, 1, 1, 8, 8), edges;
  for (int i = 1; i <= 24; ++i) {
    text += node(i, 1, 1, 8, 8);
    edges += edge(0, i) + edge(i, 25);
  }
  text += node(25, 1, 1, 8, 8) + edges;
  PlaceOptions options = on(2, 1e9);
  options.maxCuts = 10'000;
  Placement placement = placePipeDream(parsePipeDreamProfile(text), options);
  EXPECT_FALSE(placement.exact);
  EXPECT_NEAR(placement.lowerBoundSeconds, 0.026, 1e-12);
  EXPECT_NEAR(placement.bottleneckSeconds, 0.026, 1e-9); // reached all the same
}

TEST(PipeDreamProfile, ReadsListsOfSizesAndNodesAfterTheirEdges) {
  PipeDreamProfile profile = parsePipeDreamProfile(
      "\ta -- b\na -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=[1.5; 2; 3], "
      "parameter_size=4\r\nb -- y -- z -- forward_compute_time=0, backward_compute_time=0, "
      "activation_size=0, "
      "parameter_size=0 -- stage_id=3\n");
  EXPECT_DOUBLE_EQ(profile.nodes[0].activationBytes, 6.5);
  EXPECT_DOUBLE_EQ(profile.nodes[0].backwardSeconds, 0.002);
  EXPECT_EQ(profile.nodes[1].description, "y -- z");
  EXPECT_THAT(profile.dag.successors(0), ElementsAre(1));
}

TEST(PipeDreamProfile, SaysWhatIsWrongAndWhere) {
  std::string a = node(1, 1, 1, 1, 1), b = node(2, 1, 1, 1, 1);
  EXPECT_THAT(errorOf(""), HasSubstr("no nodes"));
  EXPECT_THAT(errorOf(" \n\n"), HasSubstr("no nodes"));
  EXPECT_THAT(errorOf(a + b + edge(1, 2) + edge(2, 1)),
              HasSubstr("cycle of 2 nodes: node1 -> node2 -> node1"));
  EXPECT_THAT(errorOf(a + edge(1, 1)), HasSubstr("cycle of 1 nodes: node1 -> node1"));
  EXPECT_THAT(errorOf(a + edge(1, 7)), HasSubstr("line 2: an edge of node 'node7'"));
  EXPECT_THAT(errorOf(a + a), HasSubstr("line 2: a second node 'node1'"));
  EXPECT_THAT(errorOf(a + node(2, -1, 1, 1, 1)), HasSubstr("line 2: forward_compute_time is negative"));
  EXPECT_THAT(errorOf(a + node(2, 1, NAN, 1, 1)), HasSubstr("not finite"));
  EXPECT_THAT(errorOf(a + b.substr(0, 40)), HasSubstr("line 2"));
  EXPECT_THAT(errorOf("{\"nodes\": []}"), HasSubstr("line 1: not a node"));
  EXPECT_THAT(errorOf(a + "\tnode1\n"), HasSubstr("an edge is"));
  EXPECT_THAT(errorOf(node(1, 1, 1, 1, 1, "Input")), HasSubstr("nothing is left"));
  EXPECT_THAT(errorOf(a, PlaceOptions()), HasSubstr("--devices"));
}
