// In micro-batches, and on the stages of a pipeline, training gives the losses and gradients of one device with the whole
// batch: every schedule, with replicas and tensor parallelism inside of the stages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/numerics/harness.h"
#include "tests/numerics/staged_jobs.h"

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

std::string ParallelOf(const Case& c) {
  return "data=" + std::to_string(c.data) + ",tensor=" + std::to_string(c.tensor) + ",pipeline=" +
         std::to_string(c.stages) + ",zero=" + std::to_string(c.zero);
}

Job JobOf(const Case& c) {
  Job job = StagedJob(c.model, c.ranks(), ParallelOf(c), c.micro_batches, c.schedule);
  job.options.precision = c.precision;
  return job;
}

// bf16 has 8 bits, and parts of a sum over the batch are rounded to them before they are added up.
class Pipelines : public testing::TestWithParam<Case> {};

TEST_P(Pipelines, LossesAndGradientsAreThoseOfOneDevice) {
  Case one{GetParam().model};
  // batch_norm's statistics, and the balance of experts, are those of each micro-batch, on one device too.
  if (one.model == "resnet_tiny" || one.model == "moe_tiny") one.micro_batches = GetParam().micro_batches;
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

INSTANTIATE_TEST_SUITE_P(Experts, Pipelines,
                         testing::Values(Case{"moe_tiny", 2, 1, 1, 1}, Case{"moe_tiny", 2, 2, 1, 1}, Case{"moe_tiny", 2, 1, 1, 3, "1f1b"},
                                         Case{"moe_tiny", 2, 2, 1, 2, "gpipe"}, Case{"moe_tiny", 1, 1, 2, 3}),
                         [](const auto& info) { return NameOf(info.param); });

// The loss has the balance of the batch. Its gradient is that of the average of the micro-batches' balances, each weighted by
// its samples: of 7, of 4 and of 3.
TEST(Pipelines, TheGradientOfTheBalanceOfExpertsIsThatOfTheMicroBatches) {
  auto run = [](int64_t batch, int64_t first_row, int micro_batches) {
    Job job = StagedJob("", 1, "data", micro_batches, "");
    job.model = R"(
nn.model @balance(%x: tensor<?x6x8xf32>) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(normal(1.0)) : tensor<8x4xf32>
  %scores = nn.linear %x, %w : (tensor<?x6x8xf32>, tensor<8x4xf32>) -> tensor<?x6x4xf32>
  %gates = nn.softmax %scores : (tensor<?x6x4xf32>) -> tensor<?x6x4xf32>
  %top, %experts = nn.top_k %gates {k = 1 : i64} : (tensor<?x6x4xf32>) -> (tensor<?x6x1xf32>, tensor<?x6x1xi32>)
  %loss = nn.load_balancing_loss %gates, %experts : (tensor<?x6x4xf32>, tensor<?x6x1xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";
    job.fields = {};
    job.steps = 1;
    job.batch = batch;
    job.whole_batch = 7;
    job.first_row = first_row;
    return RunJob(job);
  };
  Result whole = run(7, 0, 1), parts = run(7, 0, 2), first = run(4, 0, 1), second = run(3, 4, 1);
  for (const Result* found : {&whole, &parts, &first, &second}) ASSERT_EQ(found->error, "");
  EXPECT_NEAR(parts.losses[0], whole.losses[0], 1e-6);
  Tensor expected = first.gradients[0].at("w");
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = (4 * expected[i] + 3 * second.gradients[0].at("w")[i]) / 7;
  EXPECT_LT(RelativeDifference(parts.gradients[0].at("w"), expected), 1e-4);
  EXPECT_GT(RelativeDifference(whole.gradients[0].at("w"), expected), 1e-2);
}

// The loss divides by a sum over the batch, for which there is no meaning in micro-batches.
TEST(Pipelines, OneMicroBatchHasTheSumsOfTheBatch) {
  auto job = [](const std::string& parallel, int ranks, int micro_batches) {
    Job made = StagedJob("", ranks, parallel, micro_batches, "");
    made.model = R"(
nn.model @m(%x: tensor<?x8xf32>) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(normal(0.5)) : tensor<8x8xf32>
  %v = nn.param "v" init(normal(0.5)) : tensor<8x4xf32>
  %h = nn.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %r = nn.gelu %h : tensor<?x8xf32>
  %y = nn.linear %r, %v : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  %q = nn.square %y : tensor<?x4xf32>
  %all = nn.reduce_sum %q {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  %shares = nn.div %q, %all : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  %squares = nn.square %shares : tensor<?x4xf32>
  %loss = nn.reduce_sum %squares {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";
    return made;
  };
  Result expected = RunJob(job("data", 1, 1));
  ExpectSame(expected, RunJob(job("pipeline=2", 2, 1)));
  ExpectSame(expected, RunJob(job("pipeline=2,data=2", 4, 1)));
  Result refused = RunJob(job("pipeline=2", 2, 2));
  EXPECT_NE(refused.error.find("run this model with one micro-batch (--micro-batches=1)"), std::string::npos) << refused.error;
}

// The penalties of all parameters are summed, and their root taken, before they join the loss: no stage has them all.
Job PenaltyJob(const std::string& parallel, int ranks, int micro_batches, const std::string& schedule = "") {
  Job job = StagedJob("", ranks, parallel, micro_batches, schedule);
  job.model = R"(
nn.model @penalty(%x: tensor<?x8xf32>, %label: tensor<?xi32>) -> (loss: tensor<f32>) {
  %w1 = nn.param "w1" init(normal(0.5)) : tensor<8x16xf32>
  %w2 = nn.param "w2" init(normal(0.5)) : tensor<16x16xf32>
  %w3 = nn.param "w3" init(normal(0.5)) : tensor<16x10xf32>
  %h1 = nn.linear %x, %w1 : (tensor<?x8xf32>, tensor<8x16xf32>) -> tensor<?x16xf32>
  %r1 = nn.gelu %h1 : tensor<?x16xf32>
  %h2 = nn.linear %r1, %w2 : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %r2 = nn.gelu %h2 : tensor<?x16xf32>
  %y = nn.linear %r2, %w3 : (tensor<?x16xf32>, tensor<16x10xf32>) -> tensor<?x10xf32>
  %fit = nn.cross_entropy %y, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  %s1 = nn.square %w1 : tensor<8x16xf32>
  %s2 = nn.square %w2 : tensor<16x16xf32>
  %s3 = nn.square %w3 : tensor<16x10xf32>
  %p1 = nn.reduce_sum %s1 {axes = array<i64: 0, 1>} : (tensor<8x16xf32>) -> tensor<f32>
  %p2 = nn.reduce_sum %s2 {axes = array<i64: 0, 1>} : (tensor<16x16xf32>) -> tensor<f32>
  %p3 = nn.reduce_sum %s3 {axes = array<i64: 0, 1>} : (tensor<16x10xf32>) -> tensor<f32>
  %p12 = nn.add %p1, %p2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %p = nn.add %p12, %p3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %norm = nn.sqrt %p : tensor<f32>
  %loss = nn.add %fit, %norm : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";
  job.fields = {{"label", {Field::Kind::kIds, 10}}};
  return job;
}

TEST(Pipelines, PenaltiesOfParametersOfSeveralStagesAreAdded) {
  Result expected = RunJob(PenaltyJob("data", 1, 1));
  ExpectSame(expected, RunJob(PenaltyJob("pipeline=2", 2, 1)));
  ExpectSame(expected, RunJob(PenaltyJob("pipeline=3", 3, 3, "1f1b")));
  ExpectSame(expected, RunJob(PenaltyJob("pipeline=3,data=2,zero=3", 6, 2, "zb")));
  ExpectSame(expected, RunJob(PenaltyJob("pipeline=2", 2, 4, "bidirectional")));
  ExpectSame(expected, RunJob(PenaltyJob("data", 1, 4)));
}

TEST(Pipelines, PenaltiesOfOtherStagesAreRefusedWithoutAFlush) {
  Result found = RunJob(PenaltyJob("pipeline=2", 2, 4, "pipedream"));
  for (const char* says : {"needs parameter 'w", "which does not keep it: without a flush the loss cannot add"})
    EXPECT_NE(found.error.find(says), std::string::npos) << found.error;
}

INSTANTIATE_TEST_SUITE_P(MessageDriven, Pipelines,
                         testing::Values(Case{"gpt_tiny", 3, 1, 1, 5, "message-driven"},
                                         Case{"gpt_tiny", 2, 2, 1, 3, "message-driven:in-flight=3"},
                                         Case{"resnet_tiny", 4, 1, 1, 4, "message-driven:in-flight=1"}),
                         [](const auto& info) { return NameOf(info.param); });

Job DropoutJob(int stages, int data, int micro_batches, const std::string& optimizer, const std::string& schedule = "") {
  Case c{"dropout", stages, data};
  return numerics::DropoutJob(c.ranks(), ParallelOf(c), micro_batches, optimizer, schedule);
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
  ExpectRefused({"gpt_tiny", 2, 1, 1, 2, "pipedream:flush"}, "expected vertical-sync, round-robin or split after the colon");
}

}  // namespace
}  // namespace pdc::numerics
