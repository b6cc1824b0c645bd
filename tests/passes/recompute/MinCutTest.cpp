//===- MinCutTest.cpp - what cheapest cuts promise ------------------------===//

#include "passes/recompute/MinCut.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace pdc::passes;
using testing::ElementsAre;
using testing::IsEmpty;

/// Whether every way from a source to a sink goes through the cut.
static bool separates(const CutProblem &problem, const std::vector<bool> &isCut) {
  std::vector<bool> reached(problem.costs.size(), false);
  for (int source : problem.sources)
    reached[source] = !isCut[source];
  for (size_t round = 0; round < problem.costs.size(); ++round)
    for (auto [from, to] : problem.edges)
      if (reached[from] && !isCut[to])
        reached[to] = true;
  for (int sink : problem.sinks)
    if (reached[sink])
      return false;
  return true;
}

static CutProblem randomProblem(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  CutProblem problem;
  int count = 1 + below(10);
  for (int vertex = 0; vertex < count; ++vertex) {
    problem.costs.push_back(below(20));
    if (below(4) == 0)
      problem.sources.push_back(vertex);
    if (below(4) == 0)
      problem.sinks.push_back(vertex);
    for (int from = 0; from < vertex; ++from)
      if (below(3) == 0)
        problem.edges.emplace_back(from, vertex);
  }
  return problem;
}

TEST(MinCut, CostsTheLeastOfAllThatSeparate) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    CutProblem problem = randomProblem(seed);
    size_t count = problem.costs.size();
    auto costOf = [&](const std::vector<bool> &isCut) {
      int64_t cost = 0;
      for (size_t vertex = 0; vertex < count; ++vertex)
        cost += isCut[vertex] ? problem.costs[vertex] : 0;
      return cost;
    };
    int64_t least = std::numeric_limits<int64_t>::max();
    for (uint64_t chosen = 0; chosen < uint64_t{1} << count; ++chosen) {
      std::vector<bool> isCut(count);
      for (size_t vertex = 0; vertex < count; ++vertex)
        isCut[vertex] = chosen >> vertex & 1;
      if (int64_t cost = costOf(isCut); cost < least && separates(problem, isCut))
        least = cost;
    }
    std::vector<bool> found(count);
    for (int vertex : findVertexCut(problem))
      found[vertex] = true;
    ASSERT_TRUE(separates(problem, found));
    ASSERT_EQ(costOf(found), least);
  }
}

TEST(MinCut, LiesNearestToTheSinks) {
  // Three in a row of equal cost.
  EXPECT_THAT(findVertexCut({{5, 5, 5}, {{0, 1}, {1, 2}}, {0}, {2}}), ElementsAre(2));
}

TEST(MinCut, TakesASumInPlaceOfWhatGoesIntoIt) {
  // 0 and 1 are added up in 2.
  EXPECT_THAT(findVertexCut({{5, 5, 5}, {{0, 2}, {1, 2}}, {0, 1}, {2}}), ElementsAre(2));
}

TEST(MinCut, IsEmptyWhereNothingHasToBeSeparated) {
  EXPECT_THAT(findVertexCut({{5, 5}, {{0, 1}}, {}, {1}}), IsEmpty());
  EXPECT_THAT(findVertexCut({{5, 5}, {}, {0}, {1}}), IsEmpty());
}
