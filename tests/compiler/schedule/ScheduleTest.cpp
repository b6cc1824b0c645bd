//===- ScheduleTest.cpp - the literal orders of the schedules -------------===//

#include "compiler/schedule/Schedule.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pdc::schedule;
using testing::HasSubstr;

namespace {

std::string errorOf(const std::string &name, const ScheduleRequest &request) {
  try {
    makeSchedule(name, request);
  } catch (const ScheduleError &error) {
    return error.what();
  }
  return "no error";
}

} // namespace

TEST(Schedule, GPipeFillsThenDrains) {
  EXPECT_EQ(toString(gpipe(3, 4)), "F0 F1 F2 F3 B3 B2 B1 B0\n"
                                   "F0 F1 F2 F3 B3 B2 B1 B0\n"
                                   "F0 F1 F2 F3 B3 B2 B1 B0\n");
}

TEST(Schedule, OneForwardOneBackwardAfterAWarmUp) {
  EXPECT_EQ(toString(oneForwardOneBackward(3, 4)), "F0 F1 F2 B0 F3 B1 B2 B3\n"
                                                   "F0 F1 B0 F2 B1 F3 B2 B3\n"
                                                   "F0 B0 F1 B1 F2 B2 F3 B3\n");
  EXPECT_EQ(toString(oneForwardOneBackward(3, 1)), "F0 B0\nF0 B0\nF0 B0\n");
}

TEST(Schedule, InterleavedTakesMicroBatchesInGroups) {
  EXPECT_EQ(toString(interleaved(2, 4, 2)),
            "F0 F1 F0.2 F1.2 F2 B0.2 F3 B1.2 F2.2 B0 F3.2 B1 B2.2 B3.2 B2 B3\n"
            "F0 F1 F0.3 B0.3 F1.3 B1.3 F2 B0 F3 B1 F2.3 B2.3 F3.3 B3.3 B2 B3\n");
  EXPECT_EQ(toString(interleaved(3, 4, 1)), toString(oneForwardOneBackward(3, 4)));
}

TEST(Schedule, ZeroBubbleH1DelaysWeightGradients) {
  EXPECT_EQ(toString(zeroBubbleH1(3, 4)), "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3\n"
                                          "F0 F1 I0 F2 I1 W0 F3 I2 W1 I3 W2 W3\n"
                                          "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3\n");
}

TEST(Schedule, ZeroBubbleH2WarmsUpTwiceAsLong) {
  EXPECT_EQ(toString(zeroBubbleH2(3, 5)), "F0 F1 F2 F3 F4 I0 W0 I1 W1 I2 W2 I3 W3 I4 W4\n"
                                          "F0 F1 F2 I0 F3 I1 F4 I2 W0 I3 W1 I4 W2 W3 W4\n"
                                          "F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 W1 W2 W3 W4\n");
}

TEST(Schedule, BidirectionalMergesTwoCopies) {
  EXPECT_EQ(toString(bidirectional(4, 4)), "F0 F1 F2.7 B2.7 F3.7 B3.7 B0 B1\n"
                                           "F0 F2.6 F1 F3.6 B2.6 B0 B3.6 B1\n"
                                           "F2.5 F0 F3.5 F1 B0 B2.5 B1 B3.5\n"
                                           "F2.4 F3.4 F0 B0 F1 B1 B2.4 B3.4\n");
}

TEST(Schedule, PipeDreamUpdatesAfterEachBackward) {
  EXPECT_EQ(toString(pipeDream(3, 4)), "F0 F1 F2 B0 U0 F3 B1 U1 B2 U2 B3 U3\n"
                                       "F0 F1 B0 U0 F2 B1 U1 F3 B2 U2 B3 U3\n"
                                       "F0 B0 U0 F1 B1 U1 F2 B2 U2 F3 B3 U3\n");
}

TEST(Schedule, ReplicasTakeMicroBatchesInTurn) {
  EXPECT_EQ(toString(roundRobin("1f1b", {2, 1}, 5)), "F0 F2 B0 F4 B2 B4\n"
                                                     "F1 F3 B1 B3\n"
                                                     "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4\n");
  EXPECT_EQ(toString(roundRobin("gpipe", {1, 2}, 4)), "F0 F1 F2 F3 B3 B2 B1 B0\n"
                                                      "F0 F2 B2 B0\n"
                                                      "F1 F3 B3 B1\n");
  EXPECT_EQ(toString(roundRobin("pipedream", {1, 2}, 4)), "F0 F1 F2 B0 U0 F3 B1 U1 B2 U2 B3 U3\n"
                                                          "F0 B0 U0 F2 B2 U2\n"
                                                          "F1 B1 U1 F3 B3 U3\n");
  // PipeDream's vgg16: 15 replicas have so many micro-batches in flight as one stage behind them needs.
  EXPECT_EQ(toString(roundRobin("1f1b", {15, 1}, 30)).substr(0, 12), "F0 F15 B0 B1");
  EXPECT_EQ(toString(roundRobin("1f1b", {1, 1, 1}, 4)), toString(oneForwardOneBackward(3, 4)));
}

TEST(Schedule, ReplicasNeedMicroBatches) {
  EXPECT_THAT(errorOf("1f1b", {2, 2, 1, {1, 3}}),
              HasSubstr("stage 1 has 3 replicas, and there are 2 micro-batches: replicas that take them in turn need"));
  EXPECT_THAT(errorOf("pipedream", {2, 5, 1, {1, 2}}), HasSubstr("an update is made of one of each replica"));
  EXPECT_THAT(errorOf("zb-h1", {2, 4, 1, {1, 2}}), HasSubstr("'zb-h1' has no replicas that take micro-batches in turn"));
  EXPECT_THAT(errorOf("1f1b", {2, 4, 1, {1, 2, 1}}), HasSubstr("replicas of 3 stages for a schedule of 2"));
}

TEST(Schedule, MicroBatchesGoToTheReplicaWhoseTurnItIs) {
  Schedule schedule = roundRobin("1f1b", {2, 1, 3}, 7); // chunks 0 and 1; 2; 3, 4 and 5
  EXPECT_EQ(schedule.nextOf(1, 3), 2);
  EXPECT_EQ(schedule.nextOf(2, 4), 4);
  EXPECT_EQ(schedule.nextOf(4, 4), -1);
  EXPECT_EQ(schedule.previousOf(4, 4), 2);
  EXPECT_EQ(schedule.previousOf(2, 4), 0);
  EXPECT_EQ(schedule.previousOf(1, 3), -1);
}

TEST(Schedule, AccumulationIsThePipelineOfOneStage) {
  EXPECT_EQ(toString(accumulation(3)), "F0 B0 F1 B1 F2 B2\n");
  EXPECT_EQ(toString(makeSchedule("accumulation", {1, 3, 1})), toString(makeSchedule("1f1b", {1, 3, 1})));
}

TEST(Schedule, PipeDreamsWeightVersionsAreTheUpdatesThatRanBefore) {
  for (int stages : {1, 2, 3, 5}) {
    Schedule schedule = pipeDream(stages, 12);
    for (int stage = 0; stage < stages; ++stage) {
      int updates = 0;
      for (const Task &task : schedule.ranks[stage]) {
        if (task.kind == TaskKind::Forward)
          EXPECT_EQ(pipeDreamWeightVersion(stages, stage, task.microBatch, /*verticalSync=*/false), updates);
        updates += task.kind == TaskKind::Update;
      }
      // Vertical sync: the version of the first stage, which is there on every other one.
      for (int i = 0; i < 12; ++i) {
        EXPECT_EQ(pipeDreamWeightVersion(stages, stage, i, true),
                  pipeDreamWeightVersion(stages, 0, i, false));
        EXPECT_LE(pipeDreamWeightVersion(stages, stage, i, true),
                  pipeDreamWeightVersion(stages, stage, i, false));
      }
    }
  }
}

TEST(Schedule, EveryScheduleOfEverySizeIsComplete) {
  for (const ScheduleInfo &info : allSchedules())
    for (int stages : {1, 2, 3, 4, 6, 8})
      for (int microBatches = 1; microBatches <= 16; ++microBatches)
        for (int chunks : {1, 2, 3}) {
          try {
            Schedule schedule = makeSchedule(info.name, {stages, microBatches, chunks});
            EXPECT_EQ(verifySchedule(schedule), "") << info.name << " " << stages << " " << microBatches;
          } catch (const ScheduleError &) {
            bool one = chunks == 1 || info.name == std::string("interleaved");
            bool refusable = !one || (info.name == std::string("accumulation") && stages != 1) ||
                             (info.name == std::string("interleaved") && microBatches % stages) ||
                             (info.name == std::string("bidirectional") && (stages % 2 || microBatches % 2));
            EXPECT_TRUE(refusable) << info.name << " " << stages << " " << microBatches;
          }
        }
}

TEST(Schedule, RequestsThatCannotBeServed) {
  EXPECT_THAT(errorOf("interleaved", {4, 6, 2}), HasSubstr("6 is not a multiple of 4"));
  EXPECT_THAT(errorOf("interleaved", {4, 8, 0}), HasSubstr("at least one chunk"));
  EXPECT_THAT(errorOf("bidirectional", {3, 4, 1}), HasSubstr("even number of stages"));
  EXPECT_THAT(errorOf("bidirectional", {4, 3, 1}), HasSubstr("not 4 and 3"));
  EXPECT_THAT(errorOf("1f1b", {4, 4, 2}), HasSubstr("one chunk a rank"));
  EXPECT_THAT(errorOf("accumulation", {2, 4, 1}), HasSubstr("for one stage"));
  EXPECT_THAT(errorOf("gpipe", {0, 4, 1}), HasSubstr("at least one stage"));
  EXPECT_THAT(errorOf("gpipe", {2, 0, 1}), HasSubstr("at least one stage and one micro-batch"));
  EXPECT_THAT(errorOf("gpip", {2, 2, 1}), HasSubstr("there is no schedule 'gpip'; there are gpipe, 1f1b"));
}

TEST(Schedule, VerifyFindsWhatIsMissingDoubledOrMisplaced) {
  auto broken = [](auto change) {
    Schedule schedule = oneForwardOneBackward(2, 3);
    change(schedule.ranks);
    return verifySchedule(schedule);
  };
  EXPECT_EQ(broken([](auto &) {}), "");
  EXPECT_THAT(broken([](auto &r) { r[0].pop_back(); }), HasSubstr("backward is missing"));
  EXPECT_THAT(broken([](auto &r) { r[0].push_back(r[0][0]); }), HasSubstr("a second time"));
  EXPECT_THAT(broken([](auto &r) { std::swap(r[1][0], r[1][1]); }), HasSubstr("out of order"));
  EXPECT_THAT(broken([](auto &r) { r[1].clear(); }), HasSubstr("the next chunk does not run it"));
  EXPECT_THAT(broken([](auto &r) { r[0][0].chunk = 1; }), HasSubstr("not on this rank"));
  EXPECT_THAT(broken([](auto &r) { r[0][0].microBatch = 3; }), HasSubstr("no such micro-batch"));
  EXPECT_THAT(broken([](auto &r) {
                r[0].clear();
                r[1].clear();
              }),
              HasSubstr("not run once by each chunk"));
}
