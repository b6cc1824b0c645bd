#include "runtime/train/initialize.h"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/train/philox.h"

namespace pdc::train {
namespace {

using program::ElementType;
using program::InitializerKind;

std::vector<float> Fill(const Distribution& distribution, uint64_t seed, const std::string& name,
                        const Shape& global, const Shape& start, const Shape& local) {
  std::vector<float> values(ElementCount(local));
  const absl::Status status =
      FillInitialValues(distribution, seed, name, global, start, local, ElementType::kF32,
                        reinterpret_cast<std::byte*>(values.data()));
  EXPECT_TRUE(status.ok()) << status;
  return values;
}

// Known answers of Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(HashName, IsFnv1aOf64Bits) {
  EXPECT_EQ(HashName(""), 0xcbf29ce484222325u);
  EXPECT_EQ(HashName("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(HashName("foobar"), 0x85944171f73967e8u);
}

TEST(InitialValues, OfAPartEqualThatPartOfTheWhole) {
  for (InitializerKind kind :
       {InitializerKind::kNormal, InitializerKind::kUniform, InitializerKind::kTruncatedNormal}) {
    const Distribution distribution{kind, -0.5, 2.0};
    const Shape global = {5, 7, 3};
    const std::vector<float> whole = Fill(distribution, 42, "h0.weight", global, {0, 0, 0}, global);
    const Shape start = {1, 2, 0}, local = {3, 5, 2};
    const std::vector<float> part = Fill(distribution, 42, "h0.weight", global, start, local);
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        for (int64_t k = 0; k < 2; ++k) {
          EXPECT_EQ(part[(i * 5 + j) * 2 + k], whole[((i + 1) * 7 + j + 2) * 3 + k]);
        }
      }
    }
  }
}

TEST(InitialValues, FollowTheStatedFormulas) {
  const uint64_t hash = HashName("w");
  const std::array<uint32_t, 4> words =
      Philox4x32({1, 0, static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)}, {7, 1});
  const uint64_t seed = (uint64_t{1} << 32) | 7;
  const std::vector<float> uniform = Fill({InitializerKind::kUniform, -1, 3}, seed, "w", {8}, {4}, {4});
  EXPECT_EQ(uniform[2], static_cast<float>(-1 + 4 * ((words[2] >> 8) / 16777216.0)));
  const std::vector<float> normal = Fill({InitializerKind::kNormal, 0.5, 2}, seed, "w", {8}, {4}, {4});
  const double radius = std::sqrt(-2 * std::log((words[2] + 1.0) / 4294967296.0));
  const double angle = 2 * 3.14159265358979323846 * (words[3] / 4294967296.0);
  EXPECT_FLOAT_EQ(normal[2], static_cast<float>(0.5 + 2 * radius * std::cos(angle)));
  EXPECT_FLOAT_EQ(normal[3], static_cast<float>(0.5 + 2 * radius * std::sin(angle)));
}

TEST(InitialValues, HaveTheStatedMoments) {
  const Shape shape = {40000};
  const auto moments = [](const std::vector<float>& values) {
    double sum = 0, squares = 0;
    for (float v : values) sum += v, squares += static_cast<double>(v) * v;
    const double mean = sum / values.size();
    return std::pair(mean, std::sqrt(squares / values.size() - mean * mean));
  };
  const auto [normal_mean, normal_deviation] =
      moments(Fill({InitializerKind::kNormal, 1.0, 0.5}, 1, "w", shape, {0}, shape));
  EXPECT_NEAR(normal_mean, 1.0, 0.01);
  EXPECT_NEAR(normal_deviation, 0.5, 0.01);
  const auto [uniform_mean, uniform_deviation] =
      moments(Fill({InitializerKind::kUniform, -1.0, 1.0}, 1, "w", shape, {0}, shape));
  EXPECT_NEAR(uniform_mean, 0.0, 0.015);
  EXPECT_NEAR(uniform_deviation, 1 / std::sqrt(3.0), 0.01);
  const std::vector<float> truncated =
      Fill({InitializerKind::kTruncatedNormal, 0, 0.02}, 1, "w", shape, {0}, shape);
  for (float v : truncated) EXPECT_LE(std::abs(v), 0.04f);
  EXPECT_NEAR(moments(truncated).second, 0.02 * 0.8796, 0.0003);
}

TEST(InitialValues, DifferBySeedAndByName) {
  const Distribution normal{InitializerKind::kNormal, 0, 1};
  const std::vector<float> base = Fill(normal, 1, "a", {64}, {0}, {64});
  EXPECT_EQ(base, Fill(normal, 1, "a", {64}, {0}, {64}));
  EXPECT_NE(base, Fill(normal, 2, "a", {64}, {0}, {64}));
  EXPECT_NE(base, Fill(normal, 1, "b", {64}, {0}, {64}));
}

TEST(InitialValues, OfBf16RoundTheF32ValuesToNearestEven) {
  const Distribution normal{InitializerKind::kNormal, 0, 1};
  const std::vector<float> wide = Fill(normal, 9, "w", {33}, {0}, {33});
  std::vector<uint16_t> narrow(33);
  ASSERT_TRUE(FillInitialValues(normal, 9, "w", {33}, {0}, {33}, ElementType::kBF16,
                                reinterpret_cast<std::byte*>(narrow.data()))
                  .ok());
  for (int i = 0; i < 33; ++i) EXPECT_NEAR(Bf16ToFloat(narrow[i]), wide[i], std::abs(wide[i]) / 256);
  EXPECT_EQ(FloatToBf16(1.00390625f), 0x3f80);  // halfway: to even
  EXPECT_EQ(FloatToBf16(1.01171875f), 0x3f82);
}

TEST(InitialValues, AreExactForZerosOnesAndConstants) {
  EXPECT_EQ(Fill({InitializerKind::kZeros}, 3, "b", {2}, {0}, {2}), (std::vector<float>{0, 0}));
  EXPECT_EQ(Fill({InitializerKind::kOnes}, 3, "b", {2}, {0}, {2}), (std::vector<float>{1, 1}));
  EXPECT_EQ(Fill({InitializerKind::kConstant, 0.25}, 3, "b", {}, {}, {}), (std::vector<float>{0.25f}));
}

TEST(InitialValues, RefuseAPartOutsideTheValue) {
  std::vector<float> values(4);
  const absl::Status status =
      FillInitialValues({InitializerKind::kNormal, 0, 1}, 0, "w", {4}, {2}, {4}, ElementType::kF32,
                        reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "a part of shape [4] at [2] does not lie inside a value of shape [4]");
}

TEST(InitialValues, RefuseRandomIntegers) {
  int32_t value = 0;
  const absl::Status status = FillInitialValues({InitializerKind::kUniform, 0, 1}, 0, "ids", {}, {}, {},
                                                ElementType::kI32, reinterpret_cast<std::byte*>(&value));
  EXPECT_EQ(std::string(status.message()), "'ids': random initial values need f32, f64 or bf16, not i32");
}

}  // namespace
}  // namespace pdc::train
