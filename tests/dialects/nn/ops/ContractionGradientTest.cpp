// Gradients of contractions against finite differences.

#include "tests/dialects/nn/ops/TestProgram.h"

using namespace pdc::nn::testing;

namespace {

TEST(Gradients, OfLinearMatchDifferencesForBothWaysToStoreTheWeight) {
  expectGradientsMatchDifferences(
      {"tensor<2x3x4xf64>", "tensor<4x5xf64>", "tensor<5xf64>"},
      "%0 = nn.linear %a, %b, %c : (tensor<2x3x4xf64>, tensor<4x5xf64>, tensor<5xf64>) -> "
      "tensor<2x3x5xf64>");
  expectGradientsMatchDifferences(
      {"tensor<2x3x4xf64>", "tensor<5x4xf64>"},
      "%0 = nn.linear %a, %b {transpose_weight} : (tensor<2x3x4xf64>, tensor<5x4xf64>) -> "
      "tensor<2x3x5xf64>");
}

TEST(Gradients, OfLinearOfSeveralDimensionsMatchDifferences) {
  expectGradientsMatchDifferences(
      {"tensor<2x3x4xf64>", "tensor<4x3x2xf64>", "tensor<3x2xf64>"},
      "%0 = nn.linear %a, %b, %c : (tensor<2x3x4xf64>, tensor<4x3x2xf64>, tensor<3x2xf64>) -> "
      "tensor<2x3x3x2xf64>");
  expectGradientsMatchDifferences(
      {"tensor<2x3x4xf64>", "tensor<3x2x4xf64>"},
      "%0 = nn.linear %a, %b {transpose_weight} : (tensor<2x3x4xf64>, tensor<3x2x4xf64>) -> "
      "tensor<2x3x3x2xf64>");
  expectGradientsMatchDifferences(
      {"tensor<2x3x2xf64>", "tensor<3x2x2x2xf64>", "tensor<2x2xf64>"},
      "%0 = nn.linear %a, %b, %c {inner_dims = 2 : i64} : (tensor<2x3x2xf64>, tensor<3x2x2x2xf64>, tensor<2x2xf64>) -> "
      "tensor<2x2x2xf64>");
  expectGradientsMatchDifferences(
      {"tensor<2x3x2xf64>", "tensor<5x3x2xf64>"},
      "%0 = nn.linear %a, %b {transpose_weight, inner_dims = 2 : i64} : (tensor<2x3x2xf64>, tensor<5x3x2xf64>) -> "
      "tensor<2x5xf64>");
}

TEST(Gradients, OfMatmulMatchDifferencesForAllWaysToStoreItsOperands) {
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true}) {
      std::string lhs = transposeLhs ? "tensor<4x3xf64>" : "tensor<3x4xf64>";
      std::string rhs = transposeRhs ? "tensor<5x4xf64>" : "tensor<4x5xf64>";
      std::string attributes = std::string(" {") + (transposeLhs ? "transpose_lhs" : "") +
                               (transposeLhs && transposeRhs ? ", " : "") +
                               (transposeRhs ? "transpose_rhs" : "") + "}";
      expectGradientsMatchDifferences({lhs.c_str(), rhs.c_str()}, "%0 = nn.matmul %a, %b" + attributes +
                                                                      " : (" + lhs + ", " + rhs +
                                                                      ") -> tensor<3x5xf64>");
    }
}

TEST(Gradients, OfBatchMatmulMatchDifferencesForAllWaysToStoreItsOperands) {
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true}) {
      std::string lhs = transposeLhs ? "tensor<2x2x4x3xf64>" : "tensor<2x2x3x4xf64>";
      std::string rhs = transposeRhs ? "tensor<2x2x2x4xf64>" : "tensor<2x2x4x2xf64>";
      std::string attributes = std::string(" {") + (transposeLhs ? "transpose_lhs" : "") +
                               (transposeLhs && transposeRhs ? ", " : "") +
                               (transposeRhs ? "transpose_rhs" : "") + "}";
      expectGradientsMatchDifferences({lhs.c_str(), rhs.c_str()}, "%0 = nn.batch_matmul %a, %b" + attributes +
                                                                      " : (" + lhs + ", " + rhs +
                                                                      ") -> tensor<2x2x3x2xf64>");
    }
}

TEST(Gradients, OfConvolutionMatchDifferences) {
  expectGradientsMatchDifferences(
      {"tensor<2x2x4x4xf64>", "tensor<3x2x3x3xf64>", "tensor<3xf64>"},
      "%0 = nn.conv2d %a, %b, %c {padding = array<i64: 1, 1, 1, 1>} : (tensor<2x2x4x4xf64>, "
      "tensor<3x2x3x3xf64>, tensor<3xf64>) -> tensor<2x3x4x4xf64>");
}

TEST(Gradients, OfConvolutionWithStrideDilationGroupsAndUnevenPaddingMatchDifferences) {
  expectGradientsMatchDifferences(
      {"tensor<1x4x5x6xf64>", "tensor<2x2x2x2xf64>"},
      "%0 = nn.conv2d %a, %b {stride = array<i64: 2, 1>, padding = array<i64: 0, 1, 2, 0>, dilation = "
      "array<i64: 1, 2>, "
      "groups = 2 : i64} : (tensor<1x4x5x6xf64>, tensor<2x2x2x2xf64>) -> tensor<1x2x3x5xf64>");
}

TEST(Gradients, OfPoolingMatchDifferences) {
  std::string window =
      "kernel = array<i64: 3, 2>, stride = array<i64: 2, 1>, padding = array<i64: 1, 0, 1, 1>";
  std::string types = " : (tensor<1x2x4x4xf64>) -> tensor<1x2x2x4xf64>";
  expectGradientsMatchDifferences({"tensor<1x2x4x4xf64>"}, "%0 = nn.max_pool2d %a {" + window + "}" + types);
  expectGradientsMatchDifferences({"tensor<1x2x4x4xf64>"}, "%0 = nn.avg_pool2d %a {" + window + "}" + types);
  expectGradientsMatchDifferences({"tensor<1x2x4x4xf64>"},
                                  "%0 = nn.avg_pool2d %a {count_include_pad, " + window + "}" + types);
}

TEST(Gradients, OfEmbeddingAddUpWhereARowIsUsedTwice) {
  expectGradientsMatchDifferences(
      {"tensor<4x3xf64>", "tensor<2x3xi32>"},
      "%0 = nn.embedding %a, %b : (tensor<4x3xf64>, tensor<2x3xi32>) -> tensor<2x3x3xf64>");
}

} // namespace
