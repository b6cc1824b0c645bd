//===- RankSimulationTest.cpp - simulated rank programs against closed forms ---===//

#include "compiler/machine/ClusterFile.h"
#include "compiler/simulate/ClusterCosts.h"
#include "compiler/simulate/RankSimulation.h"
#include "compiler/simulate/StepReport.h"
#include "compiler/simulate/StepTrace.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/pipelines.h"
#include "tests/runtime/testing/program_builder.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pdc;
using namespace pdc::simulate;
using program::Access;
using program::BufferKind;
using program::InstructionT;
using program::Mode;
using program::Opcode;
using program::ProgramT;
using program::Segment;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// Programs written as words: "3" computes for three seconds, "a" starts a collective of all ranks and "a." ends it, ">1"
/// and "<0" send to and receive from a rank, ">1." and "<0." end them. A second of the same name gets another digit:
/// "a2", ">1:2". "a@02" is a collective of ranks 0 and 2.
class Job {
public:
  explicit Job(const std::vector<std::vector<std::string>> &ranks) {
    std::vector<int> all;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      all.push_back(static_cast<int>(rank));
    for (const auto &words : ranks) {
      pdc::testing::ProgramBuilder builder(Mode::kInfer);
      int32_t group = builder.Group(all);
      std::map<std::string, int32_t> starts;
      for (const std::string &word : words)
        add(builder, group, starts, word);
      owned.push_back(builder.get());
    }
    for (const ProgramT &program : owned)
      programs.push_back(&program);
    costs.compute = [](int, const ProgramT &, const InstructionT &instruction) { return std::stod(instruction.label); };
    costs.communicate = [this](int, const ProgramT &, const InstructionT &) { return transferSeconds; };
  }

  RankSimulation run() const { return simulateRanks(programs, costs); }

  StepCosts costs;
  double transferSeconds = 2;
  std::vector<const ProgramT *> programs;

private:
  static void add(pdc::testing::ProgramBuilder &builder, int32_t group, std::map<std::string, int32_t> &starts,
                  const std::string &word) {
    if (word.back() == '.' && !isdigit(word.front())) {
      builder.Done(starts.at(word.substr(0, word.size() - 1)));
      return;
    }
    if (isdigit(word.front())) {
      builder.Operand(builder.Add(Opcode::kFill, "", word),
                      builder.Buffer(BufferKind::kActivation, "", {1}), Access::kWrite);
      return;
    }
    starts[word] = static_cast<int32_t>(builder.get().instructions.size());
    if (isalpha(word.front())) {
      if (size_t at = word.find('@'); at != std::string::npos) {
        std::vector<int> ranks;
        for (char digit : word.substr(at + 1))
          ranks.push_back(digit - '0');
        group = builder.Group(ranks);
      }
      builder.StartCollective("all_reduce", builder.Buffer(BufferKind::kActivation, "", {1}, Segment::kShared), group);
      return;
    }
    bool send = word.front() == '>';
    InstructionT &message = builder.Add(send ? Opcode::kSend : Opcode::kReceive, "", word);
    builder.Operand(message, builder.Buffer(BufferKind::kActivation, "", {1}), send ? Access::kRead : Access::kWrite);
    message.peer = word[1] - '0';
  }

  std::vector<ProgramT> owned;
};

TEST(RankSimulation, OneRankComputesOneAfterTheOther) {
  RankSimulation step = Job({{"3", "4.5"}}).run();
  EXPECT_DOUBLE_EQ(step.seconds, 7.5);
  EXPECT_DOUBLE_EQ(step.ranks[0].busySeconds, 7.5);
  EXPECT_DOUBLE_EQ(step.bubbleFraction(), 0);
}

TEST(RankSimulation, ACollectiveBeginsWhenTheLastRankHasCome) {
  RankSimulation step = Job({{"1", "a", "a."}, {"3", "a", "a."}}).run();
  EXPECT_DOUBLE_EQ(step.seconds, 5);
  EXPECT_DOUBLE_EQ(step.ranks[0].bubbleSeconds, 2); // until rank 1 comes
  EXPECT_DOUBLE_EQ(step.ranks[0].exposedSeconds, 2);
  EXPECT_DOUBLE_EQ(step.ranks[1].bubbleSeconds, 0);
  EXPECT_DOUBLE_EQ(step.ranks[1].exposedSeconds, 2);
  EXPECT_DOUBLE_EQ(step.bubbleFraction(), 2.0 / 10);
  ASSERT_EQ(step.transfers.size(), 1u);
  EXPECT_DOUBLE_EQ(step.transfers[0].begin, 3);
  EXPECT_THAT(step.transfers[0].instructions, ElementsAre(1, 1));
}

TEST(RankSimulation, ComputeHidesATransferAsFarAsTheRankHasNoPartInIt) {
  for (double share : {0.0, 0.25, 1.0})
    for (double compute : {0.5, 1.0, 2.0, 3.0}) {
      std::string work = std::to_string(compute);
      Job job({{"a", work, "a."}, {"a", work, "a."}});
      job.costs.ownShare = [share](const std::vector<int> &) { return share; };
      EXPECT_DOUBLE_EQ(job.run().seconds, std::max(2.0, compute + share * 2)) << share << " " << compute;
    }
}

TEST(RankSimulation, ARankHasOneCopyEngineInEachDirection) {
  // Two collectives share it; a send and a receive do not.
  EXPECT_DOUBLE_EQ(Job({{"a", "b", "a.", "b."}, {"a", "b", "a.", "b."}}).run().seconds, 4);
  EXPECT_DOUBLE_EQ(Job({{">1", "<1", ">1.", "<1."}, {"<0", ">0", ">0.", "<0."}}).run().seconds, 2);
  // Rank 0 sends to both.
  EXPECT_DOUBLE_EQ(Job({{">1", ">2", ">1.", ">2."}, {"<0", "<0."}, {"<0", "<0."}}).run().seconds, 4);
}

TEST(RankSimulation, ASendIsOverWhenItsReceiveIs) {
  RankSimulation step = Job({{">1", ">1.", "1"}, {"5", "<0", "<0."}}).run();
  EXPECT_DOUBLE_EQ(step.seconds, 8);
  EXPECT_DOUBLE_EQ(step.ranks[0].bubbleSeconds, 5);
  EXPECT_DOUBLE_EQ(step.ranks[1].bubbleSeconds, 1); // after its end
}

TEST(RankSimulation, MessagesOfOneChannelAreMatchedInOrder) {
  RankSimulation step = Job({{">1", ">1.", "4", ">1:2", ">1:2."}, {"<0", "<0:2", "<0.", "<0:2."}}).run();
  ASSERT_EQ(step.transfers.size(), 2u);
  EXPECT_DOUBLE_EQ(step.transfers[0].begin, 0);
  EXPECT_DOUBLE_EQ(step.transfers[1].begin, 6);
}

TEST(RankSimulation, TransfersThatShareALinkWaitForEachOther) {
  Job job({{">2", ">2."}, {">3", ">3."}, {"<0", "<0."}, {"<1", "<1."}});
  EXPECT_DOUBLE_EQ(job.run().seconds, 2);
  job.costs.links = [](const std::vector<int> &, bool) { return std::vector<int64_t>{7}; };
  EXPECT_DOUBLE_EQ(job.run().seconds, 4);
  job.costs.links = [](const std::vector<int> &ranks, bool) { return std::vector<int64_t>{ranks[0]}; };
  EXPECT_DOUBLE_EQ(job.run().seconds, 2);
}

/// On a node of two cores; seconds of computation are those while all ranks compute.
Job onTwoCores(const std::vector<std::vector<std::string>> &ranks) {
  Job job(ranks);
  job.costs.sharedNode = [](int) { return 0; };
  job.costs.speed = [all = static_cast<double>(ranks.size())](int, int computing) {
    return std::min(1.0, 2.0 / computing) / (2 / all);
  };
  return job;
}

TEST(RankSimulation, RanksThatShareCoresComputeFasterWhileOthersWait) {
  EXPECT_DOUBLE_EQ(onTwoCores({{"4"}, {"4"}, {"4"}, {"4"}}).run().seconds, 4);
  // No rank has more than one core.
  EXPECT_DOUBLE_EQ(onTwoCores({{"4"}, {}, {}, {}}).run().seconds, 2);
  EXPECT_DOUBLE_EQ(onTwoCores({{"4"}, {"4"}, {}, {}}).run().seconds, 2);
  // All cores are busy to the end: 14 seconds of half a core, on two.
  RankSimulation step = onTwoCores({{"4"}, {"4"}, {"4"}, {"1", "1"}}).run();
  EXPECT_DOUBLE_EQ(step.seconds, 3.5);
  EXPECT_DOUBLE_EQ(step.ranks[3].endSeconds, 2);
  EXPECT_DOUBLE_EQ(step.ranks[3].instructions[0].end, 1);
  EXPECT_DOUBLE_EQ(step.ranks[0].busySeconds, 3.5);
  // Rank 1 waits for rank 0, then it is alone.
  step = onTwoCores({{"4", "a@01", "a@01."}, {"a@01", "a@01.", "4"}, {"2"}, {"2"}}).run();
  EXPECT_DOUBLE_EQ(step.ranks[2].endSeconds, 1.5); // at 4/3 of the speed
  EXPECT_DOUBLE_EQ(step.ranks[0].instructions[0].end, 2.5);
  EXPECT_DOUBLE_EQ(step.seconds, 2.5 + 2 + 2);
}

TEST(RankSimulation, RanksThatWaitForEverAreAnError) {
  EXPECT_THROW(Job({{">1", ">1."}, {"1"}}).run(), std::logic_error);
}

/// The bubble share of a pipeline's programs whose forwards and two backwards take a second each and transfers nothing.
double pipelineBubble(const schedule::Schedule &schedule) {
  program::ExecutableT executable = fuzz::MakePipeline(schedule, true);
  auto programs = programsOf(executable, Mode::kTrain);
  StepCosts costs;
  costs.communicate = [](int, const ProgramT &, const InstructionT &) { return 0.0; };
  // The first stage computes no gradient of its input.
  costs.compute = [](int rank, const ProgramT &, const InstructionT &instruction) {
    bool isWeight = instruction.label.starts_with("weight"), isInput = instruction.label.starts_with("input");
    return instruction.label.starts_with("forward") ? 1.0 : isWeight ? (rank == 0 ? 2.0 : 1.0) : isInput ? 1.0 : 0.0;
  };
  return simulateRanks(programs, costs).bubbleFraction();
}

TEST(RankSimulation, PipelinesHaveTheBubblesOfTheirFormulas) {
  for (int p : {1, 2, 3, 4, 6})
    for (int m : {1, 2, 4, 7, 12}) {
      double expected = (p - 1.0) / (m + p - 1.0);
      EXPECT_NEAR(pipelineBubble(schedule::gpipe(p, m)), expected, 1e-12) << p << " stages, " << m;
      EXPECT_NEAR(pipelineBubble(schedule::oneForwardOneBackward(p, m)), expected, 1e-12) << p << " stages, " << m;
    }
}

constexpr char kTwoNodes[] = R"(
name: two_nodes
devices:
  gpu: {memory: 16 GB, memory_bandwidth: 900 GB/s, peak: {f32: 10 TFLOP/s}, launch: 1 us}
nodes:
  - {count: 2, device: gpu, devices: 2, host: {memory: 64 GB, link: {latency: 1 us, bandwidth: 10 GB/s}},
     links: [{name: fast, members: 2, latency: 1 us, bandwidth: 100 GB/s, sharing: per_device}]}
network:
  - {name: net, members: 2, latency: 10 us, bandwidth: 1 GB/s, sharing: per_member}
)";

TEST(ClusterCosts, MessagesShareTheLinkOfTheirNodeAndNotThatOfOthers) {
  auto cluster = machine::parseCluster(kTwoNodes, "two_nodes");
  ASSERT_TRUE(static_cast<bool>(cluster)) << llvm::toString(cluster.takeError());
  auto model = llvm::cantFail(cost::makeCostModel("native", *cluster));
  StepCosts costs = costsOnCluster(*cluster, *model, {});
  // Ranks 0 and 1 are on one node, 2 and 3 on the other.
  EXPECT_TRUE(costs.links({0, 1}, true).empty());
  EXPECT_TRUE(costs.links({0, 1}, false).empty());
  EXPECT_EQ(costs.links({0, 1, 2, 3}, false).size(), 4u); // of both nodes, in both directions
  auto links = costs.links({0, 2}, true);
  EXPECT_EQ(links.size(), 2u);
  EXPECT_EQ(links, costs.links({1, 3}, true));
  for (int64_t link : costs.links({2, 0}, true))
    EXPECT_THAT(links, ::testing::Not(::testing::Contains(link)));
}

TEST(ClusterCosts, ALinkSaysHowMuchOfAnOperationItsRanksDoThemselves) {
  std::string text = kTwoNodes;
  text.replace(text.find("sharing: per_member"), 19, "sharing: per_member, overlap: 0.75");
  auto cluster = machine::parseCluster("overlap: 0.5" + text, "two_nodes");
  ASSERT_TRUE(static_cast<bool>(cluster)) << llvm::toString(cluster.takeError());
  auto model = llvm::cantFail(cost::makeCostModel("native", *cluster));
  StepCosts costs = costsOnCluster(*cluster, *model, {});
  EXPECT_EQ(costs.ownShare({0, 1}), 0.5);
  EXPECT_EQ(costs.ownShare({1, 2}), 0.25);
  EXPECT_EQ(costs.ownShare({0, 1, 2, 3}), 0.25);
}

TEST(ClusterCosts, RanksThatOutnumberTheCoresShareThem) {
  auto cluster = machine::parseCluster(R"(
name: two_cores
devices: {core: {on_host: true, memory: 1 GB, peak: {f32: 1 GFLOP/s}, memory_bandwidth: 1 GB/s, launch: 1 us}}
nodes: [{count: 1, device: core, devices: 4, host: {memory: 1 GB, cores: 2}, links: [{name: memory, members: 4, latency: 1 us, bandwidth: 1 GB/s}]}]
)",
                                       "two_cores");
  ASSERT_TRUE(static_cast<bool>(cluster)) << llvm::toString(cluster.takeError());
  auto model = llvm::cantFail(cost::makeCostModel("native", *cluster));
  StepCosts costs = costsOnCluster(*cluster, *model, {});
  EXPECT_EQ(costs.sharedNode(3), 0);
  EXPECT_DOUBLE_EQ(costs.speed(3, 4), 1);
  EXPECT_DOUBLE_EQ(costs.speed(3, 3), 4.0 / 3);
  EXPECT_DOUBLE_EQ(costs.speed(3, 1), 2);
  auto two = llvm::cantFail(machine::withRanks(*cluster, 2));
  EXPECT_EQ(costsOnCluster(two, *model, {}).sharedNode(1), -1);
}

TEST(ClusterCosts, TwoMessagesOverOneNetworkCardTakeTwiceAsLong) {
  auto cluster = machine::parseCluster(kTwoNodes, "two_nodes");
  ASSERT_TRUE(static_cast<bool>(cluster)) << llvm::toString(cluster.takeError());
  auto model = llvm::cantFail(cost::makeCostModel("native", *cluster));
  Job one({{">2", ">2."}, {}, {"<0", "<0."}, {}}), two({{">2", ">2."}, {">3", ">3."}, {"<0", "<0."}, {"<1", "<1."}});
  for (Job *job : {&one, &two}) {
    StepCosts costs = costsOnCluster(*cluster, *model, {});
    costs.compute = job->costs.compute;
    job->costs = costs;
  }
  double alone = cost::p2pSeconds(*cluster, 4, 0, 2);
  EXPECT_NEAR(one.run().seconds, alone, 1e-15);
  EXPECT_NEAR(two.run().seconds, 2 * alone, 1e-15);
}

TEST(ClusterCosts, AMessageWaitsForACollectiveOnItsLinkAndCollectivesShareIt) {
  auto cluster = machine::parseCluster(kTwoNodes, "two_nodes");
  ASSERT_TRUE(static_cast<bool>(cluster)) << llvm::toString(cluster.takeError());
  auto model = llvm::cantFail(cost::makeCostModel("native", *cluster));
  auto seconds = [&](const std::vector<std::vector<std::string>> &ranks) {
    Job job(ranks);
    job.costs = costsOnCluster(*cluster, *model, {});
    return job.run().seconds;
  };
  std::vector<std::string> a{"a@02", "a@02."}, b{"b@13", "b@13."};
  double collective = seconds({a, {}, a, {}}), message = seconds({{}, {">3", ">3."}, {}, {"<1", "<1."}});
  EXPECT_NEAR(seconds({a, {">3", ">3."}, a, {"<1", "<1."}}), collective + message, 1e-15);
  EXPECT_NEAR(seconds({a, b, a, b}), collective, 1e-15);
  // Inside a node another link is used.
  EXPECT_NEAR(seconds({{"a@01", "a@01."}, {"a@01", "a@01."}, {">3", ">3."}, {"<2", "<2."}}),
              std::max(seconds({{"a@01", "a@01."}, {"a@01", "a@01."}, {}, {}}), seconds({{}, {}, {">3", ">3."}, {"<2", "<2."}})),
              1e-15);
}

TEST(StepTrace, HasTheFormOfAMeasuredTrace) {
  Job job({{"1", "a", "a."}, {"3", "a", "a."}});
  auto trace = nlohmann::json::parse(toChromeTrace(job.run(), job.programs));
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  std::vector<std::string> lanes;
  std::map<std::string, nlohmann::json> ofRankZero;
  for (const auto &event : trace["traceEvents"]) {
    if (event["pid"] != 0)
      continue;
    if (event["name"] == "thread_name")
      lanes.push_back(event["args"]["name"]);
    if (event["ph"] == "X" && event["tid"] != 4)
      ofRankZero[event["name"]] = event;
  }
  EXPECT_THAT(lanes, ElementsAre("compute", "communication", "input", "checkpoint", "links (predicted)"));
  EXPECT_EQ(ofRankZero["1"]["tid"], 0);
  EXPECT_EQ(ofRankZero["1"]["dur"], 1e6);
  nlohmann::json &done = ofRankZero["end of 1"];
  EXPECT_EQ(done["tid"], 1);
  EXPECT_EQ(done["ts"], 1e6);
  EXPECT_EQ(done["dur"], 4e6);
  EXPECT_EQ(done["args"]["step"], 1);
  EXPECT_EQ(done["args"]["instruction"], 2);
}

TEST(StepReport, TellsEachRanksTime) {
  Job job({{"1", "a", "a."}, {"3", "a", "a."}});
  StepTitle title{"tiny", "train", "two_nodes", 8};
  auto report = nlohmann::json::parse(toJson(job.run(), title));
  EXPECT_EQ(report["ranks"], 2);
  EXPECT_EQ(report["predicted"]["step_time"], 5.0);
  EXPECT_EQ(report["predicted"]["bubble_fraction"], 0.2);
  EXPECT_EQ(report["per_rank"][0]["bubble_time"], 2.0);
  EXPECT_EQ(report["per_rank"][1]["compute_time"], 3.0);
  std::string table = toTable(job.run(), title);
  EXPECT_THAT(table, HasSubstr("predicted step time  5.000000 s"));
  EXPECT_THAT(table, HasSubstr("   0     1.000000     2.000000     2.000000     5.000000"));
}

} // namespace
