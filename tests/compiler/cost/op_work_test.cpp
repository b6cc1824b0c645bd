//===- op_work_test.cpp - the time of one op ------------------------------===//

#include "compiler/cost/OpWork.h"
#include "gtest/gtest.h"

using namespace pdc;
using namespace pdc::cost;
using machine::OpClass;
using machine::Precision;

/// 1 TFLOP/s, 100 GB/s, 2 us; half of either is reached.
static machine::DeviceKind device() {
  machine::DeviceKind device;
  device.peakFlops = {0, 1e12, 0, 10e12, 0};
  device.memoryBytesPerSecond = 100e9;
  device.launchSeconds = 2e-6;
  for (OpClass opClass : {OpClass::Matmul, OpClass::Copy, OpClass::Elementwise})
    device.efficiencies.push_back({opClass, std::nullopt, {{1, 0.5}}});
  return device;
}

TEST(OpSeconds, ArithmeticBoundWorkTakesFlopsOverTheReachedPeak) {
  // 1e9 / 0.5e12 = 2 ms, more than 1e6 / 50e9 = 20 us.
  EXPECT_DOUBLE_EQ(opSeconds(device(), {OpClass::Matmul, 1e9, 0.6e6, 0.4e6, Precision::F32, ""}), 2.002e-3);
}

TEST(OpSeconds, MemoryBoundWorkTakesBytesOverTheReachedBandwidth) {
  // 50e6 / 50e9 = 1 ms.
  EXPECT_DOUBLE_EQ(opSeconds(device(), {OpClass::Elementwise, 1e6, 30e6, 20e6, Precision::F32, ""}),
                   1.002e-3);
  EXPECT_DOUBLE_EQ(opSeconds(device(), {OpClass::Matmul, 1e3, 30e6, 20e6, Precision::F32, ""}), 1.002e-3);
}

TEST(OpSeconds, PrecisionChoosesThePeak) {
  EXPECT_DOUBLE_EQ(opSeconds(device(), {OpClass::Matmul, 1e9, 0, 0, Precision::BF16, ""}), 2e-6 + 0.2e-3);
}

TEST(OpSeconds, VectorCodeReachesAQuarterOfThePeak) {
  EXPECT_DOUBLE_EQ(opSeconds(device(), {OpClass::Elementwise, 1e9, 1, 1, Precision::F32, ""}), 2e-6 + 4e-3);
}

TEST(OpSeconds, AMeasuredCallTakesWhatItTook) {
  machine::DeviceKind measured = device();
  measured.librarySeconds["matmul(2x2:f32)"] = 7e-6;
  OpWork work{OpClass::Matmul, 1e9, 1, 1, Precision::F32, "matmul(2x2:f32)"};
  EXPECT_EQ(opSeconds(measured, work), 7e-6);
  work.call = "matmul(3x3:f32)";
  EXPECT_DOUBLE_EQ(opSeconds(measured, work), 2.002e-3);
}

TEST(OpSeconds, ChannelsThatDoNotFillABlockCostAsIfTheyDid) {
  machine::DeviceKind blocks = device();
  blocks.channelBlock = 16;
  OpWork work{OpClass::Matmul, 1e9, 0, 0, Precision::F32, ""};
  work.channels = 4;
  EXPECT_DOUBLE_EQ(opSeconds(blocks, work), 2e-6 + 4 * 2e-3);
  work.channels = 32;
  EXPECT_DOUBLE_EQ(opSeconds(blocks, work), 2e-6 + 2e-3);
  work.channels = 24; // of 32
  EXPECT_DOUBLE_EQ(opSeconds(blocks, work), 2e-6 + 2e-3 * 32 / 24);
}

/// Elementwise work has all of the bandwidth within 1 MB, a tenth beyond 10 MB.
static machine::DeviceKind host() {
  machine::DeviceKind host = device();
  host.onHost = true;
  host.efficiencies[2].points = {{1e6, 1}, {10e6, 0.1}};
  return host;
}

TEST(OpSeconds, MemoryIsAsFastAsTheWorkingSetOfTheStepAllows) {
  OpWork work{OpClass::Elementwise, 0, 0.6e6, 0.4e6, Precision::F32, ""};
  EXPECT_DOUBLE_EQ(opSeconds(host(), work), 2e-6 + 1e6 / 100e9);
  work.workingSetBytes = 20e6;
  EXPECT_DOUBLE_EQ(opSeconds(host(), work), 2e-6 + 1e6 / 10e9);
  work.workingSetBytes = 1e3; // less than the op itself moves
  EXPECT_DOUBLE_EQ(opSeconds(host(), work), 2e-6 + 1e6 / 100e9);
}

TEST(OpSeconds, OthersSlowAMoveAsFarAsTheyMoveAtTheSameTime) {
  machine::DeviceKind busy = host();
  busy.busyEfficiencies = busy.efficiencies;
  for (auto &point : busy.busyEfficiencies[2].points)
    point.share /= 2;
  // All of the time in elementwise work.
  OpWork work{OpClass::Elementwise, 0, 1e6, 0, Precision::F32, ""};
  EXPECT_DOUBLE_EQ(opSeconds(busy, work), 2e-6 + 1e6 / 50e9);
  // A matrix product of 2 ms moves for 0.4 ms alone, 0.8 ms among others: for 0.8 of 2.8 ms they do so, too.
  OpWork matmul{OpClass::Matmul, 1e9, 2e6, 0, Precision::F32, ""};
  matmul.workingSetBytes = 20e6;
  EXPECT_DOUBLE_EQ(opSeconds(busy, matmul), 2e-6 + 2e-3 + kPackedPasses * (0.2e-3 + 0.8 / 2.8 * 0.2e-3));
}

TEST(OpSeconds, AHostFetchesWhatItWritesAndComputesNothingMeanwhile) {
  OpWork work{OpClass::Matmul, 1e9, 1e6, 0, Precision::F32, ""};
  work.bytesFetched = 1e6;
  EXPECT_DOUBLE_EQ(opSeconds(device(), work), 2e-6 + 2e-3);
  EXPECT_DOUBLE_EQ(opSeconds(host(), work), 2e-6 + 2e-3); // the step is not known
  work.workingSetBytes = 20e6;
  EXPECT_DOUBLE_EQ(opSeconds(host(), work), 2e-6 + 2e-3 + kPackedPasses * 2e6 / 10e9);
  work.opClass = OpClass::Elementwise;
  work.flops = 0;
  EXPECT_DOUBLE_EQ(opSeconds(host(), work), 2e-6 + 2e6 / 10e9);
}
