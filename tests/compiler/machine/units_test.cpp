//===- units_test.cpp - quantities as cluster files spell them ------------===//

#include "compiler/machine/Units.h"
#include "gtest/gtest.h"

using namespace pdc::machine;

TEST(Units, PlainNumbersAreInTheUnitItself) {
  EXPECT_EQ(parseQuantity("25e9", Unit::BytesPerSecond), 25e9);
  EXPECT_EQ(parseQuantity("5e-6", Unit::Seconds), 5e-6);
  EXPECT_EQ(parseQuantity("0", Unit::Seconds), 0);
}

TEST(Units, BitsAreAnEighthOfBytes) {
  EXPECT_EQ(parseQuantity("25 Gb/s", Unit::BytesPerSecond), 3.125e9);
  EXPECT_EQ(parseQuantity("25 Gbit/s", Unit::BytesPerSecond), 3.125e9);
  EXPECT_EQ(parseQuantity("25 GB/s", Unit::BytesPerSecond), 25e9);
}

TEST(Units, PrefixesWithAnIArePowersOfTwo) {
  EXPECT_EQ(parseQuantity("32 GiB", Unit::Bytes), 34359738368.0);
  EXPECT_EQ(parseQuantity("32 GB", Unit::Bytes), 32e9);
  EXPECT_EQ(parseQuantity("1 KiB", Unit::Bytes), 1024);
}

TEST(Units, TheSpaceMayBeLeftOut) {
  EXPECT_EQ(parseQuantity("5us", Unit::Seconds), 5e-6);
  EXPECT_EQ(parseQuantity("15.7TFLOP/s", Unit::FlopsPerSecond), 15.7e12);
}

TEST(Units, TimesOfAllSizes) {
  EXPECT_EQ(parseQuantity("2 s", Unit::Seconds), 2);
  EXPECT_EQ(parseQuantity("2 ms", Unit::Seconds), 2e-3);
  EXPECT_EQ(parseQuantity("2 \u00b5s", Unit::Seconds), 2e-6);
  EXPECT_EQ(parseQuantity("2 ns", Unit::Seconds), 2e-9);
}

TEST(Units, AnotherUnitIsNoQuantity) {
  EXPECT_FALSE(parseQuantity("5 us", Unit::BytesPerSecond));
  EXPECT_FALSE(parseQuantity("25 GB", Unit::BytesPerSecond));
  EXPECT_FALSE(parseQuantity("25 GB/s", Unit::Bytes));
  EXPECT_FALSE(parseQuantity("1 GFLOP/s", Unit::Seconds));
  EXPECT_FALSE(parseQuantity("1 B", Unit::Number));
}

TEST(Units, WordsAndInfinitiesAreNoQuantities) {
  for (const char *text :
       {"", "fast", "GB/s", "inf", "nan", "1e999", "1 1", "0x10", "1,5", "5 parsec", "5 GG"})
    EXPECT_FALSE(parseQuantity(text, Unit::BytesPerSecond)) << text;
}

TEST(Units, WhatIsWrittenReadsBackAsTheSameNumber) {
  for (Unit unit : {Unit::Bytes, Unit::Seconds, Unit::BytesPerSecond, Unit::FlopsPerSecond, Unit::Number})
    for (double value : {1.0, 5e-6, 3.125e9, 1.0 / 3, 34359738368.0, 15.7e12, 7.123456789e-7, 0.0, 12345.678})
      EXPECT_EQ(parseQuantity(formatQuantity(value, unit), unit), value) << formatQuantity(value, unit);
}

TEST(Units, WritesRoundNumbersWithTheirUnit) {
  EXPECT_EQ(formatQuantity(25e9, Unit::BytesPerSecond), "25 GB/s");
  EXPECT_EQ(formatQuantity(5e-6, Unit::Seconds), "5 us");
  EXPECT_EQ(formatQuantity(34359738368.0, Unit::Bytes), "32 GiB");
  EXPECT_EQ(formatQuantity(16e9, Unit::Bytes), "16 GB");
  EXPECT_EQ(formatQuantity(15.7e12, Unit::FlopsPerSecond), "15.7 TFLOP/s");
  EXPECT_EQ(formatQuantity(0.5, Unit::Number), "0.5");
}
