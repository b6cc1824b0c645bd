//===- collectives_test.cpp - the time of communication, by hand ----------===//
//
// Latencies of 1 s and bandwidths of 1 B/s, so that the formulas can be read off the numbers.
//
//===----------------------------------------------------------------------===//

#include "compiler/cost/Collectives.h"
#include "tests/compiler/cost/clusters.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace pdc;
using namespace pdc::cost;
using machine::Cluster;

static std::vector<int32_t> firstRanks(int32_t count) {
  std::vector<int32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

static double overAll(const Cluster &cluster, Collective collective, double bytes) {
  return collectiveSeconds(cluster, collective, bytes,
                           shapeOfRanks(cluster, firstRanks(static_cast<int32_t>(cluster.rankCount()))));
}

//===----------------------------------------------------------------------===//
// One level
//===----------------------------------------------------------------------===//

static const std::string kOne = "latency: 1 s, bandwidth: 1";

TEST(AllReduce, OfManyBytesIsBoundByTwiceTheBytesThatLeave) {
  // Halving and doubling over 4: 2 * (2 + 3/4 * 1000).
  EXPECT_DOUBLE_EQ(overAll(test::row(4, kOne), Collective::AllReduce, 1000), 4 + 1500);
}

TEST(AllReduce, OfFewBytesDoublesTheDistance) {
  // log2(8) * (1 + 0.01), less than 2 * 3 latencies.
  EXPECT_DOUBLE_EQ(overAll(test::row(8, kOne), Collective::AllReduce, 0.01), 3 * 1.01);
}

TEST(AllReduce, OverThreeRanksIsARing) {
  // 2 * (2 + 2/3 * 300).
  EXPECT_DOUBLE_EQ(overAll(test::row(3, kOne), Collective::AllReduce, 300), 4 + 400);
}

TEST(AllGatherAndReduceScatter, MoveEachByteOnceOutOfItsRank) {
  EXPECT_DOUBLE_EQ(overAll(test::row(4, kOne), Collective::AllGather, 1000), 2 + 750);
  EXPECT_DOUBLE_EQ(overAll(test::row(4, kOne), Collective::ReduceScatter, 1000), 2 + 750);
  EXPECT_DOUBLE_EQ(overAll(test::row(5, kOne), Collective::AllGather, 1000), 4 + 800);
}

TEST(AllToAll, ExchangesWithOnePeerAfterTheOther) {
  EXPECT_DOUBLE_EQ(overAll(test::row(4, kOne), Collective::AllToAll, 1000), 3 + 750);
}

TEST(AllToAll, OfFewBytesGoesByBruck) {
  EXPECT_DOUBLE_EQ(overAll(test::row(8, kOne), Collective::AllToAll, 0.02), 3 * 1.01);
}

TEST(Broadcast, OfFewBytesIsATree) {
  EXPECT_DOUBLE_EQ(overAll(test::row(8, kOne), Collective::Broadcast, 0.01), 3 * 1.01);
}

TEST(Broadcast, OfManyBytesIsScatterAndAllGather) {
  EXPECT_DOUBLE_EQ(overAll(test::row(8, kOne), Collective::Broadcast, 800), 3 + 7 + 1400);
}

TEST(PointToPoint, IsOneMessage) {
  EXPECT_DOUBLE_EQ(p2pSeconds(test::row(4, kOne), 100, 0, 3), 101);
  EXPECT_DOUBLE_EQ(p2pSeconds(test::row(4, kOne), 100, 2, 2), 0);
}

TEST(Collectives, OfOneRankTakeNoTime) {
  Cluster cluster = test::row(4, kOne);
  for (int i = 0; i < kCollectiveCount; ++i)
    EXPECT_EQ(collectiveSeconds(cluster, static_cast<Collective>(i), 100, shapeOfRanks(cluster, {2})), 0);
}

//===----------------------------------------------------------------------===//
// Kinds of links
//===----------------------------------------------------------------------===//

TEST(SharedMemory, HasABarrierInsteadOfMessages) {
  Cluster cluster = test::row(4, kOne + ", path: shared_memory");
  EXPECT_DOUBLE_EQ(overAll(cluster, Collective::AllReduce, 1000), 2 + 1500);
  EXPECT_DOUBLE_EQ(overAll(cluster, Collective::AllToAll, 1000), 1 + 750);
  EXPECT_DOUBLE_EQ(overAll(cluster, Collective::Broadcast, 1000), 1 + 1000);
}

TEST(Bus, CarriesTheTrafficOfAllMembers) {
  // Each of 4 moves 3/4 of 1000 bytes with a quarter of the bandwidth.
  EXPECT_DOUBLE_EQ(overAll(test::row(4, kOne + ", sharing: bus"), Collective::AllGather, 1000), 2 + 3000);
}

TEST(Bus, OfSeveralGroupsIsSharedByThem) {
  Cluster cluster = test::row(4, kOne + ", sharing: bus");
  EXPECT_DOUBLE_EQ(collectiveSeconds(cluster, Collective::AllGather, 1000, shapeOfRanks(cluster, {0, 1})),
                   1 + 500 * 4);
}

TEST(HalfDuplex, HalvesWhatSendsAndReceivesAtOnce) {
  EXPECT_DOUBLE_EQ(overAll(test::row(4, kOne + ", duplex: half"), Collective::AllGather, 1000), 2 + 1500);
  EXPECT_DOUBLE_EQ(p2pSeconds(test::row(4, kOne + ", duplex: half"), 100, 0, 1), 101);
}

TEST(Staging, AddsTheHostLinkTwiceAndIsNoFasterThanIt) {
  // The host link has 3 s and 50 B/s.
  EXPECT_DOUBLE_EQ(p2pSeconds(test::row(2, "latency: 1 s, bandwidth: 100, path: staged"), 100, 0, 1), 7 + 2);
  EXPECT_DOUBLE_EQ(p2pSeconds(test::row(2, "latency: 1 s, bandwidth: 10, path: staged"), 100, 0, 1), 7 + 10);
}

//===----------------------------------------------------------------------===//
// Several levels
//===----------------------------------------------------------------------===//

static const std::string kInner = "latency: 1 s, bandwidth: 100", kOuter = "latency: 10 s, bandwidth: 10";

TEST(Hierarchy, AllReduceScattersInsideReducesBetweenAndGathersInside) {
  // In a node: 2 * (2 * 1 + 3/4 * 4000 / 100) = 64. Between: each of 4 ranks has 1000 bytes and a card of its own; two
  // ranks exchange all of them, 10 + 1000 / 10. (The flat ring: 2 * (7 * 10 + 7/8 * 4000 / 10) = 840.)
  EXPECT_DOUBLE_EQ(overAll(test::grid(2, 4, kInner, kOuter), Collective::AllReduce, 4000), 64 + 110);
}

TEST(Hierarchy, CardOfANodeIsSharedByThePartsOfItsRanks) {
  // Between nodes the four parts of 1000 bytes have a quarter of the card each: 10 + 1000 / 2.5.
  EXPECT_DOUBLE_EQ(
      overAll(test::grid(2, 4, kInner, kOuter + ", sharing: per_member"), Collective::AllReduce, 4000),
      64 + 410);
}

TEST(Hierarchy, FlatRingIsTakenWhereItIsFaster) {
  // Three nodes of two: by level (1 + 6e6 / 100) + 2 * (20 + 2/3 * 3e6 / 5), the ring 2 * (5 * 10 + 5/6 * 6e6 / 10) =
  // 1000100. With a slow inner level the ring wins.
  Cluster fast = test::grid(3, 2, kInner, kOuter + ", sharing: per_member");
  EXPECT_DOUBLE_EQ(overAll(fast, Collective::AllReduce, 6e6), 60001 + 800040);
  Cluster slow = test::grid(3, 2, "latency: 1 s, bandwidth: 10", kOuter + ", sharing: per_member");
  EXPECT_DOUBLE_EQ(overAll(slow, Collective::AllReduce, 6e6), 1000100);
}

TEST(Hierarchy, GroupsThatLeaveANodeTogetherShareItsCard) {
  Cluster cluster = test::grid(2, 4, kInner, kOuter + ", sharing: per_member");
  GroupShape alone = shapeOfRanks(llvm::cantFail(machine::withRanks(cluster, 5)), {0, 4});
  alone.levels[1].groupsPerMember = 1;
  EXPECT_DOUBLE_EQ(collectiveSeconds(cluster, Collective::AllGather, 1000, alone), 10 + 500 / 10.0);
  EXPECT_DOUBLE_EQ(collectiveSeconds(cluster, Collective::AllGather, 1000, shapeOfRanks(cluster, {0, 4})),
                   10 + 500 / 2.5);
}

TEST(Hierarchy, ACardForEachDeviceIsNotShared) {
  Cluster cluster = test::grid(2, 4, kInner, kOuter);
  EXPECT_DOUBLE_EQ(collectiveSeconds(cluster, Collective::AllGather, 1000, shapeOfRanks(cluster, {0, 4})),
                   10 + 500 / 10.0);
}

TEST(Hierarchy, AllToAllReachesMostPeersOverTheOuterLevel) {
  // 3 peers in the node, 4 in the other; 1/8 of 8000 bytes for each.
  EXPECT_DOUBLE_EQ(overAll(test::grid(2, 4, kInner, kOuter), Collective::AllToAll, 8000),
                   3 + 3 * 1000 / 100.0 + 40 + 4 * 1000 / 10.0);
}

TEST(Hierarchy, BroadcastEntersANodeOnce) {
  // 10 + 1 / 10 between, then 2 * (1 + 1 / 100) in the node.
  EXPECT_DOUBLE_EQ(overAll(test::grid(2, 4, kInner, kOuter), Collective::Broadcast, 1), 10.1 + 2.02);
}

TEST(Hierarchy, AGroupInANodeDoesNotSeeTheNetwork) {
  Cluster cluster = test::grid(2, 4, kInner, kOuter);
  EXPECT_DOUBLE_EQ(
      collectiveSeconds(cluster, Collective::AllReduce, 4000, shapeOfRanks(cluster, {0, 1, 2, 3})), 64);
  EXPECT_DOUBLE_EQ(p2pSeconds(cluster, 100, 0, 3), 2);
  EXPECT_DOUBLE_EQ(p2pSeconds(cluster, 100, 0, 4), 20);
}

TEST(Collectives, MoreBytesNeverTakeLess) {
  for (const std::string &name : machine::presetNames()) {
    Cluster cluster = llvm::cantFail(machine::resolveCluster(name));
    GroupShape shape = shapeOfAxes(cluster, {cluster.rankCount()}, {0});
    LinkCosts links(cluster);
    for (int kind = 0; kind < kCollectiveCount; ++kind)
      for (double bytes = 1, last = 0; bytes < 1e10; bytes *= 1.7) {
        double seconds = links.seconds(static_cast<Collective>(kind), bytes, shape);
        EXPECT_GE(seconds, last) << name << " " << toString(static_cast<Collective>(kind)) << " " << bytes;
        last = seconds;
      }
  }
}

TEST(Collectives, AllReduceTakesNoMoreThanReduceScatterAndAllGather) {
  for (const std::string &name : machine::presetNames()) {
    Cluster cluster = llvm::cantFail(machine::resolveCluster(name));
    GroupShape shape = shapeOfAxes(cluster, {cluster.rankCount()}, {0});
    LinkCosts links(cluster);
    for (double bytes = 1; bytes < 1e10; bytes *= 3)
      EXPECT_LE(links.seconds(Collective::AllReduce, bytes, shape),
                1.000001 * (links.seconds(Collective::ReduceScatter, bytes, shape) +
                            links.seconds(Collective::AllGather, bytes, shape)))
          << name << " " << bytes;
  }
}
