#include "runtime/comm/element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace pdc::comm {
namespace {

using program::ElementType;
using program::ReduceOp;

template <typename T>
T ReduceTwo(ElementType type, ReduceOp op, T a, T b) {
  T result{};
  const void* sources[] = {&a, &b};
  void* outputs[] = {&result};
  Reduce(type, op, sources, 2, outputs, 1, 1);
  return result;
}

// Reading f16 and writing it back goes through both conversions.
TEST(ElementTest, EveryF16NumberSurvivesConversionToF32AndBack) {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<uint16_t> result(all.size());
  const void* sources[] = {all.data()};
  void* outputs[] = {result.data()};
  Reduce(ElementType::kF16, ReduceOp::kMax, sources, 1, outputs, 1, static_cast<int64_t>(all.size()));
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::isnan(static_cast<float>(std::bit_cast<_Float16>(all[i])))) {
      EXPECT_TRUE(std::isnan(static_cast<float>(std::bit_cast<_Float16>(result[i])))) << i;
    } else {
      ASSERT_EQ(result[i], all[i]);
    }
  }
}

TEST(ElementTest, F16SumsRoundAsTheProcessorDoes) {
  // Numbers over the whole range, subnormal ones and sums that overflow among them.
  for (uint32_t i = 0; i < 0x7c00; i += 37) {
    for (uint32_t j : {0u, 1u, 0x3ffu, 0x400u, 0x3c01u, 0x7bffu, 0x8001u, 0xbc00u, 0xfbffu}) {
      const auto a = std::bit_cast<_Float16>(static_cast<uint16_t>(i));
      const auto b = std::bit_cast<_Float16>(static_cast<uint16_t>(j));
      const auto expected = static_cast<_Float16>(static_cast<float>(a) + static_cast<float>(b));
      const _Float16 sum = ReduceTwo(ElementType::kF16, ReduceOp::kSum, a, b);
      ASSERT_EQ(std::bit_cast<uint16_t>(sum), std::bit_cast<uint16_t>(expected)) << i << " + " << j;
    }
  }
}

TEST(ElementTest, Bf16SumsRoundToNearestEven) {
  auto sum = [](uint16_t a, uint16_t b) { return ReduceTwo(ElementType::kBF16, ReduceOp::kSum, a, b); };
  EXPECT_EQ(sum(0x3f80, 0x3b80), 0x3f80);           // 1 + 2^-8, a tie: down to the even 1
  EXPECT_EQ(sum(0x3f81, 0x3b80), 0x3f82);           // 1 + 2^-7 + 2^-8, a tie: up to the even neighbor
  EXPECT_EQ(sum(0x7f7f, 0x7f7f), 0x7f80);           // overflow to infinity
  EXPECT_EQ(sum(0x7f80, 0xff80) & 0x7fff, 0x7fc0);  // infinity - infinity is not a number
}

TEST(ElementTest, AMaximumWithANaNIsNaNInEitherOrder) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(ReduceTwo(ElementType::kF32, ReduceOp::kMax, nan, 1.0f)));
  EXPECT_TRUE(std::isnan(ReduceTwo(ElementType::kF32, ReduceOp::kMax, 1.0f, nan)));
  EXPECT_EQ(ReduceTwo(ElementType::kF32, ReduceOp::kMax, -1.0f, -2.0f), -1.0f);
}

TEST(ElementTest, IntegerSumsWrapAround) {
  EXPECT_EQ(ReduceTwo<int8_t>(ElementType::kI8, ReduceOp::kSum, 127, 1), -128);
  EXPECT_EQ(ReduceTwo<uint8_t>(ElementType::kU8, ReduceOp::kSum, 255, 2), 1);
  EXPECT_EQ(ReduceTwo(ElementType::kI64, ReduceOp::kSum, std::numeric_limits<int64_t>::max(), int64_t{1}),
            std::numeric_limits<int64_t>::min());
}

TEST(ElementTest, OutputsMayBeSourcesAndBlocksHaveNoSeams) {
  constexpr int64_t kCount = 5000;  // several blocks and a rest
  std::vector<std::vector<double>> data(3, std::vector<double>(kCount));
  const void* sources[3];
  void* outputs[3];
  for (int r = 0; r < 3; ++r) {
    for (int64_t i = 0; i < kCount; ++i) data[r][i] = static_cast<double>((r + 1) * i);
    sources[r] = outputs[r] = data[r].data();
  }
  Reduce(ElementType::kF64, ReduceOp::kSum, sources, 3, outputs, 3, kCount);
  for (int r = 0; r < 3; ++r) {
    for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(data[r][i], 6.0 * i) << "output " << r;
  }
}

TEST(ElementTest, TheSumOfI1IsRefusedAndSaysWhatToUse) {
  const absl::Status status = CheckReduction(ElementType::kI1, ReduceOp::kSum);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "the sum of i1 is not defined; use the maximum, which is logical or");
  EXPECT_TRUE(CheckReduction(ElementType::kI1, ReduceOp::kMax).ok());
}

}  // namespace
}  // namespace pdc::comm
