//===- SplitTest.cpp - every split that a sharding rule offers, run -------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "tests/dialects/nn/SampleOps.h"
#include "tests/dialects/nn/splits/ShardRunner.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlir;
using namespace pdc::nn;
using pdc::nn::testing::MeshAxes;
using pdc::nn::testing::ShardResult;
using pdc::nn::testing::Split;
using pdc::nn::testing::Tensor;

namespace {

// Windows that overlap, leave gaps, reach over several parts, or lie partly in the padding.
constexpr char kWindows[] = R"mlir(
nn.block @windows(%x: tensor<1x2x9x7xf32>, %w: tensor<4x2x3x3xf32>, %b: tensor<4xf32>, %big: tensor<1x2x5x3xf32>,
                  %point: tensor<2x2x1x1xf32>, %g: tensor<4x1x3x3xf32>) -> tensor<1x2x9x7xf32> {
  %same = nn.conv2d %x, %w, %b {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x2x9x7xf32>, tensor<4x2x3x3xf32>, tensor<4xf32>) -> tensor<1x4x9x7xf32>
  %same_input = nn.conv2d_grad_input %same, %w {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x4x9x7xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x9x7xf32>
  %same_weight = nn.conv2d_grad_weight %same, %x {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x4x9x7xf32>, tensor<1x2x9x7xf32>) -> tensor<4x2x3x3xf32>
  %half = nn.conv2d %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 0, 0, 1>} : (tensor<1x2x9x7xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x4x3xf32>
  %half_input = nn.conv2d_grad_input %half, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 0, 0, 1>} : (tensor<1x4x4x3xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x9x7xf32>
  %half_weight = nn.conv2d_grad_weight %half, %x {stride = array<i64: 2, 2>, padding = array<i64: 1, 0, 0, 1>} : (tensor<1x4x4x3xf32>, tensor<1x2x9x7xf32>) -> tensor<4x2x3x3xf32>
  %wide = nn.conv2d %x, %w {dilation = array<i64: 3, 2>, padding = array<i64: 2, 2, 3, 1>} : (tensor<1x2x9x7xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x8x6xf32>
  %wide_input = nn.conv2d_grad_input %wide, %w {dilation = array<i64: 3, 2>, padding = array<i64: 2, 2, 3, 1>} : (tensor<1x4x8x6xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x9x7xf32>
  %wide_weight = nn.conv2d_grad_weight %wide, %x {dilation = array<i64: 3, 2>, padding = array<i64: 2, 2, 3, 1>} : (tensor<1x4x8x6xf32>, tensor<1x2x9x7xf32>) -> tensor<4x2x3x3xf32>
  %large = nn.conv2d %x, %big {padding = array<i64: 2, 1, 2, 1>} : (tensor<1x2x9x7xf32>, tensor<1x2x5x3xf32>) -> tensor<1x1x9x7xf32>
  %large_input = nn.conv2d_grad_input %large, %big {padding = array<i64: 2, 1, 2, 1>} : (tensor<1x1x9x7xf32>, tensor<1x2x5x3xf32>) -> tensor<1x2x9x7xf32>
  %gaps = nn.conv2d %x, %point {stride = array<i64: 3, 2>} : (tensor<1x2x9x7xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x4xf32>
  %gaps_input = nn.conv2d_grad_input %gaps, %point {stride = array<i64: 3, 2>} : (tensor<1x2x3x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x9x7xf32>
  %gaps_weight = nn.conv2d_grad_weight %gaps, %x {stride = array<i64: 3, 2>} : (tensor<1x2x3x4xf32>, tensor<1x2x9x7xf32>) -> tensor<2x2x1x1xf32>
  %depthwise = nn.conv2d %x, %g, %b {groups = 2 : i64, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x2x9x7xf32>, tensor<4x1x3x3xf32>, tensor<4xf32>) -> tensor<1x4x9x7xf32>
  %depthwise_input = nn.conv2d_grad_input %depthwise, %g {groups = 2 : i64, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x4x9x7xf32>, tensor<4x1x3x3xf32>) -> tensor<1x2x9x7xf32>
  %depthwise_weight = nn.conv2d_grad_weight %depthwise, %x {groups = 2 : i64, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x4x9x7xf32>, tensor<1x2x9x7xf32>) -> tensor<4x1x3x3xf32>
  %max = nn.max_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x2x9x7xf32>) -> tensor<1x2x5x4xf32>
  %max_grad = nn.max_pool2d_grad %max, %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x2x5x4xf32>, tensor<1x2x9x7xf32>) -> tensor<1x2x9x7xf32>
  %mean = nn.avg_pool2d %x {kernel = array<i64: 3, 2>, padding = array<i64: 1, 1, 1, 0>} : (tensor<1x2x9x7xf32>) -> tensor<1x2x9x7xf32>
  %mean_grad = nn.avg_pool2d_grad %mean {kernel = array<i64: 3, 2>, padding = array<i64: 1, 1, 1, 0>} : (tensor<1x2x9x7xf32>) -> tensor<1x2x9x7xf32>
  %padded = nn.avg_pool2d %x {kernel = array<i64: 2, 3>, stride = array<i64: 2, 1>, padding = array<i64: 1, 1, 0, 1>, count_include_pad} : (tensor<1x2x9x7xf32>) -> tensor<1x2x5x7xf32>
  %padded_grad = nn.avg_pool2d_grad %padded {kernel = array<i64: 2, 3>, stride = array<i64: 2, 1>, padding = array<i64: 1, 1, 0, 1>, count_include_pad} : (tensor<1x2x5x7xf32>) -> tensor<1x2x9x7xf32>
  nn.return %max_grad : tensor<1x2x9x7xf32>
}
)mlir";

/// Integers of an operand are in [0, limit).
int64_t idLimit(Operation *op, unsigned operand) {
  if (auto embedding = dyn_cast<EmbeddingOp>(op))
    return embedding.getTable().getType().getDimSize(0);
  if (auto grad = dyn_cast<EmbeddingGradOp>(op))
    return grad.getType().getDimSize(0);
  if (auto slots = dyn_cast<ExpertSlotsOp>(op))
    return static_cast<int64_t>(slots.getExperts());
  if (isa<DispatchOp, CombineOp, CombineGradGatesOp>(op))
    return 10; // the slots of the sample
  return cast<RankedTensorType>(op->getOperand(0).getType()).getRank() == 0 ? 7 : 4; // labels and experts
}

std::vector<Tensor> randomOperands(Operation *op, std::mt19937 &random) {
  bool positive = isa<LogOp, SqrtOp, RsqrtOp, DivOp>(op);
  std::vector<Tensor> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = cast<RankedTensorType>(operand.get().getType());
    Tensor &tensor = operands.emplace_back(type.getShape());
    for (double &element : tensor.data)
      if (type.getElementType().isInteger(1))
        element = random() % 2;
      else if (isa<IntegerType>(type.getElementType()))
        element = static_cast<double>(random() % idLimit(op, operand.getOperandNumber()));
      else
        element = (random() % 2001) / 1000.0 - (positive ? -0.1 : 1.0);
  }
  return operands;
}

class SplitTest : public ::testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<NNDialect, pdc::dist::DistDialect, arith::ArithDialect, math::MathDialect>();
    context.disableMultithreading();
    sample = parseSourceString<ModuleOp>(pdc::nn::testing::kSampleOps, &context);
    windows = parseSourceString<ModuleOp>(kWindows, &context);
    ASSERT_TRUE(sample && windows);
  }

  void forEachOp(llvm::function_ref<void(ShardableOpInterface)> visit) {
    for (ModuleOp module : {*sample, *windows})
      module.walk([&](ShardableOpInterface op) {
        // These stand for others by the time that a step is split, and depend on the state or the step.
        if (!isa<DropoutOp, BatchNormOp, StepSeedOp>(op.getOperation()))
          visit(op);
      });
  }

  /// Runs the split and compares. Whether it was offered.
  bool check(ShardableOpInterface op, const MeshAxes &mesh, const Split &split) {
    std::mt19937 random(static_cast<unsigned>(split.begin()->first + 17));
    std::vector<Tensor> operands = randomOperands(op, random);
    ShardResult found = runSplit(op, mesh, split, operands);
    if (!found.offered)
      return false;
    ShardResult whole = runWhole(op, operands);
    EXPECT_EQ(whole.error, "");
    EXPECT_EQ(found.error, "");
    if (!found.error.empty() || !whole.error.empty())
      return true;
    for (size_t i = 0; i < whole.results.size(); ++i) {
      EXPECT_EQ(found.results[i].shape, whole.results[i].shape);
      double worst = 0;
      for (size_t j = 0; j < whole.results[i].data.size(); ++j) {
        double difference = std::abs(found.results[i].data[j] - whole.results[i].data[j]);
        worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
      }
      // Scalar code is evaluated in the type of its elements, f32.
      EXPECT_LT(worst, 1e-6) << "result " << i;
    }
    return true;
  }

  std::string describe(ShardableOpInterface op, unsigned factor) {
    return (op->getName().stripDialect() + " " + op.getShardingRule().factors[factor].name).str();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> sample, windows;
};

bool canSplit(const Factor &factor) { return factor.kind != FactorKind::Replicated && factor.size > 1; }

TEST_F(SplitTest, EveryFactorOverTwoAndThreeRanksGivesTheWholeResult) {
  std::set<std::string> offered;
  forEachOp([&](ShardableOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
      if (!canSplit(rule.factors[factor]))
        continue;
      for (int64_t parts : {2, 3}) {
        SCOPED_TRACE(describe(op, factor) + " over " + std::to_string(parts));
        if (check(op, {{"a", parts}}, {{factor, {"a"}}}))
          offered.insert(describe(op, factor));
      }
    }
  });
  // What a planner counts on.
  for (const char *split : {"embedding vocab",
                            "embedding_grad vocab",
                            "embedding batch",
                            "cross_entropy_rows classes",
                            "cross_entropy_rows_grad classes",
                            "softmax columns",
                            "softmax m1",
                            "softmax_grad columns",
                            "layer_norm features",
                            "layer_norm_grad features",
                            "rms_norm features",
                            "rms_norm_grad features",
                            "attention heads",
                            "attention queries",
                            "attention keys",
                            "attention d",
                            "iota dim1",
                            "linear k",
                            "linear n",
                            "conv2d batch",
                            "conv2d out",
                            "conv2d in",
                            "conv2d groups",
                            "conv2d h",
                            "conv2d w",
                            "conv2d_grad_input h",
                            "conv2d_grad_input w",
                            "conv2d_grad_input groups",
                            "conv2d_grad_weight h",
                            "conv2d_grad_weight w",
                            "conv2d_grad_weight groups",
                            "max_pool2d h",
                            "max_pool2d_grad h",
                            "avg_pool2d w",
                            "avg_pool2d_grad w",
                            "dropout_mask dim0",
                            "top_k batch",
                            "top_k n",
                            "expert_slots groups",
                            "dispatch slots",
                            "dispatch tokens",
                            "combine slots",
                            "combine tokens",
                            "combine_grad_gates slots",
                            "load_balancing_loss dim0",
                            "cross_entropy dim0",
                            "batch_matmul batch",
                            "reduce_max dim1"})
    EXPECT_TRUE(offered.count(split)) << split;
}

TEST_F(SplitTest, TwoFactorsOverTwoAxesGiveTheWholeResult) {
  int64_t count = 0;
  forEachOp([&](ShardableOpInterface op) {
    // Experts and tokens of this one together want a part of a reduced value, which partition cannot cut yet.
    if (isa<LoadBalancingLossOp>(op.getOperation()))
      return;
    ShardingRule rule = op.getShardingRule();
    for (unsigned first = 0; first < rule.factors.size(); ++first)
      for (unsigned second = first + 1; second < rule.factors.size(); ++second) {
        if (!canSplit(rule.factors[first]) || !canSplit(rule.factors[second]))
          continue;
        SCOPED_TRACE(describe(op, first) + " and " + describe(op, second));
        count += check(op, {{"a", 2}, {"b", 2}}, {{first, {"a"}}, {second, {"b"}}});
      }
  });
  EXPECT_GE(count, 150);
}

TEST_F(SplitTest, AFactorOverTwoAxesLeavesAThirdAlone) {
  int64_t count = 0;
  forEachOp([&](ShardableOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
      if (!canSplit(rule.factors[factor]))
        continue;
      SCOPED_TRACE(describe(op, factor));
      count += check(op, {{"a", 2}, {"b", 2}, {"c", 2}}, {{factor, {"c", "a"}}});
    }
  });
  EXPECT_GE(count, 60);
}

} // namespace
