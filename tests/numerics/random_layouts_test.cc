// Any legal layout gives the single-device result: plans in which every value and every op takes a random one of its
// choices, over random meshes, uneven parts included.
//
//   PDC_RANDOM_LAYOUTS=200 PDC_RANDOM_SEED=1 bazel run //tests/numerics:random_layouts_test      a longer run
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/numerics/harness.h"

namespace pdc::numerics {
namespace {

constexpr int kSteps = 3;
constexpr int kRanks[] = {2, 3, 4, 6, 8};

Job JobOf(const std::string& model) {
  using Kind = Field::Kind;
  Job job;
  job.model = "models/" + model + ".mlir";
  job.steps = kSteps;
  job.options.optimizer = "adamw";
  job.batch = 8;
  if (model == "gpt_tiny") {
    job.batch = 3;
    job.fields = {{"tokens", {Kind::kIds, 256}}, {"labels", {Kind::kIds, 256}}};
  } else if (model == "bert_tiny") {
    job.batch = 5;
    job.fields = {{"tokens", {Kind::kIds, 128}}, {"segments", {Kind::kIds, 2}}, {"labels", {Kind::kIds, 128, 0.15}}};
  } else if (model != "mlp") {
    job.fields = {{"label", {Kind::kIds, 10}}};
  } else {
    job.fields = {{"label", {Kind::kIds, 10}}};
  }
  if (model == "resnet_tiny") {
    job.options.optimizer = "momentum";
    job.learning_rate = 0.02;
  }
  return job;
}

int64_t Setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

class RandomLayouts : public testing::TestWithParam<const char*> {};

TEST_P(RandomLayouts, GiveTheSingleDeviceLosses) {
  const int64_t count = Setting("PDC_RANDOM_LAYOUTS", 1), first = Setting("PDC_RANDOM_SEED", 1);
  Job one = JobOf(GetParam());
  Result expected = RunJob(one);
  ASSERT_EQ(expected.error, "");
  for (int64_t seed = first; seed < first + count; ++seed) {
    Job many = one;
    many.ranks = kRanks[seed % std::size(kRanks)];
    many.parallel = "auto";
    many.options.search = "random:seed=" + std::to_string(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(many.ranks) + " ranks");
    Result found = RunJob(many);
    ASSERT_EQ(found.error, "");
    ASSERT_EQ(found.losses.size(), size_t{kSteps});
    for (int step = 0; step < kSteps; ++step)
      EXPECT_NEAR(found.losses[step], expected.losses[step], 1e-5 * std::abs(expected.losses[step]))
          << "at step " << step + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RandomLayouts, testing::Values("mlp", "lenet", "gpt_tiny", "resnet_tiny", "bert_tiny"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pdc::numerics
