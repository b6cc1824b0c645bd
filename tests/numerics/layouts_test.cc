// Whatever the layouts of a plan are, training gives the losses of one device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/numerics/harness.h"
#include "tests/numerics/plans.h"

namespace pdc::numerics {
namespace {

// Two layers; sizes that two, three and four ranks do not all divide.
constexpr char kMlp[] = R"(
nn.model @mlp(%x: tensor<?x22xf32>, %label: tensor<?xi32>) -> (loss: tensor<f32>) {
  %w1 = nn.param "fc1.weight" init(kaiming) : tensor<22x30xf32>
  %b1 = nn.param "fc1.bias" init(zeros) : tensor<30xf32>
  %w2 = nn.param "fc2.weight" init(kaiming) : tensor<30x10xf32>
  %0 = nn.linear %x, %w1 : (tensor<?x22xf32>, tensor<22x30xf32>) -> tensor<?x30xf32>
  %1 = nn.add %0, %b1 : (tensor<?x30xf32>, tensor<30xf32>) -> tensor<?x30xf32>
  %2 = nn.gelu %1 : tensor<?x30xf32>
  %3 = nn.linear %2, %w2 : (tensor<?x30xf32>, tensor<30x10xf32>) -> tensor<?x10xf32>
  %loss = nn.cross_entropy %3, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";

Job JobOf(const std::string& model, int steps) {
  using Kind = Field::Kind;
  Job job;
  job.steps = steps;
  job.options.optimizer = "adamw";
  job.learning_rate = 1e-2;
  if (model == "mlp") {
    job.model = kMlp;
    job.batch = 14;
    job.fields = {{"label", {Kind::kIds, 10}}};
    return job;
  }
  job.model = "models/" + model + ".mlir";
  job.learning_rate = 1e-3;
  if (model == "gpt_tiny") {
    job.batch = 4;
    job.fields = {{"tokens", {Kind::kIds, 256}}, {"labels", {Kind::kIds, 256}}};
  } else if (model == "bert_tiny") {
    job.batch = 5;
    job.fields = {{"tokens", {Kind::kIds, 128}}, {"segments", {Kind::kIds, 2}}, {"labels", {Kind::kIds, 128, 0.15}}};
  } else {
    job.batch = 6;
    job.fields = {{"label", {Kind::kIds, 10}}};
  }
  return job;
}

void ExpectLossesOfOneRank(Job job, const MeshShape& mesh, Plan plan) {
  Result expected = RunJob(job);
  ASSERT_EQ(expected.error, "");
  job.ranks = static_cast<int>(mesh.ranks());
  job.plan = std::move(plan);
  Result found = RunJob(job);
  ASSERT_EQ(found.error, "");
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5 * std::abs(expected.losses[i])) << "at step " << i + 1;
}

// The first dimension that every rank can have a part of.
DimAxes SplitFirst(const ArgumentInfo& info, const std::string& axis, int64_t ranks) {
  DimAxes dims(info.shape.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (info.shape[d] < ranks) continue;
    dims[d] = {axis};
    break;
  }
  return dims;
}

// ZeRO (Rajbhandari et al., 2020): which model states are split over the ranks that share the batch.
struct ZeroCase {
  std::string model;
  int stage, ranks;
};

class Zero : public testing::TestWithParam<ZeroCase> {};

TEST_P(Zero, LossesAreThoseOfOneRank) {
  auto [model, stage, ranks] = GetParam();
  MeshShape mesh{{"data"}, {ranks}};
  auto layout = [stage = stage, ranks = ranks](const ArgumentInfo& info) {
    bool split = info.role == "input" || info.role == "optimizer_state" || (stage >= 3 && info.role == "parameter") ||
                 (stage >= 2 && info.role == "gradient") || info.role == "sum";
    return split ? SplitFirst(info, "data", ranks) : DimAxes();
  };
  ExpectLossesOfOneRank(JobOf(model, 5), mesh, FollowingPlan(mesh, layout));
}

std::vector<ZeroCase> ZeroCases() {
  std::vector<ZeroCase> cases;
  for (int stage : {1, 2, 3})
    for (int ranks : {2, 3, 4}) cases.push_back({"mlp", stage, ranks});
  for (int stage : {1, 3}) cases.push_back({"gpt_tiny", stage, 3});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Stages, Zero, testing::ValuesIn(ZeroCases()), [](const auto& info) {
  return info.param.model + "_stage_" + std::to_string(info.param.stage) + "_on_" + std::to_string(info.param.ranks);
});

// Megatron (Shoeybi et al., 2019): the first product split by columns, the second by rows, one sum after it.
DimAxes ColumnThenRow(const ArgumentInfo& info) {
  DimAxes dims(info.shape.size());
  if (info.name == "fc1.weight" || info.name.ends_with(".fc.weight")) dims[1] = {"tensor"};
  if (info.name == "fc1.bias") dims[0] = {"tensor"};
  if (info.name == "fc2.weight" || info.name.ends_with(".proj.weight")) dims[0] = {"tensor"};
  return dims;
}

TEST(Tensor, ColumnThenRowGivesTheLossesOfOneRank) {
  for (int64_t ranks : {2, 3, 4}) {
    MeshShape mesh{{"tensor"}, {ranks}};
    ExpectLossesOfOneRank(JobOf("mlp", 5), mesh, FollowingPlan(mesh, ColumnThenRow));
  }
}

TEST(Tensor, WithTheBatchSplitOnATwoByTwoMesh) {
  MeshShape mesh{{"data", "tensor"}, {2, 2}};
  auto layout = [](const ArgumentInfo& info) {
    DimAxes dims = ColumnThenRow(info);
    if (info.role == "input") dims[0] = {"data"};
    // Optimizer state is split over both.
    if (info.role == "optimizer_state" && dims.size() == 2) dims[dims[0].empty() ? 0 : 1].push_back("data");
    return dims;
  };
  for (const char* model : {"mlp", "gpt_tiny"})
    ExpectLossesOfOneRank(JobOf(model, 5), mesh, FollowingPlan(mesh, layout));
}

// Attention as Megatron splits it: of queries, keys and values of the merged projection a rank has the columns of its heads.
DimAxes ByHeads(const ArgumentInfo& info) {
  DimAxes dims = ColumnThenRow(info);
  if (info.name.ends_with(".attn.qkv.weight")) dims.at(2) = {"tensor"};
  if (info.name.ends_with(".attn.qkv.bias")) dims.at(1) = {"tensor"};
  return dims;
}

// gpt_tiny has four heads of 32 columns; three ranks would have parts of heads.
TEST(Tensor, AMergedProjectionSplitByHeadsGivesTheLossesOfOneRank) {
  for (int64_t ranks : {2, 3, 4}) {
    MeshShape mesh{{"tensor"}, {ranks}};
    ExpectLossesOfOneRank(JobOf("gpt_tiny", 5), mesh, FollowingPlan(mesh, ByHeads));
  }
}

}  // namespace
}  // namespace pdc::numerics
