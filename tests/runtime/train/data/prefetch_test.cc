#include "runtime/train/data/prefetch.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace pdc::train {
namespace {

TEST(Prefetcher, GivesTheNextBatchesInOrder) {
  Prefetcher prefetcher(
      [](int64_t batch, size_t part, std::byte* destination) {
        const int64_t value = 10 * batch + static_cast<int64_t>(part);
        std::memcpy(destination, &value, sizeof(value));
        return absl::OkStatus();
      },
      {sizeof(int64_t), sizeof(int64_t)}, 5);
  for (int64_t batch = 5; batch < 25; ++batch) {
    prefetcher.Next();
    for (size_t part : {1, 0}) {
      auto filled = prefetcher.Wait(part);
      ASSERT_TRUE(filled.ok());
      int64_t value;
      std::memcpy(&value, *filled, sizeof(value));
      EXPECT_EQ(value, 10 * batch + static_cast<int64_t>(part));
    }
  }
}

// The first micro-batch can be computed while the second one is still read.
TEST(Prefetcher, GivesAPartBeforeTheNextOneIsThere) {
  std::promise<void> go_on;
  std::shared_future<void> may_go_on = go_on.get_future().share();
  Prefetcher prefetcher(
      [&](int64_t, size_t part, std::byte*) {
        if (part == 1) may_go_on.wait();
        return absl::OkStatus();
      },
      {8, 8}, 0);
  prefetcher.Next();
  EXPECT_TRUE(prefetcher.Wait(0).ok());
  go_on.set_value();
  EXPECT_TRUE(prefetcher.Wait(1).ok());
}

TEST(Prefetcher, RunsAtMostItsDepthAhead) {
  std::atomic<int64_t> filled = 0;
  Prefetcher prefetcher(
      [&](int64_t, size_t, std::byte*) {
        ++filled;
        return absl::OkStatus();
      },
      {8}, 0, 2);
  prefetcher.Next();
  ASSERT_TRUE(prefetcher.Wait(0).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(filled, 3);
}

TEST(Prefetcher, PassesAnErrorOnAtThePartThatFailed) {
  Prefetcher prefetcher(
      [](int64_t batch, size_t part, std::byte*) {
        return batch == 2 && part == 1 ? absl::DataLossError("sample 7 is damaged") : absl::OkStatus();
      },
      {8, 8}, 0);
  for (int batch = 0; batch < 2; ++batch) {
    prefetcher.Next();
    EXPECT_TRUE(prefetcher.Wait(1).ok());
  }
  prefetcher.Next();
  EXPECT_TRUE(prefetcher.Wait(0).ok());
  EXPECT_EQ(std::string(prefetcher.Wait(1).status().message()), "sample 7 is damaged");
  prefetcher.Next();
  EXPECT_EQ(prefetcher.Wait(0).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Prefetcher, EndsCleanlyWithBatchesThatNobodyTook) {
  for (int i = 0; i < 20; ++i) {
    Prefetcher prefetcher([](int64_t, size_t, std::byte*) { return absl::OkStatus(); }, {64}, 0, 3);
  }
}

}  // namespace
}  // namespace pdc::train
