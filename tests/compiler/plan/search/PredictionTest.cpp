//===- PredictionTest.cpp - who chooses among the best plans --------------===//

#include "compiler/plan/search/LayoutSearch.h"
#include "dialects/nn/Analysis/Linearity.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler/cost/clusters.h"
#include "gtest/gtest.h"

using namespace pdc;
using namespace pdc::plan;

namespace {

// Two layers and their gradients without an update: several meshes cost nearly the same.
constexpr const char *kStep = R"mlir(
nn.step "train" @train(
    %w: tensor<64x64xf32> {nn.role = "parameter", nn.name = "w"},
    %x: tensor<64x64xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"},
        tensor<64x64xf32> {nn.role = "parameter", nn.name = "w"}) {
  %y = nn.linear %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<64x64xf32>) -> tensor<f32>
  %g = nn.linear_grad_weight %x, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  dist.alike %w, %g : tensor<64x64xf32>
  %w1 = nn.add %w, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nn.return %loss, %w1 : tensor<f32>, tensor<64x64xf32>
}
)mlir";

class Prediction : public ::testing::Test {
protected:
  /// Plans for four ranks, with these predictions.
  SearchOutcome search(std::function<llvm::FailureOr<StepPrediction>(mlir::ModuleOp)> predict, int64_t arenaLimit = 0) {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, dist::DistDialect>();
    nn::registerLinearity(registry);
    mlir::MLIRContext context(registry);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kStep, &context);
    machine::Cluster cluster = cost::test::row(4, "latency: 1 us, bandwidth: 100 GB/s");
    auto model = llvm::cantFail(cost::makeCostModel("native", cluster));
    ParallelSpec parallel;
    parallel.isSearched = true;
    SearchRequest request{.cluster = cluster,
                          .costs = *model,
                          .ranks = 4,
                          .parallel = parallel,
                          .method = llvm::cantFail(makeSearchMethod("exact")),
                          .predict = predict,
                          .arenaLimitBytes = arenaLimit};
    auto found = searchLayouts(*module, request);
    EXPECT_TRUE(succeeded(found));
    EXPECT_EQ(std::distance(module->getOps<dist::MeshOp>().begin(), module->getOps<dist::MeshOp>().end()), 1);
    return succeeded(found) ? *found : SearchOutcome();
  }

  static std::vector<int64_t> meshOf(mlir::ModuleOp planned) {
    return (*planned.getOps<dist::MeshOp>().begin()).getAxisSizes().vec();
  }
};

const std::vector<int64_t> kSquare = {2, 2}, kRow = {4};

TEST_F(Prediction, ThePlanThatIsPredictedToBeFastestIsTaken) {
  for (const std::vector<int64_t> &favorite : {kSquare, kRow}) {
    int predictions = 0;
    SearchOutcome outcome = search([&](mlir::ModuleOp planned) -> llvm::FailureOr<StepPrediction> {
      ++predictions;
      return StepPrediction{meshOf(planned) == favorite ? 1.0 : 2.0, 100};
    });
    EXPECT_EQ(outcome.meshSizes, favorite);
    ASSERT_EQ(static_cast<int>(outcome.simulated.size()), predictions);
    EXPECT_GE(predictions, 2);
    int chosen = 0;
    for (const SimulatedPlan &plan : outcome.simulated) {
      chosen += plan.isChosen;
      EXPECT_GE(plan.costSeconds, outcome.leastSeconds);
      if (plan.isChosen) {
        EXPECT_EQ(plan.costSeconds, outcome.stepSeconds);
        EXPECT_EQ(plan.predicted.seconds, 1.0);
      }
    }
    EXPECT_EQ(chosen, 1);
    // Bound and gap stay those of the search.
    EXPECT_LE(outcome.lowerBoundSeconds, outcome.leastSeconds);
    EXPECT_EQ(outcome.gap, 0);
  }
}

TEST_F(Prediction, OfEqualPredictionsTheLeastCostCounts) {
  SearchOutcome outcome =
      search([](mlir::ModuleOp) -> llvm::FailureOr<StepPrediction> { return StepPrediction{1, 100}; });
  EXPECT_EQ(outcome.stepSeconds, outcome.leastSeconds);
  EXPECT_TRUE(outcome.simulated.front().isChosen);
}

TEST_F(Prediction, WhatDoesNotFitIsNotTaken) {
  SearchOutcome outcome = search(
      [&](mlir::ModuleOp planned) -> llvm::FailureOr<StepPrediction> {
        return meshOf(planned) == kSquare ? StepPrediction{1, 101} : StepPrediction{2, 100};
      },
      100);
  EXPECT_EQ(outcome.meshSizes, kRow);
}

TEST_F(Prediction, WhereNothingCanBePredictedTheLeastCostCounts) {
  SearchOutcome outcome =
      search([](mlir::ModuleOp) -> llvm::FailureOr<StepPrediction> { return mlir::failure(); });
  EXPECT_TRUE(outcome.simulated.empty());
  EXPECT_EQ(outcome.stepSeconds, outcome.leastSeconds);
  EXPECT_EQ(search(nullptr).stepSeconds, outcome.leastSeconds);
}

TEST_F(Prediction, WhatIsPredictedIsAPlannedStep) {
  search([&](mlir::ModuleOp planned) -> llvm::FailureOr<StepPrediction> {
    nn::StepOp step = *planned.getOps<nn::StepOp>().begin();
    EXPECT_TRUE(step.getArgAttrOfType<dist::LayoutAttr>(0, dist::kLayoutAttr));
    EXPECT_TRUE(step.getBody().getOps<dist::AlikeOp>().empty());
    EXPECT_TRUE(succeeded(planned.verify()));
    return StepPrediction{1, 100};
  });
}

} // namespace
