//===- math_test.cpp - errors of the vectorized functions -----------------===//

#include "tests/compiler/codegen/harness.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen;
using namespace pdc::codegen::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Runs y = OpT(x) on the given numbers.
template <typename OpT> std::vector<float> run(std::vector<float> x) {
  FusionWriter w;
  auto size = static_cast<int64_t>(x.size());
  nn::FusionOp fusion = w.finish({w.op<OpT>({w.operand({size})})});
  KernelLibraryBuilder builder(&w.context, {});
  auto type = MemRefType::get({size}, w.builder.getF32Type());
  auto kernel = builder.add(fusion, {type, type});
  auto image = builder.build();
  if (failed(kernel) || failed(image))
    return {};
  Library library(*image);
  std::vector<float> y(x.size());
  void *arguments[] = {x.data(), y.data()};
  reinterpret_cast<test::Kernel>(library.find(kernel->symbol))(arguments, 0, kernel->parallelExtent);
  return y;
}

/// Numbers of all magnitudes between `low` and `high`, of both signs if `low` is negative.
std::vector<float> sample(float low, float high) {
  std::mt19937 random(3);
  std::vector<float> numbers;
  std::uniform_real_distribution<float> uniform(low, high), exponent(-30, 0);
  for (int i = 0; i < 20000; ++i) {
    float x = uniform(random);
    numbers.push_back(i % 2 ? x : x * std::exp2(exponent(random)));
  }
  return numbers;
}

/// The largest distance from the exact values, in units in the last place.
template <typename OpT> double largestError(float low, float high, double (*exact)(double)) {
  std::vector<float> x = sample(low, high), y = run<OpT>(x);
  if (y.size() != x.size())
    return infinity;
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = exact(x[i]);
    auto rounded = static_cast<float>(std::fabs(expected));
    double unit = static_cast<double>(std::nextafter(rounded, infinity)) - rounded;
    largest = std::max(largest, std::fabs(y[i] - expected) / unit);
  }
  return largest;
}

double exactExp(double x) { return std::exp(x); }
double exactLog(double x) { return std::log(x); }
double exactTanh(double x) { return std::tanh(x); }
double exactSigmoid(double x) { return 1 / (1 + std::exp(-x)); }

} // namespace

TEST(VectorMath, ExpIsWithinFourUnits) { EXPECT_LE(largestError<nn::ExpOp>(-87, 88, exactExp), 4); }
TEST(VectorMath, LogIsWithinFourUnits) { EXPECT_LE(largestError<nn::LogOp>(1e-30f, 1e30f, exactLog), 4); }
TEST(VectorMath, TanhIsWithinFourUnits) { EXPECT_LE(largestError<nn::TanhOp>(-12, 12, exactTanh), 4); }
TEST(VectorMath, SigmoidIsWithinFourUnits) {
  EXPECT_LE(largestError<nn::SigmoidOp>(-20, 80, exactSigmoid), 4);
}

TEST(VectorMath, ExpOfExtremesIsZeroInfinityOrNaN) {
  std::vector<float> y = run<nn::ExpOp>({-infinity, -200, 0, 89, infinity, NAN, -100});
  ASSERT_EQ(y.size(), 7u);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 1);
  EXPECT_EQ(y[3], infinity);
  EXPECT_EQ(y[4], infinity);
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_NEAR(y[6] / std::exp(-100.0), 1, 0.05); // a subnormal number
}

TEST(VectorMath, LogOfExtremesIsInfiniteOrNaN) {
  std::vector<float> y = run<nn::LogOp>({0, -1, infinity, NAN, 1, 1e-40f});
  ASSERT_EQ(y.size(), 6u);
  EXPECT_EQ(y[0], -infinity);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], infinity);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(y[4], 0);
  EXPECT_NEAR(y[5], std::log(static_cast<double>(1e-40f)), 1e-4);
}

TEST(VectorMath, TanhOfExtremesIsOneOrNaN) {
  std::vector<float> y = run<nn::TanhOp>({-infinity, infinity, -50, NAN, -0.0f});
  ASSERT_EQ(y.size(), 5u);
  EXPECT_EQ(y[0], -1);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], -1);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_TRUE(std::signbit(y[4]));
}

// gelu(x) = x (1 + erf(x / sqrt 2)) / 2: for x > 0 its relative error is about that of erf.
TEST(VectorMath, GeluFollowsErf) {
  std::vector<float> x = sample(0, 8), y = run<nn::GeluOp>(x);
  ASSERT_EQ(y.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = 0.5 * x[i] * (1 + std::erf(x[i] / std::sqrt(2.0)));
    EXPECT_NEAR(y[i], expected, 5e-7 * std::fabs(expected) + 1e-38) << x[i];
  }
}
