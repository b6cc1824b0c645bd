#include "runtime/base/number_checks.h"

#include <string>

#include "gtest/gtest.h"

namespace pdc::base {
namespace {

// What the check says of a number; empty when it is allowed.
std::string Error(const CLI::Validator& check, std::string number) { return check(number); }

TEST(NumberChecks, SayWhatWasExpectedAndFound) {
  EXPECT_EQ(Error(Positive(), "0"), "expected a whole number from 1 to 2^53, found '0'");
  EXPECT_EQ(Error(Between(1, 8), "9"), "expected a whole number from 1 to 8, found '9'");
  EXPECT_EQ(Error(Between(0.5, 1e6), "0.25"), "expected a number from 0.5 to 1e+06, found '0.25'");
  EXPECT_EQ(Error(PositiveReal(), "-1"), "expected a number above 0, found '-1'");
}

TEST(NumberChecks, AllowTheirBounds) {
  for (const char* number : {"1", "8"}) EXPECT_EQ(Error(Between(1, 8), number), "");
  for (const char* number : {"0.5", "1e6", "1000000"}) EXPECT_EQ(Error(Between(0.5, 1e6), number), "");
  EXPECT_EQ(Error(Count(), "0"), "");
  EXPECT_EQ(Error(Positive(), "9007199254740992"), "");
  EXPECT_EQ(Error(NonnegativeReal(), "0"), "");
  EXPECT_EQ(Error(Unsigned(), "18446744073709551615"), "");
}

TEST(NumberChecks, RefuseWhatDoesNotFitAndIsNoNumber) {
  for (const char* number : {"", "x", "1x", "1.5", "0x10", "99999999999999999999", "9007199254740993", "-1"})
    EXPECT_NE(Error(Positive(), number), "") << number;
  for (const char* number : {"nan", "inf", "-inf", "1e999", "--1", " 1"}) {
    EXPECT_NE(Error(NonnegativeReal(), number), "") << number;
    EXPECT_NE(Error(FiniteReal(), number), "") << number;
  }
  for (const char* number : {"-1", "18446744073709551616"})
    EXPECT_NE(Error(Unsigned(), number), "") << number;
}

}  // namespace
}  // namespace pdc::base
