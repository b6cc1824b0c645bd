// What verify makes of differences.
#include "runtime/train/verify.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace pdc::train {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Comparison Of(std::string name, double largest, double difference) {
  return {.step = 1, .name = std::move(name), .largest = largest, .largest_difference = difference};
}

TEST(VerifyTest, DifferenceOfAnOutputIsRelativeToItsLargestValue) {
  std::vector<Comparison> outputs = {Of("loss", 2, 0.5)};
  FinishOutputs(outputs);
  EXPECT_DOUBLE_EQ(outputs[0].relative, 0.25);
  EXPECT_FALSE(outputs[0].is_absolute);
}

TEST(VerifyTest, DifferenceFromAnOutputOfZeroIsAbsolute) {
  std::vector<Comparison> outputs = {Of("accuracy", 0, 0.25), Of("shift", 3e-9, 1e-9)};
  FinishOutputs(outputs);
  EXPECT_DOUBLE_EQ(outputs[0].relative, 0.25);
  EXPECT_TRUE(outputs[0].is_absolute);
  EXPECT_DOUBLE_EQ(outputs[1].relative, 1e-9);
  EXPECT_TRUE(outputs[1].is_absolute);
}

TEST(VerifyTest, DifferenceOfASmallGradientIsRelativeToAHundredthOfTheLargest) {
  std::vector<Comparison> gradients = {Of("w", 1, 0), Of("bias", 0, 1e-9)};
  FinishGradients(gradients);
  EXPECT_DOUBLE_EQ(gradients[1].relative, 1e-7);
  EXPECT_FALSE(gradients[1].is_absolute);
}

TEST(VerifyTest, DifferencesOfGradientsAreAbsoluteWhereAllAreZero) {
  std::vector<Comparison> gradients = {Of("w", 0, 1e-9), Of("b", 0, 0)};
  FinishGradients(gradients);
  EXPECT_DOUBLE_EQ(gradients[0].relative, 1e-9);
  EXPECT_TRUE(gradients[0].is_absolute);
}

TEST(VerifyTest, TableSaysWhichDifferencesAreAbsolute) {
  std::vector<Comparison> outputs = {Of("accuracy", 0, 0.25)};
  FinishOutputs(outputs);
  EXPECT_THAT(ToTable(outputs), HasSubstr("2.5000e-01    2.5000e-01  absolute\n"));
  outputs = {Of("accuracy", 1, 0.25)};
  FinishOutputs(outputs);
  EXPECT_THAT(ToTable(outputs), Not(HasSubstr("absolute")));
}

}  // namespace
}  // namespace pdc::train
