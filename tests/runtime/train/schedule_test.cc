#include "runtime/train/schedule.h"

#include <vector>

#include "gtest/gtest.h"

namespace pdc::train {
namespace {

std::vector<double> Rates(const LearningRateSchedule& schedule, int64_t steps) {
  std::vector<double> rates;
  for (int64_t step = 1; step <= steps; ++step) rates.push_back(LearningRate(schedule, step));
  return rates;
}

void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << "step " << i + 1;
}

TEST(Schedule, ConstantWarmsUpLinearly) {
  ExpectNear(Rates({.kind = ScheduleKind::kConstant, .peak = 0.8, .warmup_steps = 4, .total_steps = 6}, 6),
             {0.2, 0.4, 0.6, 0.8, 0.8, 0.8});
}

TEST(Schedule, CosineFallsFromThePeakToTheMinimumInTheLastStep) {
  ExpectNear(
      Rates({.kind = ScheduleKind::kCosine, .peak = 1, .minimum = 0.2, .warmup_steps = 2, .total_steps = 6},
            7),
      {0.5, 1, 0.2 + 0.4 * (1 + 0.7071067811865476), 0.6, 0.2 + 0.4 * (1 - 0.7071067811865476), 0.2, 0.2});
}

TEST(Schedule, LinearFallsInAStraightLine) {
  ExpectNear(
      Rates({.kind = ScheduleKind::kLinear, .peak = 1, .minimum = 0, .warmup_steps = 1, .total_steps = 5}, 6),
      {1, 0.75, 0.5, 0.25, 0, 0});
}

TEST(Schedule, StepDropsEverySoManyStepsAndStopsAtTheMinimum) {
  ExpectNear(Rates({.kind = ScheduleKind::kStep,
                    .peak = 1,
                    .minimum = 0.05,
                    .total_steps = 9,
                    .step_every = 2,
                    .gamma = 0.1},
                   7),
             {1, 1, 0.1, 0.1, 0.05, 0.05, 0.05});
}

TEST(Schedule, LinearScalingIsProportionalToTheBatch) {
  EXPECT_DOUBLE_EQ(ScaleLearningRate(0.1, 8192, 256), 3.2);
  EXPECT_DOUBLE_EQ(ScaleLearningRate(0.1, 32, 256), 0.0125);
}

}  // namespace
}  // namespace pdc::train
