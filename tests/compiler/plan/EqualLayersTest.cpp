#include "compiler/plan/EqualLayers.h"
#include <gtest/gtest.h>

namespace pdc::plan {
namespace {

using llvm::json::Array;
using llvm::json::Object;

/// The rows merged; `text` is what may differ in numbers.
Array merged(std::vector<Object> rows, llvm::StringRef text = "cause") {
  Array all;
  for (Object &row : rows)
    all.push_back(std::move(row));
  return mergeEqualLayers(all, text);
}

Object message(const char *cause, double seconds, int64_t bytes = 4) {
  return Object{{"cause", cause}, {"time", seconds}, {"bytes", bytes}};
}

TEST(EqualLayers, RowsOfEqualLayersAreOneWithTheSumOfTheirTimes) {
  Array rows = merged({message("h0.fc1 linear", 1), message("head linear", 8), message("h11.fc1 linear", 2)});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(*rows[0].getAsObject(), (Object{{"cause", "h*.fc1 linear"}, {"time", 3.0}, {"bytes", 4}, {"count", 2}}));
  EXPECT_EQ(*rows[1].getAsObject(), message("head linear", 8));
}

TEST(EqualLayers, ARowForItselfKeepsItsNumbers) {
  EXPECT_EQ(*merged({message("h3.ln_1", 1)}).front().getAsObject(), message("h3.ln_1", 1));
}

TEST(EqualLayers, RowsThatDifferInAnythingElseStayApart) {
  EXPECT_EQ(merged({message("h0", 1, 4), message("h1", 1, 8)}).size(), 2u);
}

TEST(EqualLayers, NumbersInWordsAreNoLayers) {
  EXPECT_EQ(merged({message("conv2d x", 1), message("conv3d x", 1)}).size(), 2u);
}

TEST(EqualLayers, CountsThatAreThereAreAddedUp) {
  Object three = message("h0", 1), four = message("h1", 1);
  three["count"] = 3;
  four["count"] = 4;
  EXPECT_EQ(merged({three, four}).front().getAsObject()->getInteger("count"), 7);
}

TEST(EqualLayers, CostsThatAreToldAlikeAreTheSame) {
  auto decision = [](const char *what, double cost) { return Object{{"what", what}, {"cost_difference", cost}}; };
  EXPECT_EQ(merged({decision("a0", 1.55e-5), decision("a1", 1.5500001e-5), decision("a2", 2e-5)}, "what").size(), 2u);
}

TEST(Repeats, ABlockThatRepeatsIsFolded) {
  EXPECT_EQ(findRepeats({"a", "b", "c", "b", "c", "b", "c", "d"}),
            (std::vector<Repeat>{{0, 1, 1}, {1, 2, 3}, {7, 1, 1}}));
}

TEST(Repeats, TheBlockThatSavesMostIsTaken) {
  EXPECT_EQ(findRepeats({"a", "a", "b", "a", "a", "b"}), (std::vector<Repeat>{{0, 3, 2}}));
}

TEST(Repeats, WhatIsSaidNoShorterIsLeft) {
  EXPECT_EQ(findRepeats({"a", "a", "b"}), (std::vector<Repeat>{{0, 1, 1}, {1, 1, 1}, {2, 1, 1}}));
  EXPECT_TRUE(findRepeats({}).empty());
}

} // namespace
} // namespace pdc::plan
