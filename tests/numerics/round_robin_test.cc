// Pipelines whose replicas take micro-batches in turn give the losses and gradients of one device.
#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "tests/numerics/harness.h"
#include "tests/numerics/staged_jobs.h"

namespace pdc::numerics {
namespace {

struct Case {
  std::string model;
  int ranks = 1;
  std::string parallel = "data";
  int micro_batches = 1;
  std::string schedule = "";  // the default
};

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string name = c.model + "_" + c.parallel + "_m" + std::to_string(c.micro_batches) + "_" + c.schedule;
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

Job JobOf(const Case& c) { return StagedJob(c.model, c.ranks, c.parallel, c.micro_batches, c.schedule); }

class RoundRobin : public testing::TestWithParam<Case> {};

TEST_P(RoundRobin, LossesAndGradientsAreThoseOfOneDevice) {
  Case one{GetParam().model};
  // Statistics of batch_norm, and the balance of experts, are those of each micro-batch, on one device too.
  if (one.model == "resnet_tiny" || one.model == "moe_tiny") one.micro_batches = GetParam().micro_batches;
  ExpectSame(RunJob(JobOf(one)), RunJob(JobOf(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(EqualStages, RoundRobin,
                         testing::Values(Case{"gpt_tiny", 4, "pipeline=2,data=2", 4, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 4, "pipeline=2,data=2", 5, "gpipe:round-robin"},
                                         Case{"gpt_tiny", 6, "pipeline=3,data=2", 7, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 6, "pipeline=2,data=3", 7, "1f1b:round-robin"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(UnequalStages, RoundRobin,
                         testing::Values(Case{"gpt_tiny", 3, "pipeline=2:1", 5, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 3, "pipeline=1:2", 4, "gpipe:round-robin"},
                                         Case{"gpt_tiny", 4, "pipeline=2:1:1", 6, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 4, "pipeline=3:1", 7, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 5, "pipeline=2:3", 5, "1f1b:round-robin"}),
                         NameOf);

// What lies over replicas and is the same for all micro-batches stays there: ZeRO's parts, matrices that a search split.
INSTANTIATE_TEST_SUITE_P(Meshes, RoundRobin,
                         testing::Values(Case{"gpt_tiny", 8, "pipeline=2,data=2,tensor=2", 3, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 6, "data=2:1,tensor=2:2,pipeline=2", 4, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 4, "pipeline=2,data=2,zero=1", 3, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 4, "pipeline=2,data=2,zero=2", 3, "gpipe:round-robin"},
                                         Case{"gpt_tiny", 4, "pipeline=2,data=2,zero=3", 3, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 3, "pipeline=2:1,zero=3", 3, "1f1b:round-robin"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Convolutions, RoundRobin,
                         testing::Values(Case{"resnet_tiny", 4, "pipeline=2,data=2", 4, "1f1b:round-robin"},
                                         Case{"resnet_tiny", 3, "pipeline=2:1", 3, "1f1b:round-robin"},
                                         Case{"resnet_tiny", 4, "pipeline=1:3", 4, "gpipe:round-robin"}),
                         NameOf);

// One replica has a single micro-batch, another several: they gather parameters, and add up, at different times.
INSTANTIATE_TEST_SUITE_P(UnevenTurns, RoundRobin,
                         testing::Values(Case{"resnet_tiny", 4, "pipeline=2,data=2,zero=3", 3, "1f1b:round-robin"},
                                         Case{"resnet_tiny", 3, "pipeline=2:1,zero=3", 3, "gpipe:round-robin"},
                                         Case{"moe_tiny", 5, "data=2:1,tensor=2:1,pipeline=2,zero=3", 3, "1f1b:round-robin"},
                                         Case{"gpt_tiny", 5, "data=3:2,pipeline=2,zero=3", 5, "1f1b:round-robin"}),
                         NameOf);

TEST(RoundRobin, DropoutClippingAndATiedTableAreThoseOfOneDevice) {
  Result expected = RunJob(DropoutJob(1, "data", 1, "adamw"));
  for (const char* parallel : {"pipeline=2:1:1", "pipeline=1:2:1"})
    ExpectSame(expected, RunJob(DropoutJob(4, parallel, 4, "adamw", "1f1b:round-robin")));
  ExpectSame(expected, RunJob(DropoutJob(4, "data=2,pipeline=2", 9, "adamw", "gpipe:round-robin")));
  ExpectSame(expected, RunJob(DropoutJob(5, "pipeline=2:3,zero=2", 6, "adamw", "1f1b:round-robin")));
  ExpectSame(RunJob(DropoutJob(1, "data", 1, "lamb")), RunJob(DropoutJob(3, "pipeline=1:2", 3, "lamb", "1f1b:round-robin")));
}

TEST(RoundRobin, ComputesAgainWhatItDoesNotKeep) {
  Job one = StagedJob("gpt_tiny", 1, "data", 1, "");
  Job job = StagedJob("gpt_tiny", 3, "pipeline=2:1", 5, "1f1b:round-robin");
  job.options.recompute = {dist::Recompute::Full, dist::Recompute::Selective};
  ExpectSame(RunJob(one), RunJob(job));
}

TEST(RoundRobin, TwoRunsGiveTheSameBits) {
  Job job = DropoutJob(4, "pipeline=2:1:1", 4, "adamw", "1f1b:round-robin");
  Result first = RunJob(job), second = RunJob(job);
  ASSERT_EQ(first.error, "");
  EXPECT_EQ(first.bits, second.bits);
  EXPECT_EQ(first.losses, second.losses);
}

// A micro-batch of one sample cannot be split; whole ones can be taken in turn.
TEST(RoundRobin, MicroBatchesMayHaveFewerSamplesThanThereAreReplicas) {
  Job one = StagedJob("gpt_tiny", 1, "data", 1, "");
  Job split = StagedJob("gpt_tiny", 4, "pipeline=2,data=2", 7, "1f1b:split");
  EXPECT_NE(RunJob(split).error.find("a micro-batch of 1 has no sample for some"), std::string::npos);
  ExpectSame(RunJob(one), RunJob(StagedJob("gpt_tiny", 4, "pipeline=2,data=2", 7, "1f1b:round-robin")));
}

TEST(RoundRobin, ReplicasWithoutAMicroBatchAreRefused) {
  Result found = RunJob(JobOf({"gpt_tiny", 4, "pipeline=3:1", 2, "1f1b:round-robin"}));
  EXPECT_NE(found.error.find("stage 0 has 3 replicas, and there are 2 micro-batches"), std::string::npos) << found.error;
}

// Each rank reads the samples of its own micro-batches, and no others.
TEST(RoundRobin, RanksReadTheirMicroBatches) {
  Job job = StagedJob("gpt_tiny", 3, "pipeline=2:1", 7, "1f1b:round-robin");
  job.gradients = false;
  Result found = RunJob(job);
  ASSERT_EQ(found.error, "");
  EXPECT_EQ(found.samples_of_ranks[0].at("tokens"), 4);
  EXPECT_EQ(found.samples_of_ranks[1].at("tokens"), 3);
  EXPECT_EQ(found.samples_of_ranks[2].at("labels"), 7);
}

}  // namespace
}  // namespace pdc::numerics
