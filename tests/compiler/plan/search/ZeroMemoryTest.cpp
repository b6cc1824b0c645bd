//===- ZeroMemoryTest.cpp - the published memory of ZeRO ------------------===//
//
// ZeRO (Rajbhandari et al. 2020, figure 1): the model states of a model of 7.5e9 parameters that is trained with Adam
// in mixed precision take, on each of 64 devices, 120 GB, and with stages 1, 2 and 3 31.4, 16.6 and 1.875 GB. Counted
// are 2 bytes of parameter and 2 of gradient, and 12 of optimizer state: first and second moment and the parameter in
// f32. Here such a step is planned, and its memory is what the search counts.
//
//===----------------------------------------------------------------------===//

#include "compiler/plan/problem/Solver.h"
#include "compiler/plan/search/LayoutRules.h"
#include "compiler/plan/search/SearchSpace.h"
#include "dialects/nn/Analysis/Linearity.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler/cost/clusters.h"
#include "gtest/gtest.h"

using namespace pdc;
using namespace pdc::plan;

// 75,000 x 100,000 parameters; one sample of 75,000 numbers a device.
static constexpr const char *kStep = R"mlir(
dist.mesh @mesh axes(["data" = 64])
nn.step "train" @train(
    %w: tensor<75000x100000xbf16> {nn.role = "parameter", nn.name = "w"},
    %m: tensor<75000x100000xf32> {nn.role = "optimizer_state", nn.slot = "m", nn.name = "w"},
    %v: tensor<75000x100000xf32> {nn.role = "optimizer_state", nn.slot = "v", nn.name = "w"},
    %master: tensor<75000x100000xf32> {nn.role = "optimizer_state", nn.slot = "master", nn.name = "w"},
    %x: tensor<64x75000xbf16> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"},
        tensor<75000x100000xbf16> {nn.role = "parameter", nn.name = "w"},
        tensor<75000x100000xf32> {nn.role = "optimizer_state", nn.slot = "m", nn.name = "w"},
        tensor<75000x100000xf32> {nn.role = "optimizer_state", nn.slot = "v", nn.name = "w"},
        tensor<75000x100000xf32> {nn.role = "optimizer_state", nn.slot = "master", nn.name = "w"}) {
  %y = nn.linear %x, %w : (tensor<64x75000xbf16>, tensor<75000x100000xbf16>) -> tensor<64x100000xbf16>
  %f = nn.cast %y : tensor<64x100000xbf16> to tensor<64x100000xf32>
  %loss = nn.reduce_sum %f {axes = array<i64: 0, 1>} : (tensor<64x100000xf32>) -> tensor<f32>
  %g = nn.linear_grad_weight %x, %y
      : (tensor<64x75000xbf16>, tensor<64x100000xbf16>) -> tensor<75000x100000xbf16>
  dist.alike %w, %g : tensor<75000x100000xbf16>
  %g32 = nn.cast %g : tensor<75000x100000xbf16> to tensor<75000x100000xf32>
  %m1 = nn.add %m, %g32 : (tensor<75000x100000xf32>, tensor<75000x100000xf32>) -> tensor<75000x100000xf32>
  %gg = nn.mul %g32, %g32 : (tensor<75000x100000xf32>, tensor<75000x100000xf32>) -> tensor<75000x100000xf32>
  %v1 = nn.add %v, %gg : (tensor<75000x100000xf32>, tensor<75000x100000xf32>) -> tensor<75000x100000xf32>
  %d = nn.div %m1, %v1 : (tensor<75000x100000xf32>, tensor<75000x100000xf32>) -> tensor<75000x100000xf32>
  %master1 = nn.sub %master, %d
      : (tensor<75000x100000xf32>, tensor<75000x100000xf32>) -> tensor<75000x100000xf32>
  %w1 = nn.cast %master1 : tensor<75000x100000xf32> to tensor<75000x100000xbf16>
  nn.return %loss, %w1, %m1, %v1, %master1 : tensor<f32>, tensor<75000x100000xbf16>, tensor<75000x100000xf32>,
      tensor<75000x100000xf32>, tensor<75000x100000xf32>
}
)mlir";

/// GB of a rank of the fastest plan with a ZeRO stage.
static double gigabytesOfStage(int64_t stage) {
  mlir::DialectRegistry registry;
  registry.insert<nn::NNDialect, dist::DistDialect>();
  nn::registerLinearity(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kStep, &context);
  if (!module)
    return 0;
  nn::StepOp step = *module->getOps<nn::StepOp>().begin();
  dist::MeshOp mesh = *module->getOps<dist::MeshOp>().begin();
  ParallelSpec spec;
  spec.data = 64;
  spec.zero = stage;
  LayoutRules rules(spec, {});
  rules.enter(step, mesh);
  machine::Cluster cluster = cost::test::row(64, "latency: 1 us, bandwidth: 100 GB/s");
  auto model = llvm::cantFail(cost::makeCostModel("native", cluster));
  MeshCosts costs(cluster, *model, mesh);
  SearchSpace space(step, costs,
                    [&](mlir::Value value, dist::LayoutAttr layout) { return rules.allows(value, layout); });
  EXPECT_FALSE(space.getImpossible());
  Solution solution = solve(space.getProblem());
  EXPECT_EQ(solution.status, SolutionStatus::found);
  return static_cast<double>(solution.bytes) / 1e9;
}

// What is left over are the activations, 0.35 MB, and parts that are rounded up.
TEST(ZeroMemory, WithoutZeroEveryDeviceHoldsSixteenBytesAParameter) {
  EXPECT_NEAR(gigabytesOfStage(0), 120, 0.01);
}
TEST(ZeroMemory, StageOneSplitsTheOptimizerState) { EXPECT_NEAR(gigabytesOfStage(1), 31.4, 0.01); }
TEST(ZeroMemory, StageTwoSplitsGradientsToo) { EXPECT_NEAR(gigabytesOfStage(2), 16.6, 0.05); }
TEST(ZeroMemory, StageThreeSplitsParametersToo) { EXPECT_NEAR(gigabytesOfStage(3), 1.875, 0.002); }
