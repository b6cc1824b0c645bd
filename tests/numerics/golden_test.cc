// Training in f32 gives the losses that JAX and Optax give, from the same parameters and data, at every step.
// golden/generate.py made the values.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/numerics/harness.h"

namespace pdc::numerics {
namespace {

const nlohmann::json& Golden() {
  static const nlohmann::json golden = [] {
    std::ifstream file("tests/numerics/golden/golden.json");
    return nlohmann::json::parse(file);
  }();
  return golden;
}

std::map<std::string, Field> FieldsOf(const std::string& model) {
  using Kind = Field::Kind;
  if (model == "gpt_tiny" || model == "moe_tiny") return {{"tokens", {Kind::kIds, 256}}, {"labels", {Kind::kIds, 256}}};
  if (model == "bert_tiny")
    return {{"tokens", {Kind::kIds, 128}}, {"segments", {Kind::kIds, 2}}, {"labels", {Kind::kIds, 128, 0.15}}};
  return {{"label", {Kind::kIds, 10}}};
}

class GoldenLosses : public testing::TestWithParam<std::string> {};

TEST_P(GoldenLosses, AreThoseOfJaxAtEveryStep) {
  const nlohmann::json& run = Golden()["runs"][GetParam()];
  Job job;
  job.model = "models/" + run["model"].get<std::string>() + ".mlir";
  job.batch = run["batch"];
  job.steps = Golden()["steps"];
  job.learning_rate = run["learning_rate"];
  job.parameter_seed = Golden()["parameter_seed"];
  job.data_seed = Golden()["data_seed"];
  job.fields = FieldsOf(run["model"]);
  job.options.optimizer = run["optimizer"];
  job.options.clipNorm = run["clip_norm"];
  for (const auto& [name, value] : run["settings"].items())
    job.options.optimizerSettings.push_back(name + "=" + value.dump());
  job.gradients = true;
  Result result = RunJob(job);
  ASSERT_EQ(result.error, "");

  for (const auto& [name, expected] : run["first_gradient_norms"].items()) {
    double squares = 0;
    for (double value : result.gradients[0][name]) squares += value * value;
    EXPECT_NEAR(std::sqrt(squares), expected.get<double>(), 1e-4 * expected.get<double>() + 1e-7)
        << "gradient of " << name << " at step 1";
  }
  std::vector<double> losses = run["losses"];
  ASSERT_EQ(result.losses.size(), losses.size());
  for (size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(result.losses[i], losses[i], 1e-4 * losses[i]) << "at step " << i + 1;
  for (const auto& [name, values] : run["final_state"].items())
    EXPECT_LT(RelativeDifference(result.state[name], values.get<Tensor>()), 1e-3) << name;
}

std::vector<std::string> RunNames() {
  std::vector<std::string> names;
  for (const auto& [name, run] : Golden()["runs"].items()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Runs, GoldenLosses, testing::ValuesIn(RunNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pdc::numerics
