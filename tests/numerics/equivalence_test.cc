// However many ranks share the batch, training gives the single-device losses; twice the same run gives the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/numerics/harness.h"

namespace pdc::numerics {
namespace {

Job JobOf(const std::string& model, int ranks) {
  using Kind = Field::Kind;
  Job job;
  job.model = "models/" + model + ".mlir";
  job.ranks = ranks;
  job.steps = 20;
  job.options.optimizer = "adamw";
  if (model == "gpt_tiny" || model == "moe_tiny") {
    job.batch = 4;  // over three ranks: 2, 1, 1
    job.fields = {{"tokens", {Kind::kIds, 256}}, {"labels", {Kind::kIds, 256}}};
  } else if (model == "bert_tiny") {
    job.batch = 7;  // ranks hold different numbers of labels that count
    job.fields = {{"tokens", {Kind::kIds, 128}}, {"segments", {Kind::kIds, 2}}, {"labels", {Kind::kIds, 128, 0.15}}};
  } else {
    job.batch = 10;
    job.fields = {{"label", {Kind::kIds, 10}}};
  }
  if (model == "resnet_tiny") {
    job.options.optimizer = "momentum";
    job.learning_rate = 0.02;
  }
  return job;
}

struct Case {
  std::string model;
  int ranks;
};

class DataParallel : public testing::TestWithParam<Case> {};

TEST_P(DataParallel, LossesAndGradientsAreThoseOfOneRank) {
  Job one = JobOf(GetParam().model, 1), many = JobOf(GetParam().model, GetParam().ranks);
  one.gradients = many.gradients = true;
  Result expected = RunJob(one), found = RunJob(many);
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(found.error, "");
  ASSERT_EQ(found.losses.size(), 20u);
  for (size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5 * std::abs(expected.losses[i])) << "at step " << i + 1;
  // Some gradients are zero in exact arithmetic (that of a key's bias: softmax does not see it) and hold nothing but
  // rounding, so differences count relative to the model's largest gradient too.
  double largest = 0;
  for (const auto& [name, gradient] : expected.gradients[0])
    for (double value : gradient) largest = std::max(largest, std::abs(value));
  for (const auto& [name, gradient] : expected.gradients[0]) {
    const Tensor& other = found.gradients[0][name];
    ASSERT_EQ(other.size(), gradient.size()) << name;
    double own = 0, difference = 0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      own = std::max(own, std::abs(gradient[i]));
      difference = std::max(difference, std::abs(gradient[i] - other[i]));
    }
    EXPECT_LT(difference, 1e-4 * std::max(own, 0.01 * largest)) << name;
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* model : {"gpt_tiny", "moe_tiny", "lenet", "resnet_tiny", "bert_tiny"})
    for (int ranks : {2, 3, 4}) cases.push_back({model, ranks});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, DataParallel, testing::ValuesIn(Cases()), [](const auto& info) {
  return info.param.model + "_on_" + std::to_string(info.param.ranks);
});

// Rules for three axes leave the search a mesh of three, and all that they do not say.
TEST(SearchedOnThreeAxes, LossesAreThoseOfOneRank) {
  Job one = JobOf("mlp", 1), eight = JobOf("mlp", 8);
  one.steps = eight.steps = 5;
  eight.parallel = "auto";
  eight.options.layoutRules = {{"in", "data"}, {"hidden1", "tensor"}, {"hidden2", "inner"}};
  Result expected = RunJob(one), found = RunJob(eight);
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(found.error, "");
  for (size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5 * std::abs(expected.losses[i])) << "at step " << i + 1;
}

TEST(Determinism, TwoRunsGiveTheSameBits) {
  for (const char* model : {"gpt_tiny", "resnet_tiny"}) {
    Job job = JobOf(model, 3);
    job.steps = 5;
    Result first = RunJob(job), second = RunJob(job);
    ASSERT_EQ(first.error, "");
    EXPECT_EQ(first.bits, second.bits) << model;
    EXPECT_EQ(first.losses, second.losses) << model;
  }
}

TEST(Determinism, DropoutIsTheSameOnAnyNumberOfRanks) {
  Job one;
  one.model = R"(
nn.model @dropped(%x: tensor<?x32xf32>, %label: tensor<?xi32>) -> tensor<f32> {
  %w = nn.param "w" init(kaiming) : tensor<32x10xf32>
  %d = nn.dropout %x {rate = 0.5} : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = nn.linear %d, %w : (tensor<?x32xf32>, tensor<32x10xf32>) -> tensor<?x10xf32>
  %e = nn.dropout %y {rate = 0.25} : (tensor<?x10xf32>) -> tensor<?x10xf32>
  %loss = nn.cross_entropy %e, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";
  one.batch = 7;
  one.steps = 5;
  one.fields = {{"label", {Field::Kind::kIds, 10}}};
  Job three = one;
  three.ranks = 3;
  Result expected = RunJob(one), found = RunJob(three);
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(found.error, "");
  for (size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5 * std::abs(expected.losses[i])) << "at step " << i + 1;
}

TEST(Precision, Bf16StaysNearF32) {
  for (const char* model : {"gpt_tiny", "lenet", "resnet_tiny", "bert_tiny"}) {
    Job f32 = JobOf(model, 1), bf16 = JobOf(model, 2);
    bf16.options.precision = "bf16";
    Result expected = RunJob(f32), found = RunJob(bf16);
    ASSERT_EQ(expected.error, "") << model;
    ASSERT_EQ(found.error, "") << model;
    // bf16 keeps 8 bits: single losses of small batches are within a few percent.
    for (size_t i = 0; i < expected.losses.size(); ++i)
      EXPECT_NEAR(found.losses[i], expected.losses[i], 0.05 * expected.losses[i]) << model << " at step " << i + 1;
  }
}

}  // namespace
}  // namespace pdc::numerics
