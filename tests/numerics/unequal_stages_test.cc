// Pipelines whose stages have different numbers of ranks, or divide their ranks in different ways, give the losses and
// gradients of one device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/numerics/harness.h"
#include "tests/numerics/staged_jobs.h"

namespace pdc::numerics {
namespace {

class UnequalStages : public testing::TestWithParam<StagedCase> {};

TEST_P(UnequalStages, LossesAndGradientsAreThoseOfOneDevice) {
  ExpectSameAsOneDevice(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Replicas, UnequalStages,
                         testing::Values(StagedCase{"gpt_tiny", 3, "pipeline=2:1", 3, "1f1b"},
                                         StagedCase{"gpt_tiny", 3, "pipeline=1:2", 3, "gpipe"},
                                         StagedCase{"gpt_tiny", 4, "pipeline=2:1:1", 3, "zb"},
                                         StagedCase{"gpt_tiny", 4, "pipeline=3:1", 2, "1f1b"},
                                         StagedCase{"gpt_tiny", 5, "pipeline=2:3", 2, "1f1b"},
                                         StagedCase{"gpt_tiny", 3, "pipeline=2:1", 2, "interleaved"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Meshes, UnequalStages,
                         testing::Values(StagedCase{"gpt_tiny", 4, "data=2:1,tensor=1:2,pipeline=2", 3, "1f1b"},
                                         StagedCase{"gpt_tiny", 6, "data=2:1,tensor=2:2,pipeline=2", 2, "1f1b"},
                                         StagedCase{"gpt_tiny", 3, "pipeline=2:1,tensor=2:1", 1},
                                         StagedCase{"gpt_tiny", 3, "pipeline=2:1,zero=3", 3, "1f1b"},
                                         StagedCase{"gpt_tiny", 4, "layouts,pipeline=1:3", 2, "1f1b"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Convolutions, UnequalStages,
                         testing::Values(StagedCase{"resnet_tiny", 3, "pipeline=2:1", 3, "1f1b"},
                                         StagedCase{"resnet_tiny", 4, "pipeline=1:3", 4, "gpipe"},
                                         StagedCase{"resnet_tiny", 4, "data=2:1,tensor=1:2,pipeline=2", 3, "zb"}),
                         NameOf);

TEST(UnequalStages, DropoutClippingAndATiedTableAreThoseOfOneDevice) {
  Result expected = RunJob(DropoutJob(1, "data", 1, "adamw"));
  for (const char* parallel : {"pipeline=2:1:1", "pipeline=1:2:1"}) ExpectSame(expected, RunJob(DropoutJob(4, parallel, 2, "adamw")));
  ExpectSame(expected, RunJob(DropoutJob(4, "data=2:1,tensor=1:2,pipeline=2", 4, "adamw")));
  ExpectSame(expected, RunJob(DropoutJob(5, "pipeline=2:3,zero=2", 3, "adamw")));
  ExpectSame(RunJob(DropoutJob(1, "data", 1, "lamb")), RunJob(DropoutJob(3, "pipeline=1:2", 3, "lamb")));
}

TEST(UnequalStages, TwoRunsGiveTheSameBits) {
  Result first = RunJob(DropoutJob(4, "pipeline=2:1:1", 3, "adamw")), second = RunJob(DropoutJob(4, "pipeline=2:1:1", 3, "adamw"));
  ASSERT_EQ(first.error, "");
  EXPECT_EQ(first.bits, second.bits);
  EXPECT_EQ(first.losses, second.losses);
}

TEST(UnequalStages, AStageWithTooFewSamplesForItsRanksIsRefused) {
  Result found = RunJob(StagedJob({"gpt_tiny", 3, "pipeline=1:2", 4, "1f1b:split"}));
  EXPECT_NE(found.error.find("stage 1 splits over 2 ranks: a micro-batch of 1 has no sample for some"), std::string::npos)
      << found.error;
}

}  // namespace
}  // namespace pdc::numerics
