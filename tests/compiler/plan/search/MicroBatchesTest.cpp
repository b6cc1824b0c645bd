//===- MicroBatchesTest.cpp - who may share a micro-batch -----------------===//

#include "compiler/plan/search/MicroBatches.h"
#include "compiler/plan/search/LayoutSearch.h"
#include "compiler/plan/search/SearchSpace.h"
#include "dialects/nn/Analysis/Linearity.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler/cost/clusters.h"
#include "gtest/gtest.h"

using namespace pdc;
using namespace pdc::plan;

namespace {

// Seven samples of three rows each, on eight ranks. Rows are flattened, so that samples lie inside of a dimension; the gradient
// has no sample, but is a sum over them.
constexpr const char *kSteps = R"mlir(
dist.mesh @mesh axes(["data" = 4, "tensor" = 2])
nn.step "train" @train(
    %w: tensor<64x64xf32> {nn.role = "parameter", nn.name = "w"},
    %x: tensor<7x3x64xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"},
        tensor<64x64xf32> {nn.role = "parameter", nn.name = "w"}) {
  %rows = nn.reshape %x : tensor<7x3x64xf32> to tensor<21x64xf32>
  %y = nn.linear %rows, %w : (tensor<21x64xf32>, tensor<64x64xf32>) -> tensor<21x64xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<21x64xf32>) -> tensor<f32>
  %g = nn.linear_grad_weight %rows, %y : (tensor<21x64xf32>, tensor<21x64xf32>) -> tensor<64x64xf32>
  dist.alike %w, %g : tensor<64x64xf32>
  %w1 = nn.add %w, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nn.return %loss, %w1 : tensor<f32>, tensor<64x64xf32>
}
nn.step "infer" @infer(
    %w: tensor<64x64xf32> {nn.role = "parameter", nn.name = "w"},
    %x: tensor<7x3x64xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<21x64xf32> {nn.role = "output", nn.name = "y"}) {
  %rows = nn.reshape %x : tensor<7x3x64xf32> to tensor<21x64xf32>
  %y = nn.linear %rows, %w : (tensor<21x64xf32>, tensor<64x64xf32>) -> tensor<21x64xf32>
  nn.return %y : tensor<21x64xf32>
}
)mlir";

class MicroBatchesTest : public ::testing::Test {
protected:
  MicroBatchesTest() : context(registry()), module(mlir::parseSourceString<mlir::ModuleOp>(kSteps, &context)) {}

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, dist::DistDialect>();
    nn::registerLinearity(registry);
    return registry;
  }

  nn::StepOp step(llvm::StringRef kind) {
    for (nn::StepOp step : module->getOps<nn::StepOp>())
      if (step.getKind() == kind)
        return step;
    return {};
  }
  dist::MeshOp mesh() { return *module->getOps<dist::MeshOp>().begin(); }

  /// Most ranks that share the samples of the first dimension of any value in some choice of the training step.
  int64_t mostParts(int64_t microBatches) {
    MicroBatches split(microBatches);
    machine::Cluster cluster = cost::test::row(8, "latency: 1 us, bandwidth: 100 GB/s");
    auto model = llvm::cantFail(cost::makeCostModel("native", cluster));
    MeshCosts costs(cluster, *model, mesh());
    SearchSpace space(step("train"), costs, [](mlir::Value, dist::LayoutAttr) { return true; }, split.of(step("train")));
    int64_t most = 0;
    auto count = [&](mlir::Value value, dist::LayoutAttr layout) {
      auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
      if (type.getRank() > 0 && (type.getDimSize(0) == 7 || (type.getDimSize(0) == 21 && layout.getBlocks()[0] == 3)))
        most = std::max(most, mesh().getParts(layout.getAxes(0)));
    };
    for (mlir::Operation &op : step("train").getBody().front()) {
      if (!space.hasSplit(&op))
        continue;
      for (const passes::OpSplit &split : space.splitsOf(&op))
        for (auto [value, layout] : llvm::zip(op.getOperands(), split.layouts.operands))
          count(value, layout);
      for (mlir::Value result : op.getResults())
        for (dist::LayoutAttr layout : space.domainOfClass(space.getClasses().classOf(result)))
          count(result, layout);
    }
    return most;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(MicroBatchesTest, RanksShareTheSamplesOfTheSmallestMicroBatch) {
  EXPECT_EQ(mostParts(1), 4); // of 7 samples
  EXPECT_EQ(mostParts(2), 2); // 4 and 3
  EXPECT_EQ(mostParts(3), 2); // 3, 2 and 2
  EXPECT_EQ(mostParts(4), 1); // 2, 2, 2 and 1
}

TEST_F(MicroBatchesTest, RowsInsideOfASampleCanStillBeSplit) {
  MicroBatches split(7);
  const passes::BatchSplit *batch = split.of(step("train"));
  ASSERT_TRUE(batch);
  mlir::Value rows = step("train").getBody().front().front().getResult(0);
  auto overTensor = dist::LayoutAttr::getSplit(&context, 2, 0, {"tensor"});
  auto overData = dist::LayoutAttr::getSplit(&context, 2, 0, {"data"});
  EXPECT_EQ(batch->leastShapeOf(rows), (llvm::SmallVector<int64_t>{3, 64}));
  EXPECT_TRUE(batch->partsFit(rows, overTensor, mesh())); // 3 rows over 2 ranks
  EXPECT_FALSE(batch->partsFit(rows, overData, mesh()));  // over 4
}

TEST_F(MicroBatchesTest, WhatHasNoSampleIsSplitAsBefore) {
  MicroBatches split(7);
  const passes::BatchSplit *batch = split.of(step("train"));
  ASSERT_TRUE(batch);
  mlir::Value weight = step("train").getBody().getArgument(0);
  EXPECT_TRUE(batch->partsFit(weight, dist::LayoutAttr::getSplit(&context, 2, 0, {"data", "tensor"}), mesh()));
}

TEST_F(MicroBatchesTest, InferenceTakesTheBatchAsAWhole) {
  MicroBatches split(7);
  EXPECT_FALSE(split.of(step("infer")));
  EXPECT_TRUE(succeeded(split.checkReplicas(step("infer"), 4)));
}

TEST_F(MicroBatchesTest, ReplicasWithoutASampleAreRefused) {
  MicroBatches split(3);
  std::string error;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    error = diagnostic.str();
    return mlir::success();
  });
  EXPECT_TRUE(succeeded(split.checkReplicas(step("train"), 2)));
  EXPECT_TRUE(failed(split.checkReplicas(step("train"), 3)));
  EXPECT_NE(error.find("a batch of 7 in 3 micro-batches of input 'x', which data=3 splits: a micro-batch of 2 has no sample"),
            std::string::npos)
      << error;
}

TEST_F(MicroBatchesTest, StepsThatTakeTheBatchAsAWholeFollowTheTrainingStep) {
  machine::Cluster cluster = cost::test::row(8, "latency: 1 us, bandwidth: 100 GB/s");
  auto model = llvm::cantFail(cost::makeCostModel("native", cluster));
  mesh().erase();
  SearchRequest request{.cluster = cluster,
                        .costs = *model,
                        .ranks = 8,
                        .microBatches = 4,
                        .method = llvm::cantFail(makeSearchMethod("exact"))};
  request.parallel.isSearched = true;
  ASSERT_TRUE(succeeded(searchLayouts(*module, request)));
  auto layoutOf = [&](llvm::StringRef kind) {
    nn::LinearOp linear = *step(kind).getBody().getOps<nn::LinearOp>().begin();
    return dist::getLayout(linear.getResult());
  };
  EXPECT_LE(mesh().getParts(layoutOf("train").getAxes(0)), 3); // rows of one sample
  EXPECT_EQ(layoutOf("infer"), layoutOf("train"));
}

} // namespace
