#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "runtime/base/logging.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace pdc {
namespace {

TEST(StatusTest, APlaceIsPutBeforeTheMessageAndKeepsTheCode) {
  absl::Status status =
      AtPlace(absl::DataLossError("checkpoint is truncated"), {1, 3, 17, "h3.attn.qkv matmul"});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "rank 1, step 3, instruction 17 (h3.attn.qkv matmul): checkpoint is truncated");
}

TEST(StatusTest, UnknownPartsOfAPlaceAreNotShown) {
  EXPECT_EQ(ToString(Place{}), "");
  EXPECT_EQ(ToString(Place{.rank = 2}), "rank 2");
  EXPECT_TRUE(AtPlace(absl::OkStatus(), {1, 3, 17, ""}).ok());
}

TEST(StatusTest, AFullDiskIsResourceExhausted) {
  absl::Status status = ErrnoStatus(ENOSPC, "writing /tmp/x");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "writing /tmp/x: No space left on device");
}

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return value / 2;
}

absl::Status Quarter(int value, int* result) {
  PDC_ASSIGN_OR_RETURN(int half, Half(value));
  PDC_ASSIGN_OR_RETURN(*result, Half(half));
  PDC_RETURN_IF_ERROR(absl::OkStatus());
  return absl::OkStatus();
}

TEST(StatusTest, MacrosPassErrorsOnAndAssignValues) {
  int result = 0;
  EXPECT_TRUE(Quarter(8, &result).ok());
  EXPECT_EQ(result, 2);
  EXPECT_EQ(Quarter(6, &result).message(), "odd");
}

TEST(LoggingTest, LinesCarryTheRankAndLowerLevelsAreDropped) {
  SetLogRank(3);
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  PDC_LOG(Info) << "not shown";
  PDC_LOG(Warning) << "loss is " << 2;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[rank 3] warning: loss is 2\n");
  SetLogRank(-1);
  SetLogLevel(LogLevel::kInfo);
}

TEST(MemoryTest, MemoryIsZeroedAndAligned) {
  for (size_t bytes : {size_t{1}, size_t{5000}, kHugePageBytes + 1}) {
    absl::StatusOr<HugeMemory> memory = HugeMemory::Allocate(bytes);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(memory->bytes(), bytes);
    const size_t alignment = bytes >= kHugePageBytes ? kHugePageBytes : kPageBytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % alignment, 0u);
    EXPECT_EQ(memory->data()[0], std::byte{0});
    EXPECT_EQ(memory->data()[bytes - 1], std::byte{0});
  }
}

TEST(MemoryTest, MoreThanTheMachineHasIsRefusedWithTheSize) {
  absl::StatusOr<HugeMemory> memory = HugeMemory::Allocate(size_t{1} << 50);
  ASSERT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(memory.status().message()).find("1125899906842624 bytes"), std::string::npos);
}

}  // namespace
}  // namespace pdc
