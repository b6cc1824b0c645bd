// Pipelines whose stages have different numbers of ranks, or divide their ranks in different ways, give the losses and
// gradients of one device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/numerics/harness.h"

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

// Seven and thirteen samples are uneven micro-batches.
Job JobOf(const Case& c) {
  using Kind = Field::Kind;
  Job job;
  job.model = "models/" + c.model + ".mlir";
  job.ranks = c.ranks;
  job.steps = 5;
  job.gradients = true;
  job.parallel = c.parallel;
  job.options.optimizer = "adamw";
  job.options.microBatches = c.micro_batches;
  job.options.schedule = c.schedule;
  if (c.model == "gpt_tiny") {
    job.batch = 7;
    job.fields = {{"tokens", {Kind::kIds, 256}}, {"labels", {Kind::kIds, 256, 0.5}}};
  } else {
    job.batch = 13;
    job.fields = {{"label", {Kind::kIds, 10}}};
    job.options.optimizer = "momentum";
    job.learning_rate = 0.02;
  }
  return job;
}

void ExpectSame(const Result& expected, const Result& found) {
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(found.error, "");
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  // Loss and metrics are those of all stages, on every rank.
  for (const std::vector<double>& losses : found.losses_of_ranks) {
    ASSERT_EQ(losses.size(), expected.losses.size());
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected.losses[i], 1e-5 * std::abs(expected.losses[i])) << "at step " << i + 1;
  }
  double largest = 0;
  for (const auto& [name, gradient] : expected.gradients[0])
    for (double value : gradient) largest = std::max(largest, std::abs(value));
  for (const auto& [name, gradient] : expected.gradients[0]) {
    const auto other = found.gradients[0].find(name);
    ASSERT_NE(other, found.gradients[0].end()) << name;
    if (other->second.size() != gradient.size()) continue;  // a part of it: tensor parallelism
    double own = 0, difference = 0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      own = std::max(own, std::abs(gradient[i]));
      difference = std::max(difference, std::abs(gradient[i] - other->second[i]));
    }
    EXPECT_LT(difference, 1e-4 * std::max(own, 0.01 * largest)) << name;
  }
}

class UnequalStages : public testing::TestWithParam<Case> {};

TEST_P(UnequalStages, LossesAndGradientsAreThoseOfOneDevice) {
  Case one{GetParam().model};
  // batch_norm's statistics are those of each micro-batch, on one device too.
  if (one.model == "resnet_tiny") one.micro_batches = GetParam().micro_batches;
  ExpectSame(RunJob(JobOf(one)), RunJob(JobOf(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Replicas, UnequalStages,
                         testing::Values(Case{"gpt_tiny", 3, "pipeline=2:1", 3, "1f1b"},
                                         Case{"gpt_tiny", 3, "pipeline=1:2", 3, "gpipe"},
                                         Case{"gpt_tiny", 4, "pipeline=2:1:1", 3, "zb"},
                                         Case{"gpt_tiny", 4, "pipeline=3:1", 2, "1f1b"},
                                         Case{"gpt_tiny", 5, "pipeline=2:3", 2, "1f1b"},
                                         Case{"gpt_tiny", 3, "pipeline=2:1", 2, "interleaved"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Meshes, UnequalStages,
                         testing::Values(Case{"gpt_tiny", 4, "data=2:1,tensor=1:2,pipeline=2", 3, "1f1b"},
                                         Case{"gpt_tiny", 6, "data=2:1,tensor=2:2,pipeline=2", 2, "1f1b"},
                                         Case{"gpt_tiny", 3, "pipeline=2:1,tensor=2:1", 1},
                                         Case{"gpt_tiny", 3, "pipeline=2:1,zero=3", 3, "1f1b"},
                                         Case{"gpt_tiny", 4, "layouts,pipeline=1:3", 2, "1f1b"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Convolutions, UnequalStages,
                         testing::Values(Case{"resnet_tiny", 3, "pipeline=2:1", 3, "1f1b"},
                                         Case{"resnet_tiny", 4, "pipeline=1:3", 4, "gpipe"},
                                         Case{"resnet_tiny", 4, "data=2:1,tensor=1:2,pipeline=2", 3, "zb"}),
                         NameOf);

// A network with dropout, clipped gradients and a table that is embedding and head.
constexpr char kDropout[] = R"(
nn.model @dropout(%tokens: tensor<?x16xi32> {nn.dims = ["batch", "sequence"]}, %labels: tensor<?x16xi32>) -> (loss: tensor<f32>) {
  %wte = nn.param "wte" init(normal(0.3)) : tensor<32x24xf32>
  %e = nn.embedding %wte, %tokens : (tensor<32x24xf32>, tensor<?x16xi32>) -> tensor<?x16x24xf32>
  %d0 = nn.dropout %e {rate = 0.2 : f64} : (tensor<?x16x24xf32>) -> tensor<?x16x24xf32>
  %w1 = nn.param "w1" init(normal(0.2)) : tensor<24x48xf32>
  %b1 = nn.param "b1" init(zeros) : tensor<48xf32>
  %h1 = nn.linear %d0, %w1, %b1 : (tensor<?x16x24xf32>, tensor<24x48xf32>, tensor<48xf32>) -> tensor<?x16x48xf32>
  %r1 = nn.relu %h1 : tensor<?x16x48xf32>
  %d1 = nn.dropout %r1 {rate = 0.3 : f64} : (tensor<?x16x48xf32>) -> tensor<?x16x48xf32>
  %w2 = nn.param "w2" init(normal(0.2)) : tensor<48x24xf32>
  %b2 = nn.param "b2" init(zeros) : tensor<24xf32>
  %h2 = nn.linear %d1, %w2, %b2 : (tensor<?x16x48xf32>, tensor<48x24xf32>, tensor<24xf32>) -> tensor<?x16x24xf32>
  %s = nn.add %h2, %d0 : (tensor<?x16x24xf32>, tensor<?x16x24xf32>) -> tensor<?x16x24xf32>
  %logits = nn.linear %s, %wte {transpose_weight} : (tensor<?x16x24xf32>, tensor<32x24xf32>) -> tensor<?x16x32xf32>
  %loss = nn.cross_entropy %logits, %labels : (tensor<?x16x32xf32>, tensor<?x16xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";

Job DropoutJob(int ranks, const std::string& parallel, int micro_batches, const std::string& optimizer = "adamw") {
  Job job = JobOf({"dropout", ranks, parallel, micro_batches});
  job.model = kDropout;
  job.batch = 9;
  job.learning_rate = 0.01;
  job.fields = {{"tokens", {Field::Kind::kIds, 32}}, {"labels", {Field::Kind::kIds, 32, 0.7}}};
  job.options.optimizer = optimizer;
  job.options.clipNorm = 0.05;
  return job;
}

TEST(UnequalStages, DropoutClippingAndATiedTableAreThoseOfOneDevice) {
  Result expected = RunJob(DropoutJob(1, "data", 1));
  for (const char* parallel : {"pipeline=2:1:1", "pipeline=1:2:1"}) ExpectSame(expected, RunJob(DropoutJob(4, parallel, 2)));
  ExpectSame(expected, RunJob(DropoutJob(4, "data=2:1,tensor=1:2,pipeline=2", 4)));
  ExpectSame(expected, RunJob(DropoutJob(5, "pipeline=2:3,zero=2", 3)));
  ExpectSame(RunJob(DropoutJob(1, "data", 1, "lamb")), RunJob(DropoutJob(3, "pipeline=1:2", 3, "lamb")));
}

TEST(UnequalStages, TwoRunsGiveTheSameBits) {
  Result first = RunJob(DropoutJob(4, "pipeline=2:1:1", 3)), second = RunJob(DropoutJob(4, "pipeline=2:1:1", 3));
  ASSERT_EQ(first.error, "");
  EXPECT_EQ(first.bits, second.bits);
  EXPECT_EQ(first.losses, second.losses);
}

TEST(UnequalStages, AStageWithTooFewSamplesForItsRanksIsRefused) {
  Result found = RunJob(JobOf({"gpt_tiny", 3, "pipeline=1:2", 4}));
  EXPECT_NE(found.error.find("stage 1 splits over 2 ranks: a micro-batch of 1 has no sample for some"), std::string::npos)
      << found.error;
}

}  // namespace
}  // namespace pdc::numerics
