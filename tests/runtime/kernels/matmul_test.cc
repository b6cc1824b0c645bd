#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/kernels/kernel_case.h"

namespace pdc::kernels {
namespace {

using Dims = std::vector<int64_t>;
constexpr auto kF32 = program::ElementType::kF32;
constexpr auto kBF16 = program::ElementType::kBF16;

// bf16 has 8 bits of mantissa; a result of about 4 is off by up to 1/64.
double Tolerance(program::ElementType result) { return result == kF32 ? 1e-5 : 8e-3; }

// Strides of `shape` laid out in memory in the order of `order` (outermost first), with `gap` elements after
// each row.
Dims StridesInOrder(const Dims& shape, const Dims& order, int64_t gap) {
  Dims strides(shape.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]];
    if (i + 1 == order.size()) stride += gap;
  }
  return strides;
}

// Memory orders of [batch..., rows, columns] that keep unit stride in one of the last two.
Dims RandomOrder(size_t rank, std::mt19937_64& random) {
  Dims order;
  for (size_t d = 0; d < rank; ++d) order.push_back(d);
  if (random() % 2) std::swap(order[rank - 1], order[rank - 2]);
  if (rank > 2) {
    // Heads beside the tokens: [B, S, H, D] viewed as [B, H, S, D].
    if (random() % 2) std::swap(order[rank - 3], order[rank - 2]);
  }
  return order;
}

class MatmulOverRandomViews : public testing::TestWithParam<program::ElementType> {};

TEST_P(MatmulOverRandomViews, EqualsTheReference) {
  program::ElementType type = GetParam();
  std::mt19937_64 random(7);
  for (int i = 0; i < 120; ++i) {
    auto size = [&] { return static_cast<int64_t>(1 + random() % 9); };
    Dims batch;
    for (uint64_t d = random() % 4; d-- > 0;) batch.push_back(1 + random() % 3);
    int64_t m = size(), n = size(), k = size();
    auto shape = [&](int64_t rows, int64_t columns) {
      Dims dims = batch;
      dims.insert(dims.end(), {rows, columns});
      return dims;
    };
    size_t rank = batch.size() + 2;
    Dims a = StridesInOrder(shape(m, k), RandomOrder(rank, random), random() % 2 * 3);
    Dims b = StridesInOrder(shape(k, n), RandomOrder(rank, random), random() % 2 * 3);
    bool bias = random() % 2, accumulate = random() % 2;
    Dims c = StridesInOrder(shape(m, n), RandomOrder(rank, random), random() % 2 * 3);
    if (!batch.empty() && random() % 3 == 0) b[0] = 0;  // shared by the whole outermost batch
    program::ElementType result = type == kBF16 && random() % 2 ? kF32 : type;
    KernelCase test("matmul", i);
    test.ReadView(shape(m, k), a, type).ReadView(shape(k, n), b, type);
    if (bias) test.Read({n});
    test.WriteView(shape(m, n), c, result).Threads(1 + i % 2);
    if (accumulate) test.Attribute("accumulate", {1});
    absl::Status status = test.Compare(Tolerance(result));
    ASSERT_TRUE(status.ok()) << "case " << i << ": " << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MatmulOverRandomViews, testing::Values(kF32, kBF16),
                         [](const auto& info) { return info.param == kF32 ? "f32" : "bf16"; });

TEST(Matmul, TakesHeadsOfAPackedProjectionWithoutACopy) {
  // q and k of [batch, tokens, 3 * heads * depth]; scores[batch, heads, tokens, tokens] = q k^T.
  Dims q{2, 3, 5, 4}, k{2, 3, 4, 5};
  for (auto type : {kF32, kBF16}) {
    KernelCase test("matmul");
    test.ReadView(q, {5 * 36, 4, 36, 1}, type)
        .ReadView(k, {5 * 36, 4, 1, 36}, type)
        .Write({2, 3, 5, 5}, type);
    EXPECT_TRUE(test.Compare(Tolerance(type)).ok()) << test.Compare(Tolerance(type));
  }
}

TEST(Matmul, SharesALinearLayersWeightOverBatchAndTokens) {
  KernelCase test("matmul");
  test.Read({3, 4, 6}).ReadView({3, 6, 5}, {0, 5, 1}).Read({5}).Write({3, 4, 5}).Threads(2);
  EXPECT_TRUE(test.Compare(1e-5).ok()) << test.Compare(1e-5);
}

TEST(Matmul, GivesTheSameBitsWithOneAndTwoThreads) {
  std::vector<std::vector<std::byte>> one, two;
  auto test = [](int threads) {
    KernelCase test("matmul");
    test.Read({96, 64}).Read({64, 80}).Write({96, 80}).Threads(threads);
    return test;
  };
  ASSERT_TRUE(test(1).RunOnce(&one).ok());
  ASSERT_TRUE(test(2).RunOnce(&two).ok());
  EXPECT_EQ(one, two);
}

TEST(Matmul, WithNoRowsDoesNothing) {
  KernelCase test("matmul");
  test.Read({0, 4}).Read({4, 3}).Write({0, 3});
  std::vector<std::vector<std::byte>> contents;
  EXPECT_TRUE(test.RunOnce(&contents).ok());
}

TEST(Matmul, RefusesShapesThatDoNotFit) {
  KernelCase test("matmul");
  test.Read({2, 4}).Read({5, 3}).Write({2, 3});
  std::vector<std::vector<std::byte>> contents;
  absl::Status status = test.RunOnce(&contents);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("[2,4]xf32 x [5,3]xf32 -> [2,3]xf32"), absl::string_view::npos) << status;
}

TEST(Matmul, RefusesAMatrixWithoutUnitStrideAndNamesTheWayOut) {
  KernelCase test("matmul");
  test.ReadView({4, 4}, {8, 2}).Read({4, 3}).Write({4, 3});
  std::vector<std::vector<std::byte>> contents;
  absl::Status status = test.RunOnce(&contents);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("copy_view"), absl::string_view::npos) << status;
}

TEST(Matmul, TakesABiasWithAColumnMajorBf16Result) {
  KernelCase test("matmul");
  test.Read({2, 4}, kBF16).Read({4, 3}, kBF16).Read({3}).WriteView({2, 3}, {1, 2}, kBF16);
  absl::Status status = test.Compare(Tolerance(kBF16));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Matmul, RefusesMixedElementTypes) {
  KernelCase test("matmul");
  test.Read({2, 4}, kF32).Read({4, 3}, kBF16).Write({2, 3}, kF32);
  std::vector<std::vector<std::byte>> contents;
  EXPECT_EQ(test.RunOnce(&contents).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace pdc::kernels
