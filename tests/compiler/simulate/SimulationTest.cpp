//===- SimulationTest.cpp - simulated steps against closed forms ----------===//

#include "compiler/simulate/Simulation.h"
#include "nlohmann/json.hpp"
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace pdc::simulate;
using namespace pdc::schedule;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr int kStages[] = {1, 2, 3, 4, 6, 8};
constexpr int kMultiples[] = {2, 3, 5};

/// Forward, gradient of inputs and gradient of weights take the same time.
const ChunkTimes kEqual{1, 1, 1};

double share(double bubble, double busy) { return bubble / (bubble + busy); }

Simulation rendezvous(const Schedule &schedule) {
  return simulate(makePrograms(schedule, std::vector<ChunkTimes>(schedule.next.size())), Sending::Rendezvous);
}

Operation compute(int microBatch) {
  return {Operation::Kind::Compute, {TaskKind::Forward, microBatch, 0}, -1, 1};
}
Operation send(int to, int microBatch, double seconds = 0) {
  return {Operation::Kind::Send, {TaskKind::Forward, microBatch, 0}, to, seconds};
}
Operation receive(int from, int microBatch) {
  return {Operation::Kind::Receive, {TaskKind::Forward, microBatch, 0}, from, 0};
}

} // namespace

TEST(BubbleShare, OfGPipeAndOneForwardOneBackward) {
  for (int p : kStages)
    for (int m = 1; m <= 20; ++m) {
      double expected = (p - 1.0) / (m + p - 1);
      EXPECT_NEAR(simulate(gpipe(p, m), kEqual).bubbleShare(), expected, 1e-12) << p << " " << m;
      EXPECT_NEAR(simulate(oneForwardOneBackward(p, m), kEqual).bubbleShare(), expected, 1e-12)
          << p << " " << m;
      EXPECT_NEAR(simulate(gpipe(p, m), {3, 1, 0.5}).bubbleShare(), expected, 1e-12) << p << " " << m;
    }
}

TEST(RoundRobin, ReplicasAreAsFastTogetherAsTheStagesBehindThem) {
  // Stages that take r times as long as the fastest, with r replicas each: no stage is the bottleneck. Where later
  // stages have more replicas, or such as do not divide those before, turns do not fit, and replicas wait.
  for (const std::vector<int> &replicas : {std::vector<int>{2, 1}, {1, 2}, {3, 1}, {2, 1, 1}, {15, 1}, {4, 2, 1, 1}}) {
    int all = std::accumulate(replicas.begin(), replicas.end(), 0), rounds = 1;
    for (int count : replicas)
      rounds = std::lcm(rounds, count);
    std::vector<ChunkTimes> times;
    for (int count : replicas)
      times.insert(times.end(), count, {1.0 * count, 1.0 * count, 0});
    auto stepOf = [&](const char *name, int microBatches) {
      Simulation step = simulate(makePrograms(roundRobin(name, replicas, microBatches), times));
      EXPECT_EQ(step.deadlock, "");
      return step;
    };
    int m = 8 * all * rounds;
    EXPECT_NEAR(stepOf("1f1b", 2 * m).seconds - stepOf("1f1b", m).seconds, 2.0 * m, 1e-9) << replicas.size();
    if (replicas.back() == 1) // filled and emptied one replica after the other
      EXPECT_NEAR(stepOf("1f1b", m).seconds, 2.0 * (m + all - 1), 1e-9) << replicas.size();
    EXPECT_NEAR(stepOf("gpipe", 2 * m).seconds - stepOf("gpipe", m).seconds, 2.0 * m, 1e-9) << replicas.size();
    int lane = 0, behind = all;
    Simulation step = stepOf("1f1b", m);
    for (int count : replicas) {
      for (int turn = 0; turn < count; ++turn)
        EXPECT_EQ(step.mostInFlight[lane++], (behind + count - 1) / count);
      behind -= count;
    }
  }
}

TEST(RoundRobin, NobodyWaitsForEver) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<int> replicas(1 + random() % 5);
    for (int &count : replicas)
      count = 1 + static_cast<int>(random() % 4);
    std::vector<ChunkTimes> times;
    for (int count : replicas)
      times.insert(times.end(), count, {1.0 + random() % 5, 1.0 + random() % 5, 0, 0, 1.0 * (random() % 3), 1.0 * (random() % 3)});
    for (const char *name : {"gpipe", "1f1b"}) {
      Schedule schedule = roundRobin(name, replicas, 4 + static_cast<int>(random() % 20));
      EXPECT_EQ(verifySchedule(schedule), "");
      EXPECT_EQ(simulate(makePrograms(schedule, times)).deadlock, "");
    }
    EXPECT_EQ(verifySchedule(roundRobin("pipedream", replicas, 24)), "");
  }
}

TEST(BubbleShare, OfInterleavedIsDividedByTheChunks) {
  for (int p : kStages)
    for (int k : kMultiples)
      for (int v : {1, 2, 3, 4}) {
        int m = k * p;
        Simulation step = simulate(interleaved(p, m, v), {1.0 / v, 1.0 / v, 1.0 / v});
        EXPECT_NEAR(step.seconds - 3 * m, 3.0 * (p - 1) / v, 1e-9) << p << " " << m << " " << v;
        EXPECT_NEAR(step.bubbleShare(), share((p - 1.0) / v, m), 1e-9) << p << " " << m << " " << v;
        if (v > 1) // chunks of a v-th of a rank's layers
          EXPECT_EQ(step.mostInFlight[0], 2 * (p - 1) + (v - 1) * p + 1) << p << " " << m << " " << v;
      }
}

TEST(BubbleShare, OfZeroBubbleH1IsAThirdOfTheTime) {
  for (int p : kStages)
    for (int m = p; m <= 3 * p; ++m) {
      Simulation step = simulate(zeroBubbleH1(p, m), kEqual),
                 plain = simulate(oneForwardOneBackward(p, m), kEqual);
      EXPECT_DOUBLE_EQ(plain.seconds - 3 * m, 3 * (p - 1));
      EXPECT_DOUBLE_EQ(step.seconds - 3 * m, p - 1) << p << " " << m;
      EXPECT_EQ(*std::max_element(step.mostInFlight.begin(), step.mostInFlight.end()), p);
    }
}

TEST(BubbleShare, OfOtherSchedulesIsNoReasonToSearchForThem) {
  // A step that ends with a flush takes as long under ZB-H2 as under ZB-H1, and longer under others. (Of two stages a
  // bidirectional pipeline has all of the model on both ranks, as data parallelism does.)
  for (int p : {4, 6, 8})
    for (int m : {2 * p, 4 * p}) {
      double least = simulate(zeroBubbleH1(p, m), kEqual).seconds;
      EXPECT_GE(simulate(zeroBubbleH2(p, m), kEqual).seconds, least) << p << " " << m;
      EXPECT_GE(simulate(bidirectional(p, m), {1, 1, 1}).seconds, least) << p << " " << m;
      EXPECT_EQ(simulate(gpipe(p, m), kEqual).seconds, simulate(oneForwardOneBackward(p, m), kEqual).seconds);
    }
}

TEST(BubbleShare, OfZeroBubbleH2IsZeroAtTwiceTheMemory) {
  for (int p : kStages)
    for (int m = 2 * p - 1; m <= 4 * p; ++m) {
      Simulation step = simulate(zeroBubbleH2(p, m), kEqual);
      EXPECT_NEAR(step.bubbleShare(), 0, 1e-12) << p << " " << m;
      EXPECT_THAT(step.mostInFlight, Each(2 * p - 1));
    }
}

TEST(BubbleShare, OfBidirectionalIsChimeras) {
  // Forward and backward of equal length: p - 2 units over the step.
  for (int p : {2, 4, 6, 8})
    for (int m : {p, 2 * p, 4 * p}) {
      Simulation step = simulate(bidirectional(p, m), {1, 1, 0});
      EXPECT_NEAR(step.bubbleShare(), (p - 2.0) / (2 * m + p - 2), 1e-12) << p << " " << m;
      EXPECT_LE(*std::max_element(step.mostInFlight.begin(), step.mostInFlight.end()), p);
    }
}

TEST(InFlight, OneForwardOneBackwardHoldsNoMoreThanTheStagesToTheEnd) {
  for (int p : kStages)
    for (int m = 1; m <= 20; ++m) {
      Simulation flushed = simulate(oneForwardOneBackward(p, m), kEqual);
      Simulation stream = simulate(pipeDream(p, m), kEqual);
      for (int stage = 0; stage < p; ++stage) {
        EXPECT_EQ(flushed.mostInFlight[stage], std::min(m, p - stage));
        EXPECT_EQ(stream.mostInFlight[stage], std::min(m, p - stage));
      }
      EXPECT_THAT(simulate(gpipe(p, m), kEqual).mostInFlight, Each(m));
    }
}

TEST(Simulation, TransfersDelayTheStageBehindAndNotTheOneBefore) {
  ChunkTimes times{1, 1, 0};
  times.sendActivation = 0.5;
  times.sendGradient = 0.25;
  Simulation step = simulate(oneForwardOneBackward(2, 1), times);
  EXPECT_DOUBLE_EQ(step.seconds, 1 + 0.5 + 1 + 1 + 0.25 + 1);
  EXPECT_THAT(step.busySeconds, ElementsAre(2, 2));
}

TEST(Simulation, ALinkCarriesOneMessageAtATime) {
  // Both are made at once; the second waits for the link, and the other direction is free.
  Programs programs{{compute(0), send(1, 0, 10), send(1, 1, 10), receive(1, 2)},
                    {send(0, 2, 3), receive(0, 1), compute(3)}};
  Simulation step = simulate(programs);
  EXPECT_EQ(step.deadlock, "");
  EXPECT_DOUBLE_EQ(step.seconds, 1 + 10 + 10 + 1);
}

TEST(Simulation, TheSlowestStageSetsThePace) {
  std::vector<ChunkTimes> times{{1, 1, 0}, {4, 4, 0}, {1, 1, 0}};
  int m = 10;
  Simulation step = simulate(makePrograms(oneForwardOneBackward(3, m), times));
  EXPECT_DOUBLE_EQ(step.seconds,
                   1 + m * 8 + 1); // the first stage's forward, itself, the first stage's backward
}

TEST(Deadlock, BlockingSendsOfOneForwardOneBackwardMeet) {
  Simulation step = rendezvous(oneForwardOneBackward(3, 4));
  EXPECT_EQ(step.deadlock, "ranks wait for each other for ever: rank 1, operation 5: send F1.1 to rank 2; "
                           "rank 2, operation 3: send B0.2 to rank 1");
  // With buffers, or without traffic in both directions at once, nobody waits for ever.
  EXPECT_EQ(simulate(oneForwardOneBackward(3, 4), kEqual).deadlock, "");
  EXPECT_EQ(rendezvous(gpipe(3, 4)).deadlock, "");
}

TEST(Deadlock, IsToldAsTheSmallestCycle) {
  // Ranks 0, 1, 2 in a ring; 3 and 4 wait for each other; 5 waits for 0.
  Programs programs{
      {receive(2, 0)}, {receive(0, 0)}, {receive(1, 0)}, {receive(4, 0)}, {compute(0), receive(3, 7)},
      {receive(0, 9)}};
  EXPECT_EQ(simulate(programs).deadlock,
            "ranks wait for each other for ever: rank 3, operation 0: receive F0.0 from "
            "rank 4; rank 4, operation 1: receive F7.0 from rank 3");
}

TEST(Deadlock, AMessageThatNobodySends) {
  EXPECT_THAT(simulate(Programs{{compute(0)}, {receive(0, 0)}}).deadlock,
              HasSubstr("rank 1 waits in 'receive F0.0 from rank 0' for rank 0, which ends without it"));
  EXPECT_THAT(simulate(Programs{{send(1, 0)}, {compute(0)}}, Sending::Rendezvous).deadlock,
              HasSubstr("rank 0 waits in 'send F0.0 to rank 1'"));
  EXPECT_THAT(simulate(Programs{{receive(7, 0)}}).deadlock, HasSubstr("rank 7, which ends"));
}

TEST(MessageDriven, IsAsGoodAsOneForwardOneBackwardOnAFewEqualStages) {
  for (int p : kStages)
    for (int m : {1, 5, 16}) {
      std::vector<ChunkTimes> times(p, kEqual);
      Simulation step = simulateMessageDriven(times, m, p);
      double planned = (p - 1.0) / (m + p - 1);
      EXPECT_GE(step.bubbleShare(), planned - 1e-12) << p << " " << m;
      if (p <= 4) // behind more stages, forwards that run ahead make a backward wait now and then
        EXPECT_NEAR(step.bubbleShare(), planned, 1e-12) << p << " " << m;
      for (int held : step.mostInFlight)
        EXPECT_LE(held, p);
    }
}

TEST(MessageDriven, NeverHoldsMoreThanItsBoundAndRunsEverything) {
  std::vector<ChunkTimes> times{{1, 2, 1, 0, 0.3, 0.2}, {3, 1, 1, 0, 0.1, 0.9}, {0.5, 4, 1, 0, 0, 0.7}};
  double before = 1e30;
  for (int bound : {1, 2, 3, 8}) {
    Simulation step = simulateMessageDriven(times, 8, bound);
    EXPECT_LE(*std::max_element(step.mostInFlight.begin(), step.mostInFlight.end()), bound);
    EXPECT_EQ(std::count_if(step.events.begin(), step.events.end(),
                            [](const Event &e) { return e.operation.kind == Operation::Kind::Compute; }),
              2 * 3 * 8);
    EXPECT_LE(step.seconds, before + 1e-9); // more memory is no slower here
    before = step.seconds;
  }
  EXPECT_THROW(simulateMessageDriven(times, 8, 0), ScheduleError);
}

TEST(MessageDriven, ItsOrderIsASchedule) {
  std::vector<ChunkTimes> times(3, {1, 0.5, 0.5});
  times[2] = {2, 1, 1};
  EXPECT_EQ(toString(messageDriven(times, 4, 3)), "F0 F1 F2 B0 F3 B1 B2 B3\n"
                                                  "F0 F1 F2 B0 F3 B1 B2 B3\n"
                                                  "F0 B0 F1 B1 F2 B2 F3 B3\n");
}

TEST(MessageDriven, ItsOrderTakesAsLongAsTheSimulation) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(0.1, 2);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<ChunkTimes> times(1 + trial % 5);
    for (ChunkTimes &chunk : times)
      chunk = {any(random), any(random), any(random), 0, any(random) / 4, any(random) / 4};
    int m = 1 + trial % 7, bound = 1 + trial % 4;
    Schedule order = messageDriven(times, m, bound);
    EXPECT_EQ(verifySchedule(order), "");
    EXPECT_NEAR(simulate(makePrograms(order, times)).seconds, simulateMessageDriven(times, m, bound).seconds, 1e-9);
  }
}

TEST(ChromeTrace, IsWhatWasSimulated) {
  ChunkTimes times = kEqual;
  times.sendActivation = times.sendGradient = 0.5;
  Simulation step = simulate(oneForwardOneBackward(2, 2), times);
  nlohmann::json trace = nlohmann::json::parse(toChromeTrace(step));
  double end = 0;
  int events = 0;
  for (const nlohmann::json &event : trace["traceEvents"])
    if (event["ph"] == "X") {
      ++events;
      end = std::max(end, event["ts"].get<double>() + event["dur"].get<double>());
      EXPECT_TRUE(event["tid"].is_number_integer());
    }
  EXPECT_EQ(events, 8 + 4);
  EXPECT_DOUBLE_EQ(end, step.seconds * 1e6);
}

TEST(Programs, NeedTimesOfEveryChunk) {
  EXPECT_THROW(makePrograms(gpipe(3, 2), std::vector<ChunkTimes>(2)), ScheduleError);
}
