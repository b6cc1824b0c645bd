//===- sharding_rule_test.cpp - what holds for the sharding rule of every op ----------------===//

#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "tests/dialects/nn/SampleOps.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace pdc::nn;

namespace {

class ShardingRuleTest : public ::testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<NNDialect>();
    module = parseSourceString<ModuleOp>(pdc::nn::testing::kSampleOps, &context);
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

/// The first OpT, built for halves of dimension 0, whose factor begins at `start`.
template <typename OpT>
Value buildHalf(ModuleOp module, llvm::ArrayRef<Value> operands, RankedTensorType local,
                Value start = Value()) {
  Value result;
  module->walk([&](OpT op) {
    if (result)
      return;
    OpBuilder builder(op);
    auto shardable = cast<ShardableOpInterface>(op.getOperation());
    llvm::SmallVector<Value> starts(shardable.getShardingRule().factors.size());
    if (start)
      starts[shardable.getShardingRule().results[0][0][0]] = start;
    llvm::SmallVector<Value> values = shardable.buildLocal(builder, {operands, local, starts, {}});
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
  Value value = buildHalf<DropoutMaskOp>(*module, {seed}, local, /*start=*/seed);
  ASSERT_TRUE(value);
  auto mask = value.getDefiningOp<DropoutMaskOp>();
  EXPECT_EQ(mask.getGlobalShape(), llvm::ArrayRef<int64_t>({6, 4}));
  EXPECT_EQ(mask.getStartDimensions(), llvm::ArrayRef<int64_t>({0}));
}

TEST_F(ShardingRuleTest, OpsThatDependOnPositionsAskWhereTheirPartBegins) {
  std::set<std::string> asking;
  forEachOp([&](Operation *op, const ShardingRule &rule) {
    for (const Factor &factor : rule.factors)
      if (factor.needsStart)
        asking.insert((op->getName().stripDialect() + " " + factor.name).str());
  });
  EXPECT_EQ(asking, (std::set<std::string>{"combine slots", "combine_grad_gates slots", "dispatch slots",
                                           "dropout_mask dim0", "dropout_mask dim1", "embedding vocab",
                                           "embedding_grad vocab", "iota dim1", "linear k", "linear k1", "softmax m1"}));
}

} // namespace
