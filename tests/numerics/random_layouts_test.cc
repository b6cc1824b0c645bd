// Any legal layout gives the single-device result: plans in which every value and every op takes a random one of its
// choices, over meshes of one to three axes, uneven parts included. Either the generator of plans.h chooses, value by
// value and op by op, or the search's (--search=random), whose choices are those of a planner. A longer run, of so many
// plans a model and generator, from this seed on:
//
//   PDC_RANDOM_LAYOUTS=20 PDC_RANDOM_SEED=1 bazel run //tests/numerics:random_layouts_test
//
// A plan that fails is run again by its seed: PDC_RANDOM_LAYOUTS=1 PDC_RANDOM_SEED=... -- --gtest_filter=*gpt_tiny_own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "tests/numerics/harness.h"
#include "tests/numerics/plans.h"

namespace pdc::numerics {
namespace {

constexpr int kSteps = 3;
// Largest difference of a loss from that of one device, as a share of it.
constexpr double kTolerance = 1e-5;

struct Case {
  const char* model;
  bool searched;  // by --search=random
  int64_t seed;   // of the first plan, unless PDC_RANDOM_SEED says another
};

// Batches that no number of ranks divides.
Job JobOf(const std::string& model) {
  using Kind = Field::Kind;
  Job job;
  job.model = "models/" + model + ".mlir";
  job.steps = kSteps;
  job.options.optimizer = "adamw";
  job.options.kernelOptimization = 0;  // kernels are as many as plans, and run three times
  job.batch = 9;
  job.fields = {{"label", {Kind::kIds, 10}}};
  if (model == "gpt_tiny" || model == "moe_tiny") {
    job.batch = 3;
    job.fields = {{"tokens", {Kind::kIds, 256}}, {"labels", {Kind::kIds, 256}}};
  } else if (model == "bert_tiny") {
    job.batch = 5;
    job.fields = {{"tokens", {Kind::kIds, 128}}, {"segments", {Kind::kIds, 2}}, {"labels", {Kind::kIds, 128, 0.15}}};
  } else if (model == "resnet_tiny") {
    job.options.optimizer = "momentum";
    job.learning_rate = 0.02;
  }
  return job;
}

const MeshShape& MeshOf(int64_t seed) {
  static const auto* meshes = new std::vector<MeshShape>{
      {{"x"}, {2}},         {{"x"}, {3}},         {{"x"}, {4}},         {{"x", "y"}, {2, 2}},
      {{"x"}, {6}},         {{"x", "y"}, {2, 3}}, {{"x", "y"}, {3, 2}}, {{"x"}, {8}},
      {{"x", "y"}, {2, 4}}, {{"x", "y"}, {4, 2}}, {{"x", "y", "z"}, {2, 2, 2}}};
  return (*meshes)[static_cast<size_t>(seed) % meshes->size()];
}

int64_t Setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

// The search takes a mesh of its own for so many ranks. Every fourth plan is one of all steps.
void ChoosePlan(const Case& test, int64_t seed, Job& job) {
  const MeshShape& mesh = MeshOf(seed);
  job.ranks = static_cast<int>(mesh.ranks());
  if (!test.searched) {
    Plan plan = RandomPlan(mesh, static_cast<uint64_t>(seed));
    job.plan = seed % 4 == 0 ? plan : OfTrainingOnly(plan);
    return;
  }
  job.parallel = "auto";
  job.options.search = "random:seed=" + std::to_string(seed);
}

class RandomLayouts : public testing::TestWithParam<Case> {};

TEST_P(RandomLayouts, GiveTheSingleDeviceLosses) {
  const Case test = GetParam();
  const int64_t count = Setting("PDC_RANDOM_LAYOUTS", 1), first = Setting("PDC_RANDOM_SEED", test.seed);
  Job one = JobOf(test.model);
  Result expected = RunJob(one);
  ASSERT_EQ(expected.error, "");
  double largest = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    Job many = one;
    ChoosePlan(test, seed, many);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(many.ranks) + " ranks");
    Result found = RunJob(many);
    EXPECT_EQ(found.error, "");
    if (!found.error.empty()) continue;  // each seed that fails is told
    ASSERT_EQ(found.losses.size(), size_t{kSteps});
    double of_plan = 0;
    for (int step = 0; step < kSteps; ++step) {
      double difference = std::abs(found.losses[step] - expected.losses[step]) / std::abs(expected.losses[step]);
      EXPECT_LE(difference, kTolerance) << "at step " << step + 1 << ": " << found.losses[step] << " instead of "
                                        << expected.losses[step];
      of_plan = std::max(of_plan, difference);
    }
    largest = std::max(largest, of_plan);
    std::printf("%s, %s: seed %lld, %d ranks: %.1e\n", test.model, test.searched ? "searched" : "own",
                static_cast<long long>(seed), many.ranks, of_plan);
  }
  std::printf("%s, %s: largest relative difference of a loss in %lld plan(s): %.1e\n", test.model,
              test.searched ? "searched" : "own", static_cast<long long>(count), largest);
}

// So that the plans below have some of them.
TEST(RandomPlan, SplitsLoopsOfWindowsAndGoesThroughPartsOfOps) {
  int windows = 0, parts = 0;
  for (const char* model : {"resnet_tiny", "gpt_tiny"})
    for (int64_t seed = 1; seed <= 4; ++seed) {
      Job job = JobOf(model);
      job.ranks = static_cast<int>(MeshOf(seed).ranks());
      job.plan = [&](mlir::ModuleOp module) {
        std::string error = RandomPlan(MeshOf(seed), static_cast<uint64_t>(seed))(module);
        module.walk([&](nn::Conv2dOp op) {
          dist::LayoutAttr layout = dist::getLayout(op.getResult());
          windows += layout.isSplit(2) || layout.isSplit(3);
        });
        // A softmax over parts of its columns: their maximum is one of the ranks.
        module.walk([&](nn::ReduceMaxOp op) { parts += !dist::getLayout(op.getResult()).getMax().empty(); });
        return error.empty() ? "looked at" : error;
      };
      EXPECT_EQ(RunJob(job).error, "looked at");
    }
  EXPECT_GT(windows, 0);
  EXPECT_GT(parts, 0);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* model : {"mlp", "lenet", "gpt_tiny", "resnet_tiny", "bert_tiny", "moe_tiny"})
    for (bool searched : {false, true}) cases.push_back({model, searched, static_cast<int64_t>(cases.size())});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, RandomLayouts, testing::ValuesIn(Cases()), [](const auto& info) {
  return std::string(info.param.model) + (info.param.searched ? "_searched" : "_own");
});

}  // namespace
}  // namespace pdc::numerics
