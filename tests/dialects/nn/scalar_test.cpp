//===- scalar_test.cpp - the scalar computations of elementwise ops -------------------------===//
//
// The ops of arith and math that an op builds are folded over constants: that gives their value without a
// compiler.
//
//===----------------------------------------------------------------------------------------===//

#include "dialects/nn/IR/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace pdc::nn;

namespace {

class ScalarTest : public ::testing::Test {
protected:
  ScalarTest() : builder(&context) {
    context.loadDialect<NNDialect, arith::ArithDialect, math::MathDialect>();
    loc = builder.getUnknownLoc();
  }

  /// The only elementwise op of a block with this signature and line.
  ElementwiseOpInterface parse(const std::string &arguments, const std::string &line,
                               const std::string &type) {
    std::string text = "nn.block @b(" + arguments + ") -> " + type + " {\n %r = " + line +
                       "\n nn.return %r : " + type + "\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    ElementwiseOpInterface found;
    if (module)
      module->walk([&](ElementwiseOpInterface op) { found = op; });
    return found;
  }

  Value constant(TypedAttr value) { return arith::ConstantOp::create(builder, loc, value); }

  /// The value of the computation that `op` builds for these elements at this position.
  Attribute evaluate(ElementwiseOpInterface op, ArrayRef<TypedAttr> elements, ArrayRef<int64_t> index = {}) {
    Block block;
    builder.setInsertionPointToEnd(&block);
    SmallVector<Value> elementValues, indexValues;
    for (TypedAttr element : elements)
      elementValues.push_back(constant(element));
    for (int64_t position : index)
      indexValues.push_back(constant(builder.getIndexAttr(position)));
    Value result = op.buildScalar(builder, elementValues, indexValues);
    DenseMap<Value, Attribute> known;
    for (Operation &operation : block) {
      SmallVector<Attribute> operands;
      for (Value operand : operation.getOperands())
        operands.push_back(known[operand]);
      SmallVector<OpFoldResult> folded;
      Attribute value;
      if (matchPattern(&operation, m_Constant(&value)))
        folded.push_back(value);
      else
        EXPECT_TRUE(succeeded(operation.fold(operands, folded))) << operation.getName().getStringRef().str();
      if (folded.empty())
        return {};
      known[operation.getResult(0)] =
          isa<Attribute>(folded[0]) ? cast<Attribute>(folded[0]) : known[cast<Value>(folded[0])];
    }
    return known[result];
  }

  double real(ElementwiseOpInterface op, ArrayRef<double> elements) {
    SmallVector<TypedAttr> attributes;
    for (double element : elements)
      attributes.push_back(builder.getF64FloatAttr(element));
    auto value = dyn_cast_if_present<FloatAttr>(evaluate(op, attributes));
    EXPECT_TRUE(value);
    return value ? value.getValueAsDouble() : NAN;
  }

  double unary(const std::string &name, double x) {
    return real(parse("%x: tensor<f64>", "nn." + name + " %x : tensor<f64>", "tensor<f64>"), {x});
  }

  MLIRContext context;
  OpBuilder builder;
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module;
};

TEST_F(ScalarTest, UnaryOpsComputeTheirFormulas) {
  for (double x : {0.25, 1.0, 3.5}) {
    EXPECT_DOUBLE_EQ(unary("relu", x), x);
    EXPECT_DOUBLE_EQ(unary("relu", -x), 0);
    EXPECT_NEAR(unary("sigmoid", x), 1 / (1 + std::exp(-x)), 1e-12);
    EXPECT_NEAR(unary("silu", x), x / (1 + std::exp(-x)), 1e-12);
    EXPECT_NEAR(unary("tanh", -x), std::tanh(-x), 1e-12);
    EXPECT_NEAR(unary("exp", x), std::exp(x), 1e-12 * std::exp(x));
    EXPECT_NEAR(unary("log", x), std::log(x), 1e-12);
    EXPECT_NEAR(unary("sqrt", x), std::sqrt(x), 1e-12);
    EXPECT_NEAR(unary("rsqrt", x), 1 / std::sqrt(x), 1e-12);
    EXPECT_DOUBLE_EQ(unary("neg", x), -x);
    EXPECT_DOUBLE_EQ(unary("abs", -x), x);
    EXPECT_DOUBLE_EQ(unary("square", x), x * x);
    EXPECT_NEAR(unary("gelu", -x), -x * 0.5 * std::erfc(x / std::sqrt(2.0)), 1e-12);
  }
}

TEST_F(ScalarTest, ReluKeepsNotANumber) { EXPECT_TRUE(std::isnan(unary("relu", NAN))); }

TEST_F(ScalarTest, GeluOfTanhApproximatesGelu) {
  for (double x : {-2.0, -0.5, 0.5, 2.0}) {
    double approximation =
        real(parse("%x: tensor<f64>", "nn.gelu %x {tanh} : tensor<f64>", "tensor<f64>"), {x});
    EXPECT_NEAR(approximation, unary("gelu", x), 1e-3);
    EXPECT_NE(approximation, unary("gelu", x));
  }
}

/// What the gradient of an activation takes besides the gradient of the result.
struct Activation {
  std::string name, attributes;
  bool fromResult;
};

TEST_F(ScalarTest, GradientsOfActivationsAreFiniteDifferences) {
  const Activation activations[] = {{"relu", "", true},    {"silu", "", false}, {"tanh", "", true},
                                    {"sigmoid", "", true}, {"gelu", "", false}, {"gelu", " {tanh}", false}};
  for (const Activation &activation : activations) {
    SCOPED_TRACE(activation.name + activation.attributes);
    auto forward = [&](double x) {
      return real(parse("%x: tensor<f64>",
                        "nn." + activation.name + " %x" + activation.attributes + " : tensor<f64>",
                        "tensor<f64>"),
                  {x});
    };
    for (double x : {-3.0, -0.7, 0.3, 2.0}) {
      double step = 1e-5, difference = (forward(x + step) - forward(x - step)) / (2 * step);
      double seen = activation.fromResult ? forward(x) : x;
      double gradient =
          real(parse("%g: tensor<f64>, %x: tensor<f64>",
                     "nn." + activation.name + "_grad %g, %x" + activation.attributes + " : tensor<f64>",
                     "tensor<f64>"),
               {2.0, seen});
      EXPECT_NEAR(gradient, 2 * difference, 1e-8);
    }
  }
}

//===----------------------------------------------------------------------===//
// dropout_mask: the description in NNElementwise.td, in C++
//===----------------------------------------------------------------------===//

uint32_t mix(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  return h ^ (h >> 16);
}

double expectedMask(uint64_t seed, uint32_t stream, uint64_t element, double rate) {
  uint32_t key0 =
      mix(static_cast<uint32_t>(seed) ^ mix(static_cast<uint32_t>(seed >> 32) ^ mix(stream + 0x9e3779b9)));
  uint32_t key1 = mix(key0 + 0x9e3779b9);
  uint32_t h = mix(mix(static_cast<uint32_t>(element) ^ key0) ^ static_cast<uint32_t>(element >> 32) ^ key1);
  return h < static_cast<uint32_t>(std::floor(rate * 4294967296.0)) ? 0.0 : 1 / (1 - rate);
}

TEST_F(ScalarTest, DropoutMaskIsTheHashOfItsDescription) {
  const uint64_t seed = 0x123456789abcdef0;
  ElementwiseOpInterface op =
      parse("%s: tensor<i64>",
            "nn.dropout_mask %s {rate = 0.3 : f64, stream = 5 : i64, global_shape = array<i64: 4, 16>, "
            "start_dimensions = array<i64>} : (tensor<i64>) -> tensor<4x16xf32>",
            "tensor<4x16xf32>");
  int dropped = 0;
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t column = 0; column < 16; ++column) {
      auto value = cast<FloatAttr>(evaluate(op, {builder.getI64IntegerAttr(seed)}, {row, column}));
      double expected = expectedMask(seed, 5, row * 16 + column, 0.3);
      EXPECT_EQ(value.getValueAsDouble(), static_cast<float>(expected));
      dropped += expected == 0;
    }
  EXPECT_GT(dropped, 64 * 0.3 / 2);
  EXPECT_LT(dropped, 64 * 0.3 * 2);
}

TEST_F(ScalarTest, DropoutMaskOfAPartIsThatPartOfTheMask) {
  ElementwiseOpInterface op = parse(
      "%s: tensor<i64>, %start: tensor<i64>",
      "nn.dropout_mask %s, %start {rate = 0.5 : f64, stream = 0 : i64, global_shape = array<i64: 8, 4>, "
      "start_dimensions = array<i64: 0>} : (tensor<i64>, tensor<i64>) -> tensor<2x4xf32>",
      "tensor<2x4xf32>");
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < 4; ++column) {
      auto value = cast<FloatAttr>(
          evaluate(op, {builder.getI64IntegerAttr(7), builder.getI64IntegerAttr(6)}, {row, column}));
      EXPECT_EQ(value.getValueAsDouble(), expectedMask(7, 0, (6 + row) * 4 + column, 0.5));
    }
}

TEST_F(ScalarTest, DropoutMaskNumbersMoreElementsThan32BitsHold) {
  ElementwiseOpInterface op =
      parse("%s: tensor<i64>, %start: tensor<i64>",
            "nn.dropout_mask %s, %start {rate = 0.5 : f64, stream = 1 : i64, global_shape = array<i64: 4, "
            "4294967296>, start_dimensions = array<i64: 1>} : (tensor<i64>, tensor<i64>) -> tensor<4x2xf32>",
            "tensor<4x2xf32>");
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t column = 0; column < 2; ++column) {
      auto value = cast<FloatAttr>(
          evaluate(op, {builder.getI64IntegerAttr(7), builder.getI64IntegerAttr(11)}, {row, column}));
      EXPECT_EQ(value.getValueAsDouble(), expectedMask(7, 1, row * 4294967296 + 11 + column, 0.5));
    }
}

} // namespace
