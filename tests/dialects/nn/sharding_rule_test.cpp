//===- sharding_rule_test.cpp - what holds for the sharding rule of every op ----------------===//

#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace pdc::nn;

namespace {

// One op of every kind that can be split, with sizes that tell dimensions apart.
constexpr char kModule[] = R"mlir(
nn.block @elementwise(%x: tensor<6x4xf32>, %y: tensor<4xf32>, %s: tensor<1x4xf32>, %seed: tensor<i64>) -> tensor<6x4xf32> {
  %0 = nn.relu %x : tensor<6x4xf32>
  %1 = nn.silu %0 : tensor<6x4xf32>
  %2 = nn.tanh %1 : tensor<6x4xf32>
  %3 = nn.sigmoid %2 : tensor<6x4xf32>
  %4 = nn.exp %3 : tensor<6x4xf32>
  %5 = nn.log %4 : tensor<6x4xf32>
  %6 = nn.sqrt %5 : tensor<6x4xf32>
  %7 = nn.rsqrt %6 : tensor<6x4xf32>
  %8 = nn.neg %7 : tensor<6x4xf32>
  %9 = nn.abs %8 : tensor<6x4xf32>
  %10 = nn.square %9 : tensor<6x4xf32>
  %11 = nn.gelu %10 : tensor<6x4xf32>
  %12 = nn.relu_grad %11, %x : tensor<6x4xf32>
  %13 = nn.silu_grad %12, %x : tensor<6x4xf32>
  %14 = nn.tanh_grad %13, %x : tensor<6x4xf32>
  %15 = nn.sigmoid_grad %14, %x : tensor<6x4xf32>
  %16 = nn.gelu_grad %15, %x : tensor<6x4xf32>
  %17 = nn.add %16, %y : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %18 = nn.sub %17, %s : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  %19 = nn.mul %y, %18 : (tensor<4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %20 = nn.div %19, %x : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %21 = nn.max %20, %x : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %22 = nn.min %21, %x : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %c = nn.compare ge %22, %y : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xi1>
  %23 = nn.select %c, %22, %y : (tensor<6x4xi1>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %24 = nn.cast %23 : tensor<6x4xf32> to tensor<6x4xbf16>
  %25 = nn.constant dense<1.0> : tensor<6x4xf32>
  %26 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %27 = nn.iota 1 : tensor<6x4xi32>
  %28 = nn.dropout_mask %seed {rate = 0.5 : f64, stream = 0 : i64, global_shape = array<i64: 6, 4>, start_dimensions = array<i64>} : (tensor<i64>) -> tensor<6x4xf32>
  %29 = nn.dropout %x {rate = 0.5 : f64} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  nn.return %29 : tensor<6x4xf32>
}
nn.block @shapes(%x: tensor<6x4x8xf32>, %row: tensor<1x8xf32>) -> tensor<24x8xf32> {
  %0 = nn.reshape %x : tensor<6x4x8xf32> to tensor<24x8xf32>
  %1 = nn.reshape %x : tensor<6x4x8xf32> to tensor<6x4x2x4xf32>
  %2 = nn.reshape %x : tensor<6x4x8xf32> to tensor<6x1x32x1xf32>
  %3 = nn.reshape %0 : tensor<24x8xf32> to tensor<8x24xf32>
  %4 = nn.reshape %0 : tensor<24x8xf32> to tensor<16x12xf32>
  %5 = nn.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<6x4x8xf32>) -> tensor<8x6x4xf32>
  %6 = nn.broadcast %row : tensor<1x8xf32> to tensor<3x5x8xf32>
  %7 = nn.slice %x {offsets = array<i64: 0, 1, 0>, sizes = array<i64: -1, 2, 8>} : (tensor<6x4x8xf32>) -> tensor<6x2x8xf32>
  %8 = nn.pad %x {low = array<i64: 0, 1, 0>, high = array<i64: 0, 1, 0>} : (tensor<6x4x8xf32>) -> tensor<6x6x8xf32>
  %9 = nn.concat %x, %7 {axis = 1 : i64} : (tensor<6x4x8xf32>, tensor<6x2x8xf32>) -> tensor<6x6x8xf32>
  %10:2 = nn.split %x {axis = 2 : i64, sizes = array<i64: 7, 1>} : (tensor<6x4x8xf32>) -> (tensor<6x4x7xf32>, tensor<6x4x1xf32>)
  %11 = nn.reduce_sum %x {axes = array<i64: 0, 2>} : (tensor<6x4x8xf32>) -> tensor<4xf32>
  %12 = nn.reduce_max %x {axes = array<i64: 1>, keep_dims} : (tensor<6x4x8xf32>) -> tensor<6x1x8xf32>
  %13 = nn.reduce_mean %x {axes = array<i64: 1>} : (tensor<6x4x8xf32>) -> tensor<6x8xf32>
  nn.return %0 : tensor<24x8xf32>
}
nn.block @contractions(%x: tensor<5x6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %ids: tensor<5x6xi32>, %image: tensor<2x4x8x8xf32>, %kernel: tensor<6x2x3x3xf32>) -> tensor<5x6x8xf32> {
  %0 = nn.linear %x, %w, %b : (tensor<5x6x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<5x6x8xf32>
  %1 = nn.linear_grad_weight %x, %0 : (tensor<5x6x4xf32>, tensor<5x6x8xf32>) -> tensor<4x8xf32>
  %2 = nn.matmul %w, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %3 = nn.batch_matmul %x, %x {transpose_lhs} : (tensor<5x6x4xf32>, tensor<5x6x4xf32>) -> tensor<5x4x4xf32>
  %4 = nn.embedding %w, %ids : (tensor<4x8xf32>, tensor<5x6xi32>) -> tensor<5x6x8xf32>
  %5 = nn.embedding_grad %4, %ids : (tensor<5x6x8xf32>, tensor<5x6xi32>) -> tensor<4x8xf32>
  %6 = nn.conv2d %image, %kernel {groups = 2 : i64} : (tensor<2x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x6x6xf32>
  %7 = nn.conv2d_grad_input %6, %kernel {groups = 2 : i64} : (tensor<2x6x6x6xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x8x8xf32>
  %8 = nn.conv2d_grad_weight %6, %image {groups = 2 : i64} : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<6x2x3x3xf32>
  %9 = nn.max_pool2d %image {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %10 = nn.max_pool2d_grad %9, %image {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %11 = nn.avg_pool2d %image {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %12 = nn.avg_pool2d_grad %11 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x4x4x4xf32>) -> tensor<2x4x8x8xf32>
  %13 = nn.global_avg_pool2d %image : (tensor<2x4x8x8xf32>) -> tensor<2x4xf32>
  nn.return %0 : tensor<5x6x8xf32>
}
nn.block @layers(%x: tensor<5x6x4xf32>, %g: tensor<4xf32>, %labels: tensor<5x6xi32>, %q: tensor<2x6x4x8xf32>, %image: tensor<2x4x8x8xf32>) -> tensor<f32> {
  %0 = nn.layer_norm %x, %g, %g : (tensor<5x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<5x6x4xf32>
  %1:3 = nn.layer_norm_grad %0, %x, %g {epsilon = 1.0e-5 : f64} : (tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<4xf32>) -> (tensor<5x6x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %2 = nn.rms_norm %x, %g : (tensor<5x6x4xf32>, tensor<4xf32>) -> tensor<5x6x4xf32>
  %3:2 = nn.rms_norm_grad %2, %x, %g {epsilon = 1.0e-5 : f64} : (tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<4xf32>) -> (tensor<5x6x4xf32>, tensor<4xf32>)
  %4 = nn.softmax %x : (tensor<5x6x4xf32>) -> tensor<5x6x4xf32>
  %5 = nn.softmax_grad %x, %4 : (tensor<5x6x4xf32>, tensor<5x6x4xf32>) -> tensor<5x6x4xf32>
  %6 = nn.attention %q, %q, %q {causal} : (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32>
  %7 = nn.cross_entropy %x, %labels : (tensor<5x6x4xf32>, tensor<5x6xi32>) -> tensor<f32>
  %8 = nn.cross_entropy_rows %x, %labels {ignore_index = -100 : i64} : (tensor<5x6x4xf32>, tensor<5x6xi32>) -> tensor<5x6xf32>
  %9 = nn.cross_entropy_rows_grad %8, %x, %labels {ignore_index = -100 : i64} : (tensor<5x6xf32>, tensor<5x6x4xf32>, tensor<5x6xi32>) -> tensor<5x6x4xf32>
  %10 = nn.mse %x, %0 : (tensor<5x6x4xf32>, tensor<5x6x4xf32>) -> tensor<f32>
  %11 = nn.accuracy %x, %labels : (tensor<5x6x4xf32>, tensor<5x6xi32>) -> tensor<f32>
  %m = nn.state "m" init(zeros) : tensor<4xf32>
  %v = nn.state "v" init(ones) : tensor<4xf32>
  %12 = nn.batch_norm %image, %g, %g, %m, %v : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %13 = nn.step_seed : tensor<i64>
  nn.return %7 : tensor<f32>
}
)mlir";

class ShardingRuleTest : public ::testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<NNDialect>();
    module = parseSourceString<ModuleOp>(kModule, &context);
    ASSERT_TRUE(module);
  }

  /// Calls `check` for every op that can be split.
  void forEachOp(llvm::function_ref<void(Operation *, const ShardingRule &)> check) {
    module->walk([&](ShardableOpInterface op) {
      SCOPED_TRACE(op->getName().getStringRef().str());
      check(op, op.getShardingRule());
    });
  }

  /// The rule of the `number`-th op called `name`.
  ShardingRule ruleOf(llvm::StringRef name, int number = 0) {
    ShardingRule rule;
    module->walk([&](ShardableOpInterface op) {
      if (op->getName().getStringRef() == name && number-- == 0)
        rule = op.getShardingRule();
    });
    return rule;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

void expectFactorsMultiplyToDims(const ShardingRule &rule, TypeRange types,
                                 llvm::ArrayRef<ValueFactors> values) {
  ASSERT_EQ(values.size(), types.size());
  for (auto [type, value] : llvm::zip_equal(types, values)) {
    auto tensor = cast<RankedTensorType>(type);
    ASSERT_EQ(value.size(), static_cast<size_t>(tensor.getRank()));
    for (auto [size, factors] : llvm::zip_equal(tensor.getShape(), value)) {
      // A halo factor counts windows; the other side of a convolution or pooling has more elements than
      // those.
      if (factors.size() == 1 && rule.factors[factors[0]].kind == FactorKind::Halo) {
        EXPECT_LE(rule.factors[factors[0]].size, size);
        continue;
      }
      int64_t product = 1;
      for (int factor : factors) {
        ASSERT_GE(factor, 0);
        ASSERT_LT(static_cast<size_t>(factor), rule.factors.size());
        product *= rule.factors[factor].size;
      }
      EXPECT_EQ(product, size);
    }
  }
}

TEST_F(ShardingRuleTest, TheSampleHoldsEveryOpThatCanBeSplit) {
  std::set<std::string> sampled, shardable;
  module->walk([&](ShardableOpInterface op) { sampled.insert(op->getName().getStringRef().str()); });
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("nn"))
    if (name.hasInterface<ShardableOpInterface>())
      shardable.insert(name.getStringRef().str());
  EXPECT_EQ(sampled, shardable);
}

TEST_F(ShardingRuleTest, FactorsOfEveryDimensionMultiplyToItsSize) {
  forEachOp([](Operation *op, const ShardingRule &rule) {
    expectFactorsMultiplyToDims(rule, op->getOperandTypes(), rule.operands);
    expectFactorsMultiplyToDims(rule, op->getResultTypes(), rule.results);
  });
}

TEST_F(ShardingRuleTest, NoValueHasAFactorTwice) {
  forEachOp([](Operation *, const ShardingRule &rule) {
    for (const auto &values :
         {llvm::ArrayRef<ValueFactors>(rule.operands), llvm::ArrayRef<ValueFactors>(rule.results)})
      for (const ValueFactors &value : values) {
        std::set<int> seen;
        for (const DimFactors &dim : value)
          for (int factor : dim)
            EXPECT_TRUE(seen.insert(factor).second) << rule.factors[factor].name;
      }
  });
}

TEST_F(ShardingRuleTest, ReductionsAreInOperandsOnlyAndParallelFactorsInAResult) {
  forEachOp([](Operation *, const ShardingRule &rule) {
    std::set<int> inResults, inOperands;
    for (const ValueFactors &value : rule.results)
      for (const DimFactors &dim : value)
        inResults.insert(dim.begin(), dim.end());
    for (const ValueFactors &value : rule.operands)
      for (const DimFactors &dim : value)
        inOperands.insert(dim.begin(), dim.end());
    for (auto [index, factor] : llvm::enumerate(rule.factors)) {
      bool isReduction = factor.kind == FactorKind::ReductionSum || factor.kind == FactorKind::ReductionMax;
      if (isReduction)
        EXPECT_TRUE(inOperands.count(index)) << factor.name;
      if (factor.kind == FactorKind::Parallel)
        EXPECT_TRUE(inResults.count(index)) << factor.name;
    }
  });
}

TEST_F(ShardingRuleTest, AReshapeThatMergesDimensionsSplitsAlongBoth) {
  ShardingRule rule = ruleOf("nn.reshape", 0); // [6, 4, 8] -> [24, 8]
  ASSERT_EQ(rule.results[0][0].size(), 2u);
  EXPECT_EQ(rule.results[0][0][0], rule.operands[0][0][0]);
  EXPECT_EQ(rule.results[0][0][1], rule.operands[0][1][0]);
  EXPECT_EQ(rule.results[0][1], rule.operands[0][2]);
  for (const Factor &factor : rule.factors)
    EXPECT_EQ(factor.kind, FactorKind::Parallel);
}

TEST_F(ShardingRuleTest, AReshapeThatSplitsADimensionIsMajorAndMinor) {
  ShardingRule rule = ruleOf("nn.reshape", 1); // [6, 4, 8] -> [6, 4, 2, 4]
  ASSERT_EQ(rule.operands[0][2].size(), 2u);
  EXPECT_EQ(rule.operands[0][2][0], rule.results[0][2][0]);
  EXPECT_EQ(rule.operands[0][2][1], rule.results[0][3][0]);
}

TEST_F(ShardingRuleTest, AReshapeWithoutCommonBordersIsReplicated) {
  ShardingRule rule = ruleOf("nn.reshape", 4); // [24, 8] -> [16, 12]
  for (const Factor &factor : rule.factors)
    EXPECT_EQ(factor.kind, FactorKind::Replicated);
}

TEST_F(ShardingRuleTest, AStretchedDimensionOfAnOperandHasNoFactor) {
  ShardingRule rule = ruleOf("nn.sub"); // [6, 4], [1, 4]
  EXPECT_TRUE(rule.operands[1][0].empty());
  EXPECT_EQ(rule.operands[1][1], rule.results[0][1]);
}

TEST_F(ShardingRuleTest, ASumOverASplitDimensionIsPartial) {
  ShardingRule rule = ruleOf("nn.reduce_sum"); // over 0 and 2 of [6, 4, 8]
  EXPECT_EQ(rule.factors[rule.operands[0][0][0]].kind, FactorKind::ReductionSum);
  EXPECT_EQ(rule.factors[rule.operands[0][1][0]].kind, FactorKind::Parallel);
  EXPECT_EQ(rule.factors[rule.operands[0][2][0]].kind, FactorKind::ReductionSum);
}

TEST_F(ShardingRuleTest, JoinedAndCutDimensionsAreReplicatedAndOthersParallel) {
  for (llvm::StringRef name : {"nn.concat", "nn.slice", "nn.pad"}) {
    SCOPED_TRACE(name.str());
    ShardingRule rule = ruleOf(name); // along dimension 1
    EXPECT_EQ(rule.factors[rule.operands[0][1][0]].kind, FactorKind::Replicated);
    EXPECT_EQ(rule.factors[rule.results[0][1][0]].kind, FactorKind::Replicated);
    EXPECT_EQ(rule.factors[rule.results[0][0][0]].kind, FactorKind::Parallel);
    EXPECT_EQ(rule.operands[0][0], rule.results[0][0]);
  }
}

/// The first op called `name`, built for halves of dimension 0.
template <typename OpT>
Value buildHalf(ModuleOp module, llvm::ArrayRef<Value> operands, RankedTensorType local) {
  Value result;
  module->walk([&](OpT op) {
    if (result)
      return;
    OpBuilder builder(op);
    llvm::SmallVector<Value> values =
        cast<ShardableOpInterface>(op.getOperation()).buildLocal(builder, operands, local);
    result = values.empty() ? Value() : values.front();
  });
  return result;
}

TEST_F(ShardingRuleTest, ASplatConstantIsBuiltSmaller) {
  auto local = RankedTensorType::get({3, 4}, Float32Type::get(&context));
  Value value = buildHalf<ConstantOp>(*module, {}, local);
  ASSERT_TRUE(value);
  EXPECT_EQ(value.getType(), local);
  EXPECT_EQ(value.getDefiningOp<ConstantOp>().getValue().getType(), local);
}

TEST_F(ShardingRuleTest, ASliceOfASplitTensorTakesAllOfTheLocalDimension) {
  auto local = RankedTensorType::get({3, 2, 8}, Float32Type::get(&context));
  OpBuilder builder(&context);
  Value input;
  module->walk([&](SliceOp op) {
    OpBuilder builder(op);
    auto type = RankedTensorType::get({3, 4, 8}, builder.getF32Type());
    input = ConstantOp::create(builder, op.getLoc(), type,
                               DenseElementsAttr::get(type, builder.getF32FloatAttr(0)));
  });
  Value value = buildHalf<SliceOp>(*module, {input}, local);
  ASSERT_TRUE(value);
  EXPECT_TRUE(succeeded(value.getDefiningOp()->getName().verifyInvariants(value.getDefiningOp())));
}

TEST_F(ShardingRuleTest, AMaskOfASplitTensorSaysWhereItBegins) {
  auto local = RankedTensorType::get({3, 4}, Float32Type::get(&context));
  Value seed;
  module->walk([&](DropoutMaskOp op) { seed = op.getSeed(); });
  Value value = buildHalf<DropoutMaskOp>(*module, {seed, seed}, local);
  ASSERT_TRUE(value);
  auto mask = value.getDefiningOp<DropoutMaskOp>();
  EXPECT_EQ(mask.getGlobalShape(), llvm::ArrayRef<int64_t>({6, 4}));
  EXPECT_EQ(mask.getStartDimensions(), llvm::ArrayRef<int64_t>({0}));
}

TEST_F(ShardingRuleTest, AMaskOfASplitTensorWithoutAStartIsRefused) {
  auto local = RankedTensorType::get({3, 4}, Float32Type::get(&context));
  Value seed;
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  module->walk([&](DropoutMaskOp op) { seed = op.getSeed(); });
  EXPECT_FALSE(buildHalf<DropoutMaskOp>(*module, {seed}, local));
  EXPECT_NE(message.find("expected one for each"), std::string::npos) << message;
}

} // namespace
