// Every op of the nn dialect gives the values and the gradients that JAX gives. generate.py made the cases.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/numerics/harness.h"

namespace pdc::numerics {
namespace {

const nlohmann::json& Golden() {
  static const nlohmann::json golden = [] {
    std::ifstream file("tests/grad/golden.json");
    return nlohmann::json::parse(file);
  }();
  return golden;
}

class OpGradient : public testing::TestWithParam<int> {};

TEST_P(OpGradient, IsThatOfJax) {
  const nlohmann::json& golden = Golden()["cases"][GetParam()];
  Job job;
  job.model = golden["model"];
  job.batch = golden["batch"];
  job.parameter_seed = Golden()["parameter_seed"];
  job.data_seed = Golden()["data_seed"];
  job.options.optimizer = "sgd";
  job.gradients = true;
  for (const auto& [name, count] : golden["ids"].items())
    job.fields[name] = {Field::Kind::kIds, count.get<int64_t>()};
  Result result = RunJob(job);
  ASSERT_EQ(result.error, "");
  const double loss = golden["loss"];
  EXPECT_NEAR(result.losses[0], loss, 1e-4 * std::max(1.0, std::abs(loss)));
  for (const auto& [name, values] : golden["gradients"].items()) {
    ASSERT_TRUE(result.gradients[0].count(name)) << "no gradient of " << name;
    EXPECT_LT(RelativeDifference(result.gradients[0][name], values.get<Tensor>()), 2e-5) << name;
  }
}

std::vector<int> Indices() {
  std::vector<int> indices(Golden()["cases"].size());
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int>(i);
  return indices;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpGradient, testing::ValuesIn(Indices()), [](const auto& info) {
  return Golden()["cases"][info.param]["name"].template get<std::string>();
});

}  // namespace
}  // namespace pdc::numerics
