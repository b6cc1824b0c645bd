// Pipelines whose replicas take micro-batches in turn give the losses and gradients of one device.
#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "tests/numerics/harness.h"
#include "tests/numerics/staged_jobs.h"

namespace pdc::numerics {
namespace {

class RoundRobin : public testing::TestWithParam<StagedCase> {};

TEST_P(RoundRobin, LossesAndGradientsAreThoseOfOneDevice) {
  ExpectSameAsOneDevice(GetParam());
}

INSTANTIATE_TEST_SUITE_P(EqualStages, RoundRobin,
                         testing::Values(StagedCase{"gpt_tiny", 4, "pipeline=2,data=2", 4, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 4, "pipeline=2,data=2", 5, "gpipe:round-robin"},
                                         StagedCase{"gpt_tiny", 6, "pipeline=3,data=2", 7, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 6, "pipeline=2,data=3", 7, "1f1b:round-robin"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(UnequalStages, RoundRobin,
                         testing::Values(StagedCase{"gpt_tiny", 3, "pipeline=2:1", 5, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 3, "pipeline=1:2", 4, "gpipe:round-robin"},
                                         StagedCase{"gpt_tiny", 4, "pipeline=2:1:1", 6, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 4, "pipeline=3:1", 7, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 5, "pipeline=2:3", 5, "1f1b:round-robin"}),
                         NameOf);

// What lies over replicas and is the same for all micro-batches stays there: ZeRO's parts, matrices that a search split.
INSTANTIATE_TEST_SUITE_P(Meshes, RoundRobin,
                         testing::Values(StagedCase{"gpt_tiny", 8, "pipeline=2,data=2,tensor=2", 3, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 6, "data=2:1,tensor=2:2,pipeline=2", 4, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 4, "pipeline=2,data=2,zero=1", 3, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 4, "pipeline=2,data=2,zero=2", 3, "gpipe:round-robin"},
                                         StagedCase{"gpt_tiny", 4, "pipeline=2,data=2,zero=3", 3, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 3, "pipeline=2:1,zero=3", 3, "1f1b:round-robin"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Convolutions, RoundRobin,
                         testing::Values(StagedCase{"resnet_tiny", 4, "pipeline=2,data=2", 4, "1f1b:round-robin"},
                                         StagedCase{"resnet_tiny", 3, "pipeline=2:1", 3, "1f1b:round-robin"},
                                         StagedCase{"resnet_tiny", 4, "pipeline=1:3", 4, "gpipe:round-robin"}),
                         NameOf);

// One replica has a single micro-batch, another several: they gather parameters, and add up, at different times.
INSTANTIATE_TEST_SUITE_P(UnevenTurns, RoundRobin,
                         testing::Values(StagedCase{"resnet_tiny", 4, "pipeline=2,data=2,zero=3", 3, "1f1b:round-robin"},
                                         StagedCase{"resnet_tiny", 3, "pipeline=2:1,zero=3", 3, "gpipe:round-robin"},
                                         StagedCase{"moe_tiny", 5, "data=2:1,tensor=2:1,pipeline=2,zero=3", 3, "1f1b:round-robin"},
                                         StagedCase{"gpt_tiny", 5, "data=3:2,pipeline=2,zero=3", 5, "1f1b:round-robin"}),
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
  Result found = RunJob(StagedJob({"gpt_tiny", 4, "pipeline=3:1", 2, "1f1b:round-robin"}));
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
