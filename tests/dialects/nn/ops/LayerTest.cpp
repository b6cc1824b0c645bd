// Values and gradients of layers and losses: decompositions against direct formulas, gradients against
// differences.

#include "tests/dialects/nn/ops/TestProgram.h"
#include <cmath>

using namespace pdc::nn::testing;

namespace {

TEST(Gradients, OfLayerNormMatchDifferences) {
  expectGradientsMatchDifferences(
      {"tensor<2x3x5xf64>", "tensor<5xf64>", "tensor<5xf64>"},
      "%0 = nn.layer_norm %a, %b, %c : (tensor<2x3x5xf64>, tensor<5xf64>, tensor<5xf64>) -> "
      "tensor<2x3x5xf64>");
  expectGradientsMatchDifferences({"tensor<3x5xf64>", "tensor<5xf64>"},
                                  "%0 = nn.layer_norm %a, %b {epsilon = 0.1 : f64} : (tensor<3x5xf64>, "
                                  "tensor<5xf64>) -> tensor<3x5xf64>");
}

TEST(Gradients, OfRmsNormMatchDifferences) {
  expectGradientsMatchDifferences(
      {"tensor<2x3x5xf64>", "tensor<5xf64>"},
      "%0 = nn.rms_norm %a, %b : (tensor<2x3x5xf64>, tensor<5xf64>) -> tensor<2x3x5xf64>");
}

TEST(Gradients, OfSoftmaxMatchDifferencesMaskedOrNot) {
  expectGradientsMatchDifferences(
      {"tensor<2x3x4xf64>"},
      "%0 = nn.softmax %a {scale = 0.7 : f64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>");
  expectGradientsMatchDifferences({"tensor<2x3x4xf64>"},
                                  "%0 = nn.softmax %a {causal} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>");
}

TEST(Gradients, OfCrossEntropyMatchDifferencesAndAreZeroForIgnoredLabels) {
  expectGradientsMatchDifferences(
      {"tensor<2x4x5xf64>", "tensor<2x4xi32>"},
      "%0 = nn.cross_entropy_rows %a, %b {ignore_index = 2 : i64} : (tensor<2x4x5xf64>, "
      "tensor<2x4xi32>) -> tensor<2x4xf64>");
}

TEST(Decompositions, LayerNormHasMeanZeroAndVarianceOneBeforeItsScale) {
  TestProgram program(
      {"tensor<2x4xf64>", "tensor<4xf64>", "tensor<4xf64>"},
      "%0 = nn.layer_norm %a, %b, %c {epsilon = 0.01 : f64} : (tensor<2x4xf64>, tensor<4xf64>, "
      "tensor<4xf64>) -> tensor<2x4xf64>");
  std::vector<Tensor> in = program.samples();
  Tensor expected({2, 4});
  for (int64_t i = 0; i < 2; ++i) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < 4; ++j)
      mean += in[0][{i, j}] / 4;
    for (int64_t j = 0; j < 4; ++j)
      variance += std::pow(in[0][{i, j}] - mean, 2) / 4;
    for (int64_t j = 0; j < 4; ++j)
      expected[{i, j}] = (in[0][{i, j}] - mean) / std::sqrt(variance + 0.01) * in[1][j] + in[2][j];
  }
  expectNear(program.evaluate(in), expected);
}

TEST(Decompositions, RmsNormDividesByTheRootMeanSquare) {
  TestProgram program({"tensor<2x4xf64>", "tensor<4xf64>"},
                      "%0 = nn.rms_norm %a, %b {epsilon = 0.01 : f64} : (tensor<2x4xf64>, tensor<4xf64>) -> "
                      "tensor<2x4xf64>");
  std::vector<Tensor> in = program.samples();
  Tensor expected({2, 4});
  for (int64_t i = 0; i < 2; ++i) {
    double squares = 0;
    for (int64_t j = 0; j < 4; ++j)
      squares += std::pow(in[0][{i, j}], 2) / 4;
    for (int64_t j = 0; j < 4; ++j)
      expected[{i, j}] = in[0][{i, j}] / std::sqrt(squares + 0.01) * in[1][j];
  }
  expectNear(program.evaluate(in), expected);
}

/// softmax(scale * x) of the first `visible` elements of a row, zero for others.
void softmaxRow(const double *x, double *result, int64_t columns, int64_t visible, double scale) {
  double sum = 0;
  for (int64_t j = 0; j < visible; ++j)
    sum += std::exp(scale * x[j]);
  for (int64_t j = 0; j < columns; ++j)
    result[j] = j < visible ? std::exp(scale * x[j]) / sum : 0;
}

TEST(Decompositions, CausalSoftmaxSeesNoColumnBeyondItsRow) {
  TestProgram program(
      {"tensor<3x5xf64>"},
      "%0 = nn.softmax %a {causal, scale = 2.0 : f64} : (tensor<3x5xf64>) -> tensor<3x5xf64>");
  std::vector<Tensor> in = program.samples();
  Tensor expected({3, 5});
  // The last row sees all five columns.
  for (int64_t i = 0; i < 3; ++i)
    softmaxRow(&in[0].data[i * 5], &expected.data[i * 5], 5, i + 3, 2.0);
  expectNear(program.evaluate(in), expected);
}

TEST(Decompositions, SoftmaxOfLargeLogitsDoesNotOverflow) {
  TestProgram program({"tensor<1x2xf64>"}, "%0 = nn.softmax %a : (tensor<1x2xf64>) -> tensor<1x2xf64>");
  Tensor in({1, 2}), expected({1, 2}, 0.5);
  in.data = {5000, 5000};
  expectNear(program.evaluate({in}), expected);
}

TEST(Decompositions, AttentionIsSoftmaxOfScaledScoresTimesValuesPerHead) {
  TestProgram program({"tensor<2x3x2x4xf64>", "tensor<2x5x2x4xf64>", "tensor<2x5x2x3xf64>"},
                      "%0 = nn.attention %a, %b, %c {causal} : (tensor<2x3x2x4xf64>, tensor<2x5x2x4xf64>, "
                      "tensor<2x5x2x3xf64>) -> tensor<2x3x2x3xf64>");
  std::vector<Tensor> in = program.samples();
  Tensor expected({2, 3, 2, 3});
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t i = 0; i < 3; ++i) {
        double scores[5] = {}, weights[5];
        for (int64_t j = 0; j < 5; ++j)
          for (int64_t d = 0; d < 4; ++d)
            scores[j] += in[0][{b, i, h, d}] * in[1][{b, j, h, d}];
        softmaxRow(scores, weights, 5, i + 3, 1 / std::sqrt(4.0));
        for (int64_t e = 0; e < 3; ++e)
          for (int64_t j = 0; j < 5; ++j)
            expected[{b, i, h, e}] += weights[j] * in[2][{b, j, h, e}];
      }
  expectNear(program.evaluate(in), expected);
}

const char *const batchNorm = "%m = nn.state \"mean\" init(zeros) : tensor<2xf64>\n"
                              "%v = nn.state \"var\" init(zeros) : tensor<2xf64>\n"
                              "%0 = nn.batch_norm %a, %b, %c, %m, %v {momentum = 0.25 : f64} : "
                              "(tensor<3x2x2x1xf64>, tensor<2xf64>, tensor<2xf64>, "
                              "tensor<2xf64>, tensor<2xf64>) -> tensor<3x2x2x1xf64>";

TEST(Decompositions, BatchNormInTrainingUsesTheBatchAndMovesRunningStatistics) {
  TestProgram program({"tensor<3x2x2x1xf64>", "tensor<2xf64>", "tensor<2xf64>"}, batchNorm);
  std::vector<Tensor> in = program.samples();
  Tensor expected({3, 2, 2, 1});
  std::vector<double> means, unbiased;
  for (int64_t c = 0; c < 2; ++c) {
    double mean = 0, variance = 0;
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t h = 0; h < 2; ++h)
        mean += in[0][{n, c, h, 0}] / 6;
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t h = 0; h < 2; ++h)
        variance += std::pow(in[0][{n, c, h, 0}] - mean, 2) / 6;
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t h = 0; h < 2; ++h)
        expected[{n, c, h, 0}] =
            (in[0][{n, c, h, 0}] - mean) / std::sqrt(variance + 1e-5) * in[1][c] + in[2][c];
    means.push_back(0.25 * mean);
    unbiased.push_back(0.25 * variance * 6 / 5);
  }
  expectNear(program.evaluate(in), expected);
  ASSERT_EQ(program.evaluator.assigned.size(), 2u);
  program.function().walk([&](pdc::nn::StateOp state) {
    const Tensor &assigned = program.evaluator.assigned.at(state.getResult().getAsOpaquePointer());
    for (int64_t c = 0; c < 2; ++c)
      EXPECT_NEAR(assigned[c], state.getName() == "mean" ? means[c] : unbiased[c], 1e-12);
  });
}

TEST(Decompositions, BatchNormInEvaluationUsesRunningStatistics) {
  TestProgram program({"tensor<2x2xf64>", "tensor<2xf64>", "tensor<2xf64>", "tensor<2xf64>", "tensor<2xf64>"},
                      "%0 = nn.batch_norm %a, %b, %c, %d, %e {inference} : (tensor<2x2xf64>, tensor<2xf64>, "
                      "tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2xf64>");
  std::vector<Tensor> in = program.samples();
  in[4].data = {0.5, 2};
  Tensor expected({2, 2});
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t c = 0; c < 2; ++c)
      expected[{n, c}] = (in[0][{n, c}] - in[3][c]) / std::sqrt(in[4][c] + 1e-5) * in[1][c] + in[2][c];
  expectNear(program.evaluate(in), expected);
}

/// -log softmax(logits)[label].
double rowLoss(const Tensor &logits, int64_t row, int64_t classes, int64_t label) {
  double sum = 0;
  for (int64_t j = 0; j < classes; ++j)
    sum += std::exp(logits.data[row * classes + j]);
  return std::log(sum) - logits.data[row * classes + label];
}

TEST(Decompositions, CrossEntropyIsTheMeanOverLabelsThatAreNotIgnored) {
  TestProgram program({"tensor<4x3xf64>", "tensor<4xi32>"},
                      "%0 = nn.cross_entropy %a, %b : (tensor<4x3xf64>, tensor<4xi32>) -> tensor<f64>");
  std::vector<Tensor> in = program.samples();
  in[1].data = {2, -100, 0, 1};
  Tensor expected{mlir::ArrayRef<int64_t>()};
  expected.data = {(rowLoss(in[0], 0, 3, 2) + rowLoss(in[0], 2, 3, 0) + rowLoss(in[0], 3, 3, 1)) / 3};
  expectNear(program.evaluate(in), expected);
}

TEST(Decompositions, CrossEntropyIsZeroWhereEveryLabelIsIgnored) {
  TestProgram program(
      {"tensor<4x3xf64>", "tensor<4xi32>"},
      "%0 = nn.cross_entropy %a, %b {ignore_index = 1 : i64} : (tensor<4x3xf64>, tensor<4xi32>) -> "
      "tensor<f64>");
  std::vector<Tensor> in = program.samples();
  in[1].data = {1, 1, 1, 1};
  expectNear(program.evaluate(in), Tensor(mlir::ArrayRef<int64_t>()));
}

TEST(Decompositions, MseIsTheMeanOfSquaredDifferences) {
  TestProgram program({"tensor<2x2xf64>", "tensor<2x2xf64>"},
                      "%0 = nn.mse %a, %b : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<f64>");
  Tensor x({2, 2}), y({2, 2}), expected{mlir::ArrayRef<int64_t>()};
  x.data = {1, 2, 3, 4};
  y.data = {1, 0, 3, 1};
  expected.data = {(4 + 9) / 4.0};
  expectNear(program.evaluate({x, y}), expected);
}

TEST(Decompositions, AccuracyTakesTheFirstOfEquallyLargeLogitsAndLeavesOutIgnoredLabels) {
  TestProgram program(
      {"tensor<5x3xf32>", "tensor<5xi32>"},
      "%0 = nn.accuracy %a, %b {ignore_index = 9 : i64} : (tensor<5x3xf32>, tensor<5xi32>) -> "
      "tensor<f32>");
  Tensor logits({5, 3}), labels({5}), expected{mlir::ArrayRef<int64_t>()};
  logits.data = {0, 1, 1, /**/ 0, 1, 1, /**/ 3, 2, 1, /**/ -3, -2, -1, /**/ 0, 0, 5};
  labels.data = {1, 2, 0, 0, 9};
  // Right, the second of equals, right, wrong, ignored.
  expected.data = {2 / 4.0};
  expectNear(program.evaluate({logits, labels}), expected, 1e-6);
}

TEST(Decompositions, DropoutInTrainingMultipliesByAMaskOfTheSeedOfTheStep) {
  TestProgram program(
      {"tensor<2x3xf32>"},
      "%0 = nn.dropout %a {rate = 0.25 : f64, stream = 7 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>");
  ASSERT_TRUE(succeeded(decomposeAll(program.function())));
  auto product = mlir::dyn_cast<pdc::nn::MulOp>(program.last());
  ASSERT_TRUE(product);
  auto mask = product.getRhs().getDefiningOp<pdc::nn::DropoutMaskOp>();
  ASSERT_TRUE(mask);
  EXPECT_EQ(mask.getRate().convertToDouble(), 0.25);
  EXPECT_EQ(mask.getStream(), 7u);
  EXPECT_EQ(mask.getGlobalShape(), (mlir::ArrayRef<int64_t>{2, 3}));
  EXPECT_TRUE(mask.getStarts().empty());
  EXPECT_TRUE(mask.getSeed().getDefiningOp<pdc::nn::StepSeedOp>());
}

TEST(Decompositions, DropoutInEvaluationIsNothing) {
  TestProgram program(
      {"tensor<2x3xf64>"},
      "%0 = nn.dropout %a {rate = 0.25 : f64, inference} : (tensor<2x3xf64>) -> tensor<2x3xf64>");
  std::vector<Tensor> in = program.samples();
  expectNear(program.evaluate(in), in[0], 0);
}

} // namespace
