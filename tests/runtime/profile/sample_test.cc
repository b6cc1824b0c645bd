// Measurements say how far they can be trusted.
#include "runtime/profile/sample.h"

#include <gtest/gtest.h>

#include <thread>

namespace pdc::profile {
namespace {

TEST(SampleTest, TheMedianIsReportedAndOneOutlierDoesNotMoveIt) {
  const Sample sample = Summarize({5, 1, 3, 2, 1000});
  EXPECT_EQ(sample.seconds, 3);
  EXPECT_EQ(sample.spread, (5.0 - 2.0) / 2 / 3);
}

TEST(SampleTest, EqualMeasurementsHaveNoSpread) { EXPECT_EQ(Summarize({2, 2, 2}).spread, 0); }

TEST(SampleTest, ABodyRunsAtLeastThreeTimesAfterWarmingUp) {
  int runs = 0;
  const absl::StatusOr<Sample> sample = Measure(
      [&runs] {
        ++runs;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return absl::OkStatus();
      },
      /*budget_seconds=*/0);
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(runs, 5);
  EXPECT_GE(sample->seconds, 0.002);
}

TEST(SampleTest, FastBodiesAreTimedManyAtOnce) {
  int64_t runs = 0;
  const absl::StatusOr<Sample> sample = Measure(
      [&runs] {
        ++runs;
        return absl::OkStatus();
      },
      /*budget_seconds=*/0);
  ASSERT_TRUE(sample.ok());
  EXPECT_GT(runs, 100);
  EXPECT_GT(sample->seconds, 0);
}

TEST(SampleTest, AnErrorOfTheBodyIsReturned) {
  const absl::Status error = absl::InternalError("no");
  EXPECT_EQ(Measure([&error] { return error; }, 1).status(), error);
}

}  // namespace
}  // namespace pdc::profile
