// What contractions, layers and losses know of themselves: cost, sharding rule, library call.

#include "dialects/nn/IR/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace pdc::nn;

namespace {

/// One op of the nn dialect, parsed from its generic form: every operand %0, %1, ... is an argument of
/// `types`.
class OneOp {
public:
  OneOp(const std::string &arguments, const std::string &op) {
    context.loadDialect<NNDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f(" + arguments + ") {\n" + op + "\nreturn\n}", &context);
    if (!module)
      return;
    module->walk([&](mlir::Operation *candidate) {
      if (candidate->getDialect() && candidate->getDialect()->getNamespace() == "nn")
        found = candidate;
    });
  }

  mlir::Operation *get() const { return found; }
  template <typename InterfaceT> InterfaceT as() const { return mlir::cast<InterfaceT>(found); }
  OpCost cost() const { return as<CostOpInterface>().getCost(); }
  ShardingRule rule() const { return as<ShardableOpInterface>().getShardingRule(); }
  LibraryCall call() const { return as<LibraryOpInterface>().getLibraryCall(); }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation *found = nullptr;
};

std::string kindName(FactorKind kind) {
  switch (kind) {
  case FactorKind::Parallel:
    return "";
  case FactorKind::ReductionSum:
    return ":sum";
  case FactorKind::ReductionMax:
    return ":max";
  case FactorKind::Halo:
    return ":halo";
  case FactorKind::Decomposed:
    return ":decomposed";
  case FactorKind::Replicated:
    return ":replicated";
  }
  return ":?";
}

std::string text(const ShardingRule &rule, const ValueFactors &value) {
  std::string result = "[";
  for (const DimFactors &dim : value) {
    result += result.size() > 1 ? " " : "";
    for (int factor : dim)
      result += rule.factors[factor].name;
    result += dim.empty() ? "1" : "";
  }
  return result + "]";
}

/// "[batch k] [k n] -> [batch n] | batch=4 n=3 k=2:sum".
std::string text(const ShardingRule &rule) {
  std::string result;
  for (const ValueFactors &value : rule.operands)
    result += text(rule, value) + " ";
  result += "->";
  for (const ValueFactors &value : rule.results)
    result += " " + text(rule, value);
  result += " |";
  for (const Factor &factor : rule.factors)
    result += " " + factor.name + "=" + std::to_string(factor.size) + kindName(factor.kind) +
              (factor.needsStart ? ":start" : "");
  return result;
}

/// "1:[0.1,2]": operand 1 of the op, as a view of two dimensions, the first of which runs over its dimensions
/// 0 and 1.
std::string text(const LibraryCall &call) {
  std::string result = call.name;
  for (const LibraryOperand &operand : call.operands) {
    result += " " + std::to_string(operand.value) + ":[";
    for (size_t i = 0; i < operand.dims.size(); ++i) {
      result += i > 0 ? "," : "";
      for (size_t j = 0; j < operand.dims[i].size(); ++j)
        result += (j > 0 ? "." : "") + std::to_string(operand.dims[i][j]);
    }
    result += "]";
  }
  return result;
}

const std::string linearArguments = "%x: tensor<5x6x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>";
const std::string linear =
    "%0 = nn.linear %x, %w : (tensor<5x6x8xf32>, tensor<8x4xf32>) -> tensor<5x6x4xf32>";
const std::string linearWithBias =
    "%0 = nn.linear %x, %w, %b : (tensor<5x6x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<5x6x4xf32>";

TEST(Cost, LinearTakesTwoOperationsPerRowInputAndOutput) {
  OneOp op(linearArguments, linear);
  ASSERT_TRUE(op.get());
  EXPECT_EQ(op.cost().flops, 2.0 * 30 * 8 * 4);
  EXPECT_EQ(op.cost().bytesRead, 4.0 * (30 * 8 + 8 * 4));
  EXPECT_EQ(op.cost().bytesWritten, 4.0 * 30 * 4);
}

TEST(Cost, ABiasAddsOneOperationPerResultElement) {
  EXPECT_EQ(OneOp(linearArguments, linearWithBias).cost().flops, 2.0 * 30 * 8 * 4 + 30 * 4);
}

// Queries, keys and values of one projection, and what their gradient is made with.
const std::string projectionArguments =
    "%x: tensor<5x6x8xf32>, %w: tensor<8x3x4xf32>, %b: tensor<3x4xf32>, %dy: tensor<5x6x3x4xf32>, "
    "%wt: tensor<3x4x8xf32>, %bx: tensor<8xf32>";
const std::string projection =
    "%0 = nn.linear %x, %w, %b : (tensor<5x6x8xf32>, tensor<8x3x4xf32>, tensor<3x4xf32>) -> tensor<5x6x3x4xf32>";
const std::string projectionGradInput =
    "%0 = nn.linear %dy, %w {transpose_weight, inner_dims = 2 : i64} : (tensor<5x6x3x4xf32>, tensor<8x3x4xf32>) -> "
    "tensor<5x6x8xf32>";
const std::string projectionGradWeight =
    "%0 = nn.linear_grad_weight %x, %dy : (tensor<5x6x8xf32>, tensor<5x6x3x4xf32>) -> tensor<8x3x4xf32>";

TEST(Cost, LinearOfSeveralDimensionsCostsWhatTheFlatOneDoes) {
  EXPECT_EQ(OneOp(projectionArguments, projection).cost().flops, 2.0 * 30 * 8 * 12 + 30 * 12);
  EXPECT_EQ(OneOp(projectionArguments, projectionGradInput).cost().flops, 2.0 * 30 * 8 * 12);
  EXPECT_EQ(OneOp(projectionArguments, projectionGradWeight).cost().flops, 2.0 * 30 * 8 * 12);
}

TEST(Cost, BatchMatmulTakesTwoOperationsPerBatchRowColumnAndInnerIndexHoweverStored) {
  for (auto [arguments, op] :
       {std::pair<std::string, std::string>("%a: tensor<2x3x4x5xf32>, %b: tensor<2x3x5x7xf32>",
                                            "%0 = nn.batch_matmul %a, %b : (tensor<2x3x4x5xf32>, "
                                            "tensor<2x3x5x7xf32>) -> tensor<2x3x4x7xf32>"),
        {"%a: tensor<2x3x5x4xf32>, %b: tensor<2x3x7x5xf32>",
         "%0 = nn.batch_matmul %a, %b {transpose_lhs, transpose_rhs} : (tensor<2x3x5x4xf32>, "
         "tensor<2x3x7x5xf32>) "
         "-> tensor<2x3x4x7xf32>"}})
    EXPECT_EQ(OneOp(arguments, op).cost().flops, 2.0 * 6 * 4 * 7 * 5) << op;
}

const std::string convolutionArguments =
    "%x: tensor<2x4x9x9xf32>, %w: tensor<6x2x3x3xf32>, %dy: tensor<2x6x7x7xf32>";
const std::string convolution = "%0 = nn.conv2d %x, %w {groups = 2 : i64} : (tensor<2x4x9x9xf32>, "
                                "tensor<6x2x3x3xf32>) -> tensor<2x6x7x7xf32>";

TEST(Cost, ConvolutionCountsChannelsOfOneGroup) {
  EXPECT_EQ(OneOp(convolutionArguments, convolution).cost().flops, 2.0 * 2 * 6 * 7 * 7 * (4 / 2) * 3 * 3);
}

TEST(Cost, GradientsOfAConvolutionCostWhatItCosts) {
  std::string attributes = " {groups = 2 : i64} : ";
  double forward = OneOp(convolutionArguments, convolution).cost().flops;
  EXPECT_EQ(
      OneOp(convolutionArguments, "%0 = nn.conv2d_grad_input %dy, %w" + attributes +
                                      "(tensor<2x6x7x7xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x9x9xf32>")
          .cost()
          .flops,
      forward);
  EXPECT_EQ(
      OneOp(convolutionArguments, "%0 = nn.conv2d_grad_weight %dy, %x" + attributes +
                                      "(tensor<2x6x7x7xf32>, tensor<2x4x9x9xf32>) -> tensor<6x2x3x3xf32>")
          .cost()
          .flops,
      forward);
}

TEST(Cost, EmbeddingReadsTheRowsItNeedsNotTheTable) {
  OneOp op("%t: tensor<1000x8xf32>, %ids: tensor<5x6xi32>",
           "%0 = nn.embedding %t, %ids : (tensor<1000x8xf32>, tensor<5x6xi32>) -> tensor<5x6x8xf32>");
  EXPECT_EQ(op.cost().flops, 0);
  EXPECT_EQ(op.cost().bytesRead, 4.0 * 30 + 4.0 * 30 * 8);
}

TEST(Cost, AttentionNeedsRoomForScoresAndProbabilities) {
  OneOp op(
      "%q: tensor<2x6x4x8xf32>",
      "%0 = nn.attention %q, %q, %q : (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) -> "
      "tensor<2x6x4x8xf32>");
  double scores = 2 * 4 * 6 * 6;
  EXPECT_EQ(op.cost().flops, 2 * scores * 16 + 6 * scores);
  EXPECT_EQ(op.cost().bytesTemporary, 2 * scores * 4);
}

TEST(ShardingRules, LinearSplitsRowsOutputsAndSumsOverInputs) {
  EXPECT_EQ(text(OneOp(linearArguments, linear).rule()),
            "[batch m1 k] [k n] -> [batch m1 n] | batch=5 m1=6 n=4 k=8:sum");
}

TEST(ShardingRules, OfASplitSumWithABiasAPartMustKnowWhetherItIsTheFirst) {
  EXPECT_EQ(text(OneOp(linearArguments, linearWithBias).rule()),
            "[batch m1 k] [k n] [n] -> [batch m1 n] | batch=5 m1=6 n=4 k=8:sum:start");
}

TEST(ShardingRules, EachDimensionOfALinearOfSeveralIsALoopOfItsOwn) {
  EXPECT_EQ(text(OneOp(projectionArguments, projection).rule()),
            "[batch m1 k] [k n n1] [n n1] -> [batch m1 n n1] | batch=5 m1=6 n=3 n1=4 k=8:sum:start");
  EXPECT_EQ(text(OneOp(projectionArguments, projectionGradInput).rule()),
            "[batch m1 k k1] [n k k1] -> [batch m1 n] | batch=5 m1=6 n=8 k=3:sum k1=4:sum");
  EXPECT_EQ(text(OneOp(projectionArguments, projectionGradWeight).rule()),
            "[batch m1 in] [batch m1 out out1] -> [in out out1] | batch=5:sum m1=6:sum in=8 out=3 out1=4");
}

TEST(ShardingRules, TheWeightGradientOfLinearIsAPartialSumWhenRowsAreSplit) {
  OneOp op(
      "%x: tensor<5x6x8xf32>, %dy: tensor<5x6x4xf32>",
      "%0 = nn.linear_grad_weight %x, %dy {transpose_weight} : (tensor<5x6x8xf32>, tensor<5x6x4xf32>) -> "
      "tensor<4x8xf32>");
  EXPECT_EQ(text(op.rule()), "[batch m1 in] [batch m1 out] -> [out in] | batch=5:sum m1=6:sum in=8 out=4");
}

TEST(ShardingRules, BatchMatmulFollowsTransposedOperands) {
  OneOp op("%a: tensor<2x3x4x5xf32>, %b: tensor<2x3x7x5xf32>",
           "%0 = nn.batch_matmul %a, %b {transpose_rhs} : (tensor<2x3x4x5xf32>, tensor<2x3x7x5xf32>) -> "
           "tensor<2x3x4x7xf32>");
  EXPECT_EQ(text(op.rule()),
            "[batch batch1 m k] [batch batch1 n k] -> [batch batch1 m n] | batch=2 batch1=3 m=4 n=7 k=5:sum");
}

TEST(ShardingRules, ConvolutionSplitsImagesAndOutputChannelsAndNeedsBordersInSpace) {
  OneOp op("%x: tensor<2x4x9x9xf32>, %w: tensor<6x4x3x3xf32>",
           "%0 = nn.conv2d %x, %w : (tensor<2x4x9x9xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x7x7xf32>");
  EXPECT_EQ(text(op.rule()), "[batch in h w] [out in kh kw] -> [batch out h w] | batch=2 h=7:halo w=7:halo "
                             "kh=3:replicated kw=3:replicated in=4:sum out=6");
}

TEST(ShardingRules, ChannelsOfAGroupedConvolutionAreSplitByWholeGroups) {
  EXPECT_EQ(text(OneOp(convolutionArguments, convolution).rule()),
            "[batch groupsin_of_group h w] [groupsout_of_group in_of_group kh kw] -> "
            "[batch groupsout_of_group h w] | batch=2 h=7:halo w=7:halo kh=3:replicated kw=3:replicated "
            "groups=2 in_of_group=2:replicated out_of_group=3:replicated");
}

TEST(ShardingRules, TheWeightGradientOfAConvolutionIsAPartialSumWhenImagesOrTheirRowsAreSplit) {
  OneOp op("%dy: tensor<2x6x7x7xf32>, %x: tensor<2x4x9x9xf32>",
           "%0 = nn.conv2d_grad_weight %dy, %x : (tensor<2x6x7x7xf32>, tensor<2x4x9x9xf32>) -> "
           "tensor<6x4x3x3xf32>");
  EXPECT_EQ(text(op.rule()),
            "[batch out h w] [batch in h w] -> [out in kh kw] | batch=2:sum h=7:halo w=7:halo "
            "kh=3:replicated kw=3:replicated in=4 out=6");
}

TEST(ShardingRules, EmbeddingSplitsIdsWidthAndTheVocabulary) {
  OneOp op("%t: tensor<100x8xf32>, %ids: tensor<5x6xi32>",
           "%0 = nn.embedding %t, %ids : (tensor<100x8xf32>, tensor<5x6xi32>) -> tensor<5x6x8xf32>");
  EXPECT_EQ(text(op.rule()), "[vocab d] [batch m1] -> [batch m1 d] | batch=5 m1=6 d=8 vocab=100:sum:start");
}

TEST(ShardingRules, TheGradientOfEmbeddingIsAPartialSumWhenIdsAreSplit) {
  OneOp op("%dy: tensor<5x6x8xf32>, %ids: tensor<5x6xi32>",
           "%0 = nn.embedding_grad %dy, %ids : (tensor<5x6x8xf32>, tensor<5x6xi32>) -> tensor<100x8xf32>");
  EXPECT_EQ(text(op.rule()),
            "[batch m1 d] [batch m1] -> [vocab d] | batch=5:sum m1=6:sum d=8 vocab=100:start");
}

TEST(ShardingRules, GradientsOfScaleAndBiasLackTheRowsOfLayerNorm) {
  OneOp op("%x: tensor<5x6x8xf32>, %g: tensor<8xf32>",
           "%0:3 = nn.layer_norm_grad %x, %x, %g {epsilon = 1.0e-5 : f64} : (tensor<5x6x8xf32>, "
           "tensor<5x6x8xf32>, "
           "tensor<8xf32>) -> (tensor<5x6x8xf32>, tensor<8xf32>, tensor<8xf32>)");
  EXPECT_EQ(text(op.rule()),
            "[batch m1 features] [batch m1 features] [features] -> [batch m1 features] [features] "
            "[features] | batch=5 m1=6 features=8:decomposed");
}

TEST(ShardingRules, RowsOfACausalSoftmaxMustKnowWhereTheyBegin) {
  std::string arguments = "%x: tensor<2x6x6xf32>", types = " : (tensor<2x6x6xf32>) -> tensor<2x6x6xf32>";
  EXPECT_EQ(text(OneOp(arguments, "%0 = nn.softmax %x" + types).rule()),
            "[batch m1 columns] -> [batch m1 columns] | batch=2 m1=6 columns=6:decomposed");
  EXPECT_EQ(text(OneOp(arguments, "%0 = nn.softmax %x {causal}" + types).rule()),
            "[batch m1 columns] -> [batch m1 columns] | batch=2 m1=6:start columns=6:decomposed");
}

TEST(ShardingRules, AttentionSplitsBatchAndHeads) {
  OneOp op("%q: tensor<2x6x4x8xf32>", "%0 = nn.attention %q, %q, %q {causal} : (tensor<2x6x4x8xf32>, "
                                      "tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) "
                                      "-> tensor<2x6x4x8xf32>");
  EXPECT_EQ(text(op.rule()), "[batch queries heads d] [batch keys heads d] [batch keys heads e] -> [batch "
                             "queries heads e] | batch=2 "
                             "queries=6:decomposed keys=6:decomposed heads=4 d=8:decomposed e=8");
}

TEST(ShardingRules, RowsOfCrossEntropyAreSplitAndClassesByItsParts) {
  OneOp op("%x: tensor<5x6x10xf32>, %y: tensor<5x6xi32>",
           "%0 = nn.cross_entropy_rows %x, %y {ignore_index = -100 : i64} : (tensor<5x6x10xf32>, "
           "tensor<5x6xi32>) -> "
           "tensor<5x6xf32>");
  EXPECT_EQ(text(op.rule()),
            "[batch m1 classes] [batch m1] -> [batch m1] | batch=5 m1=6 classes=10:decomposed");
}

TEST(LibraryCalls, LinearIsAMatmulOfFlattenedRows) {
  LibraryCall call = OneOp(linearArguments, linearWithBias).call();
  EXPECT_EQ(text(call), "matmul 0:[0.1,2] 1:[0,1] 2:[0] 3:[0.1,2]");
  EXPECT_TRUE(call.stridedOperands);
  EXPECT_EQ(text(OneOp("%x: tensor<5x6x8xf32>, %w: tensor<4x8xf32>",
                       "%0 = nn.linear %x, %w {transpose_weight} : (tensor<5x6x8xf32>, tensor<4x8xf32>) -> "
                       "tensor<5x6x4xf32>")
                     .call()),
            "matmul 0:[0.1,2] 1:[1,0] 2:[0.1,2]");
}

TEST(LibraryCalls, TheWeightGradientIsAMatmulWithADenseResultHoweverTheWeightIsStored) {
  std::string arguments = "%x: tensor<5x6x8xf32>, %dy: tensor<5x6x4xf32>",
              types = " : (tensor<5x6x8xf32>, tensor<5x6x4xf32>) -> ";
  EXPECT_EQ(text(OneOp(arguments, "%0 = nn.linear_grad_weight %x, %dy" + types + "tensor<8x4xf32>").call()),
            "matmul 0:[2,0.1] 1:[0.1,2] 2:[0,1]");
  EXPECT_EQ(text(OneOp(arguments,
                       "%0 = nn.linear_grad_weight %x, %dy {transpose_weight}" + types + "tensor<4x8xf32>")
                     .call()),
            "matmul 1:[2,0.1] 0:[0.1,2] 2:[0,1]");
}

TEST(LibraryCalls, LinearOfSeveralDimensionsIsOneMatmul) {
  EXPECT_EQ(text(OneOp(projectionArguments, projection).call()), "matmul 0:[0.1,2] 1:[0,1.2] 2:[0.1] 3:[0.1,2.3]");
  EXPECT_EQ(text(OneOp(projectionArguments, projectionGradInput).call()),
            "matmul 0:[0.1,2.3] 1:[1.2,0] 2:[0.1,2]");
  EXPECT_EQ(text(OneOp(projectionArguments, projectionGradWeight).call()), "matmul 0:[2,0.1] 1:[0.1,2.3] 2:[0,1.2]");
  EXPECT_EQ(text(OneOp(projectionArguments, "%0 = nn.linear_grad_weight %x, %dy {transpose_weight} : "
                                            "(tensor<5x6x8xf32>, tensor<5x6x3x4xf32>) -> tensor<3x4x8xf32>")
                     .call()),
            "matmul 1:[2.3,0.1] 0:[0.1,2] 2:[0.1,2]");
  EXPECT_EQ(text(OneOp(projectionArguments, "%0 = nn.linear %dy, %wt, %bx {inner_dims = 2 : i64} : "
                                            "(tensor<5x6x3x4xf32>, tensor<3x4x8xf32>, tensor<8xf32>) -> tensor<5x6x8xf32>")
                     .call()),
            "matmul 0:[0.1,2.3] 1:[0.1,2] 2:[0] 3:[0.1,2]");
}

TEST(LibraryCalls, TransposedOperandsOfBatchMatmulAreViews) {
  OneOp op("%a: tensor<2x3x4x5xf32>, %b: tensor<2x3x7x5xf32>",
           "%0 = nn.batch_matmul %a, %b {transpose_rhs} : (tensor<2x3x4x5xf32>, tensor<2x3x7x5xf32>) -> "
           "tensor<2x3x4x7xf32>");
  EXPECT_EQ(text(op.call()), "matmul 0:[0,1,2,3] 1:[0,1,3,2] 2:[0,1,2,3]");
}

TEST(LibraryCalls, ConvolutionPassesItsWindow) {
  OneOp op("%x: tensor<2x4x9x9xf32>, %w: tensor<6x2x3x3xf32>",
           "%0 = nn.conv2d %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 0, 2, 1, 2>, dilation = "
           "array<i64: 1, 2>, groups = 2 : i64} : (tensor<2x4x9x9xf32>, tensor<6x2x3x3xf32>) -> "
           "tensor<2x6x4x5xf32>");
  LibraryCall call = op.call();
  EXPECT_EQ(text(call), "conv2d");
  std::vector<std::pair<std::string, std::vector<int64_t>>> attributes;
  for (auto &[name, values] : call.integers)
    attributes.emplace_back(name, std::vector<int64_t>(values.begin(), values.end()));
  EXPECT_EQ(attributes,
            (std::vector<std::pair<std::string, std::vector<int64_t>>>{
                {"stride", {2, 2}}, {"padding", {0, 2, 1, 2}}, {"dilation", {1, 2}}, {"groups", {2}}}));
}

TEST(LibraryCalls, TheWeightGradientOfAConvolutionTakesItsInputFirst) {
  OneOp op("%dy: tensor<2x6x7x7xf32>, %x: tensor<2x4x9x9xf32>",
           "%0 = nn.conv2d_grad_weight %dy, %x : (tensor<2x6x7x7xf32>, tensor<2x4x9x9xf32>) -> "
           "tensor<6x4x3x3xf32>");
  EXPECT_EQ(text(op.call()), "conv2d_grad_weight 1:[0,1,2,3] 0:[0,1,2,3] 2:[0,1,2,3]");
}

} // namespace
