// Tokens to experts and back.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "runtime/kernels/library.h"
#include "tests/runtime/kernels/kernel_case.h"

namespace pdc::kernels {
namespace {

constexpr auto kF32 = program::ElementType::kF32;
constexpr auto kBF16 = program::ElementType::kBF16;

double ToleranceOf(program::ElementType type) { return type == kF32 ? 1e-5 : 2e-2; }

TEST(ExpertSlots, EqualsTheReference) {
  for (int seed : {1, 2, 3}) {
    KernelCase test("expert_slots", seed);
    test.Ids({3, 11, 2}, 4).WriteIds({3, 11, 2}).Attribute("experts", {4}).Attribute("capacity", {4});
    EXPECT_TRUE(test.Compare(0).ok()) << test.Compare(0);
  }
}

TEST(ExpertSlots, FirstChoicesHavePlacesBeforeSecondOnes) {
  KernelCase test("expert_slots");
  test.Ids({1, 3, 2}, 2).WriteIds({1, 3, 2}).Attribute("experts", {2}).Attribute("capacity", {2});
  const int32_t experts[] = {0, 1, 1, 0, 0, 1};  // (first, second) of three tokens
  std::memcpy(test.contents()[0].data(), experts, sizeof(experts));
  std::vector<std::vector<std::byte>> contents;
  ASSERT_TRUE(test.RunOnce(&contents).ok());
  int32_t slots[6];
  std::memcpy(slots, contents[1].data(), sizeof(slots));
  // Expert 0: tokens 0 and 2 by first choice, none left for token 1; expert 1: token 1, then token 0.
  const int32_t expected[] = {0, 3, 2, -1, 1, -1};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(slots[i], expected[i]) << i;
}

TEST(ExpertSlots, RefusesAnExpertThatDoesNotExist) {
  KernelCase test("expert_slots");
  test.Ids({1, 4, 1}, 3).WriteIds({1, 4, 1}).Attribute("experts", {2}).Attribute("capacity", {2});
  int32_t expert = 2;
  std::memcpy(&test.contents()[0][4], &expert, sizeof(expert));
  std::vector<std::vector<std::byte>> contents;
  absl::Status status = test.RunOnce(&contents);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(status.message().find("is not one of 0 to 1"), absl::string_view::npos) << status;
}

TEST(ExpertSlots, RefusesSoManyExpertsThatTheirCountsOrSlotsWouldNotFit) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (auto [experts, capacity] : {std::pair<int64_t, int64_t>{most, 1}, {most, most}, {int64_t{1} << 21, 1}, {2, most}}) {
    KernelCase test("expert_slots");
    test.Ids({1, 4, 1}, 1).WriteIds({1, 4, 1}).Attribute("experts", {experts}).Attribute("capacity", {capacity});
    std::vector<std::vector<std::byte>> contents;
    EXPECT_EQ(test.RunOnce(&contents).code(), absl::StatusCode::kUnimplemented) << experts << " " << capacity;
  }
}

TEST(Dispatch, EqualsTheReferenceForWholesAndParts) {
  for (auto type : {kF32, kBF16}) {
    for (bool gates : {false, true}) {
      for (int64_t start : {-1, 0, 5}) {
        KernelCase test("dispatch", 5);
        test.Read({2, 7, 6}, type).Ids({2, 7, 2}, 9, -1);
        if (gates) test.Read({2, 7, 2}, type);
        if (start >= 0) test.Scalar(start);
        test.Write({2, start >= 0 ? 4 : 9, 6}, type).Attribute("gates", {gates}).Threads(3);
        EXPECT_TRUE(test.Compare(ToleranceOf(type)).ok()) << test.Compare(ToleranceOf(type));
      }
    }
  }
}

TEST(Combine, EqualsTheReferenceForWholesAndParts) {
  for (auto type : {kF32, kBF16}) {
    for (int64_t start : {-1, 0, 5}) {
      int64_t rows = start >= 0 ? 4 : 9;
      KernelCase combine("combine", 6), gates("combine_grad_gates", 7);
      combine.Read({2, rows, 6}, type).Ids({2, 7, 2}, 9, -1).Read({2, 7, 2}, type);
      gates.Read({2, 7, 6}, type).Read({2, rows, 6}, type).Ids({2, 7, 2}, 9, -1);
      if (start >= 0) {
        combine.Scalar(start);
        gates.Scalar(start);
      }
      combine.Write({2, 7, 6}, type).Threads(2);
      gates.Write({2, 7, 2}, type).Threads(2);
      EXPECT_TRUE(combine.Compare(ToleranceOf(type)).ok()) << combine.Compare(ToleranceOf(type));
      EXPECT_TRUE(gates.Compare(ToleranceOf(type)).ok()) << gates.Compare(ToleranceOf(type));
    }
  }
}

TEST(Dispatch, RefusesShapesThatDoNotFit) {
  std::vector<std::vector<std::byte>> contents;
  KernelCase test("dispatch");
  test.Read({2, 7, 6}).Ids({2, 6, 2}, 9).Write({2, 9, 6});
  EXPECT_EQ(test.RunOnce(&contents).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace pdc::kernels
