#include "tests/numerics/staged_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

namespace pdc::numerics {
namespace {

using Kind = Field::Kind;

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

}  // namespace

Job StagedJob(const std::string& model, int ranks, const std::string& parallel, int micro_batches,
              const std::string& schedule) {
  Job job;
  job.model = "models/" + model + ".mlir";
  job.ranks = ranks;
  job.steps = 5;
  job.gradients = true;
  job.parallel = parallel;
  job.options.optimizer = "adamw";
  job.options.microBatches = micro_batches;
  job.options.kernelOptimization = 1;
  job.options.schedule = schedule;
  if (model == "gpt_tiny" || model == "moe_tiny") {
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

Job DropoutJob(int ranks, const std::string& parallel, int micro_batches, const std::string& optimizer,
               const std::string& schedule) {
  Job job = StagedJob("", ranks, parallel, micro_batches, schedule);
  job.model = kDropout;
  job.batch = 9;
  job.learning_rate = 0.01;
  job.fields = {{"tokens", {Kind::kIds, 32}}, {"labels", {Kind::kIds, 32, 0.7}}};
  job.options.optimizer = optimizer;
  job.options.clipNorm = 0.05;
  return job;
}

std::string NameOf(const testing::TestParamInfo<StagedCase>& info) {
  const StagedCase& c = info.param;
  std::string name = c.model + "_" + c.parallel + "_m" + std::to_string(c.micro_batches) + "_" + c.schedule;
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

Job StagedJob(const StagedCase& c) { return StagedJob(c.model, c.ranks, c.parallel, c.micro_batches, c.schedule); }

void ExpectSameAsOneDevice(const StagedCase& c) {
  StagedCase one{c.model};
  // Statistics of batch_norm, and the balance of experts, are those of each micro-batch, on one device too.
  if (one.model == "resnet_tiny" || one.model == "moe_tiny") one.micro_batches = c.micro_batches;
  ExpectSame(RunJob(StagedJob(one)), RunJob(StagedJob(c)));
}

void ExpectSame(const Result& expected, const Result& found, const std::string& precision) {
  const double loss = precision == "f32" ? 1e-5 : 3e-3, relative = precision == "f32" ? 1e-4 : 0.1;
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(found.error, "");
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  // Loss and metrics are those of all stages, on every rank.
  for (const std::vector<double>& losses : found.losses_of_ranks) {
    ASSERT_EQ(losses.size(), expected.losses.size());
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected.losses[i], loss * std::abs(expected.losses[i])) << "at step " << i + 1;
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
    EXPECT_LT(difference, relative * std::max(own, 0.01 * largest)) << name;
  }
}

}  // namespace pdc::numerics
