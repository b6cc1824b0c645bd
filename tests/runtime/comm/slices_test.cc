// How collectives over several nodes divide their buffers.
#include "runtime/comm/hierarchical/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pdc::comm {
namespace {

using testing::ElementsAre;

// "64+128 home 2 rail 0" for each slice.
std::vector<std::string> Text(const std::vector<Slice>& slices) {
  std::vector<std::string> lines;
  for (const Slice& slice : slices) {
    lines.push_back(std::to_string(slice.begin) + "+" + std::to_string(slice.bytes) + " home " +
                    std::to_string(slice.home) + " rail " + std::to_string(slice.rail));
  }
  return lines;
}

TEST(SlicesTest, NodesStandInTheOrderOfTheirFirstMembers) {
  const Placement placement = PlacementOf({7, 3, 7, 3, 3});
  EXPECT_THAT(placement.nodes, ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3, 4)));
  EXPECT_THAT(placement.node_of, ElementsAre(0, 1, 0, 1, 1));
  EXPECT_THAT(placement.place_of, ElementsAre(0, 0, 1, 1, 2));
}

TEST(SlicesTest, EveryMemberOfEqualNodesIsHomeOfOneSlice) {
  std::vector<Slice> slices;
  EvenSlices(PlacementOf({0, 0, 1, 1}), 1000, &slices);
  EXPECT_THAT(Text(slices), ElementsAre("0+256 home 0 rail 0", "256+256 home 1 rail 1",
                                        "512+256 home 2 rail 0", "768+232 home 3 rail 1"));
}

TEST(SlicesTest, SlicesOfRailsAreAtHomeEverywhere) {
  std::vector<Slice> slices;
  RailSlices(PlacementOf({0, 1, 1}), 200, &slices);
  EXPECT_THAT(Text(slices), ElementsAre("0+128 home -1 rail 0", "128+72 home -1 rail 1"));
}

TEST(SlicesTest, MembersOfASmallNodeSpeakForSeveralRails) {
  const Placement placement = PlacementOf({0, 1, 1, 1});
  std::vector<Slice> slices;
  EvenSlices(placement, 6 * 64, &slices);
  EXPECT_THAT(Text(slices),
              ElementsAre("0+64 home 0 rail 0", "64+64 home 0 rail 1", "128+64 home 0 rail 2",
                          "192+64 home 1 rail 0", "256+64 home 2 rail 1", "320+64 home 3 rail 2"));
  EXPECT_EQ(placement.Speaker(0, 2), 0);
  EXPECT_EQ(placement.Speaker(1, 2), 3);
}

TEST(SlicesTest, SlicesOfASmallBufferMayBeEmpty) {
  std::vector<Slice> slices;
  EvenSlices(PlacementOf({0, 0, 1, 1}), 65, &slices);
  EXPECT_THAT(Text(slices), ElementsAre("0+64 home 0 rail 0", "64+1 home 1 rail 1", "65+0 home 2 rail 0",
                                        "65+0 home 3 rail 1"));
}

TEST(SlicesTest, CountedSlicesAreThoseOfTheMembers) {
  std::vector<Slice> slices;
  CountedSlices(PlacementOf({0, 1, 0}), {5, 0, 7}, 4, &slices);
  EXPECT_THAT(Text(slices), ElementsAre("0+20 home 0 rail 0", "20+0 home 1 rail 0", "20+28 home 2 rail 1"));
}

}  // namespace
}  // namespace pdc::comm
