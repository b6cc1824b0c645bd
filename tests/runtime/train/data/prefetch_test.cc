#include "runtime/train/data/prefetch.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "gtest/gtest.h"

namespace pdc::train {
namespace {

int64_t FirstNumber(const std::vector<const std::byte*>& fields) {
  int64_t value;
  std::memcpy(&value, fields[0], sizeof(value));
  return value;
}

TEST(Prefetcher, GivesBatchesInOrder) {
  Prefetcher prefetcher(
      [](int64_t batch, const std::vector<std::byte*>& fields) {
        std::memcpy(fields[0], &batch, sizeof(batch));
        return absl::OkStatus();
      },
      {sizeof(int64_t)}, 5);
  for (int64_t batch = 5; batch < 25; ++batch) {
    auto fields = prefetcher.Next();
    ASSERT_TRUE(fields.ok());
    EXPECT_EQ(FirstNumber(*fields), batch);
  }
}

TEST(Prefetcher, RunsAtMostItsDepthAhead) {
  std::atomic<int64_t> filled = 0;
  Prefetcher prefetcher(
      [&](int64_t, const std::vector<std::byte*>&) {
        ++filled;
        return absl::OkStatus();
      },
      {8}, 0, 2);
  ASSERT_TRUE(prefetcher.Next().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(filled, 3);
}

TEST(Prefetcher, PassesAnErrorOnAtTheBatchThatFailed) {
  Prefetcher prefetcher(
      [](int64_t batch, const std::vector<std::byte*>&) {
        return batch == 2 ? absl::DataLossError("sample 7 is damaged") : absl::OkStatus();
      },
      {8}, 0);
  EXPECT_TRUE(prefetcher.Next().ok());
  EXPECT_TRUE(prefetcher.Next().ok());
  EXPECT_EQ(std::string(prefetcher.Next().status().message()), "sample 7 is damaged");
  EXPECT_EQ(prefetcher.Next().status().code(), absl::StatusCode::kDataLoss);
}

TEST(Prefetcher, EndsCleanlyWithBatchesThatNobodyTook) {
  for (int i = 0; i < 20; ++i) {
    Prefetcher prefetcher([](int64_t, const std::vector<std::byte*>&) { return absl::OkStatus(); }, {64}, 0,
                          3);
  }
}

}  // namespace
}  // namespace pdc::train
