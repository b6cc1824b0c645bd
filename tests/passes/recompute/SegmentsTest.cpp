//===- SegmentsTest.cpp - what segments of a forward pass promise ---------===//

#include "passes/recompute/Segments.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace pdc::passes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Layers of three ops in a row, of which the last gives the next layer one byte; all results, of 10, 10 and 1 byte, are
/// needed by the backward pass.
static ChainProblem layers(int64_t count, int64_t othersInFlight) {
  ChainProblem chain;
  chain.ops = 3 * count;
  chain.othersInFlight = othersInFlight;
  for (int64_t layer = 0; layer < count; ++layer) {
    int64_t begin = 3 * layer;
    chain.values.push_back({10, begin, begin + 1, true});
    chain.values.push_back({10, begin + 1, begin + 2, true});
    chain.values.push_back({1, begin + 2, std::min(begin + 3, chain.ops - 1), true});
  }
  for (int64_t border = 1; border < chain.ops; ++border)
    chain.candidates.push_back(border);
  return chain;
}

static ChainProblem randomChain(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  ChainProblem chain;
  chain.ops = 1 + below(10);
  chain.othersInFlight = below(4);
  for (int64_t i = 0, n = below(16); i < n; ++i) {
    ChainValue value{below(50), below(chain.ops), 0, below(3) > 0};
    value.lastUse = value.made + below(chain.ops - value.made);
    chain.values.push_back(value);
  }
  if (below(2))
    for (int64_t op = 0; op < chain.ops; ++op)
      chain.leftBytes.push_back(below(40));
  for (int64_t border = 1; border < chain.ops; ++border)
    if (below(5))
      chain.candidates.push_back(border);
  return chain;
}

TEST(Segments, TheLeastPeakIsThatOfAllBorders) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    ChainProblem chain = randomChain(seed);
    ASSERT_EQ(checkChain(chain), "");
    int64_t least = std::numeric_limits<int64_t>::max();
    for (uint64_t chosen = 0; chosen < uint64_t{1} << chain.candidates.size(); ++chosen) {
      std::vector<int64_t> borders;
      for (size_t i = 0; i < chain.candidates.size(); ++i)
        if (chosen >> i & 1)
          borders.push_back(chain.candidates[i]);
      least = std::min(least, peakOf(chain, borders));
    }
    SegmentPlan plan = chooseSegments(chain);
    ASSERT_EQ(plan.peakBytes, least);
    ASSERT_EQ(peakOf(chain, plan.borders), least);
  }
}

TEST(Segments, AreLayersWhereLittleGoesFromOneToTheNext) {
  SegmentPlan plan = chooseSegments(layers(4, 0));
  // The bytes of three borders and the last layer, without its own last byte, which the backward pass is through with first.
  EXPECT_THAT(plan.borders, ElementsAre(3, 6, 9, 11));
  EXPECT_EQ(plan.peakBytes, 3 + 20);
}

TEST(Segments, ThatOthersInFlightKeepNothingForAreFewer) {
  // A border costs a byte for each of a thousand others: more than the layers themselves.
  SegmentPlan plan = chooseSegments(layers(4, 1000));
  EXPECT_THAT(plan.borders, IsEmpty());
  EXPECT_EQ(plan.peakBytes, 4 * 21);
}

TEST(Segments, CountAValueOfSeveralBordersOnce) {
  ChainProblem chain{3, {{100, 0, 2, false}, {10, 1, 1, true}, {10, 2, 2, true}}, {}, 1, false, {1, 2}};
  EXPECT_EQ(peakOf(chain, {1, 2}), 100 + 100 + 10);
}

TEST(Segments, GradientsThatAreLeftCountFromTheEnd) {
  // While the backward pass is at op 0, that of op 1 has left 5 bytes.
  ChainProblem chain{2, {{10, 0, 1, true}, {10, 1, 1, true}}, {7, 5}, 0, false, {1}};
  EXPECT_EQ(peakOf(chain, {}), 20 + 12);
  EXPECT_EQ(peakOf(chain, {1}), std::max(10 + 10 + 5, 10 + 12));
}

TEST(Segments, OfEqualOnesThoseThatAreComputedAgainLeast) {
  // Before op 2, what only op 2 needs is kept, before op 3 what it makes of it, which is as large, and needed: that is not
  // computed again.
  ChainProblem chain{4, {{100, 0, 0, true}, {10, 1, 2, false}, {10, 2, 3, true}, {90, 3, 3, true}}, {}, 0, false, {2, 3}};
  EXPECT_EQ(peakOf(chain, {2}), peakOf(chain, {3}));
  EXPECT_THAT(chooseSegments(chain).borders, ElementsAre(3));
}

TEST(Segments, AChainOfNothingNeedsNothing) { EXPECT_EQ(chooseSegments({}).peakBytes, 0); }

TEST(CheckChain, NamesTheMistake) {
  ChainProblem chain{2, {{1, 0, 1, true}}, {}, 0, false, {1}};
  EXPECT_EQ(checkChain(chain), "");
  chain.candidates = {0};
  EXPECT_THAT(checkChain(chain), HasSubstr("a border before op 0"));
  chain.candidates = {1, 1};
  EXPECT_THAT(checkChain(chain), HasSubstr("expected ascending ones from 1 to 1"));
  chain.candidates = {};
  chain.values[0].lastUse = 2;
  EXPECT_THAT(checkChain(chain), HasSubstr("from op 0 to op 2 of 2"));
  chain.values.clear();
  chain.leftBytes = {1};
  EXPECT_THAT(checkChain(chain), HasSubstr("1 of 2 ops"));
  chain.leftBytes.clear();
  chain.othersInFlight = -1;
  EXPECT_THAT(checkChain(chain), HasSubstr("in flight"));
}
