//===- codegen_test.cpp - what generated kernels compute ------------------===//

#include "tests/compiler/codegen/fusions.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen;
using namespace pdc::codegen::test;

TEST(Codegen, AddsElementwiseForSizesThatAreNotMultiplesOfVectors) {
  for (int64_t size : {1, 3, 17, 127, 4096, 4099, 9001}) {
    FusionWriter w;
    Value x = w.operand({size}), y = w.operand({size});
    EXPECT_EQ(check(w.finish({w.op<nn::AddOp>({x, y}), w.op<nn::MulOp>({x, w.splat(3)})})), "") << size;
  }
}

TEST(Codegen, BroadcastsScalarsRowsAndColumns) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{5, 7}, {1, 129}, {129, 1}, {17, 640}}) {
    FusionWriter w;
    Value x = w.operand({rows, columns}), bias = w.operand({columns}), scale = w.operand({rows, 1}),
          factor = w.operand({});
    Value y = w.op<nn::MulOp>({w.op<nn::AddOp>({w.op<nn::MulOp>({x, scale}), bias}), factor});
    EXPECT_EQ(check(w.finish({y, w.op<nn::SubOp>({w.broadcastTo(bias, {rows, columns}), y})})), "")
        << rows << "x" << columns;
  }
}

TEST(Codegen, BroadcastsTheMiddleOfFourDimensions) {
  FusionWriter w;
  Value x = w.operand({3, 5, 7, 9}), scale = w.operand({5, 1, 1}), shift = w.operand({3, 1, 7, 1});
  EXPECT_EQ(check(w.finish({w.op<nn::AddOp>({w.op<nn::MulOp>({x, scale}), shift})})), "");
}

TEST(Codegen, ComputesOnScalars) {
  FusionWriter w;
  Value x = w.operand({}), y = w.operand({});
  EXPECT_EQ(check(w.finish({w.op<nn::AddOp>({x, y}), w.op<nn::SqrtOp>({w.op<nn::SquareOp>({x})})})), "");
}

TEST(Codegen, ComputesConstantsThatHaveNoOperand) {
  FusionWriter w;
  EXPECT_EQ(check(w.finish({w.splat(2.5, {3, 33})})), "");
}

TEST(Codegen, ReadsTablesOfConstants) {
  FusionWriter w;
  Value x = w.operand({4, 2, 3});
  SmallVector<float> numbers{1, 2, 3, 4, 5, 6};
  auto type = RankedTensorType::get({2, 3}, w.builder.getF32Type());
  Value table =
      nn::ConstantOp::create(w.builder, w.loc, DenseElementsAttr::get(type, ArrayRef<float>(numbers)));
  EXPECT_EQ(check(w.finish({w.op<nn::AddOp>({x, table})})), "");
}

TEST(Codegen, ReadsStridedOperands) {
  FusionWriter w;
  Value x = w.operand({6, 37}), y = w.operand({37});
  RunOptions options;
  options.operandStride = 2;
  EXPECT_EQ(check(w.finish({w.op<nn::AddOp>({x, y}), w.sum(x, {1})}), options), "");
}

TEST(Codegen, RoundsHalfPrecisionToNearestEven) {
  for (bool brain : {true, false}) {
    FusionWriter w;
    Type half = brain ? Type(w.builder.getBF16Type()) : Type(w.builder.getF16Type());
    Value x = w.operand({300}, half), y = w.operand({300}, half);
    Value sum = nn::CastOp::create(w.builder, w.loc, w.type({300}), w.op<nn::AddOp>({x, y}));
    EXPECT_EQ(check(w.finish({w.op<nn::MulOp>({x, y}), sum})), "");
  }
}

TEST(Codegen, ComputesInDoublePrecision) {
  FusionWriter w;
  Type f64 = w.builder.getF64Type();
  Value x = w.operand({5, 70}, f64);
  RunOptions options;
  options.tolerance = 1e-13;
  Value y = w.op<nn::TanhOp>({w.op<nn::ExpOp>({x})});
  EXPECT_EQ(check(w.finish({y, w.sum(y, {1})}), options), "");
}

TEST(Codegen, ComputesOnIntegersAndTruthValues) {
  FusionWriter w;
  for (Type type : {Type(w.builder.getI32Type()), Type(w.builder.getI64Type())}) {
    FusionWriter fresh;
    Type element = type.isInteger(32) ? Type(fresh.builder.getI32Type()) : Type(fresh.builder.getI64Type());
    Value x = fresh.operand({2, 65}, element), y = fresh.operand({65}, element);
    RunOptions options;
    options.value = [](unsigned, int64_t, std::mt19937 &random) {
      return static_cast<int>(random() % 9) - 4;
    };
    Value less = fresh.compare(nn::ComparePredicate::lt, x, y);
    EXPECT_EQ(check(fresh.finish({fresh.op<nn::AddOp>({x, y}), less, fresh.op<nn::SelectOp>({less, x, y})}),
                    options),
              "");
  }
}

TEST(Codegen, ReadsTruthValuesFromMemory) {
  FusionWriter w;
  Value condition = w.operand({200}, w.builder.getI1Type()), x = w.operand({200}), y = w.operand({200});
  EXPECT_EQ(check(w.finish({w.op<nn::SelectOp>({condition, x, y})})), "");
}

TEST(Codegen, FusesSoftmax) {
  for (int64_t columns : {1, 3, 17, 127, 1024, 9000}) {
    FusionWriter w;
    EXPECT_EQ(check(softmax(w, {3, columns})), "") << columns;
  }
}

TEST(Codegen, FusesCausalSoftmax) {
  FusionWriter w;
  EXPECT_EQ(check(softmax(w, {2, 3, 33, 33}, /*causal=*/true)), "");
}

TEST(Codegen, FusesSoftmaxOfHalfPrecision) {
  FusionWriter w;
  EXPECT_EQ(check(softmax(w, {5, 65}, false, w.builder.getBF16Type())), "");
}

TEST(Codegen, FusesLayerNormAndItsGradient) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{4, 768}, {3, 17}, {1, 127}}) {
    FusionWriter w, grad;
    RunOptions options;
    options.tolerance = 1e-5;
    EXPECT_EQ(check(layerNorm(w, rows, columns), options), "");
    EXPECT_EQ(check(layerNormGrad(grad, rows, columns), options), "");
  }
}

TEST(Codegen, FusesCrossEntropyRowsAndTheirGradient) {
  for (int64_t classes : {2, 10, 257, 5003}) {
    RunOptions options;
    options.tolerance = 1e-5;
    options.value = [&](unsigned operand, int64_t, std::mt19937 &random) {
      return operand == 1 ? static_cast<double>(random() % classes)
                          : std::normal_distribution<double>()(random);
    };
    FusionWriter w, grad;
    EXPECT_EQ(check(crossEntropyRows(w, 5, classes), options), "") << classes;
    EXPECT_EQ(check(crossEntropyRowsGrad(grad, 5, classes), options), "") << classes;
  }
}

TEST(Codegen, SumsColumns) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{5, 7}, {64, 768}, {2000, 33}, {3, 300}}) {
    FusionWriter w;
    RunOptions options;
    options.scale = std::sqrt(rows);
    EXPECT_EQ(check(columnSums(w, rows, columns), options), "") << rows << "x" << columns;
  }
}

TEST(Codegen, ReducesChannelsOfImages) {
  for (auto [n, c, h, width] :
       {std::tuple<int64_t, int64_t, int64_t, int64_t>{4, 3, 7, 7}, {2, 5, 1, 1}, {1, 4, 33, 9}}) {
    FusionWriter w;
    RunOptions options;
    options.tolerance = 1e-5;
    EXPECT_EQ(check(channelStatistics(w, n, c, h, width), options), "") << n << c << h << width;
  }
}

TEST(Codegen, ReducesTheMiddleDimensionAndUsesTheResult) {
  FusionWriter w;
  Value x = w.operand({3, 11, 300}), weight = w.operand({11, 1});
  Value weighted = w.op<nn::MulOp>({x, weight});
  Value sum = w.sum(weighted, {1});
  Value scaled = w.op<nn::DivOp>({x, w.op<nn::AddOp>({w.op<nn::SquareOp>({sum}), w.splat(1)})});
  EXPECT_EQ(check(w.finish({scaled, w.max(scaled, {1}, false), w.sum(weight, {0, 1})})), "");
}

TEST(Codegen, ReducesEverythingToAScalar) {
  for (int64_t size : {1, 17, 5000, 70000}) {
    FusionWriter w;
    Value x = w.operand({size});
    RunOptions options;
    options.scale = std::sqrt(size);
    EXPECT_EQ(check(w.finish({w.sum(w.op<nn::SquareOp>({x}), {0}, false), w.max(x, {0}, false)}), options),
              "")
        << size;
  }
}

TEST(Codegen, PropagatesNaNThroughMaximaAndSums) {
  FusionWriter w;
  Value x = w.operand({4, 100});
  RunOptions options;
  options.value = [](unsigned, int64_t element, std::mt19937 &) {
    return element == 137 ? NAN : element % 7;
  };
  EXPECT_EQ(check(w.finish({w.max(x, {1}), w.sum(x, {1})}), options), "");
}

TEST(Codegen, UpdatesAdamWInPlace) {
  for (auto shape : {SmallVector<int64_t>{1}, {17}, {127, 3}, {5000}, {70, 130}}) {
    FusionWriter w;
    RunOptions options;
    options.value = [](unsigned operand, int64_t, std::mt19937 &random) {
      double value = std::normal_distribution<double>()(random);
      return operand == 3 ? value * value : value;
    };
    EXPECT_EQ(check(adamW(w, shape), options), "");
  }
}

TEST(Codegen, MakesDropoutMasksOfPositionsOnly) {
  FusionWriter w;
  Value x = w.operand({6, 50}), seed = w.operand({}, w.builder.getI64Type()),
        start = w.operand({}, w.builder.getI64Type());
  Value mask = nn::DropoutMaskOp::create(w.builder, w.loc, w.type({6, 50}), seed, ValueRange{start},
                                         w.builder.getF64FloatAttr(0.25), w.builder.getI64IntegerAttr(3),
                                         w.builder.getDenseI64ArrayAttr({24, 50}),
                                         w.builder.getDenseI64ArrayAttr({0}));
  RunOptions options;
  options.value = [](unsigned operand, int64_t, std::mt19937 &random) {
    return operand == 1 ? 12345.0 : operand == 2 ? 6.0 : std::normal_distribution<double>()(random);
  };
  EXPECT_EQ(check(w.finish({w.op<nn::MulOp>({x, mask})}), options), "");
}

TEST(Codegen, StoresBroadcastResultsOnce) {
  FusionWriter w;
  Value x = w.operand({3, 4, 50}), row = w.operand({4, 1}), column = w.operand({50});
  Value doubled = w.op<nn::MulOp>({row, w.splat(2)}), square = w.op<nn::SquareOp>({column});
  EXPECT_EQ(check(w.finish({w.op<nn::AddOp>({w.op<nn::MulOp>({x, doubled}), square}), doubled, square})), "");
}

TEST(Codegen, RunsOnPortableTargets) {
  for (const char *cpu : {"x86-64", "x86-64-v3"}) {
    FusionWriter w;
    RunOptions options;
    options.codegen.cpu = cpu;
    EXPECT_EQ(check(softmax(w, {3, 100}), options), "") << cpu;
  }
}
