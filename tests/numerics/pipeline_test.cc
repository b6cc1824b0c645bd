// In micro-batches, and on the stages of a pipeline, training gives the losses and gradients of one device with the whole
// batch: every schedule, with replicas and tensor parallelism inside of the stages.
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
  int stages = 1, data = 1, tensor = 1, micro_batches = 1;
  std::string schedule = "";  // the default
  int zero = 0;
  std::string precision = "f32";
  int ranks() const { return stages * data * tensor; }
};

std::string NameOf(const Case& c) {
  std::string name = c.model + "_p" + std::to_string(c.stages) + "_d" + std::to_string(c.data) + "_t" +
                     std::to_string(c.tensor) + "_m" + std::to_string(c.micro_batches) + "_" + c.schedule + (c.zero > 0 ? "_zero" + std::to_string(c.zero) : "") +
                     (c.precision == "f32" ? "" : "_" + c.precision);
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

// Seven samples are uneven micro-batches for every number but one and seven.
Job JobOf(const Case& c) {
  using Kind = Field::Kind;
  Job job;
  job.model = "models/" + c.model + ".mlir";
  job.ranks = c.ranks();
  job.steps = 5;
  job.gradients = true;
  job.parallel = "data=" + std::to_string(c.data) + ",tensor=" + std::to_string(c.tensor) +
                 ",pipeline=" + std::to_string(c.stages) + ",zero=" + std::to_string(c.zero);
  job.options.precision = c.precision;
  job.options.optimizer = "adamw";
  job.options.microBatches = c.micro_batches;
  job.options.kernelOptimization = 1;
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

// bf16 has 8 bits, and parts of a sum over the batch are rounded to them before they are added up.
void ExpectSame(const Result& expected, const Result& found, const std::string& precision = "f32") {
  const double loss = precision == "f32" ? 1e-5 : 3e-3, relative = precision == "f32" ? 1e-4 : 0.1;
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(found.error, "");
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (const std::vector<double>& losses : found.losses_of_ranks)
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected.losses[i], loss * std::abs(expected.losses[i])) << "at step " << i + 1;
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
    EXPECT_LT(difference, relative * std::max(own, 0.01 * largest)) << name;
  }
}

class Pipelines : public testing::TestWithParam<Case> {};

TEST_P(Pipelines, LossesAndGradientsAreThoseOfOneDevice) {
  Case one{GetParam().model};
  // batch_norm's statistics are those of each micro-batch, on one device too.
  if (one.model == "resnet_tiny") one.micro_batches = GetParam().micro_batches;
  one.precision = GetParam().precision;
  ExpectSame(RunJob(JobOf(one)), RunJob(JobOf(GetParam())), one.precision);
}

INSTANTIATE_TEST_SUITE_P(MicroBatches, Pipelines,
                         testing::Values(Case{"gpt_tiny", 1, 1, 1, 2}, Case{"gpt_tiny", 1, 1, 1, 3},
                                         Case{"gpt_tiny", 1, 1, 1, 7}, Case{"gpt_tiny", 1, 2, 1, 3},
                                         Case{"gpt_tiny", 1, 1, 2, 2}, Case{"resnet_tiny", 1, 2, 1, 3}),
                         [](const auto& info) { return NameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(
    Schedules, Pipelines,
    testing::Values(Case{"gpt_tiny", 2, 1, 1, 1}, Case{"gpt_tiny", 2, 1, 1, 4, "gpipe"}, Case{"gpt_tiny", 3, 1, 1, 4, "1f1b"},
                    Case{"gpt_tiny", 4, 1, 1, 6, "1f1b"}, Case{"gpt_tiny", 2, 1, 1, 4, "interleaved"},
                    Case{"gpt_tiny", 2, 1, 1, 4, "interleaved:chunks=3"}, Case{"gpt_tiny", 3, 1, 1, 4, "zb"},
                    Case{"gpt_tiny", 2, 1, 1, 3, "zb-h2"}, Case{"gpt_tiny", 6, 1, 1, 7, "1f1b"}),
    [](const auto& info) { return NameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(Bidirectional, Pipelines,
                         testing::Values(Case{"gpt_tiny", 2, 1, 1, 4, "bidirectional"}, Case{"gpt_tiny", 4, 1, 1, 6, "bidirectional"},
                                         Case{"gpt_tiny", 2, 2, 1, 2, "bidirectional"}, Case{"gpt_tiny", 2, 1, 2, 2, "bidirectional"},
                                         Case{"resnet_tiny", 2, 2, 1, 4, "bidirectional"}),
                         [](const auto& info) { return NameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(WithinStages, Pipelines,
                         testing::Values(Case{"gpt_tiny", 2, 2, 1, 3, "1f1b"}, Case{"gpt_tiny", 2, 3, 1, 2, "gpipe"},
                                         Case{"gpt_tiny", 2, 1, 2, 2, "1f1b"}, Case{"gpt_tiny", 2, 2, 2, 2, "zb"},
                                         Case{"resnet_tiny", 2, 1, 1, 3, "1f1b"}, Case{"resnet_tiny", 3, 2, 1, 4, "gpipe"},
                                         Case{"resnet_tiny", 4, 1, 1, 4, "zb"}),
                         [](const auto& info) { return NameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(ZeroAndPrecision, Pipelines,
                         testing::Values(Case{"gpt_tiny", 2, 2, 1, 3, "1f1b", 1}, Case{"gpt_tiny", 2, 2, 1, 2, "zb", 2},
                                         Case{"gpt_tiny", 2, 2, 1, 3, "gpipe", 3}, Case{"gpt_tiny", 2, 1, 1, 3, "1f1b", 0, "bf16"},
                                         Case{"gpt_tiny", 2, 2, 1, 2, "bidirectional", 1, "bf16"}),
                         [](const auto& info) { return NameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(MessageDriven, Pipelines,
                         testing::Values(Case{"gpt_tiny", 3, 1, 1, 5, "message-driven"},
                                         Case{"gpt_tiny", 2, 2, 1, 3, "message-driven:in-flight=3"},
                                         Case{"resnet_tiny", 4, 1, 1, 4, "message-driven:in-flight=1"}),
                         [](const auto& info) { return NameOf(info.param); });

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

Job DropoutJob(int stages, int data, int micro_batches, const std::string& optimizer, const std::string& schedule = "") {
  Job job = JobOf({"dropout", stages, data, 1, micro_batches, schedule});
  job.model = kDropout;
  job.batch = 9;
  job.learning_rate = 0.01;
  job.fields = {{"tokens", {Field::Kind::kIds, 32}}, {"labels", {Field::Kind::kIds, 32, 0.7}}};
  job.options.optimizer = optimizer;
  job.options.clipNorm = 0.05;
  return job;
}

TEST(Pipelines, DropoutClippingAndATiedTableAreThoseOfOneDevice) {
  for (const char* optimizer : {"adamw", "lamb"}) {
    Result expected = RunJob(DropoutJob(1, 1, 1, optimizer));
    ExpectSame(expected, RunJob(DropoutJob(1, 2, 3, optimizer)));
    ExpectSame(expected, RunJob(DropoutJob(2, 1, 4, optimizer)));
    ExpectSame(expected, RunJob(DropoutJob(3, 2, 2, optimizer)));
    ExpectSame(expected, RunJob(DropoutJob(2, 2, 4, optimizer, "bidirectional")));
  }
}

// What is left to the search, with cuts that are the plan's.
TEST(Pipelines, SearchedPipelinesAreThoseOfOneDevice) {
  Result expected = RunJob(JobOf({"gpt_tiny"}));
  for (const char* parallel : {"pipeline=2,data=auto,tensor=auto", "pipeline=4", "pipeline=auto,tensor=2", "auto"}) {
    Job job = JobOf({"gpt_tiny", 4});
    job.parallel = parallel;
    job.options.microBatches.reset();
    job.options.searchesMicroBatches = true;
    job.options.schedule = "auto";
    Result found = RunJob(job);
    ASSERT_EQ(found.error, "") << parallel;
    ExpectSame(expected, found);
  }
}

TEST(Pipelines, RanksKeepTheirOwnStage) {
  Result one = RunJob(JobOf({"gpt_tiny"})), four = RunJob(JobOf({"gpt_tiny", 4, 1, 1, 4, "1f1b"}));
  ASSERT_EQ(four.error, "");
  for (int64_t bytes : four.arena_bytes_of_ranks) EXPECT_LT(bytes, one.arena_bytes / 2);
  ASSERT_EQ(four.parameters.size(), one.parameters.size());
  for (const auto& [name, value] : one.parameters)
    EXPECT_LT(RelativeDifference(four.parameters[name], value), 2e-3) << name;
}

TEST(Pipelines, TwoRunsGiveTheSameBits) {
  Result first = RunJob(JobOf({"gpt_tiny", 2, 2, 1, 3, "1f1b"})), second = RunJob(JobOf({"gpt_tiny", 2, 2, 1, 3, "1f1b"}));
  ASSERT_EQ(first.error, "");
  EXPECT_EQ(first.bits, second.bits);
  EXPECT_EQ(first.losses, second.losses);
}

void ExpectRefused(const Case& c, const std::string& why) {
  Result found = RunJob(JobOf(c));
  EXPECT_NE(found.error.find(why), std::string::npos) << found.error;
}

TEST(Pipelines, WhatCannotRunIsRefusedWithItsReason) {
  ExpectRefused({"gpt_tiny", 1, 1, 1, 8}, "has a batch of 7 for 8 micro-batches");
  ExpectRefused({"resnet_tiny", 60, 1, 1, 2}, "cannot be cut into 60 stages");
  ExpectRefused({"gpt_tiny", 2, 1, 1, 3, "interleaved"}, "multiple of");
  ExpectRefused({"gpt_tiny", 3, 1, 1, 4, "bidirectional"}, "needs an even number of stages");
  ExpectRefused({"gpt_tiny", 2, 1, 1, 3, "bidirectional"}, "not 2 and 3");
  ExpectRefused({"gpt_tiny", 2, 1, 1, 2, "round-robin"}, "there is no schedule 'round-robin'");
  ExpectRefused({"gpt_tiny", 2, 1, 1, 2, "message-driven:in-flight=0"}, "expected in-flight=N after the colon");
  ExpectRefused({"gpt_tiny", 2, 1, 1, 2, "pipedream:flush"}, "expected vertical-sync after the colon");
  ExpectRefused({"moe_tiny", 1, 1, 1, 2}, "sum over the whole batch");
}

}  // namespace
}  // namespace pdc::numerics
